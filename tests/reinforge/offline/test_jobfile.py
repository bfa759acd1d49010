"""Job files: paths, and errors that name the field."""

from pathlib import Path

import pytest

from reinforge.errors import InvalidInput
from reinforge.offline.jobfile import load, value_of

GOOD = """\
model: starter-arith
data: {dataset: rows.jsonl}
rewards:
  - {type: python, name: correct, path: reward.py}
optimizer: {learning_rate: 1e-4}
"""


def write(folder: Path, text: str) -> Path:
    (folder / "rows.jsonl").write_text('{"prompt": "1+1"}\n')
    (folder / "reward.py").write_text("def grade(sample, item): return 1\n")
    path = folder / "job.yaml"
    path.write_text(text)
    return path


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    spec = load(write(tmp_path, GOOD))
    assert spec.data.dataset == str(tmp_path / "rows.jsonl")
    assert spec.rewards[0].path == str(tmp_path / "reward.py")
    assert spec.optimizer.learning_rate == 1e-4


def test_an_exponent_makes_a_number() -> None:
    assert value_of("[1e-3, 2E5, -1.5e+1, 0.5]") == [1e-3, 2e5, -15.0, 0.5]
    assert value_of("[12e4567, e5, 1e, a1e3]") == ["12e4567", "e5", "1e", "a1e3"]


def test_an_id_stays_an_id(tmp_path: Path) -> None:
    assert load(write(tmp_path, GOOD.replace("rows.jsonl", "file-abc"))).data.dataset == "file-abc"


@pytest.mark.parametrize(
    ("change", "param", "words"),
    [
        (("model: starter-arith", "modell: starter-arith"), "model", "required"),
        (("path: reward.py", "path: reward.py, weigth: 2"), "rewards[0].weigth", "Did you mean weight?"),
        (("path: reward.py", "entry: grade"), "rewards[0]", "exactly one"),
        (
            ("optimizer:", "rollout: {completions_per_prompt: 1}\noptimizer:"),
            "rollout.completions_per_prompt",
            "2",
        ),
        (("1e-4", ".nan"), "optimizer.learning_rate", "'auto' or a number"),
        (("optimizer:", "algorithm: {preset: grop}\noptimizer:"), "algorithm.preset", "Did you mean grpo?"),
        (
            ("optimizer:", "algorithm: {loss: {surrogate: {type: ppo}}}\noptimizer:"),
            "algorithm.loss.surrogate",
            "ppo_clip",
        ),
    ],
)
def test_errors_name_the_field(
    tmp_path: Path, change: tuple[str, str], param: str | None, words: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(write(tmp_path, GOOD.replace(*change)))
    params = [e["param"] or None for e in caught.value.errors]
    assert param in params
    assert any(words in e["message"] for e in caught.value.errors)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("model: [", "invalid_yaml", "line 1, column 9"),
        ("model: a\nmodel: b\n", "invalid_yaml", "occurs twice"),
        ("- a\n- b\n", "invalid_job_file", "mapping"),
        ("", "invalid_job_file", "mapping"),
    ],
)
def test_files_that_are_no_job(tmp_path: Path, text: str, code: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(write(tmp_path, text))
    assert caught.value.code == code
    assert words in caught.value.message


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(tmp_path / "none.yaml")
    assert caught.value.code == "file_not_found"


def test_a_reward_is_python_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert load(write(tmp_path, GOOD.replace("type: python, ", ""))).rewards[0].type == "python"
    with pytest.raises(InvalidInput):
        load(write(tmp_path, GOOD.replace("type: python", "type: pyhton")))
