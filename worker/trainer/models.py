"""The trained models of a job, the same on all its ranks."""

from dataclasses import dataclass
from pathlib import Path

from reinforge.algorithm.critic import ValueHead
from reinforge.spec import JobSpec
from worker.machine.cpu_share import set_threads
from worker.policy.critic import LoraCritic
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel, load_base_model
from worker.policy.lora import LoraPolicy

POLICY, CRITIC = "policy", "critic"


@dataclass(frozen=True, slots=True)
class TrainedModels:
    host: LocalHost
    policy: LoraPolicy
    critic: LoraCritic | None


def trained_models(spec: JobSpec, base: LoadedModel, folder: Path, *, ranks: int = 1) -> TrainedModels:
    """Policy and critic, if any, as new adapters on `base`. folder: the base model's."""
    threads = set_threads(base.model.config.get_text_config().hidden_size, ranks=ranks)
    host = LocalHost(base, threads if base.model.device.type == "cpu" else 1, ranks=ranks)
    adapter = spec.adapter
    alpha = adapter.alpha or 2.0 * adapter.rank
    policy = host.create_policy(
        POLICY, rank=adapter.rank, alpha=alpha, targets=adapter.targets, seed=spec.seed
    )
    return TrainedModels(host, policy, _critic(spec, host, folder, ranks))


def _critic(spec: JobSpec, host: LocalHost, folder: Path, ranks: int) -> LoraCritic | None:
    settings, adapter = spec.algorithm.critic, spec.adapter
    if not isinstance(settings, ValueHead):
        return None
    if settings.base == "own":
        own = load_base_model(folder, precision=spec.base.precision, sharded=spec.base.sharded)
        host = LocalHost(own, ranks=ranks)
    alpha = adapter.alpha or 2.0 * adapter.rank
    return host.create_critic(CRITIC, rank=adapter.rank, alpha=alpha, targets=adapter.targets, seed=spec.seed)
