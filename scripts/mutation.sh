#!/usr/bin/env bash
# Usage: scripts/mutation.sh [--quick] [FAULT ...]
#
# Plants one fault at a time in the rewriter (src/rewrite/testing.h) and runs the suites that must notice: tests of the rewriter
# on the virtual GPU, and samples with all their kernels rewritten, in normal mode and with strict waits. Prints a table: fault, and
# the suites that fail under it. Without a fault none may fail, and under each fault at least one must; otherwise the exit code is 1.
#   --quick   only tests without ROCr, and of those the quick ones; nothing is built
#
# Environment: LUTHIER_BUILD_DIR (default: build).
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
esac
quick=
if [[ ${1:-} == --quick ]]; then
  quick=1
  shift
fi
faults=("$@")
[[ ${#faults[@]} -gt 0 ]] || faults=(none liveness placement waits scc branches descriptor)
samples=(reduction_tree wave_intrinsics function_pointers)
suites=(state change position hard)
filter='*'
limit=300 # seconds; a kernel that was rewritten wrongly may never end

if [[ -n $quick ]]; then
  filter='HardTest.AllRegistersInUse:HardTest.WaveVariable*:HardTest.Spill*:HardTest.Shared*'
else
  suites+=(transparency strict)
  installPackages
  configure
  buildTargets luthier virtual_gpu rewrite_swap rewrite_{state,change,position,hard}_test "${samples[@]/#/sample_}" >&2
fi

# Fails when it notices something.
run() {
  local suite=$1 sample form strict=()
  case $suite in
  hard) timeout $limit "$build/tests/rewrite_hard_test" --gtest_fail_fast --gtest_filter="$filter" ;;
  transparency | strict)
    [[ $suite == strict ]] && strict=(--strict)
    for sample in "${samples[@]}"; do
      for form in lane wave; do
        timeout $limit "$root/tests/rewrite/transparency.py" --luthier "$build/bin/luthier" --swap "$build/tests/tools/libswap.so" \
          --hooks "$build/tests/rewrite/harness_hooks.bc" --mode hostile --form $form --every 3 --timeout 60 "${strict[@]}" \
          -- "$build/samples/$sample" || return 1
      done
    done
    ;;
  *) timeout $limit "$build/tests/rewrite_${suite}_test" --gtest_fail_fast ;;
  esac
}

status=0
printf '%-12s%s\n' fault "suites that fail"
for fault in "${faults[@]}"; do
  failing=()
  for suite in "${suites[@]}"; do
    LUTHIER_REWRITE_BREAK=$fault run "$suite" >/dev/null 2>&1 || failing+=("$suite")
  done
  verdict=
  if [[ $fault == none && ${#failing[@]} -gt 0 ]]; then
    verdict="   <- none may"
  elif [[ $fault != none && ${#failing[@]} -eq 0 ]]; then
    verdict="   <- not noticed"
  fi
  [[ -z $verdict ]] || status=1
  printf '%-12s%s%s\n' "$fault" "${failing[*]:--}" "$verdict"
done
exit $status
