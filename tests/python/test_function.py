# SPDX-License-Identifier: Apache-2.0
import ctypes
import decimal
import fractions
import inspect
import math
import pickle
import struct

import pytest

import cubinet
from cubinet import SourceProgram

KINDS = """
struct Pair { int a; float b; };
struct Big { double values[5]; };
__global__ void kinds(bool flag, signed char tiny, short small, int number, long long wide, unsigned char byte,
                      unsigned short word, unsigned int natural, unsigned long long address, float single, double real,
                      const float* pointer, Pair pair, Big big) {}
__global__ void pointers(float* a, const int* b) {}
__global__ void nothing() {}
__global__ void arrays(float rows[][4], int (*call)(int, float*), const double* __restrict__ values) {}
extern "C" __global__ void plain(float* pointer, int number, float single) {}
__device__ int counter[4];
__constant__ float scale;
"""
MANY = "__global__ void many(" + ", ".join(f"int a{i}" for i in range(50)) + ") {}"
# The arguments of `kinds`, and their layout in memory.
GIVEN = (True, -1, -2, -3, -4, 255, 65535, 2**32 - 1, 2**64 - 1, 1.5, 2.5, 4096)
GIVEN += (struct.pack("if", 7, 0.5), bytes(range(40)))
LAYOUT = "<?bhiqBHIQfdQ"
NAMES = ("kinds", "pointers", "nothing", "plain", "arrays")


@pytest.fixture
def functions(runtime):
    kernel = runtime.kernel(
        SourceProgram(KINDS, kernels=NAMES, globals=("counter", "scale"))
    )
    return {name: kernel.function(entry_point=name) for name in NAMES}


def packed(stub):
    """Returns the arguments of the last launch: in the stub they follow each other without gaps."""
    return stub.launches()[-1].values()


def test_a_function_describes_itself(functions):
    facts = functions["kinds"].describe()
    assert facts["name"] == functions["kinds"].name == "kinds"
    assert facts["symbol"].startswith("_Z5kinds")
    assert facts["device"] == functions["kinds"].device == 0
    assert facts["parameter_sizes"] == [1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 8, 40]
    assert len(facts["digest"]) == 32
    assert facts["handle"] != 0


def test_a_launch_passes_a_value_of_every_kind(functions, stub):
    functions["kinds"].launch(*GIVEN, grid=1, block=32)
    values = packed(stub)
    assert values == struct.pack(LAYOUT, *GIVEN[:12]) + GIVEN[12] + GIVEN[13]


def test_a_launch_passes_its_configuration(functions, stub):
    functions["nothing"].launch(
        grid=(4, 2, 3),
        block=[8, 4],
        cluster=(2,),
        dynamic_shared_bytes=1024,
        stream=0,
        programmatic=False,
        cooperative=False,
        spreads_clusters=1,
    )
    functions["nothing"].launch(grid=5, block=64, cooperative=True)
    first, second = stub.launches()
    assert [list(each) for each in (first.grid, first.block, first.cluster)] == [[4, 2, 3], [8, 4, 1], [2, 1, 1]]
    assert first.dynamic_shared_bytes == 1024
    assert (first.programmatic, first.cooperative, first.spreads_clusters) == (0, 0, 1)
    assert (list(second.grid), list(second.block)) == ([5, 1, 1], [64, 1, 1])
    assert (second.programmatic, second.cooperative) == (0, 1)


def test_the_launch_of_a_source_decides_whether_it_may_start_early(functions, stub):
    functions["nothing"].launch(grid=1, block=32, programmatic=True)
    functions["nothing"].launch(grid=1, block=32)
    assert [launch.programmatic for launch in stub.launches()] == [1, 0]


WAITING = """/* cubinet-template
{"name": "waiting", "interface": 1, "minimum_target": "sm_90", "parameters": [],
 "kernels": [{"name": "waiting", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 8,
              "programmatic_launch": true}]} */
#include <cubinet/parameters.cuh>
extern "C" __global__ void waiting(long long value) { asm volatile("griddepcontrol.wait;"); }
"""


