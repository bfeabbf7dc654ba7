#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from a portable tree: runs the tests labelled gpu and stub against the real driver, then
# the benchmarks, and leaves JSON. Needs a driver, NVRTC and nothing else: no CMake, no ctest, no compiler.
#
# Usage: scripts/gpu_check.sh [-o RESULTS] [PART...]      RESULTS: a folder, default build/gpu_results
#   PARTs: tests, the benchmarks' verbs (compile, load, launch, decode), sanitizer (compute-sanitizer over a small
#   decode sweep) and the Python peers (launch_peers, first_kernel, decode_peers). Without a PART: tests and verbs, the
#   sanitizer where it is installed, and the peers where python3 has what they compare with (docs/benchmarks.md).
# The tree is built beforehand with: cmake --preset portable && cmake --build --preset portable
# CUBINET_COMMIT names the commit in the results where the tree was built from a later one than it was configured for.
# The last line is "N passed, N failed", or with ", N skipped"; exit status 0 when none failed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tree=$root/build/portable
results=$root/build/gpu_results
if [[ ${1:-} == -o ]]; then
  results=$2
  shift 2
fi
parts=("$@")
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

wanted() { # PART
  local part
  ((${#parts[@]})) || return 0
  for part in "${parts[@]}"; do [[ $part == "$1" ]] && return 0; done
  return 1
}

# Asked for by name, or possible here and nothing asked for by name.
wanted_if() { # PART COMMAND...
  local part=$1
  shift
  wanted "$part" || return 1
  ((${#parts[@]})) || "$@" >/dev/null 2>&1
}

step() { # NAME COMMAND...
  local name=$1 status=0
  shift
  timeout 600 "$@" >"$results/$name.txt" 2>&1 || status=$?
  # 3: the environment lacks what the step needs.
  if ((status == 3)); then
    skipped=$((skipped + 1))
  elif ((status != 0)); then
    failed=$((failed + 1))
    printf '%s ended with status %s\n' "$name" "$status" >&2
    tail -n 40 "$results/$name.txt" >&2
  else
    passed=$((passed + 1))
  fi
}

run_benchmark() { # EXECUTABLE
  local program=$tree/$1 verb nvcc peers=$root/bench/peers
  local -a commit=() first=()
  [[ -z ${CUBINET_COMMIT:-} ]] || commit=(--commit "$CUBINET_COMMIT")
  for verb in compile load launch decode; do
    wanted "$verb" || continue
    local -a more=()
    if [[ $verb == compile ]] && nvcc=$(command -v nvcc); then more=(--nvcc "$nvcc"); fi
    step "$verb" "$program" "$verb" "${commit[@]}" -o "$results/$verb.json" "${more[@]}"
  done
  if wanted_if sanitizer command -v compute-sanitizer; then
    for verb in memcheck initcheck racecheck synccheck; do
      step "$verb" compute-sanitizer --tool "$verb" --error-exitcode 9 "$program" decode --small \
        -o "$results/$verb.json"
    done
  fi
  if wanted_if launch_peers python3 -c 'import cupy, cuda.core, triton'; then
    step launch_peers python3 "$peers/launch_peers.py" --bench "$program" "${commit[@]}" \
      --output "$results/launch_peers.json"
  fi
  if wanted first_kernel && command -v python3 >/dev/null; then
    ! python3 -c 'import flashinfer' >/dev/null 2>&1 || first+=(--peer FlashInfer)
    ! python3 -c 'import flash_attn.cute' >/dev/null 2>&1 || first+=(--peer flash-attn-4)
    step first_kernel python3 "$peers/first_kernel.py" --bench "$program" "${commit[@]}" "${first[@]}" \
      --output "$results/first_kernel.json"
  fi
  if wanted_if decode_peers python3 -c 'import flashinfer'; then
    step decode_peers python3 "$peers/decode_peers.py" --bench "$program" "${commit[@]}" \
      --output "$results/decode_peers.json"
  fi
}

: >"$results/tests.jsonl"
while read -r kind path; do
  case $kind in
    test) ! wanted tests || run_tests "$path" ;;
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
