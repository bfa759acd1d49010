"""Sliced log-probabilities and entropies against the plain formula."""

import pytest
import torch
from torch import Tensor

from worker.policy import logprobs
from worker.policy.logprobs import token_scores


@pytest.fixture
def case() -> tuple[Tensor, Tensor, torch.nn.Linear]:
    generator = torch.Generator().manual_seed(1)
    head = torch.nn.Linear(8, 50, bias=False)
    with torch.no_grad():
        head.weight.normal_(generator=generator)
    return torch.randn((23, 8), generator=generator), torch.randint(50, (23,), generator=generator), head


def test_values_are_those_of_the_whole_distribution(case: tuple[Tensor, Tensor, torch.nn.Linear]) -> None:
    hidden, targets, head = case
    found, entropies = token_scores(hidden, targets, head, vocabulary=50, temperature=0.5)
    distribution = torch.distributions.Categorical(logits=head(hidden) / 0.5)
    torch.testing.assert_close(found, distribution.log_prob(targets))
    torch.testing.assert_close(entropies, distribution.entropy())
    assert not entropies.requires_grad


def test_slices_give_the_same_values_and_gradients(
    case: tuple[Tensor, Tensor, torch.nn.Linear], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, targets, head = case
    gradients, values = [], []
    for elements in (10_000, 5 * 50):
        monkeypatch.setattr(logprobs, "LOGITS_PER_SLICE", elements)
        leaf = hidden.clone().requires_grad_()
        found, entropies = token_scores(leaf, targets, head, vocabulary=50, temperature=1.3)
        torch.autograd.backward((found * torch.arange(23)).sum())
        gradients.append(leaf.grad)
        values.append((found.detach(), entropies))
    torch.testing.assert_close(gradients[0], gradients[1])
    torch.testing.assert_close(values[0], values[1])


def test_an_impossible_token_adds_nothing_to_the_entropy() -> None:
    logits = torch.tensor([[0.0, 0.0, -torch.inf]])
    _, entropies = token_scores(logits, torch.tensor([0]), lambda x: x, vocabulary=3, temperature=1.0)
    torch.testing.assert_close(entropies, torch.tensor([2.0]).log())
