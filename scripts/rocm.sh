#!/usr/bin/env bash
# Usage: scripts/rocm.sh RELEASE [--prefix] [--only PACKAGES] [--no-build | --tarball FILE] [COMMAND [ARGUMENTS...]]
#        scripts/rocm.sh RELEASE --prebuilt BUILD [CTEST ARGUMENTS... | COMMAND [ARGUMENTS...]]
#
# Luthier on the ROCm of another release of Debian: trixie (13: ROCr 6.1.2), forky (14: 6.4.3) or experimental (sid with ROCm of experimental: 7.2.4). Makes a chroot of it in
# build/rocm/RELEASE/root, installs what scripts/packages.txt has for it, builds the project there (build/rocm/RELEASE/build) and runs all its tests, or COMMAND with the
# fresh `luthier` in PATH. Of all this, what exists is kept: a second run installs and builds nothing. Inside, the tree is where it is outside, /tmp is the same, and the current folder
# stays if it is in one of the two. Needs root and debootstrap.
#   --prefix        another chroot (build/rocm/RELEASE/prefix), in which ROCm's packages are unpacked into /opt/rocm instead of installed; ROCM_PATH names it
#   --only PACKAGES another chroot (build/rocm/RELEASE/only) with these packages and no others, for example "rocminfo libamdhip64-7"
#   --no-build      builds nothing: only the chroot and COMMAND
#   --tarball FILE  nothing is built either: COMMAND finds the installation that scripts/package.sh wrote to FILE, for example on Debian 12
#   --prebuilt BUILD
#                   takes programs, libraries and tools from BUILD, a build folder of Debian 12, makes only what hipcc compiles, and runs the tests of ROCm (label rocm) on it: all of them,
#                   or those that the CTEST ARGUMENTS choose, for example -R '^sample'. Then it prints what they gave by group, with what earlier runs gave for the others. In the chroot
#                   BUILD is where it was made, its sources are those of this tree, and what is written to it goes to build/rocm/RELEASE/prebuilt: BUILD itself is not changed
# Examples:
#   scripts/rocm.sh forky luthier run -- rocminfo
#   scripts/rocm.sh experimental --tarball build/luthier-0.1.0.tar.gz luthier version
#   scripts/rocm.sh trixie --no-build bash
#   scripts/rocm.sh trixie --prebuilt build -R transparency
#   scripts/rocm.sh experimental --prefix luthier run -- rocminfo
#   scripts/rocm.sh experimental --only rocminfo --tarball build/luthier-0.1.0.tar.gz luthier run -- rocminfo
#
# Environment: LUTHIER_BUILD_DIR (default: build), LUTHIER_BUILD_JOBS (default: all cores), LUTHIER_ROCM_ROOT (a chroot that exists, instead of making one),
# LUTHIER_ROCM_PACKAGES (further packages for it), LUTHIER_DEBIAN_MIRROR (default: the one that this system takes its packages from).
set -euo pipefail
source "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help) printHelp && exit ;;
trixie | forky | experimental) release=$1 && shift ;;
'') die "which release? trixie, forky or experimental (see --help)" ;;
*) die "unknown release '$1': trixie, forky or experimental (see --help)" ;;
esac
mode=build tarball='' prebuilt='' made='' sources='' variant='' only=''
while [[ ${1:-} == -* ]]; do
  case $1 in
  -h | --help) printHelp && exit ;;
  --no-build) mode=none && shift ;;
  --prefix) variant=prefix && shift ;;
  --only)
    variant=only only=${2:-}
    [[ $only ]] || die "--only: which packages?"
    shift 2
    ;;
  --tarball)
    mode=tarball tarball=${2:-}
    [[ -f $tarball ]] || die "--tarball: there is no file '$tarball' (scripts/package.sh writes one)"
    tarball=$(realpath "$tarball")
    shift 2
    ;;
  --prebuilt)
    mode=prebuilt prebuilt=${2:-}
    [[ -f $prebuilt/CMakeCache.txt ]] || die "--prebuilt: '$prebuilt' is no build folder"
    prebuilt=$(realpath "$prebuilt")
    made=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$prebuilt/CMakeCache.txt")
    sources=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$prebuilt/CMakeCache.txt")
    shift 2
    break # what follows is for ctest
    ;;
  *) die "unknown option '$1' (see --help)" ;;
  esac
