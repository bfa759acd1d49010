"""Inverse transform sampling against distributions that can be counted."""

import numpy as np
import pytest
import torch

from worker.rollout.sampling import choose


def spread(count: int) -> np.ndarray:
    """Evenly spread numbers in (0, 1): every token comes up as often as its probability says."""
    return (np.arange(count) + 0.5) / count


def test_tokens_come_up_as_often_as_their_probability() -> None:
    probabilities = torch.tensor([0.5, 0.0, 0.125, 0.375])
    logits = probabilities.log().expand(800, 4)
    tokens, logprobs, _ = choose(logits, spread(800), temperature=1.0, top_p=1.0)
    assert torch.bincount(tokens, minlength=4).tolist() == [400, 0, 100, 300]
    torch.testing.assert_close(logprobs.exp(), probabilities[tokens])


def test_temperature_divides_the_logits() -> None:
    logits = torch.tensor([[2.0, 0.0]]).expand(1000, 2)
    tokens, logprobs, _ = choose(logits, spread(1000), temperature=2.0, top_p=1.0)
    expected = torch.log_softmax(torch.tensor([1.0, 0.0]), -1)
    assert int((tokens == 0).sum()) == round(1000 * expected[0].exp().item())
    torch.testing.assert_close(logprobs, expected[tokens])


def test_top_p_keeps_the_smallest_set_and_reports_whole_probabilities() -> None:
    probabilities = torch.tensor([0.1, 0.6, 0.25, 0.05])
    tokens, logprobs, _ = choose(probabilities.log().expand(850, 4), spread(850), temperature=1.0, top_p=0.8)
    assert torch.bincount(tokens, minlength=4).tolist() == [0, 600, 250, 0]
    torch.testing.assert_close(logprobs.exp(), probabilities[tokens])


def test_top_p_always_keeps_the_likeliest() -> None:
    tokens, _, _ = choose(
        torch.tensor([[0.0, 5.0, 1.0]]).expand(9, 3), spread(9), temperature=1.0, top_p=1e-6
    )
    assert tokens.tolist() == [1] * 9


def test_temperature_zero_is_greedy_with_probabilities_at_one() -> None:
    logits = torch.tensor([[0.0, 3.0, 1.0]])
    tokens, logprobs, _ = choose(logits, spread(1), temperature=0.0, top_p=1.0)
    assert tokens.tolist() == [1]
    torch.testing.assert_close(logprobs, torch.log_softmax(logits, -1)[:, 1])


@pytest.mark.parametrize("noise", [1e-16, 1 - 1e-16])
def test_the_ends_of_the_interval_give_possible_tokens(noise: float) -> None:
    logits = torch.tensor([[-torch.inf, 0.0, 1.0, -torch.inf]])
    tokens, _, _ = choose(logits, np.array([noise]), temperature=1.0, top_p=1.0)
    assert tokens.item() in (1, 2)


def test_the_tail_of_a_large_vocabulary_is_reached() -> None:
    logits = torch.zeros((1, 200_000))
    tokens, _, _ = choose(logits, np.array([1 - 1e-9]), temperature=1.0, top_p=1.0)
    assert tokens.item() == 199_999
