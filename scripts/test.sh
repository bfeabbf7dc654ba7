#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets the machine up, builds and runs every test that needs no GPU: under AddressSanitizer and
# UndefinedBehaviorSanitizer, tests with several threads also under ThreadSanitizer, and the
# package's tests on the portable build. The dev build, which compiles fastest, runs all of them
# alone: run it before a commit.
#
# Usage: scripts/test.sh [asan|tsan|portable|dev]...     (default: the first three)
# The last line of stdout is "N passed, N failed" or "N passed, N failed, N skipped". Exits with 0
# if none failed.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

trees=("$@")
((${#trees[@]})) || trees=(asan tsan portable)
for tree in "${trees[@]}"; do
  case $tree in
    asan | tsan | portable | dev) ;;
    *) say "usage: scripts/test.sh [asan|tsan|portable|dev]..." && exit 2 ;;
  esac
done

passed=0 failed=0 skipped=0
jobs=$(nproc)
# Warnings are errors only with the compilers that the trees are tested with; others may report
# more. The trees of the sanitizers are compiled by Clang in two thirds of GCC's time, which shows
# that it accepts every source.
declare -A warnings_as_errors=([asan]=OFF [tsan]=OFF [portable]=OFF [dev]=OFF)

# The labels of the tests that each tree runs, and of those that it leaves to the others
# (CONTRIBUTING.md describes the labels).
declare -A labels=([asan]='unit|nvrtc|stub' [tsan]='threads' [portable]='plain|property|package|layout'
  [dev]='unit|nvrtc|stub|plain|package|layout')
declare -A left_out=([asan]='gpu' [tsan]='gpu|loop' [portable]='gpu' [dev]='gpu')

# The targets of a tree: those that it runs. The GPU tests are compiled once, in the fastest tree.
declare -A targets=([asan]='--target tests_unit tests_nvrtc tests_stub tests_gpu' [tsan]='--target tests_threads'
  [portable]='--target cubinet cubinet_tool cubinet_nvcc_tool tests_plain tests_property examples/all')

count() { # FILE PATTERN: how many of ctest's <testcase> elements match
  tr '\n' ' ' <"$1" | sed 's/<testcase /\n&/g' | grep -c "^<testcase .*$2" || true
}

# A run from nothing compiles each source once, and a unity build takes half the time. The
# sanitizers' presets enable it themselves. The portable tree matters here only because it is
# static, installed and without a sanitizer, and -O3 would take twice the time.
declare -A options=([portable]='-DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_FLAGS=-Og -DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG' [dev]='-DCMAKE_UNITY_BUILD=ON')

# The Python package is built with the python3 that its packages are fetched for.
declare -A python_targets=([portable]='cubinet_python cubinet_stub_driver')

# The file names what could not be downloaded for the tests.
missing=$root/build/missing_test_tools
fetching=''

# Downloads what only the tests run with. The first tree is built meanwhile.
fetch_test_tools() {
  : >"$missing"
  install_test_wheels ||
    echo "NVRTC 13.5 could not be fetched from PyPI: the tests of two releases of NVRTC have NOT been run" >>"$missing"
  install_python_packages ||
    echo "nanobind and pytest could not be fetched from PyPI: the tests of the Python package have NOT been run" >>"$missing"
  install_test_servers ||
    echo "moto and oras could not be fetched from PyPI: the tests of S3 with its signatures checked, and of another client, have NOT been run" >>"$missing"
}

await_test_tools() {
  [[ -n $fetching ]] || return 0
  wait "$fetching" || true
  fetching=''
}

build_failed() {
  say "error: the $1 tree could not be $2: its own words are above"
  failed=$((failed + 1))
}

run_tree() {
  local tree=$1 folder=$root/build/$1 junit=$root/build/$1/tests.xml python=(-DCUBINET_BUILD_PYTHON=OFF) more=''
  say "== $tree"
  if [[ -n ${python_targets[$tree]:-} ]]; then
    await_test_tools
    if [[ -d $python_packages ]]; then
      python=(-DCUBINET_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$(python3 -c 'import sys; print(sys.executable)')")
      more=${python_targets[$tree]}
    fi
  fi
  # shellcheck disable=SC2086
  cmake --preset "$tree" -S "$root" -DCUBINET_WARNINGS_AS_ERRORS="${warnings_as_errors[$tree]}" ${options[$tree]:-} "${python[@]}" >"$root/build/$tree.log" 2>&1 || {
    tail -n 30 "$root/build/$tree.log" >&2
    build_failed "$tree" configured
    return 0
  }
  # shellcheck disable=SC2086
  cmake --build "$folder" --parallel "$jobs" ${targets[$tree]:-} $more >"$root/build/$tree.log" 2>&1 || {
    grep -E -A 12 'error|FAILED' "$root/build/$tree.log" | head -n 60 >&2
    build_failed "$tree" built
    return 0
  }
  rm -f "$junit"
  await_test_tools
  local status=0
  ctest --test-dir "$folder" --label-regex "^(${labels[$tree]})\$" --label-exclude "^(${left_out[$tree]})\$" \
    --no-tests=error --parallel "$jobs" --output-on-failure --output-junit "$junit" >"$root/build/$tree.log" 2>&1 || status=$?
  if [[ ! -s $junit ]]; then
    tail -n 30 "$root/build/$tree.log" >&2
    build_failed "$tree" tested
    return 0
  fi
  # "notrun" is a test that skipped itself, or one that could not run at all, which is a failure.
  local all bad not_run
  all=$(count "$junit" '')
  not_run=$(count "$junit" 'status="notrun".*<skipped message="SKIP_')
  bad=$(($(count "$junit" 'status="fail"') + $(count "$junit" 'status="notrun"') - not_run))
  if ((status != 0 && bad == 0)); then bad=1 all=$((all + 1)); fi
  if ((bad)); then
    grep -vE '^ +Start |[0-9]+/[0-9]+ Test +#.* Passed ' "$root/build/$tree.log" | head -n 300 >&2 || true
  fi
  say "$tree: $((all - bad - not_run)) passed, $bad failed, $not_run skipped"
  passed=$((passed + all - bad - not_run)) failed=$((failed + bad)) skipped=$((skipped + not_run))
}

setup
(install_packages "${test_packages[@]}") || say "warning: the tests that start ${test_packages[*]} are skipped"
(install_packages "$browser_package") || say "warning: the tests of pages in a browser are skipped"
[[ $("${CXX:-g++}" -dumpversion) != 12* ]] || warnings_as_errors[portable]=ON warnings_as_errors[dev]=ON
[[ $(clang++ -dumpversion) != 14* ]] || warnings_as_errors[asan]=ON warnings_as_errors[tsan]=ON
mkdir -p "$root/build"
fetch_test_tools &
fetching=$!
for tree in "${trees[@]}"; do
  run_tree "$tree"
done
await_test_tools
[[ ! -s $missing ]] || say "warning: $(cat "$missing")"
if ((skipped)); then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
((failed == 0))
