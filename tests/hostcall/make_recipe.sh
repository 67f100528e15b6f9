#!/bin/sh
# Usage: make_recipe.sh CMAKE SOURCE
#
# The library as people without Ninja build it: cmake, make, make build-tests, make test, make install, in a folder of
# their own. All targets must be there; what is built, run and installed of them is the hostcall library alone, since the
# rest takes an hour.
set -e
cmake=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
cd "$folder"
launcher=$(command -v ccache || true)
export CCACHE_NOHASHDIR=true CCACHE_BASEDIR="$folder" # the folder is another one each time
"$cmake" -G "Unix Makefiles" -DCMAKE_INSTALL_PREFIX="$folder/prefix" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" "$source" >configured 2>&1 || { cat configured; exit 1; }

make help >targets
for target in all build-tests test install; do
  grep -q "^\.\.\. $target\b" targets || { echo "there is no target $target"; exit 1; }
done

make -j2 amd_hostcall hostcall_test hostcall_c_api_test hostcall_c_header_test >built 2>&1 || { tail -40 built; exit 1; }
ctest -R '^(CApi|hostcall\.c_header|Buffer|Messages|Printf)' --no-tests=error --output-on-failure
"$cmake" --install . --component hostcall >/dev/null
for file in include/amd_hostcall.h include/luthier/hostcall.h lib/libamd_hostcall.so; do
  find prefix -path "*/$(basename $file)" | grep -q . || { echo "$file is not installed"; exit 1; }
done
echo "make, make build-tests, make test and make install are there; hostcall is built, tested and installed with them"
