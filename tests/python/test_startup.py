# SPDX-License-Identifier: Apache-2.0
"""Imports, forks and ends of the interpreter, each in a process of its own."""
import pytest

RUNTIME = """
import os, sys
import cubinet
source = cubinet.SourceProgram("__global__ void f(int n) {}", kernels="f")
runtime = cubinet.Runtime(driver=os.environ["DRIVER"])
kernel = runtime.kernel(source)
function = kernel.function()
"""


def check(ran, output=""):
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, output, "")


def test_import_loads_no_other_library(run_python):
    code = """
import sys, cubinet
heavy = {"numpy", "torch", "cupy", "logging", "asyncio", "subprocess", "ctypes"} & set(sys.modules)
print(sorted(heavy))
"""
    check(run_python(code), "[]\n")


def test_every_public_name_exists(run_python):
    check(run_python("from cubinet import *; import cubinet; [getattr(cubinet, each) for each in cubinet.__all__]"))


def test_the_version_is_that_of_the_project(run_python):
    from conftest import ROOT

    project = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    version = project.split("project(")[1].split("VERSION ")[1].split()[0]
    check(run_python("import cubinet; print(cubinet.__version__)"), version + "\n")


def test_a_free_threaded_build_is_refused_by_name(run_python):
    ran = run_python("import sys; sys.abiflags = 't'; import cubinet")
    assert ran.returncode == 1
    assert "ImportError: cubinet does not support free-threaded builds of Python" in ran.stderr


def test_a_sub_interpreter_is_refused_by_name(run_python):
    code = """
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    arguments = ("legacy",)
else:
    import _xxsubinterpreters as interpreters
    arguments = ()
number = interpreters.create(*arguments)
code = '''
try:
    import cubinet
    print("imported", flush=True)
except ImportError as error:
    print(error, flush=True)
'''
interpreters.run_string(number, code)
"""
    check(run_python(code), "cubinet does not support sub-interpreters; import it in the main interpreter\n")


def test_an_interpreter_ends_cleanly_with_live_objects(run_python):
    check(run_python(RUNTIME + "import builtins; builtins.kept = [runtime, kernel, function]"))


def test_an_interpreter_ends_cleanly_with_a_cycle_of_live_objects(run_python):
    code = RUNTIME + """
class Owner: pass
owner = Owner()
owner.self, owner.objects = owner, [runtime, kernel, function]
sys.modules["kept"] = owner
"""
    check(run_python(code))


def test_an_interpreter_ends_cleanly_while_a_thread_calls(run_python):
    code = RUNTIME + """
import threading
def work():
    while True:
        function.launch(1, grid=1, block=32)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.1)
"""
    check(run_python(code))


# NVRTC's destructors, which run when the process exits, would crash a thread that compiles. A
# function that is registered before the package is imported is called after the package's own.
@pytest.mark.parametrize(
    "call",
    [
        "[runtime.kernel(program(i)).image('sm_90a') for i in range(10000)]",
        "cubinet.prebuild('many.bundle', matrix, driver=os.environ['DRIVER'])",
    ],
)
def test_nothing_is_compiled_after_the_interpreter_has_ended(run_python, call, tmp_path):
    code = f"""
import atexit, os, threading, time
def files():
    return sum(len(names) for _, _, names in os.walk(os.environ["CUBINET_HOME"]))
def compare():
    before = files()
    time.sleep(1.5)
    print(files() == before)
atexit.register(compare)
import cubinet
os.chdir({str(tmp_path)!r})
def program(number):
    return cubinet.SourceProgram(f"__global__ void f(int* a) {{{{ *a = {{number}}; }}}}", kernels="f")
matrix = {{"kernels": [{{"template": "rms_norm", "parameters": {{"hidden_size": list(range(1024, 8192, 128))}},
           "targets": ["sm_90a"]}}]}}
runtime = cubinet.Runtime(driver=os.environ["DRIVER"])
empty = files()
threading.Thread(target=lambda: {call}, daemon=True).start()
while files() < empty + 3:
    time.sleep(0.01)
"""
    check(run_python(code), "True\n")


def test_an_interpreter_ends_cleanly_after_an_uncaught_error(run_python):
    ran = run_python(RUNTIME + "kernel.image('none')")
    assert ran.returncode == 1
    assert "cubinet.errors.InvalidArgument: 'none'" in ran.stderr
    assert "leaked" not in ran.stderr


FORK = RUNTIME + """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads
def in_child(call):
    child = os.fork()
    if child == 0:
        try:
            call()
            sys.stdout.flush()
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
        %s
    _, status = os.waitpid(child, 0)
    print("child", status)
"""

CALLS = """
def refused():
    for call in (
        lambda: runtime.kernel(source),
        kernel.function,
        lambda: kernel.image("sm_90a"),
        lambda: function.launch(1, grid=1, block=32),
        lambda: cubinet.Runtime(driver=os.environ["DRIVER"]).kernel(source) and None,
    ):
        try:
            call()
            print("done")
        except cubinet.Unsupported as error:
            print("Unsupported", "fork" in str(error))
in_child(refused)
"""


def test_objects_of_the_parent_raise_in_a_forked_child(run_python):
    lines = ["Unsupported True"] * 4 + ["done"]
    ran = run_python(FORK % "os._exit(0)" + CALLS)
    assert ran.stdout.splitlines()[-1] == "child 0", ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[:-1] == lines
    assert ran.stderr == ""


def test_a_forked_child_ends_cleanly_with_the_parents_objects(run_python):
    check(run_python(FORK % "sys.exit(0)" + "in_child(lambda: None)"), "child 0\n")
    check(run_python(FORK % "sys.exit(0)" + "in_child(lambda: (runtime.close(), function.close()))"), "child 0\n")


def test_the_parents_objects_work_after_a_fork(run_python):
    code = FORK % "sys.exit(0)" + "in_child(lambda: None); function.launch(1, grid=1, block=32); kernel.image('sm_90a')"
    check(run_python(code), "child 0\n")


def test_a_forked_child_makes_a_runtime_of_its_own(run_python):
    code = FORK % "os._exit(0)" + """
def own():
    with cubinet.Runtime(driver=os.environ["DRIVER"]) as runtime:
        print(len(runtime.kernel(source).image("sm_90a")) > 0)
in_child(own)
"""
    check(run_python(code), "True\nchild 0\n")


def test_a_fork_while_another_thread_compiles_is_clean(run_python):
    code = FORK % "sys.exit(0)" + """
import threading
text = "template <int N> __global__ void f(float* y) { y[N] = sinf(y[N]); }"
many = runtime.kernel(cubinet.SourceProgram(text, kernels=tuple(f"f<{n}>" for n in range(50))))
thread = threading.Thread(target=lambda: many.image("sm_90a"))
thread.start()
for _ in range(10):
    in_child(lambda: None)
thread.join()
"""
    check(run_python(code), "child 0\n" * 10)


def test_import_takes_little_time(run_python):
    """The limit is 40 ms of processor time, which another load of the machine does not count in."""
    code = "import time; begin = time.process_time(); import cubinet; print(time.process_time() - begin)"
    assert min(float(run_python(code).stdout) for _ in range(5)) < 0.040
