# SPDX-License-Identifier: Apache-2.0
import shutil

import pytest

import cubinet

FEW = cubinet.AttentionProblem(batch=4, kv_len=512, heads_q=8, heads_kv=2)


def test_a_frozen_runtime_serves_what_is_loaded_and_counts_what_it_refuses(make_runtime, tmp_path):
    runtime = make_runtime(home=tmp_path / "home")
    loaded, replaced, refused = (runtime.kernel("rms_norm", hidden_size=size) for size in (64, 128, 256))
    loaded.function()
    attention = runtime.attention(FEW)
    with pytest.raises(cubinet.NotFound, match="the fallback of"):
        runtime.freeze([(loaded, replaced)])
    assert not runtime.frozen
    runtime.freeze([(replaced, loaded)])
    assert runtime.frozen
    shutil.rmtree(tmp_path / "home")
    loaded.function()
    assert replaced.function().describe()["digest"] == loaded.function().describe()["digest"]
    assert runtime.attention(FEW).info["kernel"] == attention.info["kernel"]
    for label in ("decode", "decode", "prefill"):
        with cubinet.caller(label), pytest.raises(cubinet.NotFound, match="the Runtime is frozen"):
            refused.function()
    refusals = runtime.refusals()
    assert [(entry.caller, entry.count, entry.device) for entry in refusals.entries] == [
        ("decode", 2, 0),
        ("prefill", 1, 0),
    ]
    assert refusals.entries[0].kernel.startswith("rms_norm(")
    assert (refusals.others, refusals.fallbacks) == (0, 1)
    with pytest.raises(cubinet.Unavailable, match="the stores are not read"):
        runtime.stored_kernel("rms_norm")
    runtime.thaw()
    runtime.thaw()
    assert not runtime.frozen
    refused.function()


def test_a_workload_that_is_loaded_is_prepared_while_frozen_and_another_is_reported(make_runtime, shared_home):
    runtime = make_runtime(home=shared_home, record=True)
    runtime.kernel("rms_norm", hidden_size=64).function()
    workload = runtime.workload()
    runtime.kernel("rms_norm", hidden_size=128).function()
    whole = runtime.workload()
    other = make_runtime(home=shared_home)
    other.prepare(workload)
    other.freeze()
    assert other.prepare(workload)["loaded"] == 1
    with pytest.raises(cubinet.NotFound, match="the Runtime is frozen") as raised:
        other.prepare(whole)
    assert '"loaded": 1' in raised.value.detail
