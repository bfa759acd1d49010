"""docs/coverage.md: every proof exists, and README's Status says the same."""

import ast
import datetime
import json
import re
from functools import cache
from pathlib import Path

from reinforge import __version__
from reinforge.parsing.python_source import parse
from reinforge.presets import FAMILIES, PRESETS
from tests.support.markdown import ROOT, Row, anchors, links, rows, section, text_of

COVERAGE = ROOT / "docs" / "coverage.md"
ROWS = rows(text_of(COVERAGE))
STATES = {"works", "partly", "not supported", "out of scope"}
MISSING = "Not run or missing"
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")
NAMED = re.compile(r"(preset|vector|claim) `([^`]+)`")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
README = text_of(ROOT / "README.md")
STATUS = section(README, "Status")


def anchor(row: Row) -> str | None:
    match = ANCHOR.match(row.cells[0])
    return match.group(1) if match else None


@cache
def functions(path: Path) -> frozenset[str]:
    tree = parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@cache
def names(kind: str) -> frozenset[str]:
    if kind == "preset":
        return frozenset(PRESETS)
    if kind == "claim":
        return anchors(ROOT / "docs" / "claims.md")
    vectors = json.loads((ROOT / "tests" / "vectors" / "algorithm_vectors.json").read_text(encoding="utf-8"))
    return frozenset(vector["id"] for vector in vectors["vectors"])


def absent(row: Row) -> list[str]:
    """Proofs of a row that do not exist."""
    proof = row.cells[2]
    missing = [f"{kind} {name}" for kind, name in NAMED.findall(proof) if name not in names(kind)]
    for file, function in TEST.findall(proof):
        path = ROOT / file
        if not path.is_file() or (function and function not in functions(path)):
            missing.append(f"{file}::{function}")
    return missing


def group(title: str) -> list[str]:
    """Anchors of docs/coverage.md that one item of README's Status links to."""
    item = re.search(rf"^\* \*\*{title}\*\*(.*?)(?=^\* |\Z)", STATUS, re.MULTILINE | re.DOTALL)
    assert item, title
    return [link.removeprefix("docs/coverage.md#") for link in links(item.group(1))]


def problems(row: Row) -> list[str]:
    what, state, proof, note = row.cells
    complaints = absent(row)
    if not what or state not in STATES:
        complaints.append(f"unknown state {state}")
    evidence = NAMED.findall(proof) + TEST.findall(proof)
    if state in {"works", "partly"} and not evidence:
        complaints.append("no proof")
    if state in {"not supported", "out of scope"} and evidence:
        complaints.append("a proof of something that is not supported")
    if rest := NAMED.sub("", TEST.sub("", proof)).replace(",", "").strip():
        complaints.append(f"not a proof: {rest}")
    if not note and state != "works":
        complaints.append("no reason")
    return complaints


def test_every_row_has_a_state_and_what_it_needs() -> None:
    assert {row.cells[0]: faults for row in ROWS if (faults := problems(row))} == {}


def test_what_works_has_a_test_or_a_claim() -> None:
    """A preset alone is only a name: a vector, a test or a claim has to go with it."""
    bare = [
        row.cells[0]
        for row in ROWS
        if row.cells[1] == "works"
        and not TEST.search(row.cells[2])
        and {kind for kind, _ in NAMED.findall(row.cells[2])} <= {"preset"}
    ]
    assert bare == []


def test_whatever_waits_for_something_links_to_it() -> None:
    missing = {anchor(row) for row in ROWS if row.section == MISSING}
    for row in ROWS:
        if row.cells[1] == "not supported" and row.section != MISSING:
            targets = {link.removeprefix("#") for link in links(row.cells[3])}
            assert targets & missing, row.cells[0]


def test_few_things_are_out_of_scope() -> None:
    assert len(ROWS) > 120
    assert sum(row.cells[1] == "out of scope" for row in ROWS) <= 10


def test_every_preset_is_covered_or_no_subject_of_the_articles() -> None:
    covered = {name for row in ROWS for kind, name in NAMED.findall(row.cells[2]) if kind == "preset"}
    others = {
        "opo",
        "passk_max",
        "lite_ppo",
        "luspo",
        "cispo",
        "sapo",
        "gmpo",
        "vespo",
        "intellect2",
        "scale_rl",
    }
    assert names("preset") - covered == others


def test_readme_says_what_works() -> None:
    states = {anchor(row): row.cells[1] for row in ROWS if anchor(row)}
    works = group("Works and tested")
    assert works and {states.get(name) for name in works} == {"works"}
    assert f"with {len(PRESETS) - len(FAMILIES['agents'])} of the presets" in STATUS
    assert f"**{len(PRESETS)} algorithm presets**" in README


def test_readme_lists_what_was_not_run_and_what_is_not_supported() -> None:
    missing = [row for row in ROWS if row.section == MISSING]
    not_run = {anchor(row) for row in missing if row.cells[1] == "partly"}
    unsupported = {anchor(row) for row in missing if row.cells[1] == "not supported"}
    assert set(group("Not run yet")) == not_run
    assert set(group("Not supported")) == unsupported
    assert len(not_run) + len(unsupported) == len(missing)
    assert all(row.cells[3].startswith("Not run. ") for row in missing if row.cells[1] == "partly")


def test_the_status_has_a_date_and_the_version() -> None:
    line = STATUS.split("\n\n")[1]
    date = re.match(r"(\d{1,2} \w+ \d{4}), version (\d+\.\d+\.\d+)\.", line)
    assert date, line
    datetime.datetime.strptime(date.group(1), "%d %B %Y")
    assert date.group(2) == __version__


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 90
