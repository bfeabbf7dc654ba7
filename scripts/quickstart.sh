#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the whole workflow on a fresh machine: sets the machine up, builds the release tree, compiles
# a kernel, prebuilds a bundle for four GPU targets, verifies it, imports it into an empty registry,
# and shows that one flipped byte is detected. Needs no GPU. If there is one, a kernel is launched
# and checked as well.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup
build=$root/build/release
mkdir -p "$build"
# A unity build takes half the time of a first build.
{
  cmake --preset release -S "$root" -DCUBINET_BUILD_EXAMPLES=OFF -DCUBINET_WARNINGS_AS_ERRORS=OFF -DCMAKE_UNITY_BUILD=ON &&
    cmake --build "$build" --parallel "$(nproc)"
} >"$root/build/release.log" 2>&1 || {
  tail -n 30 "$root/build/release.log" >&2
  die "the release tree could not be built: the compiler's words are above and in build/release.log"
}
cubinet=$(find "$build/cli" -maxdepth 1 -name cubinet -type f -perm -u+x)
[[ -x $cubinet ]] || die "the build left no cubinet executable under build/release/cli"

work=$root/build/quickstart
rm -rf "$work"
mkdir -p "$work"
# Separate homes, so that the user's is neither read nor written. Builds are kept in one, and
# imports go to another.
export CUBINET_HOME=$work/built
imported=$work/imported
bundle=$work/kernels.bundle

step() {
  echo
  echo "== $1"
  shift
  echo "\$ cubinet ${*//$root\//}"
  "$cubinet" "$@" || die "'cubinet $*' failed with status $?"
}

# Runs a command that must find damage (exit status 1).
step_finds_damage() {
  echo
  echo "== $1"
  shift
  echo "\$ cubinet ${*//$root\//}"
  local status=0
  "$cubinet" "$@" || status=$?
  ((status == 1)) || die "'cubinet $*' ended with status $status; damage should have been found, which is status 1"
  echo "   caught: exit status 1"
}

flip_byte() { # FILE OFFSET
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
  # shellcheck disable=SC2059
  printf "$(printf '\\%03o' $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

cd "$root"
# `doctor` exits with 3 if something is missing, for example a driver. That is not a failure here.
echo "== what is here"
echo "\$ cubinet doctor"
"$cubinet" doctor || (($? == 3)) || die "'cubinet doctor' failed"

step "what can be compiled" templates
step "one kernel for one target" compile rms_norm -p hidden_size=4096 -p dtype=bf16 --target sm_90a -o "$work/rms_norm.cubin"
step "a bundle for sm_80, sm_90a, sm_100f and sm_120f" prebuild examples/matrix.json -o "$bundle"
step "every byte of it is what its manifest says" bundle verify "$bundle"
step "what it holds" bundle list "$bundle"
step "into an empty registry" bundle import "$bundle" --home "$imported"
step "what the registry holds" registry list --home "$imported"
step "every entry of it is sound" registry verify --home "$imported"
step "how much it is" registry stats --home "$imported"

cp "$bundle" "$work/damaged.bundle"
flip_byte "$work/damaged.bundle" $(($(stat -c %s "$bundle") / 2))
step_finds_damage "one bit of the bundle flipped" bundle verify "$work/damaged.bundle"

cubin=$(find "$imported/cubins" -name '*.cubin' | LC_ALL=C sort | head -n 1)
[[ -n $cubin ]] || die "the registry at $imported holds no cubin file"
chmod u+w "$cubin"
flip_byte "$cubin" $(($(stat -c %s "$cubin") / 2))
step_finds_damage "one bit of a cubin in the registry flipped" registry verify --home "$imported"

if [[ -e /dev/nvidiactl ]]; then
  step "on the GPU, against a float64 reference" run decode --batch 4 --kv-len 4096 --heads-q 64 --heads-kv 8 \
    --head-dim-qk 128 --page-size 64 --dtype-q bf16
fi
echo
folder=${cubinet%/*}
echo "Done. docs/tour.md continues with the tool and your own template; in your shell:"
echo "  export PATH=${folder@Q}:\$PATH"
# The tool looks into one folder first and ignores nvcc's folder and CUDAToolkit_ROOT.
[[ $cuda_root -ef $usual_root ]] || echo "  export CUDA_HOME=${cuda_root@Q}"
