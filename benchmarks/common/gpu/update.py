"""Section `update`: forward, backward and the optimizer at the sizes of published models."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch._dynamo.utils import counters
from torch.profiler import ProfilerActivity, profile

from common.gpu.models import Trainable, batch_of, sequences, trainable, weighted
from common.gpu.rows import Row, Setting, at_least, figure, holds
from common.matrix import peak, update_flops
from reinforge.errors import JobFailure
from worker.machine.memory import is_out_of_memory
from worker.policy.base import Sequences

STEP = {"learning_rate": 1e-6, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0}
GOAL, GOAL_CARD = 0.40, "H200"
"""Share of the matrix peak (MFU), at 1.5B and 7B, on this card. An H100 has the same peak and 0.7 of its bandwidth."""
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
    def completion_tokens(self) -> int:
        return self.groups * self.per_group * self.completion


MANY, LONG, SINGLE = Load(16, 8, 512, 512), Load(4, 8, 1024, 1024), Load(1, 1, 1024, 31_744)
FEW = Load(4, 8, 512, 512)
PLAN: dict[str, tuple[Load, ...]] = {"0.5B": (MANY,), "1.5B": (MANY, LONG, SINGLE), "7B": (FEW,)}
TINY = Load(2, 4, 96, 24)


def run(setting: Setting) -> Iterator[Row]:
    limit = peak(setting.device)
    for name, loads in PLAN.items():
        model = trainable(name, setting)
        yield from _spread(name, model, setting)
        if name == "1.5B":  # before a long row turns gradient checkpointing on
            yield from _profile(name, model, TINY if setting.tiny else FEW, setting)
        for load in (TINY,) if setting.tiny else loads:
            try:
                yield from _measure(name, model, load, setting, limit)
            except (JobFailure, RuntimeError, MemoryError) as error:
                if not (is_out_of_memory(error) or getattr(error, "code", None) == "out_of_memory"):
                    raise
                yield holds(f"{name}, {load.label}", False, str(error))
        del model
        setting.reset_peak()


def _measure(name: str, model: Trainable, load: Load, setting: Setting, limit: float) -> Iterator[Row]:
    """Tokens per second and MFU of the faster of two steps, after one that does not count."""
    rows = sequences(model.shape, load.groups, load.per_group, load.prompt, load.completion)
    setting.reset_peak()
    seconds = min([step(model, rows, setting) for _ in range(3)][1:])
    flops = load.groups * update_flops(model.shape, load.prompt, load.completion, load.per_group)
    label = f"{name}, {load.label}"
    facts = model.policy.passes.facts | {"layout": model.policy.layout}
    yield figure(f"{label}: update", load.completion_tokens / seconds, "completion tokens/s", **facts)
    share = flops / seconds / limit
    name = f"{label}: MFU"
    has_goal = (
        not setting.tiny and model.shape.hidden >= 1536 and load is not SINGLE and _card_has_goal(setting)
    )
    yield at_least(name, share, GOAL) if has_goal else figure(name, share, "")
    if (held := setting.peak_gib()) is not None:
        yield figure(f"{label}: peak memory", held, "GiB")


def _card_has_goal(setting: Setting) -> bool:
    return setting.device == "cuda" and GOAL_CARD in torch.cuda.get_device_name()


def step(model: Trainable, rows: Sequences, setting: Setting) -> float:
    setting.wait()
    began = time.perf_counter()
    model.policy.forward_backward(batch_of(rows), weighted)  # type: ignore[arg-type]
    model.policy.optimizer_step(**STEP)  # type: ignore[arg-type]
    setting.wait()
    return time.perf_counter() - began


def _spread(name: str, model: Trainable, setting: Setting) -> Iterator[Row]:
    """Completions of a quarter to the whole length, as a job has them, and log-probabilities without gradient."""
    load = TINY if setting.tiny else FEW
    rows = sequences(
        model.shape, load.groups, load.per_group, load.prompt, load.completion, shortest=load.completion // 4
    )
    tokens = sum(map(len, rows.completions))
    seconds = [step(model, rows, setting) for _ in range(3)]
    label = f"{name}, {load.groups * load.per_group} rows of unequal length"
    yield figure(f"{label}: first step", seconds[0], "s")
    yield figure(f"{label}: update", tokens / statistics.median(seconds[1:]), "completion tokens/s")
    setting.wait()
    began = time.perf_counter()
    model.policy.log_probs(rows)
    setting.wait()
    yield figure(f"{label}: log-probabilities", tokens / (time.perf_counter() - began), "completion tokens/s")


def _profile(name: str, model: Trainable, load: Load, setting: Setting) -> Iterator[Row]:
    """Kernel launches of a step, and where its time goes."""
    rows = sequences(model.shape, load.groups, load.per_group, load.prompt, load.completion)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if setting.device == "cuda" else [])]
    with profile(activities=activities) as trace:
        step(model, rows, setting)
    averages = trace.key_averages()
    launches = sum(event.count for event in averages if event.key in LAUNCHES)
    yield figure(f"{name}, {load.label}: kernel launches", launches, "")
    key = "self_device_time_total" if setting.device == "cuda" else "self_cpu_time_total"
    own = [
        e
        for e in averages
        if getattr(e, key) > 0 and (setting.device == "cpu" or e.device_type.name == "CUDA")
    ]
    total = sum(getattr(e, key) for e in own)
    longest = sorted(own, key=lambda e: -getattr(e, key))[:LONGEST_KERNELS]
    shares = {e.key[:90]: round(getattr(e, key) / total, 4) for e in longest} if total else {}
    compiled = counters["stats"]["unique_graphs"]
    yield figure(
        f"{name}, {load.label}: time in kernels", total / 1e6, "s", longest=shares, kernels_compiled=compiled
    )
