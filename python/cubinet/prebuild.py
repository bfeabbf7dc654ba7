# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels into a bundle, on a machine with or without a GPU."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubinet import _core
from cubinet.attention import AttentionProblem, PlanOptions, fields_of
from cubinet.configuration import Configuration, PathLike, lines_of
from cubinet.workload import Workload


@dataclass(frozen=True)
class Progress:
    """The state of a prebuild or a preparation. `kernel` is empty if only time has passed."""

    done: int
    total: int
    kernel: str
    """"rms_norm(hidden_size=4096) for sm_90a"."""
    outcome: str
    """"compiled", "registry", ..., "not found" or "failed: REASON"."""
    seconds: float
    """Of the compilation, or of the search."""
    bytes: int
    """Of the image. 0: there is none."""


def prebuild(
    output: PathLike,
    matrix: Mapping[str, Any] | PathLike | None = None,
    *,
    problems: Iterable[AttentionProblem] = (),
    device: str = "",
    sm_count: int = 0,
    jobs: int = 0,
    profile: str = "ship",
    channel: str = "",
    version: int = 0,
    created: int = 0,
    expires: int = 0,
    workload: Workload | None = None,
    progress: Callable[[Progress], object] | None = None,
    configuration: Configuration | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Compiles the kernels that no store of the configuration has, and writes all to the bundle `output`.

    `matrix` names the kernels: a file, or what such a file contains (docs/cli.md, prebuild):
    {"kernels": [{"template": "rms_norm", "parameters": {"hidden_size": [4096]}, "targets": ["sm_90a"]}]}.

    `problems` are attention problems whose plans' kernels are built too, for a `device` of this
    compute capability ("9.0") and SM count (0: the usual one).

    `workload` adds the kernels of a recorded workload, and of the plans of its attention problems, for
    the devices that recorded it.

    `jobs` is the number of parallel compilations; 0: as processors and memory allow. `profile` is
    "plain", "ship" or "archive". `channel` and `version` name the bundle's series and place in it.
    `created` and `expires` are seconds since 1970; 0: not stated. `progress` is called in this
    thread, after each kernel and several times a second in between. Other options are members of
    Configuration.

    Returns the report of `cubinet prebuild --json`. Raises an Error if the bundle lacks a kernel; its
    `detail` is the report, if there is one. After an exception of `progress`, or Ctrl-C, running
    compilations finish, and the same call continues. Finished builds stay in the home.
    """
    chosen = dataclasses.replace(configuration or Configuration(), **options)
    text = "" if matrix is None else _text_of(matrix)
    call = None if progress is None else lambda *facts: progress(Progress(*facts))
    written = _core.prebuild(
        *lines_of(chosen),
        os.fsencode(output),
        text,
        [fields_of(problem) for problem in problems],
        fields_of(PlanOptions()),
        device,
        sm_count,
        jobs,
        profile,
        channel,
        version,
        created,
        expires,
        "" if workload is None else workload.text,
        call,
    )
    report: dict[str, Any] = json.loads(written)
    return report


def _text_of(matrix: Mapping[str, Any] | PathLike) -> str:
    return json.dumps(matrix) if isinstance(matrix, Mapping) else Path(matrix).read_text(encoding="utf-8")
