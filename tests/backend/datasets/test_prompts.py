"""Prompts of a dataset: stored view, rendering, lengths, split."""

import json
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets import reading
from backend.datasets.prompts.rendering import MOST_BINS, bins
from reinforge.dataset import split
from reinforge.schemas.datasets import PromptView
from tests.backend.server import Backend, refused

VIEW = {
    "columns": {"prompt": "question", "answer": "solution", "slice": "kind"},
    "system_prompt": "Be brief.",
}
ROWS = [
    {"question": f"{n}+1=", "solution": n + 1, "kind": "even" if n % 2 == 0 else "odd"} for n in range(12)
]


def only_short(payload: dict[str, Any]) -> dict[str, Any]:
    """A chat template that refuses the word `bad` and counts characters as tokens."""
    assert payload["tolerant"] is True
    texts = ["".join(message["content"] for message in row) for row in payload["rows"]]
    prompts: list[dict[str, Any]] = [
        {"error": "The template refuses it."} if "bad" in text else {"text": text, "tokens": len(text)}
        for text in texts
    ]
    return {"prompts": prompts, "longest": None, "context_length": 128}


# ── Kept ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_dataset_gets_a_new_name_and_a_prompt_view(backend: Backend) -> None:
    id = backend.add_dataset(ROWS)
    before = backend.api.get(f"/datasets/{id}").json()
    assert before["prompt_view"]["columns"]["prompt"] is None

    changed = backend.api.patch(f"/datasets/{id}", headers={"if-match": "*"}, json={"prompt_view": VIEW})
    assert changed.status_code == 200, changed.text
    assert changed.json()["name"] == before["name"]
    renamed = backend.api.patch(f"/datasets/{id}", headers={"if-match": "*"}, json={"name": "Sums"}).json()
    assert renamed["name"] == "Sums"
    dataset = backend.api.get(f"/datasets/{id}").json()
    assert dataset == renamed
    assert dataset["prompt_view"] == PromptView.model_validate(VIEW).model_dump()


def test_a_view_may_not_name_columns_that_are_not_there(backend: Backend) -> None:
    id = backend.add_dataset(ROWS)
    for view, param in (
        ({"columns": {"prompt": "text"}}, "columns.prompt"),
        ({"prompt_template": "{text}"}, "prompt_template"),
        ({"prompt_template": "{question"}, "prompt_template"),
    ):
        error = backend.api.patch(
            f"/datasets/{id}", headers={"if-match": "*"}, json={"prompt_view": view}
        ).json()["error"]
        assert (error["param"], bool(error["hint"])) == (param, True), error
    half = backend.api.patch(
        f"/datasets/{id}",
        headers={"if-match": "*"},
        json={"prompt_view": {"columns": {"answer": "solution"}}},
    )
    assert half.status_code == 200  # the prompt's column may be said later


def test_who_reads_may_look_but_not_change(backend: Backend) -> None:
    id = backend.add_dataset(ROWS)
    with backend.add_key("viewer") as viewer, backend.rpc_worker(render=only_short):
        assert (
            viewer.patch(f"/datasets/{id}", headers={"if-match": "*"}, json={"name": "x"}).status_code == 403
        )
        body = {"model": backend.add_model(), **VIEW}
        assert viewer.post(f"/datasets/{id}/render", json=body).status_code == 200
    assert (
        backend.api.patch("/datasets/file-none", headers={"if-match": "*"}, json={"name": "x"}).status_code
        == 404
    )


# ── Shown ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_are_rendered_as_the_model_reads_them(backend: Backend) -> None:
    id = backend.add_dataset(ROWS)
    body = {"model": backend.add_model(), **VIEW, "offset": 10, "limit": 5}
    with backend.rpc_worker(render=only_short):
        page = backend.api.post(f"/datasets/{id}/render", json=body).json()
    assert (page["offset"], page["total"], page["context_length"]) == (10, 12, 128)
    first, second = page["data"]
    assert (first["index"], first["answer"], first["slice"]) == (10, "11", "even")
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert (first["text"], first["tokens"]) == ("Be brief.10+1=", 14)
    assert (second["index"], second["slice"], second["error"]) == (11, "odd", None)


