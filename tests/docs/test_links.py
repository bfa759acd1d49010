"""Links between pages lead to files and headings that are there."""

from pathlib import Path

from tests.support.markdown import ROOT, anchors, links, pages, text_of


def broken(page: Path) -> list[str]:
    """Relative links of a page that lead nowhere."""
    faults = []
    for link in links(text_of(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            faults.append(link)
    return faults


def test_links_lead_somewhere() -> None:
    assert {str(page.relative_to(ROOT)): faults for page in pages() if (faults := broken(page))} == {}
