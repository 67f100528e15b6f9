#!/usr/bin/env bash
# Usage: newest_rocm.sh PROGRAM...
#
# Runs GoogleTest programs of this build, which use ROCr, on the newest ROCr that there is: in a chroot of Debian's experimental with nothing but it (scripts/rocm.sh --only). Only with
# LUTHIER_NEWEST_ROCM=1 in the environment, as it downloads a system. What cannot be prepared is no failure of the project: without root, debootstrap or network, or if that takes too long, it
# says so and exits with 77.
set -euo pipefail
source "$(dirname "$0")/../../scripts/common.sh"

limit=${LUTHIER_NEWEST_ROCM_SECONDS:-240} # for preparing
rocm=("$root/scripts/rocm.sh" experimental --only "rocminfo libhsa-runtime64-1" --no-build)
skip() {
  echo "skipped: $*"
  exit 77
}
[[ ${LUTHIER_NEWEST_ROCM:-0} == 1 ]] || skip "LUTHIER_NEWEST_ROCM=1 asks for it"
[[ ! ${LUTHIER_DEBIAN_RELEASE:-} ]] || skip "this is a chroot of that kind"
((EUID == 0)) || skip "making a chroot needs root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"

begin=$SECONDS
timeout "$limit" "${rocm[@]}" true || skip "the chroot could not be made within $limit s, or the mirror cannot be reached"
echo "prepared in $((SECONDS - begin)) s"
"${rocm[@]}" dpkg-query -W -f='${Package} ${Version}\n' libhsa-runtime64-1 rocminfo
found=$("${rocm[@]}" "$build/bin/luthier" run --gpu gfx90a -- rocminfo)
[[ $found == *"Luthier virtual gfx90a"* ]] || die "rocminfo does not find the virtual GPU: $found"
for program in "$@"; do
  "${rocm[@]}" "$program" --gtest_brief=1
done
echo "took $((SECONDS - begin)) s"
