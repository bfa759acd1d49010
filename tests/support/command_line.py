"""What a command that runs in the test's process prints, and its exit code (fixture `run` of `tests/reinforge/cli`)."""

from collections.abc import Callable
from typing import NamedTuple


class Printed(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Printed]
