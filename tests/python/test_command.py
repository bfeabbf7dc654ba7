# SPDX-License-Identifier: Apache-2.0
import json

import pytest

import cubinet
from conftest import ROOT
from cubinet.errors import error_by_name

MATRIX = {"kernels": [{"template": "rms_norm", "parameters": {"hidden_size": [64]}, "targets": ["sm_90a"]}]}


@pytest.fixture
def bundle(environment, tmp_path):
    cubinet.prebuild(tmp_path / "b.bundle", MATRIX, home=tmp_path / "home", environment=environment)
    return tmp_path / "b.bundle"


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)


def test_doctor_reports_the_home_and_the_compiler(environment, tmp_path):
    report = cubinet.doctor(environment | {"CUBINET_HOME": str(tmp_path / "place")})
    assert str(tmp_path / "place") in json.dumps(report["home"])
    assert "NVRTC" in report["compiler"]["identity"]


def test_an_intact_bundle_and_home_verify(environment, bundle, tmp_path):
    assert cubinet.verify(bundle, environment)["entries"] == 1
    assert cubinet.verify(tmp_path / "home", environment)["entries"] == 1


def test_a_damaged_bundle_is_corruption_with_the_report(environment, bundle):
    damage(bundle)
    with pytest.raises(cubinet.Corruption, match="b.bundle' is damaged in 1 places: .*wrong SHA-256") as caught:
        cubinet.verify(bundle, environment)
    assert json.loads(caught.value.detail)["findings"]


def test_a_damaged_home_is_corruption(environment, bundle, tmp_path):
    images = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    damage(images[0])
    with pytest.raises(cubinet.Corruption, match="registry repair"):
        cubinet.verify(tmp_path / "home", environment)


def test_a_missing_bundle_is_not_found(environment, tmp_path):
    with pytest.raises(cubinet.NotFound, match="absent.bundle"):
        cubinet.verify(tmp_path / "absent.bundle", environment)


def test_names_that_begin_with_a_dash_are_names(environment, bundle, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "--help").write_bytes(bundle.read_bytes())
    assert cubinet.verify("--help", environment)["findings"] == []
    assert cubinet.kernels_of("--help", environment)
    for call in (cubinet.verify, cubinet.kernels_of, cubinet.template):
        with pytest.raises(cubinet.NotFound, match="'-j'"):
            call("-j", environment)
    with pytest.raises(cubinet.InvalidArgument, match="empty"):
        cubinet.template("", environment)


def test_an_error_of_the_command_has_its_class():
    assert type(error_by_name("busy", "m", "r", "d")) is cubinet.Busy
    assert error_by_name("untrusted", "m", "r", "d").remedy == "r"
    assert type(error_by_name("newer", "m", "r", "d")) is cubinet.Error


def test_the_command_finds_nvrtc_of_an_nvidia_wheel(run_python):
    wheels = (ROOT / "build/test-wheels").resolve()
    if not (wheels / "nvidia/cu13/lib/libnvrtc.so.13").exists():
        pytest.skip("build/test-wheels has no NVRTC")
    path = f"import sys; sys.path.insert(0, {str(wheels)!r}); "
    assert str(wheels) in run_python(path + "import cubinet; print(cubinet.doctor()['compiler']['library'])").stdout


def test_templates_are_listed_and_described(environment):
    assert "attention_decode" in [each["name"] for each in cubinet.templates(environment)]
    described = cubinet.template("rms_norm", environment)
    assert "hidden_size" in [each["name"] for each in described["parameters"]]
    with pytest.raises(cubinet.Error, match="no_such_template"):
        cubinet.template("no_such_template", environment)


def test_kernels_of_a_bundle_and_of_a_home_are_listed(environment, bundle, tmp_path):
    for place in (bundle, tmp_path / "home"):
        (kernel,) = cubinet.kernels_of(place, environment)
        assert kernel["key"]
    with pytest.raises(cubinet.Error, match="absent"):
        cubinet.kernels_of(tmp_path / "absent.bundle", environment)
