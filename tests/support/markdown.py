"""Markdown pages of the repository: their links, anchors and tables."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_MARKED = re.compile(r'<a id="([^"]+)"></a>')


def pages() -> list[Path]:
    """Every page that people read in the repository."""
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted(ROOT.glob("*/README.md")),
    ]


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def without_code(text: str) -> str:
    return _FENCE.sub("", text)


def links(text: str) -> list[str]:
    """Targets of links and pictures, code blocks left out."""
    return _LINK.findall(without_code(text))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Names that a link to this page can end with, as GitHub makes them."""
    text = without_code(text_of(page))
    names: list[str] = _MARKED.findall(text)
    for heading in _HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        repeats = sum(
            name == slug or re.fullmatch(re.escape(slug) + r"-\d+", name) is not None for name in names
        )
        names.append(f"{slug}-{repeats}" if repeats else slug)
    return frozenset(names)


def section(text: str, heading: str) -> str:
    """From a second-level heading to the next one. Raises ValueError when it is not there."""
    start = text.index(f"\n## {heading}\n")
    end = text.find("\n## ", start + 1)
    return text[start : end if end >= 0 else len(text)]


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    section: str
    cells: tuple[str, ...]


def rows(text: str) -> list[Row]:
    """Lines of all tables, without their heads."""
    result: list[Row] = []
    heading, previous_is_rule = "", False
    body = False
    for line in without_code(text).splitlines():
        if line.startswith("## "):
            heading = line[3:].strip()
        previous_is_rule = line.startswith("|---")
        if not line.startswith("|"):
            body = False
        elif previous_is_rule:
            body = True
        elif body:
            result.append(Row(heading, tuple(cell.strip() for cell in line.strip().strip("|").split("|"))))
    return result
