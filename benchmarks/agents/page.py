"""Part `page` of the proof: a conversation of 32 turns opens, and 100,000 rollouts are filtered by tool.

A real API process, PostgreSQL and browser. One step comes through the worker API, as a trainer sends it; the others are
copies of its rows in the same tables, with other calls.
"""

import hashlib
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from common.backend import KEY, Backend, ClaimedJob  # noqa: E402
from fleet.wire import Wire  # noqa: E402

from reinforge.client import Reinforge  # noqa: E402
from reinforge.tools import call_keys  # noqa: E402
from tests.e2e.browser import sign_in, started_browser, visit  # noqa: E402
from worker.environment.base import PolicyTurn, Prompt, Segment, ToolCall  # noqa: E402
from worker.rollout.collect import Rollout  # noqa: E402
from worker.training.reporting.rollout_table import completion_summaries, to_parquet  # noqa: E402

TURNS = 32
ROLLOUTS = 100_000
PROMPTS, SAMPLES = 16, 8
OPEN_P95_MILLISECONDS, FILTER_P95_MILLISECONDS = 300.0, 200.0
OPENINGS, QUERIES = 40, 40
TOOLS = ("search", "read", "write", "run")
STATUSES = ("ok", "ok", "ok", "exception", "timeout")
TEXT = "I look at what the last call returned, and decide what to do next. " * 3
RESULT = "A line of a result that a tool returned.\n" * 6


def measure(rollouts: int = ROLLOUTS) -> dict[str, Any]:
    with Backend() as backend:
        job = backend.start_job(backend.add_dataset())
        send_step(backend, job)
        steps = rollouts // (PROMPTS * SAMPLES)
        fill(backend, job, steps)
        filters = {name: summary(times) for name, times in filtered(backend, job).items()}
        openings = opened(backend, job)
    return {
        "turns": TURNS,
        "rollouts": steps * PROMPTS * SAMPLES,
        "open_milliseconds": summary(openings),
        "filter_milliseconds": filters,
    }


def is_right(result: dict[str, Any]) -> bool:
    slowest = max(times["p95"] for times in result["filter_milliseconds"].values())
    return result["open_milliseconds"]["p95"] <= OPEN_P95_MILLISECONDS and slowest <= FILTER_P95_MILLISECONDS


