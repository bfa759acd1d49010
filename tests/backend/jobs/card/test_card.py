"""Report cards over HTTP: base and adapter from stored completions, documents, manifest, parents."""

import json
from typing import Any

import pytest

from backend.jobs.card.document import document
from reinforge.report_card.manifest import verify
from reinforge.schemas.report_card import CardManifest, ReportCard
from tests.backend.jobs.monitoring.test_group import group, send
from tests.backend.jobs.monitoring.test_verdicts import evaluate, finished, rewards
from tests.backend.jobs.report.test_report import HOSTILE, TAGS, Document
from tests.backend.server import Backend, Trainer


def card(backend: Backend, job: str, **query: Any) -> dict[str, Any]:
    response = backend.api.get(f"/jobs/{job}/card", params=query)
    assert response.status_code == 200, response.text
    view: dict[str, Any] = response.json()
    return view


def figures(view: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {figure["key"]: figure for figure in view["figures"]}


def test_the_card_of_a_finished_job(backend: Backend) -> None:
    job = finished(backend, 12, 20, 22)
    view = card(backend, job, require="held_out_gain>0.02, witnesses=0")
    reward = figures(view)["held_out"]
    assert (reward["base"]["value"], reward["adapter"]["value"]) == (0.5, pytest.approx(22 / 24))
    assert reward["change"]["value"] == pytest.approx(10 / 24) and reward["change"]["paired"]
    assert 0.2 < reward["change"]["low"] < reward["change"]["high"] < 0.65
    assert [policy["role"] for policy in view["policies"]] == ["base", "adapter"]
    assert view["verdict"]["outcome"] == "learned" and view["requirement"]["met"]
    assert view["subject"]["adapter"] == backend.job(job)["adapter"] and view["subject"]["adapter_sha256"]
    # The fixture's tables are no Parquet: numbers of rows are enough for a card, which names what it lacks.
    assert any("details of step 4" in note for note in view["notes"])
    assert figures(card(backend, job, step=2))["held_out"]["adapter"]["value"] == pytest.approx(20 / 24)


def test_details_come_from_the_tables_and_hostile_texts_stay_texts(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job(
        name=f"name {HOSTILE}", data={"dataset": rpc_backend.add_dataset(), "columns": {"answer": "answer"}}
    )
    trainer = rpc_backend.claim(job)
    trainer.start()
    held_out(trainer, 0, value=0.0)
    trainer.step(1)
    held_out(trainer, 1, value=1.0)
    view = card(rpc_backend, job, slice="question")
    values = figures(view)
    assert (values["reward/right"]["base"]["value"], values["reward/right"]["change"]["value"]) == (0.0, 1.0)
    assert values["reward/right/part/format"]["adapter"]["value"] == 0.5
    assert values["slice/?"]["adapter"]["rows"] == 2 and values["entropy"]["adapter"]["value"] == 0.375
    assert values["answer"]["adapter"]["value"] == 0.0
    assert view["worst"][0]["prompt"] == "<i>ask</i>" and view["worst"][0]["answer"] == "42"
    assert figures(card(rpc_backend, job, slice="answer"))["slice/42"]["adapter"]["rows"] == 2
    response = rpc_backend.api.get(f"/jobs/{job}/card", params={"format": "html"})
    assert "default-src 'none'" in response.headers["content-security-policy"]
    page = Document(response.text)
    assert page.tags <= TAGS and HOSTILE in page.text
    assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "href")}


def held_out(trainer: Trainer, step: int, value: float) -> None:
    results = [{"name": "right", "status": "ok", "value": value, "parts": {"format": 0.5}, "wall_ms": 2.0}]
    messages = json.dumps([{"role": "user", "content": "<i>ask</i>"}])
    send(
        trainer,
        step,
        "held_out",
        [
            [row | {"text": f"{HOSTILE} {row['sample_no']}"} for row in group(
                number, f"hash {number}", rewards=json.dumps(results), prompt_messages=messages
            )]
            for number in range(2)
        ],
    )  # fmt: skip


def test_the_manifest_signs_the_files_that_are_served(backend: Backend) -> None:
    job = finished(backend, 12, 20)
    names = {"card.json": "json", "card.md": "md", "card.html": "html"}
    files = {
        name: backend.api.get(f"/jobs/{job}/card", params={"format": format}).content
        for name, format in names.items()
    }
    manifest = CardManifest.model_validate(card(backend, job, format="manifest"))
    verify(manifest, files)
    assert set(manifest.files) == set(files) and manifest.subject.job == job
    assert document(ReportCard.model_validate_json(files["card.json"])).encode() == files["card.html"]


def test_a_fork_is_compared_with_its_parent_and_the_base_of_its_source(rpc_backend: Backend) -> None:
    source = finished(rpc_backend, 12, 20)
    response = rpc_backend.api.post(f"/jobs/{source}/fork", json={"step": 2, "set": {"limits.steps": 4}})
    assert response.status_code == 201, response.text
    fork = response.json()["id"]
    trainer = rpc_backend.claim(fork)
    trainer.start(2, 4)
    evaluate(trainer, 2, rewards(20))
    trainer.step(3)
    trainer.step(4)
    evaluate(trainer, 4, rewards(22))
    reward = figures(card(rpc_backend, fork))["held_out"]
    assert [reward[role]["value"] for role in ("base", "parent", "adapter")] == pytest.approx(
        [12 / 24, 20 / 24, 22 / 24]
    )
    assert reward["parent_change"]["value"] == pytest.approx(2 / 24)


def test_a_job_without_evaluations_has_a_card_and_wrong_questions_have_errors(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    assert card(rpc_backend, job)["figures"] == []
    for query, status, code in (
        ({"step": 7}, 404, "evaluation_not_found"),
        ({"require": "good"}, 422, "invalid_condition"),
        ({"format": "pdf"}, 422, "invalid_input"),
    ):
        response = rpc_backend.api.get(f"/jobs/{job}/card", params=query)
        assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.text
