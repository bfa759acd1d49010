"""Running out of memory: the same optimizer batch again in smaller micro-batches, with the same result; at last a
pause, never an endless loop."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from reinforge.errors import JobFailure
from tests.support.short_memory import Pass, short_of_memory
from tests.support.tiny_models import write_tiny_model
from worker.machine import memory
from worker.machine.memory import is_out_of_memory, requested_amount, total_ram
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.critic import LoraCritic
from worker.policy.forward import activations, micro_batches, out_of_memory
from worker.policy.forward.micro_batches import MicroBatch
from worker.policy.forward.out_of_memory import Planned, halved
from worker.policy.forward.threads import MicroBatchThreads
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy

Some = TypeVar("Some", LoraPolicy, LoraCritic)
STEP = {"learning_rate": 0.02, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0}
SHAPE = {"rank": 4, "alpha": 8.0, "targets": "all-linear", "seed": 0}
PROMPTS = tuple(range(5, 25)), tuple(range(30, 42))
SEQUENCES = Sequences(
    [PROMPTS[0]] * 4 + [PROMPTS[1]] * 4,
    [[50 + i, 60, 70 + i, 80, 90, 100, 1][: 3 + i % 4] for i in range(8)],
    0.8,
)
"""Two groups of a long prompt each."""
LONGEST = 26
BUDGET = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts of a few tokens are shared, nothing is measured, and no test waits for Python's collector."""
    monkeypatch.setattr(activations, "release", lambda device: None)
    monkeypatch.setattr(micro_batches, "LONG_PROMPT", 8)
    monkeypatch.setattr(activations, "memory_at_hand", lambda device: None)


def make(folder: Path, tokens: int = BUDGET, threads: int = 1) -> LoraPolicy:
    host = LocalHost(load_base_model(folder), threads)
    policy = host.create_policy("policy", **SHAPE)
    return started(policy, tokens)


def make_critic(folder: Path, tokens: int = BUDGET) -> LoraCritic:
    critic = LocalHost(load_base_model(folder)).create_critic("critic", **SHAPE)
    return started(critic, tokens)


