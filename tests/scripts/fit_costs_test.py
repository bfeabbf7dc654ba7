#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/fit_costs.py judges plans, finds wrong constants and merges results. bench/sample_alternatives.sh calls it."""
import json
import random
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ROOT, ScriptTest, make_program  # noqa: E402

KERNEL = "attention_decode(dtype_kv=bf16, stages=2, tile_size_kv=64, tile_size_q=16)"
WRONG = {"read": 1.3, "items": 0.5, "combine": 2.0}  # the time that a term really takes, as a part of the model's


def alternative(dice, scale):
    terms = {"start": 2.5, "read": dice.uniform(1, 30), "items": dice.uniform(0.5, 20), "turnover": 0,
             "combine": dice.choice([0, dice.uniform(1, 8)])}
    time = sum(value * WRONG.get(term, 1) for term, value in terms.items())
    return {"kernel": KERNEL, "splits": 2, "blocks": 8, "combines_apart": True, "correct": True, "terms": terms,
            "modelled": sum(terms.values()), "seconds": time / 1e6, "ratio": scale / time}


def result(seed, rows=30):
    dice = random.Random(seed)
    results = []
    for i in range(rows):
        plan = alternative(dice, 1)
        time = plan["seconds"] * 1e6
        results.append({
            "case_tag": f"sample-{seed}-{i}", "operation": "decode", "batch": 1, "q_len": 1, "kv_len": 64,
            "mean_kv_length": 64, "lengths_unknown": False, "heads_q": 8, "heads_kv": 1, "head_dim_qk": 128,
            "head_dim_v": 128, "page_size": 16, "dtype_q": "bf16", "dtype_kv": "bf16", "seconds": plan["seconds"],
            "rounds": {"seconds": [1, 2]}, "planned": plan, "alternatives": [alternative(dice, time) for _ in range(20)]})
    return {"device": "a device", "version": "1", "seed": seed, "results": results}


class FitCosts(ScriptTest):
    def setUp(self):
        super().setUp()
        self.first = self.folder / "first.json"
        self.first.write_text(json.dumps(result(1)))

    def run_fit(self, *arguments):
        return subprocess.run([sys.executable, str(self.root / "scripts/fit_costs.py"), *map(str, arguments)],
                              capture_output=True, text=True, check=False)

    def test_wrong_constants_are_found(self):
        ran = self.run_fit(self.first)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        factors = {line.partition(" x ")[0].strip(): float(line.partition(" x ")[2].partition(":")[0])
                   for line in ran.stdout.splitlines() if " x " in line}
        self.assertEqual(set(factors), {"start", "items", "combine apart", "read attention_decode bf16 128 rows 16"})
        self.assertAlmostEqual(factors["items"], 0.5, delta=0.05)
        self.assertAlmostEqual(factors["combine apart"], 2, delta=0.2)
        self.assertAlmostEqual(factors["read attention_decode bf16 128 rows 16"], 1.3, delta=0.05)
        self.assertAlmostEqual(factors["start"], 1, delta=0.15)

    def test_the_quality_of_plans_is_the_distance_from_the_fastest(self):
        row = result(1, rows=1)["results"][0]
        row["alternatives"] = row["alternatives"][:2]
        row["alternatives"][0].update(ratio=1.25, modelled=5)
        row["alternatives"][1].update(ratio=0.5, modelled=1)
        self.first.write_text(json.dumps({"device": "a device", "version": "1", "results": [row]}))
        out = self.run_fit(self.first).stdout
        self.assertIn("as planned: 1.250 of the fastest; 100 % are more than 3 % behind, 100 % more than 10 %", out)
        self.assertIn("by the model: 2.500 of the fastest", out)

    def test_wrong_alternatives_count_for_nothing(self):
        row = result(1, rows=1)["results"][0]
        for each in row["alternatives"]:
            each["correct"] = False
        self.first.write_text(json.dumps({"device": "a device", "version": "1", "results": [row]}))
        self.assertIn("as planned: 1.000 of the fastest", self.run_fit(self.first).stdout)

    def test_results_without_alternatives_are_an_error(self):
        self.first.write_text(json.dumps({"device": "a device", "version": "1", "results": [{"case_tag": "a"}]}))
        ran = self.run_fit(self.first)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("--alternatives", ran.stderr)

    def test_merged_results_give_the_same_report(self):
        second = self.folder / "second.json"
        second.write_text(json.dumps(result(2)))
        merged = self.folder / "merged.json"
        ran = self.run_fit("--merge", merged, self.first, second)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertNotIn("rounds", merged.read_text())
        both = self.run_fit(self.first, second).stdout
        self.assertIn("plans: 60 problems", both)
        self.assertEqual(self.run_fit(merged).stdout.splitlines()[:3], both.splitlines()[:3])

    def test_samples_of_several_seeds_become_one_file(self):
        (self.root / "bench").mkdir()
        script = self.root / "bench/sample_alternatives.sh"
        script.write_bytes((ROOT / "bench/sample_alternatives.sh").read_bytes())
        tool = self.folder / "a tool"
        make_program(tool, f'printf "%s\\n" "$*" >>"{self.folder}/calls"\ncat "{self.first}"\nexit 1\n')
        out = self.folder / "out.json"
        ran = self.run_bash([str(script)], "-o", out, "-t", tool, "--", 7, 8)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(len(json.loads(out.read_text())["results"]), 60)
        calls = (self.folder / "calls").read_text()
        self.assertIn("--sample 10 --seed 7 --alternatives", calls)
        self.assertIn("--seed 8", calls)
        self.assertEqual(self.run_bash([str(script)]).returncode, 2)


if __name__ == "__main__":
    unittest.main()
