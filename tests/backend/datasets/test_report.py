"""Duplicates and leaks: reported with examples, and prevented by a split by prompt."""

import json
import random
from typing import Any

import httpx
import pytest

from backend.datasets.leakage import near_duplicates, report
from backend.datasets.leakage.near_duplicates import NearIndex, sequences
from tests.backend.server import Backend, wait_until

WORDS = [f"w{number}" for number in range(500)]


def sentence(seed: int, words: int = 40) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def upload(backend: Backend, rows: list[dict[str, Any]], name: str = "rows.jsonl") -> str:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    answer = backend.api.post("/datasets", files={"file": (name, content)})
    assert answer.status_code == 201, answer.text
    id: str = answer.json()["id"]
    return id


def report_of(backend: Backend, id: str, **query: Any) -> dict[str, Any]:
    answer = backend.api.get(f"/datasets/{id}/report", params=query)
    assert answer.status_code == 200, answer.text
    report: dict[str, Any] = answer.json()
    assert report["status"] == "ready"
    return report


def prompts(*texts: str) -> list[dict[str, Any]]:
    return [{"prompt": text, "answer": "1"} for text in texts]


class TestNear:
    def test_one_word_of_forty_is_near_and_five_are_not(self) -> None:
        words = sentence(1).split()
        one, five = list(words), list(words)
        one[20] = "other"
        five[3] = five[10] = five[17] = five[24] = five[31] = "other"
        index = NearIndex({7: sequences(" ".join(words))})
        [(row, similarity)] = index.near(sequences(" ".join(one)))
        assert (row, round(similarity, 3)) == (7, round(35 / 41, 3))  # 38 sequences, 3 of them other
        assert list(index.near(sequences(" ".join(five)))) == []

    def test_a_template_makes_nothing_near(self) -> None:
        template = sentence(2, 80)
        held_out = {row: sequences(f"{template} {sentence(100 + row, 12)}") for row in range(30)}
        index = NearIndex(held_out)
        assert len(index) == 30
        assert list(index.near(sequences(f"{template} {sentence(999, 12)}"))) == []
        assert [row for row, _ in index.near(held_out[4])] == [4]

    def test_every_pair_above_the_bound_is_reported(self) -> None:
        """Against the plain definition, on random sets."""
        generator = random.Random(5)
        held_out = {row: set(generator.sample(range(400), 30)) for row in range(12)}
        index = NearIndex(held_out)
        for _ in range(300):
            base = generator.choice(list(held_out.values()))
            numbers = set(generator.sample(sorted(base), generator.randrange(22, 31)))
            numbers |= set(generator.sample(range(400, 900), generator.randrange(5)))
            expected = {
                row
                for row, other in held_out.items()
                if len(numbers & other) / len(numbers | other) >= near_duplicates.NEAR
            }
            assert {row for row, _ in index.near(numbers)} == expected

    def test_too_many_are_thinned_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(near_duplicates, "MOST_SEQUENCES", 500)
        index = NearIndex({row: sequences(sentence(row)) for row in range(40)})
        assert 0 < len(index) <= 500 // 38 + 1


