# SPDX-License-Identifier: Apache-2.0
"""A copy of scripts/ in a folder of a test's own, with toolkits made of empty files and an environment without any."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPDX = "# SPDX-License-Identifier: Apache-2.0\n"


def make_toolkit(folder, version, libraries="lib64"):
    """What the scripts take for a toolkit, of CUDA_VERSION `version`."""
    (folder / "include").mkdir(parents=True)
    (folder / "include/cuda.h").write_text(f"#define CUDA_VERSION {version}\n")
    (folder / "include/nvrtc.h").touch()
    (folder / libraries).mkdir()
    (folder / libraries / "libnvrtc.so.13").touch()
    return folder


def make_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(0o755)


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cubinet test ")  # names with spaces are names
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "tree"
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        self.bin = Path(folder.name) / "bin"
        self.bin.mkdir()
        self.folder = Path(folder.name)

    def run_bash(self, command, *arguments, **environment):
        variables = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.folder), "TMPDIR": str(self.folder)}
        variables.update({name: str(value) for name, value in environment.items()})
        return subprocess.run(["bash", *command, *map(str, arguments)], cwd=self.folder, env=variables,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def run_script(self, name, *arguments, **environment):
        return self.run_bash([str(self.root / "scripts" / name)], *arguments, **environment)
