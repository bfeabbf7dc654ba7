# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries as arguments of a launch, by each protocol that the binding reads."""
import ctypes
import struct

import pytest

import cubinet


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


class Dtype:
    """As torch.dtype, which is no text."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name


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
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def test_each_protocol_gives_the_address(stub, axpy):
    stream = stub.make_stream()
    packed = DLPack()
    for x, address in ((DataPointer(), 0x7000), (CudaArray(), 0x7100), (packed, 0x7210)):
        axpy.launch(1.0, x, None, 4, grid=1, block=32, stream=stream)
        assert stub.launches()[-1].values() == struct.pack("<fQQi", 1.0, address, 0, 4)
        assert stub.launches()[-1].stream == stream
    assert packed.streams == [-1]


def test_a_type_is_read_by_its_text(stub, axpy):
    tensor = DataPointer()
    tensor.dtype = Dtype("torch.float32")
    axpy.launch(1.0, tensor, None, 4, grid=1, block=32, stream=0)
    assert len(stub.launches()) == 1


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
        {"typestr": "<", "strides": (4,)},
        {"typestr": "|V99999999999999999999", "strides": (4,)},
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


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (CudaArray(data=("x", False)), "wrong types"),
        (CudaArray(shape=(1,) * 9), "8 dimensions"),
        (CudaArray(typestr="<f", strides=(4,)), "element size"),
        (CudaArray(strides=(3,)), "no multiple"),
        (type("Wrong", (DataPointer,), {"data_ptr": lambda self: "x"})(), "wrong types"),
        (type("Wrong", (DLPack,), {"__dlpack__": lambda self, stream: 5})(), "capsule"),
    ],
)
def test_a_tensor_with_a_wrong_description_is_refused_by_its_place(stub, axpy, tensor, reason):
    with pytest.raises(cubinet.InvalidArgument, match=f"argument 1 .*{reason}"):
        axpy.launch(1.0, tensor, None, 4, grid=1, block=32, stream=0)
    assert stub.launches() == []


def test_numpy_arrays_are_not_passed_as_structures(stub, axpy):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(cubinet.InvalidArgument, match="argument 1 .*host memory"):
        axpy.launch(1.0, numpy.zeros(1, numpy.uint64), None, 4, grid=1, block=32, stream=0)
    axpy.launch(numpy.float32(1.5), None, None, numpy.int64(4), grid=1, block=32)
    assert stub.launches()[-1].values() == struct.pack("<fQQi", 1.5, 0, 0, 4)