def test_a_kernel_of_a_template_has_its_block_and_may_start_early(make_runtime, tmp_path, stub):
    (tmp_path / "waiting.cu").write_text(WAITING)
    function = make_runtime(home=tmp_path / "home", template_files=tmp_path / "waiting.cu").kernel("waiting").function()
    function.launch(7, grid=1, programmatic=True)
    function.launch(7, grid=1)
    assert [launch.programmatic for launch in stub.launches()] == [1, 0]
    assert list(stub.launches()[0].block) == [32, 1, 1]


def test_more_arguments_than_fit_inline_are_passed(runtime, stub):
    function = runtime.kernel(SourceProgram(MANY, kernels="many")).function()
    function.launch(*range(50), grid=1, block=32)
    assert packed(stub) == struct.pack("<50i", *range(50))


def test_none_is_a_null_pointer(functions, stub):
    functions["pointers"].launch(None, 0, grid=1, block=32)
    assert packed(stub) == bytes(16)


def test_an_int_for_a_float_is_converted(functions, stub):
    functions["kinds"].launch(*GIVEN[:9], 3, 2**60, *GIVEN[11:], grid=1, block=32)
    assert struct.pack("<fd", 3.0, 2.0**60) in packed(stub)


def test_infinity_and_nan_pass(functions, stub):
    functions["kinds"].launch(*GIVEN[:9], math.inf, math.nan, *GIVEN[11:], grid=1, block=32)
    assert struct.pack("<fd", math.inf, math.nan) in packed(stub)


def test_numbers_of_other_libraries_pass(functions, stub):
    class Index:
        def __index__(self):
            return -3

    class Float:
        def __float__(self):
            return 1.5

    numbers = (Float(), fractions.Fraction(5, 2))
    functions["kinds"].launch(*GIVEN[:3], Index(), *GIVEN[4:9], *numbers, *GIVEN[11:], grid=1, block=32)
    assert packed(stub) == struct.pack(LAYOUT, *GIVEN[:12]) + GIVEN[12] + GIVEN[13]


def test_structures_pass_as_any_buffer(functions, stub):
    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_float)]

    for pair in (Pair(7, 0.5), bytearray(GIVEN[12]), memoryview(GIVEN[12])):
        functions["kinds"].launch(*GIVEN[:12], pair, GIVEN[13], grid=1, block=32)
        assert packed(stub).endswith(GIVEN[12] + GIVEN[13])


def test_an_extern_c_kernel_takes_values_by_size(functions, stub):
    functions["plain"].launch(4096, -7, 1.5, grid=1, block=32)
    assert packed(stub) == struct.pack("<Qif", 4096, -7, 1.5)


@pytest.mark.parametrize(
    ("index", "value", "reason"),
    [
        (0, 2, "outside of the type's range"),
        (0, 0.5, "is a float"),
        (1, 128, "outside"),
        (1, -129, "outside"),
        (2, 2**15, "outside"),
        (3, 2**31, "outside"),
        (3, -(2**31) - 1, "outside"),
        (3, 1.0, "is a float"),
        (3, "1", "has the type str"),
        (3, None, "is None"),
        (3, [1], "has the type list"),
        (3, b"12", "was given 2 bytes"),
        (4, 2**63, "outside"),
        (4, -(2**63) - 1, "outside"),
        (5, 256, "outside"),
        (5, -1, "outside"),
        (6, 2**16, "outside"),
        (7, 2**32, "outside"),
        (7, -1, "outside"),
        (8, 2**64, "outside"),
        (8, -1, "outside"),
        (9, "x", "has the type str"),
        (9, 1e39, "outside of the range of float"),
        (9, decimal.Decimal("1e50"), "outside of the range of float"),
        (9, 10**400, "number"),
        (9, None, "is None"),
        (9, object(), "has the type object"),
        (10, "x", "has the type str"),
        (10, 10**400, "number"),
        (11, 1.0, "is a float"),
        (11, -1, "outside"),
        (11, 2**64, "outside"),
        (11, "x", "has the type str"),
        (11, object(), "has the type object"),
        (12, 1, "is an int"),
        (12, 1.0, "is a float"),
        (12, b"", "was given 0 bytes"),
        (12, bytes(9), "was given 9 bytes"),
        (13, None, "is None"),
        (13, bytes(39), "was given 39 bytes"),
    ],
)
def test_a_wrong_argument_is_refused_by_its_place(functions, stub, index, value, reason):
    arguments = GIVEN[:index] + (value,) + GIVEN[index + 1 :]
    with pytest.raises(cubinet.InvalidArgument, match=f"argument {index} of kernel 'kinds' .*{reason}"):
        functions["kinds"].launch(*arguments, grid=1, block=32)
    assert stub.launches() == []


