#!/usr/bin/env bash
# Usage: scripts/differential.sh [--target gfx90a] [--seed S] [--count N] [--optimise 0|1|2|3] [--jobs J] [--opcodes] [...]
#
# Random kernels on the virtual GPU and on the CPU, which must agree to the bit (docs/differential-test.md). Without
# --seed, the seed is the time, and is printed: kernel n of a run has seed S + n. Failing kernels are shrunk, printed and
# written to a folder under /tmp. The default is 10,000 kernels on all cores.
#
# Environment: LUTHIER_BUILD_DIR (default: build), LUTHIER_BUILD_JOBS (default: all cores).
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
esac

installPackages
buildTargets tests/vgpu_differential >&2
exec "$build/tests/vgpu_differential" --seed "$(date +%s)000" --count 10000 --jobs "$(nproc)" "$@"
