"""Whatever a tool does is one status and a text on its own row; rollouts never see each other."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reinforge.errors import JobFailure
from reinforge.tools import CALL_STATUSES
from tests.worker.sandbox.harness import RunningDaemon
from worker.environment.tools.base import (
    PythonSource,
    ReplyRequest,
    ToolEnd,
    ToolRequest,
    ToolResult,
    ToolStart,
)
from worker.environment.tools.jailed import JailedSource, SimulatedUser
from worker.environment.tools.runner import Tools
from worker.sandbox import SandboxClient

from .calls import Rollout, environment, functions, request

MISHAPS = '''
import os, sys, time

def mishap(kind: str):
    """Do something wrong."""
    if kind == "raise":
        raise ValueError("no such city\\nand more")
    if kind == "hang":
        while True: pass
    if kind == "sleep":
        time.sleep(60)
    if kind == "exit":
        os._exit(0)
    if kind == "leave":
        sys.exit(3)
    if kind == "flood":
        while True: print("x" * 100_000)
    if kind == "recursion":
        return mishap("recursion")
    if kind == "memory":
        return "x" * (3 << 30)
    if kind == "endless":
        return iter(int, 1)
    if kind == "itself":
        inner = []; inner.append(inner); return inner
    return {"nan": float("nan"), "set": {1}, "bytes": b"a", "surrogate": "\\ud800", "fine": "fine"}[kind]
'''
MISHAP_STATUSES = {
    "raise": "exception", "hang": "timeout", "sleep": "timeout", "exit": "crashed", "leave": "exception",
    "flood": "crashed", "recursion": "exception", "memory": "memory", "endless": "exception",
    "itself": "exception", "nan": "exception", "set": "exception", "bytes": "exception",
    "surrogate": "exception", "fine": "ok",
}  # fmt: skip

COUNTER = '''
import random
COUNT = 0

def count(step: int = 1, *, state: dict, item: dict) -> dict:
    """Count the calls."""
    global COUNT
    COUNT += 1
    state["total"] = state.get("total", item.get("first", 0)) + step
    return {"global": COUNT, "total": state["total"], "chance": random.random()}

def fill(size: int, *, state: dict) -> str:
    """Fill the state."""
    state["x"] = "x" * size
    return "filled"

def spoil(*, state: dict) -> str:
    """Put a set into the state."""
    state["x"] = {1}
    return "spoilt"

def long(size: int) -> str:
    """Write a long text."""
    return "".join(chr(97 + i % 26) for i in range(size))

def odd() -> str:
    """Write odd characters."""
    return "a\\x00b\\x1bc\\u200d\\U0001f600\\u00e9\\n\\t"
'''

WORDLE = '''
import random, time

class Wordle:
    """The shape of TRL's environments."""

    WORDS = ["crane", "slate", "brick"]

    def __init__(self):
        self.guesses = []

    def reset(self, seed=None, words=None, **row):
        self.word = random.choice(words or self.WORDS)
        return f"A word of {len(self.word)} letters."

    def guess(self, word: str) -> str:
        """Guess the word.

        Args:
            word: Five letters.
        """
        self.guesses.append(word)
        if len(word) != len(self.word):
            raise ValueError(f"guess {len(self.guesses)} has {len(word)} letters")
        marks = "".join("G" if a == b else "y" if a in self.word else "-" for a, b in zip(word, self.word))
        return f"{len(self.guesses)}: {marks} {random.randint(0, 10**9)}"

    def hang(self) -> str:
        """Never return."""
        self.guesses.append("")
        while True: pass

    def clock(self) -> str:
        """Tell the time."""
        return str(time.perf_counter_ns())

    def get_reward(self):
        return 1.0 if self.guesses and self.guesses[-1] == self.word else None
