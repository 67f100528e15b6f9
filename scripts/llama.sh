#!/usr/bin/env bash
# Usage: scripts/llama.sh [--tarball FILE] ops [OPTIONS...]
#        scripts/llama.sh [--tarball FILE] model [OPTIONS...]
#
# llama.cpp as Debian forky ships it, nothing rebuilt, on a virtual gfx90a in a chroot of forky (scripts/rocm.sh, which also says what --tarball is; without it, Luthier is built there).
#   ops    test-backend-ops, operation by operation: every case is computed on the GPU and on the CPU and compared. Results are kept in build/llama/ops.jsonl, and another run goes on with the cases that
#          have none; `ops --help` says how to choose operations and time limits. Exits with status 1 if a case failed
#   model  a tiny model of random weights: on the CPU, on the virtual GPU, and there under tools (`model --help`). Exits with status 1 if results differ or a kernel was not instrumented
# Examples:
#   scripts/llama.sh ops --operations '^(ROPE|SOFT_MAX)$' --seconds 600
#   scripts/llama.sh ops --report
#   scripts/llama.sh --tarball build/luthier-0.1.0.tar.gz model --tools instr_count
#
# Environment: as for scripts/rocm.sh.
set -euo pipefail
source "$(dirname "$0")/common.sh"

luthier=()
while [[ ${1:-} == -* ]]; do
  case $1 in
  -h | --help) printHelp && exit ;;
  --tarball) luthier=(--tarball "${2:-}") && shift 2 ;;
  *) die "unknown option '$1' (see --help)" ;;
  esac
done
folder=$(realpath -m "$build/llama")
case ${1:-} in
ops) command=("$root/tests/llama/ops.py" --results "$folder/ops.jsonl") ;;
model) command=("$root/tests/llama/model.py" "$folder/model") ;;
*) die "what? ops or model (see --help)" ;;
esac
shift
export LUTHIER_ROCM_PACKAGES="${LUTHIER_ROCM_PACKAGES:-} libggml0-backend-hip llama.cpp-tests llama.cpp-tools llama.cpp-tools-extra"
exec "$root/scripts/rocm.sh" forky "${luthier[@]}" "${command[@]}" "$@"
