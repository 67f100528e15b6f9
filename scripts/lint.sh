#!/usr/bin/env bash
# Usage: scripts/lint.sh [FILE ...] [--every N]
#
# `luthier lint` over whole libraries (default: Debian's rocRAND), and over the same code with one wait taken away or weakened at a time. Not part of
# CI, which takes a few of them. For each FILE, prints what is found, then kernels, instructions and seconds beside LLVM's disassembly of the same
# bytes, then the table of tests/analysis/wait_mutation.cc per target: changes, how many were found, and how many matter to no register. `--every N` changes every Nth wait only.
#
# Exits with 1 if anything is found in FILE, or a wait that matters is missed.
#
# Environment: LUTHIER_BUILD_DIR (default: build).
set -euo pipefail
source "$(dirname "$0")/common.sh"

every=1
files=()
while [[ $# -gt 0 ]]; do
  case $1 in
  -h | --help) printHelp && exit ;;
  --every) every=${2:?--every needs a number} && shift ;;
  -*) die "unknown argument '$1' (see --help)" ;;
  *) files+=("$(realpath "$1")") ;;
  esac
  shift
done
[[ ${#files[@]} -gt 0 ]] || files=(/usr/lib/x86_64-linux-gnu/librocrand.so.1)
installPackages
configure
buildTargets luthier corpus analysis_wait_mutation >&2

status=0
for file in "${files[@]}"; do
  say "$file"
  "$build/bin/luthier" lint "$file" || status=1
  "$build/bench/corpus" "$file" --lint
  "$build/tests/analysis_wait_mutation" "$file" --every "$every" || status=1
done
exit $status
