#!/usr/bin/env bash
# Usage: scripts/test.sh [CTEST ARGUMENTS...]
#
# Everything that must hold before a change goes in: installs the packages that are missing (scripts/packages.txt), builds, on
# Debian 12 with warnings as errors, checks the formatting and runs all tests, two at a time. With LUTHIER_TIDY=1 clang-tidy looks at all
# sources too, which takes five minutes more. Extra arguments go to ctest, for example
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

runTests() { ctest --test-dir "$build" --output-on-failure --no-tests=error -j2 "$@"; }

timed "packages" installPackages
# One release of clang-format and clang-tidy judges; their successors would not always agree.
judged() { [[ $(listPackages) == *clang-format-* ]]; }
if judged; then timed "formatting" "$root/scripts/format.sh" --check; fi
timed "build" buildTargets
if judged && [[ ${LUTHIER_TIDY:-0} == 1 ]]; then timed "clang-tidy" "$root/scripts/tidy.py"; fi
timed "tests" runTests "$@"
say "everything passed: $SECONDS s"
