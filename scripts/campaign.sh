#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that take too long for scripts/test.sh, which runs a short form of each.
# docs/reliability.md has the figures.
#
# Usage: scripts/campaign.sh [-o RESULTS] [-j JOBS] [-n EXECUTIONS] [-t TREE] PART...
#   fuzz   runs every fuzz target EXECUTIONS times (default 10000000) from its corpus, under
#          AddressSanitizer and UndefinedBehaviorSanitizer: cmake --preset fuzz &&
#          cmake --build --preset fuzz, on any Linux with Clang 14
#   bytes  changes every byte of an entry, of a bundle's root, pages and frames, of a signature and
#          of the index, truncates each at every length, and loses each page of the index: at least
#          1000000 mutants. Also changes every byte or bit of adopted entries, of a published
#          folder's lists and of declarations.
#   power  cuts the power at every change of a home's files, several times: at least 1000 cuts
#   kills  ends a process at every step of publish, import and gc, and kills the tool at random
#          times: 10000 kills
#   faults fails every call of files, SQLite and libcurl, and every allocation, once and
#          permanently, and fails random calls: at least 100000 faults
#   herd   requests 8 kernels from 64 processes of 8 threads at once, 1000 times; a build takes
#          200 ms
#   fleet  runs 4000 clients through a proxy that damages two answers of five, with a dead mirror;
#          needs nginx
#   device compiles every specification of device code that the tests name; scripts/test.sh compiles
#          a third of each kind
#   RESULTS  a folder, default build/campaign
#   JOBS     default the number of processors
#   TREE     the tree with the other parts' tests, default build/dev (scripts/test.sh dev)
# The last line of a part states its work and its findings. Exits with 0 if nothing was found.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

results=$root/build/campaign tree=$root/build/dev jobs=$(nproc) executions=10000000 kills=10000 parts=()
usage() { sed -n '/^# Usage/,/^#   TREE/s/^# //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }
while (($#)); do
  case $1 in
    -o) results=${2:?} && shift 2 ;;
    -j) jobs=${2:?} && shift 2 ;;
    -n) executions=${2:?} && shift 2 ;;
    -t) tree=$(realpath "${2:?}") && shift 2 ;;
    fuzz | bytes | power | kills | faults | herd | fleet | device) parts+=("$1") && shift ;;
    *) usage ;;
  esac