class TestReport:
    def test_equal_prompts_are_counted_with_their_rows(self, backend: Backend) -> None:
        id = upload(backend, prompts("What is 1+1?", "a", "what  is 1+1? ", "b", "WHAT IS 1+1?", "B"))
        duplicates = report_of(backend, id)["duplicates"]
        assert (duplicates["prompts"], duplicates["rows"]) == (2, 3)
        assert duplicates["examples"][0] == {"text": "What is 1+1?", "count": 3, "rows": [0, 2, 4]}
        assert duplicates["examples"][1]["rows"] == [3, 5]

    def test_leaks_of_the_split_are_reported_and_a_split_by_prompt_has_none(self, backend: Backend) -> None:
        id = upload(backend, prompts(*[sentence(row // 2) for row in range(40)]))
        report = report_of(backend, id, held_out_rows=10, seed=3)
        split = backend.api.get(f"/datasets/{id}/split", params={"held_out_rows": 10, "seed": 3}).json()
        held = set(split["held_out_rows"])
        expected = [row for row in sorted(held) if (row ^ 1) not in held]
        leakage = report["leakage"]
        assert (leakage["equal"], leakage["near"], leakage["held_out"]) == (len(expected), 0, 10)
        for example in leakage["examples"]:
            assert example["held_out_row"] in expected
            assert example["train_row"] == example["held_out_row"] ^ 1
            assert example["held_out_text"] == example["train_text"] == sentence(example["train_row"] // 2)
        assert any("data.split_by: prompt" in advice for advice in report["advice"])

        together = report_of(backend, id, held_out_rows=10, seed=3, split_by="prompt")
        assert (together["leakage"]["equal"], together["leakage"]["held_out"]) == (0, 10)
        params = {"held_out_rows": 10, "seed": 3, "split_by": "prompt"}
        split = backend.api.get(f"/datasets/{id}/split", params=params).json()
        assert {row ^ 1 for row in split["held_out_rows"]} == set(split["held_out_rows"])

    def test_near_prompts_are_reported_with_their_likeness(self, backend: Backend) -> None:
        changed = sentence(4).split()
        changed[10] = "other"
        texts = [sentence(row) for row in range(30)]
        id = upload(backend, prompts(*texts, " ".join(changed)))
        other = upload(backend, prompts(sentence(4)), "other.jsonl")
        leakage = report_of(backend, id, held_out=other)["leakage"]
        assert (leakage["source"], leakage["dataset"], leakage["name"]) == ("dataset", other, "other")
        assert (leakage["equal"], leakage["near"]) == (1, 0)
        without = upload(backend, prompts(*texts[5:], " ".join(changed)))
        leakage = report_of(backend, without, held_out=other)["leakage"]
        assert (leakage["equal"], leakage["near"]) == (0, 1)
        [example] = leakage["examples"]
        assert (example["kind"], example["train_row"], example["held_out_row"]) == ("near", 25, 0)
        assert 0.8 <= example["similarity"] < 1

    def test_the_view_that_people_keep_is_what_is_compared(self, backend: Backend) -> None:
        rows = [{"question": f"{row % 5}+1", "answer": str(row)} for row in range(10)]
        id = upload(backend, rows)
        answer = backend.api.get(f"/datasets/{id}/report")
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "missing_prompt")
        view = {"prompt_view": {"prompt_template": "Q: {question}"}}
        patched = backend.api.patch(f"/datasets/{id}", json=view, headers={"if-match": "*"})
        assert patched.status_code == 200, patched.text
        assert report_of(backend, id)["duplicates"]["rows"] == 5

    def test_a_split_that_cannot_be_is_refused(self, backend: Backend) -> None:
        id = upload(backend, prompts("a", "b"))
        answer = backend.api.get(f"/datasets/{id}/report", params={"held_out_rows": 2})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_held_out")

    def test_a_large_report_is_computed_in_the_background_and_stored(
        self, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        id = upload(backend, prompts(*[sentence(row % 300) for row in range(400)]))
        monkeypatch.setattr(report, "_SMALL_BYTES", 0)
        first = backend.api.get(f"/datasets/{id}/report", params={"wait": 0}).json()
        assert (first["status"], first["rows"], first["duplicates"]) == ("running", 400, None)

        def ready() -> dict[str, Any] | None:
            report = backend.api.get(f"/datasets/{id}/report", params={"wait": 0}).json()
            return report if report["status"] == "ready" else None

        leakage_report = wait_until(ready, "the report")
        assert leakage_report["duplicates"]["rows"] == 100
        again = backend.api.get(f"/datasets/{id}/report", params={"wait": 0}).json()
        assert again == leakage_report

    def test_another_projects_dataset_is_not_compared(self, backend: Backend) -> None:
        id = upload(backend, prompts("a", "b"))
        answer = backend.api.get(f"/datasets/{id}/report", params={"held_out": "file-of-another"})
        assert answer.status_code == 404


class TestJobs:
    def create(self, backend: Backend, dataset: str, **data: Any) -> httpx.Response:
        spec = backend.spec(data={"dataset": dataset, "held_out_rows": 10} | data)
        return backend.api.post("/jobs", json=spec)

    def test_a_leak_is_a_warning_and_no_error(self, rpc_backend: Backend) -> None:
        id = upload(rpc_backend, prompts(*[f"{row // 2}+1=" for row in range(40)]))
        answer = self.create(rpc_backend, id)
        assert answer.status_code == 201, answer.text
        [warning] = answer.json()["warnings"]
        assert "of 10 held-out rows have a prompt that is trained on as well" in warning
        checked = rpc_backend.api.post("/jobs/check", json=rpc_backend.spec(data={"dataset": id}))
        assert any("trained on as well" in warning for warning in checked.json()["warnings"])

    def test_split_by_prompt_has_none(self, rpc_backend: Backend) -> None:
        id = upload(rpc_backend, prompts(*[f"{row // 2}+1=" for row in range(40)]))
        answer = self.create(rpc_backend, id, split_by="prompt")
        assert (answer.status_code, answer.json()["warnings"]) == (201, [])

    def test_a_held_out_dataset_that_is_trained_on(self, rpc_backend: Backend) -> None:
        id = upload(rpc_backend, prompts(*[f"{row}+1=" for row in range(40)]))
        clean = upload(rpc_backend, prompts("3+1=", "99+1="), "kept.jsonl")
        answer = self.create(rpc_backend, id, held_out=clean, held_out_rows=None)
        [warning] = answer.json()["warnings"]
        assert warning.startswith("1 of 2 held-out rows") and "from kept" in warning
