"""No proved jail, no code reward; and no way around it."""

import ast
import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worker.sandbox
from worker.sandbox import RewardRow
from worker.sandbox.__main__ import main
from worker.sandbox.jails import JAILS as LETTERS
from worker.sandbox.jails.base import jail_environment
from worker.sandbox.prefix import ensure_prefix
from worker.sandbox.probe import prove

from .harness import JAILS, REPOSITORY, running_daemon
from .jails import ALLOW_EVERYTHING, WeakJail

WITHOUT_LANDLOCK = """
import sys
from worker.sandbox.jailed import kernel
kernel.landlock_abi = lambda: {abi}
from worker.sandbox.__main__ import main
sys.exit(main(["--socket", *sys.argv[1:]]))
"""

PACKAGE = Path(worker.sandbox.__file__).parent

TEMPTING = {
    f"{prefix}_{word}": value
    for prefix in ("REINFORGE", "SANDBOX", "REINFORGE_SANDBOX")
    for word, value in {
        "UNSAFE": "1", "UNSANDBOXED": "1", "DISABLE": "1", "DISABLED": "1", "JAIL": "none", "ISOLATION": "none",
        "SKIP_PROBE": "1", "ALLOW_UNSAFE": "true", "DEBUG": "1", "SANDBOX": "off", "MODE": "plain", "INSECURE": "1",
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("abi", [0, 2])
def test_without_landlock_every_score_is_refused_with_the_reason(abi: int) -> None:
    with (
        running_daemon(script=WITHOUT_LANDLOCK.format(abi=abi), jail="L", env=TEMPTING) as daemon,
        daemon.client() as client,
    ):
        assert "code rewards are off" in daemon.announced and "Landlock" in daemon.announced
        status = client.status()
        assert (status.available, status.jail) == (False, None)
        assert "Landlock version 3 or later is needed" in status.reasons[0]
        outcome = client.score("def grade(sample, item): return 1", [RewardRow("p", "c")])
        assert (outcome.status, outcome.rows) == ("sandbox_unavailable", [])
        assert "Landlock" in (outcome.message or "")
        validation = client.validate("def grade(sample, item): return 1")
        assert (validation.status, validation.entries) == ("sandbox_unavailable", [])


def test_without_a_usable_prefix_the_reason_is_told() -> None:
    with running_daemon(env={"REINFORGE_PREFIX": "/proc/nowhere"}) as daemon, daemon.client() as client:
        (reason,) = client.status().reasons
        assert "/proc/nowhere" in reason


def test_without_a_daemon_the_client_says_so(tmp_path: Path) -> None:
    with worker.sandbox.SandboxClient(tmp_path / "none") as client:
        outcome = client.score("def grade(sample, item): return 1", [RewardRow("p", "c")])
        assert (outcome.status, outcome.rows) == ("sandbox_unavailable", [])
        assert "no sandbox answers" in (outcome.message or "")
        assert not client.status().available
        assert client.validate("x").status == "sandbox_unavailable"


def _read_everything(configuration: dict[str, Any]) -> None:
    configuration["readable"] = ["/"]


def _no_child_filter(configuration: dict[str, Any]) -> None:
    configuration["child_filter"] = ALLOW_EVERYTHING


def _no_filters(configuration: dict[str, Any]) -> None:
    configuration["child_filter"] = configuration["zygote_filter"] = ALLOW_EVERYTHING


def _unlimited_memory(configuration: dict[str, Any]) -> None:
    configuration["rlimits"] = {k: v for k, v in configuration["rlimits"].items() if k != "AS"}


def _broken_preload(configuration: dict[str, Any]) -> None:
    configuration["preload"] = ["no_such_module"]


def _empty_filter(configuration: dict[str, Any]) -> None:
    configuration["zygote_filter"] = ""


def _forgotten_filter(configuration: dict[str, Any]) -> None:
    del configuration["child_filter"]


def _starved(configuration: dict[str, Any]) -> None:
    configuration["rlimits"] = {**configuration["rlimits"], "AS": 1 << 20}


@pytest.mark.parametrize(
    ("weaken", "says"),
    [
        (_read_everything, "an account file"),
        (_no_child_filter, "a signal to another process"),
        (_no_filters, "a network socket"),
        (_unlimited_memory, "unlimited memory"),
        (_broken_preload, "no_such_module"),
        (_empty_filter, "prctl"),
        (_forgotten_filter, "child_filter"),
        (_starved, ""),
    ],
)
def test_a_jail_that_does_not_hold_is_refused(weaken: Callable[[dict[str, Any]], None], says: str) -> None:
    proof = asyncio.run(prove(WeakJail(weaken)))
    assert not proof.held
    assert says in (proof.reason or "")


@pytest.mark.parametrize("jail", JAILS)
def test_the_whole_jail_is_proved(jail: str) -> None:
    proof = asyncio.run(prove(LETTERS[jail](ensure_prefix())))
    assert (proof.held, proof.reason, proof.jail) == (True, None, jail)
    assert proof.facts["uid"] != 0


def test_there_is_no_option_to_run_without_a_jail(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert set(re.findall(r"--\w+", capsys.readouterr().out)) == {
        "--help",
        "--socket",
        "--listen",
        "--token",
        "--pool",
        "--jail",
    }
    for none in ("none", "", "plain", "off", "0"):
        with pytest.raises(SystemExit):
            main(["--socket", "/tmp/s", "--jail", none])


def test_the_sandbox_reads_no_environment_but_where_its_files_lie() -> None:
    names = set()
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).endswith("getenv"):
                names.add("getenv")
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "os.environ.get":
                names.add(ast.literal_eval(node.args[0]))
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
                names.add(ast.unparse(node.slice))
    assert names == {"REINFORGE_PREFIX", "REINFORGE_HOME", "_CANARY_VARIABLE"}


def test_user_code_is_compiled_and_run_in_one_place_that_the_host_never_imports() -> None:
    runs, imports = set(), set()
    for file in [*PACKAGE.rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "exec",
                "eval",
                "compile",
                "runpy.run_path",
            ):
                runs.add(file.name)
            if isinstance(node, ast.ImportFrom) and node.module and file.parent != PACKAGE / "jailed":
                imports |= {f"{node.module}.{alias.name}" for alias in node.names if "jailed" in node.module}
    assert runs == {"child.py"}
    assert {name.split(".")[1] for name in imports} == {"region", "kernel", "spellings"}


def test_importing_the_client_does_not_import_what_runs_code() -> None:
    check = (
        "import sys, worker.sandbox; print([m for m in sys.modules if 'jailed.child' in m or 'zygote' in m])"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_jail_sees_nothing_of_the_daemons_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/evil.so")
    monkeypatch.setenv("PYTHONPATH", "/evil")
    environment = jail_environment(ensure_prefix())
    assert not {"LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "PATH", "HOME"} & environment.keys()
