"""Columns that a source certainly needs."""

from collections.abc import Callable

import pytest

from worker.sandbox import SandboxClient
from worker.sandbox.jailed.reads import columns_read
from worker.sandbox.jailed.spellings import OPENAI, PREDIBASE, TRL, Entry


def read(source: str, name: str = "grade", spelling: str = OPENAI, required: str = "") -> list[str]:
    function: Callable[..., object] = print
    entry = Entry(name, spelling, function, None, frozenset(required.split()))
    return columns_read(source, [entry])[name]


def grade(body: str) -> str:
    lines = "\n    ".join(body.strip().splitlines())
    return f"def grade(sample, item):\n    text = sample['output_text']\n    {lines}\n"


CERTAIN = {
    "a plain read": "return float(text == item['total'])",
    "behind a condition on the completion": "if not text:\n    return 0.0\nreturn float(text == item['total'])",
    "in a branch for completions": "if text.isdigit():\n    return float(text == item['total'])\nreturn 0.0",
    "the test of a condition": "if item['total'] == text:\n    return 1.0\nreturn 0.0",
    "in a loop over the completion": "return sum(word == item['total'] for word in text.split())",
    "in an f-string": "return {'score': 1.0, 'reason': f\"not {item['total']}\"}",
    "behind a pattern of the module": "if not PATTERN.search(text):\n    return 0.0\nreturn text == item['total']",
    "after and": "return float(text != '' and text == item['total'])",
    "around another error": "try:\n    return float(text) == item['total']\nexcept ValueError:\n    return 0.0",
    "after a failed parse": "try:\n    n = int(text)\nexcept ValueError:\n    return 0.0\nreturn n == item['total']",
}
UNCERTAIN = {
    "asked with get": "return float(text == item.get('total'))",
    "asked with in": "return float(text == item['total']) if 'total' in item else 0.0",
    "asked with get, then read": "return float(text == item['total']) if item.get('total') else 0.0",
    "behind a condition on the row": "if item['kind'] == 'sum':\n    return item['total'] == text\nreturn 0.0",
    "after a return for some rows": "if item['kind'] == 'open':\n    return 1.0\nreturn text == item['total']",
    "behind something made of the row": "kind = item['kind']\nif kind == 'sum':\n    return item['total']\nreturn 0.0",
    "a missing key is caught": "try:\n    return text == item['total']\nexcept KeyError:\n    return 0.0",
    "everything is caught": "try:\n    return text == item['total']\nexcept:\n    return 0.0",
    "behind a constant of the module": "if STRICT:\n    return text == item['total']\nreturn 0.0",
    "behind a constant and a text": "return float(STRICT and text != '' and text == item['total'])",
    "suppressed": "with contextlib.suppress(KeyError):\n    return text == item['total']\nreturn 0.0",
    "in a function that may not be called": "def late():\n    return item['total']\nreturn 0.0",
    "another name for the column": "name = 'total'\nreturn text == item[name]",
    "another row": "item = {'total': 1}\nreturn text == item['total']",
    "set before": "item['total'] = 1\nreturn item['total']",
}


@pytest.mark.parametrize("name", CERTAIN)
def test_what_every_row_needs(name: str) -> None:
    assert read(grade(CERTAIN[name])) == ["total"]


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_a_row_may_lack(name: str) -> None:
    assert "total" not in read(grade(UNCERTAIN[name]))


def test_the_row_is_followed_into_the_functions_that_get_it() -> None:
    source = "def right(text, row):\n    return text == row['total']\n" + grade("return right(text, item)")
    assert read(source) == ["total"]
    guarded = "def right(row):\n    return row['total']\n" + grade(
        "return right(item) if item['kind'] else 0"
    )
    assert read(guarded) == ["kind"]
    endless = "def again(row):\n    return again(row) + row['total']\n" + grade("return again(item)")
    assert read(endless) == ["total"]


def test_the_other_spellings() -> None:
    source = "def reward_fn(prompt, completion, example):\n    return completion == example['total']\n"
    assert read(source, "reward_fn", PREDIBASE) == ["total"]
    assert read("", "f", TRL, "prompts completions total output_tools") == ["total"]
    decorated = "@cached\n" + grade("return item['total']")
    assert read(decorated) == [], "what a decorator calls is not known"


def test_validation_tells_the_columns_of_each_function(client: SandboxClient) -> None:
    source = grade("return item['total']") + (
        "def f(prompts, completions, result, **more): ...\n"
        "def reward_fn(prompt, completion, example): return example.get('x')\n"
    )
    entries = client.validate(source).entries
    assert {entry.name: entry.columns for entry in entries} == {
        "grade": ["total"], "f": ["result"], "reward_fn": [],
    }  # fmt: skip


def test_a_source_that_forges_its_columns_harms_nobody(client: SandboxClient) -> None:
    source = "import json\njson.dumps = lambda *_: '[[1]]'\n" + grade("return item['total']")
    validation = client.validate(source)
    assert (validation.status, validation.entries[0].columns) == ("ok", [])
