# SPDX-License-Identifier: Apache-2.0
"""FlashInfer's wrapper of attention over shared prefixes on a GPU, beside float32 arithmetic. Run with `-m gpu`."""
import pytest

import cubinet
from paged_cache import DIM, HEADS_KV, HEADS_Q, attend, close, gpu_runtime, int32, randn, torch  # noqa: F401
from cubinet.flashinfer import MultiLevelCascadeAttentionWrapper

pytestmark = pytest.mark.gpu
PAGE = 16


class Levels:
    """Pages of the sequences of each level: `lengths` of each level, `members` of the sequences of the level below."""

    def __init__(self, lengths, members, q_lengths, pool=None):
        pages = [[-(-length // PAGE) for length in level] for level in lengths]
        total = sum(map(sum, pages))
        pool = pool or total + 3
        self.cache = randn(pool, 2, PAGE, HEADS_KV, DIM)
        numbers = torch.randperm(pool)[:total].to(torch.int32)
        unused = torch.ones(pool, dtype=torch.bool)
        unused[numbers.long()] = False
        self.cache[unused.cuda()] = float("nan")
        self.lengths, self.members, self.q_lengths = lengths, members, q_lengths
        self.pages, first = [], 0
        for level in pages:
            self.pages.append([])
            for count in level:
                self.pages[-1].append(numbers[first : first + count])
                first += count
        for level, each in zip(lengths, self.pages):
            for length, own in zip(level, each):
                if length % PAGE:
                    self.cache[own[-1].long(), :, length % PAGE :] = float("nan")

    def arrays(self):
        """qo_indptr, paged_kv_indptr, paged_kv_indices and paged_kv_last_page_len of each level."""
        tokens = [list(self.q_lengths)]
        for members in reversed(self.members):
            below, tokens_of = iter(tokens[0]), []
            for count in members:
                tokens_of.append(sum(next(below) for _ in range(count)))
            tokens.insert(0, tokens_of)
        indptr = [int32(0, *torch.tensor(level).cumsum(0).tolist()) for level in tokens]
        counts = [[len(each) for each in level] for level in self.pages]
        kv_indptr = [int32(0, *torch.tensor(level).cumsum(0).tolist()) for level in counts]
        indices = [torch.cat([*level, torch.zeros(0, dtype=torch.int32)]).cuda() for level in self.pages]
        last = [int32(*[(length - 1) % PAGE + 1 for length in level]) for level in self.lengths]
        return indptr, kv_indptr, indices, last

    def rows(self):
        """K and V of all tokens that each sequence of the last level sees."""
        above = [[[] for _ in self.lengths[0]]]
        for index, members in enumerate(self.members):
            known = [path + [(index, group)] for group, path in enumerate(above[-1])]
            above.append([known[group] for group, count in enumerate(members) for _ in range(count)])
        for sequence, path in enumerate(above[-1]):
            parts = []
            for level, group in path + [(len(self.lengths) - 1, sequence)]:
                pages, length = self.pages[level][group].long(), self.lengths[level][group]
                parts.append(self.cache[pages].transpose(1, 2).reshape(-1, 2, HEADS_KV, DIM)[:length].float())
            yield torch.cat(parts).unbind(1)

    def expected(self, q, causal):
        first, outputs = 0, []
        for length, (k, v) in zip(self.q_lengths, self.rows()):
            outputs.append(attend(q[first : first + length], k, v, causal)[0])
            first += length
        return torch.cat(outputs)


def wrapper_of(levels, **options):
    return MultiLevelCascadeAttentionWrapper(
        levels, torch.empty(64 << 20, dtype=torch.uint8, device="cuda"), "NHD", **options)


def plan(wrapper, levels, **options):
    wrapper.plan(*levels.arrays(), HEADS_Q, HEADS_KV, DIM, PAGE, q_data_type=torch.bfloat16, **options)


CASES = {
    "decode": Levels([[700, 0, 17], [1, 90, 300, 5, 64, 2]], [[3, 1, 2]], [1] * 6),
    "prompts": Levels([[1000], [200, 64, 33]], [[3]], [200, 64, 33]),
    "drafts": Levels([[33, 4000], [9, 90, 300, 5]], [[1, 3]], [4, 1, 3, 5]),
    "three levels": Levels([[500], [70, 16], [1, 20, 33]], [[2], [1, 2]], [1, 1, 1]),
    "one level": Levels([[500, 1]], [], [1, 1]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("causal", [True, False])
def test_levels_equal_float32(name, causal):
    levels = CASES[name]
    wrapper, q = wrapper_of(len(levels.lengths)), randn(sum(levels.q_lengths), HEADS_Q, DIM)
    plan(wrapper, levels, causal=causal)
    close(wrapper.run(q, levels.cache), levels.expected(q, causal))
    close(wrapper.run(q, levels.cache.unbind(1)), levels.expected(q, causal))


def test_a_captured_run_attends_to_what_the_latest_plan_has():
    first = Levels([[700, 65], [64, 90, 300]], [[2, 1]], [1] * 3, pool=128)
    second = Levels([[1, 333], [7, 80, 16]], [[1, 2]], [1] * 3, pool=128)
    buffers = [torch.empty(64, dtype=torch.int32, device="cuda") for _ in range(2)]
    wrapper, q = wrapper_of(2, use_cuda_graph=True, paged_kv_indices_buf_arr=buffers), randn(3, HEADS_Q, DIM)
    cache = first.cache.clone()
    plan(wrapper, first)
    wrapper.run(q, cache)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = wrapper.run(q, cache)
    for levels in (first, second, first):
        cache.copy_(levels.cache)
        plan(wrapper, levels)
        graph.replay()
        close(o, levels.expected(q, True))
    with pytest.raises(cubinet.InvalidArgument, match="exceed"):
        plan(wrapper, Levels([[2000, 65], [64, 90, 300]], [[2, 1]], [1] * 3))


def test_wrong_arguments_are_refused_by_their_names():
    levels = CASES["decode"]
    q = randn(6, HEADS_Q, DIM)
    with pytest.raises(cubinet.InvalidArgument, match="'kv_layout'"):
        MultiLevelCascadeAttentionWrapper(2, torch.empty(1, device="cuda"), "DNH")
    with pytest.raises(cubinet.InvalidArgument, match="'num_levels'"):
        wrapper_of(0)
    with pytest.raises(cubinet.InvalidArgument, match="before plan"):
        wrapper_of(2).run(q, levels.cache)
    with pytest.raises(cubinet.InvalidArgument, match="levels"):
        plan(wrapper_of(3), levels)
    for name, value in (("window_left", 5), ("pos_encoding_mode", "ALIBI"), ("rope_theta", 1e4)):
        with pytest.raises(cubinet.Unsupported, match=f"'{name}'"):
            plan(wrapper_of(2), levels, **{name: value})
    wrapper = wrapper_of(2)
    plan(wrapper, levels)
    with pytest.raises(cubinet.InvalidArgument, match="'q' has 5 tokens"):
        wrapper.run(q[:5], levels.cache)
    wrapper.reset_workspace_buffer(torch.empty(16, dtype=torch.uint8, device="cuda"))
    with pytest.raises(cubinet.InvalidArgument, match="'float_workspace_buffer'"):
        wrapper.run(q, levels.cache)
