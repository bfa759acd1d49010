"""Nothing that people read or run installs a name that nobody owns on a package index."""

import re
import subprocess
from pathlib import Path

import reinforge

ROOT = Path(__file__).resolve().parents[2]
_INSTALLS = re.compile(r"\b(?:pip3?|pipx|uv tool|uv|uvx)\s+(?:install|download|run|add)\s+([^\n`]*)")
_BARE = re.compile(r"(?i)reinforge([-_.]server)?(\[[^\]]*\])?([=<>~!;@].*)?")
_WHEEL = re.compile(r"reinforge-(\d[\w.]*)-py3-none-any\.whl")
_SEARCHED = (
    "*.md",
    "*.yml",
    "*.yaml",
    "*.toml",
    "*.py",
    "*.sh",
    "*.ts",
    "*.tsx",
    "Makefile",
    "Dockerfile",
    ".ci/run",
)
_HISTORY = ("tests/", "CHANGELOG.md")


def files() -> list[Path]:
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *_SEARCHED]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if not name.startswith(_HISTORY) and (ROOT / name).is_file()]


def installs_a_bare_name(line: str) -> bool:
    for arguments in _INSTALLS.findall(line):
        words = arguments.partition(" #")[0].split()
        if any(_BARE.fullmatch(word.strip("'\"(),;.&|")) for word in words):
            return True
    return False


def test_the_search_knows_bare_names() -> None:
    for line in ("pip install reinforge", "pip install 'reinforge-server[train]'", "python -m pip install reinforge==1",
                 "uv pip install -q reinforge", "Run `pip install reinforge[worker]`."):  # fmt: skip
        assert installs_a_bare_name(line), line
    for line in ("pip install http://host/client/reinforge-0.2.0-py3-none-any.whl", "pip install dist/reinforge-*.whl",
                 "pip install -e '.[backend]'", "pip install openai", "pip install x  # not reinforge"):  # fmt: skip
        assert not installs_a_bare_name(line), line


def test_nothing_installs_a_bare_name() -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if installs_a_bare_name(line)
    ]
    assert not faults, "\n".join(faults)


def test_the_documents_name_the_wheel_of_this_version() -> None:
    named = {
        (str(path.relative_to(ROOT)), version)
        for path in files()
        if path.suffix == ".md"
        for version in _WHEEL.findall(path.read_text(encoding="utf-8"))
    }
    assert {name for name, _ in named} >= {"docs/install.md", "docs/sdk.md", "docs/cli.md"}
    assert {version for _, version in named} == {reinforge.__version__}
