# SPDX-License-Identifier: Apache-2.0
"""Tensors by DLPack's exchange table, which also states the current stream."""
import struct

import pytest

import cubinet
import exchange
from conftest import AXPY
from exchange import Tensor


@pytest.fixture(autouse=True)
def default_stream():
    exchange.set_current_stream(0)
    yield
    exchange.set_current_stream(0)


def test_the_table_gives_address_and_current_stream(stub, axpy):
    stream = stub.make_stream()
    exchange.set_current_stream(stream)
    axpy.launch(2.0, Tensor((4,), "float32", 0x8000), None, 4, grid=1, block=32)
    launch = stub.launches()[-1]
    assert launch.values() == struct.pack("<fQQi", 2.0, 0x8000, 0, 4)
    assert launch.stream == stream


def test_a_stated_stream_wins_over_the_current_one(stub, axpy):
    exchange.set_current_stream(stub.make_stream())
    stated = stub.make_stream()
    axpy.launch(2.0, Tensor((4,), "float32"), None, 4, grid=1, block=32, stream=stated)
    assert stub.launches()[-1].stream == stated


def test_device_and_memory_are_checked(stub, axpy):
    for device, message in (((1, 0), "host memory"), ((2, 1), "device 1")):
        with pytest.raises(cubinet.InvalidArgument, match=message):
            axpy.launch(1.0, Tensor((4,), "float32", device=device), None, 4, grid=1, block=32)
    assert stub.launches() == []


def test_a_table_of_a_newer_major_version_leads_to_an_older_one(stub, axpy):
    newer = exchange.ExchangeTable(2, 0, exchange.ctypes.pointer(exchange.TABLE))

    class Newer(Tensor):
        __dlpack_c_exchange_api__ = exchange.capsule(newer)

    axpy.launch(2.0, Newer((4,), "float32", 0x9000), None, 4, grid=1, block=32)
    assert stub.launches()[-1].values() == struct.pack("<fQQi", 2.0, 0x9000, 0, 4)


def test_a_table_that_cannot_be_read_is_passed_over(axpy):
    unknown = exchange.ExchangeTable(3, 0, None)

    class Unknown(Tensor):
        __dlpack_c_exchange_api__ = exchange.capsule(unknown)

    class Wrong(Tensor):
        __dlpack_c_exchange_api__ = "no capsule"

    for kind in (Unknown, Wrong):
        with pytest.raises(cubinet.InvalidArgument, match="argument 1"):
            axpy.launch(1.0, kind((4,), "float32"), None, 4, grid=1, block=32)


def type_with(**members):
    """Returns a type of tensors with a table of its own. `members` are those that differ."""
    table = exchange.ExchangeTable.from_buffer_copy(exchange.TABLE)
    for name, value in members.items():
        setattr(table, name, value)
    return type("Own", (Tensor,), {"__dlpack_c_exchange_api__": exchange.capsule(table), "table": table})


def test_the_current_stream_is_that_of_the_functions_device(make_runtime, stub, shared_home):
    stub.set_devices(2)
    streams = [stub.make_stream(device) for device in (0, 1)]

    @exchange.CURRENT_STREAM
    def current_stream(kind, device, stream):
        stream[0] = streams[device]
        return 0

    own = type_with(current_stream=current_stream)
    kernel = make_runtime(home=shared_home).kernel(cubinet.SourceProgram(AXPY, kernels="axpy<float>"))
    kernel.function(1).launch(1.0, own((4,), "float32", device=(2, 1)), None, 4, grid=1, block=32)
    assert stub.launches()[-1].stream == streams[1]


def test_a_table_without_a_stream_needs_one(stub, axpy):
    own = type_with(current_stream=exchange.CURRENT_STREAM())
    with pytest.raises(cubinet.InvalidArgument, match="current stream"):
        axpy.launch(1.0, own((4,), "float32"), None, 4, grid=1, block=32)
    assert stub.launches() == []


def test_many_types_of_tensors_are_distinguished(stub, axpy):
    types = [type_with() for _ in range(20)]
    for _ in range(2):
        for number, each in enumerate(types):
            axpy.launch(1.0, each((4,), "float32", 0x8000 + number), None, 4, grid=1, block=32)
            assert struct.pack("<Q", 0x8000 + number) in stub.launches()[-1].values()


def test_a_table_that_fails_without_a_reason_is_a_type_error(stub, axpy):
    refusing = exchange.ExchangeTable.from_buffer_copy(exchange.TABLE)
    refusing.borrow_tensor = exchange.BORROW(lambda tensor, target: -1)

    class Refusing(Tensor):
        __dlpack_c_exchange_api__ = exchange.capsule(refusing)

    with pytest.raises(TypeError, match="without a reason"):
        axpy.launch(2.0, Refusing((4,), "float32"), None, 4, grid=1, block=32)
    streamless = exchange.ExchangeTable.from_buffer_copy(exchange.TABLE)
    streamless.current_stream = exchange.CURRENT_STREAM(lambda kind, device, stream: -1)

    class Streamless(Tensor):
        __dlpack_c_exchange_api__ = exchange.capsule(streamless)

    with pytest.raises(TypeError, match="no current stream"):
        axpy.launch(2.0, Streamless((4,), "float32"), None, 4, grid=1, block=32)
    assert stub.launches() == []
