"""`reinforge import`: folders with a job file that can be used as they are."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reinforge import imports
from reinforge.base_models.learning_rate import auto_learning_rate
from reinforge.dataset import inspect
from reinforge.errors import InvalidInput
from reinforge.offline import jobfile
from reinforge.spec import JobSpec

PYTHON = "def grade(sample, item):\n    return float(item['answer'] in sample['output_text']) * item.get('scale', 1)\n"
FTJOB: dict[str, Any] = {
    "object": "fine_tuning.job",
    "id": "ftjob-abc123",
    "model": "o4-mini-2025-04-16",
    "status": "succeeded",
    "training_file": "file-train",
    "validation_file": "file-valid",
    "seed": 950,
    "metadata": {"team": "sums"},
    "user_provided_suffix": "sums",
    "method": {
        "type": "reinforcement",
        "reinforcement": {
            "grader": {
                "type": "multi",
                "name": "Both of them",
                "graders": {
                    "exact": {
                        "type": "string_check", "name": "e", "input": "{{ sample.output_text }}",
                        "reference": "{{ item.answer }}", "operation": "eq",
                    },
                    "code": {"type": "python", "name": "c", "source": PYTHON, "image_tag": "2025-05-08"},
                },
                "calculate_output": "0.5 * exact + code",
            },
            "hyperparameters": {
                "batch_size": 4, "n_epochs": 2, "learning_rate_multiplier": 2.0, "compute_multiplier": "auto",
                "eval_interval": 5, "eval_samples": 2, "reasoning_effort": "medium",
            },
            "response_format": None,
        },
    },
}  # fmt: skip
TRL = '''
"""Trains."""
import re
import trl
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

PATTERN = re.compile(r"<answer>(.*?)</answer>")
dataset = load_dataset("openai/gsm8k", split="train")

def extract(text):
    found = PATTERN.search(text)
    return found.group(1) if found else ""

def correct(completions, answer, **kwargs):
    return [float(extract(c[0]["content"]) == a) for c, a in zip(completions, answer)]

def formatted(prompts, completions, **kwargs):
    return [0.5 if PATTERN.search(c[0]["content"]) else 0.0 for c in completions]

def not_used(completions, other, **kwargs):
    return [0.0] * len(completions)

args = GRPOConfig(output_dir="out", num_generations=4, learning_rate=2e-6, max_completion_length=128, beta=0.04,
                  max_steps=30, reward_weights=[2.0, 1.0], lr_scheduler_type="cosine", bf16=True)
trainer = GRPOTrainer(model="Qwen/Qwen3-0.6B", reward_funcs=[correct, formatted], args=args, train_dataset=dataset)
trainer.train()
'''
PREDIBASE = """
def equation(prompt: str, completion: str, example: dict[str, str]) -> float:
    import re
    return 1.0 if re.search(example["target"], completion) else 0.0

def short(prompt, completion, example):
    return float(len(completion) < int(example.get("limit", "100")))
