# SPDX-License-Identifier: Apache-2.0
"""The kernels that come with the package."""
from pathlib import Path

import pytest

import cubinet
from cubinet import AttentionProblem

BUILTIN = Path(cubinet.__file__).with_name("builtin.bundle")
PROBLEM = AttentionProblem(batch=3, kv_len=1000, heads_q=32, heads_kv=8, page_size=16)

needs_bundle = pytest.mark.skipif(not BUILTIN.is_file(), reason="the package was built without kernels")


@needs_bundle
def test_the_first_attention_of_a_fresh_install_compiles_nothing(make_runtime, tmp_path):
    runtime = make_runtime(home=tmp_path / "home")
    for page in (16, 64, 256):
        for append in (False, True):
            problem = AttentionProblem(batch=3, kv_len=1000, heads_q=32, heads_kv=8, page_size=page, append=append)
            runtime.attention(problem).close()
    counters = runtime.counters()
    assert counters.compiled == 0
    assert counters.bundle_hits > 0


@needs_bundle
def test_no_compiler_is_needed(make_runtime, tmp_path):
    runtime = make_runtime(home=tmp_path / "home", compile="never", nvrtc="/absent")
    assert runtime.attention(PROBLEM).info["backend"] == "templates"


@needs_bundle
def test_explain_and_stores_name_the_bundle(make_runtime, tmp_path):
    runtime = make_runtime(home=tmp_path / "home")
    assert any(store["place"].startswith("builtin:") or store["place"] == str(BUILTIN) for store in runtime.stores())


@needs_bundle
def test_a_policy_may_refuse_it(make_runtime, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text('{"stores": [{"place": "builtin:"}]}')
    runtime = make_runtime(home=tmp_path / "home", compile="never", policy=policy)
    with pytest.raises(cubinet.Error):
        runtime.attention(PROBLEM)
    assert runtime.counters().bundle_hits == 0


def test_another_bundle_is_not_taken_for_the_packages_own(make_runtime, environment, tmp_path):
    other = tmp_path / "other.bundle"
    other.write_bytes(b"no bundle")
    with pytest.raises(cubinet.Error, match="other.bundle|built without"):
        make_runtime(home=tmp_path / "home", environment=environment | {"CUBINET_BUILTIN_BUNDLE": str(other)})
