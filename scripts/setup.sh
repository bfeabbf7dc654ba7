#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the requirements of building cubinet on a fresh Debian 12 or Ubuntu 24.04: packages, and
# NVIDIA's wheels if there is no CUDA toolkit. Sourced by the other scripts. May be run alone and
# repeatedly: existing content stays.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheels=$root/build/cuda-wheels
test_wheels=$root/build/test-wheels
test_servers=$root/build/test-servers
python_packages=$root/build/python-packages
usual_toolkit=/usr/local/cuda

packages=(g++ clang libclang-rt-dev lld cmake ninja-build pkg-config binutils python3 ca-certificates ccache doctest-dev
  libcli11-dev libcurl4-openssl-dev libfmt-dev libsqlite3-dev libssl-dev libxxhash-dev libzstd-dev minisign nlohmann-json3-dev
  zlib1g-dev)
# Servers and tools that the tests start themselves. If one is missing, its tests are skipped.
test_packages=(abigail-tools bindfs docker-registry dpkg-dev file fish groff-base nginx openssl prometheus zsh)
# Debian's browser: 122 MB to download, 414 MB installed. Ubuntu has no package of it, only a snap.
browser_package=chromium

say() { printf '%s\n' "$*" >&2; }
die() {
  say "error: $*"
  exit 3
}

is_installed() { dpkg-query --show --showformat='${Status}' "$1" 2>/dev/null | grep -q ' installed$'; }

install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this machine has no dpkg: install the counterparts of '${packages[*]}' and run cmake --preset dev yourself"
  local missing=() package
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "packages are missing (${missing[*]}): run this as root, or install sudo"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  # RUNLEVEL: without systemd, a server that is installed for the tests is not started as a service.
  if ! { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "apt-get could not install ${missing[*]}: its own words are above"
  fi
  rm -f "$log"
}

# Installs packages of Python into a new folder: pip_install FOLDER ARGUMENT... Prints pip's words
# only if it fails: pip also warns about unrelated packages of this machine.
pip_install() {
  local folder=$1 log
  shift
  log=$(mktemp)
  if ! python3 -m pip install --quiet --root-user-action=ignore --no-cache-dir --only-binary=:all: --target "$folder" "$@" \
    >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# A toolkit is usable when it has the headers of 13.0 or newer that the build needs and the NVRTC
# that the tests need.
is_toolkit() {
  local header=$1/include/cuda.h version
  [[ -f $header && -f $1/include/nvrtc.h ]] || return 1
  version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$header" | head -n 1)
  ((${version:-0} >= 13000)) || return 1
  compgen -G "$1/lib64/libnvrtc.so.1*" >/dev/null || compgen -G "$1/lib/libnvrtc.so.1*" >/dev/null
}

# Prints the names of the test cases of a doctest program, one per line.
test_cases() { # PROGRAM [OPTIONS]...
  local program=$1
  shift
  "$program" --list-test-cases "$@" | grep -vE '^(\[doctest\]|=====)'
}

find_toolkit() {
  local nvcc candidate
  nvcc=$(command -v nvcc || true)
  for candidate in "${CUDAToolkit_ROOT:-}" "${CUDA_HOME:-}" "${CUDA_PATH:-}" \
    "${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")}" "$usual_toolkit"; do
    if [[ -n $candidate ]] && is_toolkit "$candidate"; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

install_wheels() {
  if is_toolkit "$wheels/nvidia/cu13"; then return 0; fi
  install_packages python3-pip
  say "no CUDA toolkit of 13.0 or newer: fetching NVRTC, nvJitLink and the headers from PyPI (about 130 MB) into build/cuda-wheels"
  # Moved when complete, so that an interrupted download is not used.
  rm -rf "$wheels" "$wheels.partial"
  pip_install "$wheels.partial" --no-deps \
    'nvidia-cuda-nvrtc==13.0.*' 'nvidia-nvjitlink==13.0.*' 'nvidia-cuda-runtime==13.0.*' ||
    die "pip could not fetch nvidia-cuda-nvrtc, nvidia-nvjitlink and nvidia-cuda-runtime 13.0 from PyPI: its own words are above"
  is_toolkit "$wheels.partial/nvidia/cu13" ||
    die "the CUDA wheels do not hold nvidia/cu13/include/{cuda,nvrtc}.h and nvidia/cu13/lib/libnvrtc.so.13"
  mv "$wheels.partial" "$wheels"
}

