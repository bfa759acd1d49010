"""The example package with an algorithm of its own, installed into a folder and used like a built-in one; and what
becomes of packages that do not work. Everything runs in processes that see that folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reinforge.algorithm.plugin_functions import function_problem
from reinforge.errors import JobFailure
from worker.trainer.plugins import checked_spec

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own-algorithm"
SLOT = {"type": "centred_rank", "power": 2.0}
JOB: dict[str, Any] = {
    "model": "starter-arith",
    "data": {"dataset": "rows.jsonl"},
    "rewards": [{"source": "def grade(): ..."}],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example package as pip installs it."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    command += ["--disable-pip-version-check", "--target", str(folder / "site"), str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def run(site: Path | None, *arguments: str, program: str | None = None) -> subprocess.CompletedProcess[str]:
    """A Python process that sees the packages in `site`."""
    environment = {key: value for key, value in os.environ.items() if key != "REINFORGE_PLUGINS"}
    environment["PYTHONPATH"] = os.pathsep.join([*([str(site)] if site else []), str(ROOT)])
    command = [sys.executable, *(("-c", program) if program else ()), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)


def output_of(site: Path | None, program: str) -> Any:
    """What a program prints as JSON on its last line."""
    done = run(site, program=program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# ── Like a built-in one ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
def test_the_command_line_shows_it(site: Path) -> None:
    process = run(site, "-m", "reinforge.cli.main", "presets", "show", "centred_rank")
    assert process.returncode == 0, process.stderr
    assert "Centred ranks (centred_rank, own)" in process.stdout
    assert "package     own-algorithm 0.1.0" in process.stdout
    listed = json.loads(run(site, "-m", "reinforge.cli.main", "presets", "list", "--json").stdout)
    assert listed[-1]["id"] == "centred_rank"


FORM = """
import asyncio, json, sys
from backend.jobs.submission.endpoints import form
found = asyncio.run(form(None)).model_dump(mode="json")
print(json.dumps([found["json_schema"], found["presets"][-1], "torch" in sys.modules]))
"""


def test_the_form_gets_its_fields_and_its_card_from_a_server_without_torch(site: Path) -> None:
    schema, card, torch_loaded = output_of(site, FORM)
    advantage = schema["$defs"]["Algorithm"]["properties"]["advantage"]
    assert advantage["discriminator"]["mapping"]["centred_rank"] == "#/$defs/CentredRank"
    power = schema["$defs"]["CentredRank"]["properties"]["power"]
    assert (power["exclusiveMinimum"], power["maximum"], power["default"]) == (0, 10, 1.0)
    assert power["description"].startswith("Ranks in the middle")
    assert (card["id"], card["family"], card["package"]) == ("centred_rank", "own", "own-algorithm 0.1.0")
    assert card["single_turn"]
    assert not torch_loaded


def test_its_worked_cases_run_with_the_bundled_ones(site: Path) -> None:
    done = run(
        site,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/algorithm/test_vectors.py",
        "-k",
        "own.centred",
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_a_job_trains_with_it_and_says_what_it_was_trained_with(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(
        site, "-m", "reinforge.cli.main", "train", str(EXAMPLE / "job.yaml"), "--out", str(out), "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "succeeded"
    manifest = json.loads((out / "run.json").read_text())
    assert manifest["spec"]["algorithm"]["packages"] == {"own-algorithm": "0.1.0"}
    # The same run where the package is not: refused in words, and to be resumed once it is there.
    (out / "records.jsonl").unlink()
    refused = run(None, "-m", "worker.trainer.main", "--run", str(out), "--offline")
    ended = json.loads((out / "records.jsonl").read_text().splitlines()[-1])
    assert (ended["outcome"], ended["reason"]) == ("paused", "package_missing"), refused.stderr
    assert "own-algorithm 0.1.0, which is not installed" in ended["message"]
    assert "pip install own-algorithm==0.1.0" in ended["hint"]


def test_a_worker_refuses_another_version() -> None:
    raw = JOB | {"algorithm": {"packages": {"pytest": "0.0.1"}}}
    with pytest.raises(JobFailure, match=r"made with pytest 0\.0\.1, and .* is installed") as caught:
        checked_spec(raw)
    assert caught.value.retryable


# ── What does not work ──────────────────────────────────────────────────────────────────────────────────────

FUNCTION = "def centred_rank(rows: Rows, rewards: Tensor, keep: Tensor, *, power: float = 1.0) -> Tensor:"
BROKEN: dict[str, tuple[str, str, str, str]] = {
    "import": ("spec.py", "from typing import Literal", "import no_such_module", "No module named 'no_such_module'"),
    "not a part": ("spec.py", "(AdvantageModel)", "", "not a subclass of reinforge.plugin.AdvantageModel"),
    "another type": ("spec.py", '"centred_rank"', '"ranks"', "has to declare `type: Literal"),
    "no function": ("functions.py", "def centred_rank", "def other", "has no function centred_rank"),
    "too few arguments": (
        "functions.py",
        FUNCTION,
        "def centred_rank(rows, rewards, *, power=1.0):",
        "it is called as (rows, rewards, keep, power=…), and its signature is (rows, rewards, *, power=…)",
    ),
    "an unknown field": (
        "functions.py",
        FUNCTION,
        "def centred_rank(rows, rewards, keep, *, exponent=1.0):",
        "got an unexpected keyword argument 'power'",
    ),
}  # fmt: skip
CHECK = f"""
import json
from pydantic import ValidationError
from reinforge.platform.doctor import check_plugins
from reinforge.spec import JobSpec

