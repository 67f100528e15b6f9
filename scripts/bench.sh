#!/usr/bin/env bash
# Usage: scripts/bench.sh NAME [ARGUMENTS...]
#
# Builds and runs the benchmark bench/NAME_bench.cc or .py; the arguments are passed to it.
#   vgpu [KERNEL...]   speed of the virtual GPU: wave-instructions and lane-operations per second, the same kernels on PoCL,
#                      start-up time
#   hsa [DISPATCHES]   dispatches per second with and without interception
#   hostcall [ROUNDS]  latency and throughput of calls from a CPU and from the virtual GPU to the host
#   rewrite [FILE]     rewriting all kernels of rocRAND (or of FILE) with a counter in every block: time beside LLVM's disassembly,
#                      code growth, resources; executed instructions per visit of a counter, beside those of a call
#   forms              hooks of three sizes at 1, 100 and 10,000 places, copied and called: growth, time, executed instructions per visit
#   tools [OPTIONS]    what tools cost on the samples, in executed instructions and in time (tools --help)
#
# Environment: LUTHIER_BUILD_DIR (default: build), LUTHIER_BUILD_JOBS (default: all cores).
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
"") printHelp >&2 && exit 2 ;;
esac
name=$1
shift

compgen -G "$root/bench/${name}_bench.*" >/dev/null || die "no benchmark named '$name' (see --help)"
installPackages
buildVirtualGpu "bench/${name}_bench" >&2
exec "$build/bench/${name}_bench" "$@"
