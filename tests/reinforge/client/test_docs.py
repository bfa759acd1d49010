"""docs/sdk.md: its code runs, and its table has every method."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.client import Reinforge
from tests.reinforge.cli.test_commands import DATASET, JOB, NOW, REWARD, event, events, page
from tests.support.stub_server import Answer, StubServer

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "sdk.md").read_text(encoding="utf-8")
ME = {
    "key": "usr_1",
    "name": "x",
    "role": "owner",
    "project": "p",
    "project_name": "p",
    "version": "1",
    "etag": "e",
}
SHARE = {
    "id": "share_1",
    "job": "ftjob-1",
    "samples": 0,
    "created_by": "x",
    "created_at": NOW,
    "active": True,
    "url": "http://127.0.0.1/shared/1",
}
EXAMPLES = Path(__file__).resolve().parents[3] / "backend" / "site" / "openapi_examples.json"
EVALUATION: dict[str, Any] = {
    "id": "eval_1", "kind": "stand_alone", "reward": "r", "done": 1, "total": 1, "created_at": NOW,
    "status": "succeeded",
    "summary": {"rows": 1, "completions": 1, "error_share": 0, "truncated_share": 0, "tokens_mean": 1,
                "metrics": {"eval/reward": {"value": 1, "low": 1, "high": 1}}},
}  # fmt: skip


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    done = JOB | {"status": "succeeded", "adapter": "adp_1"}
    metrics = event(1, "metrics", step=1, kind="train", values={"reward/mean": 0.5})
    stream = events([metrics, event(2, "status", status="succeeded")])
    answers: dict[tuple[str, str], Any] = {
        ("GET", "/me"): ME,
        ("POST", "/datasets"): DATASET,
        ("POST", "/rewards"): REWARD,
        ("POST", "/jobs/check"): {"ok": True},
        ("POST", "/jobs"): JOB,
        ("GET", "/jobs/ftjob-1"): done,
        ("GET", "/jobs/ftjob-1/adapter/download"): b"archive",
        ("GET", "/jobs/ftjob-1/report"): b"<html>",
        ("GET", "/jobs/ftjob-1/bundle"): b"tar",
        ("GET", "/jobs/ftjob-1/card"): json.loads(EXAMPLES.read_text())["getJobCard"]["response"]["body"],
        ("POST", "/jobs/ftjob-1/shares"): SHARE,
        ("POST", "/datasets/file-1/render"): {"data": [], "offset": 0, "total": 1},
        ("GET", "/datasets/file-1/split"): {"seed": 7, "train": 0, "held_out": 1, "held_out_rows": [0]},
        ("GET", "/jobs/ftjob-1/completions"): {"data": [], "total": 0, "step": 1},
        ("GET", "/jobs/ftjob-1/groups"): {"data": [], "step": 1},
        ("GET", "/jobs/ftjob-1/prompts"): {"data": [], "total": 0, "prompts": 0, "pass_above": 0.5},
        ("GET", "/jobs/ftjob-1/metrics"): {"job": "ftjob-1", "seq": 1, "series": []},
        ("POST", "/evaluations"): EVALUATION,
        ("GET", "/evaluations/eval_1"): EVALUATION,
    }
    for (method, path), body in answers.items():
        server.on(method, path, Answer(200, body))
    listed = {"/datasets": page(), "/rewards": page(), "/jobs": page(done), "/jobs/ftjob-1/events": page()}
    streamed = Answer(200, stream, {"content-type": "text/event-stream"})
    for path, answer in (listed | {"/jobs/ftjob-1/stream": streamed}).items():
        server.on("GET", path, answer)
    yield server
    server.close()


def test_its_code_runs(stub: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its top to its end, as one program."""
    (tmp_path / "additions.jsonl").write_text('{"prompt": "1+1="}\n')
    (tmp_path / "reward.py").write_text("def grade(sample, item): return 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REINFORGE_URL", stub.url)
    monkeypatch.setenv("REINFORGE_API_KEY", "k")
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 6
    exec(compile("\n".join(blocks), "docs/sdk.md", "exec"), {"__name__": "sdk"})
    assert (tmp_path / "adapter.tar.gz").read_bytes() == b"archive"


def test_its_table_has_every_method() -> None:
    client = Reinforge("http://127.0.0.1:9")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", TEXT, re.MULTILINE))
    kinds = {name: type(value) for name, value in vars(client).items() if name != "transport"}
    assert rows.keys() == kinds.keys()
    for name, kind in kinds.items():
        methods = {method for method, _ in inspect.getmembers(kind, inspect.isfunction) if method[0] != "_"}
        assert set(re.findall(r"`(\w+)`", rows[name])) == methods, name
    client.close()
