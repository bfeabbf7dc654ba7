#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of the Python package, checks it, installs it without a network into a fresh
# environment of each Python from 3.10 to 3.13 that is present, and runs the package's tests there.
#
# Usage: scripts/wheel.sh [-b BUNDLE] [OUTPUT]      (default: build/wheel/dist)
#   BUNDLE   the kernels of the wheel, made by scripts/builtin_bundle.sh from the same sources;
#            default: it is made for all targets, which takes about six minutes on two cores
#
# Fetches build tools, zstd's source, nanobind-backend and pytest from PyPI first. zstd is compiled
# from the sdist of the package `zstandard`, because Debian's archive is not position-independent.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

bundle=''
while getopts b: option; do
  case $option in
    b) bundle=$(realpath "$OPTARG") ;;
    *) die "usage: scripts/wheel.sh [-b BUNDLE] [OUTPUT]" ;;
  esac
done
shift $((OPTIND - 1))
output=$(realpath -m "${1:-$root/build/wheel/dist}")
work=$root/build/wheel
platform=manylinux_2_34_x86_64
maximum_bytes=$((12 * 1000 * 1000))
zstandard=zstandard==0.25.0
pythons=(10 11 12 13)

run() { # runs a command, and prints its output only if it fails
  local log=$work/log.txt
  "$@" >"$log" 2>&1 || {
    tail -n 60 "$log" >&2
    die "'$*' failed: its own words are above"
  }
}

# Prints the interpreter of Python 3.$1, or fails.
find_python() {
  local candidate
  for candidate in "$(command -v "python3.$1" || true)" /usr/bin/python3."$1" \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$1".*/bin/python; do
    if [[ -x $candidate ]] && "$candidate" -c "import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, $1))" 2>/dev/null; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

prepare() {
  install_python_headers
  python3 -c 'import ensurepip, venv' || install_packages python3-venv
  [[ -x $work/tools/bin/auditwheel ]] || {
    run python3 -m venv "$work/tools"
    run "$work/tools/bin/python" -m pip install --quiet auditwheel==6.8.2
  }
  [[ -f $work/zstd/zstd.c ]] || {
    say "fetching zstd's source from PyPI"
    rm -rf "$work/zstd" "$work/sdist"
    run "$work/tools/bin/python" -m pip download --no-deps --no-binary :all: --dest "$work/sdist" "$zstandard"
    mkdir -p "$work/zstd"
    tar --extract --file "$work"/sdist/zstandard-*.tar.gz --strip-components=2 --directory "$work/zstd" --wildcards '*/zstd/*'
  }
}

make_bundle() {
  [[ -z $bundle ]] || return 0
  say "building the kernels of the wheel"
  bundle=$work/builtin.bundle
  run "$root/scripts/builtin_bundle.sh" -o "$bundle"
}

# With -O3 the library of the wheel is 0.4 MB larger, and without CUBINET_SMALL another 1 MB.
build() {
  say "building the wheel"
  rm -rf "$work/built"
  run "$work/tools/bin/python" -m pip wheel --no-deps --wheel-dir "$work/built" \
    -C build-dir="$work/tree" -C wheel.tags="cp310-abi3-$platform" \
    -C build.targets="cubinet_python;cubinet_python_stub;cubinet_stub_driver" \
    -C cmake.define.CUBINET_BUILTIN_BUNDLE="$bundle" -C cmake.define.CUBINET_BUILD_TESTS=ON -C cmake.define.CUBINET_ZSTD_SOURCE="$work/zstd" \
    -C cmake.define.CMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -C cmake.define.CUBINET_SMALL=ON -C cmake.define.CMAKE_UNITY_BUILD=ON "$root"
  wheel=$(echo "$work"/built/cubinet-*-cp310-abi3-"$platform".whl)
  [[ -f $wheel ]] || die "pip has built no wheel for $platform: $(ls "$work/built")"
}

check() {
  local bytes shown
  bytes=$(stat --format=%s "$wheel")
  ((bytes <= maximum_bytes)) || die "the wheel has $bytes bytes; the limit is $maximum_bytes"
  shown=$("$work/tools/bin/auditwheel" show "$wheel" | tr '\n' ' ')
  grep -Eq "consistent with the following platform tag: *\"manylinux_2_(1[7-9]|2[0-9]|3[0-4])_x86_64\"" <<<"$shown" ||
    die "auditwheel does not find the wheel to be $platform: $shown"
  say "$(basename "$wheel"): $bytes bytes, $platform"
}

try_in() { # VERSION INTERPRETER
  local environment=$work/python3.$1 house=$work/house
  mkdir -p "$house"
  run "$2" -m pip download --quiet --only-binary=:all: --dest "$house" nanobind-backend==1.0.0 pytest==9.2.0
  rm -rf "$environment"
  run "$2" -m venv "$environment"
  run "$environment/bin/python" -m pip install --quiet --no-index --find-links "$house" "$wheel" pytest
  say "Python 3.$1: $(cd "$work" && env -u PYTHONPATH CUBINET_TEST_BUILD="$work/tree" PYTHONDONTWRITEBYTECODE=1 \
    "$environment/bin/python" -m pytest -p no:cacheprovider -q "$root/tests/python" 2>&1 | tee "$work/tests-3.$1.txt" | tail -n 1)"
  grep -Eq '^[0-9]+ passed' <(tail -n 1 "$work/tests-3.$1.txt") && ! grep -Eq 'failed|error' <(tail -n 1 "$work/tests-3.$1.txt") || {
    tail -n 60 "$work/tests-3.$1.txt" >&2
    die "the tests failed under Python 3.$1"
  }
}

setup
mkdir -p "$work" "$output"
prepare
make_bundle
build
check
tried=0
for version in "${pythons[@]}"; do
  if interpreter=$(find_python "$version"); then
    try_in "$version" "$interpreter"
    tried=$((tried + 1))
  fi
done
((tried)) || die "no Python from 3.10 to 3.13 is present"
cp "$wheel" "$output/"
say "$output/$(basename "$wheel")"
