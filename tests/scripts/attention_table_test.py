#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/peers/attention_table.py measures a sample in parts, judges it against the best peer of each problem, and names
what is missed."""
import json
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ROOT, ScriptTest, make_program  # noqa: E402

# Measures `--tag sample-SEED-I`. Every tenth problem is slower than its best peer. A sweep with the
# case of the variable CRASH ends the process.
TOOL = r"""exec python3 - "$@" <<'PYTHON'
import json, os, sys
given = sys.argv[1:]
with open(os.environ["TMPDIR"] + "/calls", "a") as calls:
    calls.write(" ".join(given) + "\n")
def value(name):
    return given[given.index(name) + 1]
if "--list" in given:
    print(json.dumps({"sample": [f"--tag sample-{value('--seed')}-{i}" for i in range(int(value("--sample")))]}))
    sys.exit(0)
crash = os.environ.get("CRASH", "none")
results = []
for line in open(value("--sweep")):
    tag = line.split()[1]
    if tag == crash:
        sys.exit(139)
    ratio = 1.2 if tag.endswith("0") else 0.9
    results.append({"case_tag": tag, "operation": "decode", "batch": 4, "kv_len": 512, "mean_kv_length": 300.5, "q_len": 1,
                    "lengths_unknown": True, "heads_q": 8, "heads_kv": 1, "head_dim_qk": 128, "page_size": 16,
                    "dtype_q": "bf16", "dtype_kv": "e4m3", "seconds": 1e-5, "correct": True,
                    "peers": [{"name": "FA3", "what": "it", "seconds": 1e-5, "ratio": ratio},
                              {"name": "XQA", "what": "it", "seconds": 2e-5, "ratio": 0.5},
                              {"name": "cuDNN", "what": "declined"}]})
print(json.dumps({"results": results}))
PYTHON
"""


class AttentionTable(ScriptTest):
    def setUp(self):
        super().setUp()
        self.tool = self.folder / "cubinet"
        make_program(self.tool, TOOL)
        self.output = self.folder / "result.json"

    def measure(self, *arguments, **environment):
        done = subprocess.run(
            [sys.executable, str(ROOT / "bench/peers/attention_table.py"), "--tool", str(self.tool), "--output",
             str(self.output), *map(str, arguments)],
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.folder), **environment}, capture_output=True, text=True,
            check=False)
        calls = self.folder / "calls"
        self.calls = calls.read_text().splitlines() if calls.exists() else []
        return done

    def test_a_sample_is_compared_with_the_best_peer_of_each_problem(self):
        done = self.measure("--sample", 65, "--seed", 7, "--peers", "fa3")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(self.output.read_text())
        self.assertEqual(document["benchmark"], "attention_sample")
        sample = document["sample"]
        self.assertEqual([sample[name] for name in ("seed", "measured", "compared")], [7, 65, 65])
        self.assertEqual([sample[f"behind_{percent}_percent"] for percent in (3, 10)], [round(7 / 65, 4)] * 2)
        self.assertAlmostEqual(sample["mean_ratio"], 1.2 ** (7 / 65) * 0.9 ** (58 / 65), places=4)
        self.assertEqual([goal["met"] for goal in sample["goals"]], [True, False, False])
        self.assertEqual(sample["peers"]["FA3"]["best"], 65)
        self.assertEqual(len(document["rows"]), 65)
        missed = [line for line in done.stderr.splitlines() if line.startswith("missed: ")]
        self.assertEqual(len(missed), 7 + 2)
        self.assertIn("missed: sample-7-60: 1.200 of FA3's time: decode, batch 4, KV 512, 300 on average, lengths unknown,"
                      " q 1, 8/1 x 128, page 16, bf16:e4m3", missed)
        self.assertTrue(done.stderr.endswith("1 of 3 goals are reached\n"))
        self.assertEqual(sum("--sweep" in call for call in self.calls), 3)

    def test_a_part_that_ends_without_a_result_loses_that_part_alone(self):
        done = self.measure("--sample", 65, "--seed", 7, "--alone", CRASH="sample-7-31")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the tool ended with status 139 and without a result", done.stderr)
        self.assertEqual(json.loads(self.output.read_text())["sample"]["measured"], 35)

    def test_a_sample_ends_when_the_time_is_up(self):
        done = self.measure("--sample", 65, "--alone", "--seconds", 0)
        self.assertIn("the time is up after 30 of 65 cases", done.stderr)
        first = json.loads(self.output.read_text())
        self.assertEqual(first["sample"]["measured"], 30)
        self.measure("--sample", 65, "--alone", "--resume", self.output)
        both = json.loads(self.output.read_text())
        self.assertEqual(both["sample"]["seed"], first["sample"]["seed"])
        self.assertEqual(both["rows"][:30], first["rows"])
        self.assertEqual(len({row["case_tag"] for row in both["rows"]}), 65)

    def test_samples_have_a_fresh_seed_each(self):
        self.measure("--sample", 1, "--alone")
        self.measure("--sample", 1, "--alone")
        seeds = [call for call in self.calls if "--list" in call]
        self.assertNotEqual(seeds[0], seeds[1])

    def test_a_peer_that_is_not_installed_is_left_out_by_name(self):
        done = self.measure("--sample", 1, "--peers", "FlashMLA,fa3")
        for line in ("FlashMLA: left out, python3 has no flash_mla", "FA3: left out, python3 has no flash_attn_interface"):
            self.assertIn(line, done.stderr)
        self.assertNotIn("XQA: left out", done.stderr)

    def test_a_sweep_or_a_sample_is_required(self):
        self.assertEqual(self.measure().returncode, 2)
        self.assertEqual(self.measure("--sweep", "a", "--sample", 1).returncode, 2)


if __name__ == "__main__":
    unittest.main()
