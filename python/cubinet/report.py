# SPDX-License-Identifier: Apache-2.0
"""Reports on homes, bundles, workloads and results of benchmarks."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from cubinet import _core
from cubinet.configuration import Configuration, PathLike, lines_of


def report(*subjects: PathLike, configuration: Configuration | None = None, **options: Any) -> str:
    """Returns one HTML page (docs/report.md), which loads nothing and in which every text is escaped.

    A subject is the folder of a home, a bundle's file or the reference of a server, a workload's file,
    or the JSON of a benchmark. A workload is compared with the homes and bundles among the subjects,
    else with the stores of the configuration. Without subjects the page is about its home. Other
    options are members of Configuration. Compiles nothing.

    Raises InvalidArgument for a subject of another kind.
    """
    chosen = dataclasses.replace(configuration or Configuration(), **options)
    return _core.report(*lines_of(chosen), [os.fsencode(subject) for subject in subjects])
