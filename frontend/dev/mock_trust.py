"""The mock API's pre-flights, golden cases, replays, changes and labels. What runs is over after a few seconds."""

import itertools
import random
import time
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from mock_bodies import JOBS, REWARDS, SPEC, page, refuse
from mock_data import GROUP, PROMPTS, group

from reinforge.calibration import Judged, calibrate
from reinforge.golden import Expectation
from reinforge.replay import Rescored, compare

SECONDS = 5.0
PASS_ABOVE = 0.5

router = APIRouter(prefix="/api/v1")
numbers = itertools.count(1)
started: dict[str, dict[str, Any]] = {}
golden: dict[str, dict[str, Any]] = {}
labels: dict[str, dict[tuple[str, int, int, int], bool]] = {}
changes: dict[str, list[dict[str, Any]]] = {}


def stamp() -> str:
    return datetime.now(UTC).isoformat()


def share_done(one: dict[str, Any]) -> float:
    return min(1.0, (time.time() - one["at"]) / SECONDS)


def span(low: float, expected: float, high: float) -> dict[str, float]:
    return {"low": low, "expected": expected, "high": high}


REPORT: dict[str, Any] = {
    "verdict": "caution",
    "reasons": [
        {
            "code": "truncated",
            "severity": "caution",
            "message": "18% of completions are cut off at 56 tokens and mostly scored as wrong.",
            "hint": "Raise rollout.max_completion_tokens, or ask for shorter answers.",
        }
    ],
    "completions": 512,
    "reward_mean": 0.44,
    "reward_std": 0.5,
    "passes": {
        "per_group": 8,
        "histogram": [6, 9, 11, 10, 9, 7, 5, 4, 3],
        "pass_at": {"1": 0.44, "2": 0.62, "4": 0.8, "8": 0.91},
    },
    "groups": {"all_right": 0.05, "mixed": 0.86, "all_wrong": 0.09, "useful": 0.86},
    "useful_batch": 110.1,
    "error_share": 0.01,
    "errors": {"exception": 5},
    "reward_ms": span(0.3, 0.4, 1.1),
    "tokens": span(19, 31, 56),
    "truncated_share": 0.18,
    "duplicate_share": 0.12,
    "seconds_per_step": 0.71,
    "hours": span(0.011, 0.013, 0.02),
    "memory_gib": span(0.58, 0.61, 0.7),
    "tokens_in_all": span(180_000, 238_000, 430_000),
    "device": "cpu",
    "suggestions": [
        {
            "field": "rollout.max_completion_tokens",
            "value": 80,
            "instead_of": 56,
            "why": "So few completions would be cut off.",
        }
    ],
    "notes": ["Lengths usually change while a model learns."],
}


def preflight(id: str) -> dict[str, Any]:
    one = started[id]
    done = share_done(one)
    status = one.get("status") or ("queued" if done < 0.2 else "running" if done < 1 else "succeeded")
    return {
        "object": "preflight",
        "id": id,
        "status": status,
        "progress": {"step": int(4 * done), "steps": 4, "percent": 100 * done},
        "spec": one["spec"],
        "report": REPORT if status == "succeeded" else None,
        "created_at": one["created_at"],
    }


@router.post("/preflights", status_code=201)
async def create_preflight(body: dict[str, Any]) -> Any:
    id = f"ftjob-preflight-{next(numbers)}"
    started[id] = {"at": time.time(), "spec": body, "created_at": stamp()}
    return preflight(id)


@router.get("/preflights/{id}")
async def get_preflight(id: str) -> Any:
    return preflight(id) if id in started else refuse(404, f"There is no pre-flight {id}.")


@router.post("/preflights/{id}/cancel")
async def cancel_preflight(id: str) -> Any:
    started[id]["status"] = "cancelled"
    return preflight(id)


@router.get("/rewards/{id}/golden-cases")
async def golden_cases(id: str) -> Any:
    return page([one for one in golden.values() if one["reward"] == id])


@router.post("/rewards/{id}/golden-cases")
async def keep(id: str, body: dict[str, Any]) -> Any:
    for case in body["cases"]:
        new = f"gold_{next(numbers)}"
        golden[new] = {
            **case,
            "object": "golden_case",
            "id": new,
            "reward": id,
            "created_by": "Ada",
            "created_at": stamp(),
        }
    return JSONResponse(page([one for one in golden.values() if one["reward"] == id]), 201)


@router.delete("/rewards/{id}/golden-cases/{case}", status_code=204)
async def delete(id: str, case: str) -> Response:
    golden.pop(case, None)
    return Response(status_code=204)


@router.post("/rewards/{id}/golden-cases/run")
async def run(id: str, body: dict[str, Any]) -> Any:
    """What is stored passes every case, what is not the first only."""
    results = []
    for place, one in enumerate(case for case in golden.values() if case["reward"] == id):
        passed = "source" not in body or place == 0
        expected = str(Expectation.model_validate(one["expect"]))
        outcome = {
            "passed": passed,
            "expected": expected,
            "value": one["expect"].get("value", 1.0) if passed else 0.0,
            "status": "ok",
            "message": None if passed else f"It got 0 instead of {expected}.",
        }
        results.append({"case": one["id"], "outcome": outcome})
    return {
        "object": "golden_run",
        "reward": id,
        "revision": None if "source" in body else REWARDS[id]["revision"],
        "passed": all(each["outcome"]["passed"] for each in results),
        "results": results,
    }