done
if [[ $mode != build && $mode != prebuilt && $# == 0 ]]; then die "without a build there are no tests: which command? (see --help)"; fi

((EUID == 0)) || die "run as root: a chroot is made and entered"
folder=$build/rocm/$release${variant:+/$variant}
mkdir -p "$folder"
folder=$(realpath "$folder") build=$(realpath "$build")
chroot=${LUTHIER_ROCM_ROOT:-$folder/root}
# Where this system takes the packages of its release from, updates and security fixes apart.
systemMirror() {
  apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null | awk '$2 !~ /-/ && !found { print $1; found = 1 }'
}
mirror=${LUTHIER_DEBIAN_MIRROR:-$(systemMirror)}

# ROCm's sources: their packages are taken from experimental, or go to the prefix.
rocmSources="aqlprofile hipblas hipblas-common hipcub hiprand rccl rocblas rocm-core rocm-hipamd rocm-llvm rocm-smi-lib rocminfo rocprim rocprofiler-register rocr-runtime rocrand rocthrust"

# Debian's keys: a chroot's own, once there is one, know the releases that came after this system.
makeChroot() {
  [[ $mirror ]] || die "no mirror of Debian is known: set LUTHIER_DEBIAN_MIRROR"
  command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"
  local suite=$release scripts=/usr/share/debootstrap/scripts script
  [[ $release == experimental ]] && suite=sid
  script=$scripts/$suite
  [[ -e $script ]] || script=$scripts/sid # what is the same for all releases of today
  rm -rf "$chroot.new"
  timed "debootstrap $suite" unshare --mount debootstrap --variant=minbase --include=ca-certificates "$suite" "$chroot.new" "$mirror" "$script" >&2
  # It is for tests: no documentation, no recommendations, no waiting for the disk, and a mirror may be a snapshot of last month.
  printf 'force-unsafe-io\npath-exclude=/usr/share/doc/*\npath-exclude=/usr/share/man/*\n' >"$chroot.new/etc/dpkg/dpkg.cfg.d/luthier"
  printf 'APT::Install-Recommends "0";\nAcquire::Languages "none";\nAcquire::Check-Valid-Until "false";\n' >"$chroot.new/etc/apt/apt.conf.d/90luthier"
  if [[ $release == experimental ]]; then
    echo "deb $mirror experimental main" >"$chroot.new/etc/apt/sources.list.d/experimental.list"
    printf 'Package: %s\nPin: release a=experimental\nPin-Priority: 700\n' "$(printf 'src:%s ' $rocmSources)" >"$chroot.new/etc/apt/preferences.d/rocm"
  fi
  mv "$chroot.new" "$chroot"
}

# inside COMMAND...: in the chroot, in a mount namespace of its own, so that nothing stays mounted. With --prebuilt the tree is also where that build had it, and so is the build,
# with a layer of its own for what is written.
inside() {
  unshare --mount bash -c '
    set -e
    chroot=$1 root=$2 here=$3 build=$4 prebuilt=$5 made=$6 sources=$7 layer=$8
    shift 8
    mount --rbind /proc "$chroot/proc"
    mount --bind /sys "$chroot/sys"
    mount -o remount,bind,ro "$chroot/sys"
    mount --rbind /dev "$chroot/dev"
    mount --bind /tmp "$chroot/tmp"
    mkdir -p "$chroot$root"
    mount --rbind "$root" "$chroot$root"
    case $build in "$root"/* | /tmp/*) ;; *) mkdir -p "$chroot$build" && mount --bind "$build" "$chroot$build" ;; esac
    if [[ $prebuilt ]]; then
      if [[ $sources != "$root" ]]; then
        mkdir -p "$chroot$sources"
        mount --rbind "$root" "$chroot$sources"
      fi
      mkdir -p "$chroot$made"
      mount -t overlay -o "lowerdir=$prebuilt,upperdir=$layer/files,workdir=$layer/work" luthier "$chroot$made"
    fi
    [[ -e /etc/resolv.conf ]] && cat /etc/resolv.conf >"$chroot/etc/resolv.conf"
    case $here/ in "$root"/* | /tmp/*) ;; *) here=/ ;; esac
    exec chroot "$chroot" /usr/bin/env -C "$here" "$@"' inside "$chroot" "$root" "$PWD" "$build" "$prebuilt" "$made" "$sources" "$folder/prebuilt" \
    PATH="$path:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    LUTHIER_DEBIAN_RELEASE="$release" LUTHIER_BUILD_DIR="${made:-$folder/build}" ${extra[@]+"${extra[@]}"} "$@"
}

installInside() {
  local wanted missing
  wanted=${only:-$(listPackages "$release") ${LUTHIER_ROCM_PACKAGES:-}}
  # shellcheck disable=SC2086
  missing=$(comm -23 <(printf '%s\n' $wanted | sort -u) <({ installed && cat "$chroot$prefix/packages" 2>/dev/null; } | sort -u))
  [[ $missing ]] || return 0
  say "installing in $chroot:" $missing
  inside apt-get update >&2
  # shellcheck disable=SC2086
  if [[ $prefix ]]; then unpackInPrefix $missing >&2; else inside apt-get install -y $missing >&2; fi
  inside apt-get clean
}

installed() { inside dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p'; }

# unpackInPrefix PACKAGE...: installs them and what they need, but for those of ROCm, which it unpacks into the prefix. There they lie as AMD's do, with the compiler of Debian, which is
# not ROCm's, for AMD's.
unpackInPrefix() {
  local package source rocm=() others=()
  while read -r package source; do
    if [[ " $rocmSources " == *" $source "* ]]; then rocm+=("$package"); else others+=("$package"); fi
  done < <(inside apt-get -s install "$@" | sed -n 's/^Inst \([^ ]*\).*/\1/p' | inside xargs apt-cache show --no-all-versions |
    awk '/^Package:/ { name = source = $2 } /^Source:/ { source = $2 } /^$/ { print name, source }')
  inside apt-get install -y "${others[@]}"
  rm -rf "$chroot/tmp.rocm" && mkdir -p "$chroot/tmp.rocm" "$chroot$prefix/lib"
  inside bash -euc 'cd /tmp.rocm && apt-get -o APT::Sandbox::User=root download "$@" && for package in *.deb; do dpkg-deb -x "$package" files; done' unpack "${rocm[@]}"
  inside bash -euc '
    cd /tmp.rocm/files
    cp -a usr/lib/x86_64-linux-gnu/. "$1/lib"
    rm -rf usr/lib/x86_64-linux-gnu
    for bitcode in usr/lib/llvm-*/lib/clang/*/amdgcn; do
      [[ -d $bitcode ]] || continue
      cp -a "$bitcode" "$1"
      llvm=$(cut -d/ -f3 <<<"$bitcode")
      rm -rf "usr/lib/$llvm"
      ln -sfn "/usr/lib/$llvm" "$1/lib/llvm"
      ln -sfn "/usr/lib/$llvm" "$1/lib/$llvm" # for the hipcc of Debian
    done
    cp -a usr/. "$1"' unpack "$prefix"
  printf '%s\n' "${rocm[@]}" >>"$chroot$prefix/packages"
  rm -rf "$chroot/tmp.rocm"
}

# What depends on the release, in a build folder that has all the rest. Run inside.
preparePrebuilt() {
  local made=$1 sources=$2 program missing
  cd "$made"
  # What another CMake, compiler and ROCm have left; and lists of tests, which are made anew when CTest first looks at them.
  if [[ ! -f rocm_configure.log ]]; then rm -rf CMakeCache.txt CMakeFiles build.ninja .ninja_log .ninja_deps; fi
  find tests -name '*_tests.cmake' -delete
  cmake -S "$sources" -B . -G Ninja -DLUTHIER_BUILD_SANITIZED=OFF -DLUTHIER_BUILD_BENCH=OFF -DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST >rocm_configure.log ||
    { cat rocm_configure.log && return 1; }
  "$sources/scripts/rocm_outputs.py" . "${LUTHIER_BUILD_JOBS:-$(nproc)}"
  # A program that cannot be started cannot list its tests.
  for program in tests/*_test; do
    missing=$(ldd "$program" | sed -n 's/^\t\(.*\) => not found$/\1/p')
    [[ $missing ]] || continue
    say "left out: $program needs" $missing "which this release has not"
    rm "$program"
  done
}

# testPrebuilt BUILD SOURCES [CTEST ARGUMENT...]. Run inside.
testPrebuilt() {
  local made=$1 sources=$2
  shift 2
  mkdir -p "$made/rocm_results"
  (($#)) || rm -f "$made"/rocm_results/*
  ctest --test-dir "$made" --output-on-failure --no-tests=error -j2 -L '^rocm$' "$@" 2>&1 | tee "$made/rocm_results/$(date +%s).log" || true
  "$sources/scripts/rocm_results.py" "$made"
}

if [[ $mode == prebuilt ]]; then
  if [[ $(cat "$folder/prebuilt/of" 2>/dev/null) != "$prebuilt" ]]; then rm -rf "$folder/prebuilt"; fi
  mkdir -p "$folder/prebuilt/files" "$folder/prebuilt/work"
  echo "$prebuilt" >"$folder/prebuilt/of"
  # Two mounts of one layer would spoil it.
  exec 9>"$folder/prebuilt/lock"
  flock -n 9 || { say "another run uses $folder/prebuilt: waiting for it" && flock 9; }
fi
path= prefix= extra=()
if [[ $variant == prefix ]]; then
  prefix=/opt/rocm path=$prefix/bin
  extra=(ROCM_PATH="$prefix" LD_LIBRARY_PATH="$prefix/lib")
fi
[[ -d $chroot/usr ]] || makeChroot
installInside
case $mode in
none) inside "$@" ;;
tarball)
  rm -rf "$folder/installed"
  mkdir -p "$folder/installed"
  tar -C "$folder/installed" --strip-components=1 -xf "$tarball"
  path=$folder/installed/bin:$path
  inside "$@"
  ;;
prebuilt)
  path=$made/bin:$path
  functions=$(declare -f say preparePrebuilt testPrebuilt)
  inside bash -euo pipefail -c "$functions; preparePrebuilt \"\$@\"" prebuilt "$made" "$sources" >&2
  if (($# == 0)) || [[ $1 == -* ]]; then
    inside bash -euo pipefail -c "$functions; testPrebuilt \"\$@\"" prebuilt "$made" "$sources" "$@"
  else
    inside "$@"
  fi
  ;;
build)
  path=$folder/build/bin:$path
  if (($# == 0)); then
    inside "$root/scripts/test.sh"
  else
    inside bash -euo pipefail -c 'source "$1/scripts/common.sh" && buildVirtualGpu luthier_runtime tools >&2' build "$root"
    inside "$@"
  fi
  ;;
esac
