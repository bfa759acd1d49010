"""Checks that data have the columns that prompts and rewards read, for jobs without a server."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from reinforge.dataset import check_roles
from reinforge.errors import InvalidInput, JobFailure
from reinforge.grading.multi import Grader, columns, leaves
from reinforge.grading.source import parse_grader
from reinforge.grading.types import PythonGrader
from reinforge.records import RunManifest
from reinforge.reward_spec import PythonReward, Reward, grader_of
from reinforge.reward_spec.columns import missing_columns
from reinforge.spec import JobSpec
from worker.sandbox.client import SandboxClient


def check_columns(
    spec: JobSpec, manifest: RunManifest, client: SandboxClient, data: Sequence[tuple[str, Sequence[str]]]
) -> None:
    """Check the columns of data files. data: (file name, columns) of each. Raises JobFailure `data_error` if
    one is missing.
    """
    paths = {entry.name: Path(entry.path) for entry in manifest.rewards}
    for name, row_columns in data:
        try:
            check_roles(row_columns, spec.data.columns, spec.data.prompt_template)
        except InvalidInput as error:
            raise JobFailure(f"{name}: {error.message}", code="data_error", hint=error.hint) from error
        for index, reward in enumerate(spec.rewards):
            source = paths[reward.name].read_text(encoding="utf-8")
            reads = set(_read(reward, source, client))
            param = f"rewards[{index}]"
            for problem in missing_columns(
                reward.name, reads, name, row_columns, spec.data.columns, param=param
            ):
                raise JobFailure(problem.message, code="data_error", hint=problem.hint)


def _read(reward: Reward, source: str, client: SandboxClient) -> Iterator[str]:
    if isinstance(reward, PythonReward):
        yield from _read_by_code(source, reward.entry, client)
        for judge in reward.judges.values():
            yield from columns(judge)
        return
    grader: Grader = grader_of(reward) or parse_grader(source)
    yield from columns(grader)
    for part in leaves(grader).values():
        if isinstance(part, PythonGrader):
            yield from _read_by_code(part.source, part.entry, client)


def _read_by_code(source: str, entry: str | None, client: SandboxClient) -> list[str]:
    entries = client.validate(source, entry=entry).entries
    called = [function for function in entries if function.name == "grade"] if len(entries) > 1 else entries
    return called[0].columns if called else []
