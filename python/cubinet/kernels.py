# SPDX-License-Identifier: Apache-2.0
"""Kernels: what names one, and a request that a Runtime has checked."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Union

from cubinet import _core
from cubinet._core import Function

ParameterValue = Union[bool, int, float, str, "tuple[int, ...]", "tuple[float, ...]"]


class Spec:
    """A template's name and values of its parameters: `Spec("rms_norm", hidden_size=4096)`.

    A bool is a flag, an int an integer, a float a number of the parameter's precision, a str the name
    of a type or of a choice, a list or tuple a list of numbers. The Runtime checks them and adds the
    defaults. Immutable; compares, hashes and pickles by value.
    """

    __slots__ = ("_parameters", "_template")

    def __init__(self, template: str, /, **parameters: ParameterValue | list[int] | list[float]) -> None:
        self._template = template
        self._parameters = {
            name: tuple(value) if isinstance(value, list) else value for name, value in sorted(parameters.items())
        }

    @property
    def template(self) -> str:
        return self._template

    @property
    def parameters(self) -> dict[str, ParameterValue]:
        return dict(self._parameters)

    def _identity(self) -> tuple[Any, ...]:
        return (self._template, tuple((name, *_typed(value)) for name, value in self._parameters.items()))

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Spec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_make_spec, (self._template, self._parameters))

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self._parameters.items())
        return f"Spec({self._template!r}{values})"


def _typed(value: ParameterValue) -> tuple[Any, ...]:
    """Returns a value with its types, because 1, 1.0 and True are different parameters."""
    return (tuple, *map(_typed, value)) if isinstance(value, tuple) else (type(value), value)


def _make_spec(template: str, parameters: dict[str, ParameterValue]) -> Spec:
    return Spec(template, **parameters)


@dataclass(frozen=True)
class SourceProgram:
    """A CUDA C++ source, as for NVRTC. Everything but `folder` is part of the kernels' identity."""

    text: str
    kernels: tuple[str, ...] = ()
    """C++ names, such as "axpy<float, 4>". Empty: all `extern "C"` and other kernels by symbol."""
    name: str = "program"
    """The name in messages."""
    globals: tuple[str, ...] = ()
    """C++ names of variables that Function.global_variable() finds."""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Texts of headers by the name that the source includes."""
    flags: tuple[str, ...] = ()
    """Flags for NVRTC."""
    folder: str = ""
    """Searched first for quoted headers."""

    def __post_init__(self) -> None:
        # A single str is a sequence of letters, which is never meant.
        for member in ("kernels", "globals", "flags"):
            value = getattr(self, member)
            object.__setattr__(self, member, (value,) if isinstance(value, str) else tuple(value))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], **members: Any) -> SourceProgram:
        """Reads the source from a file. Quoted headers are found beside it."""
        file = Path(path)
        values = {"name": file.name, "folder": str(file.resolve().parent)} | members
        return cls(text=file.read_text(encoding="utf-8"), **values)


class Kernel:
    """A request for one kernel of one Runtime, which checked it. Immutable and thread-safe."""

    def __init__(self, handle: _core.Kernel) -> None:
        """Runtime.kernel() makes kernels."""
        self._handle = handle

    def function(self, device: int = 0, entry_point: str = "", *, loaded: bool = False) -> Function:
        """Finds or compiles the kernel and loads it. An empty `entry_point` means the first.

        Blocks on files, servers, NVRTC, other builders of the same kernel and the driver. A kernel
        that is loaded already is returned at once. Keep the Function: it keeps the kernel loaded.

        With `loaded`, raises NotFound, with the kernel's name, for a kernel that is not loaded, and
        neither compiles nor loads: for look-ups in a capture.
        """
        return self._handle.function(device, entry_point, loaded)

    def image(self, target: str, ptx: bool = False) -> bytes:
        """Returns the verified cubin or PTX for an exact target ("sm_90a"), without a device.

        Raises NotFound if there is no build and compiling is disabled.
        """
        return self._handle.image(target, 1 if ptx else 0)

    def describe(self) -> dict[str, Any]:
        """Returns the complete specification: "template", "parameters", and "flags" if it has some."""
        facts: dict[str, Any] = json.loads(self._handle.describe())
        return facts

    def explain(self, device: str) -> dict[str, Any]:
        """Returns which build a device of this compute capability ("9.0" or "sm_90") would get, and
        why: the builds of all stores, best first, each with a verdict; the target that would be
        compiled; or the reason why there is neither. Needs no driver and compiles nothing."""
        explanation: dict[str, Any] = json.loads(self._handle.explain(device))
        return explanation

    def forget(self, device: int = 0) -> bool:
        """Removes the kernel from the Runtime's cache of a device, so that the next request looks in
        the stores again. Unloads nothing: Runtime.trim() does. Returns whether there was something to
        remove."""
        return self._handle.forget(device)

    def __repr__(self) -> str:
        facts = self.describe()
        values = ", ".join(f"{name}={value}" for name, value in facts.get("parameters", {}).items())
        return f"<Kernel {facts.get('template', '')}({values})>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Kernel belongs to a Runtime and cannot be pickled; pickle its Spec or SourceProgram")
