#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the bundle of the Python package from python/builtin_matrix.json, without a GPU, and prints
# its kernels and bytes. The bundle is for the library of the same sources: the CMake variable
# CUBINET_BUILTIN_BUNDLE names the file. Equal sources, NVRTC and targets give equal bytes.
#
# Usage: builtin_bundle.sh [-t TOOL] [-n NVRTC] [-o BUNDLE] [TARGET...]
#   TOOL     the cubinet executable; default: build/release is built
#   NVRTC    the NVRTC library; default: as the tool finds it
#   BUNDLE   the file to write; default: build/builtin.bundle
#   TARGET   sm_80, sm_90a, sm_100f or sm_120f; default: all of the matrix
# Takes about 0.7 s of processor time per kernel. Exits with 1 if a kernel does not compile, or the
# bundle exceeds 7 MB.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
most_bytes=7000000

die() {
  echo "builtin_bundle.sh: $1" >&2
  exit 1
}

tool='' nvrtc=() output=$root/build/builtin.bundle
while getopts t:n:o: option; do
  case $option in
    t) tool=$OPTARG ;;
    n) nvrtc=(--nvrtc "$OPTARG") ;;
    o) output=$OPTARG ;;
    *) die "usage: builtin_bundle.sh [-t TOOL] [-n NVRTC] [-o BUNDLE] [TARGET...]" ;;
  esac
done
shift $((OPTIND - 1))
if [[ -z $tool ]]; then
  cmake --preset release -S "$root" >/dev/null
  cmake --build "$root/build/release" --target cubinet_tool
  tool=$root/build/release/cli/cubinet
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/builtin_bundle.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 - "$root/python/builtin_matrix.json" "$work/matrix.json" "$@" <<'PY' || die "no kernel of the matrix is left"
import json, sys
source, filtered, *targets = sys.argv[1:]
elements = json.load(open(source))["kernels"]
known = sorted({target for element in elements for target in element["targets"]})
for target in targets:
    if target not in known:
        sys.exit(f"the matrix has no kernels for {target}: it has {', '.join(known)}")
for element in elements:
    element["targets"] = [target for target in element["targets"] if not targets or target in targets]
kept = [element for element in elements if element["targets"]]
json.dump({"kernels": kept}, open(filtered, "w"))
PY

# A home of its own: builds of the user's home may be from other sources. Groups of images (profile
# archive) take a fifth less of the wheel than single ones, and each first use takes 1 ms more. No
# time and no user is written, and version 1 lets every bundle that a user names precede this one.
mkdir -p "$(dirname "$output")"
env -u CUBINET_SITE_HOMES -u CUBINET_BUILTIN_BUNDLE "$tool" "${nvrtc[@]}" --home "$work/home" prebuild "$work/matrix.json" \
  -o "$output" --profile archive --channel builtin --bundle-version 1 >"$work/log" || {
  cat "$work/log" >&2
  die "the bundle could not be built"
}
"$tool" --home "$work/home" bundle verify "$output" >/dev/null || die "'$output' is damaged"
bytes=$(stat -c %s "$output")
kernels=$("$tool" --home "$work/home" bundle list "$output" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["entries"])')
echo "$output: $kernels kernels, $bytes bytes, $((bytes / kernels)) each"
[[ $bytes -le $most_bytes ]] || die "the bundle has more than $most_bytes bytes"
