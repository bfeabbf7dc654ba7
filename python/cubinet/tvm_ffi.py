# SPDX-License-Identifier: Apache-2.0
"""The functions of the C library by tvm-ffi's calling convention (docs/tvm_ffi.md).

    import cubinet.tvm_ffi
    functions = cubinet.tvm_ffi.load_module()
    runtime = cubinet.tvm_ffi.open_runtime(functions, home="kernels")
    functions.cubinet_flash_attn_with_kvcache(runtime, q, ...)

Needs the package apache-tvm-ffi. Programs without Python load the C library itself.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import tvm_ffi

from cubinet import _core
from cubinet.configuration import Configuration, lines_of

__all__ = ["load_module", "open_runtime"]


def load_module() -> Any:
    """Returns a module of tvm-ffi with the functions that docs/tvm_ffi.md describes."""
    # tvm-ffi loads files that end in `.so` alone. The binding depends on the C library, so the
    # dynamic loader finds the library's functions in it.
    return tvm_ffi.load_module(_core.__file__)


def open_runtime(functions: Any, configuration: Configuration | None = None, **options: Any) -> int:
    """Returns the number of a new runtime, which the functions take first.

    The arguments are those of `cubinet.Runtime`. Close the runtime with
    `functions.cubinet_close(number)` after the last kernel has finished.
    """
    variables, settings = lines_of(dataclasses.replace(configuration or Configuration(), **options))
    words = [word for line in variables for word in ("variable", os.fsdecode(line))]
    words += [word for name, value in settings for word in (name, os.fsdecode(value))]
    return int(functions.cubinet_open(*words))
