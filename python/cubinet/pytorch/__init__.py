# SPDX-License-Identifier: Apache-2.0
"""Settings and counters of the functions for PyTorch: cubinet.flash_attn and cubinet.flashinfer."""

from __future__ import annotations

from cubinet.pytorch import plans, settings
from cubinet.pytorch.settings import Calls
from cubinet.runtime import Runtime

__all__ = ["Calls", "calls", "configure"]


def configure(*, runtime: Runtime | None = None, fallback: str | None = None) -> None:
    """Sets what the functions use from now on. None changes nothing.

    `runtime` makes the plans; until it is set, a `Runtime()` is created at the first call. `fallback`
    is "varlen_attn": PyTorch's kernel serves the calls that no kernel of cubinet serves, or "never":
    they raise Unsupported.
    """
    if fallback is not None:
        settings.set_fallback(fallback)
    if runtime is not None:
        plans.set_runtime(runtime)


def calls() -> Calls:
    """Returns how often cubinet's and PyTorch's kernels were called in this process."""
    return settings.calls(plans.plan_count())
