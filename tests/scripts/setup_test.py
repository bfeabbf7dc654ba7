#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup.sh builds and runs with one CUDA, whatever else lies in the usual places."""
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ScriptTest, make_program, make_toolkit  # noqa: E402

# Nothing is installed, and the machine's own toolkit is not looked at.
CHOOSE = """
source "$1/scripts/setup.sh"
install_packages() { :; }
usual_toolkit=$2
setup
env | grep -E '^(CUDA|CUBINET)' | sort
echo "$usual_root"
"""


# A pip that makes its target folder, records its arguments and prints a warning. With PIP_FAILS it
# also fails.
PIP = """
[[ $* == *--version* ]] && exit 0
echo "$*" >>"$HOME/asked"
echo "ERROR: another package of this machine is incompatible" >&2
while (($#)); do
  [[ $1 == --target ]] && mkdir -p "$2/nvidia"
  shift
done
[[ -z ${PIP_FAILS:-} ]]
"""
INSTALL = 'source "$1/scripts/setup.sh"; install_packages() { :; }; install_test_wheels && echo there || echo missing'


class PythonPackages(ScriptTest):
    def install(self, **environment):
        code = INSTALL.replace("install_test_wheels", "install_python_packages")
        done = self.run_bash(["-c", code, "bash", str(self.root)], **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_they_are_fetched_once_and_again_when_the_list_changes(self):
        make_program(self.bin / "python3", PIP)
        for _ in range(2):
            self.assertEqual(self.install(), "there")
        with open(self.root / "scripts/python_packages.txt", "a", encoding="ascii") as names:
            names.write("# another\n")
        self.assertEqual(self.install(), "there")
        asked = (self.folder / "asked").read_text()
        self.assertEqual((asked.count("--requirement"), asked.count("apache-tvm-ffi==")), (2, 2))

    def test_without_them_there_is_no_folder(self):
        make_program(self.bin / "python3", PIP)
        self.assertEqual(self.install(PIP_FAILS="1"), "missing")
        self.assertFalse((self.root / "build/python-packages").exists())


class TestWheels(ScriptTest):
    def setUp(self):
        super().setUp()
        make_program(self.bin / "python3", PIP)
        self.wheels = self.root / "build/test-wheels"

    def install(self, **environment):
        done = self.run_bash(["-c", INSTALL, "bash", str(self.root)], **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.words = done.stderr
        return done.stdout.strip()

    def test_they_are_fetched_once_by_digest_and_again_when_the_list_changes(self):
        for _ in range(2):
            self.assertEqual(self.install(), "there")
        self.assertTrue((self.wheels / "nvidia").is_dir())
        asked = (self.folder / "asked").read_text()
        self.assertEqual(asked.count("--require-hashes"), 1)
        with open(self.root / "scripts/test_wheels.txt", "a", encoding="ascii") as names:
            names.write("# another\n")
        self.assertEqual(self.install(), "there")
        self.assertEqual((self.folder / "asked").read_text().count("--require-hashes"), 2)

    def test_what_cannot_be_fetched_is_missing_and_stops_nothing(self):
        self.assertEqual(self.install(PIP_FAILS="1"), "missing")
        self.assertIn("ERROR: another package", self.words)
        self.assertFalse(self.wheels.exists())
        self.assertEqual(self.install(), "there")

    def test_warnings_of_a_pip_that_succeeds_are_not_printed(self):
        self.assertEqual(self.install(), "there")
        self.assertNotIn("ERROR", self.words)


class Setup(ScriptTest):
    def setUp(self):
        super().setUp()
        self.usual = self.folder / "usual"

    def choose(self, **environment):
        done = self.run_bash(["-c", CHOOSE, "bash", str(self.root), str(self.usual)], **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        *exported, self.usual_root = done.stdout.splitlines()
        return dict(line.split("=", 1) for line in exported)

    def both(self, folder):
        return {"CUDAToolkit_ROOT": str(folder), "CUDA_HOME": str(folder)}

    def test_a_toolkit_in_the_usual_place_is_used(self):
        make_toolkit(self.usual, 13000)
        self.assertEqual(self.choose(), self.both(self.usual))
        self.assertEqual(self.usual_root, str(self.usual))

    def test_wheels_come_before_an_older_toolkit(self):
        make_toolkit(self.usual, 12040)
        wheels = make_toolkit(self.root / "build/cuda-wheels/nvidia/cu13", 13000, "lib")
        self.assertEqual(self.choose(), self.both(wheels))

    def test_a_named_toolkit_that_is_too_old_is_replaced(self):
        old = make_toolkit(self.folder / "old", 12090)
        make_toolkit(self.usual, 13000)
        self.assertEqual(self.choose(CUDA_HOME=old), self.both(self.usual))
        self.assertEqual(self.usual_root, str(old))

    def test_the_toolkit_of_nvcc_is_found(self):
        toolkit = make_toolkit(self.folder / "opt", 13010)
        make_program(toolkit / "bin/nvcc", "exit 1\n")
        (self.bin / "nvcc").symlink_to(toolkit / "bin/nvcc")
        self.assertEqual(self.choose(), self.both(toolkit))
        self.assertEqual(self.usual_root, str(self.usual))

    def test_toolkits_are_looked_for_where_variables_name_them(self):
        for name in ("CUDAToolkit_ROOT", "CUDA_HOME", "CUDA_PATH"):
            with self.subTest(name):
                toolkit = make_toolkit(self.folder / name, 13000, "lib")
                exported = self.choose(**{name: toolkit})
                exported.pop("CUDA_PATH", None)
                self.assertEqual(exported, self.both(toolkit))
                self.assertEqual(self.usual_root, str(self.usual) if name == "CUDAToolkit_ROOT" else str(toolkit))


if __name__ == "__main__":
    unittest.main()
