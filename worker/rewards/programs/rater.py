"""Rater of the grader `program_tests`."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from reinforge.grading.own_types import ProgramTests
from worker.rewards.base import RewardResult
from worker.rewards.programs.runner import CodeTests, RunPrograms, score_code
from worker.rewards.rater import Rater, RewardInput, side_by_side
from worker.sandbox.limits import ProgramLimits


class ProgramRater(Rater):
    def __init__(self, grader: ProgramTests, run_programs: RunPrograms, threads: ThreadPoolExecutor) -> None:
        self._run_programs, self._threads = run_programs, threads
        self._settings = CodeTests(
            tests=grader.tests,
            entry=grader.entry,
            code=grader.code,
            prefix=grader.prefix,
            all_or_nothing=grader.all_or_nothing,
            output=grader.output,
            tolerance=grader.tolerance,
            in_process=grader.in_process,
            limits=ProgramLimits(
                wall=grader.timeout_seconds,
                memory=grader.memory_mib << 20,
                output=grader.output_kib << 10,
            ),
        )

    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        return await side_by_side([self._threaded(row) for row in rows])

    async def _threaded(self, row: RewardInput) -> RewardResult:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._row, row)

    def _row(self, row: RewardInput) -> RewardResult:
        score = score_code(row.scorable.completion, row.item, self._settings, self._run_programs)
        return RewardResult(
            name="",
            status=score.status,
            value=score.value,
            parts=dict(score.parts),
            criteria=dict(score.criteria),
            reason=score.reason,
            message=score.message,
            prints=score.prints,
            wall_ms=score.wall_ms,
            cpu_ms=score.cpu_ms,
        )