def summary(milliseconds: list[float]) -> dict[str, float]:
    ordered = sorted(milliseconds)
    return {
        "p50": round(statistics.median(ordered), 1),
        "p95": round(ordered[len(ordered) * 95 // 100], 1),
        "max": round(ordered[-1], 1),
    }


def send_step(backend: Backend, job: ClaimedJob) -> None:
    rollouts = [rollout(prompt, sample) for prompt in range(PROMPTS) for sample in range(SAMPLES)]
    rewards = [float((one.prompt_no + one.sample_no) % 2) for one in rollouts]
    statuses = completion_summaries(rollouts, rewards, [reward - 0.5 for reward in rewards])
    content = to_parquet(rollouts, statuses, None, lambda ids: [chr(97 + id % 26) for id in ids])
    sha256 = hashlib.sha256(content).hexdigest()
    with backend.client(job.token, "/worker/v1") as api:
        api.put(f"/blobs/{sha256}?kind=rollouts", content=content).raise_for_status()
    record = {
        "kind": "rollouts",
        "step": 1,
        "split": "train",
        "blob": {"sha256": sha256, "bytes": len(content)},
        "rows": [status.model_dump() for status in statuses],
    }
    metrics = {"kind": "step_metrics", "step": 1, "values": {"reward/mean": 0.5, "time/step": 1.0}}
    backend.post(job, [record, metrics])


def rollout(prompt_no: int, sample_no: int) -> Rollout:
    """A conversation in which every turn but the last calls a tool."""
    messages = [{"role": "user", "content": f"Task {prompt_no}: read the files and say what is wrong."}]
    prompt = Prompt(prompt_no, {"answer": str(prompt_no)}, messages, "Task", (7, 8, 9), f"prompt-{prompt_no}")
    segments, turns, written, at = [], [], [], 0
    for no in range(TURNS):
        calls = (call(prompt_no, sample_no, no),) if no < TURNS - 1 else ()
        segments.append(Segment((no + 1,) * 40, "policy", (-0.5,) * 40, (0.2,) * 40, no))
        turns.append(PolicyTurn(no, at, at + 40, f"{TEXT}({prompt_no}.{sample_no}.{no})", calls))
        written.append({"role": "assistant", "content": TEXT})
        at += 40
        if calls:
            segments.append(Segment((5,) * 60, "tool", turn=no))
            written.append({"role": "tool", "content": calls[0].result, "status": calls[0].status})
            at += 60
    return Rollout(
        prompt, prompt_no, sample_no, tuple(segments), TEXT, "stop", turns=tuple(turns), messages=tuple(written)
    )  # fmt: skip


def call(prompt_no: int, sample_no: int, no: int) -> ToolCall:
    name, status = TOOLS[(prompt_no + no) % len(TOOLS)], STATUSES[(sample_no * 7 + no) % len(STATUSES)]
    arguments = json.dumps({"path": f"src/module_{no}.py", "lines": [no, no + 20]})
    return ToolCall(f"call_{no}", name, arguments, status, RESULT, milliseconds=12.0 + no)


def fill(backend: Backend, job: ClaimedJob, steps: int) -> None:
    """Copy the first step to all others; each row of them has calls of its own."""
    chance = random.Random(0)
    with backend.connect() as connection:
        columns = [
            name
            for (name,) in connection.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_name = 'completion'"
                " AND is_generated = 'NEVER' ORDER BY ordinal_position"
            )
        ]
        new = {"step": "s.step", "call_keys": "k.call_keys", "turns": "(1 + k.number %% 32)::int"}
        connection.execute("CREATE TEMP TABLE keys (number int PRIMARY KEY, call_keys text[])")
        with connection.cursor().copy("COPY keys (number, call_keys) FROM STDIN") as rows:
            for number, keys in enumerate(random_keys(chance, 1000)):
                rows.write_row((number, keys))
        connection.execute(
            "INSERT INTO step_rollouts (job_id, split, step, attempt, sha256, count, revisions)"
            " SELECT job_id, split, g, attempt, sha256, count, revisions FROM step_rollouts,"
            " generate_series(2, %(steps)s) g WHERE job_id = %(job)s AND step = 1",
            {"steps": steps, "job": job.id},
        )
        values = ", ".join(new.get(name, f"c.{name}") for name in columns)
        connection.execute(
            f"INSERT INTO completion ({', '.join(columns)}) SELECT {values} FROM completion c"
            " CROSS JOIN generate_series(2, %(steps)s) s(step) JOIN keys k"
            " ON k.number = (s.step * 131 + c.prompt_no * 17 + c.sample_no * 3) %% 1000"
            " WHERE c.job_id = %(job)s AND c.step = 1",
            {"steps": steps, "job": job.id},
        )
        connection.execute("UPDATE job SET step = %s WHERE id = %s", (steps, job.id))
        connection.execute("VACUUM ANALYZE completion")


def random_keys(chance: random.Random, count: int) -> Iterator[list[str]]:
    """Calls of rollouts: two tools are common, one is rare, and a few fail."""
    for _ in range(count):
        names = chance.choices(TOOLS, (50, 40, 9, 1), k=chance.randrange(6))
        yield call_keys((name, "ok" if chance.random() < 0.97 else "timeout") for name in names)


def filtered(backend: Backend, job: ClaimedJob) -> dict[str, list[float]]:
    kinds = {
        "a common tool": "tool=search",
        "a rare tool": "tool=run",
        "a tool that failed": "tool=read&tool_status=error",
        "any call that took too long": "tool_status=timeout",
        "a rare tool in many turns": "tool=run&turns_min=20",
    }
    wire = Wire(backend.url, KEY)
    times: dict[str, list[float]] = {name: [] for name in kinds}
    try:
        for _ in range(QUERIES):
            for name, query in kinds.items():
                seconds, answer = wire.get(f"/api/v1/jobs/{job.id}/completions/search?limit=50&{query}")
                assert answer["data"], (name, answer)
                times[name].append(1000 * seconds)
    finally:
        wire.close()
    return times


_PAINTED = """
([click, expected]) => new Promise((resolve) => {
  const began = performance.now();
  const shown = () => document.querySelectorAll(expected).length > 0;
  const look = () => shown()
    ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)))
    : requestAnimationFrame(look);
  document.querySelector(click).click();
  look();
})
"""
"""Milliseconds from a click to the painted element."""
_CLOSED_CARD = 'article[data-open="false"] button[aria-expanded="false"]'
_OPEN_TURNS = f'article[data-open="true"] ol[data-open="true"] > li:nth-child({TURNS})'


def opened(backend: Backend, job: ClaimedJob) -> list[float]:
    """From the click on a completion of a group to its painted conversation, in milliseconds."""
    times = []
    with Reinforge(backend.url, KEY) as client, started_browser() as browser, visit(browser) as page:
        sign_in(page, f"{backend.url}/sign-in?{urlsplit(client.sign_in_link()).query}")
        for number in range(OPENINGS):
            page.goto(f"{backend.url}/jobs/{job.id}?tab=completions&step=1&prompt={number % PROMPTS}")
            page.locator(_CLOSED_CARD).first.wait_for()
            page.wait_for_timeout(300)
            times.append(float(page.evaluate(_PAINTED, [_CLOSED_CARD, _OPEN_TURNS])))
    return times


if __name__ == "__main__":
    began = time.monotonic()
    print(json.dumps(measure(), indent=1))
    print(f"{time.monotonic() - began:.0f} s")
