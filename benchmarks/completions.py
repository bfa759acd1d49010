"""A job with a million stored completions: what its search and its views cost.

The rows lie in the real tables of a real PostgreSQL 18 with all their indexes, put there by SQL because the worker API
would take most of an hour; step n holds 16 prompts × 8 completions of about 600 characters. Texts come again after
25,600 completions. The Parquet objects are real, with 128 completions of 1,000 tokens and all arrays each; every 50
steps share one. Requests go to a real API process over HTTP, one at a time; every query of a kind asks for something
else. Nothing is warmed but by the requests themselves.

Wanted: a selective query (at most 1 % match) within 300 ms at the 95th percentile; a common word, newest 50 and a
capped count, within 1 s; the view of one group within 150 ms. A common word sorted by reward is shown beside them:
nothing was promised of it, since all matches have to be sorted.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from common.backend import KEY, Backend, ClaimedJob
from common.measure import machine, parser, table, write
from fleet.steps import DATASET_PROMPTS, PROMPTS, SAMPLES, Words, prompt_hash, template
from fleet.wire import Wire

PER_STEP = PROMPTS * SAMPLES
TOKENS_OF_TEXT = 80
"""Of a row's text, about 600 characters; a row holds at most 2,000."""
DIFFERENT_STEPS = 200
"""Steps with texts of their own; they come again after that, with other rewards, lengths and prompts."""
STEPS_PER_OBJECT = 50
COLUMNS = (
    "job_id", "split", "step", "prompt_no", "sample_no", "row_index", "prompt_hash", "reward", "advantage", "length",
    "finish_reason", "error", "text",
)  # fmt: skip
TARGETS = {"selective": 0.300, "common": 1.0, "group": 0.150}
COMMON_RANKS = range(12)
"""Words that nearly every completion has."""
RARE = "zyx"
"""Begins the words that one in 200 completions has one of."""
RARE_WORDS = 40


