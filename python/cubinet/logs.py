# SPDX-License-Identifier: Apache-2.0
"""Log records of the library go to the logger `cubinet` of the standard module logging. The
attribute `cubinet` of a LogRecord has the facts for programs (docs/observability.md)."""

import json
import logging

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
_logger = logging.getLogger("cubinet")


def emit(level: int, message: str, fields: str = "{}") -> None:
    """Passes one record on. `fields` is a JSON object. The binding calls it."""
    number = _LEVELS[min(max(level, 0), 3)]
    if _logger.isEnabledFor(number):
        _logger.log(number, "%s", message, extra={"cubinet": json.loads(fields)})
