#!/usr/bin/env bash
# Usage: scripts/format.sh [--check]
#
# Formats the C++ and HIP sources of the tree with clang-format-19 and the .clang-format at its root. With --check changes
# nothing, and fails naming the lines that are not formatted.
set -euo pipefail
source "$(dirname "$0")/common.sh"

mode=(-i)
case ${1:-} in
-h | --help) printHelp && exit ;;
--check) mode=(--dry-run -Werror) ;;
?*) die "unknown argument '$1' (see --help)" ;;
esac

command -v clang-format-19 >/dev/null || die "clang-format-19 is not installed (scripts/packages.txt)"
cd "$root"
if ! listSources | xargs -r -d '\n' clang-format-19 "${mode[@]}"; then
  die "some files are not formatted: run scripts/format.sh"
fi
