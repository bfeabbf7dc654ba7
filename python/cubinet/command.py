# SPDX-License-Identifier: Apache-2.0
"""The command `cubinet`, whose verbs the library contains, and some of them as functions."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from cubinet import _core, hf_kernel
from cubinet.configuration import PathLike, command_variables
from cubinet.errors import Corruption, InternalError, InvalidArgument, NotFound, error_by_name


def main() -> int:
    """Runs the command with the arguments of the process. Returns its exit status."""
    words = sys.argv[1:]
    if words[:1] == ["hf-kernel"]:
        return hf_kernel.main(words[1:])
    # Python ignores SIGPIPE, and a command that is started would inherit that.
    if "serve-warm" in words:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # None: the standard output is closed.
    if sys.stdout is not None:
        sys.stdout.flush()
    status, _ = _core.command([os.fsencode(word) for word in words], command_variables(None), False)
    if status == 0 and words in (["--help"], ["-h"]):
        print(f"\nVerb of the Python package:\n  hf-kernel DIR  {hf_kernel.SUMMARY}")
    return status


def doctor(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the report of `cubinet doctor --json`: the driver and devices, NVRTC and where it was
    searched, the home, versions and problems. `environment` has the variables that are read; None:
    those of the process. A signal during the call ends the process, as it ends the command."""
    return _report_of(["doctor"], environment)


def verify(place: PathLike, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Checks every byte of a bundle or a home. Returns the report of the command.

    Raises Corruption if there is damage; `detail` is the report. A policy decides whose bundles are
    trusted, as for the command. A signal during the call ends the process.
    """
    is_home = os.path.isdir(place)
    words = ["registry", "verify", "--home", place] if is_home else ["bundle", "verify", "--", place]
    report = _report_of(words, environment)
    findings = report["findings"]
    if findings:
        remedy = "repair it with `cubinet registry repair`" if is_home else "download or make it again"
        message = f"{os.fspath(place)!r} is damaged in {len(findings)} places: {findings[0]['reason']}"
        raise Corruption(message, remedy, json.dumps(report))
    return report


def templates(environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Returns name and summary of the library's templates. A signal during the call ends the process."""
    listed: list[dict[str, Any]] = _report_of(["templates"], environment)["templates"]
    return listed


def template(name: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns one template: its summary and parameters, each with its type, values and default."""
    if not name:
        raise InvalidArgument("the name of the template is empty", "name one of `templates()`")
    return _report_of(["templates", "--", name], environment)


def kernels_of(place: PathLike, environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Returns the kernels of a bundle file or a home, each with its key, names, parameters, target and
    bytes. A policy decides whose bundles are trusted, as for the command."""
    if os.path.isdir(place):
        listed: list[dict[str, Any]] = _report_of(["registry", "list", "--home", place], environment)["entries"]
    else:
        listed = _report_of(["bundle", "list", "--", place], environment)["records"]
    return listed


def remove_kernel(home: PathLike, name: str, environment: Mapping[str, str] | None = None) -> bool:
    """Removes a kernel's builds from a home. Returns whether there were some. `name` is a key or a name."""
    try:
        _report_of(["registry", "remove", "--home", home, "--", name], environment)
    except NotFound:
        return False
    return True


def _report_of(words: list[PathLike], environment: Mapping[str, str] | None) -> dict[str, Any]:
    encoded = [os.fsencode(word) for word in ["--json", *words]]
    status, output = _core.command(encoded, command_variables(environment), True)
    if not output:
        raise InternalError(f"the command gave no report, and the status {status}")
    report: dict[str, Any] = json.loads(output)
    if error := report.get("error"):
        raise error_by_name(error["code"], error["message"], error.get("remedy", ""), error.get("detail", ""))
    return report
