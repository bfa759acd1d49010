"""Every ready reward does in the sandbox what its card, its golden cases and its adversarial set say."""

import ast
import json
from pathlib import Path

import pytest
import yaml

from reinforge.errors import InvalidInput, NotFound
from reinforge.evaluation.golden import outcomes
from reinforge.parsing.python_source import parse
from reinforge.reward_library import (
    GROUPS,
    adversarial_cases,
    fill,
    golden_cases,
    library,
    parameters,
    portable,
    ready_reward,
)
from reinforge.reward_library.cases import CaseRow
from reinforge.schemas.jobs import RewardResult
from reinforge.spec import JobSpec
from tests.reinforge.reward_library.conftest import Scorer
from worker.sandbox import SandboxClient
from worker.sandbox.libraries import DISTRIBUTIONS

IDS = [reward.id for reward in library()]
PYTHON = [reward.id for reward in library() if reward.type == "python"]
FOLDER = Path(__file__).parents[3] / "reinforge" / "reward_library" / "rewards"


@pytest.mark.parametrize("id", IDS)
def test_golden_cases_hold(scored: Scorer, id: str) -> None:
    cases = golden_cases(id)
    results = scored(id, [(case.row, case.completion) for case in cases])
    lesser = scored(id, [(case.row, case.expect.above or "") for case in cases])
    for case, result, less in zip(cases, results, lesser, strict=True):
        place = (case.completion[:100], result.value, result.reason, result.message)
        expect = case.expect
        assert result.status == ("not_applicable" if expect.not_applicable else "ok"), place
        if expect.value is not None:
            assert result.value == pytest.approx(expect.value, abs=expect.tolerance), place
        if expect.least is not None:
            assert result.value is not None and result.value >= expect.least, place
        if expect.most is not None:
            assert result.value is not None and result.value <= expect.most, place
        if expect.above is not None:
            assert result.value is not None and less.value is not None and result.value > less.value, place


@pytest.mark.parametrize("id", IDS)
def test_no_adversarial_completion_gets_what_it_is_after(scored: Scorer, id: str) -> None:
    cases = adversarial_cases(id)
    results = scored(id, [(case.row, case.completion) for case in cases])
    for case, result in zip(cases, results, strict=True):
        place = (case.why, case.completion[:100], result.value, result.reason, result.message)
        assert result.status == "ok" and result.value is not None, place
        assert result.value <= case.most + 1e-9, place
    completions = {case.row.model_dump_json() + case.control: (case.row, case.control) for case in cases}
    honest = dict(zip(completions, scored(id, list(completions.values())), strict=True))
    for case in cases:
        value = honest[case.row.model_dump_json() + case.control].value
        assert value is not None and value > case.most, (case.control, value, case.why)


@pytest.mark.parametrize("id", IDS)
def test_an_adversarial_set_is_large_and_has_no_doubles(id: str) -> None:
    cases = adversarial_cases(id)
    assert len(cases) >= 30
    assert len({(case.row.model_dump_json(), case.completion) for case in cases}) == len(cases)
    assert len(golden_cases(id)) >= 5


@pytest.mark.parametrize("id", IDS)
def test_the_first_example_scores_best_and_has_reasons(scored: Scorer, id: str) -> None:
    reward = ready_reward(id)
    row = CaseRow(
        item=reward.example_item, prompt=str(reward.example_item["prompt"]), beside=reward.example_completions
    )
    results = scored(id, [(row, text) for text in reward.example_completions])
    values = [result.value for result in results if result.value is not None]
    assert len(values) == len(results) > 1, [result.message for result in results]
    assert values[0] == max(values) > min(values)
    assert all(-1 <= value <= 1 for value in values)
    if reward.granularity == "sample":  # TRL's signature has numbers only
        assert len({result.reason for result in results}) > 1


@pytest.mark.parametrize("id", PYTHON)
def test_a_source_explains_itself_and_stands_alone(client: SandboxClient, id: str) -> None:
    reward = ready_reward(id)
    tree = parse(reward.source)
    assert ast.get_docstring(tree)
    assert len(reward.source.splitlines()) <= 110
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
        )
    }
    assert imported <= {"json", "math", "re", "unicodedata", "fractions", "decimal"} | set(DISTRIBUTIONS)
    validation = client.validate(reward.source)
    assert len(validation.entries) == 1, (validation.message, validation.entries)
    assert validation.entries[0].columns == sorted(reward.columns), "its card says what it reads"


@pytest.mark.parametrize("id", IDS)
def test_odd_completions_are_scored_too(scored: Scorer, id: str) -> None:
    reward = ready_reward(id)
    row = CaseRow(item=reward.example_item, prompt=str(reward.example_item["prompt"]))
    odd = [
        "",
        " \n",
        "<answer></answer>" * 50,
        "{",
        "[]",
        "9" * 400,
        "\u202e世界 ¾ é\u0301",
        "x" * 100_000,
        "\ud800",
    ]
    odd = [text.encode("utf-8", "replace").decode() for text in odd]
    for result in scored(id, [(row, text) for text in odd]):
        assert result.status == "ok", (result.status, result.message)
        assert result.value is not None and -1 <= result.value <= 1


@pytest.mark.parametrize("id", PYTHON)
def test_parameters_are_read_and_set_where_they_stand(id: str) -> None:
    source = ready_reward(id).source
    settings = parameters(source)
    assert settings, "every ready reward has something to set"
    assert all(setting.meaning for setting in settings), [
        setting.name for setting in settings if not setting.meaning
    ]
    json.dumps([setting.default for setting in settings])
    again = parameters(fill(source, {setting.name: setting.default for setting in settings}))
    assert again == settings
    changed = fill(source, {settings[0].name: "é"})
    assert parameters(changed)[0].default == "é"
    with pytest.raises(InvalidInput, match="NOPE"):
        fill(source, {"NOPE": 1})


def test_cases_travel_as_golden_cases() -> None:
    cases = portable("exact_answer")
    assert len(cases) == len(golden_cases("exact_answer")) + len(adversarial_cases("exact_answer"))
    hostile = cases[-1]
    result = RewardResult(name="reward", status="ok", value=1.0)
    [outcome] = outcomes([hostile], [result])
    assert not outcome.passed
    assert portable("shorter_wins")[0].prompt == ""


@pytest.mark.parametrize("id", IDS)
def test_a_card_says_what_it_is_for_and_what_it_does_not_see(id: str) -> None:
    reward = ready_reward(id)
    assert len(reward.description) > 60 and reward.limits
    assert set(reward.columns) <= set(reward.example_item)
    assert reward.example_item["prompt"]


def test_a_reward_that_is_a_grader_stands_in_a_job_file_as_it_is() -> None:
    for reward in library():
        if reward.type != "python":
            job = {"model": "m", "data": {"dataset": "d"}, "rewards": [yaml.safe_load(reward.source)]}
            assert JobSpec.model_validate(job).rewards[0].type == reward.type


def test_every_folder_is_in_a_group() -> None:
    there = sorted(path.name for path in FOLDER.iterdir() if (path / "card.yaml").exists())
    assert there == sorted(id for ids in GROUPS.values() for id in ids) == sorted(IDS)


def test_the_error_for_an_unknown_reward_names_the_valid_ones() -> None:
    with pytest.raises(NotFound) as caught:
        ready_reward("nope")
    assert "exact_answer" in str(caught.value.hint)
