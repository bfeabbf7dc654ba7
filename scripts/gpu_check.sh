#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from a portable tree: runs the tests labelled gpu and stub against the real driver, then
# the benchmarks, and leaves JSON. Needs a driver, NVRTC and nothing else: no CMake, no ctest, no compiler.
#
# Usage: scripts/gpu_check.sh [RESULTS]       RESULTS: a folder, default build/gpu_results
# The tree is built beforehand with: cmake --preset portable && cmake --build --preset portable
# The last line is "N passed, N failed", or with ", N skipped"; exit status 0 when none failed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tree=$root/build/portable
results=${1:-$root/build/gpu_results}
list=$tree/gpu_check.list

die() {
  printf 'error: %s\n' "$*" >&2
  exit 3
}

[[ -f $list ]] || die "$list is missing: build the portable preset first and bring build/portable along"
command -v nvidia-smi >/dev/null || die "there is no nvidia-smi, so no NVIDIA driver: this script needs a GPU"
mkdir -p "$results"
export LD_LIBRARY_PATH=$tree/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv >"$results/device.csv"

passed=0 failed=0 skipped=0

json_string() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | tr -d '\000-\037'; }

# One process a test case, as ctest would do it: a test that ends the process fails alone.
run_tests() { # EXECUTABLE
  local program=$tree/$1 name status seconds start
  local -a names
  # A comma in doctest's filter separates two filters unless it is escaped.
  mapfile -t names < <("$program" --list-test-cases | grep -vE '^(\[doctest\]|=====)')
  ((${#names[@]})) || die "$1 holds no test case"
  for name in "${names[@]}"; do
    start=$(date +%s.%N) status=0
    timeout 600 "$program" "--test-case=${name//,/\\,}" >"$results/output.txt" 2>&1 || status=$?
    seconds=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", b - a }')
    case $status in
      0) outcome=passed passed=$((passed + 1)) ;;
      77) outcome=skipped skipped=$((skipped + 1)) ;;
      *)
        outcome=failed failed=$((failed + 1))
        printf '%s: %s (status %s)\n' "$(basename "$1")" "$name" "$status" >&2
        tail -n 40 "$results/output.txt" >&2
        ;;
    esac
    printf '{"executable": "%s", "test": "%s", "outcome": "%s", "seconds": %s}\n' "$(basename "$1")" \
      "$(json_string "$name")" "$outcome" "$seconds" >>"$results/tests.jsonl"
  done
}

run_benchmark() { # EXECUTABLE
  local program=$tree/$1 name
  name=$(basename "$1")
  if ! timeout 1200 "$program" --benchmark_out="$results/$name.json" --benchmark_out_format=json \
    >"$results/$name.txt" 2>&1; then
    failed=$((failed + 1))
    tail -n 40 "$results/$name.txt" >&2
  fi
}

rm -f "$results/tests.jsonl"
while read -r kind path; do
  case $kind in
    test) run_tests "$path" ;;
    benchmark) run_benchmark "$path" ;;
    *) die "$list has a line that is neither a test nor a benchmark: $kind" ;;
  esac
done <"$list"
rm -f "$results/output.txt"

# One JSON document beside the benchmarks' own.
{
  printf '{"device": "%s", "passed": %d, "failed": %d, "skipped": %d, "tests": [\n' \
    "$(json_string "$(tail -n 1 "$results/device.csv")")" "$passed" "$failed" "$skipped"
  sed '$!s/$/,/' "$results/tests.jsonl"
  printf ']}\n'
} >"$results/tests.json"
rm -f "$results/tests.jsonl"
echo "results: $results" >&2
if ((skipped)); then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
((failed == 0))
