# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries as arguments of a launch, by each protocol that the binding reads."""
import ctypes
import struct

import pytest

import cubinet
from conftest import AXPY


class Device:
    def __init__(self, kind="cuda", index=0):
        self.type, self.index = kind, index


class DataPointer:
    """As PyTorch before 2.10."""

    dtype, shape = "torch.float32", (4,)

    def __init__(self, device=None):
        self.device = device or Device()

    def data_ptr(self):
        return 0x7000

    def stride(self):
        return (1,)


class CudaArray:
    """As CuPy and Numba."""

    def __init__(self, **changes):
        facts = {"shape": (4,), "typestr": "<f4", "data": (0x7100, False), "version": 3}
        self.__cuda_array_interface__ = facts | changes


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),  # DLManagedTensor begins with a DLTensor
        ("deleter", ctypes.c_void_p),
    ]


class DLPack:
    """As any library of the array API."""

    def __init__(self, device=(2, 0)):
        self.device = device
        self.streams = []
        shape = (ctypes.c_int64 * 1)(4)
        self.tensor = DLTensor(0x7200, *device, 1, 2, 32, 1, shape, None, 16)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return capsule_of(ctypes.addressof(self.tensor), b"dltensor")


def capsule_of(address, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, name, None)


Borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
CurrentStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class ExchangeTable(ctypes.Structure):
    """DLPackExchangeAPI of DLPack 1.3."""


ExchangeTable._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("previous", ctypes.POINTER(ExchangeTable)),
    ("allocate", ctypes.c_void_p),
    ("export", ctypes.c_void_p),
    ("import", ctypes.c_void_p),
    ("borrow", Borrow),
    ("current_stream", CurrentStream),
]


def exchange_type(major=1, previous=None, streams=None, address=0x7300, device=(2, 0)):
    """Returns a type of tensors with an exchange table, as PyTorch 2.10 has it. `streams` has the
    current stream of each device; None: the table has no function for it."""
    kept = []

    @Borrow
    def borrow(tensor, into):
        shape = (ctypes.c_int64 * 1)(4)
        kept.append(shape)
        # DLPack's structure ends before the members of a managed tensor.
        filled = DLTensor(address, *device, 1, 2, 32, 1, shape, None, 0)
        ctypes.memmove(into, ctypes.byref(filled), DLTensor.context.offset)
        return 0

    @CurrentStream
    def current_stream(kind, number, into):
        assert kind == 2
        into[0] = streams[number]
        return 0

    table = ExchangeTable(major, 3, previous and ctypes.pointer(previous), None, None, None, borrow)
    if streams is not None:
        table.current_stream = current_stream
    capsule = capsule_of(ctypes.addressof(table), b"dlpack_exchange_api")
    return type("Exchanged", (), {"__dlpack_c_exchange_api__": capsule, "kept": (table, borrow, current_stream, kept)})


def test_the_exchange_table_gives_address_and_stream(stub, axpy):
    stream = stub.make_stream()
    tensor = exchange_type(streams=[stream])()
    axpy.launch(1.0, tensor, tensor, 4, grid=1, block=32)
    assert stub.launches()[-1].values() == struct.pack("<fQQi", 1.0, 0x7300, 0x7300, 4)
    assert stub.launches()[-1].stream == stream


def test_the_current_stream_is_that_of_the_functions_device(make_runtime, stub, shared_home):
    stub.set_devices(2)
    streams = [stub.make_stream(device) for device in (0, 1)]
    kernel = make_runtime(home=shared_home).kernel(cubinet.SourceProgram(AXPY, kernels="axpy<float>"))
    kernel.function(1).launch(1.0, exchange_type(streams=streams, device=(2, 1))(), None, 4, grid=1, block=32)
    assert stub.launches()[-1].stream == streams[1]


def test_a_stated_stream_wins_over_the_current_one(stub, axpy):
    stated, current = stub.make_stream(), stub.make_stream()
    axpy.launch(1.0, exchange_type(streams=[current])(), None, 4, grid=1, block=32, stream=stated)
    assert stub.launches()[-1].stream == stated


def test_a_table_without_a_stream_needs_one(stub, axpy):
    with pytest.raises(cubinet.InvalidArgument, match="current stream"):
        axpy.launch(1.0, exchange_type()(), None, 4, grid=1, block=32)
    assert stub.launches() == []


def test_an_older_table_behind_a_newer_one_is_used(stub, axpy):
    older = exchange_type(streams=[None], address=0x7400)
    newer = exchange_type(major=2, previous=older.kept[0])
    axpy.launch(1.0, newer(), None, 4, grid=1, block=32)
    assert struct.pack("<Q", 0x7400) in stub.launches()[-1].values()


