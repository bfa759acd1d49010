"""`reinforge eval` and `reinforge reward test` on data with columns of its own, and ready rewards by name."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.cli.evaluation import views
from reinforge.errors import InvalidInput
from reinforge.reward_library import ready_reward
from tests.reinforge.cli.jobs.test_follow import EVALUATION
from tests.reinforge.cli.test_commands import DATASET, page, run
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    server.on("GET", "/datasets", page())
    server.on("POST", "/datasets", Answer(201, DATASET))
    server.on("POST", "/evaluations", Answer(201, EVALUATION))
    result = {"name": "numeric", "status": "ok", "value": 1.0}
    server.on("POST", "/rewards/test", Answer(200, {"jail": "L", "results": [result] * 2}))
    yield server
    server.close()


def sent(stub: StubServer, path: str) -> dict[str, Any]:
    request = next(
        recorded for recorded in stub.requests if recorded.method == "POST" and recorded.path.endswith(path)
    )
    body: dict[str, Any] = request.json
    return body


def test_an_evaluation_says_what_the_columns_are(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "unseen.jsonl").write_text('{"question": "1+1", "result": "2"}\n')
    done = run(stub, "eval", "--adapter", "adp_1", "--dataset", "unseen.jsonl", "--reward", "numeric", "--no-wait",
               "--column", "answer=result", "--prompt-template", "{question}=", "--system-prompt", "Be brief.",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    body = sent(stub, "/evaluations")
    assert body["prompt_view"] == {
        "columns": {"answer": "result"}, "prompt_template": "{question}=", "system_prompt": "Be brief.",
    }  # fmt: skip
    assert body["source"] == ready_reward("numeric").source


def test_a_reward_is_tried_on_rows_as_a_job_reads_them(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"question": "1+1", "result": "2"}\n{"question": "2+2", "result": "4"}\n'
    )
    done = run(stub, "reward", "test", "numeric", "--dataset", "rows.jsonl", "--completion", "<answer>2</answer>",
               "--column", "prompt=question", "--column", "answer=result", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = sent(stub, "/rewards/test")["rows"]
    assert [(row["prompt"], row["item"]["answer"]) for row in rows] == [("1+1", "2"), ("2+2", "4")]
    missing = run(stub, "reward", "test", "numeric", "--dataset", "rows.jsonl", "--column", "answer=total",
                  cwd=tmp_path)  # fmt: skip
    assert (missing.returncode, "total" in missing.stderr, "question, result" in missing.stderr) == (
        2,
        True,
        True,
    )


def test_rewards_by_name() -> None:
    assert views.reward_of("rew_1@3") == {"reward": "rew_1", "revision": 3}
    assert views.reward_of("shorter_wins")["granularity"] == "group"
    assert json.loads(views.reward_of("code_tests")["source"])["type"] == "program_tests"
    with pytest.raises(InvalidInput) as caught:
        views.reward_of("numerics")
    assert "reward library list" in (caught.value.hint or "")


@pytest.mark.parametrize("option", ["answer", "answer=", "reference=result"])
def test_a_column_option_that_says_nothing_is_refused(option: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        views.roles([option])
    assert caught.value.param == "--column"
