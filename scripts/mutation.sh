#!/usr/bin/env bash
# Usage: scripts/mutation.sh [--quick] [FAULT ...]
#
# Plants one fault at a time in the rewriter (src/rewrite/testing.h) and runs the suites that must notice: tests of the rewriter
# on the virtual GPU, and samples with all their kernels rewritten, in normal mode and with strict waits. Default: all faults that
# tests/rewrite/planted_fault.cc names. Prints a table: fault, and the suites that notice it. A suite notices if a test of it fails, crashes
# or does not end; one that does not come to a test (a missing program, a crash at the start) did not run, which says nothing about the fault.
# First comes the control, without a fault: there, every suite must run and pass. Under each fault every suite must run and at least one
# must notice. Otherwise the exit code is 1.
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
planted="$root/tests/rewrite/planted_fault.cc"
if [[ ${#faults[@]} -eq 0 ]]; then
  mapfile -t faults < <(sed -n '/env::choice/,/;/p' "$planted" | grep -o '"[a-z][a-z0-9_]*"' | tr -d '"' | grep -vx none)
  [[ ${#faults[@]} -gt 0 ]] || die "$planted names no fault"
fi
samples=(reduction_tree wave_intrinsics function_pointers)
suites=(state change position hard strict)
declare -A filter
limit=300 # seconds; a kernel that was rewritten wrongly may never end

if [[ -n $quick ]]; then
  filter[hard]='HardTest.AllRegistersInUse:HardTest.WaveVariable*:HardTest.Spill*:HardTest.Shared*'
  filter[strict]='-*Rocrand*'
else
  suites+=(transparency waits)
  installPackages
  configure
  buildTargets luthier virtual_gpu rewrite_swap rewrite_{state,change,position,hard,strict}_test "${samples[@]/#/sample_}" >&2
fi

# Runs a suite under a fault, and says what came of it: passes, notices, or "did not run".
outcome() {
  local suite=$1 sample form strict=() code=0 result
  case $suite in
  transparency | waits)
    [[ $suite == waits ]] && strict=(--machine waits)
    for sample in "${samples[@]}"; do
      for form in lane wave; do
        code=0
        timeout $limit "$root/tests/rewrite/transparency.py" --luthier "$build/bin/luthier" --swap "$build/tests/tools/libswap.so" \
          --hooks "$build/tests/rewrite/harness_hooks.bc" --mode hostile --form $form --every 3 --timeout 60 "${strict[@]}" \
          -- "$build/samples/$sample" >"$output" 2>&1 || code=$?
        result=$(judged $code '^FAIL' .)
        [[ $result == passes ]] || break 2
      done
    done
    ;;
  *)
    timeout $limit "$build/tests/rewrite_${suite}_test" --gtest_fail_fast --gtest_filter="${filter[$suite]:-*}" >"$output" 2>&1 || code=$?
    result=$(judged $code '^\[  FAILED  \]' '^\[ RUN ')
    ;;
  esac
  echo "$result"
}

# judged EXIT_CODE FAILURE START: FAILURE is what the output has when a test failed, START when one had begun.
judged() {
  if [[ $1 == 0 ]] && grep -q "$3" "$output"; then
    echo passes
  elif [[ $1 != 0 ]] && grep -q "$2" "$output"; then
    echo notices
  elif [[ $1 -ge 124 && $1 != 126 && $1 != 127 ]] && grep -q "$3" "$output"; then
    echo notices # does not end, or crashes
  else
    echo "did not run"
  fi
}

output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0
printf '%-12s%s\n' fault "suites that notice"
for fault in none "${faults[@]}"; do
  noticing=() missing=()
  for suite in "${suites[@]}"; do
    case $(LUTHIER_REWRITE_BREAK=$fault outcome "$suite") in
    passes) continue ;;
    notices) noticing+=("$suite") ;;
    *) missing+=("$suite") ;;
    esac
    # What fails without a fault, or does not run, cannot tell anything.
    [[ $fault != none ]] || tail -20 "$output" >&2
  done
  verdict=
  [[ ${#missing[@]} -eq 0 ]] || verdict="   <- did not run: ${missing[*]}"
  if [[ $fault == none && ${#noticing[@]} -gt 0 ]]; then
    verdict+="   <- none may"
  elif [[ $fault != none && ${#noticing[@]} -eq 0 ]]; then
    verdict+="   <- not noticed"
  fi
  [[ -z $verdict ]] || status=1
  printf '%-12s%s%s\n' "${fault/none/(control)}" "${noticing[*]:--}" "$verdict"
  [[ $fault != none || $status == 0 ]] || exit 1
done
exit $status
