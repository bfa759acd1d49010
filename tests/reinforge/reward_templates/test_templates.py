"""Every template does in the sandbox what it says: the first example scores best, parts and reasons make sense."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.errors import NotFound
from reinforge.reward_templates import template, templates
from reinforge.schemas.rewards import RewardTemplate
from tests.worker.sandbox.harness import running_daemon
from worker.sandbox import RewardRow, RowResult, SandboxClient

IDS = [each.id for each in templates()]


@pytest.fixture(scope="module")
def client() -> Iterator[SandboxClient]:
    with running_daemon(pool=1) as running, running.client() as client:
        yield client


def scored(client: SandboxClient, each: RewardTemplate, completions: list[str]) -> list[RowResult]:
    prompt = str(each.example_item["prompt"])
    rows = [
        RewardRow(prompt=prompt, completion=text, item=each.example_item, group=0) for text in completions
    ]
    outcome = client.score(each.source, rows, granularity=each.granularity)
    assert outcome.status == "ok", outcome.message
    return outcome.rows


@pytest.mark.parametrize("id", IDS)
def test_the_first_example_scores_best(client: SandboxClient, id: str) -> None:
    each = template(id)
    rows = scored(client, each, each.example_completions)
    assert [row.status for row in rows] == ["ok"] * len(rows), [row.message for row in rows]
    values = [row.value for row in rows if row.value is not None]
    assert values[0] == max(values) > sorted(values)[-2]
    assert values[0] > 0.9
    assert min(values) < 0.5
    assert values == sorted(values, reverse=True), "examples go from good to bad"
    assert all(0 <= value <= 1 for value in values)
    if id != "shorter_wins":  # TRL's signature has numbers only
        assert all(row.reason for row in rows)
        assert len({row.reason for row in rows}) > 1
    for row in rows:
        assert all(0 <= value <= 1 for value in row.parts.values())


@pytest.mark.parametrize("id", IDS)
def test_a_template_explains_itself(client: SandboxClient, id: str) -> None:
    each = template(id)
    assert each.source.startswith('"""') and len(each.description) > 60
    assert set(each.columns) <= set(each.example_item)
    [entry] = client.validate(each.source).entries
    assert entry.line is not None
    assert each.source.splitlines()[entry.line - 1].startswith(f"def {entry.name}(")


@pytest.mark.parametrize("id", IDS)
def test_odd_completions_are_scored_too(client: SandboxClient, id: str) -> None:
    each = template(id)
    odd = ["", " \n", "<answer></answer>" * 50, "{", "[]", "9" * 400, "\u202e世界 ¾ é\u0301", "x" * 100_000]
    for row in scored(client, each, odd):
        assert row.status == "ok", (row.status, row.message)
        assert row.value is not None and 0 <= row.value <= 1


def test_parts_tell_apart_what_the_score_adds_up(client: SandboxClient) -> None:
    each = template("several_parts")
    short, long, wrong, formless = scored(client, each, each.example_completions)
    assert short.parts["right"] == long.parts["right"] == 1
    assert short.parts["brief"] > long.parts["brief"]
    assert (wrong.parts["right"], wrong.parts["brief"], wrong.parts["form"]) == (0, 0, 1)
    assert formless.parts["form"] == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("about -1,209,600.0 or rather 1.2096e6", 1.0),
        ("1209600 s.", 1.0),
        ("1209601", 1.0),  # within the tolerance
        ("1210000", 0.0),
        ("1209600, of 14 days", 0.0),  # the last number counts
    ],
)
def test_numbers_are_read_as_people_write_them(client: SandboxClient, text: str, value: float) -> None:
    [row] = scored(client, template("number_within"), [text])
    assert row.value == value, row.reason


def test_code_that_ends_its_process_or_never_ends_is_no_success(client: SandboxClient) -> None:
    each = template("unit_tests")
    rows = [
        RewardRow(prompt="", completion=code, item=each.example_item)
        for code in ("import sys\nsys.exit()", "import os\nos._exit(0)", "while True: pass")
    ]
    outcome = client.score(each.source, rows, isolate="sample")
    assert outcome.rows[0].value == 0
    assert [row.status for row in outcome.rows[1:]] == ["exited", "timeout"]


def test_an_unknown_template_names_the_known_ones() -> None:
    with pytest.raises(NotFound) as caught:
        template("nope")
    assert "exact_answer" in str(caught.value.hint)


def test_every_source_is_in_the_catalogue() -> None:
    folder = Path(__file__).parents[3] / "reinforge" / "reward_templates" / "sources"
    assert sorted(path.stem for path in folder.glob("*.py")) == sorted(IDS)