def refusal(algorithm):
    try:
        JobSpec.model_validate({{**{JOB!r}, "algorithm": algorithm}})
    except ValidationError as error:
        (found,) = error.errors()
        return [(found.get("ctx") or {{}}).get("param"), found["msg"]]

check = check_plugins()
print(json.dumps([refusal({{"advantage": {{"type": "centred_rank"}}}}), refusal({{"preset": "centred_rank"}}),
                  refusal({{"preset": "dapo"}}), check.status, check.message]))
"""


def changed(site: Path, folder: Path, file: str, old: str, new: str) -> Path:
    """The installed package with one text replaced."""
    copy = folder / "site"
    shutil.copytree(site, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (path,) = copy.glob(f"*/{file}")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return copy


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_used_is_named_and_nothing_else_is_concerned(
    name: str, site: Path, tmp_path: Path
) -> None:
    *change, reason = BROKEN[name]
    by_slot, by_preset, built_in, status, message = output_of(changed(site, tmp_path, *change), CHECK)
    assert by_slot[0] == "algorithm.advantage.type"
    assert by_slot[1].startswith("own-algorithm 0.1.0 offers `advantage.centred_rank` (reinforge.slots)")
    assert reason in by_slot[1]
    assert by_preset[0] in ("algorithm.preset", "algorithm.advantage.type")
    assert "own-algorithm 0.1.0 offers" in by_preset[1]
    assert built_in is None
    assert (status, reason in message) == ("warn", True)


def test_a_name_that_is_taken_stays_with_its_owner(site: Path, tmp_path: Path) -> None:
    copy = changed(site, tmp_path, "entry_points.txt", "centred_rank =", "grpo =")
    program = CHECK.replace('"type": "centred_rank"', '"type": "grpo"').replace('"centred_rank"', '"grpo"')
    by_slot, by_preset, _, status, message = output_of(copy, program)
    assert (by_slot, by_preset, status) == (None, None, "warn")
    assert "`advantage.grpo` (reinforge.slots), which cannot be used: `grpo` is built in" in message
    assert "`grpo` (reinforge.presets), which cannot be used: `grpo` is built in" in message


def test_a_preset_that_is_no_algorithm_is_left_out(site: Path, tmp_path: Path) -> None:
    old, new = '{"type": "centred_rank"}', '{"type": "centred_rank", "power": 99}'
    by_slot, by_preset, _, status, message = output_of(changed(site, tmp_path, "presets.py", old, new), CHECK)
    assert (by_slot, status) == (None, "warn")
    assert "its slots are not valid settings of an algorithm: advantage.centred_rank.power" in message
    assert by_preset[0] == "algorithm.preset"


def test_what_only_the_worker_can_tell_ends_the_job_in_words(site: Path, tmp_path: Path) -> None:
    """The source does not say that a module it needs is missing; loading it does."""
    copy = changed(site, tmp_path, "functions.py", "import torch\n", "import no_such_module, torch\n")
    *_, status, message = output_of(copy, CHECK)
    cause = "advantage `centred_rank` of own-algorithm 0.1.0 cannot be loaded: ModuleNotFoundError"
    assert (status, cause in message) == ("warn", True)
    program = f"""
