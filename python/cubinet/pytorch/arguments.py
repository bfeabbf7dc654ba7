# SPDX-License-Identifier: Apache-2.0
"""Checks of the PyTorch functions' arguments, with the names that their callers use."""

from __future__ import annotations

import operator
from typing import Any

import torch

from cubinet.errors import InvalidArgument, Unsupported


def device_of(name: str, tensor: torch.Tensor) -> int:
    """Returns the device of a CUDA tensor. Raises InvalidArgument for another."""
    device = tensor.get_device()
    if device < 0 or not tensor.is_cuda:
        raise InvalidArgument(f"'{name}' is in {tensor.device.type} memory", "pass a tensor on a CUDA device")
    return device


def in_fp32(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """Returns the tensor itself if it has fp32 elements, otherwise a converted copy. None stays None."""
    return tensor if tensor is None or tensor.dtype == torch.float32 else tensor.float()


def type_of_output(q: torch.Tensor) -> torch.dtype:
    """Returns the type of O that FlashAttention allocates: that of Q, or bf16 for e4m3."""
    return torch.bfloat16 if q.dtype == torch.float8_e4m3fn else q.dtype


def refuse_gradients(**tensors: torch.Tensor | None) -> None:
    """Raises Unsupported if a gradient is recorded for one of the tensors."""
    if not torch.is_grad_enabled():
        return
    for name, tensor in tensors.items():
        if tensor is not None and tensor.requires_grad:
            raise Unsupported(f"'{name}' needs a gradient, which the kernels do not compute",
                              "call under torch.no_grad() or torch.inference_mode()")


def refuse_given(function: str, **values: Any) -> None:
    """Raises Unsupported for an argument that has another value than None."""
    for name, value in values.items():
        if value is not None:
            raise Unsupported(f"{function}: no kernel has '{name}'", "leave it out")


def check_rank(name: str, tensor: torch.Tensor, shape: str) -> None:
    """Raises InvalidArgument if the tensor has another number of dimensions than `shape` names."""
    if tensor.dim() != shape.count(",") + 1:
        raise InvalidArgument(f"'{name}' has the shape {list(tensor.shape)}; expected [{shape}]",
                              "pass a tensor of this shape")


def check_shape(name: str, tensor: torch.Tensor, shape: tuple[int, ...], why: str) -> None:
    """Raises InvalidArgument if the tensor has another shape; `why` says what it must match."""
    if tuple(tensor.shape) != shape:
        raise InvalidArgument(f"'{name}' has the shape {list(tensor.shape)}; expected {list(shape)}, {why}",
                              "pass a tensor of this shape")


def check_sequences(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor, cu_seqlens_k: torch.Tensor,
    out: torch.Tensor | None,
) -> None:
    """Raises InvalidArgument if tensors of sequences whose tokens follow each other do not fit together.

    Q is [tokens, heads_q, head_dim]. K and V are [tokens, heads_kv, head_dim] or pages of these.
    """
    check_shape("v", v, (*k.shape[:-1], v.shape[-1]), "as 'k' but for the last size")
    if k.shape[-1] != q.shape[2]:
        raise InvalidArgument(f"'k' has a head_dim of {k.shape[-1]}, and 'q' has {q.shape[2]}", "pass equal head dims")
    for name, offsets in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        check_rank(name, offsets, "batch + 1")
        if offsets.shape[0] == 0 or (offsets.shape[0] == 1 and q.shape[0] != 0):
            raise InvalidArgument(f"'{name}' has {offsets.shape[0]} entries, and 'q' has {q.shape[0]} tokens",
                                  "pass where each sequence begins and the end of the last")
    if cu_seqlens_k.shape[0] != cu_seqlens_q.shape[0]:
        raise InvalidArgument(f"'cu_seqlens_k' has {cu_seqlens_k.shape[0]} entries, and 'cu_seqlens_q' has "
                              f"{cu_seqlens_q.shape[0]}", "pass batch + 1 entries in both")
    if out is not None:
        check_shape("out", out, (*q.shape[:2], v.shape[-1]), "as 'q' with the head_dim of 'v'")


def tokens_of(name: str, value: Any, tokens: int) -> int:
    """Returns a maximum of tokens per sequence. Raises InvalidArgument unless it is an int from 1 (0 if the
    tensor has no `tokens`) to 2^30."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(f"'{name}' is {value!r}", "pass an int") from None
    if not (1 if tokens else 0) <= number <= 2**30:
        raise InvalidArgument(f"'{name}' is {number}", "pass the most tokens of a sequence, from 1 to 2^30")
    return number


def scale_of(softmax_scale: float | None) -> float | None:
    """Returns the scale. Raises InvalidArgument for 0, which a problem would take as 1 / sqrt(head_dim)."""
    if softmax_scale is not None and softmax_scale == 0:
        raise InvalidArgument("'softmax_scale' is 0", "pass a scale above 0, or None for 1 / sqrt(head_dim)")
    return softmax_scale


def window_of(window_size: Any) -> tuple[int, int]:
    """Returns FlashAttention's window (left, right): a row sees `left` tokens before its own and `right`
    after it; -1: all."""
    if isinstance(window_size, (list, tuple)) and len(window_size) == 2:
        return int(window_size[0]), int(window_size[1])
    raise InvalidArgument(f"'window_size' is {window_size!r}", "pass (left, right), with -1 for no bound")


def bound_of(tokens: int) -> int:
    """Returns a power of two of at least `tokens`: a bound that many calls share, so that they share a plan."""
    return 1 << (max(tokens, 1) - 1).bit_length()


def mask_of(causal: bool, window: tuple[int, int], q_len: int) -> tuple[str, int]:
    """Returns the mask of a problem, and the most tokens that a row sees (0: all)."""
    left, right = window
    # The last row has no tokens after it, so with one query token both masks are equal.
    is_causal = causal or right == 0 or q_len == 1
    if not is_causal and (left >= 0 or right > 0):
        raise Unsupported(f"'window_size' is {window} without a causal mask, and no kernel has that window",
                          "pass causal=True, or a right side of 0")
    return ("causal" if is_causal else "dense"), (left + 1 if left >= 0 else 0)
