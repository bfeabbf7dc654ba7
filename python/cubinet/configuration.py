# SPDX-License-Identifier: Apache-2.0
"""Where a Runtime searches for kernels, whom it trusts and how it compiles."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from cubinet.errors import InvalidArgument

PathLike = Union[str, "os.PathLike[str]"]


def _make_tuples(value: object, *members: str) -> None:
    """Makes each member a tuple. One path or text is a list of one: it is never meant as its letters."""
    for name in members:
        given = getattr(value, name)
        is_one = isinstance(given, (str, os.PathLike, Bundle))
        object.__setattr__(value, name, (given,) if is_one else tuple(given))


@dataclass(frozen=True)
class Home:
    """A folder in which builds are kept. `read_only`: nothing is written to it."""

    path: PathLike
    read_only: bool = False


@dataclass(frozen=True)
class Bundle:
    """A bundle file, or the reference of a server (docs/distribution.md), with its mirrors."""

    place: PathLike
    mirrors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _make_tuples(self, "mirrors")


@dataclass(frozen=True)
class Configuration:
    """The options of a Runtime. What is None or empty comes from the environment variables of the
    command `cubinet` (docs/cli.md), otherwise it has the library's default. Values compare and
    pickle."""

    home: Home | PathLike | None = None
    """The home, searched first. None: CUBINET_HOME, or the user's cache folder. "": no home; builds
    stay in memory."""
    site_homes: tuple[PathLike, ...] = ()
    """Read-only homes, searched after the home and those of CUBINET_SITE_HOMES."""
    bundles: tuple[Bundle | PathLike, ...] = ()
    caches: tuple[str, ...] = ()
    """URLs of build caches that several nodes share. They are only read."""
    policy: PathLike | None = None
    """A trust policy (docs/formats/policy.md)."""
    compile: str | None = None
    """"on_miss" or "never". None: CUBINET_COMPILE, or "on_miss"."""
    target: str | None = None
    """The only SM target that is used, such as "sm_90a"."""
    forbidden_targets: tuple[str, ...] = ()
    nvrtc: PathLike | None = None
    """The NVRTC library. None: the one of this environment's NVIDIA wheels, or as the command."""
    include_directories: tuple[PathLike, ...] = ()
    library_directories: tuple[PathLike, ...] = ()
    compiler_flags: tuple[str, ...] = ()
    template_files: tuple[PathLike, ...] = ()
    """Template sources, or folders of them."""
    driver: PathLike | None = None
    """The library of the CUDA driver. None: libcuda.so.1."""
    module_limit: int | None = None
    """The most bytes of loaded modules on a device. None: no limit."""
    module_limit_excess: str | None = None
    """"error" or "warning": what a load beyond the limit gives. None: "error"."""
    record_folder: PathLike | None = None
    """The folder of a file to which the workload is appended while it is recorded. None:
    CUBINET_RECORD, or no file."""
    journal: bool | None = None
    """If False, compilations for requests are not noted in the home's journal."""
    environment: Mapping[str, str] | None = dataclasses.field(default=None, hash=False)
    """The variables that are read. None: those of the process."""

    def __post_init__(self) -> None:
        _make_tuples(
            self,
            "site_homes",
            "bundles",
            "caches",
            "forbidden_targets",
            "include_directories",
            "library_directories",
            "compiler_flags",
            "template_files",
        )


_BUILTIN = Path(__file__).with_name("builtin.bundle")
"""The kernels that come with the package, if it was built with some."""


def _with_builtin(environment: Mapping[str, str]) -> dict[str, str]:
    variables = dict(environment)
    if _BUILTIN.is_file():
        variables.setdefault("CUBINET_BUILTIN_BUNDLE", str(_BUILTIN))
    return variables


def variables_of(environment: Mapping[str, str] | None) -> list[bytes]:
    """Returns "NAME=value" of each variable. None: those of the process."""
    chosen = _with_builtin(os.environ if environment is None else environment)
    return [os.fsencode(f"{name}={value}") for name, value in chosen.items()]


def lines_of(configuration: Configuration) -> tuple[list[bytes], list[tuple[str, bytes]]]:
    """Returns the variables and the options of cubinet_config_set."""
    environment = os.environ if configuration.environment is None else configuration.environment
    options: list[tuple[str, bytes]] = []

    def add(name: str, value: PathLike | None) -> None:
        if value is None:
            return
        text = os.fsencode(value)
        if b"\0" in text:
            raise InvalidArgument(f"{name} {value!r} has a zero character", "pass a path without one")
        options.append((name, text))

    if isinstance(configuration.home, Home):
        add("home", configuration.home.path)
        add("home_access", "read_only" if configuration.home.read_only else "read_write")
    else:
        add("home", configuration.home)
    for folder in configuration.site_homes:
        add("site_home", folder)
    for given in configuration.bundles:
        bundle = given if isinstance(given, Bundle) else Bundle(given)
        add("bundle", bundle.place)
        for mirror in bundle.mirrors:
            add("mirror", mirror)
    for cache in configuration.caches:
        add("cache", cache)
    add("policy_file", configuration.policy)
    add("compile", configuration.compile)
    add("target", configuration.target)
    for target in configuration.forbidden_targets:
        add("forbidden_target", target)
    add("nvrtc", configuration.nvrtc or _nvrtc_of_wheels())
    for name, values in (
        ("include_directory", configuration.include_directories),
        ("library_directory", configuration.library_directories),
        ("compiler_flag", configuration.compiler_flags),
        ("template_file", configuration.template_files),
    ):
        for value in values:
            add(name, value)
    add("driver_library", configuration.driver)
    if configuration.module_limit is not None:
        add("module_limit", str(configuration.module_limit))
    add("module_limit_excess", configuration.module_limit_excess)
    add("record_folder", configuration.record_folder)
    if configuration.journal is not None:
        add("journal", "true" if configuration.journal else "false")
    return variables_of(environment), options


def command_variables(environment: Mapping[str, str] | None) -> list[bytes]:
    """Returns the variables for the command, which finds NVRTC where a Runtime finds it."""
    variables = with_nvrtc_of_wheels(os.environ if environment is None else environment)
    if variables.get("CUBINET_CUDA_WHEELS"):
        # The command searches toolkits before wheels.
        for name in ("CUDA_HOME", "CUDA_PATH"):
            variables.pop(name, None)
    return variables_of(variables)


def with_nvrtc_of_wheels(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns a copy of the variables that names the folder of Python packages with NVRTC, if there is one."""
    variables = dict(environment)
    if library := _nvrtc_of_wheels():  # FOLDER/nvidia/cu13/lib/libnvrtc.so.13
        folders = (str(library.parents[3]), variables.get("CUBINET_CUDA_WHEELS", ""))
        variables["CUBINET_CUDA_WHEELS"] = ":".join(filter(None, folders))
    return variables


def _nvrtc_of_wheels() -> Path | None:
    """Returns NVRTC of the wheel nvidia-cuda-nvrtc in this environment, the newest release first."""
    package = importlib.util.find_spec("nvidia")
    if package is None or package.submodule_search_locations is None:
        return None
    for place in ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"):
        for folder in package.submodule_search_locations:
            if (library := Path(folder, place)).is_file():
                return library
    return None