def started(trained: Some, tokens: int) -> Some:
    """Away from the base, and its passes with this budget."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in trained.trained.parameters.items():
            if "lora_B" in key or "head" in key:
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.05)
    trained.passes.tokens = tokens
    trained.passes._first = (tokens, trained.passes.checkpointing)
    return trained


def weighted(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    total = (scores.logprobs * tensors["scale"][:, None]).sum()
    return LossValue(
        total, {"rows": (float(len(tensors["scale"])), 1.0)}, {"own": float(tensors["scale"].sum())}
    )


def squared(values: Tensor, tensors: Mapping[str, Tensor]) -> LossValue:
    return LossValue(((values - 1.0) ** 2).sum(), {"rows": (float(len(values)), 1.0)})


def batch(*without: int) -> Batch:
    """without: rows that get no gradient."""
    needs = torch.ones(8, dtype=torch.bool)
    needs[list(without)] = False
    scale = torch.tensor([1.0, -2.0, 0.5, 1.5, -1.0, 0.7, 0.3, -0.4])
    return Batch(SEQUENCES, {"scale": scale}, needs, denominator=3.0)


def gradients(trained: LoraPolicy | LoraCritic) -> dict[str, Tensor]:
    return {key: p.grad.clone() for key, p in trained.trained.parameters.items() if p.grad is not None}


def close(actual: Mapping[str, Tensor], expected: Mapping[str, Tensor], atol: float = 1e-6) -> None:
    assert actual.keys() == expected.keys()
    for key, tensor in expected.items():
        torch.testing.assert_close(actual[key], tensor, atol=atol, rtol=1e-4)


class Warnings(list[str]):
    def __call__(self, message: str, facts: dict[str, Any]) -> None:
        self.append(message)


# ── What is chosen ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tokens", "largest", "longest", "expected"),
    [
        (16384, 16000, 500, 8000),
        (16384, 3000, 500, 1500),
        (16384, 900, 500, 500),
        (16384, 500, 500, None),
        (500, 500, 500, None),
        (300, 500, 500, None),
    ],
)
def test_half_of_what_was_too_large_and_a_row_at_least(
    tokens: int, largest: int, longest: int, expected: int | None
) -> None:
    assert halved(tokens, Planned(largest, longest)) == expected


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**5))
def test_halving_ends(tokens: int, largest: int, longest: int) -> None:
    for _ in range(22):
        smaller = halved(tokens, Planned(largest, longest))
        if smaller is None:
            return
        assert longest <= smaller < tokens and smaller < largest
        tokens, largest = smaller, min(largest, smaller)
    pytest.fail("it goes on")


def test_sizes_count_padding_and_a_shared_prompt_once() -> None:
    rows = Sequences([[1] * 10] * 2 + [[1] * 4], [[2] * 5, [2] * 3, [2]], 1.0)
    assert Planned().also(rows, [MicroBatch([0, 1], "prompt_once")]) == Planned(10 + 2 * 5, 15)
    assert Planned().also(rows, [MicroBatch([0, 1, 2], "packed")]) == Planned(10 + 5 + 3 + 4 + 1, 15)
    assert Planned().also(rows, [MicroBatch([0, 2]), MicroBatch([1])]) == Planned(2 * 15, 15)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), "2.00 GiB"),
        (RuntimeError("CUDA error: out of memory"), None),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), None),
        (MemoryError(), None),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 12 bytes."), "12 bytes"),
    ],
)
def test_out_of_memory_has_many_names(error: Exception, expected: str | None) -> None:
    assert is_out_of_memory(error) and requested_amount(error) == expected


def test_pytorchs_own_error_on_the_cpu_is_one() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(10**15)
    assert is_out_of_memory(raised.value) and requested_amount(raised.value) == "4000000000000000 bytes"
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


# ── A policy's update ───────────────────────────────────────────────────────────────────────────────────────


def passes_of(folder: Path, tokens: int = BUDGET) -> list[Pass]:
    policy = make(folder, tokens)
    with short_of_memory(policy._model, lambda here: False) as passes:
        policy.forward_backward(batch(2, 5), weighted)
    return passes


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("at", range(5))
def test_whichever_pass_runs_out_of_memory_the_update_is_the_same(
    folder: Path, at: int, backward: bool
) -> None:
    """Wherever it happens, in the first or the second group, with gradient or without; equal to the bit to a run with
    such micro-batches from the beginning, and to one with the larger ones up to rounding."""
    plain = passes_of(folder)
    assert len(plain) > at
    policy, warnings = make(folder), Warnings()
    policy.passes.on_change = warnings
    with short_of_memory(policy._model, lambda here: here.number == at, backward=backward) as passes:
        result = policy.forward_backward(batch(2, 5), weighted)
    failed = not backward or plain[at].gradient
    assert len(warnings) == failed and len(passes) > len(plain) - (not failed)
    for tokens, exactly in ((policy.passes.tokens, True), (BUDGET, not failed)):
        other = make(folder, tokens)
        expected = other.forward_backward(batch(2, 5), weighted)
        assert torch.equal(result.scores.logprobs, expected.scores.logprobs) or not exactly
        torch.testing.assert_close(result.scores.logprobs, expected.scores.logprobs, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(result.scores.entropies, expected.scores.entropies, atol=1e-6, rtol=1e-5)
        assert result.metrics["rows"][0] == expected.metrics["rows"][0] == 8.0
        assert result.gradients == {"own": pytest.approx(expected.gradients["own"])}
        assert not exactly or all(torch.equal(gradients(policy)[k], g) for k, g in gradients(other).items())
        close(gradients(policy), gradients(other))
    assert policy.optimizer_step(**STEP) > 0


def test_it_halves_as_often_as_it_takes_and_says_so_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(micro_batches, "LONG_PROMPT", 64)
    policy, warnings = make(folder, 10_000), Warnings()
    policy.passes.on_change = warnings
    whole = make(folder, 10_000)
    whole.forward_backward(batch(), weighted)
    with short_of_memory(policy._model, lambda here: here.gradient and here.tokens > 26) as passes:
        policy.forward_backward(batch(), weighted)
    assert policy.passes.facts == {"micro_batch_tokens": 26, "gradient_checkpointing": False}
    assert len(warnings) == 3 and all(here.tokens <= 26 for here in passes[-8:])
    assert "an allocation of 2.00 GiB failed" in warnings[0] and "GiB are at hand" in warnings[0]
    assert f"micro-batches of at most {policy.passes.tokens} tokens" in warnings[-1]
    close(gradients(policy), gradients(whole))
    before = len(warnings)
    policy._forget()
    policy.forward_backward(batch(), weighted)
    assert len(warnings) == before, "what was learned is held to"


def test_gradient_checkpointing_comes_when_each_row_is_alone(folder: Path) -> None:
    policy, warnings = make(folder), Warnings()
    policy.passes.on_change = warnings
    with short_of_memory(policy._model, lambda here: here.gradient and not policy.passes.checkpointing):
        policy.forward_backward(batch(), weighted)
    assert policy.passes.facts == {"micro_batch_tokens": LONGEST, "gradient_checkpointing": True}
    assert warnings[-1].endswith("micro-batches of at most 26 tokens with gradient checkpointing")
    plain = make(folder)
    plain.forward_backward(batch(), weighted)
    close(gradients(policy), gradients(plain))


def test_where_no_row_fits_the_job_pauses_with_sizes_as_at_first(folder: Path) -> None:
    policy = make(folder)
    first, weights = policy.passes.facts, policy.weights()
    with (
        short_of_memory(policy._model, lambda here: here.gradient) as passes,
        pytest.raises(JobFailure) as ended,
    ):
        policy.forward_backward(batch(), weighted)
    assert (ended.value.code, ended.value.retryable) == ("out_of_memory", True)
    assert "a row of 26 tokens does not fit by itself" in ended.value.message
    assert "even with gradient checkpointing" in ended.value.message
    assert ended.value.hint is not None and "fork it" in ended.value.hint
    assert len(passes) <= 6
    assert policy.passes.facts == first and policy.state().facts == {}
    assert gradients(policy) == {}
    assert all(torch.equal(policy.weights()[key], tensor) for key, tensor in weights.items())
    policy.forward_backward(batch(), weighted)
    assert policy.optimizer_step(**STEP) > 0, "with memory again it goes on"


def test_other_failures_are_not_retried(folder: Path) -> None:
    policy = make(folder)
    calls = []

    def loss(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
        calls.append(1)
        raise RuntimeError("shapes")

    with pytest.raises(RuntimeError, match="shapes"):
        policy.forward_backward(batch(), loss)
    assert len(calls) == 1


def test_in_threads_it_is_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(micro_batches, "SMALLEST", 1)
    policy, whole = make(folder, threads=2), make(folder, threads=2)
    with short_of_memory(policy._model, lambda here: here.number == 1):
        result = policy.forward_backward(batch(), weighted)
    expected = whole.forward_backward(batch(), weighted)
    assert result.metrics["rows"][0] == expected.metrics["rows"][0] == 8.0
    close(gradients(policy), gradients(whole))


def test_no_thread_runs_any_more_when_one_has_failed() -> None:
    done, begun = list[int](), threading.Event()

    def work(item: int) -> int:
        if item == 0:
            begun.wait(5)
            raise MemoryError
        begun.set()
        time.sleep(0.05)
        done.append(item)
        return item

    with pytest.raises(MemoryError):
        list(MicroBatchThreads(2).map(work, range(8)))
    held = list(done)
    time.sleep(0.1)
    assert done == held and held


# ── Passes without gradient, and the critic ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reference", [False, True])
def test_scores_are_taken_again_in_halves(folder: Path, reference: bool) -> None:
    policy = make(folder)

    def scores() -> Tensor:
        return policy.reference_log_probs(SEQUENCES) if reference else policy.log_probs(SEQUENCES).logprobs

    expected = scores()
    with short_of_memory(policy._model, lambda here: here.number == 1):
        rescored = scores()
    assert policy.passes.tokens < BUDGET and not policy.passes.checkpointing
    torch.testing.assert_close(rescored, expected, atol=1e-6, rtol=1e-5)
    with short_of_memory(policy._model, lambda here: True) as passes, pytest.raises(JobFailure) as ended:
        scores()
    assert len(passes) <= 3 and "does not fit by itself (an alloc" in ended.value.message
    assert not policy.passes.checkpointing, "it spares nothing there"


@pytest.mark.parametrize("backward", [False, True])
def test_a_critic_does_the_same(folder: Path, backward: bool) -> None:
    critic, whole = make_critic(folder), make_critic(folder)
    expected = whole.forward_backward(batch(), squared)
    with short_of_memory(critic._model, lambda here: here.number == 2, backward=backward):
        metrics = critic.forward_backward(batch(), squared)
    assert metrics["rows"][0] == expected["rows"][0] == 8.0
    close(gradients(critic), gradients(whole), atol=1e-5)
    critic._forget()
    values = whole.values(SEQUENCES)
    with short_of_memory(critic._model, lambda here: here.number == 0):
        torch.testing.assert_close(critic.values(SEQUENCES), values, atol=1e-6, rtol=1e-5)
    with short_of_memory(critic._model, lambda here: True), pytest.raises(JobFailure):
        critic.forward_backward(batch(), squared)
    assert gradients(critic) == {}


# ── The next attempt ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("create", [make, make_critic])
def test_the_next_attempt_begins_with_what_was_learned(
    folder: Path, create: Callable[[Path], LoraPolicy | LoraCritic], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = create(folder)
    assert first.state().facts == {}
    with short_of_memory(first._model, lambda here: here.gradient and not first.passes.checkpointing):
        first.forward_backward(batch(), squared if isinstance(first, LoraCritic) else weighted)  # type: ignore[arg-type]
    state = first.state()
    second = create(folder)
    second.load_state(state)
    assert (
        second.passes.facts
        == first.passes.facts
        == {"micro_batch_tokens": 26, "gradient_checkpointing": True}
    )
    assert second.state().facts == state.facts, "and so on"
    monkeypatch.setattr(out_of_memory, "total_memory", lambda device: 2 * state.facts["memory"]["total"])
    larger = create(folder)
    larger.load_state(state)
    assert larger.passes.tokens == BUDGET and not larger.passes.checkpointing
    larger.load_state(replace(state, facts={"memory": "torn"}))
    assert larger.passes.tokens == BUDGET


def test_the_machines_memory_is_the_containers(tmp_path: Path) -> None:
    assert total_ram(tmp_path) is None
    for name, text in {"proc/meminfo": "MemTotal: 9000 kB\n", "sys/fs/cgroup/memory.max": "max\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert total_ram(tmp_path) == 9000 * 1024
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("5000\n", encoding="ascii")
    assert total_ram(tmp_path) == 5000
    assert memory.memory_in_words(torch.device("cpu")).endswith("GiB are at hand")
