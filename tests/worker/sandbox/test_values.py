"""Valid return values of a reward, and the errors for all others."""

import pytest

from worker.sandbox import RewardRow, RowResult, SandboxClient


def result(client: SandboxClient, expression: str, *before: str) -> RowResult:
    lines = ["import math", *before, "def grade(sample, item):", f"    return {expression}"]
    outcome = client.score("\n".join(lines), [RewardRow("p", "c")])
    assert outcome.status == "ok", outcome
    return outcome.rows[0]


@pytest.mark.parametrize(("expression", "value"), [("0.25", 0.25), ("3", 3.0), ("True", 1.0), ("-1e6", -1e6)])
def test_numbers(client: SandboxClient, expression: str, value: float) -> None:
    row = result(client, expression)
    assert (row.status, row.value, row.message) == ("ok", value, None)


def test_a_mapping_brings_everything_with_it(client: SandboxClient) -> None:
    row = result(
        client,
        "{'score': 0.5, 'reason': 'für größere Genauigkeit', 'parts': {'format': 1, 'länge': True},"
        " 'criteria': {'clear': 0.25}, 'steps': [(0.5, 10), [1, 20]], 'turns': [[0.25, 0], (-1, 3)],"
        " 'candidates': [[1, 2], (3, 4), [5, 6]]}",
    )
    assert (row.status, row.value, row.reason) == ("ok", 0.5, "für größere Genauigkeit")
    assert (row.parts, row.criteria) == ({"format": 1.0, "länge": 1.0}, {"clear": 0.25})
    assert (row.steps, row.candidates) == ([(0.5, 10), (1.0, 20)], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert row.turns == [(0.25, 0), (-1.0, 3)]


def test_none_is_not_applicable_and_keeps_its_reason(client: SandboxClient) -> None:
    assert result(client, "None").status == "not_applicable"
    row = result(client, "{'score': None, 'reason': 'no table to check', 'parts': {'rows': 0}}")
    assert (row.status, row.value, row.reason, row.parts) == (
        "not_applicable", None, "no table to check", {"rows": 0.0},
    )  # fmt: skip


def test_numpy_is_converted_wherever_a_number_or_a_list_may_stand(client: SandboxClient) -> None:
    numpy = "import numpy as np"
    for expression in ("np.float32(0.5)", "np.array(0.5)", "np.float64(0.5)", "np.mean([0, 1])"):
        assert result(client, expression, numpy).value == 0.5
    assert result(client, "np.bool_(True)", numpy).value == result(client, "np.int8(1)", numpy).value == 1.0
    row = result(
        client,
        "{'score': np.float16(0.5), 'parts': {'a': np.int64(2)}, 'criteria': {'b': np.bool_(False)},"
        " 'steps': np.array([[0.5, 10], [1.0, 20]]), 'candidates': np.eye(2)}",
        numpy,
    )
    assert (row.value, row.parts, row.criteria) == (0.5, {"a": 2.0}, {"b": 0.0}), row
    assert (row.steps, row.candidates) == ([(0.5, 10), (1.0, 20)], [[1.0, 0.0], [0.0, 1.0]])
    assert result(client, "{'score': 1, 'steps': [(np.float32(1), np.int64(3))]}", numpy).steps == [(1.0, 3)]
    for wrong in (
        "np.ones(1)",
        "np.float64('nan')",
        "np.complex64(1)",
        "np.datetime64(1, 'D')",
        "np.array(['a'])[0]",
    ):
        assert result(client, wrong, numpy).status == "bad_value", wrong
    batch = "import numpy as np\ndef f(prompts, completions): return np.array([0.5, np.nan, 1])"
    rows = client.score(batch, [RewardRow("", "")] * 3, granularity="batch").rows
    assert [row.status for row in rows] == ["ok", "bad_value", "ok"]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("'0.5'", "expected a number, got str"),
        ("math.nan", "not a finite number"),
        ("-math.inf", "not a finite number"),
        ("10**400", "not a finite number"),
        ("1.1e6", "outside"),
        ("[0.5]", "got list"),
        ("{}", "no 'score'"),
        ("{'reward': 1}", "unknown key 'reward'"),
        ("{'score': '1'}", "score: expected a number"),
        ("{'score': 1, 'reason': 3}", "reason: expected text"),
        ("{'score': 1, 'parts': {str(i): 1 for i in range(17)}}", "at most 16"),
        ("{'score': 1, 'parts': {'a': math.nan}}", "parts['a']: not a finite number"),
        ("{'score': 1, 'parts': {'x' * 65: 1}}", "name"),
        ("{'score': 1, 'parts': {'a\\0b': 1}}", "name"),
        ("{'score': 1, 'criteria': [1]}", "expected a mapping"),
        ("{'score': 1, 'steps': [1]}", "expected a list"),
        ("{'score': 1, 'steps': [(1, 5), (1, 4)]}", "must not decrease"),
        ("{'score': 1, 'steps': [(1, 0.5)]}", "end character"),
        ("{'score': 1, 'turns': [1]}", "expected a list"),
        ("{'score': 1, 'turns': [(1, 0.5)]}", "turn from 0"),
        ("{'score': 1, 'turns': [(1, -1)]}", "turn from 0"),
        ("{'score': 1, 'turns': [(1, 1), (1, 0)]}", "must not decrease"),
        ("{'score': 1, 'turns': [(1, 1), (2, 1)]}", "two entries name the same turn"),
        ("{'score': 1, 'turns': [(float('nan'), 1)]}", "not a finite number"),
        ("{'score': 1, 'turns': [(1, n) for n in range(257)]}", "at most 256"),
        ("{'score': 1, 'steps': [(1, 5)] * 257}", "at most 256"),
        ("{'score': 1, 'candidates': [[1], [1, 2]]}", "same length"),
        ("{'score': 1, 'candidates': [[0.0] * 100] * 11}", "at most 1024"),
    ],
)
def test_everything_else_is_an_error_that_says_why(client: SandboxClient, expression: str, says: str) -> None:
    row = result(client, expression)
    assert (row.status, row.value) == ("bad_value", None)
    assert says in (row.message or "")


