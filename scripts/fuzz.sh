#!/usr/bin/env bash
# Usage: scripts/fuzz.sh [TARGET] [SECONDS]
#
# Runs the fuzzers of tests/fuzz under AddressSanitizer and UndefinedBehaviorSanitizer: TARGET (elf, bundle, compressed, msgpack,
# descriptor, target_id, hostcall, aql, pm4, sdma) or all of them one after the other, each for SECONDS (default: 300). What they learn stays in the build
# folder (tests/fuzz/corpus) for the next run. An input that does harm is written to tests/fuzz/crash-* and named; the script
# then ends with 1.
#
# Environment: LUTHIER_BUILD_DIR (default: build), LUTHIER_BUILD_JOBS (default: all cores).
set -euo pipefail
source "$(dirname "$0")/common.sh"

all=(elf bundle compressed msgpack descriptor target_id hostcall aql pm4 sdma)
case ${1:-} in
-h | --help) printHelp && exit ;;
esac
targets=("${all[@]}")
if [[ -n ${1:-} && ! ${1:-} =~ ^[0-9]+$ ]]; then
  [[ " ${all[*]} " == *" $1 "* ]] || die "no fuzzer '$1'; there are: ${all[*]}"
  targets=("$1")
  shift
fi
seconds=${1:-300}
[[ $seconds =~ ^[0-9]+$ ]] || die "'$seconds' is not a number of seconds (see --help)"

buildTargets "${targets[@]/#/fuzz_}" >&2
cd "$build/tests/fuzz"
failed=()
for target in "${targets[@]}"; do
  mkdir -p "corpus/$target"
  say "fuzz_$target for $seconds s"
  if "./fuzz_$target" -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$PWD/" "corpus/$target" "seeds/$target" >"$target.log" 2>&1; then
    grep -E 'cov:' "$target.log" | tail -1
    grep -E 'number_of_executed_units|peak_rss' "$target.log"
  else
    tail -40 "$target.log"
    failed+=("$target")
  fi
done
((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
say "nothing found: $SECONDS s"
