"""Assigns GPUs to jobs by locks on files `$REINFORGE_HOME/gpus/<uuid>`. A lock ends with the worker and its
trainer.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput, JobFailure
from worker.machine.gpus import ORDER, VISIBLE, Gpu, list_gpus
from worker.machine.sampler_groups import GROUPS_HINT, NO_SERVERS, NO_SERVERS_HINT, groups_problem
from worker.machine.settings import split_groups
from worker.settings import WorkerSettings, read_settings

SAMPLER_VARIABLE = "REINFORGE_VLLM_DEVICES"
TRAINERS, SAMPLERS, PER_JOB, SERVERS = (
    "REINFORGE_TRAINER_DEVICES",
    "REINFORGE_SAMPLER_DEVICES",
    "REINFORGE_GPUS_PER_JOB",
    "REINFORGE_VLLM_SERVERS",
)
_REQUEST_SECONDS = 45.0


@dataclass(frozen=True, slots=True)
class Pools:
    """GPUs that a worker may use for trainers and for samplers. seats: jobs per GPU."""

    trainers: tuple[Gpu, ...]
    samplers: tuple[Gpu, ...] = ()
    seats: int = 1
    groups: tuple[tuple[Gpu, ...], ...] = ()
    """`samplers` by vLLM server, if each job takes all of them; empty if each job takes one of `samplers`."""

    @property
    def jobs(self) -> int:
        if not self.trainers:
            return 1
        if self.groups:
            return self.seats
        if set(self.trainers) == set(self.samplers):  # each job takes two of the same
            return max(1, len(self.trainers) * self.seats // 2)
        sampled = len(self.samplers) if self.samplers else len(self.trainers)
        return max(1, min(len(self.trainers), sampled) * self.seats)


@dataclass(frozen=True, slots=True)
class Placement:
    trainers: tuple[Gpu, ...] = ()
    samplers: tuple[tuple[Gpu, ...], ...] = ()

    @property
    def shared(self) -> bool:
        return not self.samplers

    def environment(self) -> dict[str, str]:
        if not self.trainers:
            return {}
        variables = ORDER | {VISIBLE: ",".join(gpu.device for gpu in self.trainers)}
        # Empty if they share one: the worker's own value would name GPUs nobody has locked.
        groups = (",".join(gpu.device for gpu in group) for group in self.samplers)
        return variables | {SAMPLER_VARIABLE: ";".join(groups)}


def pools(gpus: Sequence[Gpu], settings: WorkerSettings) -> Pools:
    """Divide the GPUs into pools by the settings. Raises InvalidInput, with the environment variable as
    `param`.
    """
    if gpus and settings.vllm_servers > 1:
        raise InvalidInput(NO_SERVERS, code="impossible_placement", param=SERVERS, hint=NO_SERVERS_HINT)
    trainers = _named(gpus, settings.trainer_devices, TRAINERS)
    groups = _groups(gpus, settings.sampler_devices)
    samplers = (*chain.from_iterable(groups),) or _named(gpus, settings.sampler_devices, SAMPLERS)
    if both := [gpu.device for gpu in samplers if gpu in trainers]:
        raise InvalidInput(
            f"GPU {', '.join(both)} is named for trainers and for samplers.",
            code="impossible_placement",
            param=SAMPLERS,
            hint=f"Leave {SAMPLERS} unset to have both on one GPU, or name different ones.",
        )
    free = [gpu for gpu in gpus if gpu not in trainers and gpu not in samplers]
    if samplers and not trainers and not free:
        raise InvalidInput(
            f"{SAMPLERS} names every GPU, which leaves none for trainers.",
            code="impossible_placement",
            param=SAMPLERS,
        )
    if settings.gpus_per_job == 2 and not samplers:
        samplers = (*free,) if trainers else tuple(gpus)
    _check_per_job(settings.gpus_per_job, samplers, groups, {*(trainers or gpus), *samplers}, gpus, free)
    if not trainers:
        trainers = tuple(gpus) if set(samplers) == set(gpus) else tuple(free)
    return Pools(trainers, samplers, settings.jobs_per_gpu, groups)


def _check_per_job(
    per_job: int | None,
    samplers: Sequence[Gpu],
    groups: Sequence[Sequence[Gpu]],
    usable: Collection[Gpu],
    gpus: Sequence[Gpu],
    free: Sequence[Gpu],
) -> None:
    reason = hint = None
    taken = 1 + (len(samplers) if groups else 1)
    if per_job == 2 and (not samplers or len(usable) < 2):
        reason = f"this worker sees {len(gpus)} GPUs, of which {len(free)} are unassigned."
        hint = "Leave the variable unset: trainer and vLLM then share one GPU."
    elif per_job is not None and samplers and per_job != taken:
        reason = f"{SAMPLERS} gives samplers GPUs of their own, so each job takes {taken}."
        hint = f"Leave {PER_JOB} unset, or {SAMPLERS}."
    if reason is not None:
        raise InvalidInput(
            f"{PER_JOB} is {per_job}, but {reason}", code="impossible_placement", param=PER_JOB, hint=hint
        )


def _groups(gpus: Sequence[Gpu], value: str) -> tuple[tuple[Gpu, ...], ...]:
    if ";" not in value:
        return ()
    groups = tuple(_named(gpus, group, SAMPLERS) for group in split_groups(value))
    problem = groups_problem([[gpu.device for gpu in group] for group in groups])
    if problem or not all(groups):
        raise InvalidInput(
            f"{SAMPLERS} {problem or 'names no GPU.'}",
            code="impossible_placement",
            param=SAMPLERS,
            hint=GROUPS_HINT,
        )
    return groups


def _named(gpus: Sequence[Gpu], value: str, variable: str) -> tuple[Gpu, ...]:
    words = [word.strip() for word in value.split(",") if word.strip()]
    named = []
    for word in words:
        match = [gpu for gpu in gpus if word in (gpu.device, gpu.uuid)]
        if not match:
            visible_gpus = ", ".join(gpu.device for gpu in gpus) or "none"
            raise InvalidInput(
                f"{variable} names GPU {word}, which this worker does not see; it sees {visible_gpus}.",
                code="impossible_placement",
                param=variable,
                hint="Use the GPU numbers that nvidia-smi shows. CUDA_VISIBLE_DEVICES may hide some.",
            )
        named += match
    return tuple(dict.fromkeys(named))


def place(available: Pools, full: Collection[str], *, trainers: int = 1) -> Placement | None:
    """GPUs for the next job; None if too few are free. full: uuids of GPUs that cannot take another job."""
    if not available.trainers:
        return Placement()
    chosen = tuple(gpu for gpu in available.trainers if gpu.uuid not in full)[:trainers]
    if len(chosen) < trainers:
        return None
    if not available.samplers:
        return Placement(chosen)
    if available.groups:
        busy = any(gpu.uuid in full for gpu in available.samplers)
        return None if busy else Placement(chosen, available.groups)
    sampler = next((gpu for gpu in available.samplers if gpu.uuid not in full and gpu not in chosen), None)
    return None if sampler is None else Placement(chosen, ((sampler,),))


@dataclass(slots=True)
class Hold:
    """GPUs that are locked for a process until `release`; empty without GPUs."""

    placement: Placement = field(default_factory=Placement)
    locks: dict[str, int] = field(default_factory=dict)
    folder: Path | None = None
    take_again: "Callable[[Pools, int], Hold | None] | None" = field(default=None, compare=False)
    available: Pools | None = field(default=None, compare=False)

    @property
    def descriptors(self) -> tuple[int, ...]:
        return tuple(self.locks.values())

    def drop_samplers(self) -> None:
        for gpu in (gpu for group in self.placement.samplers for gpu in group):
            if (descriptor := self.locks.pop(gpu.uuid, None)) is not None:
                os.close(descriptor)
        self.placement = Placement(self.placement.trainers)

    def widen(self, trainers: int) -> bool:
        """Replace the GPUs by those for `trainers` trainers. False while too few are free: all are then
        released, so that two jobs cannot wait for each other. Raises JobFailure `too_few_devices`
        (retryable).
        """
        if self.available is None or self.take_again is None or not self.available.trainers:
            return True
        if self.locks and len(self.placement.trainers) >= trainers:
            return True
        pool = self.available
        if not self.placement.samplers:
            pool = Pools(pool.trainers, (), pool.seats)
        if place(pool, (), trainers=trainers) is None:
            raise _too_few(trainers, pool)
        self.release()
        other = self.take_again(pool, trainers)
        if other is None:
            return False
        self.placement, self.locks, self.folder = other.placement, other.locks, other.folder
        return True

    @property
    def requested(self) -> bool:
        now = time.time()
        for uuid in self.locks:
            with contextlib.suppress(OSError):
                if (
                    self.folder is not None
                    and now - _request_file(self.folder, uuid).stat().st_mtime < _REQUEST_SECONDS
                ):
                    return True
        return False

    def release(self) -> None:
        while self.locks:
            os.close(self.locks.popitem()[1])


def _too_few(trainers: int, pool: Pools) -> JobFailure:
    count = len({*pool.trainers, *(() if pool.groups else pool.samplers)})
    beside = (
        f" and {len(pool.samplers)} for vLLM" if pool.groups else " and one for vLLM" if pool.samplers else ""
    )
    return JobFailure(
        f"devices_per_job is {trainers}, and this worker has {count} GPU{'' if count == 1 else 's'} for trainers"
        f"{beside}.",
        code="too_few_devices",
        hint="Give the job a worker with more, then resume it, or fork it with a smaller devices_per_job.",
        retryable=True,
    )


class GpuLocks:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, available: Pools, holder: str, *, urgent: bool = False, trainers: int = 1) -> Hold | None:
        """Lock GPUs for a job; None while too few are free. urgent: request idle holders to release theirs."""
        if not available.trainers:
            return Hold()
        full: set[str] = set()
        while (placement := place(available, full, trainers=trainers)) is not None:
            gpus = [*placement.trainers, *(gpu for group in placement.samplers for gpu in group)]
            locks: dict[str, int] = {}
            for gpu in gpus:
                descriptor = self.lock(gpu, available.seats, holder)
                if descriptor is None:
                    full.add(gpu.uuid)
                    break
                locks[gpu.uuid] = descriptor
            else:
                for gpu in gpus:
                    _request_file(self._folder, gpu.uuid).unlink(missing_ok=True)
                return Hold(placement, locks, self._folder)
            Hold(locks=locks).release()
        for gpu in (*available.trainers, *available.samplers) if urgent else ():
            _request_file(self._folder, gpu.uuid).touch()
        return None

    def lock(self, gpu: Gpu, seats: int, holder: str) -> int | None:
        locked = (self._lock(path, holder) for path in self._seats(gpu, seats))
        return next((descriptor for descriptor in locked if descriptor is not None), None)

    def take_whole(self, gpu: Gpu, seats: int, holder: str) -> Hold | None:
        locks: dict[str, int] = {}
        for path in self._seats(gpu, seats):
            descriptor = self._lock(path, holder)
            if descriptor is None:
                Hold(locks=locks).release()
                return None
            locks[path.name] = descriptor
        return Hold(Placement((gpu,)), locks, self._folder)

    def _lock(self, path: Path, holder: str) -> int | None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, holder.encode())
        return descriptor

    def holders(self, available: Pools) -> str:
        lines = []
        for gpu in dict.fromkeys((*available.trainers, *available.samplers)):
            texts = []
            for path in self._seats(gpu, available.seats):
                with contextlib.suppress(OSError):
                    texts.append(path.read_text(errors="replace") or "nobody")
            lines.append(f"GPU {gpu.device}: {', '.join(texts)}")
        return "; ".join(lines)

    def _seats(self, gpu: Gpu, seats: int) -> list[Path]:
        return [self._folder / (gpu.uuid if seat == 0 else f"{gpu.uuid}.{seat}") for seat in range(seats)]


def _request_file(folder: Path, uuid: str) -> Path:
    return folder / f"{uuid}.wanted"


def gpu_locks(settings: WorkerSettings) -> GpuLocks:
    return GpuLocks(settings.gpu_locks or settings.home.resolve() / "gpus")


class JobGpus:
    """GPUs of a worker, taken before it claims a job."""

    def __init__(self, settings: WorkerSettings, list_: Callable[[], list[Gpu]] = list_gpus) -> None:
        self._pools, self._locks = pools(list_(), settings), gpu_locks(settings)
        self.waits_for: str | None = None

    @property
    def device(self) -> str:
        names = list(dict.fromkeys(gpu.name for gpu in self._pools.trainers))
        if not names:
            return "cpu"
        count = len(self._pools.trainers)
        return f"cuda: {f'{count} × ' if count > 1 else ''}{', '.join(names)}"

    @contextlib.contextmanager
    def held(self, holder: str, *, urgent: bool = False) -> Iterator[Hold | None]:
        hold = self._locks.take(self._pools, holder, urgent=urgent)
        if hold is None:
            self.waits_for = f"every GPU is taken ({self._locks.holders(self._pools)})"
            yield None
            return
        self.waits_for = None
        hold.available = self._pools
        hold.take_again = lambda pool, trainers: self._locks.take(
            pool, holder, urgent=True, trainers=trainers
        )
        try:
            yield hold
        finally:
            hold.release()


def placement_report() -> dict[str, Any]:
    try:
        return {"jobs": pools(list_gpus(), read_settings()).jobs}
    except InvalidInput as error:
        refusal: dict[str, Any] = error.envelope()["error"]
        return refusal


if __name__ == "__main__":
    sys.stdout.write(json.dumps(placement_report()))  # for `reinforge up`
