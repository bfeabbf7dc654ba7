# SPDX-License-Identifier: Apache-2.0
"""Scratch memory of attention runs, from PyTorch's allocator: one pair of buffers for each stream."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import torch


class Scratch(NamedTuple):
    """Memory of runs that cannot overlap. A run leaves zeros in `counters`."""

    scratch: torch.Tensor
    """Bytes in any state."""
    counters: torch.Tensor
    """Zeroed bytes."""

    def holds(self, scratch_bytes: int, counter_bytes: int) -> bool:
        return self.scratch.shape[0] >= scratch_bytes and self.counters.shape[0] >= counter_bytes


_of_stream: dict[tuple[int, int], Scratch] = {}
# The buffers of the newest capture on a stream, with the number that the driver gave the capture.
_of_capture: dict[tuple[int, int], tuple[int, Scratch]] = {}

_smallest_bytes = 1 << 20

# The public functions make a Stream object, or initialise CUDA, in each call.
current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", lambda device: torch.cuda.current_stream(device).cuda_stream)
current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)


def scratch_of_stream(device: int, stream: int, scratch_bytes: int, counter_bytes: int) -> Scratch:
    """Returns buffers for runs on this stream. The stream must be the current one of the current device.

    Runs on one stream follow each other, so they share buffers, which grow when a run needs more. A
    capture has buffers of its own from its graph's memory pool, because its graph may be replayed on
    any stream: they are shared by the runs of the capture, and the graph zeroes the counters once.
    """
    place = (device, stream)
    if torch.cuda.is_current_stream_capturing():
        number = _capture_number(stream)
        known = _of_capture.get(place)
        if known is not None and known[0] == number and known[1].holds(scratch_bytes, counter_bytes):
            return known[1]
        buffers = _allocate(device, scratch_bytes, counter_bytes)
        _of_capture[place] = (number, buffers)
        return buffers
    found = _of_stream.get(place)
    if found is not None and found.holds(scratch_bytes, counter_bytes):
        return found
    _of_capture.pop(place, None)
    # Work that is queued may still use the old buffers. PyTorch's allocator gives their memory only
    # to later work of this stream.
    buffers = _allocate(device, scratch_bytes, counter_bytes)
    _of_stream[place] = buffers
    return buffers


def _allocate(device: int, scratch_bytes: int, counter_bytes: int) -> Scratch:
    scratch_bytes = max(_smallest_bytes, 1 << max(scratch_bytes - 1, 0).bit_length())
    counter_bytes = max(_smallest_bytes // 16, 1 << max(counter_bytes - 1, 0).bit_length())
    return Scratch(
        torch.empty(scratch_bytes, dtype=torch.uint8, device=device),
        torch.zeros(counter_bytes, dtype=torch.uint8, device=device),
    )


def _capture_number(stream: int) -> int:
    """Returns the driver's number of the capture on this stream. Each capture has another."""
    status, number = ctypes.c_int(), ctypes.c_uint64()
    driver = ctypes.CDLL("libcuda.so.1")
    result: int = driver.cuStreamGetCaptureInfo_v2(
        ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(number), None, None, None
    )
    if result != 0:
        raise RuntimeError(f"the driver does not tell the capture of a stream (CUresult {result})")
    return number.value
