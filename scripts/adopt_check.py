#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows on the real Triton and cuda.core what docs/adoption.md promises, on a GPU where there is one.

Usage: adopt_check.py TOOL [-o RESULTS.json]     as root, by the Python that has Triton; TOOL: the built cubinet

A kernel is compiled into one cache, adopted, bundled and signed; then another user, with a cache elsewhere, gets it from
the bundle and calls the tool. Every process that is started is written down: of compilers there must be none. Without a
GPU Triton compiles for 9.0 and launches nothing, so that its helper for the host is not made. One line a check; exit
status 1 when one fails.
"""
import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

USER = 65534  # nobody
COMPILERS = ("gcc", "cc", "g++", "c++", "clang", "cc1", "ld", "ptxas", "ptxas-blackwell", "nvcc", "cicc")

TRITON_PROGRAM = '''
import os, sys
trace = open(os.environ["CHECK_TRACE"], "a", buffering=1)
def note(event, arguments):
    # Popen may end in one of the next two, and is then recorded twice.
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
        command = arguments[0] if event == "os.system" else arguments[1]
        words = command if isinstance(command, (list, tuple)) else [command]
        trace.write("process " + " ".join(str(word) for word in words) + chr(10))
sys.addaudithook(note)
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

triton.knobs.compilation.listener = lambda **said: trace.write("hit" + chr(10) if said["cache_hit"] else "compiled" + chr(10))
gpu = os.environ["CHECK_GPU"] == "1"
for block in map(int, sys.argv[1:]):
    if gpu:
        import torch
        x = torch.randn(10000, device="cuda")
        y = torch.empty_like(x)
        scale[(triton.cdiv(10000, block),)](x, y, 10000, BLOCK=block)
        assert torch.equal(y, x * 2)
    else:
        triton.compile(ASTSource(scale, {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": block}),
                       target=GPUTarget("cuda", 90, 32))
'''

CUDA_CORE_PROGRAM = '''
import os, sys
from cuda.core import Program, ProgramOptions
from cuda.core.utils import FileStreamProgramCache
trace = open(os.environ["CHECK_TRACE"], "a", buffering=1)
class Told(FileStreamProgramCache):
    def __getitem__(self, key):
        code = super().__getitem__(key)
        trace.write("hit" + chr(10))
        return code
    def __setitem__(self, key, value):
        trace.write("compiled" + chr(10))
        super().__setitem__(key, value)
with Told(os.environ["CHECK_CACHE"]) as cache:
    for factor in sys.argv[1:]:
        source = 'extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= %s.0f; }' % factor
        Program(source, "c++", ProgramOptions(arch="sm_" + os.environ["CHECK_ARCH"])).compile("cubin", cache=cache)
'''


class Check:
    def __init__(self, tool):
        self.tool = os.path.abspath(tool)
        self.folder = Path(tempfile.mkdtemp(prefix="adopt-check-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.results = []
        self.arch, self.gpu = device()

    def own(self, name):
        """A folder of the other user's."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        os.chown(path, USER, USER)
        return path

    def cubinet(self, *arguments, home="home", user=None):
        line = [self.tool, "--home", str(self.folder / home), "--json", *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True, user=user, group=user, extra_groups=user and [],
                              check=False)
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    def python(self, program, arguments, user=None, **setting):
        """What the program did: hits, compilations, the processes that it started."""
        trace = self.folder / "trace"
        trace.write_text("")
        trace.chmod(0o666)
        file = self.folder / "program.py"
        file.write_text(program)
        environment = {"PATH": os.environ["PATH"], "CHECK_TRACE": str(trace), "CHECK_GPU": "1" if self.gpu else "0",
                       "CHECK_ARCH": self.arch, "HOME": str(self.own("nobody") if user else self.folder),
                       "TRITON_DEFAULT_FP_FUSION": "1", **setting}
        for name in ("PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_HOME", "TRITON_LIBCUDA_PATH"):
            if name in os.environ:
                environment[name] = os.environ[name]
        began = time.monotonic()
        done = subprocess.run([sys.executable, str(file), *map(str, arguments)], capture_output=True, text=True, user=user,
                              group=user, extra_groups=user and [], env=environment, cwd="/", check=False)
        seconds = round(time.monotonic() - began, 2)
        lines = trace.read_text().splitlines()
        processes = [line[len("process "):] for line in lines if line.startswith("process ")]
        return {"status": done.returncode, "seconds": seconds, "error": done.stderr[-600:] if done.returncode else "",
                "hits": lines.count("hit"), "compiled": lines.count("compiled"), "processes": processes,
                "compilers": [line for line in processes if compiles(line)]}

    def triton(self, cache, blocks, user=None):
        return self.python(TRITON_PROGRAM, blocks, user, TRITON_CACHE_DIR=str(cache))

    def expect(self, what, right, said):
        self.results.append({"check": what, "passed": bool(right), "said": said})
        print(f"{'pass' if right else 'FAIL'}  {what}" + ("" if right else f": {said}"), flush=True)


