"""Take each defence of defences.toml away and see its test fail. A test that still passes shows nothing.

The edits are made in this working tree, one at a time, and undone: files that are edited must have no changes that git
does not know. What came of it is written to `benchmarks/results/defences.json`.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("defences.toml")
RESULT = ROOT / "benchmarks" / "results" / "defences.json"
SECONDS = 400
"""Longest time of one test. A test that hangs without its defence has failed."""
_TEST_FAILED = 1
"""Pytest's exit status; other failures (no such test, an error in the file) show nothing."""


@dataclass(frozen=True)
class Defence:
    """One edit that takes a defence away, and the test that has to fail then."""

    threat: str
    file: str
    old: str
    new: str
    test: str

    def without(self, text: str) -> str:
        """The file's text without the defence. Raises ValueError unless `old` is there exactly once."""
        if (times := text.count(self.old)) != 1:
            raise ValueError(f"{self.file} has {times} times: {self.old}")
        return text.replace(self.old, self.new)


def defences() -> list[Defence]:
    return [Defence(**entry) for entry in tomllib.loads(LIST.read_text(encoding="utf-8"))["defence"]]


@contextmanager
def taken_away(defence: Defence, root: Path = ROOT) -> Iterator[None]:
    path = root / defence.file
    text = path.read_text(encoding="utf-8")
    path.write_text(defence.without(text), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def outcome(test: str) -> str:
    """`failed`, `passed`, `hung`, or what pytest said otherwise."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    try:
        status = subprocess.run(
            command, cwd=ROOT, capture_output=True, timeout=SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return "hung"
    return {0: "passed", _TEST_FAILED: "failed"}.get(status, f"pytest ended with {status}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="defences whose threat, file or test has this text")
    options = parser.parse_args()
    chosen = [
        defence for defence in defences() if options.only in f"{defence.threat} {defence.file} {defence.test}"
    ]
    if dirty := _git("status", "--porcelain", "--", *{defence.file for defence in chosen}):
        sys.exit(f"Files with changes, which would be lost. Commit or restore them first:\n{dirty}")
    results = []
    for number, defence in enumerate(chosen, 1):
        with taken_away(defence):
            came = outcome(defence.test)
        results.append({**asdict(defence), "test_without_it": came})
        print(f"{number:3} of {len(chosen)}  {came:8} {defence.threat}", flush=True)
    useless = [result for result in results if result["test_without_it"] not in ("failed", "hung")]
    if not options.only:
        _write(results, len(useless))
    if useless:
        sys.exit(f"{len(useless)} tests do not fail without the defence that they are named for")


def _write(results: list[dict[str, str]], useless: int) -> None:
    content = {
        "commit": _git("rev-parse", "HEAD").strip(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}",
        "defences": len(results),
        "tests_that_do_not_fail": useless,
        "results": [
            {key: result[key] for key in ("threat", "file", "test", "test_without_it")} for result in results
        ],
    }
    RESULT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
