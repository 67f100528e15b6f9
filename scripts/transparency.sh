#!/usr/bin/env bash
# Usage: scripts/transparency.sh [--programs REGEX] [--modes REGEX] [--every N] [--phase N] [--jobs N] [--timeout SECONDS] [--done FILE]
#
# All samples and rocRAND programs with all their kernels rewritten: as they are, and with hooks that do nothing, count, or are
# hostile (registers; with state per lane, per wave and in LDS; with frames, calls and recursion; with everything of that), before or after every instruction, once per lane or per wave, on the virtual GPU as it is (normal), with its check of waits (waits), and
# as strict as the hardware (strict). What they print must stay the same. Takes hours; CTest has a selection (tests named transparency.*). Examples:
#   scripts/transparency.sh --modes identity
#   scripts/transparency.sh --modes 'everything.*(normal|strict)' --done everything.txt    goes on where it was interrupted
#   scripts/transparency.sh --programs 'nbody|rocrand' --modes 'hostile.lane.before.normal'
#
# Environment: LUTHIER_BUILD_DIR (default: build); LUTHIER_TEST_GPU: another target than gfx90a, whose samples scripts/targets.py has built.
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
esac

installPackages
configure
buildVirtualGpu rewrite_swap rewrite_test_kernels samples e2e_rocrand_sequences e2e_rocrand_device >&2
exec "$root/tests/rewrite/matrix.py" "$build" "$@"
