# SPDX-License-Identifier: Apache-2.0
"""Refuses interpreters that the library does not support, before the binding is loaded."""

import atexit
import sys

if sys.platform != "linux":
    raise ImportError("cubinet supports Linux only")

if "t" in sys.abiflags:
    raise ImportError("cubinet does not support free-threaded builds of Python; use a build with the GIL")


def _interpreter_number() -> int:
    for name in ("_interpreters", "_xxsubinterpreters"):
        # A module that is absent in this version of Python is not imported.
        try:
            module = __import__(name)
        except ImportError:
            continue
        current = module.get_current()
        return int(current[0] if isinstance(current, tuple) else current)
    return 0


if _interpreter_number() != 0:
    raise ImportError("cubinet does not support sub-interpreters; import it in the main interpreter")

from cubinet import _core  # noqa: E402

atexit.register(_core.stop_log)
# Functions that the program registers are called before.
atexit.register(_core.end_calls)
