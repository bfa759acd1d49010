"""`examples/ci`: the steps of the composite action, run by bash as the file states them, against a real server."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.backend.evaluations.sampler import sampler
from tests.backend.server import OWNER_KEY, Backend

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "examples/ci/action.yml").read_text())
EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")


@pytest.fixture(scope="module")
def backend(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with Backend(module_database_url, tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment to install into; what the client depends on comes from that of the tests."""
    folder = tmp_path_factory.mktemp("runner") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "lib" / name / "site-packages" / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


@dataclass
class Runner:
    """What GitHub's runner does with a composite action, as far as the action needs it."""

    folder: Path
    inputs: dict[str, str]
    path: str
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""

    def resolve(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            scope, *rest = match[1].split(".")
            if scope == "inputs":
                return self.inputs[rest[0]]
            return self.outputs[rest[0]][rest[2]]  # steps.ID.outputs.NAME

        return EXPRESSION.sub(value, text)

    def run(self) -> int:
        """The exit code of the first step that fails, or 0."""
        for number, step in enumerate(ACTION["runs"]["steps"]):
            assert step["shell"] == "bash"
            files = {name: self.folder / f"{number}.{name}" for name in ("output", "script")}
            files["script"].write_text(step["run"])
            files["output"].touch()
            environment = {name: self.resolve(value) for name, value in step.get("env", {}).items()}
            environment |= {
                "PATH": f"{self.path}:{os.environ['PATH']}", "HOME": str(self.folder), "NO_COLOR": "1",
                "GITHUB_OUTPUT": str(files["output"]), "GITHUB_ACTIONS": "true", "PIP_NO_DEPS": "1",
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"), "COLUMNS": "200",
            }  # fmt: skip
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(files["script"])]
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120
            )
            self.log += done.stdout + done.stderr
            if done.returncode != 0:
                return done.returncode
            lines = files["output"].read_text().splitlines()
            self.outputs[step.get("id", str(number))] = dict(line.split("=", 1) for line in lines)
        return 0


@pytest.fixture
def runner(backend: Backend, python: Path, tmp_path: Path) -> Any:
    rows = "".join(f'{{"prompt": "{n}+1=", "answer": "{n + 1}"}}\n' for n in range(30))
    (tmp_path / "heldout.jsonl").write_text(rows)
    (tmp_path / "reward.py").write_text("def grade(sample, item):\n    return 1.0\n")

    def make(**inputs: str) -> Runner:
        defaults = {name: spec.get("default", "") for name, spec in ACTION["inputs"].items()}
        variables = {
            "url": backend.url, "api-key": OWNER_KEY, "model": backend.add_model(), "dataset": "heldout.jsonl",
            "reward": "reward.py", "samples": "2",
        }  # fmt: skip
        return Runner(tmp_path, defaults | variables | inputs, str(python))

    return make


def right(prompt: str, _sample: int) -> str:
    return str(int(prompt.split("+")[0]) + 1)


def often_right(prompt: str, sample: int) -> str:
    """Nine rows in ten."""
    return "wrong" if prompt.startswith(("7", "17")) else right(prompt, sample)


@pytest.mark.long
def test_main_sets_the_mark_and_a_worse_model_is_stopped(backend: Backend, runner: Any) -> None:
    with sampler(backend, right):
        main = runner(name="main", baseline="main", min="0.9", **{"max-regression": "0.02"})
        assert main.run() == 0, main.log
    assert "no baseline 'main' yet" in main.log
    assert main.resolve(ACTION["outputs"]["evaluation"]["value"]).startswith("eval_")
    with sampler(backend, often_right):
        worse = runner(baseline="main", **{"max-regression": "0.02"})
        assert worse.run() == 3, worse.log
    assert "::error title=reinforge gate::" in worse.log
    suite = ElementTree.parse(worse.folder / "reinforge-gate.xml").getroot()
    assert suite.get("failures") == "1"
    [failed] = [case.get("name") for case in suite if len(case)]
    assert failed == "max_regression"
    assert "**not met**" in (worse.folder / "summary.md").read_text()
    with sampler(backend, often_right):
        allowed = runner(baseline="main", **{"max-regression": "0.3"})
        assert allowed.run() == 0, allowed.log


@pytest.mark.long
def test_each_kind_of_failure_has_its_exit_code(backend: Backend, runner: Any) -> None:
    with sampler(backend, right):
        assert runner(min="1.01").run() == 3
        assert runner().run() == 2  # nothing is asked of it
    assert runner(min="0.5", **{"api-key": "rf-wrong"}).run() == 4
    assert runner(min="0.5", model="", adapter="ftjob-none").run() == 5


def test_every_input_of_the_action_is_used() -> None:
    text = (ROOT / "examples/ci/action.yml").read_text()
    for name in ACTION["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in text, name
    workflow = yaml.safe_load((ROOT / "examples/ci/workflow.yml").read_text())
    [step] = [step for step in workflow["jobs"]["gate"]["steps"] if step.get("uses") == "./examples/ci"]
    required = {name for name, spec in ACTION["inputs"].items() if spec.get("required")}
    assert required <= step["with"].keys() <= ACTION["inputs"].keys()
