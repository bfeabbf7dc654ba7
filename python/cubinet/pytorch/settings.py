# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch functions fall back to, and how often each kind of kernel was called."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from cubinet.errors import InvalidArgument, Unsupported

_fallbacks = ("varlen_attn", "never")


@dataclass(frozen=True)
class Calls:
    """How many calls each kind of kernel served in this process. Replays of a graph are not calls."""

    decode: int
    """Calls that cubinet's kernels served."""
    fallback: int
    """Calls that went to PyTorch's varlen_attn."""
    plans: int
    """Plans that are kept: one for each shape, type and option of the calls."""


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.fallback = _fallbacks[0]
        self.decode_calls = 0
        self.fallback_calls = 0


_state = _State()


def set_fallback(fallback: str) -> None:
    """Sets what serves calls that no kernel of cubinet serves: "varlen_attn", or "never"."""
    if fallback not in _fallbacks:
        raise InvalidArgument(f"'fallback' is {fallback!r}", 'use "varlen_attn" or "never"')
    _state.fallback = fallback


def check_fallback(function: str, reason: str) -> None:
    """Raises Unsupported, with the reason, if PyTorch's kernel may not serve the call."""
    if _state.fallback == "never":
        raise Unsupported(f"{function}: {reason}, and the fallback to PyTorch's varlen_attn is off",
                          'turn it on: cubinet.pytorch.configure(fallback="varlen_attn")')


def count_decode() -> None:
    with _state.lock:
        _state.decode_calls += 1


def count_fallback() -> None:
    with _state.lock:
        _state.fallback_calls += 1


def calls(plans: int) -> Calls:
    with _state.lock:
        return Calls(_state.decode_calls, _state.fallback_calls, plans)
