"""The three spellings of a reward: detection and arguments."""

import pytest

from worker.sandbox import CallOutcome, EntryPoint, RewardRow, SandboxClient

ROW = RewardRow("2+2?", "4", {"answer": "4", "weights": [1, 2]})
CHAT = RewardRow([{"role": "user", "content": "2+2?"}], "4", {"answer": "4"})


def only(outcome: CallOutcome) -> object:
    assert outcome.status == "ok", outcome
    (row,) = outcome.rows
    return row.value if row.status == "ok" else (row.status, row.message)


def test_openai_sees_the_sample_and_the_item(client: SandboxClient) -> None:
    source = """
def grade(sample, item):
    assert sample["choices"][0]["message"] == {"role": "assistant", "content": sample["output_text"]}
    assert sample["judges"]["tone"] == 0.75 and sample["output_tools"] == ["t"] and sample["output_json"] is None
    return float(sample["output_text"] == item["answer"])
"""
    row = RewardRow("q", "4", {"answer": "4"}, judges={"tone": 0.75}, sample={"output_tools": ["t"]})
    assert only(client.score(source, [row])) == 1.0


def test_openai_sample_carries_parsed_json(client: SandboxClient) -> None:
    source = "def grade(sample, item):\n    return sample['output_json']['a'][0]\n"
    assert only(client.score(source, [RewardRow("q", ' {"a": [3]}')])) == 3.0


def test_predibase_sees_strings_only(client: SandboxClient) -> None:
    source = """
from ast import literal_eval
def reward_fn(prompt, completion, example):
    assert (prompt, completion, example["answer"]) == ("2+2?", "4", "4")
    return sum(literal_eval(example["weights"]))
"""
    assert only(client.score(source, [ROW])) == 3.0
    assert only(client.score("def reward_fn(prompt, completion, example): return len(prompt)", [CHAT])) == 4.0


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_trl_sees_lists_and_columns(client: SandboxClient, kind: str) -> None:
    source = f"""
{kind} exact(prompts, completions, answer, **columns):
    assert "weights" in columns and len(prompts) == len(completions) == len(answer)
    return [float(c == a) for c, a in zip(completions, answer)]
"""
    assert only(client.score(source, [ROW])) == 1.0
    both = client.score(source, [ROW, RewardRow("q", "5", {"answer": "4"})], granularity="batch")
    assert [row.value for row in both.rows] == [1.0, 0.0]


def test_judges_reach_every_spelling_row_by_row(client: SandboxClient) -> None:
    rows = [
        RewardRow("q", "a", judges={"tone": {"score": 0.25}}),
        RewardRow("q", "b", judges={"tone": {"score": 1.0}}),
    ]
    for source in (
        "def grade(sample, item): return sample['judges']['tone']['score']",
        "def f(prompts, completions, judges): return [j['tone']['score'] for j in judges]",
    ):
        assert [row.value for row in client.score(source, rows).rows] == [0.25, 1.0]
    grouped = "def grade(samples, items): return [s['judges']['tone']['score'] for s in samples]"
    assert [row.value for row in client.score(grouped, rows, granularity="group").rows] == [0.25, 1.0]


def test_trl_completions_are_messages_where_prompts_are(client: SandboxClient) -> None:
    source = """
def f(prompts, completions, **kwargs):
    return [float(p[0]["role"] == "user" and c[0] == {"role": "assistant", "content": "4"}) \
        for p, c in zip(prompts, completions)]
"""
    assert only(client.score(source, [CHAT])) == 1.0


def test_trl_columns_that_the_function_does_not_take_are_left_out(client: SandboxClient) -> None:
    assert only(client.score("def f(completions, answer): return [1]", [ROW])) == 1.0


def test_a_missing_column_is_named(client: SandboxClient) -> None:
    status, message = only(client.score("def f(completions, solution, **kw): return [1]", [ROW]))  # type: ignore[misc]
    assert status == "exception"
    assert "'solution'" in message and "answer" in message


@pytest.mark.parametrize(
    "source",
    [
        "async def grade(sample, item): return 1",
        "import asyncio\nasync def grade(sample, item):\n    await asyncio.sleep(0)\n    return 1",
        "def grade(sample, item): return _later()\nasync def _later(): return 1",
        "grade = lambda sample, item: 1",
        "class _R:\n    def __call__(self, sample, item): return 1\ngrade = _R()",
        "def grade(sample, item, weight=1.0): return weight",
        "def grade(*arguments): return float(len(arguments) == 2)",
    ],
)
def test_ways_to_write_grade(client: SandboxClient, source: str) -> None:
    assert only(client.score(source, [ROW])) == 1.0


def test_the_spelling_of_a_named_entry_is_detected_by_its_parameters(client: SandboxClient) -> None:
    source = (
        "def short(a, b): return 1\ndef long(a, b, c): return 2\ndef lists(completions, **kw): return [3]\n"
    )
    assert [only(client.score(source, [ROW], entry=name)) for name in ("short", "long", "lists")] == [
        1.0,
        2.0,
        3.0,
    ]


def test_helpers_and_imports_are_no_candidates(client: SandboxClient) -> None:
    source = """
from difflib import SequenceMatcher, get_close_matches
def similarity(a, b): return SequenceMatcher(None, a, b).ratio()
def closeness(prompts, completions, answer): return [similarity(*pair) for pair in zip(completions, answer)]
"""
    assert client.validate(source).entries == [EntryPoint("closeness", "trl", 4, ["answer"])]
    assert only(client.score(source, [ROW])) == 1.0


def test_grade_wins_and_other_ambiguity_is_an_error(client: SandboxClient) -> None:
    two = "def a(completions): return [1]\ndef b(sample, item): return 2\n"
    refused = client.score(two, [ROW])
    assert (refused.status, refused.rows) == ("load_error", [])
    assert "a, b" in (refused.message or "")
    assert only(client.score(two + "def grade(sample, item): return 3\n", [ROW])) == 3.0


@pytest.mark.parametrize("granularity", ["group", "batch"])
@pytest.mark.parametrize(
    "source",
    [
        "def grade(samples, items): return [len(samples) + len(items)] * len(samples)",
        "def reward_fn(prompts, texts, examples): return [len(prompts) + len(examples)] * len(texts)",
        "def f(prompts, completions): return [2 * len(completions)] * len(prompts)",
    ],
)
def test_every_spelling_sees_lists_above_sample_granularity(
    client: SandboxClient, source: str, granularity: str
) -> None:
    outcome = client.score(source, [ROW, ROW, ROW], granularity=granularity)  # type: ignore[arg-type]
    assert [row.value for row in outcome.rows] == [6.0, 6.0, 6.0]


def test_trl_helpers_are_there(client: SandboxClient) -> None:
    source = """
def f(prompts, completions, trainer_state, log_metric, **kwargs):
    log_metric("length", len(completions[0]))
    kwargs["log_extra"]("answer", kwargs["answer"])
    return [float(trainer_state is None)]
"""
    (row,) = client.score(source, [ROW]).rows
    assert (row.value, row.prints) == (1.0, "length: 1\nanswer: ['4']\n")
