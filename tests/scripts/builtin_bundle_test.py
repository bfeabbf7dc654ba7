#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/builtin_bundle.sh selects targets, builds in a home of its own and limits the bytes."""
import json
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ScriptTest, make_program  # noqa: E402

MATRIX = {"kernels": [
    {"template": "a", "parameters": {"page_size": [16, 64]}, "targets": ["sm_80", "sm_90a"]},
    {"template": "b", "parameters": {}, "targets": ["sm_120f"]},
]}
# Keeps the matrix that it was given and what it was called with. Writes a bundle of BYTES bytes.
TOOL = """
printf '%s\\n' "$*" >>"$TMPDIR/calls"
while [[ $# -gt 0 ]]; do
  case $1 in
    prebuild) cp "$2" "$TMPDIR/given.json"; [[ ! -v FAILS ]] || { echo "the compiler's words"; exit 1; } ;;
    -o) head -c "${BYTES:-3000}" /dev/zero >"$2" ;;
    list) echo '{"entries": 3}' ;;
  esac
  shift
done
"""


class BuiltinBundle(ScriptTest):
    def setUp(self):
        super().setUp()
        (self.root / "python").mkdir()
        (self.root / "python/builtin_matrix.json").write_text(json.dumps(MATRIX))
        make_program(self.bin / "tool", TOOL)

    def build(self, *targets, **environment):
        return self.run_script("builtin_bundle.sh", "-t", self.bin / "tool", "-n", "/n/libnvrtc.so", "-o",
                               self.folder / "out/b.bundle", *targets, **environment)

    def given(self):
        return json.loads((self.folder / "given.json").read_text())["kernels"]

    def test_all_targets_are_the_default(self):
        result = self.build()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.given(), MATRIX["kernels"])
        self.assertIn("3 kernels, 3000 bytes, 1000 each", result.stdout)
        calls = (self.folder / "calls").read_text()
        self.assertIn("--nvrtc /n/libnvrtc.so --home ", calls)
        self.assertIn("--profile archive --channel builtin --bundle-version 1", calls)
        self.assertNotIn("--created", calls)
        self.assertIn("bundle verify", calls)

    def test_a_target_leaves_the_kernels_of_that_target(self):
        self.assertEqual(self.build("sm_90a").returncode, 0)
        self.assertEqual(self.given(), [MATRIX["kernels"][0] | {"targets": ["sm_90a"]}])

    def test_an_unknown_target_is_an_error_that_names_the_known_ones(self):
        result = self.build("sm_75")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no kernels for sm_75: it has sm_120f, sm_80, sm_90a", result.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_a_kernel_that_does_not_compile_is_an_error_with_the_words_of_the_tool(self):
        result = self.build(FAILS=1)
        self.assertEqual(result.returncode, 1)
        self.assertIn("the compiler's words", result.stderr)

    def test_a_bundle_of_more_than_7_megabytes_is_an_error(self):
        result = self.build(BYTES=7000001)
        self.assertEqual(result.returncode, 1)
        self.assertIn("more than 7000000 bytes", result.stderr)


if __name__ == "__main__":
    unittest.main()
