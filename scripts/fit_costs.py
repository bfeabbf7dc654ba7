#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the planner and its cost model by measured alternatives, and proposes constants.

Usage: fit_costs.py FILE...               reports on results of `cubinet bench attention --alternatives --json`
       fit_costs.py --merge OUT FILE...   writes what the report needs of several results into one file

The report has three parts:

  plans      the geometric mean of the plan's time as a part of the fastest alternative's, the shares that are behind, and
             the worst problems. `by the model` is the same for the alternative with the least estimate of the plan's
             template: it shows whether the model or the search is wrong.
  errors     the estimate as a part of the time, for each template, type and tile: its geometric mean and its spread
  constants  the factors that make the sum of the model's terms fit the times best: least squares of the logarithms, drawn
             towards 1. A factor of a time multiplies a constant of attention/cost_model.cpp, one of a rate divides it.
             Needs results with `terms`, and uses the problems whose lengths the plan knew.
"""
import argparse
import collections
import json
import math
import re
import sys
from pathlib import Path

KEPT = ("case_tag operation batch q_len kv_len mean_kv_length lengths_unknown heads_q heads_kv head_dim_qk head_dim_v "
        "page_size dtype_q dtype_kv seconds").split()
SIZES = ("stages", "tile_size_kv", "tile_size_q")
# The constants of each term: those that its factor multiplies, and those that it divides.
CONSTANTS = {
    "start": "start, empty_block",
    "items": "Readers::item, next_item",
    "turnover": "turnover",
    "combine inside": "reduction_inside, combine_round; divides partial_rate",
    "combine apart": "reduction, reduction_per_split, reduction_wave, reduction_length; divides partial_rate",
}
PRIOR = 0.01  # the weight of a factor's logarithm; all alternatives of a problem weigh at most 1
ROUNDS = 30


def number(value):
    return float(f"{value:.4g}")


def tile(kernel):
    """Returns the template and the tile of a kernel's specification."""
    sizes = [f"{name}={found.group(1)}" for name in SIZES if (found := re.search(rf"\b{name}=(\d+)", kernel))]
    return f"{kernel.partition('(')[0]}({', '.join(sizes)})"


def timed(row):
    """Returns the plan and its timed alternatives with their times relative to the plan's."""
    yield row["planned"], 1.0
    for each in row["alternatives"]:
        if each["correct"] and each.get("ratio"):
            yield each, 1 / each["ratio"]


def read_rows(files):
    rows = []
    for file in files:
        rows += [row for row in json.loads(Path(file).read_text())["results"] if row.get("alternatives")]
    if not rows:
        sys.exit("fit_costs.py: no row has alternatives; measure with `bench attention --alternatives --json`")
    return rows


def shorter(alternative):
    kept = {key: alternative[key] for key in ("splits", "blocks", "combines_apart", "correct")}
    kept.update(kernel=tile(alternative["kernel"]), modelled=number(alternative["modelled"]))
    kept.update({key: number(alternative[key]) for key in ("seconds", "ratio") if alternative.get(key)})
    if "terms" in alternative:
        kept["terms"] = {term: number(value) for term, value in alternative["terms"].items()}
    return kept


def merge(out, files):
    documents = [json.loads(Path(file).read_text()) for file in files]
    lines = []
    for row in read_rows(files):
        kept = {key: row[key] for key in KEPT}
        kept["planned"] = shorter(row["planned"])
        kept["alternatives"] = [shorter(each) for each in row["alternatives"]]
        lines.append(json.dumps(kept, separators=(",", ":")))
    head = json.dumps({key: documents[0][key] for key in ("device", "version")})[:-1]
    Path(out).write_text(head + ', "results": [\n' + ",\n".join(lines) + "\n]}\n")
    print(f"{out}: {len(lines)} problems on {documents[0]['device']}")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_quality(name, ratios):
    behind = [100 * sum(ratio > limit for ratio in ratios) / len(ratios) for limit in (1.03, 1.1)]
    print(f"  {name}: {geometric_mean(ratios):.3f} of the fastest; {behind[0]:.0f} % are more than 3 % behind, "
          f"{behind[1]:.0f} % more than 10 %; the worst {max(ratios):.2f}")


def report_plans(rows):
    print(f"plans: {len(rows)} problems")
    behind, by_model = [], []
    for row in rows:
        times = list(timed(row))
        best, least = min(times, key=lambda each: each[1])
        template = row["planned"]["kernel"].partition("(")[0]
        own = [each for each in times if each[0]["kernel"].startswith(template + "(")]
        by_model.append(min(own, key=lambda each: each[0]["modelled"])[1] / least)
        behind.append((1 / least, row, best))
    print_quality("as planned", [ratio for ratio, _, _ in behind])
    print_quality("by the model", by_model)
    for ratio, row, best in sorted(behind, key=lambda each: -each[0])[:5]:
        plan = row["planned"]
        print(f"  {ratio:.2f} {row['case_tag']}: batch {row['batch']}, q_len {row['q_len']}, KV {row['kv_len']}, "
              f"{row['heads_q']}/{row['heads_kv']} heads of {row['head_dim_qk']}, {row['dtype_kv']}: "
              f"{tile(plan['kernel'])} with {plan['splits']} splits in {plan['blocks']} blocks, faster "
              f"{tile(best['kernel'])} with {best['splits']} in {best['blocks']}")


