"""Exit codes of the command line, and the code of each error class."""

from enum import IntEnum

from reinforge.errors import (
    InvalidInput,
    JobFailure,
    LeaseLost,
    MatchNeeded,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    ReinforgeError,
    Stale,
    StateConflict,
    TooLarge,
)


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    """The arguments or input are invalid, or the job was cancelled."""
    GATE = 3
    AUTH = 4
    CONFLICT = 5
    """The object does not exist, or its state does not allow the operation."""
    SERVER = 6
    """The server or the network failed, even after retries."""
    TIMEOUT = 124
    INTERRUPTED = 130
    """Ctrl-C ended the command, not the job that it followed."""


_BY_TYPE: list[tuple[type[ReinforgeError], Exit]] = [
    (InvalidInput, Exit.USAGE),
    (TooLarge, Exit.USAGE),
    (NotAuthenticated, Exit.AUTH),
    (NotAllowed, Exit.AUTH),
    (NotFound, Exit.CONFLICT),
    (StateConflict, Exit.CONFLICT),
    (Stale, Exit.CONFLICT),
    (MatchNeeded, Exit.CONFLICT),
    (LeaseLost, Exit.CONFLICT),
    (JobFailure, Exit.FAILED),
]


def exit_code(error: ReinforgeError) -> Exit:
    return next((code for kind, code in _BY_TYPE if isinstance(error, kind)), Exit.SERVER)
