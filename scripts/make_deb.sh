#!/bin/sh
# Makes build/oriel_VERSION_ARCHITECTURE.deb of what `make dist` built. Needs no privileges.
set -eu
cd "$(dirname "$0")/.."

for command in dpkg-deb dpkg-shlibdeps; do
  command -v "$command" >/dev/null || {
    echo "make_deb.sh: there is no $command: apt-get install dpkg-dev" >&2
    exit 1
  }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Where dpkg-shlibdeps expects the package to be.
stage=$work/debian/oriel
mkdir -p "$stage/DEBIAN"
echo 'Source: oriel' >"$work/debian/control"
DESTDIR=$stage PREFIX=/usr scripts/install.sh >/dev/null
# dpkg keeps such a list itself.
rm "$stage/usr/lib/oriel/manifest"

about=$("$stage/usr/bin/oriel" --version)
version=$(echo "$about" | cut -d' ' -f2)
llvm=$(echo "$about" | sed -n 's/.*(LLVM \(.*\))/\1/p')
if [ -z "$llvm" ]; then
  echo "make_deb.sh: the package is for LLVM's users, and this build is without LLVM" >&2
  exit 1
fi

# Oriel declines to work in another LLVM than the one that it was built for, so the version is exact.
major=${llvm%%.*}
depends=$(cd "$work" && dpkg-shlibdeps -O -edebian/oriel/usr/lib/oriel/oriel -e"$(readlink -f "$stage/usr/lib/liboriel.so")" |
  sed -e 's/^shlibs:Depends=//' -e "s/libllvm${major}[^,]*\(, \)\?//" -e 's/, $//')
next=${llvm%.*}.$((${llvm##*.} + 1))
depends="$depends, libllvm$major (>= 1:$llvm~), libllvm$major (<< 1:$next~)"

architecture=$(dpkg --print-architecture)
cat >"$stage/DEBIAN/control" <<CONTROL
Package: oriel
Version: $version
Architecture: $architecture
Maintainer: ${DEBFULLNAME:-The authors of Oriel} <${DEBEMAIL:-oriel@localhost}>
Installed-Size: $(du -sk "$stage/usr" | cut -f1)
Depends: $depends
Suggests: clang-$major, llvm-$major, llvm-$major-dev
Section: devel
Priority: optional
Description: optimiser and register estimates for LLVM's NVPTX back end
 Oriel is a plug-in for LLVM's NVPTX back end: it computes live intervals,
 optimises kernels as ptxas does, and says before ptxas has run how many
 registers a kernel needs, where and why.
 .
 This package has the plug-in for llc and clang, the command line tool, and the
 C interface with its files for pkg-config and CMake.
CONTROL
echo 'activate-noawait ldconfig' >"$stage/DEBIAN/triggers"
(cd "$stage" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)

mkdir -p build
package=build/oriel_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$stage" "$package" >/dev/null
echo "$package"
