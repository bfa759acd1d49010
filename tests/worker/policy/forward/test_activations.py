"""Memory of forward passes with gradient: measurement, choice of batches, unchanged numbers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.support.tiny_models import write_tiny_model
from worker.machine.memory import available_ram
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.forward import activations
from worker.policy.forward.activations import (
    SHARE,
    Fit,
    ForwardTooLarge,
    GradientPasses,
    activation_bytes,
    fit,
    saved_bytes,
)
from worker.policy.forward.gradient_checkpointing import checkpointed
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy

CPU = torch.device("cpu")
SEQUENCES = Sequences([[5, 6, 7], [9, 10], [5, 6, 7, 8, 30]], [[40, 41, 1], [50, 60, 70, 80, 1], [33]], 0.8)
LONGEST = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


def make(folder: Path, threads: int = 1) -> LoraPolicy:
    host = LocalHost(load_base_model(folder), threads)
    return host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=0)


def total(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    return LossValue(scores.logprobs.sum(), {"batches": (1.0, 1.0)})


def batch(*needs: bool) -> Batch:
    return Batch(SEQUENCES, {}, torch.tensor(needs or (True, True, True)), denominator=3.0)


# ── The choice ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("per_token", "expected"),
    [
        (0.0, Fit(2048, False)),
        (1.0, Fit(2048, False)),
        (4096 / 2048, Fit(2048, False)),
        (4.0, Fit(1024, False)),
        (4096 / 300, Fit(300, False)),
        (4096 / 299, Fit(300, True)),
        (float("inf"), Fit(300, True)),
    ],
)
def test_micro_batches_shrink_to_the_longest_row_before_layers_are_computed_twice(
    per_token: float, expected: Fit
) -> None:
    assert fit(per_token, 4096, budget=2048, longest=300) == expected


def test_a_row_longer_than_the_budget_is_the_smallest_micro_batch() -> None:
    assert fit(1.0, 5000, budget=2048, longest=5000) == Fit(2048, False)
    assert fit(1.0, 4999, budget=2048, longest=5000) == Fit(2048, True)


@given(st.floats(1, 1e9), st.floats(1, 1e12), st.integers(1, 50_000), st.integers(1, 50_000))
def test_what_is_chosen_fits_or_is_computed_twice(
    per_token: float, room: float, budget: int, longest: int
) -> None:
    placement = fit(per_token, room, budget=budget, longest=longest)
    assert 1 <= placement.tokens <= budget
    assert placement.checkpointing or per_token * max(placement.tokens, longest) <= room * (1 + 1e-9)


# ── What is measured ────────────────────────────────────────────────────────────────────────────────────────


def test_saved_tensors_are_counted_once_and_without_the_models_own() -> None:
    model = torch.nn.Linear(8, 8, bias=False)
    hidden_input = torch.ones(4, 8, requires_grad=True)

    def attempt() -> None:
        hidden = model(hidden_input).exp()  # keeps `given`, the weight and its own result
        (hidden * hidden[:2].repeat(2, 1)).sum()  # keeps the result again, and what was repeated

    assert saved_bytes(model, attempt) == 3 * 4 * 8 * 4
    with pytest.raises(ForwardTooLarge):
        saved_bytes(model, attempt, room=2 * 4 * 8 * 4)


def test_a_row_keeps_bytes_by_its_tokens(folder: Path) -> None:
    policy = make(folder)

    def of(tokens: int) -> int:
        row = Sequences([[5] * tokens], [[7] * tokens], 1.0)
        single_row = Batch(row, {}, torch.tensor([True]), 1.0)
        return saved_bytes(policy._model, lambda: policy._try_row(single_row, 0, total))

    one, two, four = of(16), of(32), of(64)
    assert four - two == pytest.approx(2 * (two - one), rel=0.1)
    assert one > 2 * 2 * 31 * 32 * 4  # at least two hidden states per layer


def test_checkpointing_keeps_little(folder: Path) -> None:
    policy = make(folder)

    def attempt() -> None:
        with policy.passes.running():
            policy._try_row(batch(), 1, total)

    byte_counts = []
    for on in (False, True):
        policy.passes.checkpointing = on
        byte_counts.append(saved_bytes(policy._model, attempt))
    assert byte_counts[1] < byte_counts[0] / 4


@pytest.mark.parametrize(
    "error", [ForwardTooLarge(), MemoryError(), RuntimeError("not enough memory: you tried")]
)
def test_what_does_not_fit_is_infinite(error: Exception) -> None:
    def attempt() -> None:
        raise error

    assert activation_bytes(torch.nn.Linear(1, 1), CPU, attempt, 1e9) == float("inf")


def test_other_failures_of_the_attempt_are_its_own() -> None:
    def attempt() -> None:
        raise RuntimeError("shapes")

    with pytest.raises(RuntimeError, match="shapes"):
        activation_bytes(torch.nn.Linear(1, 1), CPU, attempt, 1e9)


# ── The policy ──────────────────────────────────────────────────────────────────────────────────────────────


class Messages(list[tuple[str, dict[str, Any]]]):
    def __call__(self, message: str, facts: dict[str, Any]) -> None:
        self.append((message, facts))


def at_hand(monkeypatch: pytest.MonkeyPatch, room: float | None) -> None:
    """`room`: what is left of the memory after the share of others."""
    value = None if room is None else int(room / SHARE["cpu"]) + 1
    monkeypatch.setattr(activations, "memory_at_hand", lambda device: value)


def bytes_of_longest(folder: Path) -> int:
    """By the longest row of `SEQUENCES`."""
    policy = make(folder)
    with policy._computing():
        return saved_bytes(policy._model, lambda: policy._try_row(batch(), 1, total))


def ran(policy: LoraPolicy, messages: Messages, *needs: bool) -> tuple[float, dict[str, Tensor]]:
    """Micro-batches, and gradients, which are then forgotten."""
    policy.passes.on_change = messages
    result = policy.forward_backward(batch(*needs), total)
    gradients = {key: p.grad.clone() for key, p in policy._parameters.items() if p.grad is not None}
    policy._optimizer.zero_grad(set_to_none=True)
    return result.metrics["batches"][0], gradients


def test_where_memory_suffices_nothing_changes_and_nothing_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages, plain = Messages(), make(folder)
    plain.passes._measured = True
    expected = ran(plain, messages)
    for room in (1e9, None):
        at_hand(monkeypatch, room)
        policy = make(folder)
        batches, gradients = ran(policy, messages)
        assert batches == expected[0] == 1
        assert all(torch.equal(gradients[key], tensor) for key, tensor in expected[1].items())
        assert policy.passes.facts == {"micro_batch_tokens": 2048, "gradient_checkpointing": False}
    assert messages == []


def test_micro_batches_are_made_to_fit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_hand(monkeypatch, 2 * bytes_of_longest(folder))
    messages, policy = Messages(), make(folder)
    assert ran(policy, messages)[0] == 2
    ((message, facts),) = messages
    assert facts == {"micro_batch_tokens": 2 * LONGEST, "gradient_checkpointing": False}
    assert "gradient checkpointing is on" not in message and "at most 14 tokens" in message
    assert ran(policy, messages)[0] == 2
    assert len(messages) == 1


def test_micro_batches_side_by_side_share_the_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_hand(monkeypatch, 2 * bytes_of_longest(folder))
    messages, policy = Messages(), make(folder, threads=2)
    ran(policy, messages)
    ((message, _),) = messages
    assert "are at hand for each of 2 micro-batches at once" in message
    assert policy.passes.facts == {"micro_batch_tokens": LONGEST, "gradient_checkpointing": False}


@pytest.mark.parametrize("share", [0.99, 0.01])
def test_layers_are_computed_twice_when_not_even_the_longest_row_fits(
    folder: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    at_hand(monkeypatch, 1e9)
    _, expected = ran(make(folder), Messages())
    at_hand(monkeypatch, share * bytes_of_longest(folder))
    messages, policy = Messages(), make(folder)
    batches, gradients = ran(policy, messages)
    assert batches == 3
    ((message, facts),) = messages
    assert facts == {"micro_batch_tokens": LONGEST, "gradient_checkpointing": True}
    assert "gradient checkpointing is on" in message and "of 7 tokens" in message
    assert gradients.keys() == expected.keys()
    for key, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[key], atol=1e-6, rtol=1e-4)


def test_a_longer_row_later_may_turn_it_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_hand(monkeypatch, 0.9 * bytes_of_longest(folder))
    messages, policy = Messages(), make(folder)
    ran(policy, messages, False, False, True)
    assert not policy.passes.checkpointing and len(messages) == 1
    longer = Sequences([[5] * 40], [[7] * 40], 1.0)
    policy.forward_backward(Batch(longer, {}, torch.tensor([True]), 1.0), total)
    assert policy.passes.checkpointing and len(messages) == 2


def test_rows_without_gradient_measure_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_hand(monkeypatch, 1)
    messages, policy = Messages(), make(folder)
    ran(policy, messages, False, False, False)
    assert messages == [] and not policy.passes.checkpointing


def test_a_model_with_unsupported_layers_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_hand(monkeypatch, 1)
    passes = GradientPasses(torch.nn.Linear(2, 2), CPU, 100)
    passes.prepare(SEQUENCES, [0, 1, 2], lambda row: None)
    assert passes.facts == {"micro_batch_tokens": 100, "gradient_checkpointing": False}


def test_layers_are_as_before_behind_the_context(folder: Path) -> None:
    policy = make(folder)
    layer = policy._model.model.layers[0]
    before = layer.forward
    with pytest.raises(ZeroDivisionError), checkpointed(policy._model):
        assert layer.forward != before
        raise ZeroDivisionError
    assert layer.forward == before


# ── Memory at hand ──────────────────────────────────────────────────────────────────────────────────────────


def machine(root: Path, **files: str) -> Path:
    for name, text in ({"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n"} | files).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return root


def test_available_memory_is_the_systems_or_the_containers(tmp_path: Path) -> None:
    assert available_ram(tmp_path) is None
    assert available_ram(machine(tmp_path)) == 5000 * 1024
    group = "sys/fs/cgroup/memory"
    limited = {f"{group}.max": "3000000\n", f"{group}.current": "2500000\n"}
    assert available_ram(machine(tmp_path, **limited)) == 500_000
    machine(tmp_path, **{f"{group}.stat": "anon 1\ninactive_file 100000\n"})
    assert available_ram(tmp_path) == 600_000
    machine(tmp_path, **{f"{group}.max": "max\n"})
    assert available_ram(tmp_path) == 5000 * 1024
    machine(tmp_path, **{f"{group}.max": "1000\n"})
    assert available_ram(tmp_path) == 0
