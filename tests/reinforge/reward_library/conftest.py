"""One sandbox for all tests of the library, and rows scored in batches: 1,000 cases take seconds."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml

from reinforge.dataset import tools_of
from reinforge.grading.own_types import ProgramTests
from reinforge.grading.samples import tool_fields
from reinforge.reward_library import ready_reward
from reinforge.reward_library.cases import CaseRow
from tests.worker.sandbox.harness import running_daemon
from worker.rewards.base import RewardResult, Scorable
from worker.rewards.programs.rater import ProgramRater
from worker.rewards.rater import RewardInput as RatedRow
from worker.sandbox import RewardRow, RowResult, SandboxClient

Result = RowResult | RewardResult
Scorer = Callable[[str, Sequence[tuple[CaseRow, str]]], list[Result]]
"""(id of a ready reward, rows with a completion each) -> results in order."""


def programs(client: SandboxClient, source: str, completions: Sequence[tuple[CaseRow, str]]) -> list[Result]:
    """`program_tests` as a job scores it."""
    grader = ProgramTests.model_validate(yaml.safe_load(source))
    rows = [RatedRow(Scorable(completion, dict(row.item), []), 0) for row, completion in completions]
    with ThreadPoolExecutor(2) as threads:
        return list(asyncio.run(ProgramRater(grader, client.run_programs, threads).rate(rows)))


def as_scored(row: CaseRow, text: str) -> dict[str, Any]:
    """What a job and a test of a reward know of a completion's calls."""
    return tool_fields(text) if tools_of(row.item) else {}


@pytest.fixture(scope="session")
def client() -> Iterator[SandboxClient]:
    with running_daemon(pool=1) as running, running.client() as client:
        yield client


@pytest.fixture(scope="session")
def scored(client: SandboxClient) -> Scorer:
    def score(id: str, completions: Sequence[tuple[CaseRow, str]]) -> list[Result]:
        reward = ready_reward(id)
        if reward.type != "python":
            return programs(client, reward.source, completions)
        rows, positions = [], []
        for group, (row, completion) in enumerate(completions):
            positions.append(len(rows))
            rows += [
                RewardRow(row.prompt, text, row.item, row.judges, group, row.sample or as_scored(row, text))
                for text in (completion, *row.beside)
            ]
        outcome = client.score(reward.source, rows, granularity=reward.granularity, isolate=reward.isolate)
        assert outcome.status == "ok", outcome.message
        return [outcome.rows[number] for number in positions]

    return score