import json
from reinforge.errors import JobFailure
from worker.trainer.plugins import checked_spec
try:
    checked_spec({JOB | {"algorithm": {"advantage": SLOT}}!r})
except JobFailure as failure:
    print(json.dumps([failure.code, failure.message, failure.retryable]))
"""
    code, message, retryable = output_of(copy, program)
    assert (code, cause in message, retryable) == ("package_broken", True, True)


def test_the_return_value_of_a_function_is_checked(site: Path, tmp_path: Path) -> None:
    copy = changed(
        site, tmp_path, "functions.py", "return torch.where(keep, centred", "return (keep, centred"
    )
    program = f"""
import json, torch
from tests.algorithm.cases.base import all_rows, group_rows
from worker.algorithm.advantages import advantages
from worker.algorithm.plugin_functions import OwnFunctionError
rows, rewards = group_rows([[0.0, 1.0]])
try:
    advantages({SLOT!r}, rows, rewards, all_rows(2))
except OwnFunctionError as error:
    print(json.dumps(str(error)))
"""
    assert output_of(copy, program) == (
        "advantage `centred_rank` of own-algorithm 0.1.0 returned tuple, but must return Tensor"
    )


def test_nan_is_attributed_to_the_package_that_made_it(site: Path, tmp_path: Path) -> None:
    """Not where a reward was NaN before it."""
    old, new = (
        "return torch.where(keep, centred.sign()",
        "return torch.where(keep, rewards.log() * centred.sign()",
    )
    copy = changed(site, tmp_path, "functions.py", old, new)
    program = f"""
import json, torch
from tests.algorithm.cases.base import all_rows, group_rows
from worker.algorithm.advantages import advantages
from worker.algorithm.plugin_functions import NotFiniteError
from worker.training.job_end import end_of
results = []
for values in ([1.0, -2.0], [1.0, float("nan")], [1.0, 2.0]):
    rows, rewards = group_rows([values])
    try:
        results.append(advantages({SLOT!r}, rows, rewards, all_rows(2)).isfinite().tolist())
    except NotFiniteError as error:
        end = end_of(error)
        results.append([end.outcome, end.reason, end.message])
print(json.dumps(results))
"""
    (outcome, reason, message), *others = output_of(copy, program)
    assert (outcome, reason) == ("paused", "package_broken")
    start = (
        "advantage `centred_rank` of own-algorithm 0.1.0: 1 of 2 values of `advantages` are NaN or infinite"
    )
    assert message.startswith(start)
    assert others == [[True, False], [True, True]]


def test_a_function_whose_source_does_not_tell_is_left_to_the_worker() -> None:
    assert function_problem("surrogate", "worker.algorithm.loss.surrogates", "ppo_clip", ["eps_low"]) is None
    assert function_problem("surrogate", "worker.algorithm.loss.surrogates", "SURROGATES", []) is None
    assert function_problem("surrogate", "json.nothing", "x", []) == "there is no module json.nothing"
