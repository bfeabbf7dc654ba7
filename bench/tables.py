#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the results in bench/results/*.json as tables into docs/benchmarks.md, below its line "## The last run"."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORDER = ["compile", "table", "load", "launch", "launch_peers", "first_kernel", "first_kernel_flashinfer",
         "first_kernel_flash_attn_4", "decode", "decode_peers", "import"]
HEADING = "## The last run"


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def ratios(row):
    cells = []
    for name, ratio in row.get("ratios", {}).items():
        goal = f", goal {ratio['goal']}: {'met' if ratio['met'] else '**missed**'}" if "goal" in ratio else ""
        cells.append(f"{name} = **{ratio['median']:.3g}**{goal}")
    return "<br>".join(cells)


def comparison(document):
    lines = ["| what | medians | ratios |", "|---|---|---|"]
    for row in document["rows"]:
        medians = "<br>".join(f"{name} {number(value)} {row['unit']}" for name, value in row["median"].items())
        size = f" ({row['image_bytes']} bytes)" if "image_bytes" in row else ""
        lines.append(f"| {row['name']}{size} | {medians} | {ratios(row)} |")
    return lines


def decode(document):
    lines = ["| shape | worst row error, any path | empty registry, ms | warm registry, ms | bundle, ms | process cache, us |"
             " kernels, us | TB/s of KV |", "|---|---|---|---|---|---|---|---|"]
    for row in document["rows"]:
        paths = row["paths"]
        worst = max([path["worst_row_error"] for path in paths.values()] + [row["full_lengths"]["worst_row_error"]]
                    + [row[part]["worst_row_error"] for part in ("further_lengths",) if part in row])
        times = {name: path["to_launchable_us"] for name, path in paths.items()}
        lines.append(f"| {row['name']} | {worst:.2e} | {times['empty registry'] / 1e3:.0f} |"
                     f" {times['warm registry'] / 1e3:.2f} | {times['bundle'] / 1e3:.2f} | {times['process cache']:.1f} |"
                     f" {row['kernel_us']:.1f} | {row['kv_terabytes_per_second']:.2f} |")
    return lines


def main():
    out = []
    for name in ORDER:
        path = ROOT / "bench" / "results" / f"{name}.json"
        if not path.exists():
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        machine = document["machine"]
        gpu = f"{machine['gpu']}, driver {machine['driver']}, " if machine["gpu"] else ""
        out += ["", f"### {name}", "", f"{gpu}{machine['cpu']} ({machine['cores']}"
                f" cores), {document['date'][:10]}, commit {document['commit']}.", ""]
        out += decode(document) if name == "decode" else comparison(document)
    page = ROOT / "docs" / "benchmarks.md"
    kept = page.read_text(encoding="utf-8").split(HEADING + "\n")[0].rstrip("\n")
    page.write_text(kept + "\n\n" + HEADING + "\n" + "\n".join(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
