#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What takes too long for scripts/test.sh, which runs a short form of each. docs/reliability.md has the figures.
#
# Usage: scripts/campaign.sh [-o RESULTS] [-j JOBS] [-n EXECUTIONS] PART...
#   fuzz   every fuzz target EXECUTIONS times (default 10000000) from its corpus, under AddressSanitizer and
#          UndefinedBehaviorSanitizer: cmake --preset fuzz && cmake --build --preset fuzz, on any Linux with Clang 14
#   bytes  every test that samples the bytes, bits or lengths that it damages takes all: scripts/test.sh asan beforehand
#   RESULTS  a folder, default build/campaign; JOBS: default the processors
# The last line of a part says what was done and found; exit status 0 when nothing was.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

results=$root/build/campaign jobs=$(nproc) executions=10000000 parts=()
usage() { sed -n '/^# Usage/,/^#   RESULTS/s/^# //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }
while (($#)); do
  case $1 in
    -o) results=${2:?} && shift 2 ;;
    -j) jobs=${2:?} && shift 2 ;;
    -n) executions=${2:?} && shift 2 ;;
    fuzz | bytes) parts+=("$1") && shift ;;
    *) usage ;;
  esac
done
((${#parts[@]})) || usage
mkdir -p "$results"

# NAME: that target, shared among as many processes as its part of the jobs. libFuzzer merges what each finds.
fuzz_one() {
  local name=$1 workers=$2 folder=$results/fuzz/$1
  mkdir -p "$folder/corpus"
  local worker pids=()
  for ((worker = 0; worker < workers; worker++)); do
    "$root/build/fuzz/fuzz/fuzz_$name" -runs=$(((executions + workers - 1) / workers)) -max_len=8192 -rss_limit_mb=4096 -timeout=20 \
      -reload=1 -print_final_stats=1 -artifact_prefix="$folder/" "$folder/corpus" "$root/fuzz/corpus/$name" >"$folder/$worker.log" 2>&1 &
    pids+=($!)
  done
  local bad=0 pid
  for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
  return $bad
}

fuzz() {
  [[ -d $root/build/fuzz/fuzz ]] || die "there are no fuzz targets: cmake --preset fuzz && cmake --build --preset fuzz"
  local names=() name found=0 total
  for name in "$root"/fuzz/corpus/*/; do names+=("$(basename "$name")"); done
  local each=$((jobs / ${#names[@]})) pids=()
  ((each > 0)) || each=1
  for name in "${names[@]}"; do
    fuzz_one "$name" "$each" &
    pids+=($!)
  done
  for name in "${!names[@]}"; do wait "${pids[$name]}" || found=$((found + 1)); done
  for name in "${names[@]}"; do
    total=$(sed -n 's/^stat::number_of_executed_units: *//p' "$results/fuzz/$name"/*.log | awk '{s += $1} END {print s + 0}')
    echo "$name: $total executions, $(find "$results/fuzz/$name/corpus" -type f | wc -l) inputs kept"
  done
  echo "fuzz: ${#names[@]} targets, $found with findings"
  ((found == 0))
}

bytes() {
  [[ -f $root/build/asan/CTestTestfile.cmake ]] || die "there is no tree to test: scripts/test.sh asan"
  CUBINET_TEST_EVERY=1 ctest --test-dir "$root/build/asan" --label-regex '^loop$' --label-exclude '^gpu$' --parallel "$jobs" \
    --timeout 7200 --output-on-failure >"$results/bytes.log" 2>&1 && tail -n 3 "$results/bytes.log" && return 0
  tail -n 60 "$results/bytes.log" >&2
  return 1
}

status=0
for part in "${parts[@]}"; do "$part" || status=1; done
exit $status
