#!/usr/bin/env bash
# Usage: test.sh BUILD_FOLDER SOURCE C_COMPILER: installs the library somewhere, and builds and runs SOURCE with it, first as a
# CMake project that finds the package, then by hand with what pkg-config says.
set -euo pipefail
build=$1 source=$2 compiler=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --component hostcall --prefix "$folder/installed" >/dev/null
cmake -S "$(dirname "$0")" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed" -DCMAKE_C_COMPILER="$compiler" \
  -DSOURCE="$source" >/dev/null
cmake --build "$folder/build" >/dev/null
[[ $("$folder/build/uses_amd_hostcall") == success ]]

# The tree may be moved.
mv "$folder/installed" "$folder/moved"
libraries=$(dirname "$(find "$folder/moved" -name libamd_hostcall.so)")
export PKG_CONFIG_PATH=$libraries/pkgconfig
# shellcheck disable=SC2046
"$compiler" "$source" -o "$folder/by_hand" $(pkg-config --cflags --libs amd_hostcall)
[[ $(LD_LIBRARY_PATH=$libraries "$folder/by_hand") == success ]]

# Nothing but the C API is visible.
foreign=$(nm -D --defined-only "$libraries/libamd_hostcall.so" | awk '{print $3}' | grep -v '^amd_hostcall_\|^AMD_HOSTCALL_1' || true)
[[ -z $foreign ]] || { echo "foreign symbols: $foreign" && exit 1; }
echo passed
