#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows on the real Triton and cuda.core what docs/adoption.md and docs/serve_warm.md promise, on a GPU where there is one.

Usage: adopt_check.py TOOL [--package FOLDER] [-o RESULTS.json]

Run it as root, by a Python that has Triton and that another user may run. TOOL is the built cubinet, FOLDER has the Python
package (build/portable/python), unless it is installed.

A kernel is compiled into one cache, adopted, bundled and signed; then another user, with a cache elsewhere, gets it from
the bundle and calls the tool. Then `serve-warm` does the same around a process with 30 kernels. Every process that is
started is written down: of compilers there must be none. Without a GPU Triton compiles for 9.0 and launches nothing, so
that its helper for the host is not made. One line a check; exit status 1 when one fails.
"""
import argparse
import json
import os
import shutil
import signal
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
if os.environ.get("CHECK_MOVE"):
    os.environ["TRITON_CACHE_DIR"] = os.environ["CHECK_MOVE"]  # as vLLM does
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

triton.knobs.compilation.listener = lambda **said: trace.write("hit" + chr(10) if said["cache_hit"] else "compiled" + chr(10))
gpu = os.environ["CHECK_GPU"] == "1"
for word in sys.argv[1:]:
    block, kind = (word + ":fp32").split(":")[:2]
    block = int(block)
    if gpu:
        import torch
        types = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64, "i32": torch.int32}
        x = torch.arange(10000, device="cuda").to(types[kind])
        y = torch.empty_like(x)
        scale[(triton.cdiv(10000, block),)](x, y, 10000, BLOCK=block)
        assert torch.equal(y, x * 2)
    else:
        triton.compile(ASTSource(scale, {"x": "*" + kind, "y": "*" + kind, "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": block}),
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


# The 30 kernels of a server, with as many launchers as there are types.
KERNELS = [f"{block}:{kind}" for kind in ("fp32", "fp16", "bf16", "fp64", "i32") for block in (32, 64, 128, 256, 512, 1024)]


class Check:
    def __init__(self, tool, package):
        self.tool = os.path.abspath(tool)
        self.package = package and os.path.abspath(package)
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

    def python(self, program, arguments, user=None, before=(), **setting):
        """What the program did, behind the words of another command: hits, compilations, processes that it started."""
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
        if self.package:
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [self.package, environment.get("PYTHONPATH", "")]))
        began = time.monotonic()
        line = [*map(str, before), sys.executable, str(file), *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True, user=user, group=user, extra_groups=user and [],
                              env=environment, cwd="/", check=False)
        seconds = round(time.monotonic() - began, 2)
        lines = trace.read_text().splitlines()
        processes = [line[len("process "):] for line in lines if line.startswith("process ")]
        return {"status": done.returncode, "seconds": seconds, "error": done.stderr[-600:] if done.returncode else "", "report": done.stderr,
                "hits": lines.count("hit"), "compiled": lines.count("compiled"), "processes": processes,
                "compilers": [line for line in processes if compiles(line)]}

    def triton(self, cache, blocks, user=None, before=()):
        return self.python(TRITON_PROGRAM, blocks, user, before, TRITON_CACHE_DIR=str(cache))

    def serve(self, home, *options):
        """The words of `serve-warm` in front of a command. On a GPU it asks the driver for the device."""
        device_options = [] if self.gpu else ["--device", "9.0"]
        return [self.tool, "--home", self.folder / home, "serve-warm", "--json", *device_options, *options, "--"]

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


def counts(said):
    """The counts of Triton in the report of `serve-warm`, the last line of its messages."""
    try:
        return json.loads(said["report"].splitlines()[-1])["tools"].get("triton", {})
    except (ValueError, LookupError):
        return {}


def check_serve_warm(check):
    first = check.folder / "serve-first"
    made = check.triton(first, KERNELS, before=check.serve("serve-home"))
    check.expect("serve-warm runs a process that compiles 30 kernels", made["status"] == 0 and made["compiled"] == 30, made)
    hosts = counts(made).get("adopted", 0) - 30
    check.expect("and adopts all of them, and what runs on the host", (hosts > 0) == check.gpu and hosts >= 0, made)
    bundle = check.folder / "serve.bundle"
    check.cubinet("bundle", "create", "-o", bundle, "--template", "triton", home="serve-home")
    check.own("serve-unsigned").chmod(0o700)
    said = check.triton(check.own("serve-a") / "cache", KERNELS, USER, check.serve("serve-unsigned", "--bundle", bundle))
    check.expect("from an unsigned bundle the second start hits, and calls the C compiler alone",
                 said["status"] == 0 and said["hits"] == 30 and bool(said["compilers"]) == check.gpu and
                 all(Path(line.split()[0]).name in ("gcc", "cc") for line in said["compilers"]), said)
    check.expect("the bundle of the server is signed", sign(check, bundle, "serve-trusting"), "")
    trusting = check.serve("serve-trusting", "--bundle", bundle)
    said = check.triton(check.own("serve-b") / "cache", KERNELS, USER, trusting)
    check.expect("from a signed one another user elsewhere starts no compiler",
                 said["status"] == 0 and said["hits"] == 30 and not said["compilers"] and
                 counts(said).get("put") == 30 + hosts and counts(said).get("adopted") == 0, said)
    check_moved_cache(check, trusting)
    content = bundle.read_bytes()
    for name, torn in (("cut", content[:len(content) // 2]), ("flipped", content[:40] + bytes([content[40] ^ 1]) + content[41:])):
        (check.folder / f"{name}.bundle").write_bytes(torn)
        before = check.serve(f"serve-home-{name}", "--bundle", check.folder / f"{name}.bundle")
        check.own(f"serve-home-{name}").chmod(0o700)
        said = check.triton(check.own(f"serve-{name}") / "cache", KERNELS[:2], USER, before)
        check.expect(f"a bundle that is {name} starts it cold, or with what is intact, and not wrong",
                     said["status"] == 0 and said["hits"] + said["compiled"] == 2, said)
    check_signals(check)


def check_moved_cache(check, before):
    """A process that moves its cache folder, with the cache manager of the Python package."""
    manager = {"TRITON_CACHE_MANAGER": "cubinet.triton:CacheManager"}
    found = check.python("import cubinet.triton", [], USER)
    if found["status"] != 0:
        print("skip  a process that moves its cache folder: name the Python package with --package")
        return
    moved = {"CHECK_MOVE": str(check.own("serve-moved") / "own")}
    said = check.python(TRITON_PROGRAM, KERNELS, USER, before, TRITON_CACHE_DIR=str(check.own("serve-c") / "cache"),
                        **manager, **moved)
    check.expect("a process that moves its cache folder starts no compiler either",
                 said["status"] == 0 and said["hits"] == 30 and not said["compilers"], said)
    moved = {"CHECK_MOVE": str(check.own("serve-moved2") / "own")}
    said = check.python(TRITON_PROGRAM, ["2048"], USER, before, TRITON_CACHE_DIR=str(check.own("serve-d") / "cache"),
                        **manager, **moved)
    check.expect("and what it compiles is adopted", said["compiled"] == 1 and counts(said).get("adopted", 0) >= 1, said)


SERVER = '''
import os, signal, sys, time
def end(number, frame):
    sys.exit(5)
if sys.argv[2] == "handled":
    signal.signal(signal.SIGTERM, end)
open(sys.argv[1], "w").write(str(os.getpid()))
while True:
    time.sleep(0.01)
'''


def has_ended(process):
    """Whether the process ends within ten seconds. Its new parent may not have reaped it."""
    for _ in range(1000):
        try:
            if ") Z " in Path(f"/proc/{process}/stat").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def check_signals(check):
    """The same ends with and without `serve-warm`, as a shell shows them."""
    check.own("serve-signals").chmod(0o700)

    def end_of(before, how, number, to_command):
        ready = check.own("serve-ready") / f"{how}{number}{to_command}{bool(before)}"
        started = subprocess.Popen([*map(str, before), sys.executable, "-c", SERVER, str(ready), how], user=USER, group=USER,
                                   extra_groups=[], stderr=subprocess.DEVNULL, cwd="/")
        while not ready.exists() or not ready.read_text():
            time.sleep(0.01)
        command = int(ready.read_text())
        os.kill(command if to_command else started.pid, number)
        status = started.wait()
        return status if status >= 0 else 128 - status, has_ended(command)

    warm = check.serve("serve-signals")
    for how, number, to_command in (("handled", signal.SIGTERM, False), ("default", signal.SIGTERM, False),
                                    ("default", signal.SIGINT, False), ("default", signal.SIGKILL, True)):
        without, with_it = end_of([], how, number, to_command), end_of(warm, how, number, to_command)
        check.expect(f"{signal.Signals(number).name} ({how}) arrives as without it", without == with_it, [without, with_it])
    said = end_of(warm, "default", signal.SIGKILL, False)
    check.expect("SIGKILL of serve-warm kills the command, too", said == (137, True), said)
    done = subprocess.run([*map(str, warm), "sh", "-c", "exit 7"], user=USER, group=USER, extra_groups=[],
                          stderr=subprocess.DEVNULL, check=False)
    check.expect("exit status 7 arrives as without it", done.returncode == 7, done.returncode)


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
    parser.add_argument("--package", help="the folder of the Python package, if it is not installed")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    check = Check(arguments.tool, arguments.package)
    try:
        check_triton(check)
        check_serve_warm(check)
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
