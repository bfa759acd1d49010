"""docs/img holds what the pages show, and `make screens` can take every screen among it."""

import re

from scripts.pictures import IMAGES, referenced, screens, unreferenced
from tests.support.markdown import ROOT

SIZES = re.compile(r"-(1440|1024|390)-(light|dark)$")


def test_every_picture_is_on_a_page() -> None:
    assert unreferenced(IMAGES) == []


def test_every_picture_that_a_page_shows_is_there() -> None:
    assert referenced() - {path.name for path in IMAGES.iterdir()} == set()
    assert len(screens()) > 20


def test_every_screen_that_a_page_shows_can_be_taken() -> None:
    source = (ROOT / "frontend" / "e2e" / "screens.mjs").read_text(encoding="utf-8")
    names = set(re.findall(r'^    (?:\[|  )"([a-z-]+)", ?', source, re.MULTILINE))
    names |= set(re.findall(r'^      "([a-z-]+)",$', source, re.MULTILINE))
    assert "job-first-screen" in names and "two-evaluations" in names
    assert [name for name in screens() if SIZES.sub("", name) not in names or not SIZES.search(name)] == []
