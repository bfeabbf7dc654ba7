#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks a portable tree on a machine with a GPU: runs the examples, the tests labelled gpu and stub
# with the real driver, the benchmarks, and those peers whose Python packages are installed, and
# writes JSON. Needs a driver and NVRTC, but neither CMake, ctest nor a compiler.
#
# Usage: scripts/gpu_check.sh [-o RESULTS] [-c COMMIT] [-p FOLDER] [-k FOLDER] [-n FOLDER] [PART]...
#   RESULTS  a folder; default build/gpu_results
#   COMMIT   the commit in the results; default: the one at which the tree was configured
#   FOLDER   published cubins, fetched as in scripts/import_published.sh; for the part published
#   -k       the folder of cases.json and corpus.bundle, written by scripts/corpus/cases.py; for the
#            part corpus
#   -n       the folder of bundles, written by scripts/nvrtc_bits.py build; for the part nvrtc_bits
#   PART     tests (with the examples), random (2,500 random problems of decode attention and 2,000
#            of prefill against float64), published (published kernels against float64, on a device
#            of 10.x), benchmarks, sanitizer, peers, corpus, nvrtc_bits (the bits of kernels of
#            several compilers, on a device of 9.0), tune (a new table of measurements); default:
#            all nine; or matrix (the tests of attention's lengths, groups, large caches, kernels
#            against each other, and fewer random problems: two minutes), or attention (the goals of
#            attention, of which each missed one is printed); or one of a group alone: compile,
#            load, bundle, launch, threads, busy, soak, prepare, decode, step, table; launch_peers,
#            python_first, attention_table, speculative, latent_batches, prefill_table,
#            invariant_table, attention_sample, mixed, shared_prefix, invariance, first_kernel,
#            sanitizer_prefill (each head dim with each type; prints what a sanitizer reports),
#            deep_gemm, raw_path
# Build the tree before, on any Linux: cmake --preset portable && cmake --build --preset portable
# The tests of attention share their kernels in the home CUBINET_TEST_HOME (default:
# build/gpu_test_home), which warm_gpu_tests.sh can fill on a machine without a GPU.
# NVRTC is that of build/cuda-wheels if the tree has it, else of the machine's toolkit. The last
# line is "N passed, N failed", or with ", N skipped". Exits with 0 if none failed.
set -euo pipefail

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
tree=$root/build/portable
bench=$tree/bench/cubinet_bench
results=$root/build/gpu_results
list=$tree/gpu_check.list

usage() {
  sed -n '/^# Usage/,/^#  *deep_gemm/s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

verbs=(compile table load bundle launch threads busy soak prepare decode step)
attention=(latent_batches prefill_table invariant_table attention_sample mixed shared_prefix invariance)
peers=(launch_peers python_first attention_table speculative "${attention[@]}" first_kernel deep_gemm raw_path)
commit=() parts=() folder='' corpus='' compilers=''
while (($#)); do
  case $1 in
    -o | -c | -p | -k | -n)
      [[ -n ${2:-} ]] || usage
      case $1 in
        -o) results=$2 ;;
        -c) commit=(--commit "$2") ;;
        -p) folder=$2 ;;
        -k) corpus=$2 ;;
        -n) compilers=$2 ;;
      esac
      shift 2
      ;;
    benchmarks) parts+=("${verbs[@]}") && shift ;;
    peers) parts+=("${peers[@]}") && shift ;;
    attention) parts+=("${attention[@]}") && shift ;;
    *)
      [[ " tests matrix random published sanitizer sanitizer_prefill corpus nvrtc_bits tune ${verbs[*]} ${peers[*]} " == *" $1 "* ]] || usage
      parts+=("$1") && shift
      ;;
  esac
