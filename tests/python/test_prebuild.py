# SPDX-License-Identifier: Apache-2.0
import json
import logging
import os
import signal
import threading

import pytest

import cubinet
from conftest import rounds_during


def matrix_of(*sizes, targets=("sm_90a",)):
    parameters = {"hidden_size": list(sizes)}
    return {"kernels": [{"template": "rms_norm", "parameters": parameters, "targets": list(targets)}]}


@pytest.fixture
def options(environment, tmp_path):
    return {"home": tmp_path / "home", "environment": environment}


def test_a_bundle_serves_its_kernels_without_a_compiler(make_runtime, options, tmp_path):
    seen = []
    report = cubinet.prebuild(tmp_path / "b.bundle", matrix_of(64, 128), jobs=2, progress=seen.append, **options)
    assert len(report["results"]) == 2
    finished = [each for each in seen if each.kernel]
    assert [each.outcome for each in finished] == ["compiled", "compiled"]
    assert [each.done for each in finished] == [1, 2]
    assert all(each.total == 2 and each.bytes > 0 and "rms_norm" in each.kernel for each in finished)
    runtime = make_runtime(home="", bundles=tmp_path / "b.bundle", compile="never")
    assert runtime.kernel("rms_norm", hidden_size=128).image("sm_90a").startswith(b"\x7fELF")
    assert runtime.counters().bundle_hits == 1


def test_a_matrix_may_be_a_file(options, tmp_path):
    (tmp_path / "matrix.json").write_text(json.dumps(matrix_of(64)))
    assert cubinet.prebuild(tmp_path / "b.bundle", tmp_path / "matrix.json", **options)["results"]
    with pytest.raises(FileNotFoundError):
        cubinet.prebuild(tmp_path / "b.bundle", tmp_path / "absent.json", **options)


def test_the_members_of_a_bundle_are_passed_on(options, tmp_path):
    def bundle_with(**members):
        cubinet.prebuild(tmp_path / "b.bundle", matrix_of(64), **members, **options)
        return (tmp_path / "b.bundle").read_bytes()

    plain = bundle_with(profile="plain")
    given = dict(profile="archive", channel="stable", version=3, created=1, expires=2**33)
    packed = bundle_with(**given)
    assert len(packed) < len(plain)
    assert b"stable" in packed and b"stable" not in plain
    for name, value in dict(version=4, created=2, expires=2**33 + 1).items():
        assert bundle_with(**given | {name: value}) != packed, name
    assert bundle_with(**given) == packed


@pytest.mark.parametrize(
    ("matrix", "more"),
    [
        ({}, {}),
        (matrix_of(-1), {}),
        (matrix_of(64, targets=("sm_1",)), {}),
        (matrix_of(64), {"profile": "small"}),
    ],
)
def test_wrong_input_is_refused_before_a_compilation(options, tmp_path, matrix, more):
    with pytest.raises(cubinet.Error):
        cubinet.prebuild(tmp_path / "b.bundle", matrix, **more, **options)
    assert not (tmp_path / "b.bundle").exists()


def test_a_bundle_serves_the_plans_of_its_problems(make_runtime, options, tmp_path):
    problem = cubinet.AttentionProblem(batch=4, kv_len=8192, heads_q=8, heads_kv=8)
    report = cubinet.prebuild(tmp_path / "b.bundle", problems=[problem], device="9.0", sm_count=132, **options)
    assert report["kernels"] >= 1 and report["unserved"] == []
    runtime = make_runtime(home="", bundles=tmp_path / "b.bundle", compile="never")
    runtime.attention(problem).close()
    assert runtime.counters().bundle_hits == report["kernels"]


def test_problems_need_a_device_and_right_values(options, tmp_path):
    problem = cubinet.AttentionProblem(batch=4, kv_len=8192, heads_q=8, heads_kv=8)
    with pytest.raises(cubinet.InvalidArgument):
        cubinet.prebuild(tmp_path / "b.bundle", problems=[problem], **options)
    with pytest.raises(cubinet.Error, match="batch"):
        wrong = cubinet.AttentionProblem(batch=0, kv_len=8192, heads_q=8, heads_kv=8)
        cubinet.prebuild(tmp_path / "b.bundle", problems=[wrong], device="9.0", **options)


def test_a_bundle_of_nothing_is_refused(options, tmp_path):
    with pytest.raises(cubinet.Error):
        cubinet.prebuild(tmp_path / "b.bundle", **options)


def test_an_output_under_a_file_is_an_error(options, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(cubinet.Error, match="/file/"):
        cubinet.prebuild(tmp_path / "file" / "b.bundle", matrix_of(64), **options)


def test_a_missing_kernel_is_an_error_with_the_report(options, tmp_path):
    with pytest.raises(cubinet.Error) as caught:
        cubinet.prebuild(tmp_path / "b.bundle", matrix_of(64), compile="never", **options)
    assert "rms_norm" in json.dumps(json.loads(caught.value.detail))


def test_an_exception_of_the_callback_ends_the_run_and_the_next_continues(options, tmp_path):
    class Enough(Exception):
        pass

    def stop(progress):
        if progress.kernel:
            raise Enough

    sizes = range(64, 64 * 13, 64)
    with pytest.raises(Enough):
        cubinet.prebuild(tmp_path / "b.bundle", matrix_of(*sizes), jobs=1, progress=stop, **options)
    assert not (tmp_path / "b.bundle").exists()
    report = cubinet.prebuild(tmp_path / "b.bundle", matrix_of(*sizes), **options)
    sources = [each["source"] for each in report["results"]]
    assert sources.count("registry") >= 1 and sources.count("compiled") >= 1


def test_a_keyboard_interrupt_ends_the_run(options, tmp_path):
    """Another thread sends the signal, so that it arrives in no line of Python."""
    timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))

    def send(progress):
        if progress.done == 1 and timer.ident is None:
            timer.start()

    sizes = range(64, 64 * 65, 64)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            cubinet.prebuild(tmp_path / "b.bundle", matrix_of(*sizes), jobs=1, progress=send, **options)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)
    assert not (tmp_path / "b.bundle").exists()


def test_other_threads_run_meanwhile(options, tmp_path):
    rounds, _ = rounds_during(lambda: cubinet.prebuild(tmp_path / "b.bundle", matrix_of(64, 128), **options))
    assert rounds > 2


def test_lines_of_threads_that_python_does_not_know_arrive(options, tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="cubinet")
    cubinet.prebuild(tmp_path / "b.bundle", matrix_of(64), **options)
    assert any("1 kernel" in record.getMessage() for record in caplog.records)


def test_a_damaged_bundle_is_corruption(make_runtime, options, tmp_path):
    cubinet.prebuild(tmp_path / "b.bundle", matrix_of(64), **options)
    content = bytearray((tmp_path / "b.bundle").read_bytes())
    content[len(content) // 4] ^= 1
    (tmp_path / "b.bundle").write_bytes(content)
    with pytest.raises((cubinet.Corruption, cubinet.NotFound)):
        runtime = make_runtime(home="", bundles=tmp_path / "b.bundle", compile="never")
        runtime.kernel("rms_norm", hidden_size=64).image("sm_90a")
