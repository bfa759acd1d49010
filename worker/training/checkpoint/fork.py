"""Initial state of a job that continues another job or starts from an adapter."""

import tarfile
from collections.abc import Collection, Mapping
from dataclasses import replace

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from reinforge.errors import JobFailure
from reinforge.records import ForkStart
from worker.policy.base import PolicyState
from worker.training.checkpoint.archive import unpack
from worker.training.checkpoint.resume_state import Position, unpack_resume_state

WEIGHTS = "adapter_model.safetensors"


def start_of(
    content: bytes, fork: ForkStart, adapter: str
) -> tuple[Position, PolicyState, PolicyState | None]:
    """Position, policy and critic (None: a new one) from another job's resume state or checkpoint."""
    try:
        files = unpack(content)
        if WEIGHTS in files:
            return _position(fork), PolicyState(_parameters(load(files[WEIGHTS]), adapter), {}), None
    except (tarfile.TarError, SafetensorError) as error:
        raise JobFailure(
            f"The checkpoint that the job continues from cannot be read: {error}",
            code="resume_state_invalid",
            hint="Fork from another step.",
        ) from error
    before, policy, critic = unpack_resume_state(content)
    carried: Collection[str] = fork.carried
    state = PolicyState(
        policy.adapter,
        policy.optimizer if "optimizer" in carried else {},
        policy.facts,
        policy.reference if "reference" in carried else {},
    )
    return _position(fork, before), state, critic if "critic" in carried else None


def start_weights(content: bytes, adapter: str, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights of an adapter's archive, by parameter name. Raises JobFailure `invalid_adapter`."""
    try:
        weights = _parameters(load(unpack(content)[WEIGHTS]), adapter)
    except (tarfile.TarError, SafetensorError, KeyError) as error:
        raise _unfit(f"it cannot be read: {error}") from error
    if weights.keys() != expected.keys():
        different = sorted(weights.keys() ^ expected.keys())
        raise _unfit(f"the names of {len(different)} weights differ, the first is {different[0]}")
    for key, tensor in weights.items():
        if tensor.shape != expected[key].shape:
            shapes = f"{tuple(tensor.shape)} instead of {tuple(expected[key].shape)}"
            raise _unfit(f"the shape of {key} is {shapes}")
        if not tensor.isfinite().all():
            raise _unfit(f"{key} has values that are not finite")
    return {key: tensor.to(expected[key].dtype) for key, tensor in weights.items()}


def from_adapter(weights: dict[str, Tensor], state: PolicyState | None = None) -> PolicyState:
    """State of a policy that started from these weights, which are its reference unless `state` has one."""
    if state is None:
        return PolicyState(weights, {}, {}, weights)
    return state if state.reference else replace(state, reference=weights)


def _unfit(reason: str) -> JobFailure:
    return JobFailure(
        f"The adapter that the job starts from does not fit this model: {reason}.",
        code="invalid_adapter",
        hint="Choose a LoRA adapter that was trained on exactly this base model.",
    )


def _position(fork: ForkStart, before: Position | None = None) -> Position:
    position = Position(step=fork.step, checkpoint_step=fork.step)
    if before is None:
        return position
    position.updates, position.skipped_updates = before.updates, before.skipped_updates
    position.tokens_trained = before.tokens_trained
    if "algorithm" in fork.carried:
        position.algorithm = {key: value for key, value in before.algorithm.items() if key != "frontier"}
    if "order" in fork.carried and "frontier" in before.algorithm:
        position.algorithm["frontier"] = before.algorithm["frontier"]
    return position


def _parameters(tensors: dict[str, Tensor], adapter: str) -> dict[str, Tensor]:
    return {
        f"{path}.{adapter}.{last}": tensor
        for key, tensor in tensors.items()
        for path, _, last in [key.rpartition(".")]
    }
