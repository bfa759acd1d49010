"""The critic in this process: position of its values, trained parameters, unchanged policy."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Batch, LossValue, Sequences
from worker.policy.critic import LoraCritic
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy

STEP = {"learning_rate": 0.01, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0}
SEQUENCES = Sequences([[5, 6, 7], [9], [5, 6, 7, 8, 30]], [[40, 41, 1], [50, 60, 70, 80, 1], [33]], 0.8)
MASK = torch.arange(5)[None, :] < torch.tensor([3, 5, 1])[:, None]
TARGETS = torch.tensor([1.0, -1.0, 0.5])
SHAPE = {"rank": 4, "alpha": 8.0, "targets": "all-linear"}


@pytest.fixture(scope="module", params=["qwen3", "llama"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp(request.param), request.param)


def make(folder: Path, *, seed: int = 0) -> tuple[LocalHost, LoraPolicy, LoraCritic]:
    host = LocalHost(load_base_model(folder))
    policy = host.create_policy("policy", seed=seed, **SHAPE)
    return host, policy, host.create_critic("critic", seed=seed, **SHAPE)


def squared(values: Tensor, tensors: Mapping[str, Tensor]) -> LossValue:
    total = ((values - tensors["targets"][:, None]) ** 2 * tensors["mask"]).sum()
    return LossValue(total, {"seen": (float(tensors["mask"].sum()), 1.0)})


def batch(needs: tuple[bool, ...] = (True, True, True)) -> Batch:
    return Batch(SEQUENCES, {"mask": MASK, "targets": TARGETS}, torch.tensor(needs), denominator=9.0)


def teach(critic: LoraCritic, steps: int) -> None:
    for _ in range(steps):
        critic.forward_backward(batch(), squared)
        critic.optimizer_step(**STEP)


def test_a_fresh_critic_returns_0_and_a_trained_one_its_targets(folder: Path) -> None:
    _, _, critic = make(folder)
    assert torch.equal(critic.values(SEQUENCES), torch.zeros(3, 5))
    teach(critic, 60)
    values = critic.values(SEQUENCES)
    torch.testing.assert_close(values, torch.where(MASK, TARGETS[:, None], 0.0), atol=0.15, rtol=0)
    assert bool((values[~MASK] == 0).all())


def test_a_value_is_of_the_state_before_its_token(folder: Path) -> None:
    """Another token in a place changes the values behind it and not its own."""
    _, _, critic = make(folder)
    teach(critic, 5)
    other = Sequences(SEQUENCES.prompts, [[40, 99, 1], *SEQUENCES.completions[1:]], 0.8)
    before, after = critic.values(SEQUENCES), critic.values(other)
    torch.testing.assert_close(after[0, :2], before[0, :2])
    assert not torch.allclose(after[0, 2], before[0, 2])
    torch.testing.assert_close(after[1:], before[1:])


def test_values_are_the_heads_of_a_plain_forward_pass(folder: Path) -> None:
    host, _, critic = make(folder)
    teach(critic, 5)
    values = critic.values(SEQUENCES)
    for row, (prompt, completion) in enumerate(zip(SEQUENCES.prompts, SEQUENCES.completions, strict=True)):
        with host.activate("critic"), torch.no_grad():
            ids = torch.tensor([[*prompt, *completion]])
            states = host.base.model(input_ids=ids, output_hidden_states=True).hidden_states[-1][0]
            expected = critic._head(states[len(prompt) - 1 : -1])[:, 0]
        torch.testing.assert_close(values[row, : len(completion)], expected, atol=1e-5, rtol=0)


def test_an_architecture_without_a_decoder_of_its_own_gives_the_same_values(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _, critic = make(folder)
    teach(critic, 5)
    expected, model = critic.values(SEQUENCES), host.base.model
    monkeypatch.setattr(model, "get_decoder", lambda: model)
    torch.testing.assert_close(critic.values(SEQUENCES), expected)


def test_policy_and_reference_do_not_notice_it(folder: Path) -> None:
    host, policy, critic = make(folder)
    alone = LocalHost(load_base_model(folder)).create_policy("policy", seed=0, **SHAPE)
    assert all(torch.equal(policy.state().adapter[key], t) for key, t in alone.state().adapter.items())
    before, facts = policy.log_probs(SEQUENCES).logprobs, host.facts
    teach(critic, 3)
    assert torch.equal(policy.log_probs(SEQUENCES).logprobs, before)
    assert torch.equal(policy.reference_log_probs(SEQUENCES), before)
    assert host.facts == facts
    policy.forward_backward(batch(), lambda scores, tensors: LossValue(scores.logprobs.sum(), {}))
    values = critic.values(SEQUENCES)
    assert policy.optimizer_step(**STEP) > 0
    assert torch.equal(critic.values(SEQUENCES), values)
    assert not torch.equal(policy.log_probs(SEQUENCES).logprobs, before)


def test_micro_batches_do_not_change_the_gradient(folder: Path) -> None:
    _, _, critic = make(folder)
    teach(critic, 3)
    gradients = []
    for critic.passes.tokens, critic.layout in (
        (2048, "padded"),
        (4, "padded"),
        (2048, "packed"),
        (4, "packed"),
    ):
        metrics = critic.forward_backward(batch(), squared)
        assert metrics["seen"] == (9.0, 1.0 if critic.passes.tokens > 4 else 3.0)
        gradients.append(
            {key: p.grad.clone() for key, p in critic.trained.parameters.items() if p.grad is not None}
        )
        critic.trained.optimizer.zero_grad(set_to_none=True)
    assert gradients[0].keys() == gradients[1].keys() == critic.trained.parameters.keys()
    for other in gradients[1:]:
        for key, gradient in gradients[0].items():
            torch.testing.assert_close(other[key], gradient, atol=1e-6, rtol=1e-4)


def test_gradient_checkpointing_gives_the_same_gradients(folder: Path) -> None:
    _, _, critic = make(folder)
    teach(critic, 3)
    gradients = []
    for critic.passes.checkpointing in (False, True):
        critic.forward_backward(batch(), squared)
        gradients.append({key: p.grad for key, p in critic.trained.parameters.items()})
        critic.trained.optimizer.zero_grad(set_to_none=True)
    for key, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][key], gradient, atol=1e-7, rtol=1e-5)


def test_rows_without_gradient_are_left_out(folder: Path) -> None:
    _, _, critic = make(folder)
    assert critic.forward_backward(batch((False, True, False)), squared) == {"seen": (5.0, 1.0)}
    critic.trained.optimizer.zero_grad(set_to_none=True)
    assert critic.forward_backward(batch((False, False, False)), squared) == {}


def test_state_continues_bit_for_bit_and_holds_the_head(folder: Path) -> None:
    _, _, one = make(folder)
    teach(one, 5)
    _, _, two = make(folder)
    teach(two, 3)
    _, _, three = make(folder, seed=99)
    three.load_state(two.state())
    teach(three, 2)
    assert {"value_head.weight", "value_head.bias"} < one.state().adapter.keys()
    for key, tensor in one.state().adapter.items():
        assert torch.equal(three.state().adapter[key], tensor), key


def test_on_a_base_model_of_its_own_it_is_the_same_and_holds_twice_as_much(folder: Path) -> None:
    _, policy, shared = make(folder)
    own = LocalHost(load_base_model(folder)).create_critic("critic", seed=0, **SHAPE)
    teach(shared, 3)
    teach(own, 3)
    assert torch.equal(own.values(SEQUENCES), shared.values(SEQUENCES))
    head = 4 * 4 * (32 + 1)
    assert own.held_bytes == policy.held_bytes + head
    adapter = sum(tensor.nbytes for tensor in policy.state().adapter.values())
    assert shared.held_bytes == 4 * adapter + head


def test_the_exported_adapter_is_the_policys_alone(folder: Path, tmp_path: Path) -> None:
    _, policy, critic = make(folder)
    teach(critic, 2)
    policy.export(tmp_path / "with", base_model="tiny")
    alone = LocalHost(load_base_model(folder)).create_policy("policy", seed=0, **SHAPE)
    alone.export(tmp_path / "alone", base_model="tiny")
    for path in (tmp_path / "alone").iterdir():
        assert (tmp_path / "with" / path.name).read_bytes() == path.read_bytes()
    assert len(list((tmp_path / "with").iterdir())) == 2