@pytest.mark.parametrize("count", [0, 13, 15])
def test_a_wrong_number_of_arguments_is_refused(functions, count):
    with pytest.raises(cubinet.InvalidArgument, match=f"takes 14 arguments; given were {count}"):
        functions["kinds"].launch(*(GIVEN + (1,))[:count], grid=1, block=32)


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({}, TypeError, "grid"),
        ({"grid": 1, "blok": 32}, TypeError, "blok"),
        ({"grid": (1, 1, 1, 1)}, cubinet.InvalidArgument, "'grid' has 4 numbers"),
        ({"grid": ()}, cubinet.InvalidArgument, "'grid' has 0 numbers"),
        ({"grid": -1}, cubinet.InvalidArgument, "'grid'"),
        ({"grid": None}, cubinet.InvalidArgument, "'grid'"),
        ({"grid": 0}, cubinet.InvalidArgument, "grid"),
        ({"grid": 1, "block": 2**32}, cubinet.InvalidArgument, "'block'"),
        ({"grid": 1, "block": 2000}, cubinet.Error, "2000|thread"),
        ({"grid": 1}, cubinet.InvalidArgument, "block"),
        ({"grid": 1.5}, TypeError, "'grid'"),
        ({"grid": "1"}, TypeError, "'grid'"),
        ({"grid": (1, "2")}, TypeError, "'grid'"),
        ({"grid": 1, "block": 32, "dynamic_shared_bytes": -1}, cubinet.InvalidArgument, "dynamic_shared_bytes"),
        ({"grid": 1, "block": 32, "stream": "x"}, cubinet.InvalidArgument, "'stream'"),
        ({"grid": 1, "block": 32, "stream": -1}, cubinet.InvalidArgument, "'stream'"),
        ({"grid": 1, "block": 32, "stream": 2**64}, cubinet.InvalidArgument, "'stream'"),
    ],
)
def test_a_wrong_option_of_a_launch_is_refused_by_name(functions, stub, options, error, reason):
    with pytest.raises(error, match=reason):
        functions["nothing"].launch(**options)
    assert stub.launches() == []


def test_a_stream_is_an_int_or_an_object_of_a_library(functions, stub):
    streams = [stub.make_stream() for _ in range(4)]

    class Torch:
        cuda_stream = streams[1]

    class CuPy:
        ptr = streams[2]

    class CudaCore:
        def __cuda_stream__(self):
            return (0, streams[3])

    for stream in (None, 0, streams[0], Torch(), CuPy(), CudaCore()):
        functions["nothing"].launch(grid=1, block=32, stream=stream)
    assert [launch.stream for launch in stub.launches()] == [None, None, *streams]


def test_an_error_of_a_stream_object_is_raised(functions):
    class Broken:
        @property
        def cuda_stream(self):
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        functions["nothing"].launch(grid=1, block=32, stream=Broken())


def test_an_error_of_an_argument_object_is_raised(functions):
    class Broken:
        def __index__(self):
            raise KeyError("broken")

        def __float__(self):
            raise KeyboardInterrupt("broken")

    with pytest.raises(KeyError, match="broken"):
        functions["kinds"].launch(*GIVEN[:3], Broken(), *GIVEN[4:], grid=1, block=32)
    with pytest.raises(KeyError, match="broken"):
        functions["nothing"].launch(grid=Broken(), block=32)
    with pytest.raises(KeyboardInterrupt, match="broken"):
        functions["kinds"].launch(*GIVEN[:9], Broken(), *GIVEN[10:], grid=1, block=32)


