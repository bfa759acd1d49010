"""Which requests may share a batch of vLLM on the CPU."""

import asyncio
from collections.abc import Sequence

from worker.engine_host.batch_turns import BatchTurns


def together(kinds: Sequence[object], *, apart: bool = True) -> list[set[int]]:
    """Sets of requests, by index, that ran at the same time, in the order in which they began."""

    async def run() -> list[set[int]]:
        turns, running, batches = BatchTurns(apart=apart), set[int](), list[set[int]]()

        async def request(number: int, kind: object) -> None:
            async with turns.turn(kind):
                running.add(number)
                batches.append(set(running))
                await asyncio.sleep(0.01)
                running.remove(number)

        await asyncio.gather(*(request(number, kind) for number, kind in enumerate(kinds)))
        return batches

    return asyncio.run(run())


def test_requests_of_one_kind_run_together_and_of_another_afterwards() -> None:
    batches = together([True, True, False, True])
    assert {0, 1} in batches and {2} in batches
    assert not any({2} < running for running in batches)


def test_a_scored_prompt_runs_alone() -> None:
    assert together([object(), object(), True]) == [{0}, {1}, {2}]
    for running in together([True, object(), True, object(), True]):
        assert not (running & {1, 3}) or len(running) == 1


def test_on_a_gpu_all_run_together() -> None:
    assert together([True, False, object()], apart=False)[-1] == {0, 1, 2}
