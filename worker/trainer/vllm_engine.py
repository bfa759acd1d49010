"""Builds a job's vLLM engine, and sizes its servers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from reinforge.spec import JobSpec
from worker.machine import settings
from worker.machine.memory import available_ram
from worker.machine.vllm_python import vllm_python
from worker.policy.base import Sequences
from worker.policy.host import SamplingCopy
from worker.policy.load import LoadedModel
from worker.policy.lora import LoraPolicy, base_bytes
from worker.policy.ranks.ranked import RankedPolicy
from worker.rollout.transformers_engine import cache_bytes_per_token
from worker.rollout.vllm.demand import STATE_BYTES, fused_experts, job_demand, memory_of
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.model_shape import model_shape
from worker.rollout.vllm.options import Options, configured_sleep
from worker.rollout.vllm.probe import AdapterProbe, Score
from worker.rollout.vllm.process import Stage
from worker.rollout.vllm.server import VllmServer
from worker.rollout.vllm.sizing import Sleep, batch_limits, sizes
from worker.training.reporting.job_reporter import JobReporter

LOG = "vllm.log"
_GIB = 2**30
_MOST_CACHE_BYTES = 4 * _GIB


def vllm_engine(
    chosen: Options,
    spec: JobSpec,
    base: LoadedModel,
    policy: LoraPolicy | RankedPolicy,
    ahead: SamplingCopy | None,
    job_reporter: JobReporter,
    folder: Path,
) -> VllmEngine:
    """policy: exported after each update, and scored by all ranks, if there are several, to check the server."""
    python = vllm_python()
    assert python is not None

    def notify(message: str) -> None:
        job_reporter.log("info", message)

    def progress(stage: Stage) -> None:
        job_reporter.phase("starting_engine", 0, stage.done, stage.total)

    # Sampling ahead, the probe computes while the policy is trained.
    probed = policy if ahead is None else ahead.policy

    def export(_: str, target: Path) -> None:
        policy.export(target, base_model=spec.model)
        if ahead is not None:
            ahead.refresh()

    if chosen.device == "cuda":
        notify(describe(chosen))
    server = VllmServer(
        python,
        chosen,
        folder / LOG,
        notify=notify,
        progress=progress,
        make_room=torch.cuda.empty_cache,
    )
    probe = AdapterProbe(
        scorer(lambda sequences: probed.log_probs(sequences).logprobs),
        scorer(probed.base_log_probs),
        exact=base.model.dtype == torch.float32,
        notify=notify,
        warn=lambda message: job_reporter.log("warning", message),
    )
    return VllmEngine(server, export, probe=probe)


def options(spec: JobSpec, base: LoadedModel, folder: Path, longest: int) -> Options:
    model, rollout = base.model, spec.rollout
    # It samples while the policy is trained.
    sleep: Sleep | None = "no" if rollout.ahead else configured_sleep()
    rows = rollout.prompts_per_step * rollout.completions_per_prompt
    plain = Options(
        folder.resolve(),
        str(model.dtype).removeprefix("torch."),
        model.device.type,
        max_model_len=max(3, longest),
        rank=spec.adapter.rank,
        threads=torch.get_num_threads(),
        sleeps=sleep or "no",
        gpu_memory=settings.vllm_gpu_memory(),
        devices=tuple(settings.vllm_devices()),
    )
    if model.device.type == "cuda":
        return _on_gpu(plain, base, rows, sleep)
    per_row = cache_bytes_per_token(model) * longest
    return replace(plain, cache_bytes=max(per_row, min(per_row * rows, _MOST_CACHE_BYTES)))


def _on_gpu(plain: Options, base: LoadedModel, rows: int, sleep: Sleep | None) -> Options:
    model, own = base.model, plain.devices
    torch.cuda.empty_cache()
    free, total = memory_of(own) if own else torch.cuda.mem_get_info(model.device)
    tokens, sequences = batch_limits(total)
    shape, gpus = model_shape(model.config), max(1, len(own))
    placed = replace(
        plain,
        tensor_parallel=gpus,
        batch_tokens=tokens,
        sequences=min(rows, sequences),
        fused_experts=fused_experts(shape, _target_parameters(base)),
    )
    if total == 0 or plain.gpu_memory is not None:
        # The memory is unknown, or the user sets vLLM's share.
        asleep = sleep or ("no" if own else "weights")
        return replace(placed, cache_bytes=None, share=0.9 if own else 0.4, sleeps=asleep)
    demand = job_demand(
        shape,
        weights=base_bytes(model),
        longest=plain.max_model_len,
        rows=rows,
        rank=plain.rank,
        gpu_total=total,
        gpus=gpus,
        shared=not own,
    )
    adapter = sum(p.numel() for p in model.parameters() if p.requires_grad)
    later = 0 if own else adapter * STATE_BYTES
    fitted = sizes(free - later, total, demand, sleeps=sleep, host_free=available_ram())
    return replace(
        placed,
        max_model_len=fitted.max_model_len,
        cache_bytes=fitted.kv_bytes,
        sequences=fitted.max_num_seqs,
        share=fitted.share,
        sleeps=fitted.sleeps,
    )


def _target_parameters(base: LoadedModel) -> list[str]:
    configs: dict[str, Any] = getattr(base.model, "peft_config", None) or {}
    return [name for config in configs.values() for name in getattr(config, "target_parameters", None) or []]


def describe(chosen: Options) -> str:
    share = f"{chosen.gpu_memory or chosen.share:.0%} of the GPU's memory"
    if chosen.cache_bytes is not None and chosen.gpu_memory is None:
        share += f", {chosen.cache_bytes / _GIB:.1f} GiB of it for keys and values"
    during = {
        "no": "it keeps all of it during updates",
        "cache": "it gives its cache back during updates",
        "weights": "cache and weights give way to updates",
    }
    return (
        f"vLLM gets {share}: up to {chosen.sequences} completions at once, prompt and completion of up to "
        f"{chosen.max_model_len:,} tokens; {during[chosen.sleeps]}"
    )


def scorer(score: Callable[[Sequences], torch.Tensor]) -> Score:
    def scored(
        prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], temperature: float
    ) -> list[list[float]]:
        scores = score(Sequences(prompts, completions, temperature))
        return [scores[row, : len(ids)].tolist() for row, ids in enumerate(completions)]

    return scored