# Downloads the wheels of scripts/test_wheels.txt into build/test-wheels. They are optional: returns
# 1 if they cannot be downloaded.
install_test_wheels() {
  local list=$root/scripts/test_wheels.txt
  if cmp -s "$list" "$test_wheels/list.txt"; then return 0; fi
  python3 -m pip --version >/dev/null 2>&1 || (install_packages python3-pip) || return 1
  say "fetching a second NVRTC from PyPI for the tests (about 110 MB) into build/test-wheels"
  rm -rf "$test_wheels" "$test_wheels.partial"
  pip_install "$test_wheels.partial" --no-deps --require-hashes --retries 1 --timeout 20 --requirement "$list" &&
    cp "$list" "$test_wheels.partial/list.txt" && mv "$test_wheels.partial" "$test_wheels"
}

# Installs the headers of python3, unless it has them. It need not be the system's.
install_python_headers() {
  python3 -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    (install_packages python3-dev)
}

# Downloads the packages of scripts/python_packages.txt for this machine's python3 into
# build/python-packages. Returns 1 if they cannot be downloaded: the Python package is then not
# built.
oldest_tvm_ffi=apache-tvm-ffi==0.1.11
install_python_packages() {
  local stamp list=$root/scripts/python_packages.txt
  install_python_headers || return 1
  python3 -m pip --version >/dev/null 2>&1 || (install_packages python3-pip) || return 1
  stamp=$(python3 -c 'import sys; print(sys.executable, sys.version)' && echo "$oldest_tvm_ffi" && cat "$list")
  if [[ -f $python_packages/list.txt && $stamp == "$(cat "$python_packages/list.txt")" ]]; then return 0; fi
  say "fetching nanobind, pytest and cuda.core from PyPI (about 40 MB) into build/python-packages"
  rm -rf "$python_packages" "$python_packages.partial"
  pip_install "$python_packages.partial" --retries 1 --timeout 20 --requirement "$list" &&
    pip_install "$python_packages.partial/oldest_tvm_ffi" --retries 1 --timeout 20 --no-deps "$oldest_tvm_ffi" &&
    printf '%s\n' "$stamp" >"$python_packages.partial/list.txt" && mv "$python_packages.partial" "$python_packages"
}

# Installs moto, an S3 stand-in that checks signatures, and oras, another client of registries. Both
# are optional.
install_test_servers() {
  if [[ -d $test_servers/moto && -d $test_servers/oras ]]; then return 0; fi
  python3 -m pip --version >/dev/null 2>&1 || (install_packages python3-pip) || return 1
  say "fetching moto and oras from PyPI for the tests (about 40 MB) into build/test-servers"
  rm -rf "$test_servers" "$test_servers.partial"
  pip_install "$test_servers.partial" --retries 1 --timeout 20 'moto[s3]==5.1.22' flask flask-cors 'oras==0.2.43' &&
    mv "$test_servers.partial" "$test_servers"
}

# Sets cuda_root, the folder whose include/ is used to build and whose lib64/ or lib/ has the NVRTC
# to run with, and usual_root, the folder that the tool searches first in the caller's own shell.
choose_cuda() {
  # shellcheck disable=SC2034
  usual_root=${CUDA_HOME:-${CUDA_PATH:-$usual_toolkit}}
  if cuda_root=$(find_toolkit); then
    say "CUDA toolkit: $cuda_root"
  else
    install_wheels
    cuda_root=$wheels/nvidia/cu13
    say "CUDA wheels: $wheels"
  fi
  # Takes precedence over all other locations: the usual one may have an older toolkit.
  export CUDAToolkit_ROOT=$cuda_root CUDA_HOME=$cuda_root
}

setup() {
  install_packages "${packages[@]}"
  choose_cuda
  # A cache of objects speeds up the second run. The first does not need it.
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
    # A precompiled header is identified by its content, and an uncached unit is compiled without
    # preprocessing it first.
    export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros} CCACHE_DEPEND=${CCACHE_DEPEND:-1}
  fi
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  setup
fi
