"""`reinforge gate` over files and a server: output, files and exit codes."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.preloaded import run_module
from tests.support.stub_server import Answer, StubServer

NOW = "2026-01-02T03:04:05Z"


def result(path: Path, rewards: list[float | None], id: str = "eval_new", **about: Any) -> str:
    """A file as `reinforge eval --out` writes it."""
    rows = [{"row": number, "rewards": [reward]} for number, reward in enumerate(rewards)]
    evaluation = {"id": id} | about
    path.write_text(json.dumps({"evaluation": evaluation, "scores": {"data": rows, "pass_above": 0.5}}))
    return str(path)


def gate(*args: str, url: str = "http://127.0.0.1:9") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "REINFORGE_URL": url,
        "REINFORGE_API_KEY": "rf-x",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }
    return run_module("reinforge.cli.main", "gate", *args, env=environment, timeout=120)


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def test_files_need_no_server(tmp_path: Path) -> None:
    new = result(tmp_path / "new.json", [1.0] * 27 + [0.0] * 3)
    met = gate(new, "--min", "0.7", "--json")
    assert met.returncode == 0, met.stderr
    assert json.loads(met.stdout)["met"] is True
    # The estimate is 0.9, but it could well be less.
    junit = tmp_path / "gate.xml"
    unsure = gate(new, "--min", "0.89", "--junit", str(junit))
    assert (unsure.returncode, unsure.stdout) == (3, "")
    assert "not met" in unsure.stderr
    assert ElementTree.parse(junit).getroot().get("failures") == "1"
    assert gate(new, "--min", "0.89", "--confidence", "0.5").returncode == 0


def test_against_a_baseline_by_metric(tmp_path: Path) -> None:
    old = result(tmp_path / "old.json", [0.9] * 30)
    new = result(tmp_path / "new.json", [0.8] * 30)
    assert gate(new, "--baseline", old, "--max-regression", "0.05").returncode == 3
    passes = gate(new, "--baseline", old, "--max-regression", "0.05", "--metric", "eval/pass_rate")
    assert passes.returncode == 0, passes.stderr
    equal = gate(old, "--baseline", old, "--max-regression", "0")
    assert "; +0 is allowed" in equal.stderr


def test_an_improvement_over_a_baseline(tmp_path: Path) -> None:
    old = result(tmp_path / "old.json", [0.5] * 30)
    new = result(tmp_path / "new.json", [0.7] * 30)
    met = gate(new, "--baseline", old, "--min-improvement", "0.1")
    assert (met.returncode, "at least +0.1 is required" in met.stderr) == (0, True), met.stderr
    junit = tmp_path / "gate.xml"
    assert gate(new, "--baseline", old, "--min-improvement", "0.3", "--junit", str(junit)).returncode == 3
    [failed] = [case.get("name") for case in ElementTree.parse(junit).getroot() if len(case)]
    assert failed == "min_improvement"
    assert gate(old, "--baseline", old, "--min-improvement", "0.1").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--min"),
        (["--max-regression", "0.1"], "--baseline"),
        (["--min-improvement", "0.1"], "--min-improvement needs a --baseline"),
        (["--min", "0.5", "--baseline", "main"], "--max-regression"),
        (["--min", "0.5", "--metric", "loss"], "eval/reward"),
    ],
    ids=["nothing", "no baseline", "improvement on what", "no regression", "unknown metric"],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], says: str) -> None:
    done = gate(result(tmp_path / "new.json", [1.0]), *arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_broken_file_and_an_absent_server(tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text('{"scores": ')
    assert gate(str(tmp_path / "half.json"), "--min", "0.5").returncode == 2


def test_the_newest_of_a_name_is_the_baseline_but_not_itself(stub: StubServer, tmp_path: Path) -> None:
    def evaluation(id: str, **more: Any) -> dict[str, Any]:
        view = {"id": id, "kind": "stand_alone", "reward": "r", "status": "succeeded", "done": 1, "total": 1,
                 "created_at": NOW}  # fmt: skip
        return view | more

    stub.on("GET", "/evaluations", Answer(body={"data": [evaluation("eval_new"), evaluation("eval_old")]}))
    rows = [{"row": number, "rewards": [1.0]} for number in range(30)]
    stub.on("GET", "/evaluations/eval_old/rows", Answer(body={"data": rows, "pass_above": 0.5}))
    new = result(tmp_path / "new.json", [0.5] * 30)
    compared = gate(new, "--baseline", "main", "--max-regression", "0.1", url=stub.url)
    assert compared.returncode == 3, compared.stderr
    assert {request.query for request in stub.requests if request.path.endswith("/evaluations")} == {
        "limit=100&name=main&status=succeeded"
    }
    stub.on("GET", "/evaluations", Answer(body={"data": []}))
    missing = gate(new, "--baseline", "main", "--max-regression", "0.1", url=stub.url)
    assert (missing.returncode, "--baseline-optional" in missing.stderr) == (5, True)
    stub.on("GET", "/evaluations/eval_bad", Answer(body=evaluation("eval_bad", status="failed", error={
        "code": "no_worker", "message": "No worker is there."})))  # fmt: skip
    assert gate("eval_bad", "--min", "0.1", url=stub.url).returncode == 1
