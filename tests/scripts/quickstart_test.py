#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/quickstart.sh ends with what its user has to type for the next command to work."""
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ScriptTest, make_program, make_toolkit  # noqa: E402

# As much of the tool as the script looks at.
TOOL = """
home=$CUBINET_HOME
for ((i = 1; i < $#; i++)); do
  j=$((i + 1))
  case ${!i} in
    -o) echo sound-sound-sound >"${!j}" ;;
    --home) home=${!j} ;;
  esac
done
case "$1 $2" in
  "bundle verify") grep -q sound-sound-sound "$3" ;;
  "bundle import") mkdir -p "$home/cubins" && echo sound-sound-sound >"$home/cubins/one.cubin" ;;
  "registry verify") grep -q sound-sound-sound "$home/cubins/one.cubin" ;;
esac
"""


class Quickstart(ScriptTest):
    def setUp(self):
        super().setUp()
        make_program(self.bin / "dpkg-query", "echo install ok installed\n")
        make_program(self.folder / "tool", TOOL)
        make_program(self.bin / "cmake", f"""
mkdir -p '{self.root}/build/release/cli' && cp '{self.folder}/tool' '{self.root}/build/release/cli/cubinet'
""")

    def exports(self, **environment):
        done = self.run_script("quickstart.sh", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.split("Done.")[1].splitlines()[1:]
        shell = "; ".join([*lines, 'command -v cubinet; echo "$CUDA_HOME"'])
        typed = subprocess.run(["bash", "-c", shell], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
                               check=True)
        tool, cuda = typed.stdout.splitlines()
        self.assertEqual(tool, str(self.root / "build/release/cli/cubinet"))
        return cuda

    def test_a_toolkit_that_the_tool_finds_by_itself_needs_no_export(self):
        self.assertEqual(self.exports(CUDA_HOME=make_toolkit(self.folder / "named", 13000)), "")

    def test_the_toolkit_of_nvcc_is_exported(self):
        toolkit = make_toolkit(self.folder / "opt", 13000)
        make_program(toolkit / "bin/nvcc", "exit 1\n")
        (self.bin / "nvcc").symlink_to(toolkit / "bin/nvcc")
        self.assertEqual(self.exports(), str(toolkit))

    def test_a_toolkit_that_only_cmake_knows_is_exported(self):
        toolkit = make_toolkit(self.folder / "opt", 13000)
        self.assertEqual(self.exports(CUDAToolkit_ROOT=toolkit), str(toolkit))


if __name__ == "__main__":
    unittest.main()
