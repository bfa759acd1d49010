"""Pictures of screens that the pages show: `docs/img` holds these and no others."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "img"
_LINK = re.compile(r"\]\((?:docs/|\.\./)?img/([\w-]+\.\w+)\)")


def referenced() -> set[str]:
    """File names below `docs/img` that README.md or a page of the guide shows."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return {name for page in pages for name in _LINK.findall(page.read_text(encoding="utf-8"))}


def screens() -> list[str]:
    """Pictures of the page among them, `NAME-WIDTH-THEME` each, sorted."""
    return sorted(Path(name).stem for name in referenced() if name.endswith(".webp"))


def unreferenced(folder: Path) -> list[Path]:
    """Pictures in the folder that no page shows."""
    used = referenced()
    return sorted(path for path in folder.iterdir() if path.name not in used)
