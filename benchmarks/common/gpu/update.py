"""Section `update`: forward, backward and the optimizer at the sizes of published models.

Completions are given, so no sampling engine takes part.
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch._dynamo.utils import counters
from torch.profiler import ProfilerActivity, profile

from common.gpu.models import Trainable, batch_of, sequences, trainable, weighted
from common.gpu.rows import NO_GPU, Row, Setting, at_least, figure, holds, of_gpu, waiting
from common.matrix import peak, update_flops
from reinforge.errors import JobFailure
from worker.machine.memory import is_out_of_memory
from worker.policy.base import Sequences

STEP = {"learning_rate": 1e-6, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0}
GOAL, GOAL_CARD, GOAL_SIZES = 0.40, "H200", ("1.5B", "7B")
"""Share of the matrix peak (MFU) with rows of one micro-batch or more, on this card. An H100 has the same peak, and by
data sheets 0.7 of its bandwidth."""
ENGINE = "PyTorch trainer, completions given"
LONGEST_KERNELS = 24
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx")
"""The profiler's names of kernel launches."""


@dataclass(frozen=True, slots=True)
class Load:
    """Rows of one step."""

    groups: int
    per_group: int
    prompt: int
    completion: int

    @property
    def label(self) -> str:
        return f"{self.groups} × {self.per_group} rows of {self.prompt:,} + {self.completion:,}"

    @property
    def rows(self) -> int:
        return self.groups * self.per_group

    @property
    def completion_tokens(self) -> int:
        return self.rows * self.completion

    def fitted(self, setting: Setting) -> "Load":
        return replace(TINY, per_group=min(self.per_group, TINY.per_group)) if setting.tiny else self


MANY, LONG, SINGLE = Load(16, 8, 512, 512), Load(4, 8, 1024, 1024), Load(1, 1, 1024, 31_744)
FEW = Load(4, 8, 512, 512)
PLAN: dict[str, tuple[Load, ...]] = {"0.5B": (MANY,), "1.5B": (MANY, LONG, SINGLE), "7B": (FEW,)}
PROFILED = "1.5B"
TINY = Load(2, 4, 96, 24)
SPREAD = ("first step", "update", "log-probabilities")
PROFILE = ("kernel launches", "time in kernels")
MEASURES = ("update", "MFU", "peak memory")
FUSED, COMPILED = "norms, gates and rotary positions are fused", "graphs that torch compiled for all sizes"


def names() -> list[str]:
    expected = []
    for size, loads in PLAN.items():
        expected += [f"{size}: {FUSED}", *(f"{_spread_label(size)}: {part}" for part in SPREAD)]
        if size == PROFILED:
            expected += [f"{size}, {FEW.label}: {part}" for part in PROFILE]
        expected += [f"{size}, {load.label}: {part}" for load in loads for part in MEASURES]
    return [*expected, COMPILED]


def run(setting: Setting) -> Iterator[Row]:
    limit = peak(setting.device)
    for size, loads in PLAN.items():
        model = trainable(size, setting)
        yield _fused(size, model, setting)
        yield from _spread(size, model, setting)
        if size == PROFILED:  # before a long row turns gradient checkpointing on
            yield from _profile(size, model, setting)
        for load in loads:
            try:
                yield from _measure(size, model, load, setting, limit)
            except (JobFailure, RuntimeError, MemoryError) as error:
                if not (is_out_of_memory(error) or getattr(error, "code", None) == "out_of_memory"):
                    raise
                yield holds(f"{size}, {load.label}: update", False, str(error))
        del model
        setting.reset_peak()
    yield of_gpu(figure(COMPILED, counters["stats"]["unique_graphs"], ""), setting)


def _fused(size: str, model: Trainable, setting: Setting) -> Row:
    name, counts = f"{size}: {FUSED}", model.host.facts["fused"]
    if setting.device == "cpu":
        return waiting(name, NO_GPU)
    return holds(name, bool(counts) and all(counts.values()), str(counts))


