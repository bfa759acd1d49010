"""Roles of columns, as a job's specification declares them."""

from reinforge.algorithm.base import SpecModel


class ColumnRoles(SpecModel):
    """Roles of dataset columns; rewards can read all columns as `item.<column>`."""

    prompt: str | None = None
    """Column with the prompt as text; default `prompt` if there is one."""
    messages: str | None = None
    """Column with chat messages; default `messages` if there is one. Takes precedence over `prompt`."""
    answer: str | None = None
    """Column with the reference answer; rewards read it as `item.answer`, whatever its name."""
    slice: str | None = None
    """Column whose 20 most frequent values split metrics, for example `domain`."""
