# SPDX-License-Identifier: Apache-2.0
import pytest

import cubinet


@pytest.fixture
def options(environment, tmp_path):
    return {"home": tmp_path / "home", "environment": environment}


def test_a_page_states_the_kernels_of_a_home_and_of_a_bundle(options, tmp_path):
    matrix = {"kernels": [{"template": "rms_norm", "parameters": {"hidden_size": [64]}, "targets": ["sm_90a"]}]}
    cubinet.prebuild(tmp_path / "b.bundle", matrix, **options)
    for page in (cubinet.report(**options), cubinet.report(tmp_path / "home", tmp_path / "b.bundle", **options)):
        assert page.startswith("<!DOCTYPE html>")
        assert "rms_norm" in page and "hidden_size=64" in page


def test_a_workload_needs_no_home(options, tmp_path):
    workload = tmp_path / "w.workload"
    workload.write_text('{"cubinet_workload":1,"lines":0}\n')
    assert "The workload has no entries." in cubinet.report(workload, home="", environment=options["environment"])


def test_a_subject_of_another_kind_is_refused(options, tmp_path):
    (tmp_path / "x").write_text("neither")
    with pytest.raises(cubinet.InvalidArgument, match="cannot be reported"):
        cubinet.report(tmp_path / "x", **options)
    with pytest.raises(cubinet.NotFound):
        cubinet.report(tmp_path / "missing", **options)
