# SPDX-License-Identifier: Apache-2.0
"""The code of docs/python.md and docs/pytorch.md runs as it is printed."""
import importlib.util
import re

import pytest

from conftest import DRIVER, ROOT

PAGE = ROOT / "docs/python.md"
PYTORCH_PAGE = ROOT / "docs/pytorch.md"


def program_of(page, gpu):
    """Returns the page's Python blocks at their own lines, without those that this machine cannot run."""
    languages = {"python"} | ({"python gpu"} if gpu else set())
    if importlib.util.find_spec("cuda") is not None and importlib.util.find_spec("cuda.core") is not None:
        languages.add("python cuda.core")
    lines, language = [], None
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = re.fullmatch(r"```(.*)", line)
        if fence:
            language = fence.group(1) if language is None else None
        lines.append("" if fence or language not in languages else line)
    return "\n".join(lines)


def run_page(run_python, tmp_path, gpu, prelude="", page=PAGE, **variables):
    program = program_of(page, gpu)
    assert program.count("import cubinet") == 1
    code = f"import os, sys\nos.chdir(sys.argv[1])\n{prelude}\nexec(compile(sys.argv[2], {str(page)!r}, 'exec'))"
    ran = run_python(code, str(tmp_path), program, **variables)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


def test_the_page_runs_over_the_stub_driver(run_python, tmp_path):
    """Addresses stand in for the two tensors."""
    output = run_page(run_python, tmp_path, False, "x, y = 4096, 8192", LD_LIBRARY_PATH=str(DRIVER.parent))
    assert "Counters(" in output
    assert (tmp_path / "kernels.bundle").is_file()


@pytest.mark.gpu
def test_the_pages_run_on_a_gpu(run_python, tmp_path):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    assert "Calls(decode=1, fallback=0, plans=1)" in run_page(run_python, tmp_path, True, page=PYTORCH_PAGE)
    check = "import atexit; atexit.register(lambda: y.sum().item() == 3000 or os._exit(1))"
    run_page(run_python, tmp_path, True, check)