def replay(id: str) -> dict[str, Any]:
    one = started[id]
    status = one.get("status") or ("running" if share_done(one) < 1 else "succeeded")
    rows = [
        Rescored(
            step=row["step"],
            prompt_no=row["prompt_no"],
            sample_no=row["sample_no"],
            old=row["reward"],
            new=None
            if row["reward"] is None
            else row["reward"] * (random.Random(row["text"]).random() > 0.15),
            status="ok" if row["reward"] is not None else "exception",
            text=row["text"],
            wall_ms=0.5,
        )
        for step in range(1, JOBS[one["job"]].step() + 1)
        for prompt in range(4)
        for row in group(step, "train", prompt)
    ]
    return {
        "object": "evaluation",
        "id": id,
        "kind": "replay",
        "job": one["job"],
        "reward": "correct",
        "stored": one["stored"],
        "revision": one["revision"],
        "status": status,
        "done": int(len(rows) * share_done(one)),
        "total": len(rows),
        "report": compare(rows, pass_above=PASS_ABOVE).model_dump() if status == "succeeded" else None,
        "created_by": "Ada",
        "created_at": one["created_at"],
    }


@router.post("/evaluations", status_code=201)
async def create_replay(body: dict[str, Any]) -> Any:
    id = f"eval_{next(numbers)}"
    started[id] = {
        "at": time.time(),
        "job": body["job"],
        "stored": body.get("stored"),
        "revision": body.get("revision"),
        "created_at": stamp(),
    }
    return replay(id)


@router.get("/evaluations")
async def replays(job: str | None = None) -> Any:
    ids = [id for id, one in started.items() if id.startswith("eval_") and job in (None, one["job"])]
    return page([replay(id) for id in reversed(ids)])


@router.get("/evaluations/{id}")
async def get_replay(id: str) -> Any:
    return replay(id) if id in started else refuse(404, f"There is no evaluation {id}.")


@router.post("/evaluations/{id}/cancel")
async def cancel_replay(id: str) -> Any:
    started[id]["status"] = "cancelled"
    return replay(id)


@router.get("/jobs/{id}/changes")
async def job_changes(id: str) -> Any:
    return page(changes.get(id, []))


@router.post("/jobs/{id}/changes", status_code=201)
async def change(id: str, body: dict[str, Any]) -> Any:
    """It is applied at once."""
    new = {
        "object": "job.change",
        "id": f"chg_{next(numbers)}",
        "job": id,
        "reward": body.get("reward") or "correct",
        "revision": f"{body.get('stored') or SPEC['rewards'][0]['reward']}@{body.get('revision') or 1}",
        "step": JOBS[id].step() + 1,
        "created_by": "Ada",
        "created_at": stamp(),
        "applied_at": stamp(),
    }
    changes.setdefault(id, []).append(new)
    return new


def label_views(id: str) -> list[dict[str, Any]]:
    return [
        {
            "split": split,
            "step": step,
            "prompt_no": prompt,
            "sample_no": sample,
            "right": right,
            "created_by": "Ada",
            "created_at": stamp(),
        }
        for (split, step, prompt, sample), right in labels.get(id, {}).items()
    ]


@router.get("/jobs/{id}/labels")
async def get_labels(id: str) -> Any:
    return page(label_views(id))


@router.post("/jobs/{id}/labels")
async def put_labels(id: str, body: dict[str, Any]) -> Any:
    known = labels.setdefault(id, {})
    for one in body["labels"]:
        place = (one.get("split", "train"), one["step"], one["prompt_no"], one["sample_no"])
        if one["right"] is None:
            known.pop(place, None)
        else:
            known[place] = one["right"]
    return page(label_views(id))


@router.get("/jobs/{id}/calibration")
async def calibration(id: str, reward: str = "correct") -> Any:
    views = label_views(id)
    values = [group(one["step"], one["split"], one["prompt_no"])[one["sample_no"]]["reward"] for one in views]
    judged = [Judged(one["right"], value, 0.4) for one, value in zip(views, values, strict=True)]
    differ = [
        one
        for one, value in zip(views, values, strict=True)
        if value is not None and (value > PASS_ABOVE) != one["right"]
    ]
    known = labels.get(id, {})
    places = [
        {"split": "train", "step": step, "prompt_no": step % PROMPTS, "sample_no": step % GROUP}
        for step in range(1, JOBS[id].step() + 1)
        if ("train", step, step % PROMPTS, step % GROUP) not in known
    ]
    return {
        "object": "calibration",
        "job": id,
        "reward": reward,
        "pass_above": PASS_ABOVE,
        "report": calibrate(judged, pass_above=PASS_ABOVE).model_dump(),
        "disagreements": differ,
        "unlabelled": places[:30],
    }
