"""Every example's files belong together: data, reward, job file, README and measured result."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from reinforge.offline import jobfile
from reinforge.offline.examples import NAMES, find
from reinforge.offline.train import train
from reinforge.spec import JobSpec
from scripts.example_data import FOLDERS, knowledge_base, write
from worker.starter.tools.corpus import tool_of

ROOT = Path(__file__).resolve().parents[2]
TASKS = {"calculator-agent": "calculation", "countdown": "countdown", "lookup": "lookup"}
COUNTDOWN = {"answer": "24", "numbers": "9 3 5"}
ADDITION = {"prompt": "47+85=", "answer": "132"}
WORKED = "<think>7+5=12,4+8+1=13</think><answer>132</answer>"
SLIP = "<think>7+5=12,4+8+1=14</think><answer>142</answer>"
GOLDEN: dict[str, list[tuple[dict[str, Any], str, float]]] = {
    "arithmetic": [(ADDITION, WORKED, 1), (ADDITION, "<answer>122</answer>", 0), (ADDITION, "132", 0)],
    "word-problems": [
        ({"answer": "132"}, WORKED, 1),
        ({"answer": "132"}, "<answer>1322</answer>", 0),
        ({"answer": "13"}, "<answer>132</answer>", 0),
        ({"answer": "132"}, "132", 0),
    ],
    "json-extraction": [
        ({"answer": "33"}, "<answer>33</answer>", 1),
        ({"answer": "33"}, "<answer>34</answer>", 0.4),
        ({"answer": "33"}, "<answer>78</answer>", 0.2),
        ({"answer": "33"}, "<answer>133</answer>", 0),
        ({"answer": "3"}, "<answer>03</answer>", 0),
        ({"answer": "3"}, '<answer>"3"</answer>', 0),
        ({"answer": "33"}, "33", 0),
    ],
    "multiple-choice": [
        ({"answer": "2"}, "<answer>2</answer>", 1),
        ({"answer": "2"}, "<answer>1</answer>", 0.1),
        ({"answer": "2"}, "<answer>12</answer>", 0),
        ({"answer": "2"}, "2", 0),
    ],
    "process-rewards": [(ADDITION, WORKED, 1), (ADDITION, SLIP, 0), (ADDITION, "<answer>132</answer>", 1)],
    "rubric": [
        (ADDITION, WORKED, 1),
        (ADDITION, SLIP, 0.3),
        (ADDITION, "<answer>132</answer>", 0.6),
        (ADDITION, "<answer>122</answer>", 0),
        (ADDITION, "", 0),
    ],
    "calculator-agent": [
        ({"answer": "967"}, "<answer>967</answer>", 1),
        ({"answer": "967"}, "<answer>9670</answer>", 0),
        ({"answer": "967"}, "967", 0),
    ],
    "countdown": [
        (COUNTDOWN, "<answer>3*5+9</answer>", 1),
        (COUNTDOWN, "<answer>3*5+9-1+1</answer>", 0),
        (COUNTDOWN, "<answer>3*9-3</answer>", 0),
        (COUNTDOWN, "<answer>24</answer>", 0),
        (COUNTDOWN, "<answer>3*5+</answer>", 0),
        (COUNTDOWN, "3*5+9", 0),
    ],
    "lookup": [
        ({"answer": "Sofun"}, "<answer>Sofun</answer>", 1),
        ({"answer": "Sofun"}, "<answer>Sofu</answer>", 0),
        ({"answer": "Sofun"}, "Sofun", 0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_job_is_valid_and_its_rows_have_what_the_reward_reads(name: str) -> None:
    example = find(name)
    assert example.spec.model == ("starter-tools" if name in TASKS else "starter-arith")
    assert example.reward_files
    for path in example.data_files.values():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert len({json.dumps(row) for row in rows}) == len(rows)
        for row in rows:
            assert row["answer"] and ("prompt" in row or "messages" in row)
    texts = [path.read_text(encoding="utf-8") for path in example.data_files.values()]
    prompts = [
        {json.dumps(json.loads(line).get("prompt")) for line in text.splitlines()} - {"null"}
        for text in texts
    ]
    assert not prompts[0] & prompts[1]


@pytest.mark.parametrize("name", NAMES)
def test_the_reward_scores_right_and_wrong_answers(name: str) -> None:
    [path] = find(name).reward_files
    grade = runpy.run_path(str(path))["grade"]
    scores = [grade({"output_text": text}, item)["score"] for item, text, _ in GOLDEN[name]]
    assert scores == pytest.approx([score for _, _, score in GOLDEN[name]])


def test_each_step_of_a_working_is_scored_where_it_ends() -> None:
    grade = runpy.run_path(str(find("process-rewards").reward_files[0]))["grade"]
    steps = grade({"output_text": SLIP}, ADDITION)["steps"]
    assert [(score, SLIP[: int(end)][-5:]) for score, end in steps[:2]] == [(1, "+5=12"), (0, "+1=14")]
    assert steps[2] == [0, len(SLIP)]


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_states_the_measured_result(name: str) -> None:
    example = find(name)
    assert 40 < len(example.summary.summary) < 250 and example.title
    result = example.result
    if result is None:
        assert "Not measured yet" in example.readme
        return
    assert result.tuned > result.base + 0.2, "an example has to learn"
    assert f"| reward | {result.base:.2f} | {result.tuned:.2f} |" in example.readme
    assert result.steps == example.spec.limits.steps


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        pytest.param("process-rewards", "reward/mean", marks=pytest.mark.long),
        ("calculator-agent", "tools/calc/calls"),
    ],
)
def test_an_example_trains(tmp_path: Path, name: str, metric: str) -> None:
    """Two small steps of one whose reward scores steps, and of one with a tool."""
    spec = find(name).spec
    raw = spec.model_dump(mode="json", exclude_unset=True)
    raw["rollout"] |= {"prompts_per_step": 2, "completions_per_prompt": 8}
    raw |= {"evaluation": {"every_steps": 0, "rows": 4, "samples_per_row": 1}, "limits": {"steps": 2}}
    ended = train(JobSpec.model_validate(raw), tmp_path / "run")
    assert ended["outcome"] == "succeeded", ended
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["kind"] == "train"]
    assert [line["step"] for line in steps] == [1, 2]
    assert all(line["values"]["reward/error_share"] == 0 for line in steps)
    assert any(line["values"].get(metric, 0) > 0 for line in steps)


@pytest.mark.parametrize(
    ("name", "call", "result"),
    [
        ("calculator-agent", {"expression": "10*88+87"}, 967),
        ("countdown", {"expression": "3*5+9", "item": COUNTDOWN}, "right"),
        ("countdown", {"expression": "3+5+9", "item": COUNTDOWN}, "17, not 24"),
        ("lookup", {"what": "capital", "of": "Choga"}, "Dosu"),
    ],
)
def test_a_tool_returns_what_the_starter_model_was_trained_to_read(
    name: str, call: dict[str, Any], result: object
) -> None:
    spec = find(name).spec.environment
    assert spec.type == "tools"
    [schema] = spec.schemas()
    namespace: dict[str, Any] = {}
    exec(spec.sources[0].source or "", namespace)
    assert namespace[schema.function.name](**call) == result
    usual = tool_of(TASKS[name])
    assert (schema.function.name, tuple(schema.function.parameters["properties"])) == (
        usual.name,
        usual.parameters,
    )


def test_a_look_up_needs_two_hops() -> None:
    facts = knowledge_base()
    lines = "".join(f"{question}: {name}\n" for question, name in facts.items())
    tools = (find("lookup").folder / "tools.py").read_text(encoding="utf-8")
    assert f'FACTS = """\n{lines}"""' in tools
    for path in find("lookup").data_files.values():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            what, place = row["prompt"].removesuffix("?").split(" of ", 1)
            assert facts[f"{what} of {facts[place]}"] == row["answer"]


@pytest.mark.parametrize("name", FOLDERS)
def test_the_data_are_those_of_the_script(name: str, tmp_path: Path) -> None:
    write(tmp_path, name)
    for file in ("train.jsonl", "heldout.jsonl"):
        assert (tmp_path / file).read_bytes() == (find(name).folder / file).read_bytes()


def test_the_rubric_asks_a_judge_with_the_same_rows() -> None:
    folder = find("rubric").folder
    stub, judge = jobfile.load(folder / "job.yaml"), jobfile.load(folder / "job-judge.yaml")
    assert set(judge.judges) == {"stub"} and judge.rewards[0].type == "score_model"
    assert stub.model_dump(exclude={"rewards", "judges"}) == judge.model_dump(exclude={"rewards", "judges"})
