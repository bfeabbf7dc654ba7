#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/warm_gpu_tests.sh runs each gpu test of attention with the stub driver and a home, whatever the test finds."""
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ScriptTest, make_program, make_toolkit  # noqa: E402

# Three cases. One keeps a build, one fails as it must with the stub, and the last one ends as
# STATUS says.
TESTS = """
if [[ $1 == --list-test-cases ]]; then
  printf '%s\\n' "$@" >"$TMPDIR/listed"
  printf '[doctest] listing all test case names\\n==========\\none, and a comma\\nanother\\nlast\\n==========\\n'
  exit 0
fi
printf '%s|%s|%s\\n' "$1" "${CUBINET_TEST_DRIVER##*/}" "$CUBINET_STUB_CAPABILITY" >>"$TMPDIR/calls"
case $1 in
  *one*) mkdir -p "$CUBINET_TEST_HOME/records/0" && touch "$CUBINET_TEST_HOME/records/0/a.record" ;;
  *another*) exit 1 ;;
  *) exit ${STATUS:-77} ;;
esac
"""


class WarmGpuTests(ScriptTest):
    def setUp(self):
        super().setUp()
        self.tests = self.root / "build/portable/tests/attention/test_attention_gpu"
        make_program(self.tests, TESTS)
        self.stub = self.root / "build/portable/tests/stub_driver/libcuda.so.1"
        make_program(self.stub, "")
        self.toolkit = make_toolkit(self.folder / "cuda", 13000)
        self.home = self.folder / "a home"

    def warm(self, *arguments, **environment):
        return self.run_script("warm_gpu_tests.sh", *arguments, CUDA_HOME=self.toolkit, **environment)

    def test_every_test_runs_with_the_stub_and_the_home_counts_its_builds(self):
        done = self.warm(self.home)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, f"{self.home}: 1 builds\n")
        self.assertEqual(self.home.stat().st_mode & 0o777, 0o700)
        calls = sorted((self.folder / "calls").read_text().splitlines())
        self.assertEqual(calls, ["--test-case=another|libcuda.so.1|9.0", "--test-case=last|libcuda.so.1|9.0",
                                 "--test-case=one\\, and a comma|libcuda.so.1|9.0"])

    def test_a_filter_chooses_the_tests(self):
        self.warm(self.home, "Groups*")
        self.assertIn("--test-case=Groups*", (self.folder / "listed").read_text().splitlines())

    def test_a_filter_that_matches_no_test_fails(self):
        make_program(self.tests, "printf '[doctest] listing all test case names\\n==========\\n==========\\n'\n")
        done = self.warm(self.home, "Nothing*")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no test case matches 'Nothing*'", done.stderr)

    def test_a_tree_without_the_stub_driver_fails(self):
        self.stub.unlink()
        done = self.warm(self.home)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no stub driver: build the whole portable preset first", done.stderr)

    def test_a_crash_is_named_and_fails(self):
        done = self.warm(self.home, STATUS="139")
        self.assertEqual(done.returncode, 1)
        self.assertIn("last: status 139", done.stderr)

    def test_a_tree_without_tests_and_missing_arguments_say_what_to_do(self):
        self.assertEqual(self.warm().returncode, 2)
        self.tests.unlink()
        done = self.warm(self.home)
        self.assertEqual(done.returncode, 3)
        self.assertIn("build the portable preset first", done.stderr)


if __name__ == "__main__":
    unittest.main()