'''


def test_each_mishap_is_one_status_with_a_text_and_its_neighbours_are_well(sandbox: SandboxClient) -> None:
    tools = functions(sandbox, MISHAPS, timeout_seconds=0.7)
    kinds = [kind for mishap in MISHAP_STATUSES for kind in (mishap, "fine")]
    results = tools.run([request("mishap", i, kind=kind) for i, kind in enumerate(kinds)])
    assert {kind: result.status for kind, result in zip(kinds, results, strict=True)} == MISHAP_STATUSES
    assert all(result.text == "fine" for result in results[1::2])
    assert all(result.text and "\n" not in result.text for result in results)
    assert {result.status for result in results} <= CALL_STATUSES
    assert all(result.state is None for result in results if result.status != "ok")
    texts = {kind: result.text for kind, result in zip(kinds, results, strict=True)}
    assert texts["raise"] == "ValueError: no such city"
    assert texts["hang"] == "mishap took longer than 0.7 s and was stopped."
    assert texts["nan"].startswith("the result is not JSON: ")
    assert "line 7" in (results[0].detail or "")


@pytest.mark.parametrize("isolate", ["batch", "sample"])
def test_globals_do_not_pass_from_rollout_to_rollout(sandbox: SandboxClient, isolate: str) -> None:
    tools = functions(sandbox, COUNTER, isolate=isolate)
    results = tools.run([request("count", i) for i in range(40)])
    answers = [json.loads(result.text) for result in results]
    assert {answer["global"] for answer in answers} == {1}
    assert {answer["total"] for answer in answers} == {1}
    assert len({answer["chance"] for answer in answers}) == 40, "each rollout has a seed of its own"
    again = tools.run([request("count", i) for i in reversed(range(40))])
    assert [json.loads(result.text) for result in reversed(again)] == answers


def test_state_goes_from_call_to_call_and_a_failed_call_leaves_it(sandbox: SandboxClient) -> None:
    rollout = Rollout(functions(sandbox, COUNTER), {"first": 10})
    assert json.loads(rollout.call("count").text)["total"] == 11
    assert json.loads(rollout.call("count", step=5).text)["total"] == 16
    for name, arguments, text in (
        ("fill", {"size": 70_000}, "the state has 70"),
        ("spoil", {}, "the state is not JSON"),
    ):
        result = rollout.call(name, **arguments)
        assert result.status == "exception" and result.text.startswith(text)
        assert json.loads(result.state) == {"total": 16}
    assert json.loads(rollout.call("fill", size=60_000).state)["total"] == 16


def test_several_calls_of_a_rollout_in_one_turn_continue_one_another(sandbox: SandboxClient) -> None:
    tools = functions(sandbox, COUNTER)
    requests = [request("count", rollout, step=step) for step in (1, 10, 100) for rollout in (0, 1)]
    totals = [json.loads(result.text)["total"] for result in tools.run(requests)]
    assert totals == [1, 1, 11, 11, 111, 111]


def test_a_long_result_loses_its_middle_and_says_so(sandbox: SandboxClient) -> None:
    tools = functions(sandbox, COUNTER, most_characters=200)
    short, long = tools.run([request("long", 0, size=200), request("long", 1, size=100_000)])
    assert len(short.text) == 200 and "left out" not in short.text
    assert len(long.text) == 200 and "[… 99800 characters left out …]" in long.text
    assert long.text.startswith("abc") and long.text.endswith("vwxyzabcd")
    (odd,) = tools.run([request("odd")])
    assert odd.text == "a b c\u200d\U0001f600\u00e9\n\t"


def test_a_class_is_replayed(sandbox: SandboxClient) -> None:
    item = {"words": ["crane"], "other": 1}
    rollout = Rollout(environment(sandbox, WORDLE, timeout_seconds=1.0), item, seed=3)
    assert rollout.begin.text == "A word of 5 letters."
    assert rollout.call("guess", word="slate").text.startswith("1: --G-G ")
    failed = rollout.call("guess", word="no")
    assert (failed.status, failed.text) == ("exception", "ValueError: guess 2 has 2 letters")
    assert rollout.call("hang").status == "timeout"
    assert rollout.reward().value is None
    won = rollout.call("guess", word="crane")
    assert won.text.startswith("3: GGGGG "), (
        "a raised error was repeated, a call that was stopped had no effect"
    )
    assert rollout.reward().value == 1.0


def test_a_replay_that_differs_drops_the_rollout(sandbox: SandboxClient) -> None:
    rollout = Rollout(environment(sandbox, WORDLE))
    assert rollout.call("clock").status == "ok"
    result = rollout.call("guess", word="crane")
    assert (result.status, result.finding) == ("exception", "tool_not_deterministic")
    assert result.text.startswith("call 1 (clock) gave another result")
    assert rollout.reward().finding == "tool_not_deterministic"


def test_what_reset_returns_is_a_text_or_none(sandbox: SandboxClient) -> None:
    broken = WORDLE.replace('return f"A word', 'return 1 or f"A word')
    for source, status, text in (
        (broken, "exception", "reset() returned int; return a text or None"),
        (WORDLE.replace('return f"A word of', "raise KeyError(seed) #"), "exception", "KeyError: None"),
    ):
        (result,) = environment(sandbox, source).start([ToolStart(0, {}, 0)])
        assert (result.status, result.text) == (status, text)


def test_functions_and_classes_side_by_side(sandbox: SandboxClient) -> None:
    tools = Tools(
        {
            "a.py": JailedSource(sandbox, PythonSource("a.py", COUNTER)),
            "b.py": JailedSource(sandbox, PythonSource("b.py", WORDLE, kind="class")),
        }
    )
    assert [[schema.name for schema in schemas] for schemas in tools.schemas] == [
        ["count", "fill", "spoil", "long", "odd"],
        ["guess", "hang", "clock"],
    ]
    words = {"words": ["crane"]}
    calls = [
        ("count", 0, {}),
        ("guess", 1, {"word": "crane"}),
        ("count", 0, {}),
        ("guess", 1, {"word": "slate"}),
    ]
    requests = [ToolRequest(0, words, source, name, args, None, (), 1) for name, source, args in calls]
    results = tools.run(requests)
    assert [result.status for result in results] == ["ok"] * 4
    assert json.loads(results[2].text)["total"] == 2 and results[3].text.startswith("2: --G-G")
    assert [reward.value for reward in tools.reward([ToolEnd(0, words, (), 1)])] == [None]


def test_a_simulated_user_answers_or_ends(sandbox: SandboxClient) -> None:
    source = """
def reply(messages, item, state):
    state["turns"] = state.get("turns", 0) + 1
    if state["turns"] > 2: return None
    if item.get("odd"): return 3
    return f"{item['name']} heard: {messages[-1]['content']}"
"""
    user = SimulatedUser(sandbox, PythonSource("user.py", source))

    def ask(item: dict[str, Any], state: Any) -> ToolResult:
        return user.reply([ReplyRequest(0, item, [{"role": "assistant", "content": "Hi"}], state, 0, 0)])[0]

    first = ask({"name": "Ann"}, None)
    assert (first.text, first.ended, json.loads(first.state)) == ("Ann heard: Hi", False, {"turns": 1})
    last = ask({"name": "Ann"}, '{"turns": 2}')
    assert (last.status, last.text, last.ended) == ("ok", "", True)
    wrong = ask({"odd": True}, None)
    assert (wrong.status, wrong.text) == ("exception", "reply() returned int; return a text, or None to end")


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ("raise ValueError('no idea')", "exception", "ValueError: no idea"),
        ("return ['text']", "exception", "reply() returned list; return a text, or None to end"),
        ("return b'\\xff'", "exception", "reply() returned bytes; return a text, or None to end"),
        ("return 'half \\ud800'", "exception", "the result is not valid Unicode"),
        ("state['x'] = 'y' * (64 << 10); return 'Hi'", "exception", "more than 64 KiB"),
        ("state['x'] = {1, 2}; return 'Hi'", "exception", "the state is not JSON"),
        ("import os; os._exit(3)", "crashed", "reply did not return"),
        ("while True: pass", "timeout", "reply took longer than 1 s"),
        ("return 'x' * (2 << 30)", "memory", "reply needed more memory than it may have"),
        ("return 'a' + 'x' * 1_000_000 + 'b'", "ok", "characters left out"),
        ("return 'tab\\tbell\\x07'", "ok", "tab\tbell "),
    ],
)
def test_a_simulated_user_that_fails_fails_its_own_reply(
    sandbox: SandboxClient, body: str, status: str, text: str
) -> None:
    source = f"def reply(messages, item, state):\n    if item: return 'fine'\n    {body}"
    user = SimulatedUser(sandbox, PythonSource("user.py", source, timeout_seconds=1.0))
    good, bad = user.reply(
        [ReplyRequest(n, item, [], '{"old": 1}', 0, 0) for n, item in enumerate([{"a": 1}, {}])]
    )
    assert (good.status, good.text) == ("ok", "fine")
    assert (bad.status, bad.ended) == (status, False) and text in bad.text and len(bad.text) <= 16_384
    assert status == "ok" or bad.state == '{"old": 1}'


def test_a_source_that_cannot_be_imported_fails_its_calls_only(sandbox: SandboxClient) -> None:
    source = '{}\ndef f(x: int) -> int:\n    """Doc."""\n    return x'
    for line, status, text in (
        ("import requests", "exception", "the module 'requests' cannot be imported"),
        ("raise KeyError(1)", "exception", "KeyError: 1"),
        ("while True: pass", "timeout", "f took longer than 1 s"),
    ):
        tools = functions(sandbox, source.format(line), timeout_seconds=1.0)
        (result,) = tools.run([request("f", x=1)])
        assert result.status == status and text in result.text


def test_the_whole_environment_is_the_listed_one(sandbox: SandboxClient, tool_daemon: RunningDaemon) -> None:
    source = 'import os\ndef show() -> dict:\n    """Show the environment."""\n    return dict(os.environ)'
    (result,) = functions(sandbox, source).run([request("show")])
    assert tool_daemon.secret not in result.text
    assert set(json.loads(result.text)) <= {
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "HOME", "NLTK_DATA", "LC_CTYPE",
    }  # fmt: skip


def test_without_a_sandbox_the_job_pauses(tmp_path: Any) -> None:
    with SandboxClient(tmp_path / "nobody") as client, pytest.raises(JobFailure) as failure:
        functions(client, COUNTER).run([request("count")])
    assert failure.value.code == "sandbox_unavailable"


@given(st.randoms(use_true_random=False), st.lists(st.integers(0, 5), min_size=1, max_size=30))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_order_and_batching_do_not_change_results(
    sandbox: SandboxClient, chance: random.Random, rollouts: list[int]
) -> None:
    tools = functions(sandbox, COUNTER)
    requests = [replace(request("count", r, step=i), rollout=i, seed=r) for i, r in enumerate(rollouts)]
    whole = [(result.status, result.text, result.state) for result in tools.run(requests)]
    order = list(range(len(requests)))
    chance.shuffle(order)
    cut = chance.randint(0, len(order))
    results: dict[int, Any] = {}
    for part in (order[:cut], order[cut:]):
        for i, result in zip(part, tools.run([requests[i] for i in part]), strict=True):
            results[i] = (result.status, result.text, result.state)
    assert [results[i] for i in range(len(requests))] == whole
