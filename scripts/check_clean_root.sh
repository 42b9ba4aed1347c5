#!/usr/bin/env bash
# Builds, installs and uses Oriel in fresh Debian roots, which have nothing but what docs/install.md says to install:
#
#   scripts/check_clean_root.sh [--keep] [FOLDER]
#
# FOLDER gets the roots, 6 GB, and is a temporary one if it is not given. Needs root and debootstrap, and takes about 30
# minutes. What the roots take from this machine: apt's sources and keys, and, mounted and only to be read, the Rust
# toolchain (which has no Debian package of the version) with the crates that Cargo.lock names, since cargo is kept from the
# network. Everything is removed at the end but with --keep.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm
keep=
[[ "${1:-}" == --keep ]] && { keep=1; shift; }
[[ "$(id -u)" == 0 ]] || { echo "check_clean_root.sh: needs root, for chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "check_clean_root.sh: apt-get install debootstrap" >&2; exit 1; }
folder=${1:-$(mktemp -d "${TMPDIR:-/tmp}/oriel-roots.XXXXXX")}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd -P)
log=$folder/log
: >"$log"

mounts() {
  awk -v folder="$folder/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | sort -r
}

clean_up() {
  local status=$?
  mounts | xargs -r -n 1 umount || :
  if [[ -n "$(mounts)" ]]; then
    # What is mounted there is this machine's own.
    echo "check_clean_root.sh: still mounted, so nothing is removed: $(mounts | tr '\n' ' ')" >&2
  elif [[ -z "$keep" ]]; then
    rm -rf "$folder"/{base,build,package,log,message}
    rmdir --ignore-fail-on-non-empty "$folder"
  fi
  exit $status
}
trap clean_up EXIT

# step TITLE COMMAND...: runs a command, prints how long it took; if it fails, what it printed, and ends.
step() {
  local title=$1 start=$SECONDS printed
  shift
  printed=$(wc -l <"$log")
  # In the background, where `set -e` holds inside a function, which it does not where its status is asked for.
  "$@" >>"$log" 2>&1 </dev/null &
  if ! wait $!; then
    echo "FAIL $title"
    tail -n +$((printed + 1)) "$log" | tail -n 60
    exit 1
  fi
  printf '%5d s  %s\n' $((SECONDS - start)) "$title"
}

# inside ROOT COMMAND: runs a shell command in a root.
inside() {
  chroot "$1" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive CARGO_HOME=/opt/cargo \
    CARGO_NET_OFFLINE=true PATH=/opt/rust/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -euxc "$2"
}

# Where apt gets the base system from, as it is set up here.
mirror() {
  apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
    awk -v suite="$suite" '$2 == suite { print $1; exit }'
}

make_base() {
  debootstrap --variant=minbase "$suite" "$folder/base" "$(mirror)"
  rm -f "$folder/base/etc/apt/sources.list"
  cp -a /etc/apt/. "$folder/base/etc/apt/"
  cp -a /usr/share/keyrings/. "$folder/base/usr/share/keyrings/"
  cp -L /etc/resolv.conf /etc/hosts "$folder/base/etc/"
  inside "$folder/base" "apt-get update"
}

# new_root NAME: a copy of the base with what programs expect to be mounted.
new_root() {
  cp -a "$folder/base" "$folder/$1"
  mount -t proc proc "$folder/$1/proc"
}

# mount_rust ROOT: the toolchain and the crates, and the committed sources in /src.
mount_rust() {
  local from to
  mkdir -p "$1"/opt/{rust,cargo} "$1/src"
  for to in rust cargo; do
    case $to in
      rust) from=$(cd "$repository" && rustc --print sysroot) ;;
      cargo) from=${CARGO_HOME:-$HOME/.cargo} ;;
    esac
    mount --bind "$from" "$1/opt/$to"
    mount -o remount,bind,ro "$1/opt/$to"
  done
  git -C "$repository" archive HEAD | tar -x -C "$1/src"
}

# What building says without LLVM, on one line.
says_what_is_missing() {
  ! inside "$1" 'cd /src && make install' >"$folder/message" 2>&1 || return 1
  cat "$folder/message"
  grep -q 'Oriel needs LLVM 22 with its headers: no llvm-config was found' "$folder/message" &&
    grep -q 'apt-get install llvm-22-dev' "$folder/message"
}

