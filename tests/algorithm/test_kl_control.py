"""β that follows the distance, and β by row."""

import pytest
import torch

from worker.algorithm.loss.kl_control import advance_kl, current_beta, row_betas, with_current_beta

KL = {"beta": 0.1, "adaptive": {"target": 0.05, "horizon": 100}}


@pytest.mark.parametrize(
    ("measured", "factor"),
    [(0.05, 1.0), (0.055, 1 + 0.1 * 0.2), (0.5, 1 + 0.2 * 0.2), (0.045, 1 - 0.1 * 0.2), (0.0, 1 - 0.2 * 0.2)],
)
def test_beta_moves_by_its_error_within_a_fifth(measured: float, factor: float) -> None:
    """20 completions of a horizon of 100 move by a fifth of the error."""
    assert advance_kl(KL, {}, measured=measured, rows=20)["coefficient"] == pytest.approx(0.1 * factor)


def test_beta_goes_on_from_where_it_was() -> None:
    state = advance_kl(KL, {}, measured=1.0, rows=100)
    assert current_beta(KL, state) == pytest.approx(0.12)
    assert advance_kl(KL, state, measured=1.0, rows=100)["coefficient"] == pytest.approx(0.144)
    assert with_current_beta({"kl": KL}, state)["kl"]["beta"] == pytest.approx(0.12)


def test_beta_never_reaches_nothing_and_stays_where_nothing_moves_it() -> None:
    assert advance_kl(KL, {}, measured=0.0, rows=10**6)["coefficient"] == pytest.approx(0.01)
    assert advance_kl(KL, {"coefficient": 0.3}, measured=None, rows=5) == {"coefficient": 0.3}
    fixed = {"beta": 0.1, "adaptive": None}
    assert advance_kl(fixed, {}, measured=1.0, rows=5) == {}
    assert with_current_beta({"kl": fixed}, {"coefficient": 9.0})["kl"]["beta"] == 0.1


def test_rows_take_the_beta_of_their_value() -> None:
    betas = row_betas({"math": 0.0, "1": 0.5}, ["math", 1, None, "chat"], otherwise=0.2)
    torch.testing.assert_close(betas, torch.tensor([0.0, 0.5, 0.2, 0.2]))
