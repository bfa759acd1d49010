"""Builds a job's vLLM engine, and sizes its servers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import torch

from reinforge.spec import JobSpec
from worker.machine import settings
from worker.machine.memory import available_ram
from worker.policy.base import Sequences
from worker.policy.host import SamplingCopy
from worker.policy.load import LoadedModel
from worker.policy.lora import LoraPolicy, base_bytes
from worker.policy.ranks.ranked import RankedPolicy
from worker.rollout.engine import RolloutEngine
from worker.rollout.transformers_engine import cache_bytes_per_token
from worker.rollout.vllm.adapters import Adapters
from worker.rollout.vllm.demand import STATE_BYTES, fused_experts, job_demand, memory_of
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.fleet import Fleet
from worker.rollout.vllm.member import FleetMember
from worker.rollout.vllm.model_shape import model_shape
from worker.rollout.vllm.options import Options, configured_sleep
from worker.rollout.vllm.probe import AdapterProbe, Score
from worker.rollout.vllm.sizing import Sleep, batch_limits, sizes
from worker.trainer.vllm_servers import names, notices, sampler_servers
from worker.training.reporting.job_reporter import JobReporter

_GIB = 2**30
_MOST_CACHE_BYTES = 4 * _GIB


def vllm_engine(
    chosen: Sequence[Options],
    spec: JobSpec,
    base: LoadedModel,
    policy: LoraPolicy | RankedPolicy,
    ahead: SamplingCopy | None,
    job_reporter: JobReporter,
    folder: Path,
) -> RolloutEngine:
    """Engine on a server for each of `chosen`, or on hosts of other machines. policy: exported after each update, and
    scored by all ranks, if there are several, to check the servers.
    """
    # Sampling ahead, the probe computes while the policy is trained.
    probed = policy if ahead is None else ahead.policy

    def export(_: str, target: Path) -> None:
        policy.export(target, base_model=spec.model)
        if ahead is not None:
            ahead.refresh()

    def probe(name: str) -> AdapterProbe:
        return adapter_probe(name, probed, base, job_reporter)

    context = getattr(base.model.config.get_text_config(), "max_position_embeddings", None)
    servers = sampler_servers(chosen, folder, context, job_reporter)
    if len(servers) == 1:
        return VllmEngine(servers[0], export, probe=probe(""))
    adapters = Adapters(servers[0].adapters)
    members = [
        FleetMember(name, server, its_options.max_num_seqs, adapters, probe(name))
        for name, server, its_options in zip(names(len(servers)), servers, cycle(chosen), strict=False)
    ]
    return Fleet(members, adapters, export, lambda message: job_reporter.log("warning", message))


def adapter_probe(
    name: str, policy: LoraPolicy | RankedPolicy, base: LoadedModel, job_reporter: JobReporter
) -> AdapterProbe:
    """name: of the server in messages."""
    return AdapterProbe(
        scorer(lambda sequences: policy.log_probs(sequences).logprobs),
        scorer(policy.base_log_probs),
        exact=base.model.dtype == torch.float32,
        notify=notices(job_reporter, name),
        warn=notices(job_reporter, name, "warning"),
    )


def server_options(spec: JobSpec, base: LoadedModel, folder: Path, longest: int) -> list[Options]:
    """Options of each vLLM server that a job starts, or of one on another machine."""
    if settings.sampler_urls():
        return [options(spec, base, folder, longest)]
    if base.model.device.type == "cuda":
        groups = [settings.split_names(group) for group in settings.vllm_groups()]
        return [options(spec, base, folder, longest, devices=group) for group in groups]
    chosen, count = options(spec, base, folder, longest), settings.vllm_servers()
    return [replace(chosen, threads=max(1, chosen.threads // count))] * count


def options(
    spec: JobSpec, base: LoadedModel, folder: Path, longest: int, *, devices: Sequence[str] | None = None
) -> Options:
    """devices: GPUs of the server alone, empty for the trainer's; None: those of the settings."""
    model, rollout = base.model, spec.rollout
    # It samples while this policy is trained, or others do.
    always_awake = rollout.ahead or settings.vllm_shared() or settings.sampler_urls()
    sleep: Sleep | None = "no" if always_awake else configured_sleep()
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
        devices=tuple(settings.vllm_devices() if devices is None else devices),
    )
    if settings.sampler_urls():
        return plain
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


def scorer(score: Callable[[Sequences], torch.Tensor]) -> Score:
    def scored(
        prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], temperature: float
    ) -> list[list[float]]:
        scores = score(Sequences(prompts, completions, temperature))
        return [scores[row, : len(ids)].tolist() for row, ids in enumerate(completions)]

    return scored
