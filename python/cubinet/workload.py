# SPDX-License-Identifier: Apache-2.0
"""Workload: the kernels and attention problems that a process needs, in order of first use."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from cubinet import _core
from cubinet.configuration import PathLike


class Workload:
    """The text of a workload (docs/formats/workload.md). Immutable.

    `Runtime.workload()` returns what a Runtime recorded, `Runtime.prepare()` loads it, and
    `cubinet.prebuild(workload=...)` puts it into a bundle.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def read(cls, path: PathLike) -> Workload:
        """Reads a file. A line that is not understood is an error only where the workload is used."""
        return cls(Path(path).read_text(encoding="utf-8", errors="replace"))

    @property
    def text(self) -> str:
        return self._text

    def write(self, path: PathLike) -> None:
        """Replaces the file, atomically."""
        target = Path(path)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(self._text)
            os.chmod(name, 0o644)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise

    def merge(self, *others: Workload) -> Workload:
        """Returns this workload with those of other ranks or days. The order does not matter, and
        merging one again changes nothing. Raises an Error that names a line that is not understood."""
        return Workload(_core.merge_workloads([self._text, *(other.text for other in others)]))

    def entries(self) -> list[dict[str, Any]]:
        """Returns the kernels and attention problems by first use, as the file describes them."""
        lines = [json.loads(line) for line in self._text.split("\n") if line]
        return [line for line in lines if "order" in line]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"<Workload of {max(self._text.count(chr(10)) - 1, 0)} lines>"