def fill(backend: Backend, job: ClaimedJob, steps: int) -> float:
    """Seconds that it took."""
    started = time.perf_counter()
    objects = _objects(backend, job, -(-steps // STEPS_PER_OBJECT))
    with psycopg.connect(backend.database_url, autocommit=True) as connection:
        # Built at once the index of words takes a third of the time; it is the same index.
        definition = connection.execute("SELECT pg_get_indexdef('ix_completion_words'::regclass)").fetchone()
        connection.execute("DROP INDEX ix_completion_words")
        _rollouts(connection, job, steps, objects)
        first = min(steps, DIFFERENT_STEPS)
        _copy(connection, job.id, first)
        # What follows takes over the words that were found in the texts, instead of finding them again.
        connection.execute("ALTER TABLE completion ALTER COLUMN words DROP EXPRESSION")
        for shift in range(first, steps, first):
            connection.execute(
                _AGAIN, {"shift": shift, "first": first, "steps": steps, "prompts": DATASET_PROMPTS}
            )
        connection.execute("SET maintenance_work_mem = '512MB'")
        assert definition is not None
        connection.execute(str(definition[0]).encode())
        connection.execute("UPDATE job SET step = %s, status = 'running' WHERE id = %s", (steps, job.id))
        connection.execute("VACUUM ANALYZE completion")
    return time.perf_counter() - started


_AGAIN = """
INSERT INTO completion (job_id, split, step, prompt_no, sample_no, row_index, prompt_hash, reward, advantage, length,
                        finish_reason, error, text, words)
SELECT job_id, split, step + %(shift)s, prompt_no, sample_no, row_index,
       'prompt-' || lpad((((step + %(shift)s) * 16 + prompt_no) %% %(prompts)s)::text, 9, '0'),
       CASE WHEN error IS NULL THEN round(random()::numeric, 3) END, advantage, 200 + (800 * random())::int,
       finish_reason, error, text, words
FROM completion WHERE step <= %(first)s AND step + %(shift)s <= %(steps)s
ORDER BY step, prompt_no, sample_no
"""


def _objects(backend: Backend, job: ClaimedJob, count: int) -> list[str]:
    """Hashes of uploaded step objects."""
    made, digests = template(0, 1000), []
    wire = Wire(backend.url, job.token)
    for number in range(count):
        sha256, content = made.object(number)
        _, status, body = wire.ask("PUT", f"/worker/v1/blobs/{sha256}?kind=rollouts", content)
        assert status == 201, body
        digests.append(sha256)
    wire.close()
    return digests


def _rollouts(connection: psycopg.Connection[Any], job: ClaimedJob, steps: int, objects: list[str]) -> None:
    copy = "COPY step_rollouts (job_id, split, step, attempt, sha256, count, revisions) FROM STDIN"
    with connection.cursor().copy(copy) as rows:
        for step in range(1, steps + 1):
            sha256 = objects[(step - 1) // STEPS_PER_OBJECT]
            rows.write_row((job.id, "train", step, 1, sha256, PER_STEP, "{}"))


def _copy(connection: psycopg.Connection[Any], job_id: str, steps: int) -> None:
    words, chance = Words(0), random.Random(0)
    with connection.cursor().copy(f"COPY completion ({', '.join(COLUMNS)}) FROM STDIN") as rows:
        for step in range(1, steps + 1):
            for row in _rows(job_id, step, words, chance):
                rows.write_row(row)


def _rows(job_id: str, step: int, words: Words, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    for prompt in range(PROMPTS):
        hash = prompt_hash(step, prompt).decode()
        for sample in range(SAMPLES):
            text = "".join(words.pieces(words.ids(TOKENS_OF_TEXT)))
            if chance.random() < 1 / 200:
                text += f" {RARE}{chance.randrange(RARE_WORDS)}"
            reward = None if chance.random() < 0.005 else round(chance.random(), 3)
            ended, error = (
                ("stop", "length")[chance.random() < 0.1],
                None if reward is not None else "exception",
            )
            advantage = None if reward is None else round(reward - 0.5, 3)
            length = chance.randrange(200, 1000)
            yield (
                job_id, "train", step, prompt, sample, prompt, hash, reward, advantage, length, ended, error, text,
            )  # fmt: skip


def queries(steps: int, words: Words, chance: random.Random) -> dict[str, Callable[[], str]]:
    """What is asked, by kind; each call says another path below the job. The part before `:` says what is wanted."""

    def word(ranks: range) -> str:
        return words.word(chance.choice(ranks))

    def search(**parameters: object) -> str:
        return "completions/search?limit=50&" + "&".join(
            f"{name}={value}" for name, value in parameters.items()
        )

    def at() -> tuple[int, int]:
        return chance.randint(1, steps), chance.randrange(PROMPTS)

    def band() -> float:
        return chance.randrange(1, 990) / 1000

    return {
        "selective: a rare word": lambda: search(q=f"{RARE}{chance.randrange(RARE_WORDS)}"),
        "selective: two words of the vocabulary": lambda: search(
            q=f"{word(range(3000, 20_000))}%20{word(range(20, 400))}"
        ),
        "selective: a rare phrase": lambda: search(
            q=f"%22{word(range(300, 3000))}%20{word(range(300, 3000))}%22"
        ),
        "selective: failed, by reward": lambda: search(
            failed="true", step_from=chance.randint(1, steps), sort="-length"
        ),
        "selective: one prompt, by reward": lambda: search(
            prompt_hash=prompt_hash(*at()).decode(), sort=chance.choice(("reward", "-reward"))
        ),
        "selective: a band of rewards": lambda: search(reward_min=(low := band()), reward_max=low + 0.008),
        "selective: a word and a band": lambda: search(
            q=word(range(3000, 20_000)), reward_min=(low := band()), reward_max=low + 0.1
        ),
        "common: one word": lambda: search(q=word(COMMON_RANKS)),
        "common: two words": lambda: search(q=f"{word(COMMON_RANKS)}%20{word(range(12, 30))}"),
        "common: everything": lambda: search(),
        "beyond: a common word, by reward": lambda: search(q=word(COMMON_RANKS), sort="-reward"),
        "group: one group": lambda: "groups/train/{}/{}".format(*at()),
        "group: the groups of a step": lambda: f"groups?step={chance.randint(1, steps)}",
        "group: the newest step's rows": lambda: "completions?limit=128",
    }


def ask(
    backend: Backend, job: ClaimedJob, kinds: dict[str, Callable[[], str]], rounds: int
) -> dict[str, Any]:
    """Each kind `rounds` times, in turn (what lies beyond the promise four times); seconds, and how many matched."""
    wire = Wire(backend.url, KEY)
    timings: dict[str, Any] = {name: {"seconds": [], "total": []} for name in kinds}
    for number in range(rounds):
        for name, path in kinds.items():
            if name.startswith("beyond") and number >= 4:
                continue
            seconds, answer = wire.get(f"/api/v1/jobs/{job.id}/{path()}")
            timings[name]["seconds"].append(seconds)
            timings[name]["total"].append(answer.get("total"))
    wire.close()
    return timings


def p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def show(timings: dict[str, Any]) -> None:
    rows = []
    for name, timing in timings.items():
        ordered, target = sorted(timing["seconds"]), TARGETS.get(name.partition(":")[0])
        totals = [total for total in timing["total"] if total is not None]
        matched = f"{min(totals)}…{max(totals)}" if totals else ""
        middle, high = ordered[len(ordered) // 2], p95(timing["seconds"])
        met = "" if target is None else f"≤ {target * 1e3:.0f}: {'met' if high <= target else 'missed'}"
        rows.append((name, matched, middle * 1e3, high * 1e3, ordered[-1] * 1e3, met))
    table(("", "matches", "p50 ms", "p95 ms", "max ms", "p95 wanted"), rows)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--completions", type=int, help="stored (default: 1,000,000)")
    options.add_argument("--rounds", type=int, help="requests of each kind (default: 40)")
    options.add_argument("--json", type=Path, metavar="OUT", help="also write the result there")
    return options.parse_args()


def main() -> None:
    options = _options()
    count = options.completions or (20_000 if options.quick else 1_000_000)
    rounds, steps = options.rounds or (5 if options.quick else 40), -(-count // PER_STEP)
    about = machine("reinforge", "fastapi", "psycopg", "sqlalchemy", "pyarrow")
    with Backend() as backend:
        job = backend.start_job(backend.add_dataset())
        filled = fill(backend, job, steps)
        with backend.connect() as connection:
            row = connection.execute(
                "SELECT count(*), pg_total_relation_size('completion'), pg_indexes_size('completion'),"
                " avg(length(text)) FROM completion"
            ).fetchone()
        assert row is not None
        stored = {
            "completions": row[0], "bytes": row[1], "index_bytes": row[2], "mean_characters": float(row[3]),
            "fill_seconds": filled,
        }  # fmt: skip
        print(json.dumps(stored), flush=True)
        timings = ask(backend, job, queries(steps, Words(0), random.Random(1)), rounds)
    show(timings)
    result = {
        "machine": about,
        "settings": {"rounds": rounds, "steps": steps},
        "stored": stored,
        "kinds": timings,
    }
    write("completions", result, depth=4)
    if options.json is not None:
        options.json.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
