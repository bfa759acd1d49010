"""Functions of installed packages, from entry points of the group `reinforge.functions`."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from typing import Any

from worker.machine import settings

GROUP = "reinforge.functions"


class OwnFunctionError(Exception):
    pass


class NotFiniteError(OwnFunctionError):
    pass


@cache
def own_function(what: str, kind: str) -> Callable[..., Any] | None:
    if not settings.plugins_enabled():
        return None
    for entry in metadata.entry_points(group=GROUP, name=f"{what}.{kind}"):
        try:
            function = entry.load()
        except (Exception, SystemExit) as error:
            raise OwnFunctionError(
                f"{_named(what, kind)} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if not callable(function):
            raise OwnFunctionError(f"{_named(what, kind)} is not a function: {entry.value}")
        return function  # type: ignore[no-any-return] # callable, as just seen
    return None


def check_type(value: Any, expected: type, what: str, kind: str) -> None:
    if not isinstance(value, expected):
        raise OwnFunctionError(
            f"{_named(what, kind)} returned {type(value).__name__}, but must return {expected.__name__}"
        )


def check_shape(tensor: Any, needed: Sequence[int], name: str, what: str, kind: str) -> None:
    shape = tuple(getattr(tensor, "shape", ()))
    if shape != tuple(needed):
        raise OwnFunctionError(
            f"{_named(what, kind)}: `{name}` has the shape {shape}, but must have {tuple(needed)}"
        )


def check_finite(output: Any, name: str, what: str, kind: str, *, inputs: Sequence[Any] = ()) -> None:
    """Raise NotFiniteError if a package's output has NaN or infinity although all `inputs` are finite."""
    count = int((~output.isfinite()).sum())
    if count and all(bool(tensor.isfinite().all()) for tensor in inputs):
        raise NotFiniteError(
            f"{_named(what, kind)}: {count} of {output.numel()} values of `{name}` are NaN or infinite, although the "
            "function's inputs are finite."
        )


def _named(what: str, kind: str) -> str:
    entries = metadata.entry_points(group=GROUP, name=f"{what}.{kind}")
    dist = next((entry.dist for entry in entries), None)
    package = f" of {dist.name} {dist.version}" if dist is not None else ""
    return f"{what} `{kind}`{package}"
