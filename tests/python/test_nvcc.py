# SPDX-License-Identifier: Apache-2.0
"""`cubinet-nvcc` of the package, each line in a process of its own."""
import signal

import pytest

MODULE = "import sys; sys.argv = ['/nowhere/cubinet-nvcc', *sys.argv[1:]]; from cubinet import nvcc; sys.exit(nvcc.main())"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernel.cu").write_text("__global__ void k(int* out) { *out = 1; }\n", encoding="utf-8")
    return tmp_path


def script(path, text):
    path.write_text("#!/bin/sh\n" + text + "\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_line_makes_a_cubin_and_then_finds_it(run_python, environment, folder):
    line = ["-cubin", "-arch=sm_90a", str(folder / "kernel.cu"), "-o", str(folder / "out.cubin")]
    home = {"CUBINET_HOME": str(folder / "home")}
    ran = run_python(MODULE, *line, **environment | home)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (folder / "out.cubin").read_bytes()[:4] == b"\x7fELF"
    (folder / "out.cubin").unlink()
    assert run_python(MODULE, *line, **environment | home, CUBINET_COMPILE="never").returncode == 0
    assert (folder / "out.cubin").exists()


def test_another_line_is_for_nvcc_whose_signals_are_usual(run_python, folder):
    nvcc = script(folder / "nvcc", 'echo "$@"; kill -PIPE $$; exit 7')
    ran = run_python(MODULE, "-c", "a b.cu", CUBINET_HOME=str(folder / "home"), CUBINET_NVCC=nvcc)
    assert ran.stdout == "-c a b.cu\n"
    # nvcc has taken the place of Python, and a signal ends it.
    assert ran.returncode == -signal.SIGPIPE


def test_the_launcher_is_not_taken_for_nvcc(run_python, folder):
    own = script(folder / "nvcc", "exit 0")
    module = MODULE.replace("/nowhere/cubinet-nvcc", own)
    ran = run_python(module, "-c", "a.cu", CUBINET_HOME=str(folder / "home"), CUBINET_NVCC=own)
    assert ran.returncode == 1
    assert "itself" in ran.stderr


def test_a_line_without_nvcc_is_refused_with_the_reason(run_python, folder):
    ran = run_python(MODULE, "-c", "a.cu", CUBINET_HOME=str(folder / "home"), CUBINET_NVCC="/nowhere/nvcc")
    assert ran.returncode == 1
    assert "the option '-c': it makes host code" in ran.stderr
