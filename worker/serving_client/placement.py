"""Places models for sampling and reward tests: on a free GPU, else on a small share of a job's GPU, else on
the CPU.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tenacity import Retrying, retry_if_result, stop_after_attempt, wait_fixed

from reinforge.errors import Unavailable
from worker.machine.gpu_assignment import GpuLocks, Hold, Placement
from worker.machine.gpus import VISIBLE, Gpu, list_gpus
from worker.machine.settings import GPU_SHARE
from worker.serving_client.engine_choice import Engine, gpu_engine

SHARE = 0.1
FREE_SHARE = 0.5
"""Share that a model may take of a job's free GPU memory: the job's next update may need the rest."""
OVERHEAD = 2**30
_TRIES, _PAUSE_SECONDS = 3, 0.1
"""Count of tries to lock a GPU, and pause between them: workers in search of jobs lock GPUs briefly."""


@dataclass(frozen=True, slots=True)
class ServingPlace:
    engine: Engine
    gpu: Gpu | None = None
    share: float | None = None
    hidden: bool = False

    @property
    def limited(self) -> bool:
        return self.share is not None or self.hidden

    def environment(self) -> dict[str, str]:
        if self.gpu is None:
            return {VISIBLE: ""} if self.hidden else {}
        share = {} if self.share is None else {GPU_SHARE: str(self.share)}
        return Placement((self.gpu,)).environment() | share


def choose(
    free: Gpu | None,
    busy: Sequence[Gpu],
    weights: int,
    ram: int | None,
    *,
    requested: Literal["auto"] | Engine,
    best: Engine,
) -> ServingPlace:
    """Raises Unavailable `gpu_busy`."""
    engine = best if requested == "auto" else requested
    if free is not None:
        return ServingPlace(engine, free)
    if requested == "vllm":
        raise _busy("vLLM needs a GPU of its own.")
    needed = weights + weights // 5 + OVERHEAD
    roomiest = max(busy, key=lambda gpu: gpu.free)
    if needed <= min(SHARE * roomiest.total, FREE_SHARE * roomiest.free):
        return ServingPlace("transformers", roomiest, SHARE)
    if ram is None or 2 * weights + OVERHEAD <= ram / 2:  # float32 on the CPU; files are mostly bfloat16
        return ServingPlace("transformers", hidden=True)
    raise _busy("The model is too large to share one of them or to run on the CPU.")


def _busy(why: str) -> Unavailable:
    return Unavailable(
        f"Every GPU of this worker is taken. {why}",
        code="gpu_busy",
        hint="Try again when a job has ended, or start `worker calls` where a GPU is free.",
    )


@dataclass(slots=True)
class Launch:
    place: ServingPlace | None = None
    hold: Hold = field(default_factory=Hold)
    at: float = field(default_factory=time.monotonic)

    def environment(self) -> dict[str, str]:
        return {} if self.place is None else self.place.environment()


class Places:
    def __init__(
        self,
        locks: GpuLocks,
        seats: int,
        holder: str,
        requested: Literal["auto"] | Engine,
        gpus: Callable[[], list[Gpu]] = list_gpus,
        ram: Callable[[], int | None] = lambda: available_ram(),
    ) -> None:
        """seats: number of jobs that may share a GPU. holder: name of the GPU's user, shown to
        waiting jobs.
        """
        self._locks, self._seats, self._holder, self._requested = locks, seats, holder, requested
        self._gpus, self._ram = gpus, ram

    def find(self, folder: str) -> Launch:
        gpus = self._gpus()
        if not gpus:
            engine: Engine = "transformers" if self._requested == "auto" else self._requested
            return Launch(ServingPlace(engine))
        hold = self._take(gpus)
        try:
            place = choose(
                hold.placement.trainers[0] if hold else None,
                gpus,
                sum(path.stat().st_size for path in Path(folder).glob("*.safetensors")),
                self._ram(),
                requested=self._requested,
                best=gpu_engine()[0],
            )
        except BaseException:
            if hold is not None:
                hold.release()
            raise
        return Launch(place, hold or Hold())

    def _take(self, gpus: Sequence[Gpu]) -> Hold | None:
        """Lock the last free GPU, since jobs take the first."""

        def take() -> Hold | None:
            holds = (self._locks.take_whole(gpu, self._seats, self._holder) for gpu in reversed(gpus))
            return next((hold for hold in holds if hold is not None), None)

        retrying = Retrying(
            retry=retry_if_result(lambda hold: hold is None),
            stop=stop_after_attempt(_TRIES),
            wait=wait_fixed(_PAUSE_SECONDS),
            retry_error_callback=lambda _: None,
        )
        return retrying(take)


def available_ram() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
