#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/peers/deep_gemm_lines.py replays every recorded kernel of a wheel, and refuses a wheel that has others."""
import contextlib
import hashlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/peers"))
import deep_gemm_lines  # noqa: E402
from script_tree import make_program  # noqa: E402

FORMAT = """
#include <deep_gemm/impls/sm90_one.cuh>

static void __instantiate_kernel() {{
    auto ptr = reinterpret_cast<void*>(&one<
        {}, {}
    >);
}};
"""
HEADER = "template <int kWidth, bool kFast>\nCUTLASS_GLOBAL __launch_bounds__(f(kWidth), 1) void\none(int* out) {}\n"
# A compiler that copies the source to the output, with a word of its own in front.
COMPILER = """
[ "$1" != --cubinet-passed ] || exit 0
echo "$PWD: $*" >>"{calls}"
source=$1
while [ "$1" != --output-file ]; do shift; done
grep -q "{refuses}" "$source" && exit 2
{{ echo "{word}"; cat "$source"; }} >"$2"
"""
# Reports one kernel, whose argument bytes are a word of the image's first line.
TOOL = """
read -r name bytes <"$3"
echo '{"results": [{"kernels": [{"name": "'$name'", "argument_bytes": '$bytes', "arguments": [], "max_threads": null,
  "required_threads": null, "minimum_blocks": null, "cluster": null, "static_shared_bytes": 0}]}]}'
"""


def kernel(*values):
    return {"values": list(values), "sha256": hashlib.sha256(FORMAT.format(*values).encode()).hexdigest()}


