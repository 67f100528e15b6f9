#!/usr/bin/env bash
# Usage: no_planted_faults.sh TEST PRODUCT...
#
# The name of the variable that plants faults in the rewriter is in TEST, which is linked with them, and in none of the PRODUCTs.
set -euo pipefail

test=$1
shift
grep -q LUTHIER_REWRITE_BREAK "$test" || { echo "$test: no planted faults, so that scripts/mutation.sh tests nothing" && exit 1; }
for product in "$@"; do
  [[ -s $product ]] || { echo "$product: missing" && exit 1; }
  ! grep -q LUTHIER_REWRITE_BREAK "$product" || { echo "$product: LUTHIER_REWRITE_BREAK plants faults in it" && exit 1; }
done