def _measure(size: str, model: Trainable, load: Load, setting: Setting, limit: float) -> Iterator[Row]:
    """Tokens per second and MFU of the faster of two steps, after one that does not count."""
    run = load.fitted(setting)
    rows = sequences(model.shape, run.groups, run.per_group, run.prompt, run.completion)
    setting.reset_peak()
    seconds = min([step(model, rows, setting) for _ in range(3)][1:])
    flops = run.groups * update_flops(model.shape, run.prompt, run.completion, run.per_group)
    label = f"{size}, {load.label}"
    facts = model.policy.passes.facts | {"layout": model.policy.layout, "engine": ENGINE}
    rate = run.completion_tokens / seconds
    yield of_gpu(figure(f"{label}: update", rate, "completion tokens/s", **facts), setting)
    share, name = flops / seconds / limit, f"{label}: MFU"
    has_goal = size in GOAL_SIZES and load is not SINGLE and _card_has_goal(setting)
    row = at_least(name, share, GOAL, engine=ENGINE) if has_goal else figure(name, share, "", engine=ENGINE)
    yield of_gpu(row, setting)
    held, name = setting.peak_gib(), f"{label}: peak memory"
    yield waiting(name, NO_GPU) if held is None else of_gpu(figure(name, held, "GiB"), setting)


def _card_has_goal(setting: Setting) -> bool:
    """Whether MFU has a limit; without a GPU it is the one that a run on the card will have."""
    return not setting.full or GOAL_CARD in torch.cuda.get_device_name()


def step(model: Trainable, rows: Sequences, setting: Setting) -> float:
    setting.wait()
    began = time.perf_counter()
    model.policy.forward_backward(batch_of(rows), weighted)  # type: ignore[arg-type]
    model.policy.optimizer_step(**STEP)  # type: ignore[arg-type]
    setting.wait()
    return time.perf_counter() - began


def _spread_label(size: str) -> str:
    return f"{size}, {FEW.rows} rows of unequal length"


def _spread(size: str, model: Trainable, setting: Setting) -> Iterator[Row]:
    """Completions of a quarter to the whole length, as a job has them, and log-probabilities without gradient."""
    load = FEW.fitted(setting)
    rows = sequences(
        model.shape, load.groups, load.per_group, load.prompt, load.completion, shortest=load.completion // 4
    )
    tokens = sum(map(len, rows.completions))
    seconds = [step(model, rows, setting) for _ in range(3)]
    setting.wait()
    began = time.perf_counter()
    model.policy.log_probs(rows)
    setting.wait()
    scoring = time.perf_counter() - began
    values = (
        (seconds[0], "s"),
        (tokens / statistics.median(seconds[1:]), "completion tokens/s"),
        (tokens / scoring, "completion tokens/s"),
    )
    for part, (value, unit) in zip(SPREAD, values, strict=True):
        yield of_gpu(figure(f"{_spread_label(size)}: {part}", value, unit), setting)


def _profile(size: str, model: Trainable, setting: Setting) -> Iterator[Row]:
    """Kernel launches of a step, and where its time goes."""
    load = FEW.fitted(setting)
    rows = sequences(model.shape, load.groups, load.per_group, load.prompt, load.completion)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if setting.device == "cuda" else [])]
    with profile(activities=activities) as trace:
        step(model, rows, setting)
    averages = trace.key_averages()
    launches = sum(event.count for event in averages if event.key in LAUNCHES)
    key = "self_device_time_total" if setting.device == "cuda" else "self_cpu_time_total"
    own = [
        e
        for e in averages
        if getattr(e, key) > 0 and (setting.device == "cpu" or e.device_type.name == "CUDA")
    ]
    total = sum(getattr(e, key) for e in own)
    longest = sorted(own, key=lambda e: -getattr(e, key))[:LONGEST_KERNELS]
    shares = {e.key[:90]: round(getattr(e, key) / total, 4) for e in longest} if total else {}
    about = {
        "longest": shares,
        "gradient_checkpointing": model.policy.passes.facts["gradient_checkpointing"],
    }
    first, second = (f"{size}, {FEW.label}: {part}" for part in PROFILE)
    yield of_gpu(figure(first, launches, ""), setting)
    yield of_gpu(figure(second, total / 1e6, "s", **about), setting)