# What the packaged tool says without LLVM.
tool_says_what_is_missing() {
  inside "$1" 'dpkg-deb -x /root/oriel_*.deb /root/unpacked; ! /root/unpacked/usr/bin/oriel phases 2>/root/message >/dev/null
    cat /root/message; grep "^oriel: Oriel needs LLVM 22.*apt-get install libllvm22$" /root/message; rm -r /root/unpacked'
}

# Builds the C host with pkg-config, and compares the intervals that it prints with the tool's.
use_from_c='
  cp -r $examples/embed-c /root/embed-c && make -C /root/embed-c
  mkdir -p /root/snapshots
  oriel compile --sm 80 $examples/embed-cpp/kernel.ll -o /dev/null --oriel -oriel-snapshot=/root/snapshots
  for file in /root/snapshots/*; do
    /root/embed-c/embed-c "$file"
    /root/embed-c/embed-c --intervals "$file" >/root/host.txt
    oriel live "$file" | sed 1,2d | cmp - /root/host.txt
  done'
# Builds the C++ host with pkg-config, and compares its PTX with llc'"'"'s.
use_from_cpp='
  cp -r $examples/embed-cpp /root/embed-cpp && make -C /root/embed-cpp
  /root/embed-cpp/embed-cpp $examples/embed-cpp/kernel.ll -o /root/host.ptx -report=/root/host.json
  llc-22 --load-pass-plugin=$plugin -mcpu=sm_80 $examples/embed-cpp/kernel.ll -o /root/llc.ptx
  cmp /root/host.ptx /root/llc.ptx && test -s /root/host.json'
# clang with the plug-in, on a kernel in OpenCL.
use_from_clang='
  ORIEL_FLAGS=-oriel-report=/root/clang.json clang-22 -x cl -cl-std=CL2.0 --target=nvptx64-nvidia-cuda -march=sm_80 -nogpulib \
    -cl-no-stdinc -Xclang -target-feature -Xclang +ptx86 -I $examples/include -O2 -S -fpass-plugin=$plugin \
    $examples/crypto/chacha20.cl -o /root/clang.ptx
  grep -q chacha20 /root/clang.json'

echo "roots in $folder; log in $log"
step "fetch crates on this machine" cargo fetch --locked --manifest-path "$repository/Cargo.toml"
step "debootstrap $suite" make_base

local_settings='examples=/usr/local/share/doc/oriel/examples plugin=/usr/local/lib/liboriel.so'
root=$folder/build
step "first root" new_root build
step "Rust and the sources" mount_rust "$root"
step "apt-get install make g++" inside "$root" 'apt-get install -y --no-install-recommends make g++'
step "make install without LLVM says what is missing" says_what_is_missing "$root"
step "apt-get install llvm-22-dev" inside "$root" 'apt-get install -y --no-install-recommends llvm-22-dev'
step "make install" inside "$root" 'cd /src && make install && ldconfig'
step "apt-get install pkg-config clang-22" inside "$root" 'apt-get install -y --no-install-recommends pkg-config clang-22'
step "C host" inside "$root" "$local_settings; $use_from_c"
step "C++ host" inside "$root" "$local_settings; $use_from_cpp"
step "clang with the plug-in" inside "$root" "$local_settings; $use_from_clang"
step "Rust host" inside "$root" 'cd /src && cargo run --release --example embed-rust'
step "make deb" inside "$root" 'apt-get install -y --no-install-recommends dpkg-dev; cd /src && make deb'
step "make uninstall" inside "$root" 'cd /src && make uninstall && test -z "$(find /usr/local -iname "*oriel*")"'

package_settings='examples=/usr/share/doc/oriel/examples plugin=/usr/lib/liboriel.so'
root=$folder/package
step "second root" new_root package
cp "$folder"/build/src/build/oriel_*.deb "$root/root/"
step "the tool without LLVM says what is missing" tool_says_what_is_missing "$root"
step "apt-get install ./oriel_*.deb and compilers" inside "$root" \
  'apt-get install -y --no-install-recommends /root/oriel_*.deb llvm-22 clang-22 g++ make pkg-config'
step "C host with the package" inside "$root" "$package_settings; $use_from_c"
step "clang with the package" inside "$root" "$package_settings; $use_from_clang"
step "C++ host with the package" inside "$root" "apt-get install -y --no-install-recommends llvm-22-dev
  $package_settings; $use_from_cpp"
step "apt-get remove oriel" inside "$root" 'apt-get purge -y oriel; test -z "$(find / -xdev -name "*oriel*" -path "/usr/*")"'
echo "clean roots: everything passed, in $SECONDS s"
