#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets the machine up, builds and runs every test that needs no GPU: the dev build with all labels, then
# AddressSanitizer with UndefinedBehaviorSanitizer, ThreadSanitizer, and the portable build's package tests.
#
# Usage: scripts/test.sh [dev|asan|tsan|portable]...     (all of them without an argument)
# The last line of stdout is "N passed, N failed" or "N passed, N failed, N skipped". Exit status 0 when none failed.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

trees=("$@")
((${#trees[@]})) || trees=(dev asan tsan portable)
for tree in "${trees[@]}"; do
  case $tree in
    dev | asan | tsan | portable) ;;
    *) say "usage: scripts/test.sh [dev|asan|tsan|portable]..." && exit 2 ;;
  esac
done

passed=0 failed=0 skipped=0
jobs=$(nproc)
# Warnings are errors with the compiler that the tree is kept clean with; another one may know more of them.
warnings_as_errors=OFF

# Which tests a tree runs, and which of these it leaves to the others, by their labels (CONTRIBUTING.md says what each
# means).
declare -A labels=([dev]='unit|nvrtc|stub|package|layout' [asan]='unit|nvrtc|stub' [tsan]='threads' [portable]='package')
declare -A left_out=([dev]='gpu' [asan]='gpu' [tsan]='gpu|loop' [portable]='source')

# What of a tree is built: under the sanitizers what they run, of the portable tree what is particular to it.
declare -A targets=([asan]='--target tests_unit tests_nvrtc tests_stub' [tsan]='--target tests_threads'
  [portable]='--target cubinet cubinet_tool')

count() { # FILE PATTERN: how many of ctest's <testcase> elements match
  tr '\n' ' ' <"$1" | sed 's/<testcase /\n&/g' | grep -c "^<testcase .*$2" || true
}

# A run from nothing compiles each source once: a folder as a few units takes half the time. The sanitizers' presets say
# so themselves.
declare -A options=([dev]='-DCMAKE_UNITY_BUILD=ON' [portable]='-DCMAKE_UNITY_BUILD=ON')

build_failed() {
  say "error: the $1 tree could not be $2: its own words are above"
  failed=$((failed + 1))
}

run_tree() {
  local tree=$1 folder=$root/build/$1 junit=$root/build/$1/tests.xml
  say "== $tree"
  # shellcheck disable=SC2086
  cmake --preset "$tree" -S "$root" -DCUBINET_WARNINGS_AS_ERRORS="$warnings_as_errors" ${options[$tree]:-} >"$root/build/$tree.log" 2>&1 || {
    tail -n 30 "$root/build/$tree.log" >&2
    build_failed "$tree" configured
    return 0
  }
  # shellcheck disable=SC2086
  cmake --build "$folder" --parallel "$jobs" ${targets[$tree]:-} >"$root/build/$tree.log" 2>&1 || {
    grep -E -A 12 'error|FAILED' "$root/build/$tree.log" | head -n 60 >&2
    build_failed "$tree" built
    return 0
  }
  rm -f "$junit"
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
[[ $("${CXX:-g++}" -dumpversion) != 12* ]] || warnings_as_errors=ON
mkdir -p "$root/build"
for tree in "${trees[@]}"; do
  run_tree "$tree"
done
if ((skipped)); then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
((failed == 0))
