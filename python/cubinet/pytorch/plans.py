# SPDX-License-Identifier: Apache-2.0
"""The plans of the PyTorch functions, kept by shape and type, and the Runtime that makes them."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import torch

from cubinet._core import Attention
from cubinet.attention import AttentionProblem
from cubinet.errors import Error, InvalidArgument, NotFound
from cubinet.runtime import Runtime

_type_names = {
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.float32: "fp32",
    torch.float8_e4m3fn: "e4m3",
}


class Plan(NamedTuple):
    """A plan whose kernels are loaded, and the bytes of its scratch memory."""

    attention: Attention
    scratch_bytes: int
    counter_bytes: int


# A plan is never dropped, so that a call whose shapes were seen never loads.
_plans: dict[Any, Plan] = {}
# A log handler that a compilation calls may call these functions again.
_lock = threading.RLock()
_runtime: Runtime | None = None


def find_plan(key: Any) -> Plan | None:
    """Returns the plan that was kept under this key."""
    return _plans.get(key)


def make_plan(
    key: Any, function: str, members: dict[str, Any], device: int, shapes: dict[str, torch.Tensor], **options: Any
) -> Plan:
    """Plans a problem, given by its members, loads its kernels, and keeps the plan under this key.

    `options` are those of Runtime.attention(). Errors name `function` and the shapes of the tensors.
    Neither compiles nor loads while the current stream is captured: raises NotFound, with the name of
    the kernel, if one is not loaded.
    """
    capturing = torch.cuda.is_current_stream_capturing()
    with _lock:
        found = _plans.get(key)
        if found is not None:
            return found
        try:
            attention = current_runtime().attention(
                AttentionProblem(**members), device, loaded_kernels=capturing, **options
            )
        except Error as error:
            message, remedy = f"{function}: {error.message}", error.remedy
            if capturing and isinstance(error, NotFound):
                message = f"{function}: nothing is compiled or loaded in a CUDA graph's capture: {error.message}"
                remedy = "call the function once with these shapes before the capture"
            message += "; " + ", ".join(f"'{name}' is {list(each.shape)}, {each.dtype}" for name, each in shapes.items())
            raise type(error)(message, remedy, error.detail, error.native) from None
        info = attention.info
        plan = Plan(attention, info["scratch_bytes"], info["counter_bytes"])
        _plans[key] = plan
        return plan


def current_runtime() -> Runtime:
    """Returns the Runtime of the PyTorch functions. The first call creates it, unless it was set."""
    global _runtime
    if _runtime is None:
        _runtime = Runtime()
    return _runtime


def set_runtime(runtime: Runtime) -> None:
    """Sets the Runtime of the PyTorch functions. Plans of the previous one stay in use."""
    global _runtime
    with _lock:
        _runtime = runtime


def plan_count() -> int:
    """Returns how many plans are kept."""
    return len(_plans)


def type_name(argument: str, tensor: torch.Tensor) -> str:
    """Returns the name of a tensor's element type. Raises InvalidArgument with the argument's name."""
    return name_of(argument, tensor.dtype)


def name_of(argument: str, dtype: torch.dtype) -> str:
    """Does the same for the type itself."""
    name = _type_names.get(dtype)
    if name is None:
        raise InvalidArgument(f"'{argument}' has elements of type {dtype}", "pass bfloat16, float16 or float8_e4m3fn")
    return name


def renamed(error: Error, names: dict[str, str]) -> Error:
    """Returns the error with the names that the caller used for its arguments."""
    message, remedy = error.message, error.remedy
    for ours, theirs in names.items():
        message = message.replace(f"'{ours}'", f"'{theirs}'")
        remedy = remedy.replace(f"'{ours}'", f"'{theirs}'")
    return type(error)(message, remedy, error.detail, error.native)
