# SPDX-License-Identifier: Apache-2.0
"""`python -m cubinet` and the console script, each in a process of its own."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

import cubinet
from test_command import bundle, damage  # noqa: F401  a fixture

MODULE = "import runpy, sys; sys.argv = ['cubinet', *sys.argv[1:]]; runpy.run_module('cubinet', run_name='__main__')"


def test_the_module_is_the_command(run_python, bundle):
    ran = run_python(MODULE, "bundle", "verify", str(bundle), "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["findings"] == []
    damage(bundle)
    assert run_python(MODULE, "bundle", "verify", str(bundle)).returncode == 1


def test_the_command_reports_wrong_usage(run_python):
    ran = run_python(MODULE, "no-such-verb")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "no-such-verb" in ran.stderr


def test_the_command_follows_the_environment(run_python, tmp_path):
    ran = run_python(MODULE, "doctor", "--json", CUBINET_HOME=str(tmp_path / "place"))
    assert str(tmp_path / "place") in ran.stdout


def test_the_command_takes_words_of_any_bytes(run_python):
    ran = run_python(MODULE, "bundle", "verify", "/nowhere/\udcff.bundle")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


def test_an_installed_package_has_the_console_script():
    script = Path(sys.executable).parent / "cubinet"
    if Path(cubinet.__file__).is_relative_to(sys.prefix):
        assert "cubinet" in subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
    else:
        pytest.skip("the package is not installed")


def test_the_command_runs_without_a_standard_output(run_python):
    ran = run_python("import sys; sys.stdout = None; " + MODULE, "bundle", "verify", "/nowhere.bundle")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


def test_a_served_command_has_the_signals_of_a_shell(run_python, tmp_path):
    """Python ignores SIGPIPE itself."""
    words = ["serve-warm", "--device", "9.0", "--home", str(tmp_path / "home"), "--"]
    ran = run_python(MODULE, *words, "/bin/sh", "-c", "kill -PIPE $$; exit 3")
    assert ran.returncode == 128 + 13, ran.stderr
