#!/usr/bin/env bash
# Usage: scripts/test.sh [CTEST ARGUMENTS...]
#
# Everything that must hold before a change goes in: installs the packages that are missing (scripts/packages.txt), builds, on
# Debian 12 with warnings as errors, checks the formatting, lets clang-tidy look at all sources and runs all tests, three at a time as many of them wait. LUTHIER_TIDY=0
# leaves out clang-tidy, which takes five minutes. Extra arguments go to ctest, for example
#   scripts/test.sh -R Result        tests whose name matches
#   scripts/test.sh -j8              more at a time
# A second run installs and builds nothing.
#
# Environment: LUTHIER_BUILD_DIR (default: build), LUTHIER_BUILD_JOBS (default: all cores).
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
esac

# A test that is skipped tests nothing. Only these may be, and only where the machine is the reason.
maySkip() {
  case $1 in
  Run.WithoutAGpuSaysSoInOneLine) [[ -e /dev/kfd ]] ;;
  Children.SetUid* | EnvOfSetUserIdPrograms.* | Owned.*) [[ $EUID != 0 ]] || findmnt -no OPTIONS -T "${TMPDIR:-/tmp}" | grep -qw nosuid ;;
  Translat* | vgpu.translation | vgpu.exec.translated.* | vgpu.api.hot_kernel) ! grep -qw avx512f /proc/cpuinfo ;;
  HandleTest.*) true ;;                                          # ROCr may use no address twice
  rocm.newest) [[ ${LUTHIER_NEWEST_ROCM:-0} != 1 ]] ;;           # downloads a system
  Corpus.* | HardTest.*Rocrand) [[ $(listPackages) != *librocrand-dev* ]] ;; # releases without it
  *) false ;;
  esac
}

runTests() {
  local log="$build/Testing/last.txt" skipped unexpected=()
  mkdir -p "$build/Testing"
  ctest --test-dir "$build" --output-on-failure --no-tests=error -j3 "$@" | tee "$log"
  mapfile -t skipped < <(sed -n 's/^[[:space:]]*[0-9]* - \(.*\) (Skipped)$/\1/p' "$log")
  for test in "${skipped[@]}"; do maySkip "$test" || unexpected+=("$test"); done
  [[ ${#unexpected[@]} -eq 0 ]] || die "skipped, although this machine has what they need: ${unexpected[*]}"
}

timed "packages" installPackages
# One release of clang-format and clang-tidy judges; their successors would not always agree.
judged() { [[ $(listPackages) == *clang-format-* ]]; }
if judged; then timed "formatting" "$root/scripts/format.sh" --check; fi
timed "build" buildTargets
if judged && [[ ${LUTHIER_TIDY:-1} != 0 ]]; then timed "clang-tidy" "$root/scripts/tidy.py"; fi
timed "tests" runTests "$@"
say "everything passed: $SECONDS s"
