"""Budgets of the source: lines per file and per function, names and words that CONTRIBUTING.md#language refuses.

A file has at most 500 lines, a TSX file 250, a function 60 (`train()` 75). A bigger file needs a line
`# budget: N, reason` (TypeScript: `// …`), N its own limit. Names are counted per top-level folder; a folder
fails when it has more refused names than its ceiling in `NAME_CEILINGS`. A class name is used once, except
by the wire schema of the same concept.
"""

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FILE_LINES, FUNCTION_LINES, TSX_LINES = 500, 60, 250
OWN_FUNCTION = {("worker/training/loop.py", "train"): 75}
EXEMPT = re.compile(r"(^|/)(schema\.gen\.ts|attacks/.*|vectors/.*|versions/.*)$")
OWN_FILE = re.compile(r"(?:#|//) budget: (\d+), \S")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

REFUSED_WORDS = frozenset(
    {"found", "told", "given", "asked", "said", "known", "kept", "wanted", "shown", "seen", "heard", "looked",
     "mine", "door", "lane", "beat", "stall", "aside", "anew", "mend", "telling"}
)  # fmt: skip
"""Words that no name contains; `each` is refused as a whole name only."""
ALLOWED_NAMES = frozenset(
    {"last_seen_at", "not_found", "shown_flips", "stall_seconds", "NotFound", "ObjectNotFound"}
)
"""Fields of the protocol and of the database."""
REFUSED_TEXT = re.compile(r"(?<![</])\b(?:anew|aside|doors?|mend(?:s|ed|ing)?)\b", re.IGNORECASE)
"""Words that no comment, docstring, message or page of the guide contains."""
TEXT_FOLDERS = frozenset(
    {"backend", "benchmarks", "docs", "examples", "frontend", "reinforge", "scripts", "worker"}
)
TEXT_EXEMPT = re.compile(
    r"^(scripts/budgets\.py|docs/decisions/0011-.*|reinforge/reward_library/rewards/language/.*)$"
)
"""Lists of these words, and lists of words of other languages."""
CLASS_FOLDERS = frozenset({"backend", "reinforge", "scripts", "worker"})
SCHEMAS, GENERATED = Path("reinforge/schemas"), Path("reinforge/client/sync")
NAME_CEILINGS: dict[str, int] = {
    "backend": 0,
    "benchmarks": 14,
    "examples": 0,
    "reinforge": 0,
    "scripts": 0,
    "tests": 0,
    "worker": 0,
}
"""Refused names that a top-level folder may still have. Only lower these."""


def tracked() -> list[Path]:
    """Source files and pages of the guide."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    paths = [Path(name) for name in names if not EXEMPT.search(name)]
    return [path for path in paths if path.suffix in {".md", ".py", ".ts", ".tsx"} and path.is_file()]


@functools.cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def size_problems(path: Path) -> list[str]:
    if path.suffix == ".md":
        return []
    text = path.read_text(encoding="utf-8")
    own = OWN_FILE.search(text)
    limit = int(own.group(1)) if own else TSX_LINES if path.suffix == ".tsx" else FILE_LINES
    count = text.count("\n")
    messages = [f"{path}: {count} lines, at most {limit}"] if count > limit else []
    if path.suffix == ".py":
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > OWN_FUNCTION.get((str(path), node.name), FUNCTION_LINES):
                    messages.append(f"{path}:{node.lineno}: {node.name}() has {length} lines")
    return messages


def defined_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(name, line) of all variables, attributes, parameters, functions, classes and import aliases of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs) and node.name:
            yield node.name, node.lineno


def is_refused(name: str) -> bool:
    """Whether a snake_case or CamelCase name contains a refused word, as a word of its own."""
    words = CAMEL.sub("_", name).lower().split("_")
    return name.lstrip("_") not in ALLOWED_NAMES and (name == "each" or not REFUSED_WORDS.isdisjoint(words))


def refused_names(path: Path, text: str) -> list[str]:
    return [f"{path}:{line}: {name}" for name, line in defined_names(parsed(text)) if is_refused(name)]


def name_problems(refused: dict[str, list[str]], ceilings: dict[str, int]) -> tuple[list[str], list[str]]:
    """(failures, notices): refused names above a folder's ceiling, and ceilings that can be lowered."""
    failures, notices = [], []
    for folder in sorted(refused.keys() | ceilings.keys()):
        names, ceiling = refused.get(folder, []), ceilings.get(folder, 0)
        if len(names) > ceiling:
            common = Counter(line.rpartition(" ")[2] for line in names).most_common(10)
            failures.append(
                f"{folder}: {len(names)} refused names, at most {ceiling} (CONTRIBUTING.md#language). Most common: "
                + ", ".join(f"{name} ×{count}" for name, count in common)
                + f". List them with: scripts/budgets.py --names {folder}"
            )
        elif len(names) < ceiling:
            notices.append(
                f"budgets: NAME_CEILINGS[{folder!r}] can be lowered from {ceiling} to {len(names)}"
            )
    return failures, notices


def refused_by_folder(files: list[Path]) -> dict[str, list[str]]:
    refused: dict[str, list[str]] = {}
    for path in files:
        if path.suffix == ".py":
            lines = refused_names(path, path.read_text(encoding="utf-8"))
            refused.setdefault(path.parts[0], []).extend(lines)
    return refused


def text_problems(path: Path, text: str) -> list[str]:
    """Lines with a word that no text of the product contains."""
    if path.parts[0] not in TEXT_FOLDERS or TEXT_EXEMPT.match(path.as_posix()):
        return []
    return [
        f"{path}:{number}: {match.group()!r} (CONTRIBUTING.md#language)"
        for number, line in enumerate(text.splitlines(), 1)
        for match in REFUSED_TEXT.finditer(line)
    ]


def class_problems(sources: dict[Path, str]) -> list[str]:
    """Public class names that two modules of the product define, schemas of the protocol apart."""
    places: dict[str, list[Path]] = {}
    for path, text in sources.items():
        if (
            path.parts[0] not in CLASS_FOLDERS
            or path.is_relative_to(GENERATED)
            or path.is_relative_to(SCHEMAS)
        ):
            continue
        for node in parsed(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path)
    return [
        f"class {name} is defined in {' and '.join(map(str, paths))}: one name, one concept"
        for name, paths in sorted(places.items())
        if len(paths) > 1
    ]


def main(arguments: list[str]) -> int:
    files = tracked()
    refused = refused_by_folder(files)
    if arguments[:1] == ["--names"]:
        print("\n".join(line for folder in arguments[1:] for line in refused.get(folder, [])))
        return 0
    failures, notices = name_problems(refused, NAME_CEILINGS)
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    sources = {path: text for path, text in texts.items() if path.suffix == ".py"}
    messages = [
        *(message for path in files for message in size_problems(path)),
        *(message for path, text in texts.items() for message in text_problems(path, text)),
        *failures,
        *class_problems(sources),
    ]
    print("\n".join(notices + (messages or [f"budgets: {len(files)} files within their size"])))
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
