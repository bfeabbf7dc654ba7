# SPDX-License-Identifier: Apache-2.0
"""The cache manager for Triton, and `serve-warm` around Triton, which compiles without a GPU."""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cubinet
from conftest import DRIVER

pytest.importorskip("triton")

# Compiles kernels for 9.0 and prints "hit" or "compiled" for each. A folder as the first argument
# becomes the cache folder of the process, as in vLLM.
PROGRAM = """
import os, sys
folder, blocks = sys.argv[1], sys.argv[2:]
if folder:
    os.environ["TRITON_CACHE_DIR"] = folder
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def listen(**said):
    print("hit" if said["cache_hit"] else "compiled")

triton.knobs.compilation.listener = listen
for block in map(int, blocks):
    source = ASTSource(scale, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": block})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
"""
MANAGER = "cubinet.triton:CacheManager"
RECORDED = Path(__file__).parents[1] / "adoption" / "recorded" / "triton-3.9.0"


@pytest.fixture
def triton(tmp_path):
    """Runs the program, with variables and behind words of a command."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    package = str(Path(cubinet.__file__).parents[1])

    def run(own, *blocks, before=(), **variables):
        line = [*before, sys.executable, str(file), str(own), *map(str, blocks)]
        paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": paths} | variables
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def entries(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def second(folder):
    return {"TRITON_CACHE_MANAGER": MANAGER, "CUBINET_TRITON_CACHE": str(folder)}


def test_a_process_with_its_own_folder_finds_what_is_in_the_second_one(triton, tmp_path):
    assert triton(tmp_path / "filled", 64, 128) == ["compiled"] * 2
    assert triton(tmp_path / "own", 64, 128, **second(tmp_path / "filled")) == ["hit"] * 2
    # The entries are in its own folder now, as Triton writes them.
    assert entries(tmp_path / "own") == entries(tmp_path / "filled")
    assert triton(tmp_path / "own", 64, 128) == ["hit"] * 2
    groups = [json.loads(path.read_text()) for path in (tmp_path / "own").rglob("__grp__*.json")]
    assert all(path.startswith(str(tmp_path / "own")) for group in groups for path in group["child_paths"].values())


def test_what_a_process_compiles_is_in_the_second_folder(triton, tmp_path):
    assert triton(tmp_path / "own", 64, **second(tmp_path / "filled")) == ["compiled"]
    assert triton(tmp_path / "filled", 64) == ["hit"]
    assert not [path for path in (tmp_path / "filled").iterdir() if path.name.startswith(".cubinet")]


def test_what_a_process_that_was_killed_has_staged_is_removed_at_once(run_python, tmp_path):
    """A folder with the same kind of name that is locked stays, because its process lives."""
    filled = tmp_path / "filled"
    code = """
import os, signal, sys
from cubinet.triton import CacheManager
os.environ["TRITON_CACHE_DIR"] = sys.argv[1]
manager = CacheManager("A" * 51 + "Q")
shared = manager._second
rename = os.rename
os.rename = lambda old, new: os.kill(os.getpid(), signal.SIGKILL) if new == shared else rename(old, new)
manager.put(b"code", "m.so")
"""
    done = run_python(code, str(tmp_path / "own"), CUBINET_TRITON_CACHE=str(filled))
    assert done.returncode == -signal.SIGKILL, done.stderr
    [left] = entries(filled)
    assert left.startswith(".cubinet.") and entries(filled / left) == ["m.so"]
    living = filled / f"{left}.tmp"
    living.mkdir()
    lock = os.open(living, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    shutil.copytree(RECORDED, tmp_path / "other")
    line = [sys.executable, "-m", "cubinet"]
    for words in (["adopt", str(tmp_path / "other")], ["materialize", "triton", str(filled), "--device", "9.0"]):
        subprocess.run([*line, *words, "--home", str(tmp_path / "home")], check=True)
    assert left not in entries(filled) and living.name in entries(filled)
    os.close(lock)


def test_without_the_variable_or_with_the_same_folder_it_is_the_manager_of_triton(triton, tmp_path):
    assert triton(tmp_path / "own", 64, TRITON_CACHE_MANAGER=MANAGER) == ["compiled"]
    assert triton(tmp_path / "own", 64, **second(tmp_path / "own")) == ["hit"]
    assert triton("", 64, **second(tmp_path / "own"), TRITON_CACHE_DIR=str(tmp_path / "own")) == ["hit"]


def test_an_own_folder_that_takes_nothing_more_is_served_from_the_second_one(triton, tmp_path):
    """An entry is a folder. A file of a stage's name in its place stands for a full disk."""
    assert triton(tmp_path / "filled", 64) == ["compiled"]
    [entry] = entries(tmp_path / "filled")
    for name in entries(tmp_path / "filled" / entry):
        (tmp_path / "own" / entry / name).mkdir(parents=True)
    # Triton finds a folder where the group should be, which would fail without the second folder.
    (tmp_path / "own" / entry / "__grp__scale.json").rmdir()
    assert triton(tmp_path / "own", 64, **second(tmp_path / "filled")) == ["hit"]


