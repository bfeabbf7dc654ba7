# SPDX-License-Identifier: Apache-2.0
"""Rules for the prose of the tree: comments, pages, help and messages. scripts/check_layout.py applies them."""
import re
from pathlib import Path

WIDTH = 100
# A comment begins with its subject or its verb, not with one of these.
BEGINNINGS = re.compile(r"(Of|What|Who|Whom|Whose|How|Those|Where)\b")
# Phrases with a plainer term: `is logged`, `is stored`, `the user`, `the entry`, `repairs`.
PHRASES = re.compile(
    r"\b((?:is|are|was|were|be|been) told\b|lies\b|lie (?:in|on|at|there|here|beside|behind|below|where)\b"
    r"|whoever\b|whomever\b|what (?:stands|lies|is there)\b|set right\b|sets right\b|made good\b|makes good\b)",
    re.IGNORECASE)
CODE = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".cmake"}
TOKENS = re.compile(
    r'//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|#\s*include[^\n]*|\'(?:\\.|[^\'\\\n])\''
    r'|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<string>(?:\\.|[^"\\\n])*)"', re.DOTALL)


def has_prose(path):
    return Path(path).suffix in CODE | SCRIPTS | {".md"} or Path(path).name == "CMakeLists.txt"


def comments(path, text):
    """Yields (line number, the line, the comment's text, whether a comment begins there) for each line of a comment."""
    lines = text.splitlines()
    if Path(path).suffix in CODE:
        continues_after = None
        for match in TOKENS.finditer(text):
            if match.group("line") is not None:
                number = text.count("\n", 0, match.start())
                whole = lines[number].lstrip().startswith("//")
                begins = not whole or continues_after != number
                yield number + 1, lines[number] if whole else "", match.group("line").strip(), begins
                continues_after = number + 1 if whole and "SPDX" not in lines[number] else None
            elif match.group("block") is not None and not match.group("block").lstrip().startswith("cubinet-template"):
                first = text.count("\n", 0, match.start())
                for offset, part in enumerate(match.group("block").splitlines()):
                    line = lines[first + offset]
                    whole = offset > 0 or line.lstrip().startswith("/*")
                    yield first + offset + 1, line if whole else "", part.strip(" *"), offset == 0
    else:
        previous = None
        for number, line in enumerate(lines):
            if line.lstrip().startswith("#") and not line.startswith("#!"):
                yield number + 1, line, line.lstrip("# \t").strip(), previous != number - 1
                previous = None if "SPDX" in line else number


def paragraphs(text):
    """Yields (line number, line) for each line of a page that is prose: no table, code block, heading or link list."""
    in_code = in_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif "<!--" in line or in_comment:
            in_comment = "-->" not in line
        elif not in_code and not line.lstrip().startswith(("|", "#")):
            yield number, line


def without_links(line):
    return re.sub(r"\]\([^)]*\)|<?https?://\S+|`[^`]*`", "", line)


def strings(text):
    """Yields (line number, text) for each string literal of code."""
    for match in TOKENS.finditer(text):
        content = match.group("string") if match.group("string") is not None else match.group("raw")
        if content is not None:
            yield text.count("\n", 0, match.start()) + 1, content


def violations(path, text):
    """Returns the violations of a file, one line each."""
    suffix = Path(path).suffix
    found = []

    def phrase(number, line):
        match = PHRASES.search(without_links(line))
        if match:
            found.append(f"line {number}: '{match.group(0)}' has a plainer term (CONTRIBUTING.md)")

    def width(number, line):
        if len(line) > WIDTH and len(without_links(line)) > WIDTH - 20 and " " in line.strip():
            found.append(f"line {number}: prose wraps at {WIDTH} columns")

    if suffix == ".md":
        for number, line in paragraphs(text):
            width(number, line)
            phrase(number, line)
    elif suffix in CODE | SCRIPTS or Path(path).name == "CMakeLists.txt":
        for number, line, comment, begins in comments(path, text):
            width(number, line)
            phrase(number, comment)
            if begins and BEGINNINGS.match(comment):
                found.append(f"line {number}: a comment begins with '{comment.split()[0]}'")
        if suffix in CODE and not path.startswith("tests/"):
            for number, content in strings(text):
                phrase(number, content)
    return found
