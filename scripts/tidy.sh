#!/usr/bin/env bash
# Usage: scripts/tidy.sh [FILES...]
#
# Runs clang-tidy with the project's .clang-tidy over the sources (or the given ones). Slow, so the tests do not run it.
#
# Environment: LUTHIER_BUILD_DIR (default: build), which must have been configured.
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
esac

configure
if (($#)); then files=("$@"); else mapfile -t files < <(listSources | grep '^src/.*\.cc$' | sed "s|^|$root/|"); fi
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-19 --quiet -p "$build"
