"""Checks of a job's environment."""

from collections.abc import Iterator, Sequence
from typing import Any

from backend.models import Dataset
from reinforge.dataset.tools import COLUMN
from reinforge.environment_spec import ToolsSpec
from reinforge.errors import InvalidInput
from reinforge.spec import JobSpec

NOT_CONTINUABLE = "template_not_continuable"


def environment_problems(spec: JobSpec, tables: Sequence[Dataset]) -> Iterator[InvalidInput]:
    environment = spec.environment
    if not isinstance(environment, ToolsSpec):
        return
    for number, source in enumerate(environment.sources):
        if source.source is None:
            yield InvalidInput(
                "A path names a file on your machine, which the server cannot read.",
                code="path_not_allowed",
                param=f"environment.sources[{number}].path",
                hint="Give the code as `source`; the command line does so for files beside the job file.",
            )
    for table in tables:
        if any(column["name"] == COLUMN for column in table.columns):
            yield InvalidInput(
                f"The rows of {table.name} have tools of their own, and the environment has the job's.",
                code="tools_twice",
                param="environment.type",
                hint=f"Rename the column `{COLUMN}`, or use environment `single_turn`.",
            )


def tools_of(spec: JobSpec) -> list[dict[str, Any]] | None:
    """Tools that every prompt has; None if the rows name their own."""
    environment = spec.environment
    if not isinstance(environment, ToolsSpec):
        return None
    return [schema.model_dump() for schema in environment.schemas()] or None


def no_place_for_tools(model: str) -> InvalidInput:
    return InvalidInput(
        f"The chat template of {model} has no place for tools.",
        code=NOT_CONTINUABLE,
        param="environment.type",
        hint="Use a model that was trained to call tools, or environment `single_turn`.",
    )
