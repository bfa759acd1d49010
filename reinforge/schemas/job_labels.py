"""Name, notes, tags and archiving of a job, and the values that a list of jobs can be filtered by."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from reinforge.schemas.common import Request, Response

MOST_TAGS = 20

Archived = Literal["exclude", "only", "include"]
JobName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Tag = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=50, pattern=r"^[^,\x00-\x1f]+$")
]
"""Any text without commas and control characters."""


class JobUpdate(Request):
    """Fields that are absent or null stay as they are."""

    name: JobName | None = None
    notes: str | None = Field(default=None, max_length=20_000)
    """Markdown; an empty string removes them."""
    tags: list[Tag] | None = Field(default=None, max_length=MOST_TAGS)
    """Replaces all tags."""
    add_tags: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)
    remove_tags: list[Tag] = Field(default_factory=list, max_length=MOST_TAGS)
    archived: bool | None = None
    """Archived jobs are hidden from lists. Only jobs that have ended can be archived."""


class JobFacets(Response):
    """Tags, models, presets and owners of the project's jobs, sorted; at most 200 of each."""

    object: Literal["job_facets"] = "job_facets"
    tags: list[str]
    models: list[str]
    presets: list[str]
    owners: list[str]