def test_a_row_that_cannot_be_rendered_says_why_and_the_others_go_on(backend: Backend) -> None:
    rows = [{"q": "fine"}, {"q": "bad"}, {"q": ""}, {"q": "fine, too"}]
    id = backend.add_dataset(rows)
    body = {"model": backend.add_model(), "columns": {"prompt": "q"}}
    with backend.rpc_worker(render=only_short) as rpc_worker:
        page = backend.api.post(f"/datasets/{id}/render", json=body).json()
        assert [len(payload["rows"]) for kind, payload in rpc_worker.calls if kind == "render"] == [3]
    assert [row["text"] for row in page["data"]] == ["fine", None, None, "fine, too"]
    assert page["data"][1]["error"] == "The template refuses it."
    assert "empty" in page["data"][2]["error"]
    assert page["data"][2]["messages"] == []


def test_rows_are_rendered_and_counted_with_their_tools(backend: Backend) -> None:
    tool = {"type": "function", "function": {"name": "add"}}
    id = backend.add_dataset([{"prompt": "1+1=", "tools": [{"name": "add"}]}, {"prompt": "2+2="}])
    model = {"model": backend.add_model()}
    with backend.rpc_worker(render=only_short) as rpc_worker:
        for path in ("render", "lengths"):
            assert backend.api.post(f"/datasets/{id}/{path}", json=model).status_code == 200
    tools = [payload["tools"] for kind, payload in rpc_worker.calls if kind == "render"]
    assert tools == [[[tool], None]] * 2


def test_past_the_end_no_worker_is_called(backend: Backend) -> None:
    id = backend.add_dataset(ROWS)
    body = {"model": backend.add_model(), **VIEW, "offset": 12}
    page = backend.api.post(f"/datasets/{id}/render", json=body)
    assert (page.status_code, page.json()["data"]) == (200, [])


def test_an_invalid_view_is_reported_by_field(backend: Backend) -> None:
    id = backend.add_dataset(ROWS)
    model = backend.add_model()
    for path in ("render", "lengths"):
        url = f"/datasets/{id}/{path}"
        refused(backend.api.post(url, json={"model": "none", **VIEW}), "model", "model_not_found")
        refused(backend.api.post(url, json={"model": model}), "columns", "missing_prompt")
        away = backend.api.post(url, json={"model": model, **VIEW})
        assert (away.status_code, away.json()["error"]["code"]) == (503, "no_worker")


def test_long_prompts_leave_the_page_within_bounds(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(reading, "MOST_CHARACTERS", 100)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"prompt": "x" * n}) + "\n" for n in (60, 30, 20, 500, 5)))
    rows = reading.read_page(str(path), "jsonl", "{}", 0, 10)
    assert [row.messages is not None for row in rows] == [True, True, False, False, False]
    assert "fewer rows" in str(rows[2].error)
    assert "500 characters" in str(rows[3].error)


# ── Measured ──────────────────────────────────────────────────────────────────────────────────────────────


def test_lengths_are_counted_in_the_models_tokens(backend: Backend) -> None:
    rows = [{"prompt": "x" * n} for n in (3, 100, 7, 7, 50, 9, 9, 9, 9, 9)]
    id = backend.add_dataset([*rows, {"prompt": "bad"}])
    with backend.rpc_worker(render=only_short) as rpc_worker:
        lengths = backend.api.post(f"/datasets/{id}/lengths", json={"model": backend.add_model()}).json()
        assert all(payload["texts"] is False for kind, payload in rpc_worker.calls if kind == "render")
    assert (lengths["counted"], lengths["total"], lengths["failed"]) == (10, 11, 1)
    assert (lengths["min"], lengths["median"], lengths["p90"], lengths["max"]) == (3, 9, 50, 100)
    assert (lengths["longest_row"], lengths["context_length"]) == (1, 128)
    assert sum(bin["count"] for bin in lengths["bins"]) == 10


