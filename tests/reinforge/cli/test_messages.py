"""Error messages of the command line, against a real server."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from reinforge import __version__
from reinforge.cli import elsewhere
from reinforge.cli import main as cli
from reinforge.client import Reinforge
from reinforge.client.credentials import credentials_path
from reinforge.errors import NotFound
from tests.backend.server import OWNER_KEY, Backend
from tests.support.command_line import Cli

JOB = """\
model: tiny
data: {dataset: rows.jsonl}
rewards: [{type: python, name: correct, path: reward.py}]
rollout: {max_completion_tokens: 16}
limits: {steps: 2}
"""
REWARD = "def grade(sample, item): return 1.0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a job that is right."""
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1+1=", "answer": "2"}\n')
    (tmp_path / "reward.py").write_text(REWARD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edited(folder: Path, old: str, new: str) -> None:
    assert old in JOB
    (folder / "job.yaml").write_text(JOB.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("limits:", "optimiser: {clip_norm: 1}\nlimits:", "optimiser: No such field. Did you mean optimizer?"),
        ("{steps: 2}", "{stps: 2}", "limits.stps: No such field. Did you mean steps?"),
        ("name: correct", "nam: correct", "rewards[0].nam: No such field. Did you mean name?"),
        ("limits:", "algorithm: {preset: drgrpo}\nlimits:", "There is no preset 'drgrpo'. Did you mean dr_grpo?"),
        ("limits:", "algorithm: {preset: zzz}\nlimits:", "no preset 'zzz'. `reinforge presets list` shows all."),
        ("type: python", "type: pyhton", "rewards[0]: There is no type 'pyhton'. Did you mean python?"),
        ("rows.jsonl", "nope.jsonl", "There is no file nope.jsonl beside job.yaml. (data.dataset)"),
        ("rows.jsonl", "row.jsonl", "Did you mean rows.jsonl?"),
        ("reward.py", "rewrd.py", "no file rewrd.py beside job.yaml. (rewards[0].path) hint Did you mean reward.py?"),
        ("rows.jsonl", "file-nope", "no dataset file-nope. (data.dataset) hint `reinforge dataset list` shows all."),
    ],
)  # fmt: skip
def test_a_job_file_that_is_wrong(run: Cli, folder: Path, old: str, new: str, message: str) -> None:
    edited(folder, old, new)
    done = run("job", "create", "-f", "job.yaml")
    assert message in done.err
    assert done.err.count(message.partition(" (")[0]) == 1, "once is enough"
    assert (done.code, done.out) in [(2, ""), (5, "")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# caf\xe9\n", "reward.py cannot be read: line 1 has a byte that is not UTF-8 (0xe9)."),
        (b"", "reward.py is empty. hint Write a reward into it"),
        (b" \n\n", "reward.py is empty."),
        (None, "There is no file reward.py, and no ready reward has this name."),
    ],
)
def test_a_reward_file_that_cannot_be_used(
    run: Cli, folder: Path, content: bytes | None, message: str
) -> None:
    (folder / "reward.py").unlink() if content is None else (folder / "reward.py").write_bytes(content)
    done = run("reward", "test", "reward.py")
    assert (done.code, message in done.err) == (2, True), done.err
    if content is not None:
        for command in (("reward", "push", "reward.py"), ("job", "create", "-f", "job.yaml")):
            done = run(*command)
            assert (done.code, message.partition(" (r")[0] in done.err) == (2, True), done.err


def test_line_and_column_of_a_bad_row_are_printed(run: Cli, folder: Path) -> None:
    (folder / "rows.jsonl").write_bytes(b'{"prompt":"a"}\n{"prompt":"caf\xe9"}\n')
    done = run("dataset", "push", "rows.jsonl")
    assert done.code == 2
    assert "Byte 0xe9 is not valid UTF-8. (file) line 2, column 15" in done.err


def test_bad_rows_are_listed_and_can_be_skipped(run: Cli, folder: Path) -> None:
    (folder / "rows.csv").write_text("question,total\n5+6,11\nbad\n ,2\n7+7,14\n")
    done = run("dataset", "push", "rows.csv")
    assert done.code == 2
    for text in ("line 3, column 4", "line 4, column 1", "2 bad rows, 2 good ones", "--skip-bad-rows"):
        assert text in done.err
    skipped = run("dataset", "push", "rows.csv", "--skip-bad-rows")
    assert skipped.code == 0
    for text in ("2 bad rows are skipped (lines 3, 4)", "--column prompt=question --column answer=total"):
        assert text in skipped.err


def test_wait_and_quiet_print_the_id(run: Cli, folder: Path) -> None:
    done = run("job", "create", "-f", "job.yaml", "--wait", "--quiet", "--timeout", "0.1")
    assert (done.code, done.out.startswith("ftjob-")) == (124, True), done.err
    assert len(done.out.split()) == 1


