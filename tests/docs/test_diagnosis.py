"""docs/diagnosis.md has a section per finding."""

import re
from pathlib import Path

from reinforge.diagnosis.texts import TEXTS

PAGE = Path(__file__).parents[2] / "docs/diagnosis.md"


def test_every_finding_has_a_section() -> None:
    sections = re.findall(r"^## (\w+)\n\n\*\*(.+)\.\*\*", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == [(code, TEXTS[code].title) for code in sorted(TEXTS)]
