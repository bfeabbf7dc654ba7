# SPDX-License-Identifier: Apache-2.0
import pytest

import cubinet
from conftest import AXPY

DECODE = cubinet.AttentionProblem(batch=4, kv_len=512, heads_q=8, heads_kv=2)


@pytest.fixture
def recorded(make_runtime, shared_home):
    """The workloads of two ranks."""
    workloads = []
    for size in (64, 128):
        with make_runtime(home=shared_home, record=True) as runtime:
            runtime.kernel("rms_norm", hidden_size=size).function()
            runtime.kernel("rms_norm", hidden_size=size).function()
            runtime.attention(DECODE)
            workloads.append(runtime.workload())
    return workloads


def test_two_ranks_are_merged_prebuilt_and_prepared_without_a_compile(make_runtime, environment, recorded, tmp_path):
    recorded[0].write(tmp_path / "w")
    merged = cubinet.Workload.read(tmp_path / "w").merge(recorded[1])
    assert merged == recorded[1].merge(recorded[0], recorded[1])
    assert [list(entry) and entry["order"] for entry in merged.entries()] == [0, 0, 1]
    assert sum("attention" in entry for entry in merged.entries()) == 1
    report = cubinet.prebuild(
        tmp_path / "w.bundle", workload=merged, home=tmp_path / "home", environment=environment
    )
    assert report["kernels"] >= 3 and not report["unserved"]
    runtime = make_runtime(home="", bundles=tmp_path / "w.bundle", compile="never")
    seen = []
    report = runtime.prepare(merged, jobs=1, progress=seen.append)
    assert report["loaded"] == 3 and report["compiled"] == 0
    assert [state.outcome for state in seen if state.kernel] == ["loaded"] * 3
    hits = runtime.counters().process_hits
    runtime.kernel("rms_norm", hidden_size=128).function()
    assert runtime.counters().process_hits == hits + 1


def test_what_cannot_be_prepared_is_in_the_detail_and_the_rest_is_loaded(make_runtime, recorded, tmp_path):
    runtime = make_runtime(home="")
    with pytest.raises(cubinet.InvalidArgument) as raised:
        runtime.prepare(cubinet.Workload(recorded[0].text + "nonsense\n"))
    assert '"loaded": 2' in raised.value.detail
    with pytest.raises(cubinet.Unsupported, match="version 9"):
        runtime.prepare(cubinet.Workload('{"cubinet_workload":9,"lines":0}\n'))
    with pytest.raises(cubinet.InvalidArgument, match="line 5"):
        recorded[0].merge(cubinet.Workload(recorded[0].text + "nonsense\n"))


def test_a_source_appears_by_its_digest_and_is_prepared_where_it_is_known(make_runtime):
    source = cubinet.SourceProgram(AXPY, kernels=("axpy<float>",))
    with make_runtime(home="", record=True) as runtime:
        runtime.kernel(source).function()
        workload = runtime.workload()
    assert "blockIdx" not in workload.text
    runtime = make_runtime(home="")
    with pytest.raises(cubinet.NotFound, match="SHA-256"):
        runtime.prepare(workload)
    runtime.kernel(source)
    assert runtime.prepare(workload)["loaded"] == 1


def test_a_recording_can_be_paused_and_an_exception_of_the_progress_ends_the_call(make_runtime, recorded):
    runtime = make_runtime(home="")
    runtime.record()
    runtime.record(False)

    def refuse(state):
        raise KeyError(state.done)

    with pytest.raises(KeyError):
        runtime.prepare(recorded[0], progress=refuse)
    runtime.prepare(recorded[0])
    assert runtime.workload().entries() == []
    assert "lines" in repr(runtime.workload())
    runtime.close()
    with pytest.raises(cubinet.InvalidArgument, match="closed"):
        runtime.workload()


def test_a_preparation_in_the_progress_of_another_is_busy(make_runtime, recorded):
    runtime = make_runtime(home="")
    other = make_runtime(home="")
    refused = []

    def nested(state):
        for each in (runtime, other):
            with pytest.raises(cubinet.Busy, match="callback of a running preparation") as raised:
                each.prepare(recorded[1])
            refused.append(raised.value.remedy)

    assert runtime.prepare(recorded[0], progress=nested)["loaded"] == 2
    assert refused and all(refused)
    assert runtime.prepare(recorded[1])["loaded"] == 2


def test_a_name_with_a_line_separator_of_unicode_is_one_entry():
    entry = (
        '{"devices":[{"capability":"9.0"}],"kernel":{"maker":"function","name":"a\u2028b\u0085c","parameters":{}},"order":0}'
    )
    workload = cubinet.Workload(f'{{"cubinet_workload":1,"lines":1}}\n{entry}\n')
    assert [each["kernel"]["name"] for each in workload.entries()] == ["a\u2028b\u0085c"]
