# SPDX-License-Identifier: Apache-2.0
"""Runtime: opens stores, finds and compiles kernels, and keeps loaded modules."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from cubinet import _core
from cubinet._core import Attention, Merge
from cubinet.attention import AttentionProblem, PlanOptions, fields_of
from cubinet.configuration import Configuration, lines_of
from cubinet.kernels import Kernel, SourceProgram, Spec
from cubinet.prebuild import Progress
from cubinet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True)
class Counters:
    """How many requests for kernels each source served."""

    process_hits: int
    """Loaded in this process already."""
    memory_hits: int
    """Built earlier by this Runtime, which has no home."""
    registry_hits: int
    """From a home."""
    bundle_hits: int
    imported_hits: int
    """From a folder of published cubins."""
    server_hits: int
    compiled: int
    misses: int
    """No build was found, and compiling is disabled."""
    failures: int
    """Errors other than misses."""
    bytes_loaded: int


@dataclass(frozen=True)
class Memory:
    """The modules that a Runtime keeps loaded, and their bytes on the device, by state
    (docs/in_service.md)."""

    modules: int
    """All loaded modules."""
    bytes: int
    idle_modules: int
    """Not in use. trim() unloads them after the retired ones."""
    idle_bytes: int
    retired_modules: int
    """Not in use and forgotten. trim() unloads them first."""
    retired_bytes: int


@dataclass(frozen=True)
class Trimmed:
    """What a trim has unloaded."""

    modules: int
    bytes: int


@dataclass(frozen=True)
class Refusal:
    """The requests of one caller for one kernel on one device that a frozen Runtime refused."""

    kernel: str
    device: int
    caller: str
    """The label of cubinet.caller(); may be empty."""
    count: int


@dataclass(frozen=True)
class Refusals:
    """What a Runtime refused since it was frozen."""

    entries: tuple[Refusal, ...]
    others: int
    """Refused requests beyond 1,024 entries."""
    fallbacks: int
    """Requests that a fallback served."""


_ALL_DEVICES = -1
_ALL_BYTES = 2**64 - 1


class Runtime:
    """Opens stores, finds and compiles kernels, and keeps loaded modules. Thread-safe.

    `Runtime()` reads the variables of the command `cubinet` (docs/cli.md) and CUBINET_COMPILE.
    Options are the members of Configuration: `Runtime(home="/var/cache/cubinet", compile="never")`.
    Opens the home and the bundles; the driver, NVRTC and servers are opened when first needed.
    With `record=True`, `workload()` has each kernel at its first load and each attention problem.

    In a child process that is forked afterwards, calls that search, compile, load or launch raise
    Unsupported.
    """

    def __init__(self, configuration: Configuration | None = None, *, record: bool = False, **options: Any) -> None:
        self._configuration = dataclasses.replace(configuration or Configuration(), **options)
        self._handle = _core.Runtime(*lines_of(self._configuration))
        if record:
            self.record()

    @property
    def configuration(self) -> Configuration:
        return self._configuration

    def kernel(self, request: Spec | SourceProgram | str, /, **parameters: Any) -> Kernel:
        """Checks a request for a kernel: a Spec, a SourceProgram, or a template's name with its
        parameters. Compiles nothing. May block on stores."""
        if parameters and not isinstance(request, str):
            raise TypeError(f"parameters belong to a template's name, not to a {type(request).__name__}")
        if isinstance(request, SourceProgram):
            return Kernel(
                _core.kernel_from_source(
                    self._handle,
                    request.name,
                    request.text,
                    list(request.kernels),
                    list(request.globals),
                    list(request.headers.items()),
                    list(request.flags),
                    request.folder,
                )
            )
        spec = Spec(request, **parameters) if isinstance(request, str) else request
        if not isinstance(spec, Spec):
            raise TypeError(f"a kernel is requested by a Spec, a SourceProgram or a name, not by {type(spec).__name__}")
        return Kernel(_core.kernel_from_spec(self._handle, spec.template, spec.parameters))

    def kernel_from_image(self, name: str, image: bytes) -> Kernel:
        """Takes the caller's cubin, PTX or fatbinary, and keeps it in the home under `name`."""
        return Kernel(_core.kernel_from_image(self._handle, name, image))

    def stored_kernel(self, name: str) -> Kernel:
        """Finds a stored kernel by its key, by the name of a function or by the name of an image.

        Raises InvalidArgument, with the keys, if several match.
        """
        return Kernel(_core.kernel_from_name(self._handle, name))

    def attention_plan(
        self, problem: AttentionProblem, device: str = "9.0", sm_count: int = 0, **options: Any
    ) -> dict[str, Any]:
        """Returns the plan of a problem for a device of this compute capability and SM count (0: the
        usual one). `options` are the members of PlanOptions. Needs no driver and compiles nothing."""
        chosen = fields_of(PlanOptions(**options))
        plan: dict[str, Any] = json.loads(
            _core.attention_plan(self._handle, fields_of(problem), chosen, device, sm_count)
        )
        return plan

    def attention(self, problem: AttentionProblem, device: int = 0, **options: Any) -> Attention:
        """Plans a problem, finds or compiles every kernel, and loads it. `options` are the members of
        PlanOptions. May block for seconds while it compiles. Keep the Attention: it keeps the kernels
        loaded."""
        return _core.bind_attention(self._handle, fields_of(problem), fields_of(PlanOptions(**options)), device)

    def merge(
        self,
        heads: int,
        head_dim: int,
        type: str = "bf16",
        type_o: str | None = None,
        output_scale: float = 1.0,
        device: int = 0,
    ) -> Merge:
        """Loads the kernel that merges two partial attention results by their log-sum-exps. `type` is
        that of O of both parts, `type_o` that of the merged O (None: the same). May compile."""
        return _core.bind_merge(self._handle, heads, head_dim, type, type_o or type, output_scale, device)

    def record(self, on: bool = True) -> None:
        """Begins, continues or ends the recording. What is loaded already is not noted."""
        _core.record(self._handle, on)

    def workload(self) -> Workload:
        """Returns what was recorded."""
        return Workload(_core.recorded(self._handle))

    def prepare(
        self,
        workload: Workload,
        device: int = 0,
        *,
        jobs: int = 0,
        memory: int = 0,
        progress: Callable[[Progress], object] | None = None,
    ) -> dict[str, Any]:
        """Finds, fetches or compiles the kernels of a workload and loads them, in order of first use and
        in parallel. Attention is planned anew for the device.

        `jobs` is the number of entries at a time; 0: as processors and memory allow. `memory` limits
        all compilations, in bytes; 0: no limit. `progress` is called in this thread, after each entry
        (its member `kernel`) and several times a second in between.

        Returns the report, with "loaded", "compiled" and "seconds". Raises an Error if an entry is not
        loaded or a line is not understood. The rest is prepared, and the error's `detail` is the report
        with the reasons. After an exception of `progress`, or Ctrl-C, running work finishes, and the
        same call continues. Raises Busy if `progress` calls it.
        """
        call = None if progress is None else lambda *facts: progress(Progress(*facts))
        written = _core.prepare(self._handle, workload.text, device, jobs, memory, call)
        report: dict[str, Any] = json.loads(written)
        return report

    def freeze(self, fallbacks: Iterable[tuple[Kernel, Kernel]] = ()) -> None:
        """Serves only loaded kernels from now on, until thaw(). A request for another kernel raises
        NotFound at once: nothing is compiled, loaded, downloaded or waited for. Attention is planned
        from the loaded kernels. The stores are not read; a call that needs them raises Unavailable.

        `fallbacks` are pairs of a kernel and the loaded kernel that takes the same arguments and is
        served where the first is not loaded. Raises NotFound if one is not loaded. A second call
        replaces them.
        """
        pairs = list(fallbacks)
        _core.freeze(
            self._handle, [kernel._handle for kernel, _ in pairs], [substitute._handle for _, substitute in pairs]
        )

    def thaw(self) -> None:
        """Ends freeze(). Does nothing if the Runtime is not frozen."""
        _core.thaw(self._handle)

    @property
    def frozen(self) -> bool:
        return self._refusals()["frozen"]

    def refusals(self) -> Refusals:
        """Returns the requests that were refused since the Runtime was frozen."""
        counted = self._refusals()
        return Refusals(
            tuple(Refusal(**entry) for entry in counted["refusals"]), counted["others"], counted["fallbacks"]
        )

    def _refusals(self) -> dict[str, Any]:
        counted: dict[str, Any] = json.loads(_core.refusals(self._handle))
        return counted

    def counters(self) -> Counters:
        return Counters(**self._handle.counters())

    def memory(self, device: int | None = None) -> Memory:
        """Returns the loaded modules and their bytes. None: on all devices."""
        return Memory(**self._handle.memory(_ALL_DEVICES if device is None else device))

    def trim(self, bytes: int | None = None, device: int | None = None) -> Trimmed:
        """Unloads modules until at least `bytes` are freed or only modules in use are left, least
        recently used first. None: all that are not in use; on all devices.

        Waits for the device's work, and launches of other threads wait meanwhile. Functions,
        Attentions, Merges and CUDA graphs keep their modules. Raises Busy, and unloads nothing, while
        a stream of the device is captured.
        """
        freed = self._handle.trim(
            _ALL_BYTES if bytes is None else bytes, _ALL_DEVICES if device is None else device
        )
        return Trimmed(*freed)

    def forget(self, device: int) -> int:
        """Forgets all kernels of a device whose primary context was reset, and returns how many were
        loaded. Launches of older Functions raise DriverError; the next request loads the kernel again."""
        return self._handle.forget(device)

    def metrics(self) -> dict[str, Any]:
        """Returns the counters, the durations and the state: "requests" by outcome, "seconds" by phase,
        "modules" by state, "trims", "stores", "recording" and others (docs/observability.md). Contacts
        no server."""
        metrics: dict[str, Any] = json.loads(_core.metrics(self._handle))
        return metrics

    def prometheus(self, labels: Mapping[str, str] | None = None) -> str:
        """Returns the metrics in the text format 0.0.4 of Prometheus, with these labels in every sample.

        Raises InvalidArgument for more than 16 labels, a name that is wrong or used, and a value of more
        than 256 bytes."""
        return _core.prometheus(self._handle, list((labels or {}).items()))

    def journal(self, since: str = "", kernel: str = "") -> dict[str, Any]:
        """Returns the journal of the home: "entries", the newest last, has what was compiled for
        requests, why, and what would have avoided it. "damaged" and "newer" count lines that cannot be
        read. `since` is a period, such as "3h", or a time in UTC, such as "2026-11-27T03:00"; `kernel` is
        a key or a part of the specification.

        Raises Unavailable if the Runtime has no home."""
        journal: dict[str, Any] = json.loads(_core.journal(self._handle, since, kernel))
        return journal

    def stores(self) -> list[dict[str, Any]]:
        """Returns the stores that the Runtime searches, in their order, with "kind", "place", "source",
        "writable" and counters. Contacts no server."""
        stores: list[dict[str, Any]] = json.loads(self._handle.stores())
        return stores

    def close(self) -> None:
        """Ends the Runtime. Loaded Functions stay usable; their kernels load nothing any more."""
        self._handle.close()

    @property
    def closed(self) -> bool:
        return self._handle.closed

    def __enter__(self) -> Runtime:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Runtime {'closed' if self.closed else 'open'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Runtime cannot be pickled; pickle its configuration and create another from it")