def test_dimensions_that_change_while_they_are_read_are_an_error(functions, stub):
    class Emptying:
        def __index__(self):
            numbers.clear()
            return 1

    class Failing(list):
        def __len__(self):
            raise KeyError("broken")

    numbers = [Emptying(), 1, 1]
    with pytest.raises(IndexError):
        functions["nothing"].launch(grid=numbers, block=32)
    with pytest.raises(KeyError, match="broken"):
        functions["nothing"].launch(grid=1, block=Failing())
    assert stub.launches() == []


def test_pointers_to_arrays_and_functions_are_pointers(functions, stub):
    functions["arrays"].launch(0x7000, None, 0x7100, grid=1, block=32)
    assert packed(stub) == struct.pack("<QQQ", 0x7000, 0, 0x7100)


@pytest.mark.parametrize("index", [4, 8, 10])
def test_none_is_no_number(functions, stub, index):
    with pytest.raises(cubinet.InvalidArgument, match=f"argument {index} .*None"):
        functions["kinds"].launch(*GIVEN[:index], None, *GIVEN[index + 1 :], grid=1, block=32)
    assert stub.launches() == []


def test_a_stream_that_launches_when_it_is_released_keeps_the_streams_apart(functions, stub):
    class Stream:
        def __init__(self):
            self.cuda_stream = stub.make_stream()

        def launch(self):
            functions["nothing"].launch(grid=1, block=32, stream=self)

    class Last(Stream):
        def __del__(self):
            second.launch()

    first, second = Last(), Stream()
    first.launch()
    expected = [first.cuda_stream] + [second.cuda_stream] * 2
    del first
    second.launch()
    assert [launch.stream for launch in stub.launches()] == expected


def test_a_global_variable_has_an_address_and_a_size(functions):
    address, size = functions["kinds"].global_variable("counter")
    assert address != 0 and size == 16
    assert functions["kinds"].global_variable("scale")[1] == 4
    with pytest.raises(cubinet.NotFound, match="missing"):
        functions["kinds"].global_variable("missing")


def test_a_closed_function_refuses_every_call(functions):
    function = functions["nothing"]
    function.close()
    function.close()
    assert function.closed
    launch = lambda: function.launch(grid=1, block=32)  # noqa: E731
    for call in (launch, function.describe, lambda: function.global_variable("scale")):
        with pytest.raises(cubinet.InvalidArgument, match="the Function is closed"):
            call()
    assert function.name == "nothing"


def test_a_block_closes_its_function(runtime):
    with runtime.kernel(SourceProgram(MANY, kernels="many")).function() as function:
        assert not function.closed
    assert function.closed


def test_a_function_shows_its_name_and_device(functions):
    assert repr(functions["plain"]) == "<Function plain on device 0>"
    functions["plain"].close()
    assert repr(functions["plain"]) == "<Function plain on device 0, closed>"


def test_a_function_refuses_to_pickle_and_to_be_made(functions):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(functions["plain"], protocol)
    with pytest.raises(TypeError):
        cubinet.Function()
    with pytest.raises(TypeError):
        cubinet.Function.__new__(cubinet.Function).launch(grid=1)


def test_a_function_is_documented():
    assert list(inspect.signature(cubinet.Function.launch).parameters)[:4] == ["self", "arguments", "grid", "block"]
    assert "InvalidArgument" in cubinet.Function.launch.__doc__
    public = [each for each in vars(cubinet.Function) if not each.startswith("_") and each != "closed"]
    assert [each for each in public if not getattr(cubinet.Function, each).__doc__] == []


def test_a_function_belongs_to_its_device(make_runtime, stub, shared_home):
    stub.set_devices(2)
    kernel = make_runtime(home=shared_home).kernel(SourceProgram(MANY, kernels="many"))
    second = kernel.function(device=1)
    second.launch(*range(50), grid=1, block=32)
    assert (second.device, stub.launches()[-1].device) == (1, 1)
    with pytest.raises(cubinet.Error, match="2"):
        kernel.function(device=2)
    with pytest.raises(cubinet.Error):
        kernel.function(device=-1)
