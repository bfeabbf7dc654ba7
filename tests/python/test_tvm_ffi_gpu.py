# SPDX-License-Identifier: Apache-2.0
"""The functions by tvm-ffi's calling convention on a GPU, beside float32 arithmetic. Run with `-m gpu`."""
import pytest

tvm_ffi = pytest.importorskip("tvm_ffi")

from paged_cache import attend, close, DIM, gpu_runtime, HEADS_KV, HEADS_Q, int32, LENGTHS, PagedCache, randn, torch  # noqa: E402, F401
import cubinet.tvm_ffi  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def functions():
    return cubinet.tvm_ffi.load_module()


@pytest.fixture(scope="module")
def runtime(functions, tmp_path_factory):
    number = cubinet.tvm_ffi.open_runtime(functions, home=tmp_path_factory.mktemp("tvm_ffi") / "home")
    yield number
    torch.cuda.synchronize()
    functions.cubinet_close(number)


def flash(functions, runtime, q, cache, lengths, out, *, k=None, v=None, cos_sin=None, sinks=None, scale=None,
          window=-1, softcap=0.0, splits=0, rotated=None, lse=None):
    functions.cubinet_flash_attn_with_kvcache(
        runtime, q, cache.k, cache.v, k, v, cos_sin, lengths, cache.table, sinks, scale, True, window, -1, softcap,
        False, splits, rotated, out, lse)


def test_a_decode_step_equals_float32_with_every_option(functions, runtime):
    for page in (16, 64):
        cache, q = PagedCache(page), randn(len(LENGTHS), 3, HEADS_Q, DIM)
        sinks = torch.randn(HEADS_Q, device="cuda")
        lengths = (3, 517, 700)
        cases = [({}, {}), ({"window": 99}, {"window": 99}), ({"softcap": 20.0}, {"softcap": 20.0}),
                 ({"sinks": sinks}, {"sinks": sinks}), ({"splits": 2}, {})]
        for options, reference in cases:
            out = torch.empty_like(q)
            lse = torch.empty(q.shape[:3], device="cuda", dtype=torch.float32)
            flash(functions, runtime, q, cache, int32(*lengths), out, lse=lse, **options)
            for row, length in enumerate(lengths):
                o, expected = attend(q[row], *cache.rows(row, length), **reference)
                close(out[row], o)
                assert torch.allclose(lse[row].flatten(), expected.T.flatten(), atol=1e-2)


def test_new_tokens_are_written_and_rotated(functions, runtime):
    cache, q = PagedCache(64), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    k, v = (randn(len(LENGTHS), 1, HEADS_KV, DIM) for _ in range(2))
    angles = torch.rand(cache.width * 64, 32, device="cuda") * 6
    cos_sin = torch.cat((angles.cos(), angles.sin()), dim=-1)
    out, rotated = torch.empty_like(q), torch.empty_like(q)
    flash(functions, runtime, q, cache, cache.lengths, out, k=k, v=v, cos_sin=cos_sin, rotated=rotated)

    def rotate(x, position):
        a, b, rest = x[..., :32].float(), x[..., 32:64].float(), x[..., 64:].float()
        cos, sin = angles[position].cos(), angles[position].sin()
        return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), dim=-1)

    for row, length in enumerate(LENGTHS):
        close(rotated[row], rotate(q[row], length))
        keys, values = cache.rows(row, length + 1)
        close(keys[-1:], rotate(k[row], length))
        close(values[-1:], v[row].float())
        close(out[row], attend(rotated[row], keys, values)[0])


def test_flashinfers_call_equals_float32_in_a_graph_with_other_lengths(functions, runtime):
    cache, q = PagedCache(64), randn(len(LENGTHS), HEADS_Q, DIM)
    k, v = (part.transpose(1, 2).contiguous() for part in (cache.k, cache.v))
    lengths, out = cache.lengths.clone(), torch.empty_like(q)
    most = cache.width * 64

    def decode():
        functions.cubinet_trtllm_batch_decode_with_kv_cache(
            runtime, q, k, v, None, None, cache.table, lengths, most, DIM**-0.5, 1.0, -1, "HND", False, 1, None, None,
            out, None)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        decode()
        graph = torch.cuda.CUDAGraph()
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            decode()
    lengths.copy_(int32(1, 300, 650))
    out.zero_()
    torch.cuda.synchronize()
    graph.replay()
    torch.cuda.synchronize()
    for row, length in enumerate((1, 300, 650)):
        close(out[row : row + 1], attend(q[row : row + 1], *cache.rows(row, length))[0])


def test_a_host_tensor_is_refused(functions, runtime):
    cache, q = PagedCache(64), randn(len(LENGTHS), 1, HEADS_Q, DIM)
    with pytest.raises(ValueError, match="'cache_seqlens' is in host memory"):
        flash(functions, runtime, q, cache, cache.lengths.cpu(), torch.empty_like(q))
