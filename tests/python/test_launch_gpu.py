# SPDX-License-Identifier: Apache-2.0
"""Launches on a GPU with tensors of PyTorch and CuPy. Run with `-m gpu`."""
import pytest

import cubinet
from conftest import AXPY

pytestmark = pytest.mark.gpu

SOURCE = cubinet.SourceProgram(AXPY, kernels=("axpy<float>",))
COUNT = 1 << 20
GRID, BLOCK = COUNT // 256, 256


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    return torch


@pytest.fixture(scope="module")
def gpu_runtime(tmp_path_factory):
    with cubinet.Runtime(home=tmp_path_factory.mktemp("gpu") / "home") as runtime:
        yield runtime


@pytest.fixture(scope="module")
def gpu_axpy(torch, gpu_runtime):
    torch.zeros(1, device="cuda:0")
    return gpu_runtime.kernel(SOURCE).function(device=0)


@pytest.fixture
def tensors(torch):
    torch.manual_seed(0)
    x = torch.randn(COUNT, device="cuda:0")
    y = torch.randn(COUNT, device="cuda:0")
    torch.cuda.synchronize()
    return x, y, torch.add(y, x, alpha=2.0)


def test_tensors_of_torch_are_computed(torch, gpu_axpy, tensors):
    x, y, expected = tensors
    gpu_axpy.launch(2.0, x, y, COUNT, grid=GRID, block=BLOCK)
    torch.testing.assert_close(y, expected)


def test_a_view_begins_at_its_own_element(torch, gpu_axpy, tensors):
    x, y, expected = tensors
    before = y.clone()
    gpu_axpy.launch(2.0, x[256:], y[256:], 512, grid=2, block=BLOCK)
    torch.testing.assert_close(y[256:768], expected[256:768])
    assert torch.equal(y[:256], before[:256])
    assert torch.equal(y[768:], before[768:])


def test_a_parameter_of_a_module_is_a_tensor(torch, gpu_axpy, tensors):
    x, y, expected = tensors
    gpu_axpy.launch(2.0, torch.nn.Parameter(x), y, COUNT, grid=GRID, block=BLOCK)
    torch.testing.assert_close(y, expected)


def test_the_launch_follows_the_current_stream(torch, gpu_axpy, tensors):
    """The producer of x sleeps in a side stream. A launch in another stream would read zeros."""
    x, y, expected = tensors
    late = torch.zeros_like(x)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000_000)
        late.copy_(x)
        gpu_axpy.launch(2.0, late, y, COUNT, grid=GRID, block=BLOCK)
    assert not side.query()
    side.synchronize()
    torch.testing.assert_close(y, expected)


def test_a_stated_stream_wins_over_the_current_one(torch, gpu_axpy, tensors):
    x, y, expected = tensors
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000_000)
    gpu_axpy.launch(2.0, x, y, COUNT, grid=GRID, block=BLOCK, stream=side)
    torch.cuda.current_stream().synchronize()
    assert not side.query()
    side.synchronize()
    torch.testing.assert_close(y, expected)


def test_a_launch_is_captured_and_replayed(torch, gpu_axpy, tensors):
    x, y, _ = tensors
    y.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gpu_axpy.launch(2.0, x, y, COUNT, grid=GRID, block=BLOCK)
    torch.cuda.synchronize()
    assert torch.count_nonzero(y) == 0
    for _ in range(3):
        graph.replay()
    torch.testing.assert_close(y, 6.0 * x)


def test_an_array_of_cupy_needs_a_stated_stream(gpu_axpy):
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(COUNT, dtype=cupy.float32)
    y = cupy.ones(COUNT, dtype=cupy.float32)
    with pytest.raises(cubinet.InvalidArgument, match="stream"):
        gpu_axpy.launch(2.0, x, y, COUNT, grid=GRID, block=BLOCK)
    stream = cupy.cuda.Stream()
    cupy.cuda.runtime.deviceSynchronize()
    gpu_axpy.launch(2.0, x, y, COUNT, grid=GRID, block=BLOCK, stream=stream)
    stream.synchronize()
    assert cupy.allclose(y, 1 + 2 * cupy.arange(COUNT, dtype=cupy.float32))


def test_a_tensor_in_host_memory_is_refused(torch, gpu_axpy, tensors):
    x, y, _ = tensors
    for wrong in (torch.zeros(4), torch.zeros(4).pin_memory()):
        with pytest.raises(cubinet.InvalidArgument, match="argument 1 .*host memory"):
            gpu_axpy.launch(2.0, wrong, y, COUNT, grid=GRID, block=BLOCK)


def test_a_tensor_of_another_device_is_refused(torch, gpu_axpy, tensors):
    if torch.cuda.device_count() < 2:
        pytest.skip("this machine has one GPU")
    x, y, _ = tensors
    with pytest.raises(cubinet.InvalidArgument, match="argument 1 .*device 1.*device 0"):
        gpu_axpy.launch(2.0, x.to("cuda:1"), y, COUNT, grid=GRID, block=BLOCK)


def test_a_device_that_does_not_exist_is_refused(torch, gpu_runtime):
    with pytest.raises(cubinet.Error, match=str(torch.cuda.device_count())):
        gpu_runtime.kernel(SOURCE).function(device=torch.cuda.device_count())


def test_a_tensor_that_needs_a_gradient_is_passed_as_its_memory(torch, gpu_axpy, tensors):
    x, y, expected = tensors
    gpu_axpy.launch(2.0, x.clone().requires_grad_(), y, COUNT, grid=GRID, block=BLOCK)
    torch.testing.assert_close(y, expected)


def test_variables_of_the_module_are_read(torch, gpu_runtime):
    text = "__device__ int answer = 42; __global__ void read(int* y) { *y = answer; }"
    function = gpu_runtime.kernel(cubinet.SourceProgram(text, kernels="read", globals="answer")).function()
    address, size = function.global_variable("answer")
    y = torch.zeros(1, dtype=torch.int32, device="cuda:0")
    function.launch(y, grid=1, block=1)
    assert (y.item(), size) == (42, 4)
    assert address != 0
