# SPDX-License-Identifier: Apache-2.0
"""The exceptions: one class for each error code of the C library."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base of all errors of cubinet.

    `message` names the object and the reason. `remedy` states what the caller can do; it may be
    empty. `detail` is long text, such as a compiler's log. `native` is the errno, CUresult or
    nvrtcResult that caused the error, or 0.
    """

    name = "error"

    def __init__(self, message: str, remedy: str = "", detail: str = "", native: int = 0) -> None:
        # The constructor of OSError would read the arguments as an errno and file names.
        Exception.__init__(self, message, remedy, detail, native)
        self.message = message
        self.remedy = remedy
        self.detail = detail
        self.native = native

    def __str__(self) -> str:
        text = self.message
        if self.remedy:
            text += "; " + self.remedy
        if self.detail:
            text += "\n" + self.detail
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.remedy, self.detail, self.native), self.__dict__)


class InvalidArgument(Error, ValueError):
    """The caller's input is wrong. The message names the argument."""

    name = "invalid_argument"


class NotFound(Error, LookupError):
    """A named object is missing, or a build that may not be compiled."""

    name = "not_found"


class Unsupported(Error):
    """This device, driver, compiler or library cannot do it."""

    name = "unsupported"


class Unavailable(Error):
    """The environment lacks something: driver, compiler, home or memory."""

    name = "unavailable"


class CompileFailed(Error):
    """The compiler rejected the source. `log` is its output."""

    name = "compile_failed"

    @property
    def log(self) -> str:
        return self.detail


class Corruption(Error):
    """Stored bytes do not match their digest or format."""

    name = "corruption"


class Untrusted(Error):
    """The bytes or their owner are not trusted."""

    name = "untrusted"


class IoError(Error, OSError):
    """The operating system refused a file operation. `native` and `errno` are its number."""

    name = "io"

    def __init__(self, message: str, remedy: str = "", detail: str = "", native: int = 0) -> None:
        super().__init__(message, remedy, detail, native)
        self.errno = native or None
        self.strerror = message


class Busy(Error, TimeoutError):
    """Another owner held a lock for longer than the time limit."""

    name = "busy"


class DriverError(Error):
    """The CUDA driver returned an error. `native` is its CUresult."""

    name = "driver"


class InternalError(Error):
    """An invariant of the library is broken. This is a defect of cubinet."""

    name = "internal"


# The numbers are those of cubinet.h.
_CLASSES: dict[int, type[Error]] = {
    1: InvalidArgument,
    2: NotFound,
    3: Unsupported,
    4: Unavailable,
    5: CompileFailed,
    6: Corruption,
    7: Untrusted,
    8: IoError,
    9: Busy,
    10: DriverError,
    11: InternalError,
}


def error_by_name(name: str, message: str, remedy: str, detail: str) -> Error:
    """Returns the exception of an error in the command's JSON."""
    for each in _CLASSES.values():
        if each.name == name:
            return each(message, remedy, detail)
    return Error(message, remedy, detail)


def make_error(code: int, message: str, remedy: str, detail: str, native: int) -> Any:
    """Returns the exception of an error of the C library. A code of a newer library is an Error."""
    return _CLASSES.get(code, Error)(message, remedy, detail, native)
