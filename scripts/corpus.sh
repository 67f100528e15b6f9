#!/usr/bin/env bash
# Usage: scripts/corpus.sh [--target gfx90a:xnack-] [--budget]
#        scripts/corpus.sh rewrite [FILE] [--target gfx90a:xnack-]
#
# Reads every kernel of Debian's rocSPARSE (1.3 GB, seven targets): decode, control flow, liveness. Not part of CI. Installs
# librocsparse0 if it is missing.
#
# Prints kernels, instructions, failures, seconds of one core, and the ratio to LLVM's disassembly of the same bytes. Ends
# with 1 if anything fails, if gfx90a has not the numbers that are known, or if the ratio is above 2.
#
# `rewrite` rewrites them, or the kernels of FILE (a program or library with GPU code, a bundle, a code object), gfx90a's by default: as they are, with a counter in memory in every block, with a counter in
# registers in every block. Prints failures and rejected sites with their reasons, seconds, instructions per site, kernels
# whose registers and occupancy stay the same, growth of code. Ends with 1 if anything fails or is rejected.
#
# Environment: LUTHIER_BUILD_DIR (default: build).
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
esac

library=/usr/lib/x86_64-linux-gnu/librocsparse.so.0
file=$library
if [[ ${1:-} == rewrite && -n ${2:-} && $2 != -* ]]; then
  file=$(realpath "$2")
  set -- rewrite "${@:3}"
  [[ $* == *--target* ]] || set -- "$@" --target gfx90a
fi
installPackages
[[ $file != "$library" || -e $library ]] || installPackage librocsparse0
configure
if [[ ${1:-} == rewrite ]]; then
  shift
  buildTargets rewrite_bench >&2
  exec "$build/bench/rewrite_bench" "$file" --no-limits --no-execution "$@"
fi
buildTargets corpus >&2

output=$("$build/bench/corpus" "$library" "$@" | tee /dev/stderr)
awk '
  $1 == "gfx90a:xnack-" && ($2 != 12591 || $4 != 6575219) {
    print "gfx90a:xnack-: expected 12591 kernels and 6575219 instructions"; bad = 1
  }
  $1 ~ /^gfx/ && NF == 9 && $9 > 2 { print $1 ": more than twice the time of LLVM"; bad = 1 }
  END { exit bad }' <<<"$output"
