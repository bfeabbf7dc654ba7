#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures samples of serving problems with the alternatives of their plans, and writes one JSON
# file for scripts/fit_costs.py. Needs a GPU and NVRTC.
#
# Usage: sample_alternatives.sh -o OUT [-t TOOL] [-s SECONDS] [-- SEED...]
#   OUT      the file to write
#   TOOL     the command `cubinet`; default: the one in PATH
#   SECONDS  after which no further sample begins; default: 180. A sample of 10 problems takes about
#            20 s.
#   SEED     of a sample; default: 201 to 220
set -euo pipefail
tool=cubinet
out=
limit=180
while getopts o:t:s: option; do
  case $option in
    o) out=$OPTARG ;;
    t) tool=$OPTARG ;;
    s) limit=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[[ -n $out ]] || { echo "sample_alternatives.sh: the file is missing; give -o OUT" >&2; exit 2; }
[[ $# -gt 0 ]] || set -- {201..220}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
begin=$SECONDS
for seed in "$@"; do
  if ((SECONDS - begin >= limit)); then break; fi
  # The tool ends with an error if an alternative is wrong, which the file then states.
  "$tool" --home "$work/home" bench attention --sample 10 --seed "$seed" --alternatives --iterations 9 \
    --json >"$work/$seed.json" || true
  echo "seed $seed: $((SECONDS - begin)) s" >&2
done
python3 "$(dirname "${BASH_SOURCE[0]}")/../scripts/fit_costs.py" --merge "$out" "$work"/*.json
