"""Tests of what a branch changes: prints paths below tests/, for pytest.

    touched_rooms.py [BASE]

BASE is main unless you name another commit. Compared are the working tree and the last common commit. A directory of
tests mirrors one of the product: `backend/jobs/pause.py` stands for `tests/backend/jobs`, and a module of a root, such
as `reinforge/errors.py`, for the tests of its name.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
ROOTS = ("reinforge", "backend", "worker")
SUITES = ("e2e", "chaos", "fleet", "support")
"""Directories of tests that are no room."""
OTHERS = {
    ".md": "docs",
    ".github": "scripts",
    ".ci": "scripts",
    "Makefile": "scripts",
    "migrations": "backend/jobs",
}
"""Rooms of files without a directory of their own, by suffix or first part."""


def changed_files(base: str) -> list[str]:
    """Paths that differ from the last common commit with `base`, new files included."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    [common] = git("merge-base", base, "HEAD")
    return [*git("diff", "--name-only", common), *git("ls-files", "--others", "--exclude-standard")]


def room_of(path: str, tests: Path) -> set[str]:
    """Paths below `tests` that hold the tests of one file; none for suites, and for what has no tests."""
    pure = PurePosixPath(path)
    parts = pure.parts
    if parts[0] == "tests":
        return _own(PurePosixPath(*parts[1:]), tests)
    if len(parts) == 2 and parts[0] in ROOTS:
        return {str(file.relative_to(tests)) for file in (tests / parts[0]).glob(f"test_{pure.stem}*.py")}
    for first in (parts[:-1], parts[1:-1]):
        for length in range(len(first), 0, -1):
            room = PurePosixPath(*first[:length])
            if str(room) not in ROOTS and (tests / room).is_dir():
                return {str(room)}
    other = OTHERS.get(parts[0]) or OTHERS.get(pure.suffix)
    return {other} if other and (tests / other).is_dir() else set()


def _own(path: PurePosixPath, tests: Path) -> set[str]:
    if path.parts[0] in SUITES or not (tests / path).is_file():
        return set()
    if path.name.startswith("test_"):
        return {str(path)}
    return {str(path.parent)} if len(path.parts) > 1 and str(path.parent) not in ROOTS else set()


def rooms(paths: Iterable[str], tests: Path = ROOT / "tests") -> list[str]:
    """Without what lies in another one of them."""
    every = {room for path in paths for room in room_of(path, tests)}
    return sorted(
        room for room in every if not any(str(above) in every for above in PurePosixPath(room).parents)
    )


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else "main"
    print(*(f"tests/{room}" for room in rooms(changed_files(base))), sep="\n")


if __name__ == "__main__":
    main()
