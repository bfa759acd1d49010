"""Templates of graders: `{{ item.answer }}`, `{{ sample.output_text }}`.

Paths: `.name`, `[0]`, `["any key"]`. Strings are inserted unchanged, other values as JSON. A
path that does not resolve is an error.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from reinforge.grading.errors import TemplateSyntaxError, UnresolvedVariable

NAMESPACES = ("item", "sample")
SAMPLE_FIELDS = ("output_text", "output_json", "output_tools", "choices", "output_audio")
NOT_JSON = "the completion is not JSON"
MAX_CHARACTERS = 1 << 20

MAX_VARIABLES = 1000
MAX_VARIABLE_CHARACTERS = 1000

_HEAD = re.compile(r"\w+")
_STEP = re.compile(
    r"""\.(?P<name>[\w-]+)|\[(?P<index>-?\d+)\]|\["(?P<double>[^"]*)"\]|\['(?P<single>[^']*)'\]"""
)


@dataclass(frozen=True, slots=True)
class Variable:
    """Variable of a template: `{{ sample.output_tools[0].function }}` is ("sample", ("output_tools", 0,
    "function")).
    """

    namespace: str
    path: tuple[str | int, ...]

    def __str__(self) -> str:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return self.namespace + "".join(steps)

    def value(self, item: Mapping[str, Any], sample: Mapping[str, Any]) -> Any:
        value: Any = item if self.namespace == "item" else sample
        for depth, step in enumerate(self.path):
            try:
                value = _member(value, step)
            except (KeyError, IndexError, TypeError) as error:
                raise UnresolvedVariable(self._fault(depth, value)) from error
        return value

    def _fault(self, depth: int, value: Any) -> str:
        where = str(Variable(self.namespace, self.path[:depth]))
        if isinstance(value, Mapping):
            keys = ", ".join(sorted(map(str, value))[:20]) or "nothing"
            return f"{{{{ {self} }}}} does not resolve: {where} has no {self.path[depth]!r}; it has {keys}"
        if isinstance(value, list):
            return f"{{{{ {self} }}}} does not resolve: {where} is a list of {len(value)}, without {self.path[depth]!r}"
        if value is None and where == "sample.output_json":
            return f"{{{{ {self} }}}} does not resolve: {NOT_JSON}"
        return f"{{{{ {self} }}}} does not resolve: {where} is {_kind(value)} and has no members"


@dataclass(frozen=True, slots=True)
class Template:
    parts: tuple[str | Variable, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(part for part in self.parts if isinstance(part, Variable))

    def render(self, item: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
        text = "".join(
            part if isinstance(part, str) else as_text(part.value(item, sample)) for part in self.parts
        )
        if len(text) > MAX_CHARACTERS:
            raise UnresolvedVariable(
                f"the filled-in text has {len(text):,} characters, more than the limit of {MAX_CHARACTERS:,}"
            )
        return text


@lru_cache(maxsize=256)
def parse(text: str) -> Template:
    """Raises TemplateSyntaxError."""
    parts: list[str | Variable] = []
    end = variables = 0
    while (start := text.find("{{", end)) >= 0:
        close = text.find("}}", start + 2)
        if close < 0:
            raise TemplateSyntaxError(
                f"{text[start : start + 40]!r} is not closed: write {{{{ item.column }}}}"
            )
        variables += 1
        if variables > MAX_VARIABLES:
            raise TemplateSyntaxError(f"the text has more than {MAX_VARIABLES:,} variables")
        if close - start - 2 > MAX_VARIABLE_CHARACTERS:
            raise TemplateSyntaxError(
                f"{text[start : start + 40]!r} is longer than {MAX_VARIABLE_CHARACTERS:,} characters"
            )
        parts += [text[end:start], _variable(text[start + 2 : close])]
        end = close + 2
    return Template(tuple(part for part in [*parts, text[end:]] if part != ""))


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _variable(inner: str) -> Variable:
    text = inner.strip()
    head = _HEAD.match(text)
    if head is None or head[0] not in NAMESPACES:
        raise TemplateSyntaxError(
            f"{{{{ {text[:60]} }}}} begins with neither `item` (the row) nor `sample` (the completion)"
        )
    path: list[str | int] = []
    position = head.end()
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            raise TemplateSyntaxError(
                f"{{{{ {text[:60]} }}}} cannot be read after {text[:position]!r}: paths are made of .name, [0] and "
                '["any key"]'
            )
        kind = str(step.lastgroup)
        path.append(int(step[kind]) if kind == "index" else step[kind])
        position = step.end()
    if not path:
        raise TemplateSyntaxError(f"{{{{ {text} }}}} names no field: write {{{{ {text}.name }}}}")
    if head[0] == "sample" and path[0] not in SAMPLE_FIELDS:
        raise TemplateSyntaxError(
            f"there is no {{{{ sample.{path[0]} }}}}; the fields of sample are {', '.join(SAMPLE_FIELDS)}"
        )
    return Variable(head[0], tuple(path))


def _member(value: Any, step: str | int) -> Any:
    if isinstance(value, Mapping):
        return value[step if isinstance(step, str) else str(step)]
    if isinstance(value, list | tuple):
        if isinstance(step, str) and not step.isdecimal():
            raise TypeError(step)
        return value[int(step)]
    raise TypeError(step)


def _kind(value: Any) -> str:
    names = {str: "text", bool: "a truth value", int: "a number", float: "a number", type(None): "empty"}
    return names.get(type(value), f"a {type(value).__name__}")
