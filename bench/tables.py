#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies figures from bench/results/*.json into the documentation.

Writes bench/results/README.md, which has a table for each result file, and replaces the text between
`<!-- figures: NAME -->` and `<!-- end -->` in README.md and docs/. With --check it writes nothing and exits with status 1
if a page differs from the results."""
import json
import pathlib
import re
import statistics
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "bench" / "peers"))
from sample_judge import best_peer  # noqa: E402

ORDER = ["compile", "raw_path", "table", "load", "bundle", "launch", "threads", "busy", "soak", "prepare", "launch_peers", "python_launch", "python_first", "python_decode", "shared_prefix", "mixed", "transformers_generate", "transformers_prompts", "vllm_attention", "vllm_engine", "invariance", "first_kernel", "first_kernel_flashinfer",
         "first_kernel_flash_attn_4", "decode", "step", "attention_table", "latent_batches", "prefill_table", "invariant_table", "attention_sample", "attention_errors", "attention_speculative",
         "import", "deep_gemm", "deep_gemm_lines", "deep_gemm_wheels", "sources"]
RESULTS_PAGE = "bench/results/README.md"
RESULTS_INTRODUCTION = """# Results of the last benchmark run

`bench/tables.py` writes this page from the JSON files in this folder, which also hold every round.
[docs/benchmarks.md](../../docs/benchmarks.md) describes each benchmark and the method."""


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


def judged(goal):
    reached = "not measured" if goal["reached"] is None else f"{goal['reached']:.3g}"
    verdict = "met" if goal["met"] else "**missed**"
    return f"{goal['goal']}: {verdict if goal['reached'] is not None else 'goal'}, {reached}"


def own_commit(row):
    """Returns the words for the commit of a row that was measured again, later than the others of its file."""
    return f" (commit {row['commit']})" if "commit" in row else ""


def case_of(row):
    kv = f"page {row['page_size']}" if row.get("qkv_layout", "paged_kv") == "paged_kv" else "contiguous"
    return (f"{row['case_tag']}: {row['batch']} x {row['mean_kv_length']:.0f}, q {row['q_len']}, {row['heads_q']}/{row['heads_kv']}"
            f" x {row['head_dim_qk']}, {row['dtype_q']}:{row['dtype_kv']}, {kv}{own_commit(row)}")


def errors(document):
    lines = ["| case | ours, \u2016o \u2212 ref\u2016 / \u2016ref\u2016 | peers | goals |", "|---|---|---|---|"]
    for row in document["rows"]:
        peers = "<br>".join(f"{peer['name']} {peer['all_rows_error']:.2e}" for peer in row["peers"] if "all_rows_error" in peer)
        goals = "<br>".join(judged(goal) for goal in row["goals"])
        lines.append(f"| {case_of(row)} | {row['relative_error']['all_rows']:.2e} | {peers} | {goals} |")
    return lines


def attention(document):
    lines = ["| case | us | TB/s of KV | of reading alone | TFLOP/s | peers, us | goals |", "|---|---|---|---|---|---|---|"]
    for row in document["rows"]:
        name = case_of(row)
        goals = "<br>".join(judged(goal) for goal in row.get("goals", []))
        if "seconds" not in row:
            lines.append(f"| {name} | {row['error']['message']} | | | | | {goals} |")
            continue
        peers = "<br>".join(f"{peer['name']} {number(peer['seconds'] * 1e6)} ({peer['ratio']:.3g})"
                            for peer in row.get("peers", []) if "seconds" in peer)
        lines.append(f"| {name} | {number(row['seconds'] * 1e6)} | {row['kv_terabytes_per_second']:.2f} |"
                     f" {row['share_of_read']:.2f} | {number(row['teraflops'])} | {peers} | {goals} |")
    return lines


# Returns the goals of a sample, a line per peer, and the problems that are most behind.
def attention_sample(document):
    sample = document["sample"]
    lines = [f"Seed {sample['seed']}: {sample['compared']} of {sample['measured']} problems have a peer.", ""]
    lines += [f"- {judged(goal)}" for goal in sample["goals"]]
    lines += ["", "| peer | problems | fastest peer of | geometric mean of our time as a part of its |", "|---|---|---|---|"]
    for name, peer in sample["peers"].items():
        lines.append(f"| {name} | {peer['problems']} | {peer['best']} | {peer['mean_ratio']:.3f} |")
    behind = sorted(((*best, row) for row in document["rows"] if (best := best_peer(row)) and best[0] > 1.03),
                    key=lambda each: -each[0])
    lines += ["", "| behind by more than 3 % | us | of the fastest peer |", "|---|---|---|"]
    for ratio, name, row in behind[:20]:
        lines.append(f"| {case_of(row)} | {number(row['seconds'] * 1e6)} | {ratio:.3f} ({name}) |")
    return lines


# Returns one line per model, type of Q and batch, with a column per number of query tokens.
def speculative(document):
    cases = {}
    for row in document["rows"]:
        tag = row["case_tag"] if row["q_len"] == 1 else row["case_tag"].rpartition("-")[0]
        cases.setdefault(tag, {})[row["q_len"]] = row
    tokens = sorted({count for rows in cases.values() for count in rows})
    lines = ["| case | reading alone, us | " + " | ".join(f"q {count}, us (of q 1)" for count in tokens) + " | goals |",
             "|---|---|" + "---|" * (len(tokens) + 1)]
    for tag, rows in cases.items():
        cells = [f"{number(rows[count]['seconds'] * 1e6)} ({rows[count]['seconds'] / rows[1]['seconds']:.2f})" for count in tokens]
        goals = [goal for row in rows.values() for goal in row["goals"]]
        lines.append(f"| {tag} | {number(rows[1]['read_seconds'] * 1e6)} | {' | '.join(cells)} |"
                     f" {sum(goal['met'] for goal in goals)} of {len(goals)} |")
    return lines


def busy(document):
    lines = ["| hits of 15 threads | p99 without, ns | while a key compiles | behind the load, p99.9 | longest behind the load, ms |"
             " ratios |", "|---|---|---|---|---|---|"]
    for row in document["rows"]:
        def middle(phase, value):
            return statistics.median(each[phase][value] for each in row["rounds"])
        lines.append(f"| {row['name']} | {number(middle('without', 'p99_ns'))} | {number(middle('compiling', 'p99_ns'))} |"
                     f" {number(middle('loading', 'p999_ns'))} | {number(middle('loading', 'maximum_ns') / 1e6)} | {ratios(row)} |")
    return lines


def soak(document):
    lines = ["| what | counts | growth of memory, MiB |", "|---|---|---|"]
    for row in document["rows"]:
        counts = "<br>".join(f"{name.replace('_', ' ')} {value:,}" for name, value in row.items() if isinstance(value, int))
        growth = "<br>".join(f"{name.removesuffix('_mib')} {grown['value'] + 0:.1f}, goal {grown['goal']}:"
                             f" {'met' if grown['met'] else '**missed**'}" for name, grown in row["growth_mib"].items())
        lines.append(f"| {row['name']}, {row['seconds']:.0f} s | {counts} | {growth} |")
    return lines


def deep_gemm(document):
    lines = ["| what | medians | compilations, or tolerance | ratios |", "|---|---|---|---|"]
    for row in document["rows"]:
        medians = "<br>".join(f"{name} {number(value)} {row['unit']}".rstrip() for name, value in row["median"].items())
        beside = "<br>".join(f"{name} {count}" for name, count in row.get("compilations", {}).items())
        if "tolerance" in row:
            beside = f"{row['tolerance']}: {'right' if row['right'] else '**wrong**'}"
        lines.append(f"| {row['name']}{own_commit(row)} | {medians} | {beside} | {ratios(row)} |")
    return lines


def results(name):
    return json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def span(values):
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


# Summarises a template's images over the targets that were built.
def images(template, *, size=lambda value: round(value / 1000)):
    rows = [row for row in results("images")["rows"] if row["template"] == template]
    kernels = [kernel for row in rows for kernel in row["kernels"]]
    targets = list(dict.fromkeys(row["target"] for row in rows))
    spilled = [kernel for kernel in kernels if kernel["stack_bytes"] != 0]
    registers = span([kernel["registers"] for kernel in kernels])
    return (f"{span([size(row['bytes']) for row in rows])} KB for {', '.join(targets)}. Kernels use {registers} registers per thread"
            + (" and no stack" if not spilled else f"; {len(spilled)} of {len(kernels)} use a stack"))


def paragraph(text):
    return textwrap.wrap(text, 100, break_on_hyphens=False)


def compile_times(prefix):
    rows = [row for row in results("compile")["rows"] if row["name"].startswith(prefix)]
    return span([round(row["median"]["Compiler::compile"] / 1000, 2) for row in rows])


def decode_figures():
    ours, beside = results("decode"), results("attention_table")
    lines = paragraph(f"{beside['machine']['gpu']}, commit {beside['commit']}; FlashInfer's tensor-core decode ran in the same rounds.")
    lines += ["", "| shape | \u00b5s | TB/s of KV | ratio to FlashInfer |", "|---|---|---|---|"]
    for row in beside["rows"]:
        if row["case_tag"] != "llama":
            continue
        ratio = next(peer["ratio"] for peer in row["peers"] if peer["name"] == "FlashInfer")
        lines.append(f"| batch {row['batch']}, KV {row['kv_len']}, page {row['page_size']} | {row['seconds'] * 1e6:.1f} |"
                     f" {row['kv_terabytes_per_second']:.2f} | {ratio:.2f} |")
    first = span([round(row["paths"]["empty registry"]["to_launchable_us"] / 1e6, 1) for row in ours["rows"]])
    return lines + ["", *paragraph(f"The first kernel in an empty home takes {first} s, compilation included. Images have"
                                   f" {images('attention_decode')}.")]


def first_kernel_figures():
    document = results("first_kernel_flashinfer")
    row = document["rows"][0]
    seconds = row["median"]
    return paragraph(f"**A process gets its first decode attention kernel in {seconds['cubinet, empty home']:.2f} s if the home (the local"
                     f" folder of builds) is empty, compilation included; with FlashInfer this takes {seconds['FlashInfer']:.1f} s.**"
                     f" From a home that has the kernel it takes"
                     f" {seconds['cubinet, warm home'] * 1e3:.0f} ms, from a bundle {seconds['cubinet, bundle'] * 1e3:.0f} ms"
                     f" ({document['machine']['gpu']}, medians of {len(row['rounds']['FlashInfer'])} processes).")


def rms_norm_figures():
    return paragraph(f"A compilation takes {compile_times('rms_norm')} s. Images have {images('rms_norm')}.")


def selection_figures():
    row = next(row for row in results("table")["rows"] if row["name"] == "look-up and selection")
    lines = ["| | 100 rows | 50,000 rows |", "|---|---|---|"]
    for label, name, beside, shown in [
            ("`std::unordered_map` over the same encoding", "std::unordered_map", None, ""),
            ("index look-up", "look-up", "std::unordered_map", " ({:.2f} \u00d7)"),
            ("decode selection, eight shapes in turn", "decode selection", "look-up", " ({:.0f} look-ups)")]:
        cells = []
        for rows in ("100 rows", "50000 rows"):
            ratio = row["ratios"][f"{name}, {rows} : {beside}, {rows}"]["median"] if beside else 0
            cells.append(number(row["median"][f"{name}, {rows}"]) + f" {row['unit']}" + shown.format(ratio))
        lines.append(f"| {label} | {cells[0]} | {cells[1]} |")
    return lines


def deep_gemm_figures():
    document = results("deep_gemm")
    starts = [row for row in document["rows"] if "compilations" in row]
    names = ["nvcc", *(name for name in starts[0]["median"] if name != "nvcc")]
    lines = [f"| {document['machine']['gpu']}, seconds (compilations) | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for row in starts:
        cells = [f"{row['median'][name]:.1f} ({row['compilations'][name]})" for name in names]
        lines.append(f"| {row['name']}{own_commit(row)} | {' | '.join(cells)} |")
    lines += ["", f"| {document['machine']['gpu']}, microseconds of a launch | nvcc | cubinet | of nvcc's speed |", "|---|---|---|---|"]
    for row in document["rows"]:
        if row["unit"] == "us":
            speed = 1 / row["ratios"]["cubinet : nvcc"]["median"]
            lines.append(f"| {row['name']} | {row['median']['nvcc']:.1f} | {row['median']['cubinet']:.1f} | {speed:.3f} |")
    return lines


def deep_gemm_lines(document):
    lines = ["| kernel | requested | compiled, refused | same names, same but for `int64_t` | same parameters | cubinet, s | hit, s |"
             " nvcc, s | bytes | nvcc's |", "|---|---|---|---|---|---|---|---|---|---|"]
    for row in document["rows"]:
        seen, equal, refused = row["median"], row["equal"], row["refused"]["kernels"]
        compiled = row["kernels"] - refused
        lines.append(f"| `{row['name'].split(':')[-1]}` | {row['requested']} | {compiled}, {refused} | {equal['names']},"
                     f" {equal['names but for int64_t']} | {equal['parameters']} | {seen['cubinet']:.1f} |"
                     f" {seen['cubinet, hit']:.2f} | {seen['nvcc']:.1f} | {row['bytes']['cubinet']:,} | {row['bytes']['nvcc']:,} |")
    return lines


def deep_gemm_lines_figures():
    document = results("deep_gemm_lines")
    rows = document["rows"]
    compiled = sum(row["kernels"] - row["refused"]["kernels"] for row in rows)
    equal = sum(min(count for what, count in row["equal"].items() if what != "names") for row in rows)
    lines = paragraph(f"The host code requested {sum(row['requested'] for row in rows):,} kernels of {len(rows)} generators. Of these"
                      f" {compiled} were compiled with both, and {equal} have nvcc's parameters, launch bounds and, but for `int64_t`,"
                      f" names. Medians on {document['machine']['cores']} cores of {document['machine']['cpu']}, no GPU, commit"
                      f" {document['commit']}:")
    lines += ["", *deep_gemm_lines(document)]
    only = [value for row in rows for value in row["refused"]["values"]]
    refused = sum(row["refused"]["kernels"] for row in rows)
    if refused:
        names = "; ".join(f"`{value.split(' ', 1)[1]}`" for value in only)
        lines += ["", *paragraph(f"nvcc refuses {refused} of the kernels that the host code requests, and so does cubinet: a"
                                 " `static_assert` of their header fails" + (f". Only these have {names}." if only else "."))]
    return lines


def deep_gemm_wheels(document):
    lines = ["| wheels | compiled | missing, among others |", "|---|---|---|"]
    for row in document["rows"]:
        missing = ", ".join(f"`{name}`" for name in row["missing"][:2])
        lines.append(f"| {row['name']} | {row['compiled']} of {row['kernels']} | {missing} |")
    return lines


def deep_gemm_wheels_figures():
    return deep_gemm_wheels(results("deep_gemm_wheels"))


def sources_table(document):
    lines = ["| sources | kernels | built | core-seconds | s | bundle, MB | images, MB | import, s |", "|---|---|---|---|---|---|---|---|"]
    for row in document["rows"]:
        seen = row["median"]
        lines.append(f"| {row['name']} | {seen['kernels']} | {seen['built']} | {seen['core-seconds']:.0f} | {seen['seconds']:.0f} |"
                     f" {seen['bytes'] / 1e6:.2f} | {seen['bytes of images'] / 1e6:.2f} | {seen['import seconds']:.2f} |")
    return lines


def sources_figures():
    document = results("sources")
    machine = document["machine"]
    return paragraph(f"{machine['cores']} cores of {machine['cpu']}, no GPU, commit {document['commit']}; each catalog's"
                     " kernels for their own targets, profile `plain`:") + ["", *sources_table(document)]


def corpus_figures():
    document = results("corpus")
    lines = paragraph(f"cubinet's machine code is that of bare NVRTC for {document['same_code']} of {document['compared']} items "
                      "that both compile:")
    timed = "seconds" in document["rows"][0]
    lines += ["", "| | images | smaller | kB before | kB |" + (" s before | s | core-s before | core-s |" if timed else ""),
              "|---|---:|---:|---:|---:|" + ("---:|" * 4 if timed else "")]
    for row in document["rows"]:
        times = [f" {row[name]:.0f} |" for name in ("seconds_before", "seconds", "cores_before", "cores")] if timed else []
        lines.append(f"| {row['name']} | {row['items']} | {row['smaller']} | {row['bytes_before'] / 1000:.0f} |"
                     f" {row['bytes'] / 1000:.0f} |" + "".join(times))
    return lines


def shared_prefix_figures():
    document = results("shared_prefix")
    lines = paragraph(f"A decode step of 64 sequences over a shared prefix of 32,768 tokens and 1,024 own tokens each, on one"
                      f" {document['machine']['gpu']} (goal {document['rows'][0]['ratios']['shared prefix : plain decode']['goal']}):")
    lines += ["", "| heads | shared prefix, \u00b5s | plain decode over the same pages, \u00b5s | ratio |", "|---|---|---|---|"]
    for row in document["rows"]:
        ratio = row["ratios"]["shared prefix : plain decode"]
        lines.append(f"| {row['name'].split(', ')[-1].removesuffix(' heads')} | {number(row['median']['shared prefix'])} |"
                     f" {number(row['median']['plain decode'])} | {ratio['median']:.2f}, {'met' if ratio['met'] else '**missed**'} |")
    return lines


def mixed_figures():
    if not (ROOT / "bench" / "results" / "mixed.json").exists():
        return paragraph("`bench/peers/mixed.py` compares one launch with two; no GPU has run it yet.")
    document = results("mixed")
    lines = paragraph(f"A chunk of 2,048 tokens and 64 decode rows of 8,192 tokens on one {document['machine']['gpu']} (goal 1.0):")
    lines += ["", "| chunk with its prefix, heads | one launch, \u00b5s | two launches, \u00b5s | ratio |", "|---|---|---|---|"]
    for row in document["rows"]:
        ratio = row["ratios"]["one launch : two launches"]
        chunk, _, heads = row["name"].split(", ")
        lines.append(f"| {chunk.split(' over ')[1]} tokens, {heads.removesuffix(' heads')} | {number(row['median']['one launch'])} |"
                     f" {number(row['median']['two launches'])} | {ratio['median']:.2f}, {'met' if ratio['met'] else '**missed**'} |")
    return lines


def prefill_figures():
    document = results("prefill_table")
    lines = paragraph(f"{document['machine']['gpu']}, commit {document['commit']}, `scripts/gpu_check.sh prefill_table`; TFLOP/s"
                      " of what rows see, speed relative to the peer's, goals of the speed:")
    lines += ["", "| case | TFLOP/s | of FA3 | of cuDNN | goal |", "|---|---|---|---|---|"]
    for case in document["rows"]:
        speeds = {peer["name"]: f"{1 / peer['ratio']:.3f}" for peer in case["peers"] if "ratio" in peer}
        goals = [f"{1 / float(goal['goal'].split(':')[-1]):.2f} of {goal['goal'].split(':')[1]}: "
                 + ("not measured" if goal["reached"] is None else "met" if goal["met"] else "**missed**")
                 for goal in case.get("goals", [])]
        lines.append(f"| {case_of(case)} | {number(case['teraflops'])} | {speeds.get('FA3', '')} | {speeds.get('cuDNN', '')} |"
                     f" {'<br>'.join(goals)} |")
    return lines


TABLES = {"sources": sources_table, "busy": busy, "soak": soak, "decode": decode, "attention_table": attention, "latent_batches": attention, "prefill_table": attention, "invariant_table": attention, "attention_sample": attention_sample, "attention_errors": errors, "attention_speculative": speculative,
          "deep_gemm": deep_gemm, "deep_gemm_lines": deep_gemm_lines, "deep_gemm_wheels": deep_gemm_wheels}
FIGURES = {"decode": decode_figures, "rms_norm": rms_norm_figures, "first_kernel": first_kernel_figures,
           "selection": selection_figures, "deep_gemm": deep_gemm_figures, "deep_gemm_lines": deep_gemm_lines_figures,
           "deep_gemm_wheels": deep_gemm_wheels_figures, "shared_prefix": shared_prefix_figures, "mixed": mixed_figures, "prefill": prefill_figures, "sources": sources_figures, "corpus": corpus_figures}


def with_figures(text):
    def fill(match):
        return match[1] + "\n" + "\n".join(FIGURES[match[2]]()) + "\n" + match[3]
    return re.sub(r"(<!-- figures: (\w+) -->)\n.*?(<!-- end -->)", fill, text, flags=re.S)


def results_page():
    out = [RESULTS_INTRODUCTION]
    for name in ORDER:
        path = ROOT / "bench" / "results" / f"{name}.json"
        if not path.exists():
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        machine = document["machine"]
        gpu = f"{machine['gpu']}, driver {machine['driver']}, " if machine["gpu"] else ""
        out += ["", f"## {name}", "", f"{gpu}{machine['cpu']} ({machine['cores']}"
                f" cores), {document['date'][:10]}, commit {document['commit']}.", ""]
        out += TABLES.get(name, comparison)(document)
    return "\n".join(out) + "\n"


def wanted_pages():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield page, with_figures(page.read_text(encoding="utf-8"))
    yield ROOT / RESULTS_PAGE, results_page()


def main():
    wrong = []
    for page, wanted in wanted_pages():
        if page.exists() and wanted == page.read_text(encoding="utf-8"):
            continue
        wrong.append(page.relative_to(ROOT))
        if "--check" not in sys.argv[1:]:
            page.write_text(wanted, encoding="utf-8")
    if "--check" in sys.argv[1:] and wrong:
        print("\n".join(f"{page}: differs from bench/results; run bench/tables.py" for page in wrong))
        sys.exit(1)


if __name__ == "__main__":
    main()
