# SPDX-License-Identifier: Apache-2.0
"""Log lines of the library go to the logger `cubinet` of the standard module logging."""

import logging

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
_logger = logging.getLogger("cubinet")


def emit(level: int, message: str) -> None:
    """Passes one line on. The binding calls it."""
    _logger.log(_LEVELS[min(max(level, 0), 3)], "%s", message)