done
((${#parts[@]})) || parts=(tests random published "${verbs[@]}" sanitizer "${peers[@]}" corpus nvrtc_bits tune)

[[ -f $list && -x $bench ]] || die "$tree holds no build: build the portable preset first and bring build/portable along"
command -v nvidia-smi >/dev/null || die "there is no nvidia-smi, so no NVIDIA driver: this script needs a GPU"
mkdir -p "$results"
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader >"$results/device.txt"

# The tests contain the paths of the tool and NVRTC at build time, which may have changed.
export CUBINET_TEST_TOOL=$tree/cli/cubinet
export CUBINET_TEST_GOLDENS=$root/tests/cli/goldens
export CUBINET_TEST_HOME=${CUBINET_TEST_HOME:-$root/build/gpu_test_home}
cuda_root=$wheels/nvidia/cu13
[[ -d $cuda_root ]] || cuda_root=$(find_toolkit) || cuda_root=''
nvrtc=()
if [[ -n $cuda_root ]]; then
  export CUBINET_TEST_CUDA_ROOT=$cuda_root
  nvrtc=(--toolkit-root "$cuda_root")
fi

passed=0 failed=0 skipped=0

json_string() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | tr -d '\000-\037'; }

# A test mostly compiles. Several at a time leave the GPU to the one that has compiled.
tests_at_a_time=$(($(nproc) < 8 ? $(nproc) : 8))
outcomes=$results/outcomes
tests=0

# Runs one test and writes its outcome to the file AT.
run_test() { # AT EXECUTABLE NAME COMMAND...
  local at=$1 executable=$2 name=$3 start seconds outcome=passed status=0
  shift 3
  start=$(date +%s.%N)
  timeout 600 "$@" >"$at.txt" 2>&1 || status=$?
  seconds=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", b - a }')
  case $status in
    0) ;;
    77) outcome=skipped ;;
    *)
      outcome=failed
      printf '%s: %s (status %s)\n%s\n' "$executable" "$name" "$status" "$(tail -n 40 "$at.txt")" >&2
      ;;
  esac
  rm -f "$at.txt"
  printf '{"executable": "%s", "test": "%s", "outcome": "%s", "seconds": %s}\n' "$executable" \
    "$(json_string "$name")" "$outcome" "$seconds" >"$at"
}

# Does the same in the background, once there is room.
begin_test() { # EXECUTABLE NAME COMMAND...
  tests=$((tests + 1))
  while (($(jobs -pr | wc -l) >= tests_at_a_time)); do wait -n || true; done
  run_test "$outcomes/$(printf '%05d' "$tests")" "$@" &
}

# Runs one process per test case, like ctest, so that a test that ends the process fails alone.
run_tests() { # EXECUTABLE [FILTERS]
  local program=$tree/$1 name
  local -a names
  mapfile -t names < <(test_cases "$program" ${2:+"--test-case=$2"})
  ((${#names[@]})) || die "$1 holds no test case"
  for name in "${names[@]}"; do
    # A comma in doctest's filter separates two filters unless it is escaped.
    begin_test "$(basename "$1")" "$name" "$program" "--test-case=${name//,/\\,}"
  done
}

# An example checks the result of its kernel, and exits with 1 if it is wrong.
run_example() { # EXECUTABLE
  local -a template=()
  [[ $1 != */example_scale_add ]] || template=("$root/examples/custom_template/scale_add.cu")
  # shellcheck disable=SC2016
  begin_test "$(basename "$1")" "its result is right" bash -c 'toolkit=$1 home=$(mktemp -d) status=0
    shift
    "$@" "$home" ${toolkit:+"$toolkit"} || status=$?
    rm -rf "$home"
    exit $status' - "$cuda_root" "$tree/$1" "${template[@]}"
}

# Runs one measurement, which writes its own JSON, or one command. A failure is counted and the
# others still run.
measure() { # NAME COMMAND...
  local name=$1
  shift
  printf '%s\n' "$name" >&2
  local status=0
  timeout 900 "$@" >"$results/$name.txt" 2>&1 </dev/null || status=$?
  case $status in
    0)
      passed=$((passed + 1))
      # Goals that a completed measurement misses are reported here too.
      grep -E '^missed: |goals are reached$|have equal bits' "$results/$name.txt" >&2 || true
      ;;
    77) skipped=$((skipped + 1)) ;;
    *)
      failed=$((failed + 1))
      printf '%s failed:\n' "$name" >&2
      tail -n 40 "$results/$name.txt" >&2
      ;;
  esac
}

