#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Imports the published package flashinfer-cubin 0.6.13 whole, compares every count with what is known of it, damages
# a copy of a part and looks for each damage by name, and times the import beside `sha256sum -c`. No GPU is needed.
#
# Usage: import_published.sh [-t TOOL] [-o RESULT.json] [-c COMMIT] [FOLDER]
#   FOLDER   the unpacked package, or its folder cubins; default: fetched by pip (458 MB) and unpacked (1.9 GB) into
#            build/published
#   TOOL     the cubinet executable; default: build/release is built
#   RESULT   where the times go; default: bench/results/import.json
#   COMMIT   what was built, for the result; default: the tree's commit
# Exit status 1 when a count differs, a damage is not found or a goal is missed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  printf 'error: %s\n' "$*" >&2
  exit 3
}
usage() {
  printf 'usage: import_published.sh [-t TOOL] [-o RESULT.json] [-c COMMIT] [FOLDER]\n' >&2
  exit 2
}

tool='' result=$root/bench/results/import.json commit=''
while getopts t:o:c: option; do
  case $option in
    t) tool=$OPTARG ;;
    o) result=$OPTARG ;;
    c) commit=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
(($# <= 1)) || usage

folder=$("$root/scripts/fetch_published.sh" cubins "$@")

if [[ -z $tool ]]; then
  cmake --preset release -S "$root" -DCUBINET_BUILD_TESTS=OFF -DCUBINET_BUILD_EXAMPLES=OFF >/dev/null
  cmake --build "$root/build/release" --parallel "$(nproc)" --target cubinet_tool >/dev/null
  tool=$root/build/release/cli/cubinet
fi
[[ -x $tool ]] || die "'$tool' is no executable"
[[ -n $commit ]] || commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

work=$(mktemp -d "${TMPDIR:-/tmp}/import_published.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 "$root/bench/peers/published_import.py" --tool "$tool" --folder "$folder" --work "$work" --commit "$commit" -o "$result"