def class_of(row, alternative):
    rows = re.search(r"\btile_size_q=(\d+)", alternative["kernel"])
    return f"{alternative['kernel'].partition('(')[0]} {row['dtype_kv']} {row['head_dim_qk']} rows " \
           f"{rows.group(1) if rows else '?'}"


def microseconds(row, time):
    return time * row["seconds"] * 1e6


def knew_lengths(row):
    return not row["lengths_unknown"] or row["mean_kv_length"] == row["kv_len"]


def report_errors(rows):
    errors = collections.defaultdict(list)
    for row in filter(knew_lengths, rows):
        for alternative, time in timed(row):
            errors[class_of(row, alternative)].append(math.log(alternative["modelled"] / microseconds(row, time)))
    print("errors: estimate as a part of the time")
    for name, logarithms in sorted(errors.items()):
        mean = sum(logarithms) / len(logarithms)
        spread = math.sqrt(sum((each - mean)**2 for each in logarithms) / len(logarithms))
        print(f"  {name}: {math.exp(mean):.2f}, spread {100 * spread:.0f} %, {len(logarithms)} alternatives")


def observations(rows):
    """Returns the terms of each alternative by the name of their factor, its time and its weight."""
    found = []
    for row in filter(knew_lengths, rows):
        times = [each for each in timed(row) if "terms" in each[0]]
        least = min((time for _, time in times), default=0)
        for alternative, time in times:
            terms = dict(alternative["terms"])
            terms["read " + class_of(row, alternative)] = terms.pop("read")
            apart = "apart" if alternative["combines_apart"] else "inside"
            terms["combine " + apart] = terms.pop("combine")
            weight = math.exp(-3 * (time / least - 1)) / len(times)
            found.append(({name: value for name, value in terms.items() if value > 0}, microseconds(row, time), weight))
    return found


def solve(matrix, vector):
    """Solves a system of linear equations whose matrix is symmetric and positive definite."""
    size = len(vector)
    rows = [list(matrix[i]) + [vector[i]] for i in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            factor = rows[j][i] / rows[i][i]
            for k in range(i, size + 1):
                rows[j][k] -= factor * rows[i][k]
    solution = [0.0] * size
    for i in reversed(range(size)):
        solution[i] = (rows[i][size] - sum(rows[i][k] * solution[k] for k in range(i + 1, size))) / rows[i][i]
    return solution


def fit(found):
    """Returns the factor of each term, by the method of Gauss and Newton in logarithms."""
    names = sorted({name for terms, _, _ in found for name in terms})
    place = {name: i for i, name in enumerate(names)}
    logs = [0.0] * len(names)
    for _ in range(ROUNDS):
        matrix = [[PRIOR if i == j else 0.0 for j in range(len(names))] for i in range(len(names))]
        vector = [-PRIOR * log for log in logs]
        for terms, time, weight in found:
            scaled = {place[name]: value * math.exp(logs[place[name]]) for name, value in terms.items()}
            total = sum(scaled.values())
            residual = math.log(time / total)
            for i, a in scaled.items():
                vector[i] += weight * residual * a / total
                for j, b in scaled.items():
                    matrix[i][j] += weight * a * b / total**2
        logs = [log + max(-0.5, min(0.5, step)) for log, step in zip(logs, solve(matrix, vector))]
    return {name: math.exp(log) for name, log in zip(names, logs)}


def error_of(found, factors):
    weights = sum(weight for _, _, weight in found)
    squares = sum(weight * math.log(sum(value * factors.get(name, 1) for name, value in terms.items()) / time)**2
                  for terms, time, weight in found)
    return 100 * math.sqrt(squares / weights)


def report_constants(rows):
    found = observations(rows)
    if not found:
        print("constants: no alternative has terms")
        return
    factors = fit(found)
    print(f"constants: the error is {error_of(found, {}):.1f} %, and {error_of(found, factors):.1f} % with these factors")
    for name, factor in factors.items():
        print(f"  {name} x {factor:.3f}: {CONSTANTS.get(name, 'divides its rates')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--merge", metavar="OUT")
    parser.add_argument("files", nargs="+", metavar="FILE")
    given = parser.parse_args()
    if given.merge:
        merge(given.merge, given.files)
        return
    rows = read_rows(given.files)
    report_plans(rows)
    report_errors(rows)
    report_constants(rows)


if __name__ == "__main__":
    main()