def device():
    try:
        import torch  # noqa: PLC0415
        if torch.cuda.is_available():
            return "%d%d" % torch.cuda.get_device_capability(), True
    except ImportError:
        pass
    return "90", False


def compiles(line):
    """Whether it is a compiler at work, and not asked for its version."""
    words = line.split()
    return Path(words[0]).name in COMPILERS and "--version" not in words


def sign(check, bundle, home):
    """A key, the bundle's signature, and a policy that wants it, in the home of the other user."""
    key = check.folder / "key"
    if not key.exists():
        check.cubinet("trust", "keygen", key)
    status, _, error = check.cubinet("bundle", "sign", bundle, "--key", key)
    public = Path(f"{key}.pub").read_text().split()[-1]
    policy = check.own(home) / "policy.json"
    policy.write_text(json.dumps({"default": {"trusted_keys": [public], "threshold": 1}}))
    policy.chmod(0o600)
    os.chown(policy, USER, USER)
    check.own(home).chmod(0o700)
    return status == 0 or error


def check_triton(check):
    import triton  # noqa: PLC0415
    version = triton.__version__
    here = check.arch[:-1] + "." + check.arch[-1]
    other = "8.0" if check.arch != "80" else "9.0"
    first = check.folder / "first"
    made = check.triton(first, [128, 256])
    check.expect(f"Triton {version} compiles two kernels", made["compiled"] == 2 and made["compilers"], made)
    status, adopted, error = check.cubinet("adopt", first, "--tool-version", version)
    check.expect("its cache is adopted, whole", status == 0 and not adopted["left_out"], [adopted, error])
    hosts = sum(1 for entry in adopted["entries"] if entry["parameters"].get("host"))
    check.expect("what runs on the host is told apart", (hosts > 0) == check.gpu, adopted)
    bundle = check.folder / "triton.bundle"
    check.cubinet("bundle", "create", "-o", bundle, "--template", "triton", "--profile", "ship")

    moved = check.own("moved") / "cache"
    shutil.copytree(first, moved)
    first.rename(check.folder / "gone")
    subprocess.run(["chown", "-R", str(USER), moved], check=True)
    said = check.triton(moved, [128], USER)
    check.expect("a cache that was only copied misses", said["compiled"] == 1 and said["hits"] == 0, said)

    def put(name, *options, home="unsigned", device_name=here, tool_version=version, file=bundle):
        cache = check.own(name) / "cache"
        line = ("materialize", "triton", cache, "--tool-version", tool_version, "--device", device_name, "--bundle", file)
        check.own(home)
        return cache, check.cubinet(*line, *options, home=home, user=USER)

    cache, (status, put_there, error) = put("second")
    check.expect("without a signature what runs on the host is left out and named",
                 status == 0 and len(put_there["written"]) == 2 and len(put_there["left_out"]) == hosts, [put_there, error])
    said = check.triton(cache, [128, 256], USER)
    check.expect("and Triton hits all the same, calling the C compiler for that alone",
                 said["hits"] == 2 and said["compiled"] == 0 and
                 all(Path(line.split()[0]).name in ("gcc", "cc") for line in said["compilers"]) and
                 bool(said["compilers"]) == check.gpu, said)
    check.expect("the bundle is signed", sign(check, bundle, "trusting"), "")
    cache, (status, put_there, error) = put("third", home="trusting")
    check.expect("with one everything is put", status == 0 and len(put_there["written"]) == 2 + hosts, [put_there, error])
    modes = {stat.S_IMODE(file.stat().st_mode) for file in cache.rglob("*") if file.is_file()}
    check.expect("its files are for reading alone", modes == {0o444}, [oct(mode) for mode in modes])
    said = check.triton(cache, [128, 256], USER)
    check.expect("another user at another path hits, and starts no compiler",
                 said["hits"] == 2 and said["compiled"] == 0 and not said["compilers"], said)
    said = check.triton(cache, [512], USER)
    check.expect("a kernel outside the set still compiles there", said["compiled"] == 1 and said["status"] == 0, said)
    said = check.triton(cache, [512], USER)
    check.expect("and is kept", said["hits"] == 1 and not said["compilers"], said)

    _, (status, put_there, error) = put("fourth", device_name=other)
    check.expect(f"nothing is put for {other}", status == 1 and not put_there["written"], [put_there, error])
    _, (status, put_there, error) = put("fifth", tool_version="2.0.0")
    check.expect("nothing is put for another version", status == 1 and not put_there["written"], [put_there, error])
    content = bytearray(bundle.read_bytes())
    content[-20] ^= 1
    damaged = check.folder / "damaged.bundle"
    damaged.write_bytes(content)
    _, (status, put_there, error) = put("sixth", file=damaged)
    bad = [each["entry"] for each in put_there.get("left_out", []) if "damaged" in each["reason"]]
    check.expect("an entry of which one byte is flipped is not put",
                 len(bad) == 1 and bad[0] not in put_there["written"], [put_there, error])


