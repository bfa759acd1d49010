"""Regression tests of inputs that the fuzzer found, in the largest accepted size."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import ValidationError

from reinforge.dataset import DatasetLimits, inspect
from reinforge.dataset.errors import DatasetError, DatasetTooLarge
from reinforge.dataset.formats.strict_json import parse
from reinforge.dataset.prompts import PromptTemplate
from reinforge.errors import InvalidInput
from reinforge.grading import formula
from reinforge.grading.errors import FormulaError
from reinforge.grading.source import parse_grader
from reinforge.parsing.json_depth import is_wider
from reinforge.parsing.suggestions import nearest
from reinforge.parsing.validation import MOST_PROBLEMS, problems
from reinforge.spec import JobSpec
from tests.fuzz import growth
from worker.rewards.programs import hidden_tests


def test_long_conversations_are_read_by_the_fast_reader() -> None:
    """Many brackets, few levels: the tokenizer that finds the place of a fault takes eight times as long."""
    row = json.dumps({"messages": [{"role": "user", "content": "a"} for _ in range(100)]})
    plain = json.dumps({"messages": "a" * len(row)})
    by_value = growth.seconds(lambda: json.loads(row), 20)
    assert parse(row, 64)["messages"][99]["content"] == "a" and parse(plain, 64)
    assert growth.seconds(lambda: parse(row, 64), 20) < 12 * by_value


def test_deep_rows_are_still_refused_with_their_place() -> None:
    with pytest.raises(DatasetError) as refused:
        parse('{"a": ' + "[" * 64 + "]" * 64 + "}", 64)
    assert (refused.value.code, refused.value.column) == ("nesting_too_deep", 70)


def test_a_header_of_many_columns_is_refused_before_they_are_compared(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    file.write_text(",".join(f"c{n}" for n in range(200_000)) + "\n")

    def read() -> None:
        with pytest.raises(DatasetTooLarge) as refused:
            inspect(file, file.name, DatasetLimits())
        assert refused.value.code == "too_many_columns"

    assert growth.seconds(read) < 3


def test_a_template_takes_only_so_much_from_a_row() -> None:
    template = PromptTemplate.parse("{a}" * 20_000)
    with pytest.raises(DatasetTooLarge) as refused:
        template.render({"a": "x" * 1_000_000})
    assert refused.value.code == "prompt_too_long"


def test_a_formula_of_many_operations_is_refused() -> None:
    assert formula.parse("+".join(["a"] * formula.MAX_OPERATIONS)).value({"a": 1.0}) == formula.MAX_OPERATIONS
    with pytest.raises(FormulaError, match="more than 256 operations"):
        formula.parse("-".join(["a"] * 1500))


def test_of_many_faults_the_first_are_reported() -> None:
    """Each one asked for the schema of a job, which takes 80 ms to make."""
    calls: list[int] = []

    def schema() -> dict[str, object]:
        calls.append(1)
        return JobSpec.model_json_schema()

    value = {f"k{n}": 1 for n in range(500)}
    with pytest.raises(ValidationError) as refused:
        JobSpec.model_validate(value)
    assert len(problems(refused.value.errors(), value, schema)) == MOST_PROBLEMS
    assert calls == [1]


def test_of_many_faults_in_a_grader_the_first_are_reported() -> None:
    text = json.dumps({"type": "string_check"} | {f"k{n}": 1 for n in range(500)})
    with pytest.raises(InvalidInput) as refused:
        parse_grader(text)
    assert len(refused.value.errors or []) == MOST_PROBLEMS
    assert "more)" in refused.value.message


def test_a_long_name_is_compared_with_nothing() -> None:
    assert nearest("prompts_per_stepp", ["prompts_per_step"]) == "prompts_per_step"
    assert nearest("prompts_per_step" * 100, ["prompts_per_step" * 100]) is None


def test_width_of_json() -> None:
    wide = {str(n): n for n in range(11)}
    assert is_wider([{"a": [wide]}], 10) and not is_wider([{"a": [wide]}], 11) and not is_wider("a", 0)


@pytest.mark.parametrize(
    "line", ["assert f({n}) == {n}\n", "a{n} = [{n}]\n", "a{n} = [1]\nassert f(a{n}) == 2\n", "f({n})\n"]
)
def test_tests_of_many_statements_take_little_time(line: str) -> None:
    """Each was compared with each other: 64 KiB of them took minutes."""
    source, number = "", 0
    while len(source) < 60_000:
        source, number = source + line.replace("{n}", str(number)), number + 1

    def read() -> None:
        with suppress(hidden_tests.UnreadableTests):
            assert len(hidden_tests.read_tests(source)) == 1

    assert growth.seconds(read) < 5
