#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Imports the whole published package flashinfer-cubin 0.6.13, compares every count with the known
# one, damages a copy of a part and checks that each damage is reported by name, and times the
# import beside `sha256sum -c`. Needs no GPU.
#
# Usage: import_published.sh [-t TOOL] [-o RESULT.json] [-c COMMIT] [FOLDER]
#   FOLDER   the unpacked package, or its folder cubins; default: fetched by pip (458 MB) and
#            unpacked (1.9 GB) into build/published
#   TOOL     the cubinet executable; default: build/release is built
#   RESULT   the file for the times; default: bench/results/import.json
#   COMMIT   the commit in the result; default: the tree's
# Exits with 1 if a count differs, a damage is not reported or a goal is missed.
set -euo pipefail
# shellcheck source=scripts/published.sh
source "$(dirname "${BASH_SOURCE[0]}")/published.sh"

tool='' commit='' result=$root/bench/results/import.json
read_published_line "import_published.sh [-t TOOL] [-o RESULT.json] [-c COMMIT] [FOLDER]" t:o:c: "$@"
prepare_published_tool

work=$(mktemp -d "${TMPDIR:-/tmp}/import_published.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 "$root/bench/peers/published_import.py" --tool "$tool" --folder "$folder" --work "$work" --commit "$commit" -o "$result"
