# SPDX-License-Identifier: Apache-2.0
"""`python -m cubinet` and the console script, each in a process of its own."""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
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


def test_an_installed_package_has_both_console_scripts():
    if not Path(cubinet.__file__).is_relative_to(sys.prefix):
        pytest.skip("the package is not installed")
    script = Path(sys.executable).parent / "cubinet-nvcc"
    ran = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert re.search(r"Cuda compilation tools, release \d+\.\d+, V", ran.stdout)


def test_the_command_runs_without_a_standard_output(run_python):
    ran = run_python("import sys; sys.stdout = None; " + MODULE, "bundle", "verify", "/nowhere.bundle")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


def test_a_served_command_has_the_signals_of_a_shell(run_python, tmp_path):
    """Python ignores SIGPIPE itself."""
    words = ["serve-warm", "--device", "9.0", "--home", str(tmp_path / "home"), "--"]
    ran = run_python(MODULE, *words, "/bin/sh", "-c", "kill -PIPE $$; exit 3")
    assert ran.returncode == 128 + 13, ran.stderr


def in_terminal(words, tmp_path):
    """Starts the command as the leader of a session with a terminal. Returns its process and the terminal."""
    process, terminal = pty.fork()
    if process == 0:
        package = str(Path(cubinet.__file__).parents[1])
        paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
        variables = dict(os.environ, PYTHONPATH=paths, CUBINET_HOME=str(tmp_path / "home"))
        os.execve(sys.executable, [sys.executable, "-m", "cubinet", "serve-warm", "--device", "9.0", "--", *words], variables)
    return process, terminal


def wait_for(file):
    while not file.exists():
        time.sleep(0.01)


def test_keys_of_a_terminal_reach_a_served_command_once(tmp_path):
    script = f"cd {tmp_path}; trap 'echo x >> keys' INT; touch ready; while [ ! -e end ]; do sleep 0.01; done; exit 7"
    process, terminal = in_terminal(["/bin/sh", "-c", script], tmp_path)
    wait_for(tmp_path / "ready")
    os.write(terminal, b"\x03")
    wait_for(tmp_path / "keys")
    # A second copy would arrive before this signal, which is passed on.
    os.kill(process, signal.SIGINT)
    while len((tmp_path / "keys").read_text()) < 4:
        time.sleep(0.01)
    (tmp_path / "end").touch()
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 7
    assert (tmp_path / "keys").read_text() == "x\nx\n"
    os.close(terminal)


def test_the_end_of_a_terminal_reaches_a_served_command(tmp_path):
    script = f"cd {tmp_path}; trap 'touch hung; exit 7' HUP; touch ready; while :; do sleep 0.01; done"
    process, terminal = in_terminal(["/bin/sh", "-c", script], tmp_path)
    wait_for(tmp_path / "ready")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 7
    assert (tmp_path / "hung").exists()


def test_a_served_command_stops_and_continues_with_its_job(tmp_path):
    """A group of processes, as a shell makes for a job. The script starts none while it is stopped: a shell
    that waits for a stopped child of vfork() does not stop itself."""
    os.mkfifo(tmp_path / "end")
    script = f"cd {tmp_path}; echo $$ > pid; mv pid ready; read line < end; exit 7"
    words = ["serve-warm", "--device", "9.0", "--home", str(tmp_path / "home"), "--", "/bin/sh", "-c", script]
    package = str(Path(cubinet.__file__).parents[1])
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    job = subprocess.Popen(
        [sys.executable, "-m", "cubinet", *words],
        env=dict(os.environ, PYTHONPATH=paths),
        preexec_fn=lambda: os.setpgid(0, 0),
    )
    wait_for(tmp_path / "ready")
    command = int((tmp_path / "ready").read_text())
    os.killpg(job.pid, signal.SIGTSTP)
    for process in (job.pid, command):
        while ") T " not in Path(f"/proc/{process}/stat").read_text():
            time.sleep(0.01)
    os.killpg(job.pid, signal.SIGCONT)
    (tmp_path / "end").write_text("\n")
    assert job.wait() == 7