class DeepGemmLines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.calls = self.root / "calls"
        impls = self.root / "wheel/deep_gemm/include/deep_gemm/impls"
        impls.mkdir(parents=True)
        (impls / "sm90_one.cuh").write_text(HEADER)
        (impls / "sm100_two.cuh").write_text("__global__ void two() {}\n")
        self.write_library(FORMAT)
        self.document = {"package": "a wheel", "line": ["{folder}/kernel.cu", "--cubin", "--output-file", "{folder}/kernel.cubin",
                                                        "--include-path", "{include}"],
                         "generators": [{"header": "deep_gemm/impls/sm90_one.cuh", "kernel": "one", "requested": 5,
                                         "values": {"int kWidth": ["8", "16"], "bool kFast": ["true", "false"]},
                                         "kernels": [kernel("8", "true"), kernel("16", "false")]}]}
        self.make_compiler("cubinet-nvcc", "k 8")
        self.make_compiler("nvcc", "k 8")
        make_program(self.root / "tool", TOOL)

    def write_library(self, *formats):
        other = FORMAT.replace("sm90", "sm100").encode()
        content = b"\0".join([b"\x7fELF", *(text.encode() for text in formats), b"\xf9\xff" + other, b""])
        (self.root / "wheel/deep_gemm/_C.so").write_bytes(content)

    def make_compiler(self, name, word, refuses="nothing at all"):
        make_program(self.root / name, COMPILER.format(calls=self.calls, word=word, refuses=refuses))

    def replay(self, *more):
        """Returns the exit status, or the refusal, and the result."""
        kernels = self.root / "kernels.json"
        kernels.write_text(json.dumps(self.document))
        output = self.root / "result.json"
        words = ["deep_gemm_lines.py", "--cubinet-nvcc", self.root / "cubinet-nvcc", "--tool", self.root / "tool", "--nvcc",
                 self.root / "nvcc", "--wheel", self.root / "wheel", "-o", output, *more]
        with mock.patch.object(sys, "argv", list(map(str, words))), mock.patch.object(deep_gemm_lines, "KERNELS", kernels), \
                contextlib.redirect_stderr(io.StringIO()):
            try:
                status = deep_gemm_lines.main()
            except SystemExit as refusal:
                return refusal.code, None
        return status, json.loads(output.read_text())

    def test_each_line_runs_in_a_new_folder_twice_with_cubinet_and_once_with_nvcc(self):
        status, result = self.replay()
        self.assertEqual(status, 0, result)
        row = result["rows"][0]
        self.assertEqual((row["kernels"], row["requested"], row["equal"]["names"], row["equal"]["parameters"]), (2, 5, 2, 2))
        calls = self.calls.read_text().splitlines()
        self.assertEqual(len(calls), 6)
        self.assertEqual(len({call.split(":")[0] for call in calls}), 6)
        self.assertIn(f"--include-path {(self.root / 'wheel/deep_gemm/include').resolve()}", calls[0])

    def test_the_first_kernel_alone(self):
        self.assertEqual(self.replay("--first")[1]["rows"][0]["kernels"], 1)

    def test_other_parameters_and_names_are_failures(self):
        self.make_compiler("nvcc", "k 16")
        status, result = self.replay()
        self.assertEqual((status, result["failures"]), (1, ["one 0: parameters", "one 1: parameters"]))
        self.make_compiler("nvcc", "k2 8")
        self.assertEqual(self.replay()[0], 1)

    def test_int64_is_long_to_nvcc(self):
        self.make_compiler("cubinet-nvcc", "_Z1kPx 8")
        self.make_compiler("nvcc", "_Z1kPl 8")
        status, result = self.replay()
        self.assertEqual(status, 0, result)
        self.assertEqual((result["rows"][0]["equal"]["names"], result["rows"][0]["equal"]["names but for int64_t"]), (0, 2))

    def test_a_line_that_only_nvcc_compiles_is_a_failure(self):
        self.make_compiler("cubinet-nvcc", "k 8", refuses="16, false")
        status, result = self.replay()
        self.assertEqual(status, 1)
        self.assertTrue(any(failure.startswith("one 1, cubinet") for failure in result["failures"]))

    def test_a_line_that_nvcc_refuses_is_to_be_refused(self):
        self.make_compiler("nvcc", "k 8", refuses="16, false")
        self.assertEqual(self.replay()[0], 1)
        self.make_compiler("cubinet-nvcc", "k 8", refuses="16, false")
        status, result = self.replay()
        self.assertEqual(status, 0, result)
        self.assertEqual(result["rows"][0]["refused"], {"kernels": 1, "values": ["bool kFast = false", "int kWidth = 16"]})

    def test_a_wheel_with_another_format_or_kernel_is_refused(self):
        self.write_library(FORMAT, FORMAT.replace("&one", "&more"))
        self.assertIn("more", self.replay()[0])
        self.write_library(FORMAT)
        header = self.root / "wheel/deep_gemm/include/deep_gemm/impls/sm90_one.cuh"
        header.write_text(HEADER + HEADER.replace("one(", "more("))
        self.assertIn("more", self.replay()[0])
        header.write_text(HEADER.replace("void\none", "auto one"))
        self.assertIn("unknown form", self.replay()[0])

    def test_a_format_for_an_unknown_target_is_refused(self):
        self.write_library(FORMAT, FORMAT.replace("sm90", "sm95"))
        self.assertIn("unknown target", self.replay()[0])

    def test_another_text_of_a_format_is_refused(self):
        self.write_library(FORMAT.replace("ptr", "pointer"))
        self.assertIn("not what the host code wrote", self.replay()[0])

    def test_a_value_that_no_kernel_has_is_refused(self):
        self.document["generators"][0]["values"]["int kWidth"].append("32")
        self.assertIn("32", self.replay()[0])

    def test_a_boolean_with_one_value_needs_a_reason(self):
        generator = self.document["generators"][0]
        generator["values"]["bool kFast"] = ["true"]
        generator["kernels"][1] = kernel("16", "true")
        self.assertIn("kFast", self.replay()[0])
        with mock.patch.dict(deep_gemm_lines.ONE_VALUE, {"kFast": "a reason"}):
            self.assertEqual(self.replay()[0], 0)


if __name__ == "__main__":
    unittest.main()