@pytest.mark.parametrize("damage", ["missing", "text", "no_paths", "outside", "no_file", "file", "numbers", "list", "deep", "pipe"])
def test_a_second_folder_that_cannot_be_used_is_a_miss(triton, tmp_path, damage):
    filled = tmp_path / "filled"
    if damage == "file":
        filled.write_text("")
    elif damage != "missing":
        triton(filled, 64)
        [entry] = entries(filled)
        group = filled / entry / "__grp__scale.json"
        (tmp_path / "secret").write_text("")
        group.write_text(
            {
                "text": "{",
                "no_paths": "[]",
                "outside": '{"child_paths": {"../../secret": ""}}',
                "numbers": '{"child_paths": [1, 2]}',
                "list": '{"child_paths": ["scale.cubin"]}',
                "deep": '{"child_paths": ' + "[" * 100000 + "]" * 100000 + "}",
            }.get(damage, group.read_text())
        )
        if damage == "no_file":
            (filled / entry / "scale.cubin").unlink()
        if damage == "pipe":
            group.unlink()
            os.mkfifo(group)
    assert triton(tmp_path / "own", 64, **second(filled)) == ["compiled"]
    assert triton(tmp_path / "own", 64) == ["hit"]


def test_a_compiled_module_of_the_host_is_shared_too(run_python, tmp_path):
    code = """
import os, sys
from cubinet.triton import CacheManager
key = "A" * 51 + "Q"
os.environ["TRITON_CACHE_DIR"] = sys.argv[1]
first = CacheManager(key)
assert first.get_file("m.so") is None and first.get_group("k.json") is None
first.put(b"code", "m.so")
os.environ["TRITON_CACHE_DIR"] = sys.argv[2]
path = CacheManager(key).get_file("m.so")
assert path.startswith(sys.argv[2]) and open(path, "rb").read() == b"code", path
assert CacheManager(key, dump=True)._second is None
"""
    done = run_python(code, str(tmp_path / "a"), str(tmp_path / "b"), CUBINET_TRITON_CACHE=str(tmp_path / "filled"))
    assert done.returncode == 0, done.stderr


def serve_warm(tmp_path, *options):
    home = str(tmp_path / "home")
    return [sys.executable, "-m", "cubinet", "serve-warm", "--home", home, "--device", "9.0", *options, "--"]


def test_the_second_start_compiles_nothing_wherever_its_folders_are(triton, tmp_path):
    """The first process moves its folder, and so does the second, to another place."""
    manager = {"TRITON_CACHE_MANAGER": MANAGER}
    first = serve_warm(tmp_path, "--cache", f"triton={tmp_path / 'first'}")
    assert triton(tmp_path / "own1", 64, 128, before=first, **manager) == ["compiled"] * 2
    again = serve_warm(tmp_path, "--cache", f"triton={tmp_path / 'second'}")
    assert triton(tmp_path / "own2", 64, 128, before=again, **manager) == ["hit"] * 2
    # Without the manager, a process that moves its folder compiles.
    assert triton(tmp_path / "own3", 64, before=again) == ["compiled"]


def test_what_a_command_requests_of_cubinet_is_recorded(stub, tmp_path):
    """Two processes, of which one is killed."""
    program = tmp_path / "server.py"
    program.write_text(
        "import os, signal, subprocess, sys, cubinet\n"
        "size = int(sys.argv[1])\n"
        "runtime = cubinet.Runtime(driver=sys.argv[2])\n"
        "kept = runtime.kernel('rms_norm', hidden_size=size).function()\n"
        "if size == 64: subprocess.run([sys.executable, __file__, '128', sys.argv[2]], check=True)\n"
        "if size == 64: os.kill(os.getpid(), signal.SIGKILL)\n"
        "kept.close()\n"
        "runtime.close()\n"
    )
    paths = [str(Path(cubinet.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    variables = dict(os.environ, HOME=str(tmp_path), CUBINET_HOME=str(tmp_path / "home"))
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    line = serve_warm(tmp_path, "--workload", str(tmp_path / "w.workload"))
    done = subprocess.run(
        [*line, sys.executable, str(program), "64", str(DRIVER)], env=variables, capture_output=True, text=True
    )
    assert done.returncode == 137, done.stderr
    workload = cubinet.Workload.read(tmp_path / "w.workload")
    assert sorted(entry["kernel"]["parameters"]["hidden_size"] for entry in workload.entries()) == [64, 128]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("w.workload")] == ["w.workload"]
