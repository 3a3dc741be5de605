# Sourced by scripts/test and scripts/demo: installs what they need, builds, and times every step.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
logs=$root/build/logs
cores=$(nproc)
started=$SECONDS
mkdir -p "$logs"
export DEBIAN_FRONTEND=noninteractive
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1   # one object serves all presets and clones

packages=(
  ca-certificates git
  cmake ninja-build ccache clang-22 lld-22 libclang-rt-22-dev      # build
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools liblld-22-dev
  flatbuffers-compiler libflatbuffers-dev libxxhash-dev libcli11-dev libgloo-dev libzip-dev libxtensor-dev nlohmann-json3-dev libkainjow-mustache-dev
  libgtest-dev openmpi-bin python3-venv python3-psutil clang-format-22 clang-tidy-22   # tests
)

# step <name> <what it does> <command>...: runs the command, its output in a log; says how long it took.
step() {
  local name=$1 what=$2 begin=$SECONDS
  shift 2
  printf '%-10s %s ... ' "$name" "$what"
  if "$@" >"$logs/$name.log" 2>&1 </dev/null; then
    printf 'ok, %d s%s\n' $((SECONDS - begin)) "${note:+ ($note)}"
    note=
    return 0
  fi
  printf 'FAILED after %d s; the end of %s:\n' $((SECONDS - begin)) "build/logs/$name.log"
  tail -n 150 "$logs/$name.log" | sed 's/^/  | /'
  note=
  return 1
}

# required <name> <what> <command>...: a step without which nothing else makes sense.
required() {
  step "$@" || { printf 'stopped after %d s\n' $((SECONDS - started)); exit 1; }
}

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    note="all there"
    return 0
  fi
  note="installed ${#missing[@]}"
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo -n DEBIAN_FRONTEND=noninteractive)
  "${as_root[@]}" apt-get update && "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
}

install_python() {
  local stamp=.venv/.moe-requirements
  if cmp -s scripts/requirements.txt "$stamp"; then
    note="all there"
    return 0
  fi
  [ -x .venv/bin/pip ] || python3 -m venv .venv || return 1
  .venv/bin/pip install --disable-pip-version-check -r scripts/requirements.txt && cp scripts/requirements.txt "$stamp"
}

# build <preset> <folder> <target>...
build() {
  local preset=$1 folder=$2
  shift 2
  cmake --preset "$preset" -DMOE_PYTHON="$root/.venv/bin/python3" && ninja -C "$folder" "$@"
}

setup() {
  required packages "Debian packages" install_packages
  required python "numpy, ml_dtypes, jax, ruff and the like in .venv" install_python
}
