#!/usr/bin/env bash
# Usage: scripts/package.sh [--deb] [FILE]
#
# Builds Luthier and writes what `cmake --install` installs as a tarball: FILE, by default build/luthier-VERSION.tar.gz. It can be unpacked anywhere, and what Debian 12
# has built runs on later releases too (docs/releases.md): the script fails if a program or library in it needs more than libc, libstdc++ and its companions, zlib and zstd.
# With --deb, as a Debian package: FILE, by default build/luthier_VERSION_amd64.deb.
# `scripts/rocm.sh RELEASE --tarball FILE COMMAND` runs a command with it in a chroot of another release.
#
# Environment: LUTHIER_BUILD_DIR (default: build), LUTHIER_BUILD_JOBS (default: all cores).
set -euo pipefail
source "$(dirname "$0")/common.sh"

deb=0
if [[ ${1:-} == --deb ]]; then
  deb=1
  shift
fi
case ${1:-} in
-h | --help) printHelp && exit ;;
-*) die "unknown option '$1' (see --help)" ;;
esac
(($# <= 1)) || die "too many arguments (see --help)"

# What every Debian has, and the virtual GPU's own libraries, which find each other.
allowed='^(lib(c|m|gcc_s|stdc\+\+|z|zstd)\.so\.[0-9]+|ld-linux-x86-64\.so\.2|libluthier\.so.*|libamd_hostcall\.so.*)$'

configure
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
if ((deb)); then
  default=$build/luthier_${version}_$(dpkg --print-architecture).deb
else
  default=$build/luthier-$version.tar.gz
fi
file=$(realpath -m "${1:-$default}")
timed "build" buildVirtualGpu luthier_translate luthier_runtime luthier-exit luthier-hook-compiler luthier-hook-handles amd_hostcall tools
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
DESTDIR= cmake --install "$build" --prefix "$folder/luthier-$version" --strip >/dev/null

foreign=0
while IFS= read -r elf; do
  while IFS= read -r library; do
    [[ $library =~ $allowed ]] && continue
    printf '%s needs %s\n' "${elf#"$folder"/}" "$library" >&2
    foreign=1
  done < <(objdump -p "$elf" 2>/dev/null | awk '$1 == "NEEDED" { print $2 }')
done < <(find "$folder" -type f \( -perm -u+x -o -name '*.so*' \))
((foreign == 0)) || die "the installation needs libraries that not every system has"

if ((deb)); then
  (cd "$build" && cpack -G DEB -B "$folder/deb" >/dev/null)
  cp "$folder"/deb/*.deb "$file"
else
  tar -C "$folder" -czf "$file" "luthier-$version"
fi
say "$file: $(du -h "$file" | cut -f1)"
