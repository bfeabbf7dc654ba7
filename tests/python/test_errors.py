# SPDX-License-Identifier: Apache-2.0
import copy
import errno
import pickle

import pytest

import cubinet
from cubinet.errors import make_error

CLASSES = {
    1: cubinet.InvalidArgument,
    2: cubinet.NotFound,
    3: cubinet.Unsupported,
    4: cubinet.Unavailable,
    5: cubinet.CompileFailed,
    6: cubinet.Corruption,
    7: cubinet.Untrusted,
    8: cubinet.IoError,
    9: cubinet.Busy,
    10: cubinet.DriverError,
    11: cubinet.InternalError,
}


@pytest.mark.parametrize("code", CLASSES)
def test_each_code_has_a_class_that_keeps_every_attribute(code):
    error = make_error(code, "what failed", "what to do", "long text", 7)
    assert type(error) is CLASSES[code]
    assert (error.message, error.remedy, error.detail, error.native) == ("what failed", "what to do", "long text", 7)
    assert str(error) == "what failed; what to do\nlong text"


@pytest.mark.parametrize("code", CLASSES)
def test_errors_pickle_and_copy_with_every_attribute(code):
    error = make_error(code, "what failed", "what to do", "long text", 7)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert vars(other) == vars(error)
        assert str(other) == str(error)


def test_a_code_of_a_newer_library_is_an_error():
    assert type(make_error(99, "new", "", "", 0)) is cubinet.Error


def test_errors_have_the_usual_base_classes():
    assert issubclass(cubinet.InvalidArgument, ValueError)
    assert issubclass(cubinet.NotFound, LookupError)
    assert issubclass(cubinet.IoError, OSError)
    assert issubclass(cubinet.Busy, TimeoutError)
    assert all(issubclass(each, cubinet.Error) for each in CLASSES.values())


def test_an_io_error_has_an_errno_as_every_oserror():
    error = make_error(8, "cannot write", "free space", "", errno.ENOSPC)
    assert error.errno == errno.ENOSPC
    assert error.strerror == "cannot write"
    assert str(error) == "cannot write; free space"


def test_a_wrong_option_is_an_invalid_argument_that_names_it(make_runtime):
    with pytest.raises(cubinet.InvalidArgument, match="`compile` has the value 'sometimes'") as caught:
        make_runtime(compile="sometimes")
    assert "never" in caught.value.remedy


def test_a_build_that_may_not_be_compiled_is_not_found(make_runtime, tmp_path):
    kernel = make_runtime(home=tmp_path / "home", compile="never").kernel("rms_norm", hidden_size=4096)
    with pytest.raises(cubinet.NotFound):
        kernel.image("sm_90a")


def test_a_compiler_error_has_the_log(make_runtime, tmp_path):
    kernel = make_runtime(home=tmp_path / "home").kernel(cubinet.SourceProgram("__global__ void f() { missing(); }"))
    with pytest.raises(cubinet.CompileFailed, match="missing") as caught:
        kernel.image("sm_90a")
    assert 'identifier "missing" is undefined' in caught.value.log


def test_a_missing_driver_is_unavailable(make_runtime, shared_home):
    runtime = make_runtime(home=shared_home, driver="/nowhere/libcuda.so.1")
    with pytest.raises(cubinet.Unavailable, match="/nowhere/libcuda.so.1"):
        runtime.kernel("rms_norm", hidden_size=4096).function()


TEMPLATE = """/* cubinet-template
{"name": "recent", "interface": 1, "minimum_target": "sm_90", "parameters": [],
 "kernels": [{"name": "recent", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 8}]} */
#include <cubinet/parameters.cuh>
extern "C" __global__ void recent(long long value) {}
"""


def test_a_target_below_the_minimum_is_unsupported(make_runtime, tmp_path):
    (tmp_path / "recent.cu").write_text(TEMPLATE)
    runtime = make_runtime(home=tmp_path / "home", template_files=tmp_path / "recent.cu")
    with pytest.raises(cubinet.Unsupported, match="sm_80"):
        runtime.kernel("recent").image("sm_80")


def test_a_file_under_a_file_is_an_io_error_with_its_errno(make_runtime, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as caught:
        make_runtime(home=tmp_path / "home", template_files=tmp_path / "file" / "template.cu")
    assert isinstance(caught.value, cubinet.IoError)
    assert caught.value.errno == caught.value.native == errno.ENOTDIR


def test_a_cache_without_a_policy_is_untrusted(make_runtime, tmp_path):
    with pytest.raises(cubinet.Untrusted, match="https://cache.example"):
        make_runtime(home=tmp_path / "home", caches="https://cache.example/builds")


def test_an_error_of_the_driver_has_its_number(stub, axpy):
    stub.fail("cuLaunchKernelEx", 719)
    with pytest.raises(cubinet.DriverError) as caught:
        axpy.launch(1.0, None, None, 0, grid=1, block=32)
    assert caught.value.native == 719
