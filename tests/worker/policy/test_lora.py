"""The policy of this process: scores, gradients, updates, state, export."""

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from reinforge.errors import JobFailure
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy

STEP = {"learning_rate": 0.01, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0}
SEQUENCES = Sequences([[5, 6, 7], [9], [5, 6, 7, 8, 30]], [[40, 41, 1], [50, 60, 70, 80, 1], [33]], 0.8)


@pytest.fixture(scope="module", params=["qwen3", "llama"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp(request.param), request.param)


def make(folder: Path, *, seed: int = 0) -> tuple[LocalHost, LoraPolicy]:
    host = LocalHost(load_base_model(folder))
    return host, host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=seed)


def batch_of(sequences: Sequences = SEQUENCES, needs: list[bool] | None = None) -> Batch:
    lengths = torch.tensor([len(ids) for ids in sequences.completions])
    mask = torch.arange(sequences.longest)[None, :] < lengths[:, None]
    return Batch(
        sequences,
        {"mask": mask, "scale": torch.tensor([1.0, -2.0, 0.5])},
        torch.tensor(needs or [True] * len(sequences)),
        denominator=4.0,
    )


def weighted_logprob(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    total = (scores.logprobs * tensors["mask"] * tensors["scale"][:, None]).sum()
    return LossValue(total, {"seen": (float(tensors["mask"].sum()), 1.0)})


def gradients(policy: LoraPolicy) -> dict[str, Tensor]:
    return {key: p.grad.clone() for key, p in policy._parameters.items() if p.grad is not None}


def test_scores_are_those_of_a_plain_forward_pass(folder: Path) -> None:
    host, policy = make(folder)
    scores = policy.log_probs(SEQUENCES)
    for row, (prompt, completion) in enumerate(zip(SEQUENCES.prompts, SEQUENCES.completions, strict=True)):
        logits = host.base.model(input_ids=torch.tensor([[*prompt, *completion]])).logits[0] / 0.8
        distribution = torch.distributions.Categorical(logits=logits[len(prompt) - 1 : -1])
        expected = distribution.log_prob(torch.tensor(completion))
        torch.testing.assert_close(scores.logprobs[row, : len(completion)], expected, atol=1e-5, rtol=0)
        torch.testing.assert_close(
            scores.entropies[row, : len(completion)], distribution.entropy(), atol=1e-5, rtol=0
        )
        assert (scores.logprobs[row, len(completion) :] == 0).all()


def test_a_fresh_adapter_is_the_base(folder: Path) -> None:
    _, policy = make(folder)
    assert torch.equal(policy.log_probs(SEQUENCES).logprobs, policy.reference_log_probs(SEQUENCES))


def test_the_head_runs_on_completion_tokens_only_when_that_is_exact(folder: Path) -> None:
    host, policy = make(folder)
    assert policy._split is not None
    whole = LoraPolicy("policy", policy._peft, activate=host.activate, split=None, passes=policy.passes)
    torch.testing.assert_close(whole.log_probs(SEQUENCES).logprobs, policy.log_probs(SEQUENCES).logprobs)


def test_the_adapter_is_float32_and_alone_in_training(folder: Path) -> None:
    host, policy = make(folder)
    trained = {name for name, p in host.base.model.named_parameters() if p.requires_grad}
    assert (
        len(trained) == len(policy._parameters) == 2 * 7 * 2
    )  # A and B of seven linear layers in two blocks
    assert {p.dtype for p in policy._parameters.values()} == {torch.float32}


def test_threads_change_neither_gradient_nor_scores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit: what is summed up over micro-batches is summed in their order, whichever thread was faster."""
    _, one = make(folder)
    two = LocalHost(load_base_model(folder), threads=2).create_policy(
        "policy", rank=4, alpha=8, targets="all-linear", seed=0
    )
    monkeypatch.setattr("worker.policy.forward.micro_batches.SMALLEST", 1)
    one.passes.tokens = two.passes.tokens = 7
    threads: list[str] = []
    both = threading.Barrier(2)

    def loss(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
        name = threading.current_thread().name
        if name.startswith("micro-batch"):  # the main thread measures its memory with one row
            threads.append(name)
        if threads.count(name) == 1:
            both.wait(60)  # otherwise one thread may take all micro-batches
            if name == "micro-batch_0":
                time.sleep(0.05)  # its micro-batch ends last
        return weighted_logprob(scores, tensors)

    expected, threaded = (
        one.forward_backward(batch_of(), weighted_logprob),
        two.forward_backward(batch_of(), loss),
    )
    assert set(threads) == {"micro-batch_0", "micro-batch_1"}
    assert torch.equal(threaded.scores.logprobs, expected.scores.logprobs)
    assert torch.equal(threaded.scores.entropies, expected.scores.entropies)
    assert threaded.metrics == expected.metrics
    for key, gradient in gradients(one).items():
        assert torch.equal(gradients(two)[key], gradient)
    assert torch.equal(two.log_probs(SEQUENCES).logprobs, one.log_probs(SEQUENCES).logprobs)


def test_micro_batches_do_not_change_the_gradient(folder: Path) -> None:
    _, policy = make(folder)
    whole = policy.forward_backward(batch_of(), weighted_logprob)
    expected = gradients(policy)
    policy._optimizer.zero_grad(set_to_none=True)
    policy.passes.tokens = 4
    beats: list[int] = []
    policy.passes.heartbeat = lambda: beats.append(1)
    parts = policy.forward_backward(batch_of(), weighted_logprob)
    assert whole.metrics["seen"] == (9.0, 1.0)
    assert parts.metrics["seen"] == (9.0, 3.0)
    assert len(beats) == 3
    torch.testing.assert_close(parts.scores.logprobs, whole.scores.logprobs)
    for key, gradient in gradients(policy).items():
        torch.testing.assert_close(gradient, expected[key], atol=1e-6, rtol=1e-4)


def test_packed_rows_have_the_same_scores_and_gradient(folder: Path) -> None:
    """In one line and in several, in threads too, and with rows that are looked at only."""
    batch = batch_of(Sequences([[5, 6, 7]] * 3, SEQUENCES.completions, 0.8), [True, True, False])
    _, padded = make(folder)
    padded.layout = "padded"
    expected = padded.forward_backward(batch, weighted_logprob)
    for threads in (1, 2):
        host = LocalHost(load_base_model(folder), threads=threads)
        policy = host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=0)
        policy.layout = "packed"
        for tokens in (2048, 6):
            policy.passes.tokens = tokens
            result = policy.forward_backward(batch, weighted_logprob)
            assert result.metrics["seen"] == (9.0, 2.0 if tokens > 6 else 3.0)
            torch.testing.assert_close(result.scores.logprobs, expected.scores.logprobs, atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(result.scores.entropies, expected.scores.entropies)
            for key, gradient in gradients(policy).items():
                torch.testing.assert_close(gradient, gradients(padded)[key], atol=1e-6, rtol=1e-4)
            policy._optimizer.zero_grad(set_to_none=True)
            scored = policy.log_probs(batch.sequences).logprobs
            torch.testing.assert_close(scored, expected.scores.logprobs, atol=1e-6, rtol=1e-5)


def test_the_losss_own_gradients_are_summed_and_divided_like_its_value(folder: Path) -> None:
    def loss(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
        value = weighted_logprob(scores, tensors)
        return LossValue(value.total, value.metrics, {"exponent": float(tensors["scale"].sum())})

    _, policy = make(folder)
    policy.passes.tokens = 4
    assert policy.forward_backward(batch_of(), loss).gradients == {"exponent": pytest.approx(-0.5 / 4)}


def test_entropies_carry_gradient_where_a_batch_asks(folder: Path) -> None:
    def loss(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
        return LossValue(scores.logprobs.sum() * 0 - scores.entropies.sum(), {})

    _, policy = make(folder)
    policy.forward_backward(batch_of(), loss)
    assert all(not gradient.any() for gradient in gradients(policy).values())
    before = policy.log_probs(SEQUENCES).entropies.sum()
    policy.forward_backward(replace(batch_of(), entropy_gradient=True), loss)
    assert policy.optimizer_step(**STEP) > 0
    assert policy.log_probs(SEQUENCES).entropies.sum() > before


def test_the_reference_can_become_the_policy_or_a_mixture(folder: Path) -> None:
    _, policy = make(folder)
    base = policy.reference_log_probs(SEQUENCES)
    policy.forward_backward(batch_of(), weighted_logprob)
    policy.optimizer_step(**STEP)
    moved = policy.log_probs(SEQUENCES).logprobs
    policy.refresh_reference(0.5)
    half = policy.reference_log_probs(SEQUENCES)
    assert not torch.equal(half, base) and not torch.equal(half, moved)
    assert torch.equal(policy.log_probs(SEQUENCES).logprobs, moved)
    policy.refresh_reference(1.0)
    assert torch.equal(policy.reference_log_probs(SEQUENCES), moved)


def test_rows_without_signal_are_scored_but_give_no_gradient(folder: Path) -> None:
    _, policy = make(folder)
    ran = policy.forward_backward(batch_of(needs=[True, False, False]), weighted_logprob)
    assert (ran.scores.logprobs != 0).any(1).all()
    mixed = gradients(policy)
    policy._optimizer.zero_grad(set_to_none=True)
    only = Batch(
        SEQUENCES.take([0]),
        {
            key: tensor[:1] if tensor.dim() == 1 else tensor[:1, :3]
            for key, tensor in batch_of().tensors.items()
        },
        torch.tensor([True]),
        4.0,
    )
    policy.forward_backward(only, weighted_logprob)
    for key, gradient in gradients(policy).items():
        torch.testing.assert_close(mixed[key], gradient)


def test_a_step_moves_the_policy_and_not_the_reference(folder: Path) -> None:
    _, policy = make(folder)
    before, reference = policy.log_probs(SEQUENCES).logprobs, policy.reference_log_probs(SEQUENCES)
    policy.forward_backward(batch_of(), weighted_logprob)
    norm = policy.optimizer_step(**STEP)
    assert norm > 0
    assert not torch.equal(policy.log_probs(SEQUENCES).logprobs, before)
    assert torch.equal(policy.reference_log_probs(SEQUENCES), reference)


def test_a_gradient_that_is_not_finite_changes_nothing(folder: Path) -> None:
    _, policy = make(folder)
    policy.forward_backward(batch_of(), weighted_logprob)
    policy.optimizer_step(**STEP)
    before = policy.state()

    def broken(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
        return LossValue(scores.logprobs.sum() * float("inf"), {})

    policy.forward_backward(batch_of(), broken)
    norm = policy.optimizer_step(**STEP)
    assert not torch.isfinite(torch.tensor(norm))
    after = policy.state()
    assert all(torch.equal(after.adapter[key], tensor) for key, tensor in before.adapter.items())
    assert all(torch.equal(after.optimizer[key], tensor) for key, tensor in before.optimizer.items())
    policy.forward_backward(batch_of(), weighted_logprob)
    assert policy.optimizer_step(**STEP) > 0


def test_state_continues_bit_for_bit(folder: Path) -> None:
    def steps(policy: LoraPolicy, count: int) -> None:
        for _ in range(count):
            policy.forward_backward(batch_of(), weighted_logprob)
            policy.optimizer_step(**STEP)

    _, one = make(folder)
    steps(one, 5)
    _, two = make(folder)
    steps(two, 3)
    _, three = make(folder, seed=99)
    three.load_state(two.state())
    steps(three, 2)
    for key, tensor in one.state().adapter.items():
        assert torch.equal(three.state().adapter[key], tensor)


def test_the_seed_decides_the_start(folder: Path) -> None:
    first, same, other = (make(folder, seed=seed)[1].state().adapter for seed in (1, 1, 2))
    assert all(torch.equal(first[key], same[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


def test_the_exported_folder_loads_with_peft(folder: Path, tmp_path: Path) -> None:
    _, policy = make(folder)
    for _ in range(3):
        policy.forward_backward(batch_of(), weighted_logprob)
        policy.optimizer_step(**STEP)
    policy.export(tmp_path / "adapter", base_model="tiny")
    loaded = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder), tmp_path / "adapter")
    assert loaded.peft_config["default"].base_model_name_or_path == "tiny"
    scores = policy.log_probs(SEQUENCES)
    assert not torch.allclose(scores.logprobs, policy.reference_log_probs(SEQUENCES), atol=1e-3)
    for row, (prompt, completion) in enumerate(zip(SEQUENCES.prompts, SEQUENCES.completions, strict=True)):
        with torch.no_grad():
            logits = loaded(input_ids=torch.tensor([[*prompt, *completion]])).logits[0, len(prompt) - 1 : -1]
        expected = torch.log_softmax(logits / 0.8, -1).gather(1, torch.tensor(completion)[:, None])[:, 0]
        torch.testing.assert_close(scores.logprobs[row, : len(completion)], expected, atol=1e-5, rtol=0)


def test_targets_that_the_model_lacks_are_refused(folder: Path) -> None:
    host = LocalHost(load_base_model(folder))
    with pytest.raises(JobFailure) as caught:
        host.create_policy("policy", rank=4, alpha=8, targets=["no_such_layer"], seed=0)
    assert caught.value.code == "invalid_adapter"


@pytest.mark.parametrize(
    "damage", ["no_config", "no_weights", "cut_weights", "missing_weights", "no_tokenizer", "bad_config"]
)
def test_a_model_that_does_not_load_says_why(folder: Path, tmp_path: Path, damage: str) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = tmp_path / "model.safetensors"
    match damage:
        case "no_config":
            (tmp_path / "config.json").unlink()
        case "no_weights":
            weights.unlink()
        case "cut_weights":
            weights.write_bytes(weights.read_bytes()[:2000])
        case "missing_weights":
            tensors = load_file(weights)
            del tensors["model.layers.1.mlp.up_proj.weight"]
            save_file(tensors, weights, metadata={"format": "pt"})
        case "no_tokenizer":
            (tmp_path / "tokenizer.json").unlink()
        case "bad_config":
            (tmp_path / "config.json").write_text('{"model_type": "no_such_architecture"}')
    with pytest.raises(JobFailure) as caught:
        load_base_model(tmp_path)
    assert caught.value.code == "model_load_failed"
    assert caught.value.hint