"""


def made(
    tmp_path: Path, name: str, text: str, *, data: Path | None = None
) -> tuple[JobSpec, imports.ImportedProject, Path]:
    """The job, the project, and the folder that it was written to."""
    file, folder = tmp_path / name, tmp_path / "made"
    file.write_text(text)
    project = imports.read(file, "starter-arith", None if data is None else 24)
    project.use_data(data, folder)
    project.write(folder)
    (folder / "heldout.jsonl").touch()  # that is the user's to bring
    return jobfile.load(folder / "job.yaml"), project, folder


def columns(folder: Path, name: str = "data.jsonl") -> set[str]:
    """Of a stub that is a valid dataset."""
    return {column.name for column in inspect(folder / name, name).columns}


def test_a_fine_tuning_job_becomes_a_folder(tmp_path: Path) -> None:
    job, project, folder = made(tmp_path, "job.json", json.dumps(FTJOB))
    assert sorted(path.name for path in folder.iterdir()) == [
        "data.jsonl", "grader.json", "heldout.jsonl", "job.yaml",
    ]  # fmt: skip
    (reward,) = job.rewards
    assert (reward.type, reward.name, reward.on_error) == ("grader", "Both_of_them", "zero")
    assert json.loads((folder / "grader.json").read_text()) == FTJOB["method"]["reinforcement"]["grader"]
    assert (job.rollout.prompts_per_step, job.rollout.completions_per_prompt) == (4, 8)
    assert job.optimizer.learning_rate == 2 * auto_learning_rate(128)
    assert (job.evaluation.every_steps, job.evaluation.samples_per_row) == (5, 2)
    assert (job.seed, job.metadata, job.name) == (950, {"team": "sums"}, "sums")
    assert columns(folder) == columns(folder, "heldout.jsonl") == {"messages", "answer", "scale"}
    notes = "\n".join(project.notes)
    for part in ("o4-mini-2025-04-16", "file-train", "n_epochs was 2", "reasoning_effort"):
        assert part in notes
        assert part in (folder / "job.yaml").read_text()


def test_with_the_rows_at_hand_epochs_become_steps(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "1", "answer": "1", "scale": 1}\n' * 24)
    job, project, folder = made(tmp_path, "job.json", json.dumps(FTJOB), data=rows)
    assert job.limits.steps == 12  # 24 rows, 2 epochs, 4 rows a step
    assert Path(job.data.dataset).resolve() == rows
    assert not (folder / "data.jsonl").exists()
    assert "n_epochs" not in "".join(project.notes)


def test_the_request_that_makes_a_job_will_do_and_a_python_grader_is_a_file(tmp_path: Path) -> None:
    request = {
        "model": "o4-mini", "training_file": "file-1",
        "method": {"type": "reinforcement", "reinforcement": {"grader": {"type": "python", "source": PYTHON}}},
    }  # fmt: skip
    job, _, folder = made(tmp_path, "request.json", json.dumps(request))
    assert (folder / "reward.py").read_text() == PYTHON
    assert job.rewards[0].on_error == "zero"
    assert columns(folder) == {"messages", "answer", "scale"}


def test_a_judge_is_named_as_something_to_add(tmp_path: Path) -> None:
    grader = {
        "type": "score_model", "name": "j", "model": "gpt-4o",
        "input": [{"role": "user", "content": "{{ sample.output_text }} {{ item.rubric }}"}],
    }  # fmt: skip
    job = {"method": {"type": "reinforcement", "reinforcement": {"grader": grader}}}
    _, project, folder = made(tmp_path, "job.json", json.dumps(job))
    assert any("reinforge judge add gpt-4o" in note for note in project.notes)
    assert columns(folder) == {"messages", "rubric"}


def test_a_job_of_our_own_server_comes_back_as_it_was(tmp_path: Path) -> None:
    """It shows numbers beside their multipliers."""
    job = json.loads(json.dumps(FTJOB))
    job["method"]["reinforcement"]["hyperparameters"] = {
        "batch_size": 8, "n_epochs": 3, "compute_multiplier": 0.5, "learning_rate_multiplier": 3.0, "eval_interval": 2,
        "eval_samples": 1, "reasoning_effort": "default", "steps": 6, "completions_per_prompt": 4,
        "learning_rate": 3e-5, "temperature": 0.7,
    }  # fmt: skip
    spec, _, _ = made(tmp_path, "job.json", json.dumps(job))
    assert (spec.limits.steps, spec.rollout.completions_per_prompt) == (6, 4)
    assert (spec.optimizer.learning_rate, spec.rollout.temperature) == (3e-5, 0.7)


def test_a_predibase_file_has_a_reward_for_each_function(tmp_path: Path) -> None:
    job, project, folder = made(tmp_path, "rewards.py", PREDIBASE)
    assert [(reward.name, getattr(reward, "entry", None)) for reward in job.rewards] == [
        ("equation", "equation"), ("short", "short"),
    ]  # fmt: skip
    assert (folder / "reward.py").read_text() == PREDIBASE
    assert columns(folder) == {"prompt", "target", "limit"}
    assert [note for note in project.notes if "stub" not in note] == []


def test_a_trl_script_gives_its_rewards_and_settings(tmp_path: Path) -> None:
    job, project, folder = made(tmp_path, "train.py", TRL)
    assert [(reward.name, reward.weight) for reward in job.rewards] == [("correct", 2.0), ("formatted", 1.0)]
    assert (job.rollout.completions_per_prompt, job.rollout.max_completion_tokens) == (4, 128)
    assert (job.optimizer.learning_rate, job.optimizer.schedule, job.limits.steps) == ("auto", "cosine", 30)
    source = (folder / "reward.py").read_text()
    names: dict[str, Any] = {}
    exec(compile(source, "reward.py", "exec"), names)
    answer = [[{"role": "assistant", "content": "<answer>4</answer>"}]]
    assert names["correct"](completions=answer, answer=["4"]) == [1.0]
    assert names["formatted"](prompts=["2+2"], completions=answer) == [0.5]
    assert "trl" not in source
    assert "not_used" not in source
    assert columns(folder) == {"messages", "answer"}
    notes = "\n".join(project.notes)
    for part in (
        "openai/gsm8k",
        "Qwen/Qwen3-0.6B",
        "beta=0.04",
        "line 27",
        "learning_rate was 2e-06, for all",
    ):
        assert part in notes, (part, notes)


def test_the_learning_rate_of_a_script_that_trains_an_adapter_stays(tmp_path: Path) -> None:
    adapter = "from peft import LoraConfig\nadapter = LoraConfig(r=8)\n"
    job, project, _ = made(tmp_path, "train.py", TRL + adapter)
    assert (job.optimizer.learning_rate, job.adapter.rank) == (2e-6, 8)
    assert not any("learning_rate" in note for note in project.notes)


def test_a_multiple_of_an_unresolved_rate_is_a_note(tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(FTJOB))
    project = imports.read(file, "a-model-of-the-server", None)
    assert project.job["optimizer"] == {"learning_rate": "auto"}
    assert any("learning_rate_multiplier was 2" in note for note in project.notes)


def test_a_package_missing_in_the_sandbox_is_a_note(tmp_path: Path) -> None:
    text = "import torch\n\ndef f(completions, **kwargs):\n    return [float(torch.tensor(1)) for c in completions]\n"
    _, project, _ = made(tmp_path, "r.py", text)
    assert any("imports torch" in note for note in project.notes)


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        pytest.param("job.json", "{", "invalid_json", id="no-json"),
        pytest.param("job.json", "[]", "not_a_reinforcement_job", id="no-object"),
        pytest.param(
            "job.json",
            '{"method": {"type": "supervised", "supervised": {}}}',
            "not_a_reinforcement_job",
            id="supervised",
        ),
        pytest.param(
            "job.json",
            '{"method": {"reinforcement": {"grader": {"type": "new"}}}}',
            "invalid_grader",
            id="grader",
        ),
        pytest.param(
            "job.json",
            json.dumps(
                {
                    "method": {
                        "reinforcement": {
                            "grader": {"type": "python", "source": PYTHON},
                            "hyperparameters": {"batch_size": 0},
                        }
                    }
                }
            ),
            "invalid_input",
            id="hyperparameter",
        ),
        pytest.param("r.py", "def f(:", "invalid_reward", id="no-python"),
        pytest.param("r.py", "x = 1\n", "invalid_reward", id="no-reward"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str, code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made(tmp_path, name, text)
    assert refused.value.code == code
    assert not (tmp_path / "made").exists()


def test_the_command_makes_a_folder_once(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PREDIBASE)

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reinforge.cli.main", "import", "mine.py", *options]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"}
        )

    done = run()
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["mine/job.yaml", "mine/reward.py", "mine/data.jsonl"]
    assert "data.jsonl is a stub" in done.stderr
    again = run()
    assert again.returncode == 2
    assert "already exists" in again.stderr
    other = run("--to", "other", "--json")
    assert json.loads(other.stdout)["folder"] == "other"
