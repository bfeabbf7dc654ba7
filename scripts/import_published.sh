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
# shellcheck source=scripts/published.sh
source "$(dirname "${BASH_SOURCE[0]}")/published.sh"

tool='' commit='' result=$root/bench/results/import.json
read_published_line "import_published.sh [-t TOOL] [-o RESULT.json] [-c COMMIT] [FOLDER]" t:o:c: "$@"
prepare_published_tool

work=$(mktemp -d "${TMPDIR:-/tmp}/import_published.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 "$root/bench/peers/published_import.py" --tool "$tool" --folder "$folder" --work "$work" --commit "$commit" -o "$result"