def test_a_dataset_without_a_single_prompt_says_so(backend: Backend) -> None:
    id = backend.add_dataset([{"prompt": "bad"}])
    with backend.rpc_worker(render=only_short):
        response = backend.api.post(f"/datasets/{id}/lengths", json={"model": backend.add_model()})
    assert response.status_code == 422
    assert "The template refuses it." in response.json()["error"]["message"]


def test_many_rows_are_rendered_in_several_calls(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.datasets.prompts.rendering.CALL_ROWS", 4)
    monkeypatch.setattr("backend.datasets.prompts.rendering.MOST_CHARACTERS", 30)
    id = backend.add_dataset([{"prompt": "x" * n} for n in (1, 2, 3, 4, 5, 28, 3, 2)])
    with backend.rpc_worker(render=only_short) as rpc_worker:
        lengths = backend.api.post(f"/datasets/{id}/lengths", json={"model": backend.add_model()}).json()
        assert [len(payload["rows"]) for kind, payload in rpc_worker.calls if kind == "render"] == [
            4,
            1,
            1,
            2,
        ]
    assert (lengths["counted"], lengths["max"], lengths["longest_row"]) == (8, 28, 5)


def test_a_sample_is_spread_evenly_and_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"prompt": ["x" * 10] * 100}), path)

    def sample(limit: int) -> list[int]:
        return [row.index for row in reading.read_sample(str(path), "parquet", "{}", 100, limit)]

    assert sample(1000) == list(range(100))
    assert sample(8) == [0, 12, 25, 37, 50, 62, 75, 87]
    monkeypatch.setattr(reading, "SAMPLE_CHARACTERS", 300)
    thinned = sample(100)
    assert thinned == list(range(0, 100, 4))


@pytest.mark.parametrize(
    ("tokens", "width", "first", "count"),
    [
        ([7], 1, 7, 1),
        ([3, 42], 1, 3, 40),
        ([3, 43], 2, 2, 21),
        ([0, 812], 50, 0, 17),
        ([95, 7012], 200, 0, 36),
    ],
)
def test_bins_are_round_and_few(tokens: list[int], width: int, first: int, count: int) -> None:
    histogram = bins(tokens)
    assert (histogram[0].low, histogram[0].high - histogram[0].low + 1, len(histogram)) == (
        first,
        width,
        count,
    )
    assert len(histogram) <= MOST_BINS
    assert sum(bin.count for bin in histogram) == len(tokens)
    assert all(before.high + 1 == after.low for before, after in pairwise(histogram))
    assert histogram[-1].low <= max(tokens) <= histogram[-1].high


# ── Divided ───────────────────────────────────────────────────────────────────────────────────────────────


def test_the_split_is_the_one_that_trains(backend: Backend) -> None:
    id = backend.add_dataset([{"prompt": f"{n}"} for n in range(40)])
    url = f"/datasets/{id}/split"
    view = backend.api.get(url, params={"held_out_rows": 7, "seed": 3}).json()
    training, held_out = split(40, 7, 3)
    assert (view["held_out_rows"], view["train"], view["held_out"]) == (held_out, len(training), 7)
    assert backend.api.get(url, params={"seed": 3}).json()["held_out"] == 4
    assert view["note"] is None
    nothing = backend.api.get(url, params={"held_out_rows": 0}).json()
    assert (nothing["held_out"], "no held-out reward" in nothing["note"]) == (0, True)
    refused(backend.api.get(url, params={"held_out_rows": 40}), "held_out_rows", "invalid_held_out")


def test_a_single_row_is_never_held_out(backend: Backend) -> None:
    id = backend.add_dataset([{"prompt": "alone"}])
    view = backend.api.get(f"/datasets/{id}/split").json()
    assert (view["train"], view["held_out"], view["held_out_rows"]) == (1, 0, [])
    assert "1 row" in view["note"]
