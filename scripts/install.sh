#!/bin/sh
# Installs what `make dist` built below $DESTDIR$PREFIX (PREFIX is /usr/local if it is not set), or removes it:
#
#   scripts/install.sh [--uninstall]
#
# PREFIX/lib/oriel/manifest lists what was installed; nothing else is ever removed. The tree may be moved afterwards.
set -eu
cd "$(dirname "$0")/.."

prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}$prefix
plugin=${CARGO_TARGET_DIR:-target}/dist/liboriel.so
tool=${CARGO_TARGET_DIR:-target}/release/oriel
manifest=$root/lib/oriel/manifest

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

# Removes what the manifest lists: files, then folders that installing made, if nothing else is in them.
remove() {
  [ -f "$manifest" ] || return 0
  installed=$(cat "$manifest")
  echo "$installed" | grep -v '/$' | while IFS= read -r path; do rm -f "$root/$path"; done
  echo "$installed" | grep '/$' | sort -r | while IFS= read -r path; do rmdir "$root/${path#./}" 2>/dev/null || :; done
}

# Makes a folder below the root, and notes in the manifest which folders are new.
make_folder() {
  [ -d "$root/$1" ] && return 0
  [ "$1" = . ] || make_folder "$(dirname "$1")"
  mkdir -p "$root/$1"
  echo "$1/" >>"$list"
}

# put MODE FROM TO: installs a file.
put() {
  make_folder "$(dirname "$3")"
  rm -f "$root/$3"
  install -m "$1" "$2" "$root/$3"
  echo "$3" >>"$list"
}

# put_program MODE FROM TO: installs a program or library without debug information, which is four fifths of it.
put_program() {
  put "$@"
  if command -v strip >/dev/null; then strip --strip-debug "$root/$3"; fi
}

# fill FROM: a file of scripts/install with its variables replaced.
fill() {
  sed -e "s|@VERSION@|$version|g" -e "s|@VERSION_SERIES@|${version%.*}|g" -e "s|@SONAME@|$soname|g" \
    -e "s|@LLVM_VERSION@|$llvm_version|g" -e "s|@LLVM_MAJOR@|${llvm_version%%.*}|g" -e "s|@LIBLLVM@|$libllvm|g" \
    -e "s|@LIBLLVM_FILE@|$libllvm_file|g" -e "s|@LIBLLVM_FOLDER@|${libllvm_file%/*}|g" "scripts/install/$1"
}

# put_filled MODE FROM TO: the same, installed.
put_filled() {
  fill "$2" >"$work/filled"
  put "$1" "$work/filled" "$3"
}

# Installs README, documents and examples, all at once: they are many. Not what somebody built in the examples' folders.
put_documents() {
  find README.md LICENSE CONTRIBUTING.md docs examples \( -name build -o -name target \) -prune -o -type f ! -name '*.o' ! -perm -100 -print |
    sort >"$work/documents"
  sed -n 's|/[^/]*$||p' "$work/documents" | sort -u >"$work/folders"
  while IFS= read -r folder; do make_folder "share/doc/oriel/$folder"; done <"$work/folders"
  tar -c --mode=u=rw,go=r -T "$work/documents" | tar -x --no-same-owner -p -C "$root/share/doc/oriel"
  sed 's|^|share/doc/oriel/|' "$work/documents" >>"$list"
}

# What the build says of itself: its version, the LLVM that it is linked to, and the name that hosts know it by.
describe_build() {
  { [ -f "$plugin" ] && [ -x "$tool" ]; } || fail "Oriel is not built yet: make dist"
  about=$("$tool" --version) || fail "the tool that was built does not run; is its LLVM still installed?"
  version=$(echo "$about" | cut -d' ' -f2)
  llvm_version=$(echo "$about" | sed -n 's/.*(LLVM \(.*\))/\1/p')
  soname=liboriel.so.$(sed -n 's/^#define ORIEL_API_VERSION \(.*\)u$/\1/p' include/oriel.h)
  linked=$(ldd "$plugin")
  libllvm=$(echo "$linked" | sed -n 's/^\s*\(libLLVM[^ ]*\) => .*/\1/p')
  libllvm_file=$(echo "$linked" | sed -n 's/^\s*libLLVM[^ ]* => \([^ ]*\) .*/\1/p')
  # A build without LLVM misses none.
  : "${libllvm_file:=/}"
}

install_all() {
  describe_build
  remove
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  list=$work/manifest
  : >"$list"

  put_program 644 "$plugin" "lib/$soname"
  make_folder lib
  ln -sf "$soname" "$root/lib/liboriel.so"
  echo lib/liboriel.so >>"$list"
  put_program 755 "$tool" lib/oriel/oriel
  put_filled 755 oriel.in bin/oriel
  put 644 include/oriel.h include/oriel.h
  put_filled 644 oriel.pc.in lib/pkgconfig/oriel.pc
  put_filled 644 OrielConfig.cmake.in lib/cmake/Oriel/OrielConfig.cmake
  put_filled 644 OrielConfigVersion.cmake.in lib/cmake/Oriel/OrielConfigVersion.cmake
  put 644 scripts/install/copyright share/doc/oriel/copyright
  put_documents

  echo lib/oriel/manifest >>"$list"
  install -m 644 "$list" "$manifest"
}

case ${1:-} in
  --uninstall)
    [ -f "$manifest" ] || fail "there is no Oriel in $root: no lib/oriel/manifest"
    remove
    echo "removed Oriel from $root" ;;
  '')
    install_all
    echo "installed Oriel $version in $root" ;;
  *) fail "the only argument is --uninstall" ;;
esac
