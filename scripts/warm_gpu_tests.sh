#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the kernels of attention's gpu tests into a home, on a machine without a GPU, so that
# gpu_check.sh need not compile them on a machine that has one. Runs the tests with the stub driver,
# whose kernels compute nothing, and ignores what the tests find. Tests of large caches are left
# out: they need the memory.
#
# Usage: warm_gpu_tests.sh HOME [FILTER]
#   HOME     the home, created if it does not exist; then: CUBINET_TEST_HOME=HOME gpu_check.sh tests
#   FILTER   only these tests, as --test-case of doctest takes it; default: all
# Build the portable preset before. Prints how many builds the home has. Exits with 1 if a test
# crashed or reached its limit of ten minutes, with 3 if there is no such test or no toolkit.
set -euo pipefail

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
tree=$root/build/portable
tests=$tree/tests/attention/test_attention_gpu
(($# == 1 || $# == 2)) || {
  sed -n '/^# Usage/,/^#   FILTER/s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
[[ -x $tests ]] || die "$tree holds no tests: build the portable preset first"
install -d -m 700 "$1"
export CUBINET_TEST_HOME=$1 CUBINET_STUB_CAPABILITY=9.0
export CUBINET_TEST_DRIVER=$tree/tests/stub_driver/libcuda.so.1
[[ -e $CUBINET_TEST_DRIVER ]] || die "$tree holds no stub driver: build the whole portable preset first"
CUBINET_TEST_CUDA_ROOT=$(find_toolkit) || die "there is no CUDA toolkit: its NVRTC compiles the kernels"
export CUBINET_TEST_CUDA_ROOT
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT

# A failed check is expected (status 1); anything else is not.
compile() { # NAME
  local status=0
  timeout 600 "$tests" "--test-case=${1//,/\\,}" >/dev/null 2>&1 || status=$?
  ((status <= 1 || status == 77)) || printf '%s: status %s\n' "$1" "$status" | tee -a "$failures" >&2
}

mapfile -t names < <(test_cases "$tests" --test-case="${2:-*}" --test-case-exclude='*more than two to the power*')
((${#names[@]})) || die "no test case matches '${2:-*}'"
for name in "${names[@]}"; do
  while (($(jobs -pr | wc -l) >= $(nproc))); do wait -n || true; done
  compile "$name" &
done
wait
printf '%s: %s builds\n' "$1" "$(find "$1/records" -name '*.record' | wc -l)"
[[ ! -s $failures ]]
