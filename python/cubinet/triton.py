# SPDX-License-Identifier: Apache-2.0
"""A cache manager for Triton 3 that also looks in the folder that `cubinet serve-warm` has filled.

    TRITON_CACHE_MANAGER=cubinet.triton:CacheManager cubinet serve-warm --bundle kernels.bundle -- vllm serve MODEL

A process that sets a cache folder of its own, as vLLM does, would otherwise miss what is in the
filled one.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterable
from typing import Any

from triton.runtime.cache import FileCacheManager

_VARIABLE = "CUBINET_TRITON_CACHE"
_GROUP = "__grp__"


class CacheManager(FileCacheManager):  # type: ignore[misc]
    """Triton's own manager, with a second folder, which `CUBINET_TRITON_CACHE` names.

    What the process's own folder lacks is copied from the second folder. What the process compiles is
    also copied to the second folder, an entry at a time, so that `serve-warm` finds it. If the variable
    is not set, or names the process's own folder, it is Triton's manager. An error of the second folder
    counts as a miss: Triton compiles.
    """

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override=override, dump=dump)
        self._second = None if override or dump else _second_entry(key, self.cache_dir)

    def get_file(self, filename: str) -> str | None:
        own: str | None = super().get_file(filename)
        if own is not None or self._second is None:
            return own
        return self._fetch(filename)

    def get_group(self, filename: str) -> dict[str, str] | None:
        own: dict[str, str] | None = super().get_group(filename)
        if own or self._second is None:
            return own
        try:
            found = self._fetch_group(filename)
        except Exception:  # whatever is in the second folder, Triton compiles
            return own
        if found is None:
            return own
        try:
            super().put_group(filename, found)
        except OSError:
            pass  # the own folder is full or read-only: the next process fetches again
        return found

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        path: str = super().put(data, filename, binary=binary)
        # A compiled module of the host is an entry of one file; other files belong to a group.
        if filename.endswith(".so"):
            self._give([filename])
        return path

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        path: str = super().put_group(filename, group)
        self._give(group, filename)
        return path

    def _fetch_group(self, filename: str) -> dict[str, str] | None:
        """Returns the paths of all files of a group, by name; None if the second folder lacks it or one."""
        assert self._second is not None
        listed = os.path.join(self._second, _GROUP + filename)
        if not os.path.isfile(listed):  # opening a pipe would wait for its writer
            return None
        with open(listed, encoding="utf-8") as file:
            names = json.load(file)["child_paths"]
        # A name with a folder would lead out of the entry.
        if not isinstance(names, dict) or any(os.path.basename(name) != name for name in names):
            return None
        found: dict[str, str] = {}
        for name in names:
            path = self._fetch(name)
            if path is None:
                return None
            found[name] = path
        return found

    def _fetch(self, filename: str) -> str | None:
        """Returns the path of the file in the own folder, to which it is copied, or in the second one."""
        assert self._second is not None
        source = os.path.join(self._second, filename)
        if not os.path.isfile(source):
            return None
        target: str = self._make_path(filename)
        partial = os.path.join(self.cache_dir, f"tmp.cubinet_{os.getpid()}_{uuid.uuid4()}")
        try:
            shutil.copyfile(source, partial)
            os.replace(partial, target)
            return target
        except OSError:
            _remove(partial)
            return source

    def _give(self, names: Iterable[str], group: str | None = None) -> None:
        """Copies files of the own folder to the second folder, where they appear as one entry."""
        if self._second is None:
            return
        stage, lock = "", -1
        try:
            stage, lock = _make_stage(os.path.dirname(self._second))
            for name in names:
                shutil.copyfile(self._make_path(name), os.path.join(stage, name))
            if group is not None:
                paths = {name: os.path.join(self._second, name) for name in names}
                with open(os.path.join(stage, _GROUP + group), "w", encoding="utf-8") as file:
                    json.dump({"child_paths": paths}, file)
            os.rename(stage, self._second)
        except Exception:  # the process goes on without the second folder
            shutil.rmtree(stage, ignore_errors=True)
        finally:
            if lock >= 0:
                os.close(lock)


def _make_stage(root: str) -> tuple[str, int]:
    """Creates a folder to prepare an entry in. Returns its path and a descriptor that holds its lock.

    `serve-warm` removes a folder with this machine's boot ID in its name once its lock is free, which
    it is if this process is killed. It removes other folders after an hour.
    """
    name = f"{uuid.uuid4()}.tmp"
    stage = os.path.join(root, f".cubinet.{name}")
    os.makedirs(stage)
    boot = _boot_id()
    lock = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The folder gets the name by which its lock is judged only once it is locked.
        locked = os.path.join(root, f".cubinet.{boot}.{name}")
        if boot:
            os.rename(stage, locked)
            stage = locked
    except OSError:
        pass
    return stage, lock


def _boot_id() -> str:
    """Returns the ID of the running kernel, which the containers of a machine share; empty if unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _second_entry(key: str, own_entry: str) -> str | None:
    """Returns the folder of an entry in the second folder; None if that is the own one, or not named."""
    root = os.environ.get(_VARIABLE)
    if not root:
        return None
    entry = os.path.join(os.path.abspath(root), key)
    return None if os.path.realpath(entry) == os.path.realpath(own_entry) else entry


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass
