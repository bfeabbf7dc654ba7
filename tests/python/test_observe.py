# SPDX-License-Identifier: Apache-2.0
import http.server
import logging
import os
import shutil
import subprocess
import threading
import urllib.request

import pytest

import cubinet
from conftest import AXPY, ROOT

SOURCE = cubinet.SourceProgram(AXPY, kernels=("axpy<float>",))


@pytest.fixture
def used(make_runtime, tmp_path):
    """A Runtime that has compiled one kernel for the device."""
    runtime = make_runtime(home=tmp_path / "home")
    runtime.kernel(SOURCE).function(device=0)
    return runtime


def test_metrics_count_requests_and_phases(used):
    metrics = used.metrics()
    assert metrics["requests"]["compiled"] == 1
    assert metrics["seconds"]["compile"]["count"] == 1
    assert metrics["seconds"]["compile"]["buckets"][-1] == [120.0, 1]
    assert metrics["modules"]["idle"]["count"] == 1
    assert metrics["recording"] is False
    used.record()
    assert used.metrics()["recording"] is True


def test_prometheus_text_has_the_labels(used):
    text = used.prometheus({"model": 'a"b\\c\nd'})
    assert 'cubinet_requests_total{outcome="compiled",model="a\\"b\\\\c\\\\x0ad"} 1\n' in text
    assert 'cubinet_requests_total{outcome="compiled"} 1\n' in used.prometheus()
    with pytest.raises(cubinet.InvalidArgument, match="'1a' is no name of a label"):
        used.prometheus({"1a": ""})


def test_metrics_are_served_over_http(used):
    class Metrics(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = used.prometheus({"rank": "0"}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metrics) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            assert b'cubinet_request_seconds_count{phase="compile",rank="0"} 1' in answer.read()
        server.shutdown()
        thread.join()


def test_the_journal_has_what_was_compiled_and_why(used, make_runtime, tmp_path):
    (entry,) = used.journal(since="1h")["entries"]
    assert entry["pid"] == os.getpid()
    assert entry["compile_seconds"] > 0
    assert [store["verdicts"] for store in entry["stores"]] == [[]] * len(entry["stores"])
    assert "prebuild" in entry["remedy"]
    assert used.journal(kernel=entry["key"])["entries"] == [entry]
    assert used.journal(kernel="another")["entries"] == []
    with pytest.raises(cubinet.InvalidArgument, match="'soon' is no time"):
        used.journal(since="soon")
    with pytest.raises(cubinet.Unavailable):
        make_runtime(home="").journal()


def test_a_runtime_without_a_journal_notes_nothing(make_runtime, tmp_path):
    runtime = make_runtime(home=tmp_path / "home", journal=False)
    runtime.kernel(SOURCE).function(device=0)
    assert runtime.journal()["entries"] == []


def test_records_have_their_fields(make_runtime, tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="cubinet"):
        make_runtime(home=tmp_path / "home").kernel(SOURCE).function(device=0)
    (record,) = [record for record in caplog.records if record.cubinet.get("event") == "kernel"]
    assert record.levelno == logging.INFO
    assert record.cubinet["source"] == "compiled"
    assert record.cubinet["device"] == 0
    assert record.cubinet["seconds"] >= record.cubinet["compile_seconds"] > 0


def test_a_profiler_sees_the_phases(run_python, tmp_path):
    compiler = shutil.which("c++")
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    if compiler is None or not os.path.exists(f"{toolkit}/include/nvtx3/nvToolsExt.h"):
        pytest.skip("a C++ compiler or the header of NVTX is missing")
    injection = tmp_path / "injection.so"
    source = ROOT / "tests/cli/nvtx_injection.cpp"
    subprocess.run([compiler, "-shared", "-fPIC", f"-I{toolkit}/include", source, "-o", injection], check=True)
    code = """
import os, conftest, cubinet
runtime = cubinet.Runtime(driver=os.environ["DRIVER"])
runtime.kernel(cubinet.SourceProgram(conftest.AXPY, kernels=("axpy<float>",))).function(device=0)
"""
    result = run_python(code, NVTX_INJECTION64_PATH=str(injection), NVTX_TEST_FILE=str(tmp_path / "ranges"))
    assert result.returncode == 0, result.stderr
    lines = (tmp_path / "ranges").read_text().splitlines()
    assert [" ".join(line.split()[:2]) for line in lines] == [
        "+cubinet request",
        "+cubinet find",
        "-",
        "+cubinet compile",
        "-",
        "+cubinet load",
        "-",
        "-",
    ]
