#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu_check.sh names NVRTC to all that it runs, runs the examples, and counts each part by itself."""
import fnmatch
import json
import re
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ROOT, ScriptTest, make_program, make_toolkit  # noqa: E402

# Two cases: one passes, one is skipped. What it was called with goes into a file.
TESTS = """
if [[ $1 == --list-test-cases ]]; then
  printf '[doctest] listing all test case names\\n==========\\none, and a comma\\nanother\\n==========\\n'
  exit 0
fi
printf '%s %s\\n' "$CUBINET_TEST_CUDA_ROOT" "$1" >>"$TMPDIR/calls"
printf '%s\\n' "$CUBINET_TEST_HOME" >"$TMPDIR/home"
[[ $1 != --test-case=another ]] || exit 77
"""
EXAMPLE = """
printf '%s\\n' "${0##*/}" "$@" >>"$TMPDIR/calls"
[[ ${0##*/} != example_scale_add || $1 == */examples/custom_template/scale_add.cu ]] || exit 2
"""
# Imports all; runs everything but prefill.
TOOL = """
printf '%s\\n' "$*" >>"$TMPDIR/calls"
[[ $2 != prefill ]]
"""
BENCH = """
printf '%s\\n' "$@" >>"$TMPDIR/calls"
exit 1
"""


