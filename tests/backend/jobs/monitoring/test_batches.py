"""Many records in one request are stored like single ones."""

from typing import Any

import pytest

from tests.backend.server import Backend, Trainer

pytestmark = pytest.mark.usefixtures("rpc_backend")


@pytest.fixture
def trainer(backend: Backend) -> Trainer:
    made = backend.claim(backend.create_job())
    made.start()
    return made


def step(number: int, **values: float | None) -> dict[str, Any]:
    return {"kind": "step_metrics", "step": number, "values": values}


def events(backend: Backend, trainer: Trainer) -> list[tuple[int, str, int | None]]:
    listed = backend.api.get(f"/jobs/{trainer.claimed['job']}/events", params={"limit": 1000}).json()["data"]
    return [(event["seq"], event["type"], event["data"].get("step")) for event in listed]


def series(backend: Backend, trainer: Trainer) -> dict[str, dict[str, list[Any]]]:
    listed = backend.api.get(f"/jobs/{trainer.claimed['job']}/metrics").json()["series"]
    return {
        series_view["key"]: {"steps": series_view["steps"], "values": series_view["values"]}
        for series_view in listed
    }


def used(backend: Backend, trainer: Trainer) -> dict[str, float]:
    query = "SELECT kind, sum(amount) FROM usage WHERE source = %s AND kind <> 'device_seconds' GROUP BY kind"
    return dict(backend.sql(query, trainer.claimed["job"]))  # type: ignore[arg-type]


def test_a_thousand_steps_in_one_request(backend: Backend, trainer: Trainer) -> None:
    before = len(events(backend, trainer))
    trainer.send(*[step(number, **{"reward/mean": number / 8}) for number in range(1, 991)])
    listed = events(backend, trainer)
    assert [number for number, *_ in listed] == list(range(1, len(listed) + 1))
    assert listed[before:] == [(before + number, "metrics", number) for number in range(1, 991)]
    assert series(backend, trainer)["reward/mean"] == {
        "steps": list(range(1, 991)),
        "values": [number / 8 for number in range(1, 991)],
    }
    assert backend.job(trainer.claimed["job"])["progress"]["step"] == 990


def test_events_keep_the_order_of_the_records(backend: Backend, trainer: Trainer) -> None:
    before = len(events(backend, trainer))
    trainer.send(
        {"kind": "phase", "phase": "updating", "step": 1},
        {"kind": "log", "level": "info", "message": "between"},
        step(1, **{"reward/mean": 0.5}),
        {"kind": "finding", "code": "flat", "severity": "info", "step": 1, "message": "flat"},
        step(2, **{"reward/mean": None}),
    )
    listed = events(backend, trainer)
    assert [type for _, type, _ in listed[before:]] == ["phase", "log", "metrics", "finding", "metrics"]
    assert [number for number, *_ in listed] == list(range(1, len(listed) + 1))
    assert series(backend, trainer)["reward/mean"] == {"steps": [1, 2], "values": [0.5, None]}


def test_the_last_record_of_a_repeated_step_counts(backend: Backend, trainer: Trainer) -> None:
    trainer.send(step(1, a=1.0, b=5.0), step(1, a=2.0), step(2, a=3.0))
    assert series(backend, trainer) == {
        "a": {"steps": [1, 2], "values": [2.0, 3.0]},
        "b": {"steps": [1], "values": [5.0]},
    }
    trainer.send(step(2, a=4.0, c=1e300))
    assert series(backend, trainer)["a"]["values"] == [2.0, 4.0]
    assert series(backend, trainer)["c"]["values"] == [1e300]


def test_growth_is_counted_inside_a_request_and_across(backend: Backend, trainer: Trainer) -> None:
    tokens = "tokens/trained"
    trainer.send(step(1, **{tokens: 10.0}), step(2, other=1.0), step(3, **{tokens: 25.0}))
    assert used(backend, trainer) == {"trained_tokens": 25.0}
    trainer.send(step(4, **{tokens: 40.0, "judge/cost": 0.5}), step(5, **{tokens: None, "judge/cost": 0.75}))
    assert used(backend, trainer) == {"trained_tokens": 40.0, "judge_spend": 0.75}
    # Step 4 once more: it grew by 15 over step 3, the last before it.
    trainer.send(step(6, **{tokens: 60.0}), step(4, **{tokens: 40.0}))
    assert used(backend, trainer) == {"trained_tokens": 75.0, "judge_spend": 0.75}


def test_completions_of_any_text_are_stored(backend: Backend, trainer: Trainer) -> None:
    texts = ['quotes " and \\ back', "tab\tline\n", "ünï 数 😀", "{}[],", "", "NULL", "\\N"]
    rows = [
        {
            "prompt_no": 0, "sample_no": number, "prompt_hash": "h", "row_index": 0, "length": 3, "text": text,
            "reward": None if number == 0 else number / 3, "advantage": None, "finish_reason": "stop",
            "error": "exception" if number == 0 else None,
        }
        for number, text in enumerate(texts)
    ]  # fmt: skip
    blob = trainer.blob(b"rows", "rollouts")
    trainer.send({"kind": "rollouts", "step": 1, "split": "train", "blob": blob, "rows": rows})
    query = "SELECT text, reward, error FROM completion WHERE job_id = %s ORDER BY sample_no"
    assert backend.sql(query, trainer.claimed["job"]) == [
        (text, rows[number]["reward"], rows[number]["error"]) for number, text in enumerate(texts)
    ]
    assert used(backend, trainer) == {"sampled_tokens": 3.0 * len(texts)}


def test_a_refused_batch_leaves_nothing(backend: Backend, trainer: Trainer) -> None:
    before = events(backend, trainer)
    missing = {"kind": "resume_state_saved", "step": 2, "blob": {"sha256": "0" * 64, "bytes": 3}}
    assert trainer.post(trainer.number(step(1, a=1.0), missing)).status_code == 422
    assert (events(backend, trainer), series(backend, trainer)) == (before, {})
