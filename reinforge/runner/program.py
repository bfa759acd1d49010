"""Loads the user's function, and converts its result or exception to an outcome."""

import importlib
import inspect
import math
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

MOST_MESSAGE = 4000
"""Maximum characters of an error. At up to 12 bytes each in JSON, they fit a pipe's 64 KiB buffer."""

Task = dict[str, Any]
Outcome = dict[str, Any]
"""How a rollout ended: `{"reward": number or None}` or `{"error": text}`."""
Program = Callable[[Task], Any]
_F = TypeVar("_F", bound=Program)
_MARK = "reads_task"


def reads_task(function: _F) -> _F:
    """Decorator for a function that reads API address and key from `task["base_url"]` and `task["api_key"]`.

    Its rollouts share one process: they run in threads, those of a coroutine function in one event loop.
    """
    setattr(function, _MARK, True)
    return function


def shares_process(function: Program) -> bool:
    return bool(getattr(function, _MARK, False))


def load(target: str) -> Program:
    """Import `MODULE:FUNCTION`. Raises TypeError if it is not callable, and whatever the import raises."""
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name, None)
    if not callable(function):
        raise TypeError(f"{module} has no function {name!r}")
    program: Program = function
    return program


def is_coroutine(function: Program) -> bool:
    return inspect.iscoroutinefunction(function)


def succeeded(value: Any) -> Outcome:
    """Outcome of a program that returned `value`. Raises TypeError unless it is a finite number or None."""
    if value is None:
        return {"reward": None}
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return {"reward": float(value)}
    raise TypeError(f"the function returned {str(value)[:200]!r}; it must return a finite number or None")


def failed() -> Outcome:
    """Outcome of the exception that is being handled."""
    return {"error": traceback.format_exc(limit=-8)[-MOST_MESSAGE:]}
