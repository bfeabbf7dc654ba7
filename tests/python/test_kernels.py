# SPDX-License-Identifier: Apache-2.0
import pickle

import pytest

import cubinet
from conftest import AXPY, ROOT
from cubinet import SourceProgram, Spec


def test_specs_compare_and_hash_by_value_and_type():
    assert Spec("t", a=1, b="x") == Spec("t", b="x", a=1)
    assert hash(Spec("t", a=[1, 2])) == hash(Spec("t", a=(1, 2)))
    assert Spec("t", a=1) != Spec("t", a=True)
    assert Spec("t", a=1) != Spec("t", a=1.0)
    assert Spec("t", a=(1, 2)) != Spec("t", a=(1.0, 2.0))
    assert Spec("t") != Spec("u")
    assert Spec("t") != "t"


def test_values_pickle():
    for value in (Spec("t", a=1, b=[1.5, 2.5], self="x", template="y"), SourceProgram(AXPY, headers={"h": "t"})):
        assert pickle.loads(pickle.dumps(value)) == value


def test_a_spec_shows_its_call():
    assert repr(Spec("rms_norm", hidden_size=4096, dtype="bf16")) == "Spec('rms_norm', dtype='bf16', hidden_size=4096)"


def test_a_spec_does_not_change():
    spec = Spec("t", a=1)
    spec.parameters["a"] = 2
    assert spec.parameters == {"a": 1}
    with pytest.raises(AttributeError):
        spec.template = "u"


def test_a_kernel_has_the_defaults_of_its_template(runtime):
    by_name = runtime.kernel("rms_norm", hidden_size=4096)
    by_spec = runtime.kernel(Spec("rms_norm", hidden_size=4096))
    assert by_name.describe() == by_spec.describe()
    assert by_name.describe()["template"] == "rms_norm"
    assert by_name.describe()["parameters"]["hidden_size"] in (4096, "4096")
    assert len(by_name.describe()["parameters"]) > 1


def test_parameters_of_a_spec_or_a_source_are_refused_as_keywords(runtime):
    with pytest.raises(TypeError, match="parameters"):
        runtime.kernel(Spec("rms_norm", hidden_size=4096), hidden_size=2048)
    with pytest.raises(TypeError, match="parameters"):
        runtime.kernel(SourceProgram(AXPY), hidden_size=2048)


@pytest.mark.parametrize("value", [None, object(), b"x", 1j, ["a"], {"a": 1}])
def test_a_parameter_of_a_wrong_type_is_refused_by_name(runtime, value):
    with pytest.raises(TypeError, match="parameter 'hidden_size'"):
        runtime.kernel("rms_norm", hidden_size=value)


@pytest.mark.parametrize("value", [2**70, [2**70], [1.5, 10**400], "\ud800"])
def test_a_value_that_c_cannot_express_is_refused_by_name(runtime, value):
    with pytest.raises(cubinet.InvalidArgument, match="parameter 'hidden_size'"):
        runtime.kernel("rms_norm", hidden_size=value)
    with pytest.raises(cubinet.InvalidArgument, match="name of a parameter"):
        runtime.kernel("rms_norm", **{"\udfff": 1})


def test_a_wrong_value_is_refused_by_name(runtime):
    with pytest.raises(cubinet.InvalidArgument, match="hidden_size"):
        runtime.kernel("rms_norm", hidden_size=-1)
    with pytest.raises(cubinet.InvalidArgument, match="hidden_sice"):
        runtime.kernel("rms_norm", hidden_sice=4096)
    with pytest.raises(cubinet.Error, match="no_such_template"):
        runtime.kernel("no_such_template").image("sm_90a")


def test_another_object_is_no_request(runtime):
    with pytest.raises(TypeError, match="not by int"):
        runtime.kernel(7)


TEMPLATE = """/* cubinet-template
{"name": "kinds", "interface": 1, "parameters": [
  {"name": "flag", "type": "bool"}, {"name": "count", "type": "int"}, {"name": "scale", "type": "float"},
  {"name": "choice", "type": "choice", "values": ["left", "right"]},
  {"name": "element", "type": "dtype", "values": ["bf16"]},
  {"name": "table", "type": "int[]"}, {"name": "weights", "type": "float[]"},
  {"name": "exact", "type": "double"}, {"name": "exact_list", "type": "double[]"}],
 "kernels": [{"name": "kinds", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 8}]} */
#include <cubinet/parameters.cuh>
using namespace cubinet::parameters;
static_assert(flag && count == 7 && scale == 0.5f && choice == choice_values::right && sizeof(element) == 2);
static_assert(table[1] == 2 && weights[0] == 1.5f);
static_assert(exact == 0.1 && exact_list[0] == 0.1 && exact_list[1] == 3);
extern "C" __global__ void kinds(long long value) {}
"""


