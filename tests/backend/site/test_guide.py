"""The guide is served as HTML: every page, link and picture, without a script or another server."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from backend.site.guide_page import PAGES, address, rendered, sections
from tests.backend.server import Backend

ROOT = Path(__file__).parents[3]
FILES = sorted(PAGES.rglob("*.md"))


class PageParts(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.add(tag)
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if values.get("src"):
            self.sources.append(str(values["src"]))
        if values.get("id"):
            self.ids.append(str(values["id"]))


@pytest.fixture(scope="module")
def parts() -> dict[str, PageParts]:
    return {address(str(file.relative_to(PAGES))): PageParts(rendered(PAGES, file)) for file in FILES}


def test_every_link_and_picture_of_every_page_leads_somewhere(parts: dict[str, PageParts]) -> None:
    broken = []
    for name, page in parts.items():
        for link in page.links:
            path, _, anchor = unquote(link).partition("#")
            served = path in parts or path in ("", "/", "/docs", "/openapi.json")
            if "://" in link or link.startswith("mailto:"):
                continue
            if path.startswith("/guide/") and not served:
                served = (PAGES / path.removeprefix("/guide/")).is_file()
            anchored = not anchor or anchor in parts.get(path or name, page).ids
            if not served or not anchored:
                broken.append((name, link))
        broken += [(name, one) for one in page.sources if not (PAGES / one.removeprefix("/guide/")).is_file()]
        assert not page.tags & {"script", "iframe", "object"}, name
        assert len(page.ids) == len(set(page.ids)), name
    assert broken == []


def test_the_contents_name_every_page(parts: dict[str, PageParts]) -> None:
    listed = {link for section in sections(PAGES) for link, _ in section.links}
    assert {name for name in parts if "/decisions/" not in name} - listed == {"/guide"}


def test_it_is_served_with_a_policy_that_allows_no_script(backend: Backend) -> None:
    start = backend.bare.get("/guide")
    assert start.status_code == 200
    policy = start.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy
    page = backend.bare.get("/guide/jobs")
    assert "<h1" in page.text and "aria-current=page>Jobs</a>" in page.text
    assert page.text == backend.bare.get("/guide/jobs.md").text
    again = backend.bare.get("/guide/jobs", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.text) == (304, "")
    picture = backend.bare.get("/guide/img/architecture.svg")
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/svg+xml")


@pytest.mark.parametrize(
    "path", ["nothing", "%2e%2e/README.md", "%2e%2e/frontend/package.json", "img", "a/b"]
)
def test_nothing_outside_the_guide_is_served(backend: Backend, path: str) -> None:
    response = backend.bare.get(f"/guide/{path}", headers={"accept": "text/html"})
    assert response.status_code == 404


def test_its_colours_are_those_of_the_page() -> None:
    guide = (ROOT / "backend" / "site" / "colors.css").read_text()
    page = (ROOT / "frontend" / "src" / "styles" / "tokens.css").read_text()
    both = []
    for text, dark in ((guide, "@media (prefers"), (page, '[data-mantine-color-scheme="dark"]')):
        light_part, dark_part = text[: text.index(dark)], text[text.index(dark) :]
        both.append([dict(re.findall(r"--([\w-]+): ([^;]+);", part)) for part in (light_part, dark_part)])
    for ours, theirs in zip(*both, strict=True):
        assert ours.items() <= theirs.items() and len(ours) > 8
