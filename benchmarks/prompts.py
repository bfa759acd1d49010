"""The prompts of a job with 100,000 stored completions: `GET /jobs/{id}/prompts` beside sums over all completions.

The rows are in the real tables of a real PostgreSQL 18 with all their indexes, put there by SQL: 16 prompts × 8
completions a step, texts of about 600 characters, 2,000 dataset rows with prompts of up to 1,000 characters. Requests
go to a real API process over HTTP, one at a time. The peer is the same statement over the table of completions, which
needs no table of its own: both are timed alone, in turn, on one connection of the database.

Wanted: the list within 300 ms at the 95th percentile, with every filter and order.
"""

import random
import time
from collections.abc import Callable
from typing import Any

import psycopg
from common.backend import KEY, Backend, ClaimedJob
from common.measure import alternate, median, parser, stamp, table, write
from fleet.steps import template
from fleet.wire import Wire

from backend.jobs.prompts.repository import PromptFilter, statement

PROMPTS, SAMPLES = 16, 8
PER_STEP = PROMPTS * SAMPLES
TARGET = 0.300
CATEGORIES = ("never_solved", "newly_lost", "won", "most_variable")
SORTS = ("row", "pass_share", "last", "change", "variance", "draws")

_COMPLETIONS = """
INSERT INTO completion (job_id, split, step, prompt_no, sample_no, row_index, prompt_hash, reward, advantage, length,
                        finish_reason, error, text)
SELECT %(job)s, 'train', step, prompt, sample, row, 'prompt-' || row,
       CASE WHEN random() < 0.005 THEN NULL
            WHEN random() < ((row %% 10) / 10.0 + (row %% 7 - 3) / 3.0 * step / %(steps)s) THEN 1 ELSE 0 END,
       0, 200 + (800 * random())::int, 'stop', NULL,
       (SELECT string_agg(md5(random()::text || step || row || n), ' ') FROM generate_series(1, 18) AS n)
FROM generate_series(1, %(steps)s) AS step, generate_series(0, %(prompts)s - 1) AS prompt,
     LATERAL (SELECT ((step * %(prompts)s + prompt) * 7919 %% %(rows)s)::int AS row) AS row_of,
     generate_series(0, %(samples)s - 1) AS sample
"""
_SUMS = """
    SELECT job_id, split, step, prompt_no, min(row_index) AS row_index, min(prompt_hash) AS prompt_hash,
        count(*) AS completions, count(reward) AS scored, count(*) FILTER (WHERE reward > 0.5) AS passed,
        coalesce(sum(reward), 0) AS reward_sum
    FROM completion WHERE job_id = {job} AND split = {split} GROUP BY job_id, split, step, prompt_no
"""
_HEADS = """
INSERT INTO job_prompt (job_id, split, row_index, prompt, answer)
SELECT %(job)s, 'train', row,
       (SELECT string_agg(md5(row || ' ' || n), ' ') FROM generate_series(1, 1 + row %% 30) AS n), row
FROM generate_series(0, %(rows)s - 1) AS row
"""


def fill(backend: Backend, job: ClaimedJob, steps: int, rows: int) -> None:
    values = {"job": job.id, "steps": steps, "rows": rows, "prompts": PROMPTS, "samples": SAMPLES}
    sha256, content = template(0, 100).object(0)
    wire = Wire(backend.url, job.token)
    _, status, body = wire.ask("PUT", f"/worker/v1/blobs/{sha256}?kind=rollouts", content)
    assert status == 201, body
    wire.close()
    with psycopg.connect(backend.database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO step_rollouts (job_id, split, step, attempt, sha256, count, revisions)"
            " SELECT %s, 'train', step, 1, %s, %s, '{}' FROM generate_series(1, %s) AS step",
            (job.id, sha256, PER_STEP, steps),
        )
        connection.execute(_COMPLETIONS, values)
        sums = _SUMS.format(job="%(job)s", split="'train'")
        connection.execute(
            "INSERT INTO prompt_draw (job_id, split, step, prompt_no, row_index, prompt_hash, completions, scored,"
            f" passed, reward_sum) {sums}".encode(),
            values,
        )
        connection.execute(_HEADS, values)
        connection.execute("VACUUM ANALYZE")


