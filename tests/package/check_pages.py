#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages of an installation: documentation, examples, completions and the manual page.

Usage: check_pages.py SOURCE PREFIX DOCDIR MANDIR
"""
import pathlib
import re
import shutil
import subprocess
import sys

source, prefix = (pathlib.Path(each) for each in sys.argv[1:3])
documentation, manual = (prefix / each for each in sys.argv[3:5])
errors = []


def run(*command):
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, check=True)


def same(installed, expected, what):
    if not installed.is_file():
        errors.append(f"{installed}: is not installed")
    elif installed.read_bytes() != expected:
        errors.append(f"{installed}: differs from {what}")


files = [source / name for name in ("README.md", "CHANGELOG.md", "LICENSE")]
files += [each for name in ("docs", "examples") for each in sorted((source / name).rglob("*")) if each.is_file()]
for each in files:
    same(documentation / each.relative_to(source), each.read_bytes(), "the source tree")

# Links between installed pages hold; others lead into the source tree.
for page in [each for each in files if each.suffix == ".md"]:
    installed = documentation / page.relative_to(source)
    for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8")):
        target = (page.parent / link).resolve()
        if target in files and not (installed.parent / link).exists():
            errors.append(f"{installed}: the link to {link} leads nowhere")

share = prefix / "share"
for tool, completion, manual_verb, part in (("cubinet", "completion", "manual", "cubinet bundle create"),
                                            ("cubinet-nvcc", "--cubinet-completion", "--cubinet-manual", "--gpu-architecture")):
    for shell, folder, name in (("bash", "bash-completion/completions", tool),
                                ("fish", "fish/vendor_completions.d", f"{tool}.fish"),
                                ("zsh", "zsh/site-functions", f"_{tool}")):
        script = run(prefix / "bin" / tool, completion, shell).stdout
        same(share / folder / name, script.encode(), f"`{tool} {completion} {shell}`")
    page = manual / "man1" / f"{tool}.1"
    same(page, run(prefix / "bin" / tool, manual_verb).stdout.encode(), f"`{tool} {manual_verb}`")
    if shutil.which("man"):
        shown = run("man", "--warnings", "-l", page)
        if shown.stderr or part not in shown.stdout:
            errors.append(f"{page}: man says {shown.stderr!r}, or does not show it")

print("\n".join(errors) if errors else f"{len(files)} pages and examples, completions and manual are installed")
sys.exit(bool(errors))
