#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/count_concepts.py counts what a public header defines, and nothing that is only declared or private."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import count_concepts  # noqa: E402

HEADER = """// struct Commented {
struct Forward;
enum class Kind : int { a, b };
template <class T>
class [[nodiscard]] Box final : public Base {
  struct Inner { int x; };
  using type = T;
};
template <>
class [[nodiscard]] Box<void> {
};
using Boxes = int;
"""
TREE = {
    "cmake/modules.txt": "# comment\nbase | | bytes\nspec | base | keys\n",
    "base/include/cubinet/base/box.hpp": HEADER,
    "base/include/cubinet/base/layout.h": "struct Layout {\n};\n",
    "base/internal/cubinet/base/more.hpp": "struct More {};\n",
    "base/box.cpp": "int x;\n",
    "base/CMakeLists.txt": "add()\n",
    "spec/include/cubinet/runtime.hpp": "int f();\n\n\nint g();\n",
}


class CountConcepts(unittest.TestCase):
    def test_figures_of_a_small_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in TREE.items():
                file = Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            figures = count_concepts.count(Path(folder))
        self.assertEqual(figures, {"public headers": 3, "public types": 2, "nested and aliases": 3, "modules": 2, "arrows": 1,
                                   "preprocessed lines": 2, "lines of base": 16, "lines of spec": 4, "lines": 20})


if __name__ == "__main__":
    unittest.main()
