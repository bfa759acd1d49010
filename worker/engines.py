"""Which engine samples for a job: made here for the trainer, from what the specification says and the worker has."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from reinforge.errors import JobFailure
from reinforge.spec import JobSpec
from worker.policy.base import Policy, Sequences
from worker.policy.host import LocalHost
from worker.policy.load import BaseModel
from worker.rollout.engine import RolloutEngine
from worker.rollout.transformers_engine import TransformersEngine, cache_bytes_per_token
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.probe import AdapterProbe, Score
from worker.rollout.vllm.process import Stage
from worker.rollout.vllm.server import Server
from worker.training.journal import Journal
from worker.vllm_python import VARIABLE, vllm_missing, vllm_python, vllm_version

LOG = "vllm.log"
"""In the run folder."""
SAMPLING_THREADS = "REINFORGE_SAMPLING_THREADS"
"""Environment variable of the worker: torch's threads while its own engine samples."""
_GIB = 2**30
_MOST_CACHE_BYTES = 4 * _GIB
"""For keys and values on the CPU, unless one completion needs more."""


def check_engine(spec: JobSpec) -> dict[str, str]:
    """Versions of what the engine needs beside the trainer. Raises JobFailure `engine_missing` (retryable)."""
    if spec.rollout.engine != "vllm":
        return {}
    version = vllm_version()
    if version is None:
        raise JobFailure(
            f"The job is to be sampled with vLLM, which this worker does not have: {vllm_missing()}.",
            code="engine_missing",
            hint=f"Run `make vllm` on the worker, or set {VARIABLE} to an interpreter that has vLLM; then resume the "
            "job. Or start it anew with rollout.engine transformers.",
            retryable=True,
        )
    return {"vllm": version}


def rollout_engine(
    spec: JobSpec,
    base: BaseModel,
    host: LocalHost,
    policy: Policy,
    journal: Journal,
    model: Path,
    folder: Path,
    longest: int,
) -> RolloutEngine:
    """model: the folder that `base` was loaded from. folder: the run's. longest: tokens of the longest prompt with its
    completion. Raises as `check_engine`."""
    if spec.rollout.engine != "vllm":
        return TransformersEngine(base.model, base.tokenizer, host.sampling_as, threads=sampling_threads())
    check_engine(spec)
    python = vllm_python()
    assert python is not None

    def say(message: str) -> None:
        journal.log("info", message)

    def progress(stage: Stage) -> None:
        journal.phase("starting_engine", 0, stage.done, stage.total)

    def export(_: str, target: Path) -> None:
        policy.export(target, base_model=spec.model)

    server = Server(python, options(spec, base, model, longest), folder / LOG, say=say, progress=progress)
    probe = AdapterProbe(
        scorer(lambda sequences: policy.log_probs(sequences).logprobs),
        scorer(policy.reference_log_probs),
        exact=base.model.dtype == torch.float32,
        say=say,
    )
    return VllmEngine(server, export, probe=probe)


def sampling_threads() -> int | None:
    """As the worker's environment has it; None: as many as everything else. Raises JobFailure `invalid_setting`."""
    given = os.environ.get(SAMPLING_THREADS, "")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and 1 <= int(given) <= 1024):
        raise JobFailure(
            f"{SAMPLING_THREADS} is {given!r}",
            code="invalid_setting",
            hint="Set it to a number of threads on the worker, or leave it away.",
        )
    return int(given)


def options(spec: JobSpec, base: BaseModel, folder: Path, longest: int) -> Options:
    """Of a server for one job: its sizes, and what of the machine it gets."""
    model, rollout = base.model, spec.rollout
    per_row = cache_bytes_per_token(model) * longest
    rows = rollout.prompts_per_step * rollout.completions_per_prompt
    return Options(
        folder.resolve(),
        str(model.dtype).removeprefix("torch."),
        model.device.type,
        max_model_len=longest,
        rank=spec.adapter.rank,
        cache_bytes=max(per_row, min(per_row * rows, _MOST_CACHE_BYTES)),
        threads=torch.get_num_threads(),
    )


def scorer(score: Callable[[Sequences], torch.Tensor]) -> Score:
    """As the probe asks: plain numbers for plain numbers."""

    def scored(
        prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], temperature: float
    ) -> list[list[float]]:
        found = score(Sequences(prompts, completions, temperature))
        return [found[row, : len(ids)].tolist() for row, ids in enumerate(completions)]

    return scored
