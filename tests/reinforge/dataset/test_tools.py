"""The column `tools`: valid values and refusals."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from reinforge.dataset import DatasetError, inspect, iter_prompts, prompt_characters, row_tools, tools_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ADD = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": SCHEMA}}
BARE = {"name": "add", "description": "Adds.", "parameters": SCHEMA}
CHAT = [{"role": "user", "content": "1+1="}]


@pytest.mark.parametrize(
    "tools",
    [
        [ADD],
        [BARE],
        [{"type": "function", **BARE}],
        [{"function": BARE}],
        json.dumps([ADD]),
        json.dumps([BARE]),
        [ADD | {"function": {**BARE, "strict": None}}],
    ],
    ids=["whole", "bare", "flat", "no type", "text", "bare text", "null"],
)
def test_functions_in_every_spelling_are_those_of_a_chat_request(tools: Any) -> None:
    assert row_tools({"tools": tools}) == [ADD]


@pytest.mark.parametrize("row", [{}, {"tools": None}, {"tools": []}, {"tools": " "}, {"tools": "[]"}])
def test_nothing_is_no_tools(row: dict[str, Any]) -> None:
    assert row_tools(row) is None


@pytest.mark.parametrize(
    ("tools", "says", "path"),
    [
        ("hammer", "not JSON", ("tools",)),
        ({"name": "add"}, "not a list", ("tools",)),
        (5, "not a list", ("tools",)),
        (["add"], "The tool 1 is not an object", ("tools", 0)),
        ([ADD, {"type": "custom"}], r'The tool 2 is of type "custom"', ("tools", 1)),
        ([{"type": "function", "function": "add"}], "function of tool 1 is not an object", ("tools", 0)),
        ([{"type": "function", "function": {"name": " "}}], "no name", ("tools", 0)),
        ([{"type": "function"}], "no name", ("tools", 0)),
        ([BARE | {"parameters": "none"}], "parameters of tool 1", ("tools", 0)),
        ([BARE | {"description": 5}], "description of tool 1", ("tools", 0)),
        ('[{"parameters": {}}]', "no name", ("tools",)),
    ],
)
def test_what_is_no_function_is_one_error_that_says_what_it_should_be(
    tools: Any, says: str, path: tuple[str | int, ...]
) -> None:
    with pytest.raises(DatasetError, match=says) as caught:
        row_tools({"tools": tools})
    assert (caught.value.code, caught.value.path) == ("invalid_tools", path)
    assert "Rename the column" in (caught.value.hint or "")
    assert tools_of({"tools": tools}) is None


def test_a_file_with_bad_tools_is_refused_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows: list[dict[str, Any]] = [{"messages": CHAT, "tools": [ADD]}, {"messages": CHAT, "tools": ["add"]}]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    for read in (lambda: inspect(path), lambda: list(iter_prompts(path))):
        with pytest.raises(DatasetError, match="not an object") as caught:
            read()
        assert (caught.value.code, caught.value.line) == ("invalid_tools", 2)
        assert caught.value.column == json.dumps(rows[1]).index('["add"]') + 2


def test_tools_come_with_the_prompts(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('prompt,tools\nhi,"[{""name"": ""add""}]"\nho,\n')
    first, second = iter_prompts(path)
    assert first.tools == [{"type": "function", "function": {"name": "add"}}]
    assert second.tools is None
    assert (first.characters > 40, second.characters) == (True, 2)
    assert prompt_characters(CHAT, None) == 4


def test_the_nulls_that_parquet_writes_are_not_the_tools(tmp_path: Path) -> None:
    other = {"name": "now", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}
    rows = [{"prompt": "a", "tools": [BARE]}, {"prompt": "b", "tools": [other]}, {"prompt": "c"}]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    row_tools_read = [row.tools for row in iter_prompts(tmp_path / "rows.parquet")]
    assert row_tools_read == [[ADD], [{"type": "function", "function": other}], None]
