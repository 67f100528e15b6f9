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

# The release of Debian that this is, by its name in scripts/packages.txt. scripts/rocm.sh says it of its chroots: by its own words, a sid with packages of experimental is the next
# release.
debianRelease() {
  local release=${LUTHIER_DEBIAN_RELEASE:-}
  [[ $release ]] || release=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
  case $release in
  bookworm | trixie | forky | experimental) echo "$release" ;;
  *) die "needs Debian 12, 13 or forky; elsewhere install the equivalents of scripts/packages.txt and build with CMake" ;;
  esac
}

# listPackages [RELEASE]: what scripts/packages.txt has for it, one per line.
listPackages() {
  local release=${1:-$(debianRelease)} packages
  sed -e 's/#.*//' "$root/scripts/packages.txt" | while IFS= read -r packages; do
    if [[ $packages == *:* ]]; then
      [[ " ${packages%%:*} " == *" $release "* ]] || continue
      packages=${packages#*:}
    fi
    [[ $packages ]] && printf '%s\n' $packages
  done
  return 0
}

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
    die "needs Debian (dpkg and apt); elsewhere install the equivalents of scripts/packages.txt and build with CMake"
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
  local options=()
  # Newer compilers have newer warnings, and another sanitizer than the one whose suppressions are known.
  if [[ $(debianRelease) == bookworm ]]; then options=(-DLUTHIER_WERROR=ON); else options=(-DLUTHIER_BUILD_SANITIZED=OFF); fi
  cmake -S "$root" -B "$build" -G Ninja "${options[@]}" "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG"
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
