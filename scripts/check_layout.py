#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the source tree that the compiler cannot see.

Usage: check_layout.py [ROOT]        prints one line a violation; exit status 1 when there is one.
"""
import functools
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import prose  # noqa: E402

# The architecture: the modules and their allowed includes. CMake reads the same file.
MODULES = "cmake/modules.txt"
ARCHITECTURE = "docs/architecture.md"
ENVIRONMENT = "session/environment.cpp"

# Third-party headers and system calls that have one home. Folders and files, relative to the root.
ONLY_IN = {
    r"#\s*include\s*<cuda\.h>": ("loader/", "tests/stub_driver/", "tests/loader/", "bench/"),
    r"#\s*include\s*<cuda_runtime": ("bench/",),
    r"#\s*include\s*<nvrtc\.h>": ("jit/nvrtc_", "bench/"),
    r"#\s*include\s*<curl/": ("transport/", "tests/support/faulty_curl.cpp"),
    r"#\s*include\s*<sqlite3\.h>": ("cubin_registry/", "tests/cubin_registry/", "bench/bare_sqlite.hpp"),
    r"\bdl(open|sym|close|mopen|vsym)\s*\(": ("base/dynamic_library.cpp", "tests/"),
    r"\b(secure_)?(get|set|put|unset)env\s*\(": ("cli/", "tests/", "bench/main.cpp", "jit/nvrtc_api.cpp"),
}

# Source files without a test of the same name, and the reasons.
NO_NAMESAKE_TEST = {
    "cli/main.cpp": "a few lines; the CLI is tested as a process",
    "nvcc/main.cpp": "a few lines; the executable is tested as a process",
}

# The test suites, which are labels of tests. CONTRIBUTING.md describes each.
TEST_SUITES = {"loop"}

# The front ends. Only they name verbs, options and environment variables; a message of the library
# names the API in backticks (`HomeOptions::path`), and the table says what the tool calls it.
FRONT_ENDS = ("cli", "nvcc")
VERBS = "cli/application.cpp"
TOOL_TERMS = "cli/tool_terms.cpp"
# The table of what the C header calls it.
C_TERMS = "c_api/c_terms.cpp"

# Pages that a script writes.
GENERATED_PAGES = ("bench/results/",)

# The Python package, a client of the C library. Its C++ sources include one header of the project.
PYTHON = "python/"
PYTHON_MODULES = "python/cubinet/"

# The standard headers that the C library's header may include.
C_HEADERS = r"std(def|int)\.h|string\.h"

MAXIMUM_LINES = 600
LONG_FILES = {
    "c_api/include/cubinet/cubinet.h": "the C interface is one header",
    "tests/package/c/first/cubinet/cubinet.h": "the first version of that header",
}
DEVICE_CODE = "kernel_templates/device/"
MAXIMUM_COLUMNS = 110  # of device code, as .clang-format has it
CODE = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
SPDX_REQUIRED = CODE | {".py", ".sh", ".cmake", ".map", ".in", ".sql"}
SPDX_LINE = re.compile(r"^(//|#|/\*|--) SPDX-License-Identifier: Apache-2\.0\b", re.MULTILINE)
NOT_OURS = {".git", "build", ".ccache", "__pycache__"}


def strip_comments(text):
    """Without comments and without the contents of string literals; include lines stay as they are."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'

    def replacement(match):
        if match.group(0).startswith(("//", "/*")):
            return " "
        line_start = text.rfind("\n", 0, match.start()) + 1
        return match.group(0) if text[line_start:match.start()].lstrip().startswith("#") else '""'

    return re.sub(pattern, replacement, text, flags=re.DOTALL)


def string_literals(text):
    """The contents of the string literals, adjacent ones joined. Comments and include lines have none."""
    pattern = r'//[^\n]*|/\*.*?\*/|#\s*include[^\n]*|\'(?:\\.|[^\'\\\n])\'|R"(\w*)\((.*?)\)\1"|"((?:\\.|[^"\\\n])*)"'
    literals, end = [], None
    for match in re.finditer(pattern, text, flags=re.DOTALL):
        content = match.group(2) if match.group(2) is not None else match.group(3)
        if content is None:
            continue
        if end is not None and text[end:match.start()].isspace():
            literals[-1] += content
        else:
            literals.append(content)
        end = match.end()
    return literals


