# SPDX-License-Identifier: Apache-2.0
"""The command `cubinet-nvcc`, which JITs call as their nvcc (docs/nvcc.md)."""

from __future__ import annotations

import os
import signal
import sys

from cubinet import _core
from cubinet.configuration import variables_of, with_nvrtc_of_wheels


def main() -> int:
    """Runs the line of the process. Returns its exit status, unless nvcc replaces the process."""
    # Python ignores SIGPIPE and catches SIGINT, and nvcc would inherit the first.
    for number in (signal.SIGPIPE, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    words = [os.fsencode(word) for word in sys.argv[1:]]
    variables = variables_of(with_nvrtc_of_wheels(os.environ))
    return _core.nvcc(words, variables, os.fsencode(os.path.abspath(sys.argv[0])))
