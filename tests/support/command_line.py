"""Output and exit code of a command in the test's process (fixture `run` of `tests/reinforge/cli`)."""

from collections.abc import Callable
from typing import NamedTuple


class Printed(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Printed]