def test_a_template_file_takes_a_value_of_every_kind(make_runtime, tmp_path):
    (tmp_path / "kinds.cu").write_text(TEMPLATE)
    runtime = make_runtime(home=tmp_path / "home", template_files=(tmp_path / "kinds.cu",))
    kernel = runtime.kernel(
        Spec(
            "kinds",
            flag=True,
            count=7,
            scale=0.5,
            choice="right",
            element="bf16",
            table=[1, 2],
            weights=(1.5, 2),
            exact=0.1,
            exact_list=[0.1, 3],
        )
    )
    function = kernel.function()
    assert function.name == "kinds"
    assert function.describe()["block"] == (32, 1, 1)


def test_a_folder_of_templates_is_read(make_runtime, tmp_path):
    runtime = make_runtime(home=tmp_path / "home", template_files=ROOT / "examples/custom_template")
    assert runtime.kernel("scale_add", dtype="bf16").image("sm_80")


def test_an_image_needs_no_device(make_runtime, shared_home):
    runtime = make_runtime(home=shared_home, driver="/nowhere/libcuda.so.1")
    kernel = runtime.kernel(SourceProgram(AXPY, kernels="axpy<float>"))
    assert kernel.image("sm_90a").startswith(b"\x7fELF")
    assert b".target sm_80" in kernel.image("sm_80", ptx=True)


def test_a_source_has_headers_by_name(make_runtime, tmp_path):
    text = '#include "value.h"\n__global__ void f(int* y) { *y = VALUE; }'
    source = SourceProgram(text, headers={"value.h": "#define VALUE 3"})
    runtime = make_runtime(home=tmp_path / "home")
    assert runtime.kernel(source).image("sm_90a")
    other = SourceProgram(source.text, headers={"value.h": "#define VALUE 4"})
    assert runtime.kernel(other).describe() != runtime.kernel(source).describe()


def test_a_source_file_finds_the_headers_beside_it(make_runtime, tmp_path):
    (tmp_path / "value.h").write_text("#define VALUE 3\n")
    (tmp_path / "program.cu").write_text('#include "value.h"\n__global__ void f(int* y) { *y = VALUE; }\n')
    source = SourceProgram.from_file(tmp_path / "program.cu", kernels="f")
    assert (source.name, source.folder, source.kernels) == ("program.cu", str(tmp_path), ("f",))
    assert make_runtime(home=tmp_path / "home").kernel(source).image("sm_90a")


def test_flags_of_a_source_are_part_of_its_identity(runtime):
    text = "__global__ void f(int* y) { *y = VALUE; }"
    one, other = (runtime.kernel(SourceProgram(text, flags=(f"-DVALUE={value}",))) for value in (1, 2))
    assert one.describe() != other.describe()
    assert one.image("sm_90a") != other.image("sm_90a")


def test_a_kernel_has_an_entry_point_for_each_name(runtime):
    kernel = runtime.kernel(SourceProgram(AXPY, kernels=("axpy<float>", "axpy<double>")))
    assert kernel.function().name == "axpy<float>"
    assert kernel.function(entry_point="axpy<double>").name == "axpy<double>"
    with pytest.raises(cubinet.Error, match="axpy<int>"):
        kernel.function(entry_point="axpy<int>")


def test_an_image_of_the_caller_is_kept_under_its_name(make_runtime, runtime, tmp_path):
    image = runtime.kernel(SourceProgram(AXPY, kernels="axpy<float>")).image("sm_90")
    other = make_runtime(home=tmp_path / "home")
    assert other.kernel_from_image("mine", image).function().name
    assert other.stored_kernel("mine").function().name
    with pytest.raises(cubinet.Error, match="absent"):
        other.stored_kernel("absent")


def test_bytes_that_are_no_image_are_refused(make_runtime, tmp_path):
    with pytest.raises(cubinet.Error):
        make_runtime(home=tmp_path / "home").kernel_from_image("mine", b"no image")


def test_a_forgotten_kernel_is_looked_up_again(runtime):
    kernel = runtime.kernel(SourceProgram(AXPY, kernels="axpy<float>"))
    assert not kernel.forget()
    kernel.function().close()
    before = runtime.counters().registry_hits
    assert kernel.forget()
    kernel.function()
    assert runtime.counters().registry_hits == before + 1


def test_a_kernel_explains_the_build_of_a_device(make_runtime, tmp_path):
    kernel = make_runtime(home=tmp_path / "home", driver="/nowhere/libcuda.so.1").kernel("rms_norm", hidden_size=64)
    before = kernel.explain("9.0")
    kernel.image("sm_90a")
    after = kernel.explain("sm_90")
    assert before != after
    assert "sm_90a" in str(after)
    with pytest.raises(cubinet.InvalidArgument):
        kernel.explain("10")


def test_a_kernel_shows_its_specification(runtime):
    assert "rms_norm" in repr(runtime.kernel("rms_norm", hidden_size=4096))


def test_a_kernel_refuses_to_pickle(runtime):
    with pytest.raises(TypeError, match="pickle its Spec or SourceProgram"):
        pickle.dumps(runtime.kernel("rms_norm", hidden_size=4096))
