# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels by specification: found, verified, compiled on demand, loaded and launched.

    import cubinet

    with cubinet.Runtime() as runtime:
        kernel = runtime.kernel(cubinet.SourceProgram(text=source, kernels=("axpy<float>",)))
        axpy = kernel.function(device=0)
        axpy.launch(2.0, x, y, grid=(blocks,), block=(256,))

docs/python.md describes the package.
"""

from cubinet import _startup  # noqa: F401  refuses interpreters that the library does not support
from cubinet._core import Attention, Function, Merge, Workspace
from cubinet.attention import AttentionProblem, PlanOptions
from cubinet.caller import caller
from cubinet.command import doctor, kernels_of, template, templates, verify
from cubinet.configuration import Bundle, Configuration, Home
from cubinet.errors import (
    Busy,
    CompileFailed,
    Corruption,
    DriverError,
    Error,
    InternalError,
    InvalidArgument,
    IoError,
    NotFound,
    Unavailable,
    Unsupported,
    Untrusted,
)
from cubinet.kernels import Kernel, SourceProgram, Spec
from cubinet.prebuild import Progress, prebuild
from cubinet.report import report
from cubinet.runtime import Counters, Memory, Refusal, Refusals, Runtime, Trimmed
from cubinet.workload import Workload

__version__ = "0.1.0"

__all__ = [
    "Attention",
    "AttentionProblem",
    "Bundle",
    "Busy",
    "CompileFailed",
    "Configuration",
    "Corruption",
    "Counters",
    "DriverError",
    "Error",
    "Function",
    "Home",
    "InternalError",
    "InvalidArgument",
    "IoError",
    "Kernel",
    "Memory",
    "Merge",
    "NotFound",
    "PlanOptions",
    "Progress",
    "Refusal",
    "Refusals",
    "Runtime",
    "SourceProgram",
    "Spec",
    "Trimmed",
    "Unavailable",
    "Unsupported",
    "Untrusted",
    "Workload",
    "Workspace",
    "caller",
    "doctor",
    "kernels_of",
    "prebuild",
    "report",
    "template",
    "templates",
    "verify",
]
