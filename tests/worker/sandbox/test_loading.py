"""A module that cannot be used is the reward's error, named with its line; validation finds it without any row."""

import pytest

from worker.sandbox import EntryPoint, RewardRow, SandboxClient

BROKEN = {
    "syntax": ("x = 1\ndef grade(sample, item:\n    pass\n", 2, "SyntaxError"),
    "indentation": ("def grade(sample, item):\nreturn 1\n", 2, "IndentationError"),
    "raises": ("import math\n\nmath.sqrt(-1)\n", 3, "ValueError"),
    "import": ("import no_such_package\n", 1, "'no_such_package' cannot be imported"),
    "deep raise": ("def f():\n    return 1 / 0\nf()\n", 2, "ZeroDivisionError"),
    "nothing": ("x = 1\n", None, "defines no reward function"),
    "four parameters": (
        "def score(a, b, c, d): return 1\n",
        None,
        "score(a, b, c, d) does not take the parameters of a reward; write grade(sample, item)",
    ),
    "not callable": ("grade = 3\n", None, "defines no reward function"),
    "wrong parameters": ("def grade(text): return 1\n", None, "(sample, item)"),
    "exit": ("import os\nos._exit(0)\n", None, "ended its process with code 0"),
    "quit": ("raise SystemExit(0)\n", 1, "SystemExit"),
    "crash": ("import ctypes\nctypes.string_at(0)\n", None, "SIGSEGV"),
    "null byte": ("x = '\0'\n", None, "null byte"),
    "too large": ("#" * (257 << 10), None, "more than 262144"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_module_is_refused_with_the_reason(client: SandboxClient, name: str) -> None:
    source, line, says = BROKEN[name]
    validation = client.validate(source)
    assert (validation.status, validation.line, validation.entries) == ("load_error", line, [])
    assert says in (validation.message or "")
    outcome = client.score(source, [RewardRow("p", "c")] * 2)
    assert (outcome.status, outcome.line, outcome.rows) == ("load_error", line, [])
    assert says in (outcome.message or "")


def test_a_syntax_error_names_its_column_as_well(client: SandboxClient) -> None:
    validation = client.validate("def grade(sample, item):\n    return 'ä' +* 1\n")
    assert (validation.line, validation.column) == (2, 17)
    assert client.validate("1 / 0\n").column is None


def test_validation_lists_functions_with_their_spelling(client: SandboxClient) -> None:
    source = """
def grade(sample, item): ...
def reward_fn(prompt, completion, example): ...
async def trl_style(prompts, completions, **columns): ...
def helper(a, b): ...
def _private(sample, item): ...
class Thing: ...
"""
    validation = client.validate(source)
    assert validation.status == "ok"
    assert validation.entries == [
        EntryPoint("grade", "openai", 2),
        EntryPoint("reward_fn", "predibase", 3),
        EntryPoint("trl_style", "trl", 4),
    ]


def test_validation_of_a_named_entry(client: SandboxClient) -> None:
    source = "def helper(a, b): return 1\nvalue = 3\ndef no(): ...\n"
    assert client.validate(source, entry="helper").entries == [EntryPoint("helper", "openai", 1)]
    for entry, says in (
        ("missing", "does not define missing()"),
        ("value", "not a function"),
        ("no", "parameters"),
    ):
        validation = client.validate(source, entry=entry)
        assert validation.status == "load_error"
        assert says in (validation.message or "")


def test_validation_scores_nothing(client: SandboxClient) -> None:
    source = "def grade(sample, item):\n    raise AssertionError('called')\n"
    validation = client.validate("print('imported')\n" + source)
    assert (validation.status, validation.log) == ("ok", "imported\n")


def test_a_row_cannot_pretend_that_the_module_did_not_load(client: SandboxClient) -> None:
    """Header and first slot say "load failed"; the zygote saw the module load, so it is this row's failure."""
    source = """
import mmap, os, struct, sys
def grade(sample, item):
    if sample["output_text"] != "forge":
        return 0.5
    frame, regions = sys._getframe(), []
    while frame:
        values = list(frame.f_locals.values())
        regions += [v for v in values if type(v) is mmap.mmap]
        regions += [s for v in values for s in [getattr(v, "_shared", None)] if type(s) is mmap.mmap]
        frame = frame.f_back
    assert regions
    for region in regions:
        struct.pack_into("<IIIIdd", region, 0, 2, 0, 1, 1, 0.0, 0.0)
    os._exit(0)
"""
    outcome = client.score(source, [RewardRow("p", "fine"), RewardRow("p", "forge"), RewardRow("p", "fine")])
    assert outcome.status == "ok"
    assert (outcome.rows[0].value, outcome.rows[2].value) == (0.5, 0.5)
