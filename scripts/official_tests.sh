#!/usr/bin/env bash
# Usage: scripts/official_tests.sh RELEASE TARBALL PACKAGE... [-- ARGUMENTS of official_tests.py]
#
# The test programs that Debian ships with ROCm's libraries, for example librocrand1-tests and librocprim-tests, as they are, on a virtual gfx90a in a chroot of RELEASE (scripts/rocm.sh):
# installs the PACKAGEs there, runs all GoogleTest programs in them with the Luthier of TARBALL (scripts/package.sh), each for a limited time, and prints what their cases gave. What has
# been run is kept in build/rocm/RELEASE/official, and a further call goes on with what has not. Examples:
#   scripts/official_tests.sh trixie build/luthier-0.1.0.tar.gz librocrand1-tests librocprim-tests
#   scripts/official_tests.sh trixie build/luthier-0.1.0.tar.gz librocrand1-tests -- --sdma 0 --limit 600 --programs 'kernel_'
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && "$root/scripts/official_tests.py" --help && exit ;;
esac
(($# >= 3)) || die "which release, which tarball, which packages? (see --help)"
release=$1 tarball=$2
shift 2
packages=()
while (($#)) && [[ $1 != -- ]]; do packages+=("$1") && shift; done
shift || true
folder=$(realpath -m "$build/rocm/$release/official")
mkdir -p "$folder"
LUTHIER_ROCM_PACKAGES="${packages[*]}" exec "$root/scripts/rocm.sh" "$release" --tarball "$tarball" "$root/scripts/official_tests.py" "$folder" "${packages[@]}" "$@"
