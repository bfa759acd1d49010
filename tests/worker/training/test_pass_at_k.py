"""pass@k and related metrics: against counting every choice, and by hand."""

import itertools
import random

import pytest

from worker.training.evaluation import pass_at_k as at_k
from worker.training.evaluation.pass_at_k import ANSWERS, best_at_k, interval, maj_at_k, pass_at_k, sizes


@pytest.mark.parametrize(
    ("n", "right", "k"), [(4, 1, 1), (4, 1, 2), (6, 2, 3), (5, 0, 4), (5, 5, 2), (4, 3, 4)]
)
def test_pass_at_k_is_the_share_of_choices_with_a_right_one(n: int, right: int, k: int) -> None:
    marks = [True] * right + [False] * (n - right)
    choices = list(itertools.combinations(marks, k))
    assert pass_at_k(n, right, k) == pytest.approx(sum(map(any, choices)) / len(choices))


def test_pass_at_k_is_unbiased_where_the_plug_in_is_not() -> None:
    """Mean over all 2^5 outcomes of five fair completions, k = 2: exactly 1 - (1/2)²; 1 - (1 - c/n)² is below."""
    outcomes = list(itertools.product([0, 1], repeat=5))
    assert sum(pass_at_k(5, sum(outcome), 2) for outcome in outcomes) / 32 == pytest.approx(0.75)
    assert sum(1 - (1 - sum(outcome) / 5) ** 2 for outcome in outcomes) / 32 < 0.71


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_best_at_k_is_the_mean_of_the_largest_over_choices(k: int) -> None:
    rewards = [0.5, -1.0, 2.0, 0.5, 0.1]
    choices = list(itertools.combinations(rewards, k))
    assert best_at_k(rewards, k) == pytest.approx(sum(map(max, choices)) / len(choices))
    assert best_at_k([1.0, 0.0, 0.0, 1.0], 2) == pytest.approx(pass_at_k(4, 2, 2))


def test_the_most_frequent_answer_decides() -> None:
    answers, right = ["7", "8", "8", None], [True, False, False, False]
    assert maj_at_k(answers, right, 4) == 0
    assert maj_at_k(answers, right, 1) == 0.25
    # Pairs: 7 first wins the tie with 8 twice and beats None; 8 beats the other three.
    assert maj_at_k(answers, right, 2) == 0.5
    assert maj_at_k([None, None], [False, False], 2) == 0


def test_many_choices_are_sampled_the_same_way_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = random.Random(3)
    answers = [str(noise.randrange(3)) for _ in range(12)]
    right = [answer == "1" for answer in answers]
    exact = maj_at_k(answers, right, 3)
    monkeypatch.setattr(at_k, "SUBSETS", 219)
    assert maj_at_k(answers, right, 3) == maj_at_k(answers, right, 3) == pytest.approx(exact, abs=0.1)


def test_an_interval_holds_the_mean_and_shrinks() -> None:
    few, many = [0.0, 1.0] * 5, [0.0, 1.0] * 200
    (low, high), (closer, nearer) = interval(few), interval(many)
    assert low < closer < 0.5 < nearer < high
    # Of a mean of 400 fair coins: 0.5 ± 1.96 · 0.025.
    assert (closer, nearer) == (pytest.approx(0.451, abs=0.01), pytest.approx(0.549, abs=0.01))
    assert interval([0.3]) == (0.3, 0.3)


def test_sizes_are_powers_of_two_and_all() -> None:
    assert [sizes(n) for n in (1, 2, 4, 6)] == [[1], [1, 2], [1, 2, 4], [1, 2, 4, 6]]


@pytest.mark.parametrize(
    ("kind", "text", "answer"),
    [
        ("boxed", r"so \boxed{3} or \boxed{ 4 }.", "4"),
        ("boxed", "none", None),
        ("tagged", "<answer>1</answer> no: <answer>2\n</answer>", "2"),
        ("tagged", "<answer>1", None),
        ("last_number", "between -3 and 4.5, I say", "4.5"),
        ("last_line", "a\n b \n\n", "b"),
        ("last_line", "  ", None),
    ],
)
def test_answers_are_extracted(kind: str, text: str, answer: str | None) -> None:
    assert ANSWERS[kind](text) == answer
