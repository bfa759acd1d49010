"""One sandbox for all tests of the library, and rows asked in batches: 1,000 cases take seconds."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from reinforge.reward_library import ready_reward
from reinforge.reward_library.cases import Row
from tests.worker.sandbox.harness import running_daemon
from worker.sandbox import RewardRow, RowResult, SandboxClient

Scorer = Callable[[str, Sequence[tuple[Row, str]]], list[RowResult]]
"""(id of a ready reward, rows with a completion each) -> results in order."""


@pytest.fixture(scope="session")
def client() -> Iterator[SandboxClient]:
    with running_daemon(pool=1) as running, running.client() as client:
        yield client


@pytest.fixture(scope="session")
def scored(client: SandboxClient) -> Scorer:
    def score(id: str, asked: Sequence[tuple[Row, str]]) -> list[RowResult]:
        reward = ready_reward(id)
        rows, mine = [], []
        for group, (row, completion) in enumerate(asked):
            mine.append(len(rows))
            rows += [
                RewardRow(row.prompt, text, row.item, row.judges, group, row.sample)
                for text in (completion, *row.beside)
            ]
        outcome = client.score(reward.source, rows, granularity=reward.granularity, isolate=reward.isolate)
        assert outcome.status == "ok", outcome.message
        return [outcome.rows[number] for number in mine]

    return score
