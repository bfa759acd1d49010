"""DeepSeek V3, R1 and V3.1: calls between marks with full-width bars, arguments as JSON."""

from reinforge.tool_calls.base import Notation, ParsedCall, Tools
from reinforge.tool_calls.notations.tagged import between
from reinforge.tool_calls.reasoning import think_sections
from reinforge.tool_calls.values import json_object

OPENING, CLOSING = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
SEPARATOR, FENCE = "<｜tool▁sep｜>", "```"


def _read(inner: str, raw: str, tools: Tools) -> ParsedCall:
    """Read `function⟨sep⟩add` with fenced JSON (V3, R1), or `add⟨sep⟩JSON` (V3.1). Raises ValueError."""
    first, mark, rest = inner.partition(SEPARATOR)
    if not mark:
        raise ValueError(f"{SEPARATOR} is missing")
    name, body = first.strip(), rest
    if FENCE in rest:
        name, _, fenced = rest.partition(FENCE)
        name, body = name.strip(), fenced.removeprefix("json").strip().removesuffix(FENCE)
    if not name:
        raise ValueError("the call has no name")
    return ParsedCall(name, json_object(body), raw)


DEEPSEEK = Notation("deepseek", (OPENING,), think_sections, between(OPENING, CLOSING, _read))
