#!/usr/bin/env bash
# Usage: scripts/demo.sh
#
# Shows Luthier on a machine without an AMD GPU: installs the packages that are missing (scripts/packages.txt), builds what the
# demo needs, runs a HIP program on a virtual gfx90a, and prints what the GPU executed. Then a tool counts opcodes by itself, by instrumenting the kernels: those
# of the same program, and those of a library, rocRAND, as Debian has built it. A second run installs and builds nothing.
#
# Environment: LUTHIER_BUILD_DIR (default: build), LUTHIER_BUILD_JOBS (default: all cores).
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
?*) die "unknown argument '$1' (see --help)" ;;
esac

installPackages
# rocRAND is not in every release.
rocrand=()
if [[ $(listPackages) == *librocrand-dev* ]]; then rocrand=(e2e_rocrand_sequences); fi
buildVirtualGpu sample_matmul_tiled "${rocrand[@]}" luthier_runtime opcode_histogram instr_count

luthier=$build/bin/luthier
sample=$build/samples/matmul_tiled
stats=$build/demo-stats.json

say "the GPU that ROCm's own rocminfo finds"
"$luthier" run --gpu gfx90a -- rocminfo >"$build/demo-rocminfo.txt" || die "rocminfo failed: see $build/demo-rocminfo.txt"
grep -E '^ +(Marketing Name|Name|Compute Unit|Wavefront Size):.*[^[:space:]]' "$build/demo-rocminfo.txt"

say "luthier run --gpu gfx90a --stats $stats -- $sample"
"$luthier" run --gpu gfx90a --stats "$stats" -- "$sample"

say "what the virtual GPU executed"
python3 "$root/scripts/top_opcodes.py" "$stats"

say "luthier run --tool opcode_histogram -- $sample"
"$luthier" run --gpu gfx90a --tool opcode_histogram -- "$sample"

report=$build/demo-report.html
say "its kernels as a page: luthier run --tool instr_count --instr_count.per=instruction -f html -o $report -- $sample"
"$luthier" run --gpu gfx90a --tool instr_count --instr_count.per=instruction -f html -o "$report" -- "$sample"
say "open $report in a browser"

((${#rocrand[@]})) || exit 0
program=$build/tests/programs/rocrand_sequences
say "the same of a library that was built without any of this: luthier run --tool opcode_histogram --kernel-include-regex 'uniform_distribution<float>' -- $program philox"
"$luthier" run --gpu gfx90a --tool opcode_histogram --kernel-include-regex 'uniform_distribution<float>' -- "$program" philox
