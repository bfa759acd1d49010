"""Pages of the guide: Markdown of `docs/` as HTML, whose links and pictures lead to this server."""

import functools
import itertools
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from backend.site.colors import COLORS

_ROOM = Path(__file__).resolve().parents[1]
_CHECKOUT = (_ROOM.parent / "pyproject.toml").is_file()
# A wheel carries the pages as the second.
PAGES = _ROOM.parent / "docs" if _CHECKOUT else _ROOM / "guide"
_STYLE = COLORS + (Path(__file__).parent / "guide.css").read_text(encoding="utf-8")
_TEXT = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class GuideSection:
    title: str
    links: tuple[tuple[str, str], ...]


def address(name: str) -> str:
    """`jobs.md` → `/guide/jobs`, `decisions/README.md` → `/guide/decisions`."""
    path = name.removesuffix(".md")
    if path == "README" or path.endswith("/README"):
        path = path[: -len("README")].rstrip("/")
    return f"/guide/{path}".rstrip("/")


def source(folder: Path, path: str) -> Path | None:
    """The Markdown file of `/guide/{path}`, or None."""
    for name in (f"{path}.md", f"{path}/README.md") if path else ("README.md",):
        file = (folder / name).resolve()
        if file.is_relative_to(folder.resolve()) and file.is_file():
            return file
    return None


def target(link: str, page: str) -> str | None:
    """Address on the server for a link of `page`; None for a file of the repository that is not served."""
    if "://" in link or link.startswith(("mailto:", "#")):
        return link
    name, mark, anchor = link.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
    if path.startswith(".."):
        return None
    if path == "openapi.json":
        return "/openapi.json"
    return (address(path) if path.endswith(".md") else f"/guide/{path}") + mark + anchor


def rendered(folder: Path, file: Path, *, font: str | None = None) -> str:
    name = file.relative_to(folder.resolve()).as_posix()
    body, headings = _body(file.read_text(encoding="utf-8"), name)
    title = next((heading.text for heading in headings if heading.level == 1), "Guide")
    face = (
        f'@font-face{{font-family:"Inter Variable";font-weight:100 900;src:url({font}) format("woff2")}}'
        if font
        else ""
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>{escape(title)} · Reinforge guide</title><link rel="icon" href="/favicon.svg">'
        f"<style>{face}{_STYLE}</style></head><body>"
        '<a class="skip" href="#text">Skip to the text</a>'
        '<header><a class="brand" href="/"><i aria-hidden="true"></i>Reinforge</a>'
        '<a href="/guide">Guide</a><a href="/docs">API</a><a class="jump" href="#contents">Contents</a>'
        '</header><div class="columns">'
        f"{_contents(sections(folder), address(name))}"
        f'<main id="text" tabindex="-1">{body}</main>{_on_this_page(headings)}</div></body></html>'
    )


def sections(folder: Path) -> list[GuideSection]:
    """Table of contents: the lists below the headings of `README.md`."""
    tokens = MarkdownIt("commonmark").parse((folder / "README.md").read_text(encoding="utf-8"))
    result: list[GuideSection] = []
    for before, token in itertools.pairwise(tokens):
        if token.type != "inline":
            continue
        if before.type == "heading_open" and before.tag == "h2":
            result.append(GuideSection(token.content, ()))
        elif result and (link := _first_link(token.children or [])):
            last = result[-1]
            result[-1] = GuideSection(last.title, (*last.links, link))
    return result


def _first_link(parts: Sequence[Token]) -> tuple[str, str] | None:
    for part, text in itertools.pairwise(parts):
        if part.type == "link_open":
            leads_to = target(str(part.attrs["href"]), "README.md")
            return (leads_to, text.content) if leads_to else None
    return None


@functools.cache
def _parser() -> MarkdownIt:
    # Pages are part of the release; their HTML is `<br>` and `<a id>`.
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def _body(text: str, page: str) -> tuple[str, list[Heading]]:
    parser = _parser()
    tokens = parser.parse(text)
    headings: list[Heading] = []
    for before, token in itertools.pairwise(tokens):
        if before.type == "heading_open":
            plain = "".join(
                part.content for part in token.children or [] if part.type in ("text", "code_inline")
            )
            anchor = _anchor(plain, headings)
            before.attrSet("id", anchor)
            headings.append(Heading(int(before.tag[1]), anchor, plain))
        if token.type == "inline":
            token.children = _relinked(token.children or [], page)
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table>", '<div class="wide" tabindex="0" role="group" aria-label="Table"><table>')
    return html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">'), headings


def _anchor(text: str, earlier: list[Heading]) -> str:
    """Anchor of a heading, as GitHub names it."""
    slug = _TEXT.sub("", text.strip().lower()).replace(" ", "-")
    repeats = sum(
        one.anchor == slug or (one.anchor.startswith(f"{slug}-") and one.anchor[len(slug) + 1 :].isdigit())
        for one in earlier
    )
    return f"{slug}-{repeats}" if repeats else slug


def _relinked(parts: list[Token], page: str) -> list[Token]:
    result: list[Token] = []
    closing: list[bool] = []
    for part in parts:
        if part.type == "link_open":
            leads_to = target(str(part.attrs["href"]), page)
            closing.append(leads_to is not None)
            if leads_to is None:
                continue
            part.attrSet("href", leads_to)
            if "://" in leads_to:
                part.attrSet("rel", "noopener noreferrer")
        elif part.type == "link_close" and not closing.pop():
            continue
        elif part.type == "image":
            part.attrSet("src", target(str(part.attrs["src"]), page) or "")
            part.attrSet("loading", "lazy")
        result.append(part)
    return result


def _contents(parts: list[GuideSection], current: str) -> str:
    lists = "".join(
        f"<li><b>{escape(part.title)}</b><ul>"
        + "".join(
            f'<li><a href="{escape(link)}"{" aria-current=page" if link == current else ""}>{escape(title)}</a>'
            for link, title in part.links
        )
        + "</ul>"
        for part in parts
    )
    return f'<nav id="contents" aria-label="Guide"><ul>{lists}</ul></nav>'


def _on_this_page(headings: list[Heading]) -> str:
    links = [heading for heading in headings if heading.level == 2]
    if len(links) < 2:
        return ""
    items = "".join(f'<li><a href="#{escape(one.anchor)}">{escape(one.text)}</a>' for one in links)
    return f'<nav class="here" aria-label="On this page"><b>On this page</b><ul>{items}</ul></nav>'
