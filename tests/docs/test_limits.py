"""The table of limits in docs/security.md: every row says what the code does."""

import resource
from datetime import timedelta
from pathlib import Path

import pytest

from backend.access import body_limits
from backend.datasets import reading
from backend.datasets.leakage import report
from backend.datasets.uploads import complete, inspection, inspection_child, numbered_parts
from backend.http import server, strict_json
from backend.jobs.monitoring import step_tables
from backend.openai.files import upload_store
from backend.processes import pool
from backend.rewards import service as rewards
from backend.settings import Settings
from reinforge.dataset import prompts
from reinforge.dataset.limits import DatasetLimits, inspection_seconds
from reinforge.grading import formula
from reinforge.parsing.validation import MOST_PROBLEMS
from reinforge.schemas.judges import JudgeCreate
from reinforge.spec import MOST_COMPLETIONS_PER_STEP
from worker.isolated import process
from worker.models import bounds
from worker.reward_models import texts as checkpoint_texts
from worker.rewards.programs import hidden_tests
from worker.rollout import folder_text

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
HEAD = "## Limits of requests\n\n| what | limit | answer beyond it |\n|---|---|---|\n"


def size(number: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            assert number % unit == 0
            return f"{number // unit} {name}"
    return f"{number} bytes"


def pace(limit: body_limits.BodyLimit) -> str:
    return f"{limit.stall_seconds:g} s and {size(int(limit.least_rate))}/s"


def setting(name: str) -> str:
    field = Settings.model_fields[name]
    value = field.default
    text = size(value) if name.endswith("_bytes") else f"{value:,}"
    return f"`{field.validation_alias}` ({f'{value:g} s' if name.endswith('_seconds') else text})"


def json_size(*places: str) -> str:
    (limit,) = {body_limits.JSON_BYTES_OF.get(place, body_limits.JSON_BYTES) for place in places}
    return size(limit)


def bodies() -> dict[str, str]:
    data, strangers = DatasetLimits(), body_limits.STRANGERS
    assert strangers.bytes is not None
    return {
        "headers of a request": f"{size(server.HEAD_BYTES)}, {server.HEAD_SECONDS:g} s",
        "body sent by a stranger (sign-in, invitations)": (
            f"{size(strangers.bytes)}; pauses of {strangers.stall_seconds:g} s"
        ),
        "JSON of accounts, keys, members, judges, webhooks, budgets": json_size(
            "keys", "members", "judges", "webhooks", "budgets"
        ),
        "JSON of datasets, uploads, models, deployments": json_size(
            "datasets", "uploads", "models", "deployments"
        ),
        "JSON of chat and sampling": json_size("chat", "sample"),
        "JSON of jobs, rewards, preflights, evaluations": json_size(
            "jobs", "rewards", "preflights", "evaluations"
        ),
        "objects and lists in a request's JSON; in a stranger's; commas": (
            f"{strict_json.MOST_PARTS:,}; {strict_json.MOST_PARTS_OF_STRANGERS:,}; {strict_json.MOST_COMMAS:,}"
        ),
        "levels of JSON: of a request; of a dataset's row": f"{strict_json.DEEPEST}; {data.max_depth}",
    }


def contents() -> dict[str, str]:
    data, files, other = DatasetLimits(), body_limits.FILE, body_limits.BodyLimit(0)
    judge = JudgeCreate.model_fields["timeout_seconds"]
    longest_judge = next(part.le for part in judge.metadata if hasattr(part, "le"))
    return {
        "keys of one object in a request": f"{strict_json.MOST_KEYS:,}",
        "faults of a request that the answer lists": f"{MOST_PROBLEMS}",
        "a dataset: rows; bytes decoded; columns; one row": (
            f"{data.max_rows:,}; {size(data.max_decoded_bytes)}; {data.max_columns:,}; {size(data.max_row_bytes)}"
        ),
        "the check of a file": (
            f"{size(pool.MEMORY_BYTES)} of memory; CPU time of {inspection_child.CPU_SECONDS} s and 1 s for each 4 MiB,"
            f" within {'four' if inspection.CROWDED == 4 else inspection.CROWDED} times that"
        ),
        "an upload in parts": (
            "a day from its last part; an hour once it waits for `skip_bad_rows`; `/v1`: an hour; longer while it is"
            " checked"
            if (timedelta(days=1), timedelta(hours=1), timedelta(hours=1))
            == (numbered_parts.LIFETIME, complete.SKIP_LIFETIME, upload_store.LIFETIME)
            else ""
        ),
        "a prompt template: what it takes from a row": f"{prompts.MOST_INSERTED >> 20} Mi characters",
        "a formula of graders": (
            f"{formula.MAX_CHARACTERS:,} characters, {formula.MAX_OPERATIONS} operations, {formula.MAX_DEPTH} levels"
        ),
        "a row's hidden tests": (
            f"{hidden_tests.MAX_TESTS}; taken apart up to {hidden_tests.MAX_PARSED >> 10} Ki characters"
            f" and {hidden_tests.MAX_STATEMENTS:,} statements"
        ),
        "one try of a judge": (
            f"`timeout_seconds` of the judge ({judge.default:g} s, at most {longest_judge:g} s)"
        ),
        "a test of rewards that ask judges; of others": (
            f"{rewards.JUDGED_SECONDS:g} s; {rewards.SCORE_SECONDS:g} s"
        ),
        "rows of a dataset in one answer": f"{size(reading.ANSWER_BYTES)}, at least one row",
        "reports on a dataset under way, of one project": f"{report.PROJECT_REPORTS} in each API process",
        "datasets that wait to be read, of one project": f"{reading.WAITING} in each API process",
        "uploads that wait to be checked, of one project": f"{inspection.WAITING} in each API process",
        "files and their parts": setting("upload_limit_bytes"),
        "a worker's records and answers; its other JSON": (
            f"{size(body_limits.RECORDS_BYTES)}; {size(body_limits.WORKER_BYTES)}"
        ),
        "a worker's objects": setting("blob_limit_bytes"),
        "pace of a body": (
            f"pauses of {other.stall_seconds:g} s and {size(int(other.least_rate))}/s on average; files {pace(files)}"
        ),
    }


def under_way() -> dict[str, str]:
    return {
        "requests of one key or person under way": setting("key_requests"),
        "requests of one project under way": setting("project_requests"),
        "live streams of one key or person: jobs, chat, sampling": setting("key_streams"),
        "live streams of one project": setting("project_streams"),
        "JSON that one project's requests hold": setting("project_body_bytes"),
        "files that one project uploads at the same time": setting("project_upload_bytes"),
        "checks, previews and tests of one project that wait for a worker": setting("project_calls"),
        "chat and sampling of one project that wait for a worker": setting("project_samples"),
        "one statement of the API in the database": setting("statement_seconds"),
        "connections": "three quarters of the process's file descriptors, less 256",
    }


def models() -> dict[str, str]:
    return {
        "a model's weights": (
            f"{bounds.MAX_TENSORS:,} tensors, {bounds.MAX_DIMENSIONS} dimensions,"
            f" 2^{bounds.MAX_ELEMENTS.bit_length() - 1} elements, names of {bounds.MAX_NAME:,} characters,"
            f" {bounds.MAX_LINEAR_LAYERS} names of linear layers"
        ),
        "sizes in a model's config.json": f"0 to 2^{bounds.MAX_CONFIG_NUMBER.bit_length()} - 1",
        "completions of one step (`prompts_per_step` × `completions_per_prompt`)": f"{MOST_COMPLETIONS_PER_STEP:,}",
        "a step's table, one prompt": (
            f"{size(step_tables.MOST_BYTES)} decoded, JSON {step_tables.MOST_DEPTH} levels deep"
        ),
        "a look at a model's files; rendering in calls": limited(process.MEMORY_BYTES, process.SECONDS),
        "rendering and decoding in a job": f"{limited(folder_text.MEMORY_BYTES, folder_text.SECONDS)} a batch",
        "decoding while a model is sampled on demand": (
            f"{limited(folder_text.MEMORY_BYTES, folder_text.SECONDS)} a batch"
        ),
        "rendering for a grader's checkpoint": (
            f"{limited(checkpoint_texts.MEMORY_BYTES, checkpoint_texts.SECONDS)} a batch"
        ),
    }


def limited(memory_bytes: int, seconds: float) -> str:
    return f"{size(memory_bytes)}, {seconds:g} s of CPU time within {process.WALL_FACTOR * seconds:g} s"


def rows() -> dict[str, str]:
    """What the table's first two columns have to say."""
    return {**bodies(), **contents(), **under_way(), **models()}


def table() -> dict[str, str]:
    lines = PAGE.read_text(encoding="utf-8").partition(HEAD)[2].partition("\n\n")[0].splitlines()
    return {what: limit for what, limit, _ in (line.strip("| ").split(" | ") for line in lines)}


@pytest.mark.parametrize("what", rows())
def test_a_row_says_what_the_code_does(what: str) -> None:
    assert table().get(what) == rows()[what]


def test_every_row_is_compared() -> None:
    assert list(table()) == list(rows())


def test_the_formulas_that_are_words() -> None:
    assert (
        inspection_seconds(4 << 20) - inspection_seconds(0) == 1
        and inspection_seconds(0) == inspection_child.CPU_SECONDS
    )
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert server.affordable_connections() == max(64, (soft - 256) * 3 // 4)