def read_modules(root):
    """Of each module, in the file's order, what it may include and the clause that says what it knows."""
    modules = {}
    for line in (Path(root) / MODULES).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, included, knows = (part.strip() for part in line.split("|", 2))
            modules[name] = (included.split(), knows)
    return modules


class Checker:
    def __init__(self, root):
        self.root = root
        self.modules = read_modules(root)
        self.files = sorted(self.walk())
        self.violations = []

    def walk(self):
        for folder, names, files in os.walk(self.root):
            names[:] = [name for name in names if name not in NOT_OURS]
            for name in files:
                yield (Path(folder) / name).relative_to(self.root).as_posix()

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def report(self, path, message):
        self.violations.append(f"{path}: {message}")

    def run(self):
        for path in self.files:
            suffix = Path(path).suffix
            if suffix in SPDX_REQUIRED or Path(path).name == "CMakeLists.txt":
                self.check_spdx(path)
            if suffix in SPDX_REQUIRED | {".txt", ".md"}:
                self.check_length(path)
            if suffix in CODE:
                self.check_code(path)
            if path.startswith(DEVICE_CODE) and suffix in CODE:
                self.check_width(path)
            if suffix == ".md":
                self.check_links(path)
            if path.endswith((".cmake", "CMakeLists.txt")) and re.search(r"\bGLOB(_RECURSE)?\b", self.read(path)):
                self.report(path, "file(GLOB) of sources: list them")
        self.check_prose()
        self.check_modules()
        self.check_folders()
        self.check_sources_are_built()
        self.check_namesake_tests()
        self.check_test_names()
        self.check_python_package()
        return self.violations

    def check_modules(self):
        """A module includes modules before it, and docs/architecture.md says what the file says."""
        known = []
        for name, (included, _) in self.modules.items():
            for other in included:
                if other not in known:
                    self.report(MODULES, f"{name} includes {other}, which is not above it")
            known.append(name)
        if ARCHITECTURE in self.files:
            rows = re.findall(r"^\| `(\w+)/` \| ([^|]*) \| ([^|]*) \|", self.read(ARCHITECTURE), re.MULTILINE)
            told = {name: (re.findall(r"\w+", included), knows) for name, included, knows in rows}
            for name in sorted(set(self.modules) | set(told)):
                if self.modules.get(name) != told.get(name):
                    self.report(ARCHITECTURE, f"its line of {name}/ is not that of {MODULES}")

    def check_folders(self):
        """The folders of a module, at any depth, do not include each other in a circle."""
        known = set(self.files)
        for module in self.modules:
            includes = {}
            for path in self.files:
                folder = path.rpartition("/")[0]
                if not folder.startswith(f"{module}/") or Path(path).suffix not in CODE:
                    continue
                for header in re.findall(r'^\s*#\s*include\s*"([^"]+/[^"]+)"', self.read(path), re.MULTILINE):
                    # Relative to the file's folder or to the module's.
                    for found in {f"{folder}/{header}", f"{module}/{header}"} & known:
                        other = found.rpartition("/")[0]
                        if other != folder:
                            includes.setdefault(folder, {}).setdefault(other, path)
            self.report_circles(includes)

    def report_circles(self, includes):
        for folder, others in includes.items():
            for other, path in others.items():
                if folder in self.reachable(includes, other):
                    self.report(path, f"includes {other}/, which includes {folder}/: a circle of folders")

    @staticmethod
    def reachable(includes, folder):
        reached, next_ones = set(), [folder]
        while next_ones:
            other = next_ones.pop()
            if other not in reached:
                reached.add(other)
                next_ones.extend(includes.get(other, {}))
        return reached

    def check_prose(self):
        """Comments, pages and messages read plainly."""
        for path in self.files:
            if prose.has_prose(path) and not path.startswith(GENERATED_PAGES):
                for violation in prose.violations(path, self.read(path)):
                    self.report(path, violation)

    def check_spdx(self, path):
        text = self.read(path)
        head = "\n".join(text.splitlines()[:3])
        if len(SPDX_LINE.findall(text)) != 1 or not SPDX_LINE.search(head):
            self.report(path, "needs exactly one SPDX line, at its top")

    def check_length(self, path):
        lines = len(self.read(path).splitlines())
        if lines > MAXIMUM_LINES and path not in LONG_FILES:
            self.report(path, f"{lines} lines; the limit is {MAXIMUM_LINES}")

    def check_width(self, path):
        """Limits the width of device code. The declaration of a template, which is JSON, may be wider."""
        text = re.sub(r"/\* cubinet-template.*?\*/", lambda found: "\n" * found.group(0).count("\n"),
                      self.read(path), flags=re.DOTALL)
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > MAXIMUM_COLUMNS:
                self.report(path, f"line {number} has {len(line)} columns; the limit is {MAXIMUM_COLUMNS}")

    def check_code(self, path):
        code = strip_comments(self.read(path))
        for pattern, homes in ONLY_IN.items():
            found = re.search(pattern, code)
            if found and not path.startswith(homes):
                self.report(path, f"{found.group(0)!r} belongs to {', '.join(homes)} alone")
        module = path.split("/")[0]
        if module in self.modules and module not in FRONT_ENDS and path != C_TERMS and "/device/" not in path:
            self.check_messages(path)
        public = f"{module}/include/" in path
        for bracket, header in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', code, re.MULTILINE):
            if ".." in header.split("/"):
                self.report(path, f'includes "{header}": a path upwards hides a dependency')
            if module in self.modules and header.startswith("cubinet/"):
                self.check_direction(path, module, header, public)
            if module in self.modules and public and not header.startswith("cubinet/"):
                standard = C_HEADERS if path.endswith(".h") else r"[a-z_0-9]+"
                if bracket == '"' or not re.fullmatch(standard, header):
                    self.report(path, f"a public header includes {header}: the standard library and <cubinet/...> only")

    @functools.cached_property
    def verbs(self):
        return re.findall(r'\{"([\w-]+)", add_', self.read(VERBS)) if VERBS in self.files else []

    @functools.cached_property
    def tool_terms(self):
        return re.findall(r'\{"([^"]+)", "', self.read(TOOL_TERMS)) if TOOL_TERMS in self.files else []

    @functools.cached_property
    def header_words(self):
        headers = [path for path in self.files if path.split("/")[0] in self.modules and path.endswith(".hpp")]
        return {word for path in headers for word in re.findall(r"\w+", self.read(path))}

    def check_messages(self, path):
        """Messages of the library name the API, never the tool's commands, options and variables."""
        for text in string_literals(self.read(path)):
            outside = re.sub(r"`[^`]*`", "", text)
            found = re.search(rf"cubinet ({'|'.join(map(re.escape, self.verbs)) or '(?!)'})\b(?! set\b)", text)
            # Only the file that defines the meaning of the environment's variables names them.
            if path != ENVIRONMENT:
                found = found or re.search(r"\bCUBINET_[A-Z]+\b", text)
            # A command of another program stands in backticks.
            found = found or re.search(r"(?<=[\s(])(--[a-z][\w-]*|-[A-Za-z](?![\w-]))", outside)
            if found:
                self.report(path, f"a message names {found.group(0)!r} of the tool: name the API")
            for name in re.findall(r"\b[A-Z]\w+::\w+", outside):
                if path.endswith(".cpp") and name.split("::")[0] in self.header_words:
                    self.report(path, f"a message names {name} without backticks")
            for name in re.findall(r"`((?:\w+::)+\w+(?:\([\w, ]*\))?|\w+\([\w, ]*\))`", text):
                if name not in self.tool_terms:
                    self.report(path, f"a message names `{name}`, which {TOOL_TERMS} does not translate")
                for word in re.findall(r"\w+", name.split("(")[0]):
                    if word not in self.header_words:
                        self.report(path, f"a message names `{name}`, and no header has {word}")

    def check_direction(self, path, module, header, public):
        parts = header.split("/")
        included = parts[1] if len(parts) > 2 else "api"
        internal = (self.root / included / "internal" / header).exists()
        if public and internal:
            self.report(path, f"a public header includes <{header}>, which is not installed")
        if included in self.modules and included != module and included not in self.modules[module][0]:
            if internal or (self.root / included / "include" / header).exists():
                self.report(path, f"{module} includes <{header}>: {MODULES} does not name {included} for it")

    def check_links(self, path):
        for target in re.findall(r"\]\(([^)\s]+)\)", self.read(path)):
            target = target.split("#")[0]
            if target and "://" not in target and not target.startswith("mailto:"):
                if not (self.root / path).parent.joinpath(target).exists():
                    self.report(path, f"links to {target}, which does not exist")

    def check_sources_are_built(self):
        lists = {path: self.read(path) for path in self.files if Path(path).name == "CMakeLists.txt"}
        for path in self.files:
            if Path(path).suffix != ".cpp" and not re.match(r"\w+/(include|internal)/cubinet/", path):
                continue
            folders = list(Path(path).parents)[:-1]
            names = [Path(path).relative_to(folder).as_posix() for folder in folders]
            texts = [lists.get((folder / "CMakeLists.txt").as_posix(), "") for folder in folders]
            if not any(re.search(rf"(?<![\w/.]){re.escape(n)}\b|/{re.escape(n)}\b", t) for n, t in zip(names, texts)):
                self.report(path, "is named by no CMakeLists.txt, so it is not built or installed")

    def check_namesake_tests(self):
        for path in self.files:
            parts = Path(path).parts
            if parts[0] not in self.modules or Path(path).suffix != ".cpp":
                continue
            test = f"tests/{parts[0]}/{Path(path).stem}_test.cpp"
            if path in NO_NAMESAKE_TEST:
                if test in self.files:
                    self.report(path, f"has {test}: take it off the list of files without one")
            elif test not in self.files:
                self.report(path, f"has no {test}, and no reason in scripts/check_layout.py")
        for path in NO_NAMESAKE_TEST:
            if path not in self.files and (self.root / Path(path).parts[0]).exists():
                self.report(path, "is listed in scripts/check_layout.py and does not exist")

    def check_python_package(self):
        """The package uses the C library and dlpack/ alone. Each of its modules is installed and has a test. Its
        sources include nanobind through one header, which has all conversions."""
        for path in self.files:
            conversions = PYTHON + "binding/conversions.hpp"
            if path.startswith(PYTHON) and Path(path).suffix in CODE and path != conversions:
                if re.search(r"^\s*#\s*include\s*<nanobind/", self.read(path), re.MULTILINE):
                    self.report(path, f"includes nanobind; include {conversions}, which has the conversion of every type")
            if path.startswith(PYTHON) and Path(path).suffix in CODE:
                for header in re.findall(r"^\s*#\s*include\s*<(cubinet/[^>]+)>", self.read(path), re.MULTILINE):
                    if header != "cubinet/cubinet.h" and not header.startswith("cubinet/dlpack/"):
                        self.report(path, f"includes <{header}>: the package sees cubinet/cubinet.h and dlpack/ alone")
            if path.startswith(PYTHON_MODULES) and path.endswith(".py"):
                listed = self.read("python/CMakeLists.txt") if "python/CMakeLists.txt" in self.files else ""
                name = Path(path).relative_to(PYTHON_MODULES)
                if not re.search(rf"(?<![\w/.]){re.escape(name.as_posix())}(?![\w.])", listed):
                    self.report(path, "is named by no CMakeLists.txt, so it is not installed")
                test = f"tests/python/{name.with_name('test_' + name.stem.strip('_'))}"
                if name.name != "__init__.py" and not {f"{test}.py", f"{test}_gpu.py"} & set(self.files):
                    self.report(path, f"has no {test}.py or {test}_gpu.py")

    def test_names(self, path):
        """The names of a file's test cases, adjacent literals joined."""
        macro = r'\bTEST_CASE(?:_FIXTURE)?\s*\((?:\s*\w[\w:]*\s*,)?\s*((?:"(?:\\.|[^"\\])*"\s*)+)'
        for literals in re.findall(macro, self.read(path)):
            yield "".join(re.findall(r'"((?:\\.|[^"\\])*)"', literals))

    def check_test_names(self):
        """doctest 2.4.9 runs nothing, and passes, for a name with ';' or '\\'; ctest's filters want plain words."""
        seen = {}
        for path in self.files:
            if not path.startswith("tests/") or not path.endswith(".cpp"):
                continue
            text = self.read(path)
            if re.search(r"\bTEST_CASE_TEMPLATE", text):
                self.report(path, "TEST_CASE_TEMPLATE makes names with '<' and '>'")
            for suite in re.findall(r'\btest_suite\s*\(\s*"([^"]*)"', text):
                if suite not in TEST_SUITES:
                    self.report(path, f"test suite {suite!r}: a label that no run asks for")
            for name in self.test_names(path):
                if not re.fullmatch(r"[A-Za-z0-9, ]+", name):
                    self.report(path, f"test name {name!r}: letters, digits, spaces and commas only")
                folder = str(Path(path).parent)
                if (folder, name) in seen:
                    self.report(path, f"test name {name!r} is also in {seen[folder, name]}")
                seen[folder, name] = path


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    violations = Checker(root).run()
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
