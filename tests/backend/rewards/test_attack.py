"""Attacks on rewards by the API; the sandbox is real."""

import json
import os
from pathlib import Path
from typing import Any

from tests.backend.server import OWNER_KEY, Backend
from tests.support.preloaded import run_module

ROWS = [{"prompt": f"{n}+1=", "item": {"result": n + 1}} for n in range(3, 9)]
BROKEN = "def grade(sample, item):\n    return float(str(item['answer']) in sample['output_text'])\n"
EXACT = "def grade(sample, item):\n    return float(sample['output_text'].strip() == str(item['answer']))\n"


def answered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "item": {"answer": row["item"]["result"]}} for row in rows]


def test_unstored_code_is_attacked(live_backend: Backend) -> None:
    body = {"source": BROKEN, "rows": answered(ROWS)}
    report = live_backend.api.post("/rewards/attack", json=body).json()
    assert (report["verdict"], report["right"], report["findings"][0]["line"]) == ("broken", "{answer}", 2)
    body["source"] = EXACT
    assert live_backend.api.post("/rewards/attack", json=body).json()["verdict"] == "holds"


def test_a_stored_reward_is_attacked_with_another_answer_column(live_backend: Backend) -> None:
    source = BROKEN.replace("'answer'", "'result'")
    reward = live_backend.api.post("/rewards", json={"name": "attacked", "source": source}).json()["id"]
    report = live_backend.api.post(
        f"/rewards/{reward}/attack", json={"answer": "result", "rows": ROWS}
    ).json()
    assert {"inside_longer", "every_answer"} <= {finding["code"] for finding in report["findings"]}
    both = {"source": BROKEN, "rows": ROWS}
    assert live_backend.api.post(f"/rewards/{reward}/attack", json=both).status_code == 422


def test_wrong_requests_are_refused(live_backend: Backend) -> None:
    rows = answered(ROWS)
    right = {"source": EXACT, "rows": rows, "right": "the answer"}
    response = live_backend.api.post("/rewards/attack", json=right)
    assert (response.status_code, response.json()["error"]["code"]) == (422, "no_answer_place")
    assert (
        live_backend.api.post("/rewards/attack", json={"source": EXACT, "rows": rows * 9}).status_code == 422
    )
    assert live_backend.api.post("/rewards/attack", json={"rows": rows}).status_code == 422
    broken = {"source": "def grade(:", "rows": rows}
    assert live_backend.api.post("/rewards/attack", json=broken).json()["load_error"]


def test_the_command_line_names_the_line_and_fails(live_backend: Backend, tmp_path: Path) -> None:
    reward, data = tmp_path / "reward.py", tmp_path / "data.jsonl"
    reward.write_text(BROKEN)
    data.write_text("".join(json.dumps({"prompt": row["prompt"], **row["item"]}) + "\n" for row in ROWS))
    environment = os.environ | {
        "REINFORGE_URL": live_backend.url,
        "REINFORGE_API_KEY": OWNER_KEY,
        "NO_COLOR": "1",
    }
    words = ["reward", "attack", str(reward), "--dataset", str(data), "--column", "answer=result"]
    result = run_module("reinforge.cli.main", *words, env=environment, timeout=60)
    assert (result.returncode, "line 2" in result.stdout) == (1, True), result.stderr
    reward.write_text(EXACT)
    result = run_module("reinforge.cli.main", *words, env=environment, timeout=60)
    assert (result.returncode, result.stdout.split()[0]) == (0, "holds"), result.stderr
