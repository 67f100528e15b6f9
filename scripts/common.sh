# Shared by the scripts of this folder, which source it: paths, packages, configure and build.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${LUTHIER_BUILD_DIR:-$root/build}

say() { printf '== %s\n' "$*" >&2; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Prints the comment block at the top of the calling script, which is its --help.
printHelp() { sed -n '2,/^[^#]/{/^#/{s/^# \{0,1\}//;p}}' "$0"; }

# Runs a command and says how long it took.
timed() {
  local what=$1 start=$SECONDS
  shift
  say "$what"
  "$@"
  say "$what: $((SECONDS - start)) s"
}

listPackages() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$root/scripts/packages.txt"; }

missingPackages() {
  local package
  while read -r package; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done < <(listPackages)
}

# Installs the packages that are missing; does nothing, and needs no network, when there are none.
installPackages() {
  local missing
  mapfile -t missing < <(missingPackages)
  ((${#missing[@]})) || return 0
  installPackage "${missing[@]}"
}

# installPackage NAME...: whatever a script needs beyond the list.
installPackage() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "needs Debian 12 (dpkg and apt); elsewhere install the equivalents of scripts/packages.txt and build with CMake"
  fi
  local asRoot=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "run as root or install sudo; missing packages: $*"
    asRoot=(sudo)
  fi
  say "installing $*"
  "${asRoot[@]}" apt-get update
  "${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# All scripts share one configuration, so that none makes another rebuild. An existing one is kept, whatever its options;
# Ninja itself reconfigures when a CMake file changes. Debug information is what backtraces need: all of it takes longer to compile.
configure() {
  [[ -f $build/build.ninja ]] && return 0
  say "configuring $build"
  cmake -S "$root" -B "$build" -G Ninja -DLUTHIER_WERROR=ON "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG"
}

# buildTargets [TARGET...]: all targets without arguments.
buildTargets() {
  configure
  ninja -C "$build" -j "${LUTHIER_BUILD_JOBS:-$(nproc)}" "$@"
}

# What `luthier run` on a virtual GPU needs.
buildVirtualGpu() { buildTargets luthier virtual_gpu "$@"; }

# The C++ and HIP sources of the tree: what git tracks, and what is new and not ignored.
listSources() {
  git -C "$root" ls-files --cached --others --exclude-standard -- '*.h' '*.c' '*.cc' '*.hip' |
    while read -r file; do if [[ -f $root/$file ]]; then echo "$file"; fi; done
}
