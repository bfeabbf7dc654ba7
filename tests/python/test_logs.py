# SPDX-License-Identifier: Apache-2.0
import logging
import signal
import threading

import pytest

import cubinet
from conftest import AXPY

SOURCE = cubinet.SourceProgram(AXPY, kernels=("axpy<float>",))


def damage_builds(home):
    builds = [path for path in home.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert builds
    for path in builds:
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[:-8] + b"damaged!")


@pytest.fixture
def kernel_of_a_damaged_home(make_runtime, tmp_path):
    """A kernel whose stored build is damaged, so that the next request for it logs lines."""
    make_runtime(home=tmp_path / "home").kernel(SOURCE).image("sm_90a")
    damage_builds(tmp_path / "home")
    return make_runtime(home=tmp_path / "home").kernel(SOURCE)


@pytest.fixture
def handled():
    """Adds a handler to the logger `cubinet` that takes every line."""
    logger = logging.getLogger("cubinet")
    level, added = logger.level, []

    def add(handle):
        handler = logging.Handler()
        handler.handle = handle
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
        added.append(handler)

    yield add
    logger.setLevel(level)
    for handler in added:
        logger.removeHandler(handler)


def test_lines_of_a_call_arrive_before_its_result(kernel_of_a_damaged_home, handled):
    records = []
    handled(records.append)
    kernel_of_a_damaged_home.image("sm_90a")
    assert records
    assert {record.name for record in records} == {"cubinet"}
    assert {record.levelno for record in records} <= {logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR}
    assert any("digest" in record.getMessage() or "damaged" in record.getMessage() for record in records)


def test_lines_with_percent_signs_are_not_formatted(handled):
    from cubinet.logs import emit

    records = []
    handled(records.append)
    emit(2, "100% of %s")
    assert records[0].getMessage() == "100% of %s"


def test_a_raising_handler_harms_nothing(kernel_of_a_damaged_home, handled, monkeypatch):
    def fail(record):
        raise RuntimeError("a broken handler")

    unraisable = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    handled(fail)
    assert kernel_of_a_damaged_home.image("sm_90a").startswith(b"\x7fELF")
    assert unraisable
    assert all(isinstance(each.exc_value, RuntimeError) for each in unraisable)


def test_a_raising_handler_does_not_replace_an_error(kernel_of_a_damaged_home, handled, monkeypatch):
    def fail(record):
        raise RuntimeError("a broken handler")

    monkeypatch.setattr("sys.unraisablehook", lambda each: None)
    handled(fail)
    with pytest.raises(cubinet.InvalidArgument):
        kernel_of_a_damaged_home.image("no target")


def test_a_handler_may_call_the_library(kernel_of_a_damaged_home, runtime, handled):
    counts = []
    handled(lambda record: counts.append(runtime.counters().compiled))
    kernel_of_a_damaged_home.image("sm_90a")
    assert counts


def test_lines_of_a_waiting_thread_arrive_in_the_main_thread(make_runtime, tmp_path, handled):
    """The damage is logged before the kernel is compiled again, which takes longer."""
    text = "template <int N> __global__ void f(float* y) { y[N] = sinf(y[N]); }"
    source = cubinet.SourceProgram(text, kernels=tuple(f"f<{n}>" for n in range(40)))
    make_runtime(home=tmp_path / "home").kernel(source).image("sm_90a")
    damage_builds(tmp_path / "home")
    kernel = make_runtime(home=tmp_path / "home").kernel(source)
    threads = []
    handled(lambda record: threads.append(threading.current_thread()))
    thread = threading.Thread(target=lambda: kernel.image("sm_90a"))
    thread.start()
    while thread.is_alive():
        thread.join(0.001)
    assert threads[0] is threading.main_thread()


def test_lines_of_a_thread_arrive(kernel_of_a_damaged_home, handled):
    records = []
    handled(records.append)
    thread = threading.Thread(target=lambda: kernel_of_a_damaged_home.image("sm_90a"))
    thread.start()
    thread.join()
    assert records


def test_an_interrupt_during_a_handler_reaches_the_program(kernel_of_a_damaged_home, handled):
    handled(lambda record: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        kernel_of_a_damaged_home.image("sm_90a")
        for _ in range(100):  # Signals are handled between two instructions.
            pass


def test_no_record_is_lost_while_the_module_that_passes_them_on_is_imported(run_python):
    """Another thread's records arrive in the middle of the import that the first record began."""
    code = """
import logging, sys, threading, time
import cubinet
seen = []
handler = logging.Handler()
handler.handle = seen.append
logger = logging.getLogger("cubinet")
logger.addHandler(handler)
logger.setLevel(logging.DEBUG)
runtime = cubinet.Runtime(home=None, compile="never")
get_logger, threads = logging.getLogger, []
def miss(first):
    for size in range(first, first + 8):
        try:
            runtime.kernel("rms_norm", hidden_size=64 * size).image("sm_90a")
        except cubinet.Error:
            pass
def slow_get_logger(name=None):
    logging.getLogger = get_logger
    threads.append(threading.Thread(target=miss, args=(100,)))
    threads[0].start()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:  # the pending call runs in this loop
        pass
    return get_logger(name)
logging.getLogger = slow_get_logger
assert "cubinet.logs" not in sys.modules
miss(1)
threads[0].join()
print(len({record.cubinet["kernel"] for record in seen if record.cubinet.get("event") == "kernel"}))
"""
    ran = run_python(code)
    assert ran.stdout == "16\n" and not ran.stderr, ran.stdout + ran.stderr
