"""Reads docstrings in Google's style."""

import re
from dataclasses import dataclass

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):")
_PARAMETER = re.compile(r"\**(\w+)[ \t]*(?:\([^()\n]{0,200}\))?:(.*)")
_ARGUMENTS = frozenset({"Args", "Arguments", "Parameters"})


@dataclass(frozen=True, slots=True)
class Docstring:
    """description: all text before the first section."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str) -> Docstring:
    description: list[str] = []
    parameters: dict[str, list[str]] = {}
    section, indent, name = "", -1, ""
    for line in text.splitlines():
        stripped, column = line.strip(), len(line) - len(line.lstrip())
        if column == 0 and (heading := _SECTION.fullmatch(stripped)):
            section, indent, name = heading[1], -1, ""
        elif not section:
            description.append(line.rstrip())
        elif section in _ARGUMENTS and stripped:
            indent = column if indent < 0 else indent
            entry = _PARAMETER.fullmatch(stripped) if column <= indent else None
            if entry:
                name = entry[1]
                parameters[name] = [entry[2].strip()]
            elif name:
                parameters[name].append(stripped)
    texts = {name: " ".join(filter(None, lines)) for name, lines in parameters.items()}
    return Docstring(
        "\n".join(description).strip(), {name: joined for name, joined in texts.items() if joined}
    )