class GpuCheck(ScriptTest):
    def setUp(self):
        super().setUp()
        tree = self.root / "build/portable"
        make_program(tree / "tests/loader/test_loader_stub", TESTS)
        make_program(tree / "examples/example_rms_norm", EXAMPLE)
        make_program(tree / "examples/example_scale_add", EXAMPLE)
        make_program(tree / "bench/cubinet_bench", BENCH)
        (tree / "gpu_check.list").write_text(
            "examples/example_rms_norm\nexamples/example_scale_add\ntests/loader/test_loader_stub\n")
        make_program(self.bin / "nvidia-smi", "echo 'A GPU, 1.2'\n")
        self.results = self.folder / "results"

    def check(self, *parts, **environment):
        done = self.run_script("gpu_check.sh", "-o", self.results, *parts, **environment)
        calls = self.folder / "calls"
        self.calls = calls.read_text().splitlines() if calls.exists() else []
        return done

    def device_of(self, capability):
        make_program(self.bin / "nvidia-smi", f"""
case "$*" in *compute_cap*) echo {capability} ;; *) echo 'A GPU, 1.2' ;; esac
""")
        make_program(self.root / "build/portable/cli/cubinet", TOOL)

    def wheels(self):
        return make_toolkit(self.root / "build/cuda-wheels/nvidia/cu13", 13000, "lib")

    def test_tests_and_examples_are_outcomes(self):
        done = self.check("tests")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "3 passed, 0 failed, 1 skipped\n")
        outcomes = json.loads((self.results / "tests.json").read_text())
        self.assertEqual([(test["executable"], test["test"], test["outcome"]) for test in outcomes["tests"]],
                         [("example_rms_norm", "its result is right", "passed"),
                          ("example_scale_add", "its result is right", "passed"),
                          ("test_loader_stub", "one, and a comma", "passed"),
                          ("test_loader_stub", "another", "skipped")])
        self.assertTrue(any(call.endswith("--test-case=one\\, and a comma") for call in self.calls))

    def test_tests_share_a_home_which_may_be_given(self):
        self.check("tests")
        self.assertEqual((self.folder / "home").read_text(), f"{self.root}/build/gpu_test_home\n")
        self.check("tests", CUBINET_TEST_HOME="/a/home")
        self.assertEqual((self.folder / "home").read_text(), "/a/home\n")

    def test_an_example_with_a_wrong_result_is_a_failure(self):
        make_program(self.root / "build/portable/examples/example_rms_norm", "exit 1\n")
        done = self.check("tests")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "2 passed, 1 failed, 1 skipped\n")

    def test_the_counts_of_the_tests_are_theirs_alone(self):
        done = self.check("load", "tests")
        self.assertEqual(done.stdout, "3 passed, 1 failed, 1 skipped\n")
        outcomes = json.loads((self.results / "tests.json").read_text())
        self.assertEqual([outcomes[name] for name in ("passed", "failed", "skipped")], [3, 0, 1])

    def test_the_wheels_of_the_tree_are_used_where_it_lies_now(self):
        wheels = self.wheels()
        self.check("tests", "load", CUDA_HOME=make_toolkit(self.folder / "toolkit", 13000))
        example = self.calls.index("example_rms_norm")
        self.assertEqual(self.calls[example + 2], str(wheels))
        self.assertIn(f"{wheels} --test-case=another", self.calls)
        self.assertEqual(self.calls[self.calls.index("--toolkit-root") + 1], str(wheels))

    def test_without_wheels_it_is_the_toolkit_of_the_machine(self):
        toolkit = make_toolkit(self.folder / "toolkit", 13000)
        self.check("tests", "load", CUDA_HOME=toolkit)
        self.assertIn(f"{toolkit} --test-case=another", self.calls)
        self.assertEqual(self.calls[self.calls.index("--toolkit-root") + 1], str(toolkit))

    def test_every_part_gives_the_benchmarks_the_same_nvrtc(self):
        toolkit = make_toolkit(self.folder / "toolkit", 13000)
        make_program(self.bin / "compute-sanitizer", 'while [[ $1 != */cubinet_bench ]]; do shift; done\n"$@"\n')
        for part, runs in (("sanitizer", 4), ("compile", 1), ("table", 1), ("launch", 1), ("decode", 1)):
            with self.subTest(part):
                (self.folder / "calls").unlink(missing_ok=True)
                self.check(part, CUDA_HOME=toolkit)
                named = [i for i, word in enumerate(self.calls) if word == "--toolkit-root"]
                self.assertEqual(len(named), runs)
                self.assertEqual({self.calls[i + 1] for i in named}, {str(toolkit)})

    def test_published_kernels_are_run_on_a_device_of_10(self):
        self.device_of("10.3")
        done = self.check("-p", self.folder / "cubins", "published")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(self.calls[0].startswith(f"import-artifacts {self.folder / 'cubins'} --home "))
        runs = self.calls[1:]
        self.assertGreaterEqual(len(runs), 12)
        for run in runs:
            self.assertTrue(run.startswith("run "))
            self.assertIn(" --backend published ", run)
        for option in ("--sinks", "--lse", "--page-tables separate", "--dtype-q e4m3", "--dtype-kv e4m3"):
            self.assertTrue(any(option in run for run in runs), option)
        wrong = sum(run.startswith("run prefill") for run in runs)
        self.assertEqual(done.stdout, f"{1 + len(runs) - wrong} passed, {wrong} failed\n")

    def test_elsewhere_published_kernels_are_skipped_and_the_reason_is_said(self):
        for capability, line, reason in (("9.0", ["-p", self.folder], "this one is of 9.0"), ("10.0", [], "(-p)")):
            with self.subTest(capability):
                self.device_of(capability)
                done = self.check(*line, "published")
                self.assertEqual(done.stdout, "0 passed, 0 failed, 1 skipped\n")
                self.assertIn(reason, done.stderr)
                self.assertEqual(self.calls, [])

    def test_the_sanitizer_runs_each_launch_of_published_kernels_under_those_that_look_at_memory(self):
        make_program(self.root / "build/portable/tests/attention/test_attention_stand_in_gpu", TESTS)
        make_program(self.bin / "compute-sanitizer", """
while [[ $1 != */cubinet_bench && $1 != */test_attention_stand_in_gpu ]]; do shift; done
"$@"
""")
        done = self.check("sanitizer")
        self.assertEqual(done.stdout, "2 passed, 4 failed, 2 skipped\n")  # the bench always fails here
        self.assertEqual(sum("--test-case=one\\, and a comma" in call for call in self.calls), 2)

    def test_the_sanitizer_runs_small_prompts_and_racecheck_those_of_the_portable_kernel_alone(self):
        make_program(self.root / "build/portable/tests/attention/test_attention_gpu",
                     'printf "%s\\n" "$1" >>"$TMPDIR/prompts"\n')
        make_program(self.bin / "compute-sanitizer", """
while [[ $1 != */cubinet_bench && $1 != */test_attention_gpu ]]; do shift; done
"$@"
""")
        self.assertEqual(self.check("sanitizer").stdout, "4 passed, 4 failed\n")  # the bench always fails here
        small = "--test-case=Small prompts of every kind*"
        self.assertEqual((self.folder / "prompts").read_text().splitlines(),
                         [small, small, small + "portable kernel", small])

    def test_small_prompts_that_a_sanitizer_reports_are_named_once(self):
        make_program(self.root / "build/portable/tests/attention/test_attention_gpu", """
echo "small prompts: plain, by a kernel"
echo "small prompts: wide, by a kernel"
if [[ ${FAULTY:-} == "$TOOL" ]]; then
  echo "========= Invalid __global__ read of size 4 bytes"
  echo "=========     at a_kernel"
  echo "========= Invalid __global__ read of size 4 bytes"
fi
echo "========= ERROR SUMMARY: 2 errors"
[[ ${FAULTY:-} != "$TOOL" ]]
""")
        make_program(self.bin / "compute-sanitizer",
                     'export TOOL=$2\nwhile [[ $1 != */test_attention_gpu ]]; do shift; done\n"$@"\n')
        done = self.check("sanitizer_prefill")
        self.assertEqual(done.stdout, "4 passed, 0 failed\n")
        self.assertNotIn("missed", done.stderr)
        done = self.check("sanitizer_prefill", FAULTY="initcheck")
        self.assertEqual(done.stdout, "3 passed, 1 failed\n")
        self.assertEqual([line for line in done.stderr.splitlines() if line.startswith("missed")],
                         ["missed: initcheck: wide, by a kernel"])

    def test_the_matrix_is_tests_by_name_with_a_result_of_its_own(self):
        make_program(self.root / "build/portable/tests/attention/test_attention_gpu",
                     'printf "%s\\n" "$*" >>"$TMPDIR/filters"\n' + TESTS)
        self.assertEqual(self.check("matrix").stdout, "1 passed, 0 failed, 1 skipped\n")
        outcomes = json.loads((self.results / "matrix.json").read_text())
        self.assertEqual([test["outcome"] for test in outcomes["tests"]], ["passed", "skipped"])
        filters = (self.folder / "filters").read_text().splitlines()[0].partition("--test-case=")[2].split(",")
        # Each names a test that exists.
        names = re.findall(r'TEST_CASE\(\s*"([^"]*)"', "".join(
            path.read_text() for path in sorted((ROOT / "tests/attention").glob("*_gpu_test.cpp"))))
        self.assertGreater(len(filters), 12)
        for each in filters:
            self.assertTrue(fnmatch.filter(names, each), each)

    def test_the_goals_of_attention_are_a_group_of_parts(self):
        self.device_of("9.0")
        make_program(self.bin / "python3", 'printf "%s\\n" "$*" >>"$TMPDIR/calls"\necho "missed: a goal" >&2\n')
        done = self.check("attention")
        self.assertEqual(done.stdout, "7 passed, 0 failed\n")
        self.assertEqual(done.stderr.count("missed: a goal\n"), 7)
        for script in ("--sweep", "latent_batches.txt", "prefill.txt", "invariant.txt", "--sample 300", "mixed.py",
                       "shared_prefix.py", "invariance.py"):
            self.assertTrue(any(script in call for call in self.calls), script)

    def test_all_of_the_random_problems_are_one_outcome(self):
        self.assertEqual(self.check("random").stdout, "0 passed, 1 failed\n")  # it was not built
        make_program(self.root / "build/portable/tests/attention/test_attention_gpu",
                     'printf "%s\\n" "$CUBINET_TEST_EVERY $*" >>"$TMPDIR/calls"\n')
        done = self.check("random")
        self.assertEqual(done.stdout, "1 passed, 0 failed\n")
        self.assertTrue(self.calls[-1].startswith("1 --test-case=Every family computes random problems*,"))

    def test_the_corpus_is_run_from_its_folder_and_skipped_without_one(self):
        done = self.check("corpus")
        self.assertEqual(done.stdout, "0 passed, 0 failed, 1 skipped\n")
        self.assertIn("(-k)", done.stderr)
        folder = self.folder / "corpus"
        folder.mkdir()
        (folder / "corpus.bundle").touch()
        done = self.check("-k", folder, "corpus")
        self.assertEqual(done.stdout, "0 passed, 1 failed\n")  # the bench always fails here
        self.assertEqual(self.calls[-4:], ["corpus", f"{folder}/cases.json", "--bundle", f"{folder}/corpus.bundle"])

    def test_the_bits_of_two_compilers_are_compared_from_their_folder_and_skipped_without_one(self):
        done = self.check("nvrtc_bits")
        self.assertEqual(done.stdout, "0 passed, 0 failed, 1 skipped\n")
        self.assertIn("(-n)", done.stderr)
        self.device_of("10.0")
        done = self.check("-n", self.folder / "bundles", "nvrtc_bits")
        self.assertEqual(done.stdout, "0 passed, 0 failed, 1 skipped\n")
        self.assertIn("this one is of 10.0", done.stderr)
        self.device_of("9.0")
        make_program(self.bin / "python3", 'printf "%s\n" "$*" >>"$TMPDIR/calls"\necho "9 problems have equal bits"\n')
        done = self.check("-n", self.folder / "bundles", "nvrtc_bits")
        self.assertEqual(done.stdout, "1 passed, 0 failed\n")
        self.assertIn("9 problems have equal bits\n", done.stderr)
        self.assertTrue(self.calls[-1].endswith(f"nvrtc_bits.json {self.folder / 'bundles'}"), self.calls)
        self.assertIn("nvrtc_bits.py compare --tool ", self.calls[-1])

    def test_wrong_usage_is_status_2(self):
        for line in (["-o"], ["-c"], ["-p"], ["-k"], ["-n"], ["-o", ""], ["everything"]):
            with self.subTest(line):
                done = self.run_script("gpu_check.sh", *line)
                self.assertEqual(done.returncode, 2)
                self.assertIn("Usage: scripts/gpu_check.sh", done.stderr)


if __name__ == "__main__":
    unittest.main()