def test_ids_are_whole_when_the_output_is_piped(backend: Backend, folder: Path) -> None:
    job = backend.create_job(name="a name that is as long as the names of jobs are in practice, or longer")
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"REINFORGE_URL": backend.url, "REINFORGE_API_KEY": OWNER_KEY}
    command = [sys.executable, "-m", "reinforge.cli.main", "job", "list"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert job in done.stdout
    assert "…" not in done.stdout


def test_login_takes_a_key_alone(
    run: Cli, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the server that commands use, if that accepts it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = run("login", "rf-abc")
    assert (done.code, f"{backend.url} does not accept this key." in done.err) == (4, True), done.err
    assert "reinforge login URL --key rf-…" in done.err
    assert not credentials_path().exists()
    assert run("login", OWNER_KEY).code == 0
    assert json.loads(credentials_path().read_text()) == {backend.url: OWNER_KEY, "default": backend.url}
    monkeypatch.setenv("REINFORGE_URL", "http://127.0.0.1:9")
    away = run("login", OWNER_KEY)
    assert (away.code, "No answer from http://127.0.0.1:9" in away.err) == (6, True), away.err


def test_the_sdk_reads_what_login_stored(
    backend: Backend, run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run("login", backend.url, "--key", OWNER_KEY).code == 0
    monkeypatch.delenv("REINFORGE_URL")
    monkeypatch.delenv("REINFORGE_API_KEY")
    with Reinforge() as client:
        assert client.base_url == backend.url
        assert client.workers.list()
    with Reinforge("http://127.0.0.1:1") as elsewhere:
        assert "authorization" not in elsewhere.transport.http.headers, "a key goes to its own server alone"
    credentials_path().write_text("not JSON")
    with Reinforge() as client:
        assert client.base_url == "http://127.0.0.1:8321"


def test_rows_are_printed_as_the_prompts_that_a_model_reads(run: Cli, backend: Backend) -> None:
    dataset = backend.add_dataset()
    done = run("dataset", "render", dataset, "tiny", "--rows", "2")
    assert (done.code, done.out) == (0, "0+1=\n1+1=\n")
    assert "row 1 of 20: 4 tokens" in done.err
    assert run("dataset", "delete", dataset).code == 0
    assert run("dataset", "render", dataset, "tiny").code == 5


def test_a_dataset_may_be_referred_to_by_its_name(run: Cli, backend: Backend, tmp_path: Path) -> None:
    file = tmp_path / "sums.jsonl"
    file.write_text('{"prompt": "0+1=", "answer": "1"}\n')
    first = run("dataset", "push", str(file)).out.strip()
    assert run("dataset", "render", "sums.jsonl", "tiny").out == "0+1=\n"
    file.write_text('{"prompt": "2+1=", "answer": "3"}\n')
    second = run("dataset", "push", str(file)).out.strip()
    ambiguous = run("dataset", "delete", "sums.jsonl")
    assert ambiguous.code != 0 and first in ambiguous.err and second in ambiguous.err
    assert run("dataset", "delete", first).code == 0
    assert run("dataset", "delete", "sums.jsonl").code == 0
    assert backend.api.get(f"/datasets/{second}").status_code == 404
    assert run("dataset", "delete", "sums.jsonl").code == 5


def test_settings_of_a_job_file_can_be_replaced(run: Cli, folder: Path) -> None:
    words = ["--set", "limits.steps=7", "--set", "optimizer.learning_rate=1e-4", "--json"]
    made = run("job", "create", "-f", "job.yaml", *words)
    assert made.code == 0, made.err
    spec = json.loads(made.out)["spec"]
    assert (spec["limits"]["steps"], spec["optimizer"]["learning_rate"]) == (7, 1e-4)
    wrong = run("job", "create", "-f", "job.yaml", "--set", "optimiser.learning_rate=1e-4")
    assert (wrong.code, "optimizer" in wrong.err) == (2, True), wrong.err
    assert run("job", "create", "-f", "job.yaml", "--set", "rewards.name=a").code == 2


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["logs"], "reinforge job logs ID"),
        (["workers"], "reinforge worker list"),
    ],
)
def test_a_command_that_does_not_exist_names_what_does_it(run: Cli, arguments: list[str], hint: str) -> None:
    done = run(*arguments)
    assert (done.code, "No such command" in done.err, hint in done.err) == (2, True, True), done.err


def command_exists(command: Any, names: list[str]) -> bool:
    for name in names:
        command = getattr(command, "commands", {}).get(name)
    return command is not None


def test_what_hints_name_exists() -> None:
    """Commands in the hints about unknown commands; and what has a hint is no command."""
    text = " ".join(elsewhere.HINTS.values())
    top = typer.main.get_command(cli.app)
    assert not [name for name in elsewhere.HINTS if command_exists(top, name.split())]
    for first, second in re.findall(r"reinforge ([a-z]+)(?: ([a-z-]+))?", text):
        command = top.commands[first]  # type: ignore[attr-defined]
        assert not hasattr(command, "commands") or second in command.commands, (first, second)


def test_whoami_says_server_project_and_role(run: Cli, backend: Backend) -> None:
    done = run("whoami")
    assert done.code == 0
    assert f"server   {backend.url} ({__version__})" in done.out
    assert "owner" in done.out and "proj_" in done.out


def test_version_is_an_option_as_well(run: Cli) -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"{__version__}\n")


def test_backup_of_a_folder_without_a_platform_says_how_to_name_it(run: Cli, folder: Path) -> None:
    done = run("backup", "copy")
    assert (done.code, "--home or REINFORGE_HOME" in done.err) == (2, True), done.err


def test_the_sdk_takes_ready_rewards_by_name(backend: Backend, run: Cli, folder: Path) -> None:
    with Reinforge() as client:
        data = client.datasets.push(folder / "rows.jsonl")
        spec = {
            "model": "tiny",
            "data": {"dataset": data.id},
            "rewards": [{"ready": "numeric", "parameters": {"RELATIVE": 0.5}}],
            "rollout": {"max_completion_tokens": 16},
        }
        assert client.jobs.check(spec).ok
        job = client.jobs.create(spec)
        assert job.reward_names == ["numeric"]
        assert "RELATIVE = 0.5" in job.spec["rewards"][0]["source"]
        with pytest.raises(NotFound, match="numerik"):
            client.jobs.create(spec | {"rewards": [{"ready": "numerik"}]})
