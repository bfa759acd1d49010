"""CHANGELOG.md by version, the newest one first and the version of this tree."""

import re

from reinforge import __version__
from tests.support.markdown import ROOT, text_of

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def test_it_is_by_version_and_kind() -> None:
    text = text_of(ROOT / "CHANGELOG.md")
    versions = [heading for heading in HEADING.findall(text) if heading != "Unreleased"]
    assert all(
        re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}( to \d{4}-\d{2}-\d{2})?\)", one) for one in versions
    )
    assert versions[0].startswith(f"{__version__} ")
    numbers = [tuple(map(int, one.split(" ")[0].split("."))) for one in versions]
    assert numbers == sorted(numbers, reverse=True)
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= {"Added", "Changed", "Fixed", "Security"}
    for part in re.split(r"^### .+$", text, flags=re.MULTILINE)[1:]:
        assert part.split("\n## ")[0].strip(), "a kind without an entry"