done
((${#parts[@]})) || usage
mkdir -p "$results"

# NAME: runs that target in its share of the jobs. libFuzzer merges the results. Recording
# allocation stacks and rare inputs would take a third of the time; a finding is run again for its
# stack.
fuzz_one() {
  local name=$1 workers=$2 folder=$results/fuzz/$1 seeds=$root/fuzz/corpus/$1
  [[ -d $seeds ]] || seeds=$root/kernel_templates/device # what reads sources begins with ours
  mkdir -p "$folder/corpus"
  local worker pids=()
  for ((worker = 0; worker < workers; worker++)); do
    ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=16 \
      "$root/build/fuzz/fuzz/fuzz_$name" -runs=$(((executions + workers - 1) / workers)) -max_len=2048 -entropic=0 -rss_limit_mb=4096 -timeout=20 \
      -reload=1 -print_final_stats=1 -artifact_prefix="$folder/" "$folder/corpus" "$seeds" >"$folder/$worker.log" 2>&1 &
    pids+=($!)
  done
  local bad=0 pid
  for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
  return $bad
}

fuzz() {
  [[ -d $root/build/fuzz/fuzz ]] || die "there are no fuzz targets: cmake --preset fuzz && cmake --build --preset fuzz"
  local names=() name found=0 total
  for name in "$root"/build/fuzz/fuzz/fuzz_*; do [[ ! -f $name || ! -x $name ]] || names+=("${name##*/fuzz_}"); done
  ((${#names[@]})) || die "there are no fuzz targets: cmake --build --preset fuzz"
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

# PART PROGRAM TESTS...: runs these tests of an executable in turn at full size. Their counts are
# written to a file.
run_tests() {
  local part=$1 program=$tree/tests/$2 log=$results/$1.$(basename "$2").$BASHPID.log
  shift 2
  [[ -x $program ]] || die "there is no $program: scripts/test.sh dev, or -t TREE"
  local names
  names=$(IFS=, && echo "$*")
  if ! CUBINET_TEST_COUNTS=$results/$part.counts TMPDIR=$memory "$program" --test-case="$names" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    return 1
  fi
}

# PART LEAST WHAT: returns the sum of these counts and checks that it is at least LEAST.
summed() {
  local sum
  sum=$(awk -v what="$3" '{count = $1; sub(/^[0-9]+ /, "")} $0 == what {sum += count} END {print sum + 0}' "$results/$1.counts")
  echo "$1: $sum $3"
  ((sum >= $2))
}

begin() {
  : >"$results/$1.counts"
  rm -f "$results/$1".*.log
}

# PART PROGRAM TESTS...: does the same in JOBS processes, each with its share of the positions.
share_tests() {
  local pids=() pid bad=0 worker
  for ((worker = 1; worker <= jobs; worker++)); do
    CUBINET_TEST_EVERY=$worker/$jobs run_tests "$@" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
  return $bad
}

bytes() {
  begin bytes
  local bad=0
  share_tests bytes trust/test_trust 'every changed byte*' || bad=1
  share_tests bytes cubin_registry/test_cubin_registry_trust 'every flipped bit and every truncation*' || bad=1
  share_tests bytes cubin_registry/test_cubin_registry 'every flipped b*' 'every truncation of a bundle*' 'flipped bytes in the index*' \
    'an index cut off*' 'one changed bit anywhere in the index*' || bad=1
  share_tests bytes adoption/test_adoption 'every flipped bit*' || bad=1
  CUBINET_TEST_EVERY=1 run_tests bytes adoption/test_adoption 'with any one byte*' || bad=1
  share_tests bytes artifacts/test_artifacts 'a flipped bit anywhere in the list*' || bad=1
  share_tests bytes kernel_templates/test_kernel_templates 'every truncation and every changed byte*' || bad=1
  run_tests bytes cubin_registry/test_cubin_registry 'damage to any page of the index*' || bad=1
  summed bytes 1000000 mutants && ((bad == 0))
}

power() {
  begin power
  CUBINET_TEST_EVERY=1 run_tests power cubin_registry/test_cubin_registry 'power that goes*' && summed power 1000 'power cuts'
}

kills() {
  begin kills
  local pids=() pid bad=0 share=$(((kills + jobs - 1) / jobs)) worker
  for ((worker = 0; worker < jobs; worker++)); do
    CUBINET_TEST_KILLS=$share run_tests kills cli/test_cli_kills '*' &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
  run_tests kills cubin_registry/test_cubin_registry 'a process killed*' || bad=1
  CUBINET_TEST_EVERY=1 run_tests kills cli/test_cli_compile 'after a kill at any moment*' 'an interrupt during the first compilation*' || bad=1
  summed kills "$kills" kills && ((bad == 0))
}

faults() {
  begin faults
  local bad=0
  CUBINET_TEST_EVERY=1 run_tests faults cubin_registry/test_cubin_registry '*fault in any call*' '*faults by chance*' \
    '*whatever call fails*' 'an import whose removal fails*' 'rebuilding, sweeping*' || bad=1
  CUBINET_TEST_EVERY=1 run_tests faults cubin_registry/test_cubin_registry_memory '*' || bad=1
  CUBINET_TEST_EVERY=1 run_tests faults api/test_api_faults '*memory*anywhere*' || bad=1
  CUBINET_TEST_EVERY=1 run_tests faults base/test_base_memory '*anywhere*' || bad=1
  CUBINET_TEST_EVERY=1 run_tests faults kernel_templates/test_kernel_templates_memory '*' || bad=1
  CUBINET_TEST_EVERY=1 run_tests faults trust/test_trust_memory '*' || bad=1
  CUBINET_TEST_EVERY=1 run_tests faults distribution/test_distribution '*any call of libcurl' || bad=1
  CUBINET_TEST_EVERY=1 run_tests faults artifacts/test_artifacts '*any call of libcurl' || bad=1
  summed faults 100000 faults && ((bad == 0))
}

herd() {
  begin herd
  CUBINET_TEST_HERD_ROUNDS=1000 run_tests herd cubin_registry/test_cubin_registry 'many processes that want*' && sed 's/^/herd: /' "$results/herd.counts"
}

fleet() {
  begin fleet
  CUBINET_TEST_EVERY=1 run_tests fleet distribution/test_distribution 'a fleet that*' && sed 's/^/fleet: /' "$results/fleet.counts" &&
    summed fleet 4000 'clients of a fleet'
}

device() {
  begin device
  CUBINET_TEST_EVERY=1 run_tests device jit/test_jit_plain '*compile*' '*nothing is spilled*' '*registers to spill*' &&
    summed device 40 specifications
}

memory=/tmp
[[ -d /dev/shm ]] && memory=/dev/shm
status=0
for part in "${parts[@]}"; do "$part" || status=1; done
exit $status
