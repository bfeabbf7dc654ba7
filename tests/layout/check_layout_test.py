#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of scripts/check_layout.py refuses a tree that breaks it, and a tree that breaks none passes."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_layout  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
ARROWS = "# one line a module\nbase | | bytes\nspec | base | keys\ncli | base spec | the tool\n"
TABLE = "| `base/` |  | bytes | x |\n| `spec/` | base | keys | x |\n| `cli/` | base, spec | the tool | x |\n"
GOOD = {
    "cmake/modules.txt": ARROWS,
    "docs/architecture.md": TABLE,
    "base/internal/cubinet/base/elf.hpp": SPDX,
    "base/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nadd(SOURCES bytes.cpp"
                           " HEADERS include/cubinet/base/bytes.hpp internal/cubinet/base/elf.hpp)\n",
    "base/bytes.cpp": SPDX + "#include <cubinet/base/bytes.hpp>\n// dlopen() is spoken of here\n",
    "base/include/cubinet/base/bytes.hpp": SPDX + "#pragma once\n#include <vector>\n",
    "cli/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nadd(SOURCES main.cpp)\n",
    "cli/main.cpp": SPDX + 'int main() { return getenv("HOME") != nullptr; }\n',
    "spec/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nadd(HEADERS include/cubinet/spec/key.hpp)\n",
    "spec/include/cubinet/spec/key.hpp": SPDX + "#pragma once\n#include <cubinet/base/bytes.hpp>\n",
    "tests/base/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nadd(SOURCES bytes_test.cpp)\n",
    "tests/base/bytes_test.cpp": SPDX + 'TEST_CASE("bytes are copied, all 3") {}\n',
    "README.md": "[the bytes](base/bytes.cpp#L1)\n",
}