have_modules() { python3 -c 'import importlib.util, sys
sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))' "$@" 2>/dev/null; }

peer() { # SCRIPT MODULES ARGUMENTS...
  local script=$1 modules=$2
  shift 2
  # shellcheck disable=SC2086
  if have_modules $modules; then
    measure "$script" python3 "$root/bench/peers/$script.py" --bench "$bench" "${commit[@]}" \
      --output "$results/$script.json" "$@"
  else
    printf '%s: left out, python3 has not all of: %s\n' "$script" "$modules" >&2
  fi
}

# Measures the cases of a file, with goals.
run_sweep() { # NAME SWEEP ARGUMENTS...
  measure "$1" python3 "$root/bench/peers/attention_table.py" "${commit[@]}" --tool "$tree/cli/cubinet" \
    --sweep "$root/bench/sweeps/$2.txt" --name "$1" --output "$results/$1.json" "${@:3}"
}

outcomes_of() { grep -ho "\"outcome\": \"$1\"" "$outcomes"/* | wc -l || true; }

begin_all_tests() {
  local path
  while read -r path; do
    case $path in
      examples/*) run_example "$path" ;;
      *) run_tests "$path" ;;
    esac
  done <"$list"
}

# Prints the names of the tests of the matrix.
matrix_tests() {
  cat <<'TESTS'
Groups of any number of heads*
Groups of one head*
Query tokens of every number*
Sequences may have fewer query tokens*
Sequences of prefill may have fewer query tokens*
More sequences than a warp*
Lengths that the plan does not know*
Long sequences*
*of more than two to the power of thirty one elements*
A window hides older tokens*
Keys that are no numbers*
Small prompts of every kind*
Columns behind the head dim*
The portable kernel and warpgroups*
Both families agree with each other*
Prompts have the same bits whole*
Every family computes random problems*
Every family of prefill computes random problems*
Attention over random shared prefixes*
TESTS
}

begin_matrix() { run_tests tests/attention/test_attention_gpu "$(matrix_tests | paste -sd,)"; }

# Runs the tests that a function begins, and writes their outcomes to NAME.json.
run_outcomes() { # NAME FUNCTION
  local ended
  rm -rf "$outcomes"
  mkdir -p "$outcomes"
  tests=0
  "$2"
  wait
  ended=$(find "$outcomes" -name '?????' | wc -l)
  ((ended == tests)) || die "$tests tests were begun and $ended have an outcome"
  local -A count=([passed]=$(outcomes_of passed) [failed]=$(outcomes_of failed) [skipped]=$(outcomes_of skipped))
  {
    printf '{"device": "%s", "passed": %d, "failed": %d, "skipped": %d, "tests": [\n' \
      "$(json_string "$(head -n 1 "$results/device.txt")")" "${count[passed]}" "${count[failed]}" "${count[skipped]}"
    sed '$!s/$/,/' <(cat "$outcomes"/*)
    printf ']}\n'
  } >"$results/$1.json"
  rm -rf "$outcomes"
  passed=$((passed + count[passed])) failed=$((failed + count[failed])) skipped=$((skipped + count[skipped]))
}

run_benchmark() { # VERB
  local nvcc
  local -a more=() rounds=()
  if [[ $1 == compile ]]; then
    # A compilation uses a core for half a second and is often disturbed on a shared machine.
    rounds=(--rounds 21)
    if nvcc=$(command -v nvcc); then more=(--nvcc "$nvcc"); fi
  fi
  case $1 in
    threads) rounds=(--rounds 21) ;;
    busy) rounds=(--rounds 3) ;; # each takes half a minute
    prepare)
      "$root/bench/serving_workload.sh" "$tree/cli/cubinet" "$results/serving.workload"
      more=("$results/serving.workload")
      if nvcc=$(command -v nvcc); then more+=(--nvcc "$nvcc"); fi
      ;;
  esac
  measure "$1" "$bench" "${nvrtc[@]}" "${commit[@]}" "${rounds[@]}" -o "$results/$1.json" "$1" "${more[@]}"
}

# Runs the full set of inputs of the random tests.
run_random() {
  CUBINET_TEST_EVERY=1 measure random "$tree/tests/attention/test_attention_gpu" \
    --test-case='Every family computes random problems*,Every family of prefill computes*,The shapes that the prior system*,Long sequences*'
}

skip() { # REASON
  printf 'skipped: %s\n' "$1" >&2
  skipped=$((skipped + 1))
}

# Prints one problem per line. Each is run by published kernels only and compared with float64.
# Together they use every part of the argument: split KV in one kernel, in clusters and in a
# separate launch, tiles of tokens, separate pages of K and V, sinks, windows, scales, query
# lengths, the log-sum-exp, bf16, fp16 and e4m3.
published_problems() {
  cat <<'PROBLEMS'
decode --batch 4 --kv-len 8192 --heads-q 64 --heads-kv 8 --page-size 32
decode --batch 64 --kv-len 1024 --heads-q 64 --heads-kv 8 --page-size 64 --lengths borders --layout hnd
decode --batch 1 --kv-len 32768 --heads-q 32 --heads-kv 4 --lse
decode --batch 16 --kv-len 4096 --heads-q 32 --heads-kv 4 --dtype-q e4m3 --dtype-o bf16 --lse --page-size 32
decode --batch 8 --kv-len 2048 --heads-q 64 --heads-kv 8 --dtype-q fp16 --page-size 16 --q-len 4
decode --batch 32 --kv-len 2048 --heads-q 64 --heads-kv 8 --head-dim-qk 64 --window 128 --sinks --page-size 32
decode --batch 8 --kv-len 2048 --heads-q 64 --heads-kv 8 --sinks --page-tables separate --page-size 32
decode --batch 8 --kv-len 2048 --heads-q 32 --heads-kv 8 --q-len 3 --ragged-q --scales-on-device --page-size 32
decode --batch 8 --kv-len 2048 --heads-q 32 --heads-kv 8 --dtype-kv e4m3 --page-size 32
prefill --batch 2 --kv-len 2048 --heads-q 32 --heads-kv 8 --page-size 32
prefill --batch 2 --kv-len 1024 --heads-q 32 --heads-kv 8 --page-size 32 --dtype-q e4m3 --dtype-o bf16 --q-len 500
prefill --batch 2 --kv-len 1024 --heads-q 16 --qkv-layout separate --head-dim-qk 192 --head-dim-v 128 --lse
mla-decode --batch 16 --kv-len 4096 --heads-q 128 --page-size 64
mla-decode --batch 4 --kv-len 8192 --heads-q 128 --dtype-q e4m3 --dtype-o bf16 --lse --page-size 32
mla-decode --batch 2 --kv-len 4096 --heads-q 16 --page-size 32 --q-len 2
PROBLEMS
}

capability_of_device() { nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1; }

run_published() {
  local tool=$tree/cli/cubinet capability home problem number=0 failures=$failed
  local -a options=()
  capability=$(capability_of_device)
  if [[ $capability != 10.* ]]; then
    skip "published: its kernels are for devices of 10.x, and this one is of $capability"
    return 0
  fi
  if [[ -z $folder ]]; then
    skip "published: no folder of published cubins was given (-p)"
    return 0
  fi
  home=$results/published_home
  rm -rf "$home"
  options=(--home "$home" --json)
  measure published_import "$tool" import-artifacts "$folder" "${options[@]}"
  # The kernels that follow a published kernel (its reduction, the log-sum-exp) are compiled.
  [[ -z $cuda_root ]] || export CUDA_HOME=$cuda_root
  ((failed == failures)) || return 0
  while read -r problem; do
    number=$((number + 1))
    # shellcheck disable=SC2086
    measure "published_$(printf '%02d' "$number")" "$tool" run $problem --backend published --iterations 5 "${options[@]}"
  done < <(published_problems)
  rm -rf "$home"
}

# Runs a command under a tool of compute-sanitizer.
sanitize() { # NAME TOOL COMMAND...
  local name=$1 tool=$2
  local -a more=()
  shift 2
  # The driver reports the number of a kernel's arguments only by refusing to describe one more. The
  # loader counts them in this way, so such a refusal is not an error.
  [[ $tool != memcheck ]] || more=(--report-api-errors no)
  measure "$name" compute-sanitizer --tool "$tool" "${more[@]}" --error-exitcode 9 "$@"
}

have_sanitizer() {
  command -v compute-sanitizer >/dev/null || {
    printf 'sanitizer: left out, there is no compute-sanitizer\n' >&2
    return 1
  }
}

# Runs the small prompts of tests/attention/small_prefill_gpu_test.cpp under a tool, and prints
# those whose kernels it reports.
sanitize_prefill() { # TOOL
  local attention=$tree/tests/attention/test_attention_gpu prompts='Small prompts of every kind*'
  [[ -x $attention ]] || return 0
  # racecheck does not see that a warpgroup waits for copies of TMA.
  [[ $1 != racecheck ]] || prompts+='portable kernel'
  sanitize "sanitizer_${1}_prefill" "$1" "$attention" "--test-case=$prompts"
  awk -v tool="$1" '
    /^small prompts: / { prompts = substr($0, 16) }
    /^========= / && !/SUMMARY/ && prompts && !reported[prompts] && /(Invalid|Uninitialized|Error|Hazard|Barrier|hit) / {
      reported[prompts] = 1
      print "missed: " tool ": " prompts
    }' "$results/sanitizer_${1}_prefill.txt" >&2
}

run_sanitizer_prefill() {
  local tool
  have_sanitizer || return 0
  for tool in memcheck initcheck racecheck synccheck; do sanitize_prefill "$tool"; done
}

# Runs small problems of every kind under each tool. Launches of published kernels run only under
# the tools that check memory: only their argument is ours, the kernel is a test's stand-in, and the
# other tools would take minutes.
run_sanitizer() {
  local tool name number
  local stand_in=$tree/tests/attention/test_attention_stand_in_gpu
  local -a problems names=()
  have_sanitizer || return 0
  [[ ! -x $stand_in ]] || mapfile -t names < <("$stand_in" --list-test-cases | grep -vE '^(\[doctest\]|=====)')
  for tool in memcheck initcheck racecheck synccheck; do
    # racecheck attributes an arrival at an mbarrier to its thread only, although one thread of a
    # warp arrives for the whole warp in latent attention on Hopper.
    problems=(--small)
    [[ $tool != racecheck ]] || problems+=(--without latent)
    sanitize "sanitizer_$tool" "$tool" "$bench" "${nvrtc[@]}" "${commit[@]}" -o "$results/sanitizer_$tool.json" \
      decode "${problems[@]}"
    sanitize_prefill "$tool"
    [[ $tool == memcheck || $tool == initcheck ]] || continue
    number=0
    for name in "${names[@]}"; do
      number=$((number + 1))
      sanitize "sanitizer_${tool}_stand_in_$number" "$tool" "$stand_in" "--test-case=${name//,/\\,}"
    done
  done
}

run_first_kernel() {
  # This benchmark measures our part even without a peer.
  local first=()
  ! have_modules flashinfer torch || first+=(--peer FlashInfer)
  ! have_modules flash_attn torch || first+=(--peer flash-attn-4)
  peer first_kernel json "${first[@]}"
}

run_corpus() {
  if [[ ! -f $corpus/corpus.bundle ]]; then
    skip "corpus: no folder with its bundle was given (-k)"
    return 0
  fi
  measure corpus "$bench" "${nvrtc[@]}" corpus "$corpus/cases.json" --bundle "$corpus/corpus.bundle"
}

run_nvrtc_bits() {
  if [[ -z $compilers ]]; then
    skip "nvrtc_bits: no folder of bundles was given (-n)"
    return 0
  fi
  if [[ $(capability_of_device) != 9.0 ]]; then
    skip "nvrtc_bits: its kernels are for devices of 9.0, and this one is of $(capability_of_device)"
    return 0
  fi
  measure nvrtc_bits python3 "$root/scripts/nvrtc_bits.py" compare --tool "$tree/cli/cubinet" "${commit[@]}" \
    -o "$results/nvrtc_bits.json" "$compilers"
}

# Tunes into an empty home: the time, the changed choices and their gains.
run_tune() {
  local home=$results/tune_home
  rm -rf "$home"
  [[ -z $cuda_root ]] || export CUDA_HOME=$cuda_root
  measure tune "$tree/cli/cubinet" --home "$home" tune --sweep "$root/bench/sweeps/decode.txt" --budget 3 \
    --output "$results/measured.tuning" --json
  rm -rf "$home"
  mv "$results/tune.txt" "$results/tune.json"
}

for part in "${parts[@]}"; do
  case $part in
    tests) run_outcomes tests begin_all_tests ;;
    matrix) run_outcomes matrix begin_matrix ;;
    random) run_random ;;
    published) run_published ;;
    sanitizer) run_sanitizer ;;
    sanitizer_prefill) run_sanitizer_prefill ;;
    launch_peers) peer launch_peers "cupy cuda triton torch" ;;
    python_first) peer python_first "cubinet cupy triton torch" ;;
    attention_table)
      peer attention_table "torch" --tool "$tree/cli/cubinet" --sweep "$root/bench/sweeps/decode.txt" \
        --sweep "$root/bench/sweeps/latent.txt"
      ! have_modules torch || measure attention_errors python3 "$root/bench/peers/attention_table.py" "${commit[@]}" \
        --tool "$tree/cli/cubinet" --sweep "$root/bench/sweeps/errors.txt" --errors --rounds 1 --name attention_errors \
        --output "$results/attention_errors.json"
      ;;
    latent_batches) ! have_modules torch || run_sweep latent_batches latent_batches ;;
    prefill_table) ! have_modules torch || run_sweep prefill_table prefill ;;
    invariant_table) run_sweep invariant_table invariant --alone ;;
    attention_sample)
      ! have_modules torch || measure attention_sample python3 "$root/bench/peers/attention_table.py" "${commit[@]}" \
        --tool "$tree/cli/cubinet" --sample 300 --seconds 800 --output "$results/attention_sample.json"
      ;;
    speculative) run_sweep attention_speculative speculative --alone --rounds 7 ;;
    shared_prefix | mixed) peer "$part" "cubinet torch" --peers ;;
    invariance)
      measure invariance python3 "$root/bench/peers/invariance.py" "${commit[@]}" --tool "$tree/cli/cubinet" \
        --output "$results/invariance.json"
      ;;
    first_kernel) run_first_kernel ;;
    deep_gemm)
      ! have_modules deep_gemm tvm_ffi torch || measure deep_gemm python3 "$root/bench/peers/deep_gemm_peer.py" \
        "${commit[@]}" --cubinet-nvcc "$tree/nvcc/cubinet-nvcc" --tool "$tree/cli/cubinet" --output "$results/deep_gemm.json"
      ;;
    raw_path) peer raw_path json ${cuda_root:+--toolkit "$cuda_root"} ;;
    corpus) run_corpus ;;
    nvrtc_bits) run_nvrtc_bits ;;
    tune) run_tune ;;
    *) run_benchmark "$part" ;;
  esac
done
echo "results: $results" >&2
if ((skipped)); then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
((failed == 0))
