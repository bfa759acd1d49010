"""Where a curve turned bad."""

import pytest

from reinforge.comparison.turning import find_turn, read_condition
from reinforge.errors import InvalidInput


@pytest.mark.parametrize(
    ("values", "turn"),
    [
        ([0.7, 0.8, 0.5, 0.4], (20, 30)),
        ([0.7, 0.5, 0.7, None, 0.5], (30, 50)),  # what lasts to the end counts
        ([0.7, 0.5, 0.7, 0.4, 0.8], (10, 20)),  # it ends well: the first
        ([0.5, 0.4], None),
        ([0.7, 0.6], None),
        ([], None),
    ],
)
def test_the_last_good_and_the_first_bad_point(
    values: list[float | None], turn: tuple[int, int] | None
) -> None:
    points = [(10 * (place + 1), value) for place, value in enumerate(values)]
    turned = find_turn(points, read_condition("held_out<0.6"))
    assert (None if turned is None else (turned.good, turned.bad)) == turn


def test_an_evaluation_measures_after_its_step_and_training_before() -> None:
    held_out = find_turn([(10, 0.7), (20, 0.5)], read_condition("held_out<0.6"))
    train = find_turn([(4, 0.7), (5, 0.1)], read_condition("reward/mean < 0.2"))
    assert held_out is not None and train is not None
    assert (held_out.updates, train.updates) == ((11, 20), (4, 4))


@pytest.mark.parametrize("text", ["", "held_out", "held_out<", "held_out<a"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_condition(text)
