"""A job that ends before its last step has succeeded and has a reason."""

import pytest

from tests.backend.server import Backend


@pytest.mark.parametrize("reason", ["time_limit", "held_out_flat", "no_signal", None])
def test_an_early_end_has_a_name(rpc_backend: Backend, reason: str | None) -> None:
    job = rpc_backend.create_job(limits={"steps": 9})
    trainer = rpc_backend.claim(job)
    trainer.start(0, 9)
    trainer.checkpoint(4, 0.5, final=True)
    trainer.end("succeeded", reason=reason, step=4)
    view = rpc_backend.job(job)
    assert (view["status"], view["reason"], view["error"]) == ("succeeded", reason, None)
    assert view["adapter"]


def test_early_stopping_is_part_of_the_specification(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job(limits={"early_stop": {"patience": 3}})
    stored = rpc_backend.job(job)["resolved_spec"]["limits"]["early_stop"]
    assert stored == {"patience": 3, "min_delta": 0.0, "no_signal_steps": None, "no_signal_share": 1.0}
    spec = rpc_backend.spec(limits={"early_stop": {"patience": 0}})
    answer = rpc_backend.api.post("/jobs", json=spec)
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "limits.early_stop.patience")
