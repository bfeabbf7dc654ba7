# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the built package, the stub driver, a temporary home, and processes of their own.

CUBINET_TEST_BUILD names the build folder, otherwise it is build/portable. The package comes from
the environment if it is installed there, otherwise from the build folder.
"""
import ctypes
import importlib.util
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CUBINET_TEST_BUILD", ROOT / "build/portable"))
DRIVER = BUILD / "tests/stub_driver/libcuda.so.1"

if importlib.util.find_spec("cubinet") is None:
    sys.path.insert(0, str(BUILD / "python"))

import cubinet  # noqa: E402

AXPY = """
template <class T>
__global__ void axpy(T a, const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU and PyTorch; runs only with `-m gpu`")


def pytest_collection_modifyitems(config, items):
    if "gpu" in config.option.markexpr:
        return
    chosen = [item for item in items if "gpu" not in item.keywords]
    config.hook.pytest_deselected(items=[item for item in items if "gpu" in item.keywords])
    items[:] = chosen


def rounds_during(call):
    """Returns how often another thread ran, at intervals of 1 ms, and how long the call took."""
    rounds, done = [0], threading.Event()

    def count():
        while not done.wait(0.001):
            rounds[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.perf_counter()
    try:
        call()
        return rounds[0], time.perf_counter() - begin
    finally:
        done.set()
        thread.join()


class LaunchRecord(ctypes.Structure):
    """cubinet_stub_launch_record of stub_control.h."""

    _fields_ = [
        ("kernel", ctypes.c_char * 128),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32 * 3),
        ("dynamic_shared_bytes", ctypes.c_uint32),
        ("device", ctypes.c_int),
        ("stream", ctypes.c_void_p),
        ("programmatic", ctypes.c_int),
        ("cooperative", ctypes.c_int),
        ("spreads_clusters", ctypes.c_int),
        ("in_graph", ctypes.c_int),
        ("argument_bytes", ctypes.c_size_t),
        ("arguments", ctypes.c_ubyte * 1024),
    ]

    def values(self):
        return bytes(self.arguments[: self.argument_bytes])


class StubDriver:
    """The stub driver of tests/stub_driver, with its controls."""

    def __init__(self, path):
        self.path = str(path)
        self._library = ctypes.CDLL(self.path)
        self._library.cubinet_stub_launch_count.restype = ctypes.c_size_t
        self._library.cubinet_stub_launch.argtypes = [ctypes.c_size_t, ctypes.POINTER(LaunchRecord)]

    def reset(self):
        self._library.cubinet_stub_reset()

    def set_devices(self, count, major=9, minor=0):
        self._library.cubinet_stub_set_devices(count, major, minor)

    def fail(self, function, result, nth=1):
        self._library.cubinet_stub_fail(function.encode(), nth, result)

    def delay(self, function, seconds):
        self._library.cubinet_stub_delay(function.encode(), int(seconds * 1e6))

    def live(self, kind):
        return self._library.cubinet_stub_live(kind.encode())

    def function(self, name):
        """Returns a function of the driver by its name in cuda.h."""
        address = ctypes.c_void_p()
        found = self._library.cuGetProcAddress_v2(name.encode(), ctypes.byref(address), 13000, ctypes.c_uint64(0), None)
        assert found == 0, name
        return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(address.value)

    def make_stream(self, device=0):
        """Creates a stream in the primary context of a device."""
        context, stream = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.function("cuInit")(0, None, None) == 0
        assert self.function("cuDevicePrimaryCtxRetain")(ctypes.addressof(context), device, None) == 0
        assert self.function("cuCtxPushCurrent")(context, None, None) == 0
        assert self.function("cuStreamCreate")(ctypes.addressof(stream), 0, None) == 0
        assert self.function("cuCtxPopCurrent")(ctypes.addressof(context), None, None) == 0
        return stream.value

    def launches(self):
        records = []
        for index in range(self._library.cubinet_stub_launch_count()):
            record = LaunchRecord()
            assert self._library.cubinet_stub_launch(index, ctypes.byref(record)) != 0
            records.append(record)
        return records


@pytest.fixture
def stub():
    """The stub driver as after its start: one device of compute capability 9.0."""
    driver = StubDriver(DRIVER)
    driver.reset()
    yield driver
    driver.reset()


def variables_for(folder):
    """Variables under which nothing of the user's is read. NVRTC is found as the build found it."""
    kept = ("CUDA_HOME", "CUDA_PATH", "CUBINET_CUDA_WHEELS")
    return {"HOME": str(folder)} | {name: os.environ[name] for name in kept if name in os.environ}


@pytest.fixture
def environment(tmp_path):
    return variables_for(tmp_path)


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory):
    """A home that the tests share which only need a kernel, so that each is compiled once."""
    return tmp_path_factory.mktemp("shared") / "home"


@pytest.fixture
def make_runtime(stub, environment):
    """Makes Runtimes over the stub driver and closes them after the test."""
    made = []

    def make(**options):
        options = {"driver": stub.path, "environment": environment} | options
        made.append(cubinet.Runtime(**options))
        return made[-1]

    yield make
    for runtime in made:
        runtime.close()


@pytest.fixture
def runtime(make_runtime, shared_home):
    return make_runtime(home=shared_home)


@pytest.fixture
def axpy(runtime):
    """The Function axpy<float>(float, const float*, float*, int)."""
    function = runtime.kernel(cubinet.SourceProgram(AXPY, kernels=("axpy<float>",))).function()
    yield function
    function.close()


@pytest.fixture
def run_python(tmp_path):
    """Runs Python code in a process of its own that finds the package and the stub driver."""
    package = str(Path(cubinet.__file__).parents[1])

    def run(code, *arguments, **variables):
        environment = dict(os.environ, HOME=str(tmp_path), CUBINET_HOME=str(tmp_path / "home"), DRIVER=str(DRIVER))
        paths = [package, str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        environment.update(variables)
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, timeout=120
        )

    return run
