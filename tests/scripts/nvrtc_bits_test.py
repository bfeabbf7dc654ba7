#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/nvrtc_bits.py compiles all problems with each compiler and refuses results with other bits."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from script_tree import ROOT, make_program  # noqa: E402

SCRIPT = ROOT / "scripts/nvrtc_bits.py"
specification = importlib.util.spec_from_file_location("nvrtc_bits", SCRIPT)
nvrtc_bits = importlib.util.module_from_spec(specification)
specification.loader.exec_module(nvrtc_bits)

# Its `run` prints the digest that the bundle's text has for the problem's numerics, and the kernel
# that the text names.
TOOL = """
printf '%s\\n' "$CUBINET_COMPILE $*" >>"$FOLDER/calls"
numerics=fast bundle='' release=13.0
[[ $* != *'--numerics invariant'* ]] || numerics=invariant
case $1 in
  doctor)
    [[ $* != *other* ]] || release=12.9
    if [[ $* == *absent* ]]; then
      echo '{"error": {"message": "there is no file"}}'
      exit 2
    fi
    echo "{\\"compiler\\": {\\"identity\\": \\"NVRTC $release, build 1\\"}}" ;;
  prebuild)
    while [[ $1 != -o ]]; do shift; done
    echo "$2" >"$2"
    echo '{"results": [{}, {}]}'
    [[ ! -e $FOLDER/unserved ]] || { exit 1; } ;;
  bundle)
    echo '{"same": [{}], "changed": [{"differences": [{"parts": ["code"]}]}, {"differences": [{"parts": ["attributes"]}]}]}'
    exit 1 ;;
  run)
    while [[ $1 != --bundle ]]; do shift; done
    if grep -q error "$2"; then
      echo '{"error": {"message": "no build"}}'
      exit 1
    fi
    digest=$(sed -n "s/^$numerics //p" "$2")
    kernel=$(sed -n 's/^kernel //p' "$2")
    echo "{\\"output\\": {\\"sha256\\": \\"$digest\\", \\"lse_sha256\\": \\"1\\"}, \\"template\\": \\"${kernel:-a}\\","
    echo '"parameters": {}, "splits": 1, "seconds": 1}' ;;
esac
"""


class NvrtcBits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tool = self.folder / "tool"
        make_program(self.tool, f"FOLDER={self.folder}\n" + TOOL)
        self.bundles = self.folder / "bundles"

    def call(self, verb, *arguments):
        return subprocess.run([sys.executable, str(SCRIPT), verb, "--tool", str(self.tool), *map(str, arguments)],
                              capture_output=True, text=True, check=False)

    def compare(self, *texts):
        """Compares bundles with these texts, of one problem in invariant and in fast numerics."""
        self.bundles.mkdir(exist_ok=True)
        (self.bundles / "problems.txt").write_text(
            "--op prefill --kv-len 7 --numerics invariant\n--kv-len 5 --numerics fast\n")
        for number, text in enumerate(texts):
            (self.bundles / f"{number}.bundle").write_text(text)
        return self.call("compare", "-o", self.folder / "results.json", self.bundles)

    def test_every_problem_has_each_type_and_numerics(self):
        problems = nvrtc_bits.all_problems("# text\n\n--kv-len 7\n--op prefill --kv-len 9\n")
        self.assertEqual(len(problems), 8)
        self.assertIn("--op prefill --kv-len 9 --dtype-q fp16 --numerics invariant", problems)
        sweep = nvrtc_bits.all_problems(nvrtc_bits.PROBLEMS.read_text())
        self.assertEqual(len(set(sweep)), len(sweep))
        for part in ("--append", "--sinks", "--window", "--soft-cap", "--head-dim-qk 192", "--q-len 8", "--page-size 0"):
            self.assertTrue(any(part in problem for problem in sweep), part)

    def test_each_compiler_makes_a_bundle_of_the_same_problems(self):
        done = self.call("build", "-o", self.bundles, "/one/libnvrtc.so", "/other/libnvrtc.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = sorted(path.name for path in self.bundles.iterdir())
        self.assertEqual(names, ["0-nvrtc-13.0.bundle", "1-nvrtc-12.9.bundle", "problems.txt"])
        calls = (self.folder / "calls").read_text()
        for nvrtc in ("/one/libnvrtc.so", "/other/libnvrtc.so"):
            self.assertIn(f"--nvrtc {nvrtc} -o ", calls)
        self.assertIn(f"--problems {self.bundles}/problems.txt", calls)
        self.assertIn("1 of 3 kernels have other instructions than in 0-nvrtc-13.0.bundle", done.stdout)

    def test_a_problem_that_is_not_served_is_an_error(self):
        (self.folder / "unserved").touch()
        self.assertNotEqual(self.call("build", "-o", self.bundles, "/one", "/other").returncode, 0)

    def test_what_cannot_be_built_is_named_before_anything_is_compiled(self):
        one = self.call("build", "-o", self.bundles, "/one")
        self.assertIn("give two or more", one.stderr)
        self.assertFalse((self.folder / "calls").exists())
        absent = self.call("build", "-o", self.bundles, "/absent", "/one")
        self.assertEqual(absent.stderr, "/absent: there is no file\n")
        file = self.call("build", "-o", self.tool, "/one", "/other")
        self.assertIn(f"cannot make the folder '{self.tool}'", file.stderr)
        self.tool = self.folder / "none"
        tool = self.call("build", "-o", self.bundles, "/one", "/other")
        self.assertIn(f"cannot run {self.tool}: No such file or directory", tool.stderr)
        for done in (one, absent, file, tool):
            self.assertNotEqual(done.returncode, 0)

    def test_equal_bits_pass_and_fast_numerics_are_counted(self):
        done = self.compare("invariant 5\nfast 6\n", "invariant 5\nfast 7\n")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("invariant numerics: 1 of 1 problems have equal bits with 2 compilers", done.stdout)
        self.assertIn("fast numerics: 0 of 1 problems", done.stdout)
        rows = json.loads((self.folder / "results.json").read_text())["rows"]
        self.assertEqual([row["equal"] for row in rows], [True, False])
        calls = (self.folder / "calls").read_text()
        self.assertIn("never run prefill --kv-len 7 ", calls)
        self.assertIn("never run decode --kv-len 5 ", calls)

    def test_other_bits_of_invariant_numerics_fail_and_name_the_problem(self):
        done = self.compare("invariant 5\nfast 6\n", "invariant 5\nfast 6\n ", "invariant 4\nfast 6\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--op prefill --kv-len 7 --numerics invariant: the bits differ", done.stdout)

    def test_another_kernel_and_a_run_without_a_result_fail(self):
        done = self.compare("invariant 5\nfast 6\n", "invariant 5\nfast 6\nkernel b\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("another kernel", done.stdout)
        done = self.compare("invariant 5\nfast 6\n", "error\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1: no build", done.stdout)

    def test_one_bundle_and_equal_bundles_compare_nothing(self):
        for texts, reason in ((["invariant 5\n"], "fewer than two"), (["invariant 5\n"] * 2, "are equal")):
            done = self.compare(*texts)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    unittest.main()