def test_a_table_of_an_unknown_version_is_not_read(stub, axpy):
    with pytest.raises(cubinet.InvalidArgument, match="argument 1 .*type Exchanged"):
        axpy.launch(1.0, exchange_type(major=2)(), None, 4, grid=1, block=32)


def test_many_types_of_tensors_are_distinguished(stub, axpy):
    types = [exchange_type(streams=[None], address=0x8000 + number) for number in range(20)]
    for _ in range(2):
        for number, each in enumerate(types):
            axpy.launch(1.0, each(), None, 4, grid=1, block=32)
            assert struct.pack("<Q", 0x8000 + number) in stub.launches()[-1].values()


def test_each_protocol_gives_the_address(stub, axpy):
    stream = stub.make_stream()
    packed = DLPack()
    for x, address in ((DataPointer(), 0x7000), (CudaArray(), 0x7100), (packed, 0x7210)):
        axpy.launch(1.0, x, None, 4, grid=1, block=32, stream=stream)
        assert stub.launches()[-1].values() == struct.pack("<fQQi", 1.0, address, 0, 4)
        assert stub.launches()[-1].stream == stream
    assert packed.streams == [-1]


@pytest.mark.parametrize("make", [DataPointer, CudaArray, DLPack])
def test_tensors_that_state_no_stream_need_one(stub, axpy, make):
    with pytest.raises(cubinet.InvalidArgument, match="current stream .*pass it as 'stream'"):
        axpy.launch(1.0, make(), None, 4, grid=1, block=32)
    assert stub.launches() == []


@pytest.mark.parametrize("tensor", [DataPointer(Device("cpu")), DLPack((1, 0)), DLPack((3, 0))])
def test_a_tensor_in_host_memory_is_refused(stub, axpy, tensor):
    with pytest.raises(cubinet.InvalidArgument, match="argument 1 .*host memory.*device 0"):
        axpy.launch(1.0, tensor, None, 4, grid=1, block=32, stream=0)
    assert stub.launches() == []


@pytest.mark.parametrize("tensor", [DataPointer(Device("cuda", 1)), DLPack((2, 1))])
def test_a_tensor_of_another_device_is_refused(stub, axpy, tensor):
    with pytest.raises(cubinet.InvalidArgument, match="argument 1 .*tensor on device 1; pass a tensor on device 0"):
        axpy.launch(1.0, tensor, None, 4, grid=1, block=32, stream=0)
    assert stub.launches() == []


def test_managed_memory_is_on_every_device(stub, axpy):
    axpy.launch(1.0, DLPack((13, 1)), None, 4, grid=1, block=32, stream=0)
    assert len(stub.launches()) == 1


def test_a_tensor_for_a_number_is_refused(stub, axpy):
    for index in (0, 3):
        arguments = [1.0, None, None, 4]
        arguments[index] = CudaArray()
        with pytest.raises(cubinet.InvalidArgument, match=f"argument {index} .*CudaArray"):
            axpy.launch(*arguments, grid=1, block=32, stream=0)
    assert stub.launches() == []


def test_an_error_of_a_tensor_is_raised(axpy):
    class Failing(DLPack):
        def __dlpack__(self, *, stream=None):
            raise BufferError("exported twice")

    with pytest.raises(BufferError, match="exported twice"):
        axpy.launch(1.0, Failing(), None, 4, grid=1, block=32, stream=0)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": None},
        {"data": ("x", False)},
        {"typestr": 4},
        {"typestr": "?", "strides": (4,)},
        {"shape": None},
        {"strides": (1, 2, "x")},
        {"shape": (1,) * 9},
    ],
)
def test_a_broken_description_of_a_tensor_is_an_error(stub, axpy, changes):
    with pytest.raises(Exception) as caught:
        axpy.launch(1.0, CudaArray(**changes), None, 4, grid=1, block=32, stream=0)
    assert not isinstance(caught.value, (RuntimeError, SystemError)), repr(caught.value)
    assert stub.launches() == []


def test_numpy_arrays_are_not_passed_as_structures(stub, axpy):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(cubinet.InvalidArgument, match="argument 1 .*host memory"):
        axpy.launch(1.0, numpy.zeros(1, numpy.uint64), None, 4, grid=1, block=32, stream=0)
    axpy.launch(numpy.float32(1.5), None, None, numpy.int64(4), grid=1, block=32)
    assert stub.launches()[-1].values() == struct.pack("<fQQi", 1.5, 0, 0, 4)
