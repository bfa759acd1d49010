"""Runs tool calls: a function receives the rollout's state; an object is rebuilt by repeating its calls."""

import hashlib
import inspect
import json
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import region
from .modules import compiled, new_module, run
from .tool_texts import clean, mark, shortened
from .values import BadValue, number

FILE_NAME, MODULE_NAME = "tools.py", "tools"
_NUMPY_SEEDS = 1 << 32
_JSON = "return text, a number, true, false, None, or lists and dicts of these"


class NotDeterministic(Exception):
    """A repeated call gave another result than before."""


@dataclass(slots=True)
class Answer:
    """text: what the model reads. state: the rollout's, as JSON. value: the result of `get_reward`. none: the
    function returned None.
    """

    text: str = ""
    state: str = ""
    value: float = 0.0
    none: bool = False


class ToolModule:
    """Source that is executed for each call, so that calls share no globals. Raises what compiling raises."""

    def __init__(self, source: str) -> None:
        self._code = compiled(source, FILE_NAME)

    def answer(self, call: Mapping[str, Any]) -> Answer:
        """Answer one call. Raises what the tool raises, BadValue, :class:`NotDeterministic`."""
        _seed(call["seed"])
        module = new_module(MODULE_NAME)
        run(self._code, module)
        if call["class"] is not None:
            return _of_class(module.__dict__[call["class"]], call)
        return _of_function(module.__dict__[call["name"]], call)


def failure_text(error: BaseException) -> str:
    """The error as one line for the model, the same whenever the call is repeated."""
    try:
        text = (
            str(error)
            if isinstance(error, BadValue | NotDeterministic)
            else f"{type(error).__name__[:200]}: {error}"
        )
        text = text[:1000].encode("utf-8", "replace").decode()
    except BaseException:  # noqa: BLE001 - __str__ is the tool's code too
        return "an error whose text could not be rendered"
    lines = clean(text).strip().splitlines()
    return lines[0][:400] if lines else "an error without a text"


def _seed(seed: str) -> None:
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(int(hashlib.sha256(seed.encode()).hexdigest(), 16) % _NUMPY_SEEDS)


def _of_function(function: Callable[..., object], call: Mapping[str, Any]) -> Answer:
    state = json.loads(call["state"] or "{}")
    offered = {"state": state, "item": call["item"]}
    if call["kind"] == "reply":
        offered["messages"] = call["messages"]
    parameters = _parameters(function)
    filled = {name: value for name, value in offered.items() if parameters is None or name in parameters}
    if parameters is None and call["kind"] != "reply":
        filled = {}
    result = function(**{**call["arguments"], **filled})
    if call["kind"] == "reply" and result is not None and not isinstance(result, str):
        raise BadValue(f"reply() returned {type(result).__name__[:80]}; return a text, or None to end")
    none = call["kind"] == "reply" and result is None
    return Answer("" if none else _text(result, call["most"]), _state(state), none=none)


def _of_class(made: Callable[[], Any], call: Mapping[str, Any]) -> Answer:
    environment = made()
    row, parameters = call["item"], _parameters(environment.reset)
    if parameters is not None:
        row = {name: value for name, value in row.items() if name in parameters}
    begin = environment.reset(**row)
    if call["kind"] == "start":
        if begin is not None and not isinstance(begin, str):
            raise BadValue(f"reset() returned {type(begin).__name__[:80]}; return a text or None")
        return Answer("" if begin is None else _text(begin, call["most"]))
    for place, (name, arguments, expected) in enumerate(call["history"]):
        if _repeated(environment, name, arguments, call["most"]) != expected:
            raise NotDeterministic(
                f"call {place + 1} ({name}) gave another result when it was repeated for this call; draw from "
                "`random`, which is seeded, and use neither the clock nor other sources of chance"
            )
    if call["kind"] == "reward":
        score = environment.get_reward()
        return Answer(none=True) if score is None else Answer(value=number(score, "get_reward()"))
    return Answer(_text(getattr(environment, call["name"])(**call["arguments"]), call["most"]))


def _repeated(environment: object, name: str, arguments: Mapping[str, Any], most: int) -> str:
    try:
        return mark("ok", _text(getattr(environment, name)(**arguments), most))
    except MemoryError:
        raise
    except BaseException as error:  # noqa: BLE001 - it failed the first time too, or the marks differ
        return mark("exception", failure_text(error))


def _parameters(function: Callable[..., object]) -> frozenset[str] | None:
    """Names of a function's parameters; None if it takes any."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def _text(result: object, most: int) -> str:
    if isinstance(result, str):
        text = str.__str__(result)
    else:
        try:
            text = json.dumps(result, ensure_ascii=False, allow_nan=False)
        except RecursionError:
            raise BadValue(f"the result is nested too deeply; {_JSON}") from None
        except (TypeError, ValueError) as error:
            raise BadValue(f"the result is not JSON: {str(error)[:200]}; {_JSON}") from None
    text = shortened(text, most)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadValue("the result is not valid Unicode; decode bytes with errors='replace'") from None
    return clean(text)


def _state(state: object) -> str:
    try:
        text = json.dumps(state, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadValue(f"the state is not JSON: {str(error)[:200]}") from None
    if len(text) > region.STATE_BYTES:
        raise BadValue(
            f"the state has {len(text)} bytes as JSON, more than {region.STATE_BYTES >> 10} KiB; store less in it"
        )
    return text