def requests(chance: random.Random) -> dict[str, Callable[[], str]]:
    return {
        "first page": lambda: "",
        "a category": lambda: f"category={chance.choice(CATEGORIES)}",
        "an order": lambda: f"sort={chance.choice(('', '-'))}{chance.choice(SORTS)}&limit=200",
        "a text": lambda: f"q={chance.randbytes(1).hex()}{chance.randrange(10)}",
        "a category, a text, an order": lambda: f"category=won&q={chance.randbytes(1).hex()}&sort=-change",
    }


def ask(backend: Backend, job: ClaimedJob, rounds: int) -> dict[str, list[float]]:
    wire, kinds = Wire(backend.url, KEY), requests(random.Random(1))
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, query in kinds.items():
            took, answer = wire.get(f"/api/v1/jobs/{job.id}/prompts?{query()}")
            assert "data" in answer, answer
            seconds[name].append(took)
    wire.close()
    return seconds


def beside_completions(backend: Backend, job: ClaimedJob, rounds: int) -> dict[str, Any]:
    """The statement of the first page over the sums, and over the completions."""
    ours = _for_psycopg(statement(PromptFilter(split="train")))
    draws = "(SELECT * FROM prompt_draw WHERE job_id = %(job)s AND split = %(split)s)"
    assert draws in ours
    theirs = ours.replace(draws, f"({_SUMS.format(job='%(job)s', split='%(split)s')})")
    values = {"job": job.id, "split": "train", "category": None, "limit": 51}
    with backend.connect() as connection:
        assert _run(connection, ours, values)[1] == _run(connection, theirs, values)[1], "both list the same"
        pairs = alternate(
            rounds,
            lambda: _run(connection, ours, values)[0],
            lambda: _run(connection, theirs, values)[0],
        )
    return {"sums": [pair[0] for pair in pairs], "completions": [pair[1] for pair in pairs]}


def _for_psycopg(sql: str) -> str:
    for name in ("job", "split", "category", "limit"):
        sql = sql.replace(f":{name}", f"%({name})s")
    return sql


def _run(
    connection: psycopg.Connection[Any], sql: str, values: dict[str, Any]
) -> tuple[float, list[tuple[int, int, str | None]]]:
    started = time.perf_counter()
    rows = connection.execute(sql.encode(), values).fetchall()
    took = time.perf_counter() - started
    return took, [(row[2], row[3], row[-2]) for row in rows]


def p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--completions", type=int, help="stored (default: 100,000)")
    options.add_argument("--rounds", type=int, help="requests of each kind (default: 40)")
    arguments = options.parse_args()
    count = arguments.completions or (10_000 if arguments.quick else 100_000)
    rounds, steps = arguments.rounds or (5 if arguments.quick else 40), -(-count // PER_STEP)
    rows = min(2000, steps * PROMPTS // 4)
    about = stamp("reinforge", "fastapi", "psycopg", "sqlalchemy")
    with Backend() as backend:
        job = backend.start_job(backend.add_dataset())
        fill(backend, job, steps, rows)
        with backend.connect() as connection:
            sizes = connection.execute(
                "SELECT count(*), pg_total_relation_size('completion'), pg_total_relation_size('prompt_draw'),"
                " pg_total_relation_size('job_prompt') FROM completion"
            ).fetchone()
        assert sizes is not None
        first = ask(backend, job, 1)  # nothing is warmed for it
        seconds = ask(backend, job, rounds)
        statements = beside_completions(backend, job, rounds)
    lines = [
        (name, 1e3 * median(took), 1e3 * p95(took), 1e3 * max(took), f"≤ {TARGET * 1e3:.0f}: {_met(took)}")
        for name, took in seconds.items()
    ]
    table(("GET /jobs/{id}/prompts", "p50 ms", "p95 ms", "max ms", "p95 wanted"), lines)
    print()
    table(
        ("statement alone", "p50 ms", "p95 ms"),
        [(name, 1e3 * median(took), 1e3 * p95(took)) for name, took in statements.items()],
    )
    names = ("completions", "bytes_of_completions", "bytes_of_sums", "bytes_of_prompts")
    stored = dict(zip(names, sizes, strict=True)) | {"steps": steps, "rows": rows}
    result = about | {
        "target_seconds": TARGET,
        "stored": stored,
        "p50": {name: median(took) for name, took in (seconds | statements).items()},
        "p95": {name: p95(took) for name, took in (seconds | statements).items()},
        "first_requests": {name: took[0] for name, took in first.items()},
        "seconds": seconds,
        "statements": statements,
    }
    write("prompts", result, depth=2)


def _met(seconds: list[float]) -> str:
    return "met" if p95(seconds) <= TARGET else "missed"


if __name__ == "__main__":
    main()
