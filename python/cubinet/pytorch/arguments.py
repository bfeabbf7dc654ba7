# SPDX-License-Identifier: Apache-2.0
"""Checks of the PyTorch functions' arguments, with the names that their callers use."""

from __future__ import annotations

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
