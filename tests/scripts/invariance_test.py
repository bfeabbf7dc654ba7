#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/peers/invariance.py asks the tool for bits and times, beside the peers that Python has, and judges the times."""
import json
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ROOT, ScriptTest, make_program  # noqa: E402

# Invariant numerics keep all bits, and the prompt takes 1.2 times as long as with fast ones.
TOOL = r"""printf '%s\n' "$*" >>"$TMPDIR/calls"
cat <<'JSON'
{"results": [{"case_tag": "small",
  "implementations": [{"name": "invariant", "keeps_bits": true, "stages": [{"stage": "decode", "rows": 4, "equal": 4}]},
               {"name": "fast", "keeps_bits": false, "stages": [{"stage": "decode", "rows": 4, "equal": 1}]},
               {"name": "FA3", "keeps_bits": false, "stages": [], "error": {"message": "it has ended"}}],
  "times": [{"stage": "whole prompt", "rounds": {"invariant": [1.2e-6, 1.2e-6], "fast": [1e-6, 1e-6]},
             "peers": [{"name": "FA3", "what": "it has ended"}, {"name": "Other", "rounds": [2e-6, 2e-6]}]},
            {"stage": "decode step", "rounds": {"invariant": [1.1e-6, 1.1e-6], "fast": [1e-6, 1e-6]}}]}]}
JSON
exit ${STATUS:-0}
"""


class Invariance(ScriptTest):
    def compare(self, *arguments, tool=TOOL, **environment):
        make_program(self.folder / "cubinet", tool)
        return subprocess.run(
            [sys.executable, str(ROOT / "bench/peers/invariance.py"), "--tool", str(self.folder / "cubinet"), "--output",
             str(self.folder / "result.json"), *arguments],
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.folder), **environment}, capture_output=True, text=True,
            check=False)

    def test_shares_times_and_goals_come_from_the_tool(self):
        done = self.compare("--alone", "--rounds", "2", "--sweep", "s.txt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "calls").read_text(), "--json bench invariance --iterations 2 --sweep s.txt\n")
        rows = {row["name"]: row for row in json.loads((self.folder / "result.json").read_text())["rows"]}
        self.assertEqual(set(rows), {"rows with equal bits, cubinet, invariant (small)",
                                     "rows with equal bits, cubinet, fast (small)", "whole prompt (small)",
                                     "decode step (small)"})
        self.assertEqual(rows["rows with equal bits, cubinet, fast (small)"]["median"], {"decode": 0.25})
        prompt = rows["whole prompt (small)"]
        self.assertEqual(prompt["ratios"]["cubinet, invariant : cubinet, fast"], {"median": 1.2, "goal": 1.06, "met": False})
        self.assertEqual(prompt["ratios"]["cubinet, invariant : Other"], {"median": 0.6})
        self.assertTrue(rows["decode step (small)"]["ratios"]["cubinet, invariant : cubinet, fast"]["met"])
        self.assertIn("missed: whole prompt (small): cubinet, invariant : cubinet, fast is 1.2, goal 1.06", done.stderr)
        self.assertIn("1 of 2 goals are reached", done.stderr)
        self.assertIn("FA3: left out: it has ended", done.stderr)

    def test_problems_without_a_tag_are_numbered_if_there_are_several(self):
        untagged = TOOL.replace('"case_tag": "small"', '"case_tag": ""')
        begin, end = untagged.index('{"case_tag"'), untagged.rindex("]}")
        problem = untagged[begin:end]
        self.compare("--alone", tool=untagged[:begin] + problem + ", " + problem + untagged[end:])
        names = [row["name"] for row in json.loads((self.folder / "result.json").read_text())["rows"]]
        self.assertEqual(names[3], "decode step (problem 1)")
        self.assertEqual(names[7], "decode step (problem 2)")
        self.assertEqual(len(set(names)), 8)

        self.compare("--alone", tool=untagged)
        names = [row["name"] for row in json.loads((self.folder / "result.json").read_text())["rows"]]
        self.assertEqual(names[3], "decode step")

    def test_a_lost_bit_and_a_failed_tool_are_its_status(self):
        self.assertEqual(self.compare("--alone", STATUS="1").returncode, 1)
        done = self.compare("--alone", tool="exit 139\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("without a result", done.stderr)

    def test_a_peer_that_python_has_gets_a_folder(self):
        (self.folder / "modules").mkdir()
        (self.folder / "modules/flash_attn_interface.py").touch()
        done = self.compare(PYTHONPATH=str(self.folder / "modules"))
        self.assertEqual(done.returncode, 0, done.stderr)
        call = (self.folder / "calls").read_text()
        self.assertIn("--peer FA3=", call)
        self.assertIn("fa3_paged_one_split --peer-inputs /", call)
        self.assertNotIn("FlashInfer", call)
        self.assertIn("FlashInfer: left out, python3 has no flashinfer", done.stderr)


if __name__ == "__main__":
    unittest.main()