class CheckLayout(unittest.TestCase):
    def violations(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**GOOD, **changes}.items():
                if text is not None:
                    file = Path(folder) / path
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)
            return check_layout.Checker(Path(folder)).run()

    def refuses(self, changes, path, words):
        found = self.violations(changes)
        self.assertTrue(any(v.startswith(path + ":") and words in v for v in found), found)

    def test_a_good_tree_passes(self):
        self.assertEqual(self.violations({}), [])

    def test_headers_have_one_home(self):
        for header in ("cuda.h", "nvrtc.h", "sqlite3.h", "cuda_runtime.h"):
            self.refuses({"base/bytes.cpp": SPDX + f"#include <{header}>\n"}, "base/bytes.cpp", "alone")

    def test_calls_have_one_home(self):
        for call in ("dlopen(p, 0)", "::dlsym (h, p)", "std::getenv(p)", "setenv(p, q, 1)"):
            self.refuses({"base/bytes.cpp": SPDX + f"auto x = {call};\n"}, "base/bytes.cpp", "alone")

    def test_public_headers_are_self_sufficient(self):
        for include in ("<nlohmann/json.hpp>", '"bytes.hpp"', "<unistd.h>"):
            self.refuses({"base/include/cubinet/base/bytes.hpp": SPDX + f"#include {include}\n"},
                         "base/include/cubinet/base/bytes.hpp", "public header")

    def test_the_python_package_includes_nanobind_through_one_header(self):
        build = {"python/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nadd(log.cpp conversions.hpp)\n",
                 "python/binding/conversions.hpp": SPDX + "#pragma once\n#include <nanobind/nanobind.h>\n",
                 "python/log.cpp": SPDX + '#include "conversions.hpp"\n'}
        self.assertEqual(self.violations(build), [])
        self.refuses(build | {"python/log.cpp": SPDX + "#include <nanobind/stl/string.h>\n"}, "python/log.cpp", "conversion")

    def test_the_python_package_includes_the_c_header_alone(self):
        build = {"python/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nadd(log.cpp __init__.py logs.py)\n",
                 "python/log.cpp": SPDX + "#include <cubinet/cubinet.h>\n", "tests/python/test_logs.py": SPDX.replace("//", "#"),
                 "python/cubinet/__init__.py": SPDX.replace("//", "#"), "python/cubinet/logs.py": SPDX.replace("//", "#")}
        self.assertEqual(self.violations(build), [])
        self.refuses(build | {"python/log.cpp": SPDX + "#include <cubinet/base/bytes.hpp>\n"}, "python/log.cpp", "alone")
        self.refuses(build | {"tests/python/test_logs.py": None}, "python/cubinet/logs.py", "has no tests/python/test_logs.py")
        self.refuses(build | {"python/cubinet/more.py": SPDX.replace("//", "#")}, "python/cubinet/more.py", "installed")

    def test_comments_are_sentences(self):
        path = "base/bytes.cpp"
        for word in ("Of", "What", "Who", "Whose", "How", "Those", "Where"):
            self.refuses({path: SPDX + f"int x;  // {word} comes first\n"}, path, "a comment begins with")
        self.assertEqual(self.violations({path: SPDX + "// Returns the bytes.\n// Of two lines, this is the second.\n"}), [])

    def test_phrases_have_plainer_terms(self):
        for text in ("// A miss is told to the log.\n", "// The file lies in the home.\n", "// For whoever reads.\n",
                     'auto m = "whoever wrote it";\n'):
            self.refuses({"base/bytes.cpp": SPDX + text}, "base/bytes.cpp", "has a plainer term")
        self.refuses({"README.md": "It is told.\n"}, "README.md", "has a plainer term")
        self.assertEqual(self.violations({"README.md": "`what lies` is a name.\n"}), [])

    def test_prose_wraps(self):
        long = "word " * 21
        self.refuses({"base/bytes.cpp": SPDX + f"// {long}\n"}, "base/bytes.cpp", "100 columns")
        self.refuses({"README.md": long + "\n"}, "README.md", "100 columns")
        for text in (f"| {long} |\n", f"```\n{long}\n```\n", "See [the page](https://example.org/" + "a" * 90 + ").\n"):
            self.assertEqual(self.violations({"README.md": text}), [])
        self.assertEqual(self.violations({"base/bytes.cpp": SPDX + "int " + "a" * 60 + ";  // " + "b " * 20 + "\n"}), [])

    def test_messages_of_the_library_name_the_api(self):
        tool = {"cli/application.cpp": SPDX + 'Verb v[] = {{"tune", add_tune}};\n',
                "cli/tool_terms.cpp": SPDX + 'Term t[] = {{"Key::text()", "`cubinet key`"}};\n',
                "cli/CMakeLists.txt": GOOD["cli/CMakeLists.txt"].replace("main", "application.cpp tool_terms.cpp main"),
                "spec/include/cubinet/spec/key.hpp": SPDX + "#pragma once\nstruct Key { int text(); };\n"}
        for suffix in ("application", "tool_terms"):
            tool[f"tests/cli/{suffix}_test.cpp"] = SPDX
        tool["tests/cli/CMakeLists.txt"] = GOOD["cli/CMakeLists.txt"].replace(
            "main.cpp", "application_test.cpp tool_terms_test.cpp")

        def message(literals):
            return {**tool, "base/bytes.cpp": SPDX + f"const char* remedy = {literals};\n"}

        path = "base/bytes.cpp"
        for literals in ('"run cubinet tune"', '"run `cubinet " "tune`"', '"name it with --home"', '"name it (-I)"',
                         '"set CUBINET_HOME"'):
            self.refuses(message(literals), path, "of the tool: name the API")
        self.refuses(message('"see `Key::size`"'), path, "does not translate")
        self.refuses(message('"see Key::text"'), path, "without backticks")
        changed = message('"see `Key::text()`"')
        self.refuses({**changed, "spec/include/cubinet/spec/key.hpp": SPDX}, path, "no header has")
        for literals in ('"see `Key::text()`"', '"run `pip install --target FOLDER`"', '"-I", "--std=c++17"',
                         '"cubinet tunes itself"', '"x";  // cubinet tune --home'):
            self.assertEqual(self.violations(message(literals)), [])

    def test_paths_upwards_are_refused(self):
        self.refuses({"base/bytes.cpp": SPDX + '#include "../spec/key.hpp"\n'}, "base/bytes.cpp", "upwards")

    def test_includes_go_one_way(self):
        self.refuses({"base/bytes.cpp": SPDX + "#include <cubinet/spec/key.hpp>\n"}, "base/bytes.cpp", "does not name spec")

    def test_the_front_end_includes_the_modules_that_are_named_for_it_alone(self):
        arrows = {"cmake/modules.txt": ARROWS.replace("cli | base spec |", "cli | spec |"),
                  "docs/architecture.md": TABLE.replace("`cli/` | base, spec |", "`cli/` | spec |")}
        for header in ("bytes.hpp", "elf.hpp"):
            include = f"#include <cubinet/base/{header}>\n"
            self.refuses({**arrows, "cli/main.cpp": SPDX + include}, "cli/main.cpp", "does not name base")
        self.assertEqual(self.violations({**arrows, "cli/main.cpp": SPDX + "#include <cubinet/spec/key.hpp>\n"}), [])
        named = check_layout.read_modules(Path(__file__).resolve().parents[2])["cli"][0]
        self.assertEqual(set(named) & {"jit", "transport", "distribution"}, set())

    def test_folders_of_a_module_are_no_circle(self):
        one_way = {"base/a/x.hpp": SPDX + '#include "b/y.hpp"\n', "base/b/y.hpp": SPDX}
        found = self.violations(one_way)
        self.assertFalse([v for v in found if "circle" in v], found)
        circle = {**one_way, "base/b/y.hpp": SPDX + '#include "a/x.hpp"\n'}
        self.refuses(circle, "base/a/x.hpp", "circle")
        self.refuses(circle, "base/b/y.hpp", "circle")

    def test_a_folder_and_one_inside_it_are_no_circle(self):
        one_way = {"base/a/in/x.hpp": SPDX + '#include "a/y.hpp"\n', "base/a/y.hpp": SPDX}
        found = self.violations(one_way)
        self.assertFalse([v for v in found if "circle" in v], found)
        for include in ("a/in/x.hpp", "in/x.hpp"):
            circle = {**one_way, "base/a/y.hpp": SPDX + f'#include "{include}"\n'}
            self.refuses(circle, "base/a/y.hpp", "circle")

    def test_installed_headers_include_installed_ones(self):
        path = "spec/include/cubinet/spec/key.hpp"
        self.refuses({path: SPDX + "#include <cubinet/base/elf.hpp>\n"}, path, "not installed")
        path = "base/internal/cubinet/base/more.hpp"
        self.refuses({path: SPDX}, path, "named by no CMakeLists.txt")

    def test_the_architecture_is_said_once(self):
        path = "cmake/modules.txt"
        self.refuses({path: ARROWS.replace("base | |", "base | spec |")}, path, "base includes spec")
        self.refuses({path: ARROWS + "more | base | more\n"}, "docs/architecture.md", "its line of more/")
        for other in (TABLE.replace("base, spec", "spec"), TABLE.replace("keys", "locks"), TABLE.replace("spec/", "sp/")):
            self.refuses({"docs/architecture.md": other}, "docs/architecture.md", "its line of ")

    def test_length_is_limited(self):
        self.refuses({"base/bytes.cpp": SPDX + "\n" * 600}, "base/bytes.cpp", "the limit is")

    def test_width_of_device_code_is_limited(self):
        path = "kernel_templates/device/wide.cuh"
        declaration = '/* cubinet-template\n{"summary": "' + "x" * 120 + '"}\n*/\n'
        self.assertEqual(self.violations({path: SPDX + declaration + "x" * 110 + "\n"}), [])
        self.refuses({path: SPDX + declaration + "x" * 111 + "\n"}, path, "line 5 has 111 columns")
        self.assertEqual(self.violations({"kernel_templates/device/wide.base.json": declaration}), [])

    def test_one_spdx_line(self):
        self.refuses({"base/bytes.cpp": "int x;\n"}, "base/bytes.cpp", "SPDX")
        self.refuses({"base/bytes.cpp": SPDX + SPDX}, "base/bytes.cpp", "SPDX")

    def test_every_source_is_built_and_tested(self):
        self.refuses({"base/more.cpp": SPDX}, "base/more.cpp", "is not built")
        self.refuses({"base/more.cpp": SPDX}, "base/more.cpp", "has no tests/base/more_test.cpp")
        self.refuses({"tests/base/bytes_test.cpp": None}, "base/bytes.cpp", "has no tests/base/bytes_test.cpp")

    def test_names_that_doctest_loses_are_refused(self):
        for name in ("a; b", "a\\\\b", "a: b", "it's"):
            self.refuses({"tests/base/bytes_test.cpp": SPDX + f'TEST_CASE("{name}") {{}}\n'},
                         "tests/base/bytes_test.cpp", "letters, digits")
        twice = SPDX + 'TEST_CASE("one") {}\n'
        self.refuses({"tests/base/bytes_test.cpp": twice, "tests/base/more_test.cpp": twice},
                     "tests/base/more_test.cpp", "is also in")

        self.refuses({"tests/base/bytes_test.cpp": twice + 'TEST_CASE("one") {}\n'},
                     "tests/base/bytes_test.cpp", "is also in")

    def test_suites_are_labels(self):
        path = "tests/base/bytes_test.cpp"
        test = SPDX + 'TEST_CASE("bytes are copied" * doctest::test_suite("%s")) {}\n'
        self.assertEqual(self.violations({path: test % "loop"}), [])
        self.refuses({path: test % "lop"}, path, "a label that no run asks for")

    def test_links_lead_somewhere(self):
        self.refuses({"README.md": "[x](docs/none.md)\n"}, "README.md", "does not exist")

    def test_sources_are_listed_not_globbed(self):
        self.refuses({"base/CMakeLists.txt": GOOD["base/CMakeLists.txt"] + "file(GLOB x *.cpp)\n"},
                     "base/CMakeLists.txt", "GLOB")


if __name__ == "__main__":
    unittest.main()