def test_a_numpy_scalar_is_a_number(client: SandboxClient) -> None:
    fake = "class float32:\n    __module__ = 'numpy'\n    ndim = 0\n    def item(self): return 0.5"
    array = "class ndarray:\n    __module__ = 'numpy'\n    ndim = 1\n    def item(self): return 0.5"
    assert result(client, "float32()", fake).value == 0.5
    assert result(client, "ndarray()", array).status == "bad_value"


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("[1]", "expected 2 rewards, got 1"),
        ("[1, 2, 3]", "expected 2 rewards, got 3"),
        ("(x for x in (1, 2))", "got generator"),
        ("1.0", "got float"),
    ],
)
def test_a_list_of_the_wrong_shape_fails_the_whole_unit(
    client: SandboxClient, expression: str, says: str
) -> None:
    source = f"def f(prompts, completions): return {expression}"
    rows = client.score(source, [RewardRow("p", "c")] * 2, granularity="batch").rows
    assert [row.status for row in rows] == ["exception", "exception"]
    assert all(says in (row.message or "") for row in rows)


def test_one_bad_element_costs_its_own_row(client: SandboxClient) -> None:
    source = "def f(prompts, completions): return [1, None, 'x', {'score': 2, 'parts': {'a': 1}}]"
    rows = client.score(source, [RewardRow("p", "c")] * 4, granularity="batch").rows
    assert [row.status for row in rows] == ["ok", "not_applicable", "bad_value", "ok"]
    assert (rows[0].value, rows[3].value, rows[3].parts) == (1.0, 2.0, {"a": 1.0})


def test_prints_are_stored_per_row_and_bounded(client: SandboxClient) -> None:
    source = """
import os, sys
print("while loading")
def grade(sample, item):
    print(sample["output_text"], "ä")
    sys.stderr.write("warned\\x1b[31m")
    if sample["output_text"] == "long":
        print("x" * 5000)
    return 1
"""
    outcome = client.score(source, [RewardRow("p", "one"), RewardRow("p", "long"), RewardRow("p", "three")])
    one, long, three = (row.prints for row in outcome.rows)
    assert (one, three) == ("one ä\nwarned [31m", "three ä\nwarned [31m")
    assert long.startswith("long ä\n") and len(long.encode()) <= 2048
    assert "while loading" in outcome.log


def test_prints_before_a_kill_survive(client: SandboxClient) -> None:
    source = "import os\ndef grade(sample, item):\n    print('last words')\n    os._exit(3)\n"
    (row,) = client.score(source, [RewardRow("p", "c")]).rows
    assert (row.status, row.prints) == ("exited", "last words\n")


def test_time_is_measured_per_row(client: SandboxClient) -> None:
    source = """
import time
def grade(sample, item):
    if sample["output_text"] == "sleep": time.sleep(0.05)
    if sample["output_text"] == "work":
        end = time.thread_time() + 0.05
        while time.thread_time() < end: pass
    return 1
"""
    sleep, work, none = client.score(
        source, [RewardRow("p", text) for text in ("sleep", "work", "none")]
    ).rows
    assert sleep.wall_ms >= 50 > sleep.cpu_ms
    assert work.cpu_ms >= 50 > none.cpu_ms
    # Two clocks: the one of the wall is set right as it goes, by up to 500 parts in a million; that of the CPU is not.
    assert work.wall_ms >= 0.999 * work.cpu_ms


def test_an_exception_shows_the_frames_of_the_reward_only(client: SandboxClient) -> None:
    source = """import json

def parse(text):
    return json.loads(text)

def grade(sample, item):
    return parse(sample["output_text"])
"""
    (row,) = client.score(source, [RewardRow("p", "not json")]).rows
    assert row.status == "exception"
    assert (row.message or "").splitlines() == [
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        '  line 7, in grade: return parse(sample["output_text"])',
        "  line 4, in parse: return json.loads(text)",
    ]


def test_a_long_message_is_cut(client: SandboxClient) -> None:
    (row,) = client.score(
        "def grade(sample, item): raise ValueError('ü' * 10000)", [RewardRow("p", "c")]
    ).rows
    assert row.status == "exception"
    assert len((row.message or "").encode()) <= 2048 and "in grade" in (row.message or "")
