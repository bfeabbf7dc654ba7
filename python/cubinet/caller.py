# SPDX-License-Identifier: Apache-2.0
"""Labels that say whose request it is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from cubinet import _core

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def caller(label: str) -> Iterator[None]:
    """Labels the requests of this thread, for example "decode".

    Counts of refusals name the label. At most 64 bytes of UTF-8 are kept. Scopes may be nested. The
    label belongs to the thread: do not await inside the scope.
    """
    outer = _core.set_caller(label)
    try:
        yield
    finally:
        _core.set_caller(outer)
