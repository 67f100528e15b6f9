#!/usr/bin/env bash
# Usage: scripts/exactness.sh [--programs REGEX] [--values N|all] [--jobs N] [--timeout SECONDS]
#
# All samples and rocRAND programs under the tools that come with Luthier: what instr_count (per launch, kernel, block and
# instruction), opcode_histogram and mem_trace find must be what the virtual GPU has counted by itself, and what the programs print
# must stay the same. A row per program with what was compared, then the sums. CTest has a selection (tests named tool.counts.* and
# tool.mem_trace.*). --values: how many values of each distribution rocrand_sequences makes; all: a million. Examples:
#   scripts/exactness.sh --programs 'nbody|rocrand_device'
#   scripts/exactness.sh --programs rocrand_sequences --values all
#
# Environment: LUTHIER_BUILD_DIR (default: build); LUTHIER_TEST_GPU: another target than gfx90a, whose samples scripts/targets.py has built.
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
esac

installPackages
buildVirtualGpu luthier_runtime luthier-exit instr_count opcode_histogram mem_trace samples e2e_rocrand_sequences e2e_rocrand_device >&2
exec "$root/tests/tools/exactness.py" "$build" "$@"
