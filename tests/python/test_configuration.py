# SPDX-License-Identifier: Apache-2.0
import os
import pickle
from pathlib import Path

import pytest

import cubinet
from conftest import ROOT
from cubinet import Bundle, Configuration, Home
from cubinet.configuration import lines_of


def options_of(**members):
    return [(name, value.decode()) for name, value in lines_of(Configuration(environment={}, **members))[1]]


def test_every_member_becomes_an_option():
    options = options_of(
        home=Home(Path("/h"), read_only=True),
        site_homes=("/s1", "/s2"),
        bundles=(Bundle("b1", mirrors=("m1", "m2")), Path("b2")),
        caches=("https://cache",),
        policy="p.json",
        compile="never",
        target="sm_90a",
        forbidden_targets=("sm_80",),
        nvrtc="/n.so",
        include_directories=("/i",),
        library_directories=("/l",),
        compiler_flags=("-DX",),
        template_files=("t.cu",),
        driver="/d.so",
    )
    assert options == [
        ("home", "/h"),
        ("home_access", "read_only"),
        ("site_home", "/s1"),
        ("site_home", "/s2"),
        ("bundle", "b1"),
        ("mirror", "m1"),
        ("mirror", "m2"),
        ("bundle", "b2"),
        ("cache", "https://cache"),
        ("policy_file", "p.json"),
        ("compile", "never"),
        ("target", "sm_90a"),
        ("forbidden_target", "sm_80"),
        ("nvrtc", "/n.so"),
        ("include_directory", "/i"),
        ("library_directory", "/l"),
        ("compiler_flag", "-DX"),
        ("template_file", "t.cu"),
        ("driver_library", "/d.so"),
    ]


def test_the_library_accepts_every_option(make_runtime, tmp_path):
    (tmp_path / "templates").mkdir()
    make_runtime(home=tmp_path / "site")
    runtime = make_runtime(
        home=Home(tmp_path / "home"),
        site_homes=(tmp_path / "site",),
        compile="never",
        target="sm_90a",
        forbidden_targets=("sm_80",),
        include_directories=(tmp_path,),
        library_directories=(tmp_path,),
        compiler_flags=("-DX=1",),
    )
    assert not runtime.closed


def test_one_value_stands_for_a_list_of_one():
    assert Configuration(bundles="b").bundles == ("b",)
    assert Configuration(bundles=Bundle("b", mirrors="m")).bundles == (Bundle("b", ("m",)),)
    assert Configuration(site_homes=Path("/s")).site_homes == (Path("/s"),)
    assert Configuration(compiler_flags="-DX").compiler_flags == ("-DX",)
    assert Configuration(template_files=["a", "b"]).template_files == ("a", "b")


def test_values_compare_hash_and_pickle():
    given = dict(home=Home("/h"), bundles=[Bundle("b", ["m"])], compile="never", environment={"A": "b"})
    one, other = Configuration(**given), Configuration(**given)
    assert one == other and hash(one) == hash(other)
    assert one != Configuration(home=Home("/h", read_only=True))
    for value in (one, Home("/h"), Bundle("b", ("m",))):
        assert pickle.loads(pickle.dumps(value)) == value


def test_a_path_with_a_zero_is_refused():
    with pytest.raises(cubinet.InvalidArgument, match="home"):
        options_of(home="x\0y")


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="hom"):
        cubinet.Runtime(hom="/h")


def test_an_argument_wins_over_the_variable(make_runtime, environment, tmp_path):
    variables = environment | {"CUBINET_HOME": str(tmp_path / "variable"), "CUBINET_COMPILE": "never"}
    make_runtime(environment=variables)
    assert (tmp_path / "variable").is_dir()
    runtime = make_runtime(environment=variables, home=tmp_path / "argument", compile="on_miss")
    assert runtime.kernel("rms_norm", hidden_size=4096).image("sm_90a")
    assert (tmp_path / "argument").is_dir()


def test_cubinet_compile_never_is_followed(make_runtime, environment):
    runtime = make_runtime(environment=environment | {"CUBINET_COMPILE": "never"})
    with pytest.raises(cubinet.NotFound):
        runtime.kernel("rms_norm", hidden_size=4096).image("sm_90a")


def test_a_wrong_cubinet_compile_is_an_error(make_runtime, environment):
    with pytest.raises(cubinet.InvalidArgument, match="`CUBINET_COMPILE` has the value 'perhaps'"):
        make_runtime(environment=environment | {"CUBINET_COMPILE": "perhaps"})


def test_a_home_by_default_that_cannot_be_used_is_a_warning_and_a_given_one_an_error(
    make_runtime, environment, tmp_path, caplog
):
    (tmp_path / "file").write_text("")
    unusable = str(tmp_path / "file" / "home")
    with caplog.at_level("WARNING", "cubinet"):
        runtime = make_runtime(environment=environment | {"CUBINET_HOME": unusable})
    assert "kernels are kept in memory" in caplog.text
    assert runtime.kernel("rms_norm", hidden_size=4096).image("sm_90a")
    with pytest.raises(cubinet.Error, match="file"):
        make_runtime(home=unusable)


def test_the_variables_of_the_process_are_the_default(run_python, tmp_path):
    code = "import cubinet, os; cubinet.Runtime(); print(os.path.isdir(os.environ['CUBINET_HOME']))"
    ran = run_python(code)
    assert ran.stdout == "True\n", ran.stderr


COMPILE = """
import cubinet, sys
sys.path.insert(0, sys.argv[1])
with cubinet.Runtime(home=None) as runtime:
    try:
        print(len(runtime.kernel("rms_norm", hidden_size=4096).image("sm_90a")))
    except cubinet.Error as error:
        print(error)
"""


def test_nvrtc_of_an_nvidia_wheel_comes_first(run_python, tmp_path):
    library = tmp_path / "site/nvidia/cu13/lib/libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"no library")
    ran = run_python(COMPILE, str(tmp_path / "site"))
    assert str(library) in ran.stdout, ran.stdout + ran.stderr


def test_nvrtc_of_an_nvidia_wheel_compiles(run_python):
    wheels = ROOT / "build/test-wheels"
    if not (wheels / "nvidia/cu13/lib/libnvrtc.so.13").exists():
        pytest.skip("build/test-wheels has no NVRTC")
    ran = run_python(COMPILE, str(wheels), CUDA_HOME="/nowhere", CUDA_PATH="/nowhere")
    assert ran.stdout.strip().isdigit(), ran.stdout + ran.stderr


def test_without_nvidia_wheels_the_library_searches_nvrtc(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "nvrtc" not in dict(options_of())


def test_environment_lines_are_those_of_the_mapping():
    # A package that was built with kernels adds the variable that names them.
    none = {"CUBINET_BUILTIN_BUNDLE": ""}
    expected = [b"A=1", b"B=2=3", b"CUBINET_BUILTIN_BUNDLE="]
    assert lines_of(Configuration(environment={"A": "1", "B": "2=3"} | none))[0] == expected
    assert len(lines_of(Configuration())[0]) - len(os.environ) in (0, 1)


def test_a_variable_may_have_any_bytes(run_python, tmp_path):
    code = "import cubinet; print(len(cubinet.Runtime().stores()))"
    ran = run_python(code, NOISE="\udcff\udcfe")
    assert ran.stdout.strip().isdigit(), ran.stderr
