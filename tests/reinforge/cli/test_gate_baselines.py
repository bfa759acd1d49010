"""Baselines of `reinforge gate`: the same rows and reward, or a message."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.reinforge.cli.test_gate import NOW, gate, result
from tests.support.stub_server import Answer, StubServer

ROWS, OTHER_ROWS, CODE, OTHER_CODE = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)
ABOUT = {"dataset": "file-1", "dataset_sha256": ROWS, "reward": "reward", "reward_sha256": CODE}
COMPARE = ("--max-regression", "0.1", "--baseline")


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def evaluation(id: str, **more: Any) -> dict[str, Any]:
    view = {"id": id, "kind": "stand_alone", "name": "main", "status": "succeeded", "done": 1, "total": 1}
    return view | {"created_at": NOW} | ABOUT | more


def serve(stub: StubServer, *evaluations: dict[str, Any]) -> None:
    """Those, newest first, all of whose rows have the reward 1."""
    stub.on("GET", "/evaluations", Answer(body={"data": list(evaluations)}))
    rows = [{"row": number, "rewards": [1.0]} for number in range(30)]
    for evaluation_view in evaluations:
        stub.on("GET", f"/evaluations/{evaluation_view['id']}", Answer(body=evaluation_view))
        stub.on(
            "GET",
            f"/evaluations/{evaluation_view['id']}/rows",
            Answer(body={"data": rows, "pass_above": 0.5}),
        )


@pytest.mark.parametrize("named", [True, False], ids=["by name", "by id"])
def test_rows_of_another_dataset_are_no_baseline(stub: StubServer, tmp_path: Path, named: bool) -> None:
    serve(stub, evaluation("eval_old", dataset="file-0", dataset_sha256=OTHER_ROWS))
    new = result(tmp_path / "new.json", [1.0] * 30, **ABOUT)
    done = gate(new, *COMPARE, "main" if named else "eval_old", "--baseline-optional", "--json", url=stub.url)
    assert (done.returncode, done.stdout) == (5, "")
    assert "eval_old (dataset file-0)" in done.stderr and "eval_new (dataset file-1)" in done.stderr
    assert "reinforge eval --name main" in done.stderr


def test_the_newest_of_a_name_that_is_about_the_same_rows(stub: StubServer, tmp_path: Path) -> None:
    serve(
        stub,
        evaluation("eval_newest", dataset="file-2", dataset_sha256=OTHER_ROWS),
        evaluation("eval_same", dataset="file-9"),  # the same content, pushed under another name
        evaluation("eval_older"),
    )
    new = result(tmp_path / "new.json", [1.0] * 30, **ABOUT)
    done = gate(new, *COMPARE, "main", "--json", url=stub.url)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["baseline"], report["notes"]) == ("eval_same", [])


def test_results_of_older_releases_are_distinguished_by_the_servers_data(
    stub: StubServer, tmp_path: Path
) -> None:
    """They have the dataset's id alone."""
    view = {"filename": "x.jsonl", "format": "jsonl", "bytes": 1, "rows": 30, "columns": [], "created_at": NOW,
             "name": "x"}  # fmt: skip
    stub.on("GET", "/datasets/file-0", Answer(body=view | {"id": "file-0", "sha256": OTHER_ROWS}))
    stub.on("GET", "/datasets/file-9", Answer(body=view | {"id": "file-9", "sha256": ROWS}))
    new = result(tmp_path / "new.json", [1.0] * 30, **ABOUT)
    codes = {}
    for dataset in ("file-1", "file-9", "file-0", "file-gone"):
        serve(stub, evaluation("eval_old", dataset=dataset, dataset_sha256=None))
        codes[dataset] = gate(new, *COMPARE, "main", url=stub.url).returncode
    assert codes == {"file-1": 0, "file-9": 0, "file-0": 5, "file-gone": 5}


def test_two_files_are_compared_by_content_too(tmp_path: Path) -> None:
    new = result(tmp_path / "new.json", [1.0] * 30, **ABOUT)
    other = result(
        tmp_path / "other.json", [1.0] * 30, "eval_o", **ABOUT | {"dataset": "file-2", "dataset_sha256": "e"}
    )
    assert gate(new, *COMPARE, other).returncode == 5
    same = result(tmp_path / "same.json", [1.0] * 30, "eval_s", **ABOUT | {"dataset": "file-3"})
    assert gate(new, *COMPARE, same).returncode == 0
    # Files that say nothing of their dataset are compared as ever, with a word about it.
    bare = result(tmp_path / "bare.json", [1.0] * 30, "eval_b")
    unknown = gate(new, *COMPARE, bare)
    assert unknown.returncode == 0 and "matched by number alone" in unknown.stderr


def test_another_reward_is_noted_wherever_the_result_is_read(tmp_path: Path) -> None:
    old = result(
        tmp_path / "old.json", [1.0] * 30, "eval_old",
        **ABOUT | {"stored": "rew_1", "revision": 2, "reward": "sums", "reward_sha256": OTHER_CODE},
    )  # fmt: skip
    new = result(tmp_path / "new.json", [1.0] * 30, **ABOUT)
    junit, summary = tmp_path / "gate.xml", tmp_path / "gate.md"
    done = gate(new, *COMPARE, old, "--junit", str(junit), "--summary", str(summary), "--json")
    assert done.returncode == 0, done.stderr
    [note] = json.loads(done.stdout)["notes"]
    assert "The rewards differ: sums (rew_1@2) scored the baseline, code cccccccccccc this" in note
    assert note in done.stderr.replace("\n", " ") and f"> {note}" in summary.read_text()
    assert ElementTree.parse(junit).getroot().findtext("system-out") == note


def test_the_same_code_stored_or_not_is_the_same_reward(tmp_path: Path) -> None:
    stored = ABOUT | {"stored": "rew_1", "revision": 2, "reward": "sums"}
    old = result(tmp_path / "old.json", [1.0] * 30, "eval_old", **stored)
    new = result(tmp_path / "new.json", [1.0] * 30, **ABOUT)
    assert json.loads(gate(new, *COMPARE, old, "--json").stdout)["notes"] == []
    unstored = result(tmp_path / "asked.json", [1.0] * 30, **ABOUT | {"entry": "strict"})
    assert "The rewards differ" in gate(unstored, *COMPARE, old).stderr


def test_other_sampling_is_noted(tmp_path: Path) -> None:
    was = {"samples_per_row": 4, "temperature": 1.0, "max_tokens": 256, "rows": 200}
    old = result(tmp_path / "old.json", [1.0] * 30, "eval_old", **ABOUT, settings=was)
    new = result(tmp_path / "new.json", [1.0] * 30, **ABOUT, settings=was | {"temperature": 0.5, "rows": 60})
    [note] = json.loads(gate(new, *COMPARE, old, "--json").stdout)["notes"]
    assert note == "Sampling settings differ from the baseline's: temperature 1.0 → 0.5."
