"""Sliced log-probabilities and entropies against the plain formula."""

import pytest
import torch
from torch import Tensor

from worker.policy.forward import logprobs
from worker.policy.forward.logprobs import token_logits, token_scores


@pytest.fixture
def case() -> tuple[Tensor, Tensor, torch.nn.Linear]:
    generator = torch.Generator().manual_seed(1)
    head = torch.nn.Linear(8, 50, bias=False)
    with torch.no_grad():
        head.weight.normal_(generator=generator)
    return torch.randn((23, 8), generator=generator), torch.randint(50, (23,), generator=generator), head


def test_values_are_those_of_the_whole_distribution(case: tuple[Tensor, Tensor, torch.nn.Linear]) -> None:
    hidden, targets, head = case
    logprobs, entropies = token_scores(hidden, targets, head, vocabulary=50, temperature=0.5)
    distribution = torch.distributions.Categorical(logits=head(hidden) / 0.5)
    torch.testing.assert_close(logprobs, distribution.log_prob(targets))
    torch.testing.assert_close(entropies, distribution.entropy())
    assert not entropies.requires_grad


def test_slices_give_the_same_values_and_gradients(
    case: tuple[Tensor, Tensor, torch.nn.Linear], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, targets, head = case
    head.requires_grad_(False)
    gradients, values = [], []
    for elements in (10_000, 5 * 50):
        monkeypatch.setitem(logprobs.SLICE_BYTES, "cpu", 4 * elements)
        leaf = hidden.clone().requires_grad_()
        scores, entropies = token_scores(leaf, targets, head, vocabulary=50, temperature=1.3)
        torch.autograd.backward((scores * torch.arange(23)).sum())
        gradients.append(leaf.grad)
        values.append((scores.detach(), entropies))
    torch.testing.assert_close(gradients[0], gradients[1])
    torch.testing.assert_close(values[0], values[1])


def test_an_impossible_token_adds_nothing_to_the_entropy() -> None:
    logits = torch.tensor([[0.0, 0.0, -torch.inf]])
    _, entropies = token_scores(logits, torch.tensor([0]), lambda x: x, vocabulary=3, temperature=1.0)
    torch.testing.assert_close(entropies, torch.tensor([2.0]).log())


@pytest.mark.parametrize("entropy_gradient", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_a_frozen_head_has_the_scores_and_gradients_of_autograd(
    monkeypatch: pytest.MonkeyPatch, bias: bool, entropy_gradient: bool
) -> None:
    """In float64, over several slices, with every kind of weight from behind."""
    generator = torch.Generator().manual_seed(2)
    head = torch.nn.Linear(8, 50, bias=bias, dtype=torch.float64).requires_grad_(False)
    hidden = 3 * torch.randn((23, 8), generator=generator, dtype=torch.float64)
    targets = torch.randint(50, (23,), generator=generator)
    behind = torch.randn((2, 23), generator=generator, dtype=torch.float64)
    monkeypatch.setitem(logprobs.SLICE_BYTES, "cpu", 4 * 5 * 50)
    results = []
    for frozen in (False, True):
        monkeypatch.setattr(logprobs, "FROZEN_HEADS", frozen)
        leaf = hidden.clone().requires_grad_()
        scores, entropies = token_scores(
            leaf, targets, head, vocabulary=50, temperature=0.7, entropy_gradient=entropy_gradient
        )
        assert scores.dtype == torch.float64 and entropies.requires_grad == entropy_gradient
        total = (scores * behind[0]).sum() + (entropies * behind[1]).sum()
        (gradient,) = torch.autograd.grad(total, leaf)
        results.append((scores.detach(), entropies.detach(), gradient))
    for new, old in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(new, old, atol=1e-12, rtol=1e-12)


def test_each_logit_of_a_frozen_head_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    head = torch.nn.Linear(8, 50).requires_grad_(False)
    computed = []

    def counted(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        computed.append(len(hidden))
        return hidden @ weight.T

    monkeypatch.setattr(logprobs, "_logits", counted)
    monkeypatch.setitem(logprobs.SLICE_BYTES, "cpu", 4 * 5 * 50)
    leaf = torch.randn(23, 8, requires_grad=True)
    scores, _ = token_scores(leaf, torch.arange(23), head, vocabulary=50, temperature=1.0)
    scores.sum().backward()
    assert computed == [5, 5, 5, 5, 3]


def test_a_head_that_learns_gets_its_gradient(case: tuple[Tensor, Tensor, torch.nn.Linear]) -> None:
    hidden, targets, head = case
    logprobs, _ = token_scores(hidden, targets, head, vocabulary=50, temperature=1.0)
    logprobs.sum().backward()
    assert head.weight.grad is not None and bool(head.weight.grad.any())


def test_a_bfloat16_heads_scores_are_as_close_as_its_logits_let_them(
    case: tuple[Tensor, Tensor, torch.nn.Linear],
) -> None:
    hidden, targets, head = case
    low = torch.nn.Linear(8, 50, bias=False, dtype=torch.bfloat16).requires_grad_(False)
    low.load_state_dict({"weight": head.weight.detach().bfloat16()})
    leaf = hidden.bfloat16().requires_grad_()
    logprobs, entropies = token_scores(leaf, targets, low, vocabulary=50, temperature=1.0)
    exact, exact_entropies = token_scores(
        leaf.double(), targets, low.double(), vocabulary=50, temperature=1.0
    )
    assert logprobs.dtype == entropies.dtype == torch.float32
    torch.testing.assert_close(logprobs.double(), exact, atol=0.1, rtol=0)
    torch.testing.assert_close(entropies.double(), exact_entropies.detach(), atol=0.05, rtol=0)


@pytest.mark.parametrize("head_type", ["linear", "function"])
def test_the_logit_of_one_token_is_that_of_the_whole_head(head_type: str) -> None:
    generator = torch.Generator().manual_seed(3)
    linear = torch.nn.Linear(8, 50, dtype=torch.float64)
    head = linear if head_type == "linear" else lambda hidden: 2 * linear(hidden)
    hidden = torch.randn((23, 8), generator=generator, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(23, generator=generator, dtype=torch.float64)
    logits = token_logits(hidden, head, 7)
    torch.testing.assert_close(logits, head(hidden)[:, 7])
    gradients = [
        torch.autograd.grad((weights * values).sum(), hidden)[0] for values in (logits, head(hidden)[:, 7])
    ]
    torch.testing.assert_close(*gradients)