def check_cuda_core(check):
    try:
        import cuda.core  # noqa: PLC0415
        from cuda.core.utils import FileStreamProgramCache  # noqa: F401, PLC0415
    except ImportError as missing:
        print(f"skip  cuda.core: {missing}")
        return
    version = cuda.core.__version__
    first = check.folder / "core-first"
    made = check.python(CUDA_CORE_PROGRAM, [2, 3], CHECK_CACHE=str(first))
    check.expect(f"cuda.core {version} compiles two kernels", made["compiled"] == 2, made)
    status, adopted, error = check.cubinet("adopt", first, "--tool-version", version)
    check.expect("its cache is adopted, whole", status == 0 and len(adopted["entries"]) == 2, [adopted, error])
    bundle = check.folder / "core.bundle"
    check.cubinet("bundle", "create", "-o", bundle, "--template", "cuda.core")
    cache = check.own("core-second") / "cache"
    check.own("unsigned")
    status, put_there, error = check.cubinet("materialize", "cuda.core", cache, "--tool-version", version, "--device",
                                             check.arch, "--bundle", bundle, home="unsigned", user=USER)
    check.expect("and put for another user", status == 0 and len(put_there["written"]) == 2, [put_there, error])
    said = check.python(CUDA_CORE_PROGRAM, [2, 3], USER, CHECK_CACHE=str(cache))
    check.expect("who hits and compiles nothing", said["hits"] == 2 and said["compiled"] == 0, said)
    said = check.python(CUDA_CORE_PROGRAM, [4], USER, CHECK_CACHE=str(cache))
    check.expect("a kernel outside the set still compiles there", said["compiled"] == 1 and said["status"] == 0, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    check = Check(arguments.tool)
    try:
        check_triton(check)
        check_cuda_core(check)
    finally:
        if arguments.output:
            Path(arguments.output).write_text(json.dumps({"arch": check.arch, "gpu": check.gpu, "checks": check.results},
                                                         indent=1))
        shutil.rmtree(check.folder, ignore_errors=True)
    failed = sum(not result["passed"] for result in check.results)
    print(f"{len(check.results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
