# SPDX-License-Identifier: Apache-2.0
"""The time of a replayed CUDA graph."""
import statistics

REPLAYS = 20


def time_graph(torch, call):
    """Returns a function that times replays of a graph with one call, in microseconds."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()

    def replay():
        times = []
        for _ in range(REPLAYS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1e3)
        return statistics.median(times)

    replay.call = call  # the graph reads the memory of the call's tensors and workspace
    return replay
