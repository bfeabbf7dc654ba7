# SPDX-License-Identifier: Apache-2.0
"""A cache of cuda.core's compiled programs in a home, and digests of the headers of a source.

    from cuda.core import Program, ProgramOptions
    from cubinet.cuda_core import ProgramCache

    with ProgramCache("kernels") as cache:
        code = Program(source, "c++", options=ProgramOptions(arch="sm_90a")).compile("cubin", cache=cache)
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cuda.core import ObjectCode
from cuda.core.utils import ProgramCacheResource

from cubinet.command import kernels_of, remove_kernel
from cubinet.configuration import PathLike
from cubinet.errors import Corruption, InvalidArgument, NotFound, Unsupported
from cubinet.kernels import Kernel
from cubinet.runtime import Runtime

_prefix = "cuda-core-"


class ProgramCache(ProgramCacheResource):
    """Keeps compiled programs in a home, verified when they are read. For `Program.compile(cache=…)`.

    A look-up that misses holds a lock on its key, and other threads and processes that miss the same
    key wait until the program is stored: it is compiled once. The lock ends with `cache[key] = …`, with
    the thread's next look-up, with the thread, or with close(), so a compilation that fails keeps nobody waiting longer
    than `wait_seconds`.

    Values are cubins and PTX, which is returned without a final zero. Others, such as LTO-IR, raise
    InvalidArgument when they are stored. A damaged entry is a miss. Thread-safe; may be used in a
    forked child if it was created there.
    """

    def __init__(self, home: PathLike, wait_seconds: float = 120.0) -> None:
        if not os.fsdecode(home):
            raise InvalidArgument("'home' is empty", "name the folder in which programs are kept")
        self._home = os.path.abspath(os.fsdecode(home))
        self._wait_seconds = wait_seconds
        self._runtime = Runtime(home=self._home, compile="never")
        self._locks = _Locks(self._home)

    def __getitem__(self, key: bytes | str) -> bytes:
        name = _name_of(key)
        self._locks.release_of_this_thread()
        found = self._find(name)
        if found is None and self._locks.acquire(name, self._wait_seconds):
            found = self._find(name)
            if found is not None:
                self._locks.release_of_this_thread()
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: bytes | str, value: bytes | bytearray | memoryview | ObjectCode) -> None:
        name, image = _name_of(key), _bytes_of(value)
        try:
            if self._find(name) in (image, image.rstrip(b"\0")):
                return
            self._remove(name)
            self._runtime.kernel_from_image(name, image)
            if self._find(name) is None:
                self._remove(name)
                raise InvalidArgument("the value has images for several targets", "store a cubin or PTX")
        finally:
            self._locks.release_of_this_thread()

    def __delitem__(self, key: bytes | str) -> None:
        if not self._remove(_name_of(key)):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        """Returns whether the program is stored. Takes no lock."""
        return isinstance(key, (bytes, bytearray, str)) and self._find(_name_of(key)) is not None

    def __len__(self) -> int:
        return len({each["template"] for each in self._entries(_prefix)})

    def clear(self) -> None:
        """Removes every program that a ProgramCache stored in the home, and no other kernel."""
        self._remove(_prefix)

    def close(self) -> None:
        self._locks.release_all()
        self._runtime.close()

    def _entries(self, beginning: str) -> list[dict[str, Any]]:
        """Returns the entries of programs whose names begin so. Names are equally long."""
        return [each for each in kernels_of(self._home) if each["template"].startswith(beginning)]

    def _find(self, name: str) -> bytes | None:
        """Returns the program that is stored under a name, or None if there is none or it is damaged."""
        try:
            return _only_image(self._runtime.stored_kernel(name))
        except (NotFound, Corruption, InvalidArgument):
            # InvalidArgument: two processes stored different programs, of which neither is better.
            return None

    def _remove(self, beginning: str) -> bool:
        """Removes the programs whose names begin so. Returns whether there were some."""
        keys = {each["key"] for each in self._entries(beginning)}
        return any([remove_kernel(self._home, key) for key in keys])


def _name_of(key: bytes | str) -> str:
    if not isinstance(key, (bytes, bytearray, str)):
        raise TypeError(f"a key of a program cache is bytes or str, not {type(key).__name__}")
    return _prefix + hashlib.sha256(key.encode() if isinstance(key, str) else key).hexdigest()


def _bytes_of(value: bytes | bytearray | memoryview | ObjectCode) -> bytes:
    if isinstance(value, ObjectCode):
        code = value.code
        return Path(code).read_bytes() if isinstance(code, str) else bytes(code)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"a value of a program cache is bytes or an ObjectCode, not {type(value).__name__}")


def _only_image(kernel: Kernel) -> bytes | None:
    # The list has every build, whatever the device.
    builds = kernel.explain("9.0")["builds"]
    if len(builds) != 1:
        return None
    target: str = builds[0]["target"]
    if not target.startswith("compute_"):
        return kernel.image(target)
    return kernel.image(target.replace("compute_", "sm_"), ptx=True).rstrip(b"\0")


class _Locks:
    """Locks of keys among the threads and processes that use a home: files of this user, by flock."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(tempfile.gettempdir(), f"cubinet-cuda-core-{os.getuid()}")
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        if os.stat(self._folder).st_uid != os.getuid():
            raise Unsupported(f"the folder {self._folder!r} for locks belongs to another user",
                              "remove it, or set TMPDIR to a folder of yours")
        self._home = home
        self._of_thread = threading.local()
        self._held: weakref.WeakSet[_Lock] = weakref.WeakSet()

    def acquire(self, name: str, seconds: float) -> bool:
        """Waits for the lock of a name. Returns False if it is not free within `seconds`."""
        digest = hashlib.sha256(f"{self._home}\0{name}".encode()).hexdigest()
        file = os.open(os.path.join(self._folder, digest), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        end = time.monotonic() + seconds
        pause = 0.001
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    os.close(file)
                    return False
                time.sleep(pause)
                pause = min(2 * pause, 0.05)
        lock = _Lock(file)
        self._of_thread.lock = lock
        self._held.add(lock)
        return True

    def release_of_this_thread(self) -> None:
        lock = getattr(self._of_thread, "lock", None)
        if lock is not None:
            lock.release()
            self._of_thread.lock = None

    def release_all(self) -> None:
        for lock in list(self._held):
            lock.release()


class _Lock:
    """The locked file of a thread. The end of the thread releases it."""

    def __init__(self, file: int) -> None:
        self._file: int | None = file
        self._mutex = threading.Lock()

    def release(self) -> None:
        with self._mutex:
            file, self._file = self._file, None
        if file is not None:
            fcntl.flock(file, fcntl.LOCK_UN)  # also if a forked child has the file too
            os.close(file)

    def __del__(self) -> None:
        self.release()


# White space and comments may stand before a directive and within it, and "%:" is another "#". The
# limit of a comment keeps the search linear.
_space = b" \t\v\f\r"
_gap = rb"(?:[ \t\v\f\r]|/\*(?:[^*]|\*(?!/)){0,1000}\*/)*"
_include = re.compile(rb"(?:#|%:)" + _gap + rb"include(?:_next)?\b" + _gap + rb"([^\n]*)")
_has_include = re.compile(rb"__has_include(?:_next)?" + _gap + rb"\(([^)]*)\)")
_named = re.compile(rb'\s*(?:"([^"\n]+)"|<([^>\n]+)>)')


def extra_digest(source: str | bytes, include_path: PathLike | Iterable[PathLike] = (), *, pre_include: Iterable[str] = ()) -> bytes:
    """Returns the digest of every header that a source may include, for make_program_cache_key().

    `include_path` and `pre_include` are those of ProgramOptions. Every header that an #include or
    __has_include names is read, whether or not its condition holds, and so on through the headers. The
    digest changes if one of them changes, appears, disappears, or is hidden by another of its name.
    Headers that no folder has are the compiler's own, which the key covers. Raises Unsupported for an
    #include whose name is a macro, and IoError or OSError for a header that cannot be read.
    """
    folders = [include_path] if isinstance(include_path, (str, bytes, os.PathLike)) else list(include_path)
    search = [Path(os.fsdecode(folder)) for folder in folders]
    digest = hashlib.sha256()
    text = source.encode() if isinstance(source, str) else bytes(source)
    pending: list[tuple[Path | None, str]] = [(None, name) for name in pre_include]
    pending += [(None, name) for name in _included(text, "the source")]
    seen: set[tuple[Path | None, str]] = set()
    while pending:
        place, name = pending.pop()
        if (place, name) in seen:
            continue
        seen.add((place, name))
        # A quoted name is first searched beside the file that includes it. Others are
        # too here: a file too many in the digest costs a compilation, one too few a wrong program.
        found = next((path for path in ([place] if place else []) + search if (path / name).is_file()), None)
        digest.update(f"{name}\0{'' if found is None else 'found'}\0".encode())
        if found is None:
            continue
        content = (found / name).read_bytes()
        digest.update(hashlib.sha256(content).digest())
        pending += [((found / name).parent, each) for each in _included(content, str(found / name))]
    return digest.digest()


def _included(text: bytes, place: str) -> list[str]:
    names = []
    text = text.replace(b"\r\n", b"\n").replace(b"\\\n", b"")
    found = [match for match in _include.finditer(text) if _begins_directive(text, match.start())]
    for match in [*found, *_has_include.finditer(text)]:
        name = _named.match(match[1])
        if name is None:
            raise Unsupported(f"{place} includes {match[1].decode(errors='replace')!r}, a name that only the preprocessor "
                              "knows", "compute a digest of these headers yourself")
        names.append((name[1] or name[2]).decode(errors="surrogateescape"))
    return names


def _begins_directive(text: bytes, at: int) -> bool:
    """Returns whether only white space, or a comment, is before a position of its line."""
    before = text[text.rfind(b"\n", max(at - 4096, 0), at) + 1 : at].strip(_space)
    return not before or before.endswith(b"*/")
