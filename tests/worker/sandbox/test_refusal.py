"""No proved jail, no code reward; and no way around it."""

import ast
import asyncio
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worker.sandbox
from reinforge.errors import StateConflict
from reinforge.parsing.python_source import parse
from reinforge.schemas.rpc.rewards import NamedCode, ValidateRequest
from worker.rpc.rewards import validate
from worker.sandbox import CallOutcome, RewardRow, Timeouts
from worker.sandbox.__main__ import main
from worker.sandbox.daemon.probe import prove
from worker.sandbox.jailed import kernel
from worker.sandbox.jails import JAILS as LETTERS
from worker.sandbox.jails import bpf
from worker.sandbox.jails.base import jail_environment
from worker.sandbox.jails.prefix import ensure_prefix

from . import hiding
from .harness import (
    CONTROL,
    JAILS,
    REPOSITORY,
    cannot,
    children,
    control_scores,
    eventually,
    jails_of,
    running_daemon,
)
from .jails import ALLOW_EVERYTHING, WeakJail, WeakNamespaces

PACKAGE = Path(worker.sandbox.__file__).parent

TEMPTING = {
    f"{prefix}_{word}": value
    for prefix in ("REINFORGE", "SANDBOX", "REINFORGE_SANDBOX")
    for word, value in {
        "UNSAFE": "1", "UNSANDBOXED": "1", "DISABLE": "1", "DISABLED": "1", "JAIL": "none", "ISOLATION": "none",
        "SKIP_PROBE": "1", "ALLOW_UNSAFE": "true", "DEBUG": "1", "SANDBOX": "off", "MODE": "plain", "INSECURE": "1",
    }.items()
}  # fmt: skip


def test_where_namespaces_are_denied_landlock_is_used_and_the_reason_reported() -> None:
    if cannot("L"):
        pytest.skip(f"jail L: {cannot('L')}")
    with (
        running_daemon(script=hiding.script(hiding.without(namespaces=True))) as daemon,
        daemon.client() as client,
    ):
        assert daemon.announced == "sandboxd: code rewards are on: jail L was proved to hold"
        status = client.status()
        assert (status.available, status.jail, status.reasons) == (True, "L", [])
        assert set(status.probe["refused"]) == {"N"}
        assert "bwrap" in status.probe["refused"]["N"] or "bubblewrap" in status.probe["refused"]["N"]
        assert control_scores(client) == [0.5] * 3


def test_where_landlock_is_missing_namespaces_do_without_it() -> None:
    if cannot("N"):
        pytest.skip(f"jail N: {cannot('N')}")
    with (
        running_daemon(script=hiding.script(hiding.without(landlock=True))) as daemon,
        daemon.client() as client,
    ):
        assert daemon.announced == "sandboxd: code rewards are on: jail N was proved to hold"
        assert client.status().probe["landlock_abi"] == 0
        assert control_scores(client) == [0.5] * 3


def test_where_both_are_missing_every_score_is_refused_with_both_reasons() -> None:
    nothing = hiding.script(hiding.without(namespaces=True, landlock=True))
    with running_daemon(script=nothing, env=TEMPTING) as daemon, daemon.client() as client:
        assert "code rewards are off" in daemon.announced
        status = client.status()
        assert (status.available, status.jail) == (False, None)
        assert [reason.split(":")[0] for reason in status.reasons] == ["jail N", "jail L"]
        assert "Landlock version 3 or later is needed" in status.reasons[1]
        outcome = client.score(CONTROL, [RewardRow("p", "c")])
        assert (outcome.status, outcome.rows) == ("sandbox_unavailable", [])
        assert all(reason in (outcome.message or "") for reason in status.reasons)
        validation = client.validate(CONTROL)
        assert (validation.status, validation.entries) == ("sandbox_unavailable", [])
        with pytest.raises(StateConflict) as refused:
            validate(client, ValidateRequest(rewards=[NamedCode(name="r", source=CONTROL)]))
        assert (refused.value.status, refused.value.code) == (409, "code_rewards_disabled")
        assert "Landlock" in refused.value.message and "SANDBOX_URL" in (refused.value.hint or "")


def test_an_old_landlock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "landlock_abi", lambda: 2)
    assert "has version 2" in (LETTERS["L"](ensure_prefix()).missing() or "")


def test_without_bubblewrap_the_reason_says_so() -> None:
    with running_daemon(env={"PATH": "/nowhere"}) as daemon, daemon.client() as client:
        assert "bubblewrap is not installed" in client.status().probe["refused"]["N"]
        assert client.status().jail != "N"


def test_a_configured_jail_is_not_replaced_by_another() -> None:
    with running_daemon(jail="N", env={"PATH": "/nowhere"}) as daemon, daemon.client() as client:
        assert "code rewards are off" in daemon.announced
        assert client.score(CONTROL, [RewardRow("p", "c")]).status == "sandbox_unavailable"


N_THAT_FAILS_LATER = """
import os, sys
from worker.sandbox.jails.namespaces import NamespaceJail
NamespaceJail.missing = lambda self: "taken away" if os.path.exists({flag!r}) else None
from worker.sandbox.__main__ import main
sys.exit(main(["--socket", *sys.argv[1:], "--pool", "2"]))
"""


def test_a_run_never_moves_to_another_jail_by_itself(tmp_path: Path) -> None:
    for jail in ("N", "L"):
        if cannot(jail):
            pytest.skip(f"jail {jail}: {cannot(jail)}")
    flag = tmp_path / "flag"
    script = N_THAT_FAILS_LATER.format(flag=str(flag))
    with running_daemon(script=script) as daemon, daemon.client() as held, daemon.client() as free:
        held.hold_to("N")
        assert held.score(CONTROL, [RewardRow("p", "c")]).jail == "N"
        flag.touch()
        source = "import time\ndef grade(sample, item):\n    time.sleep(60)\n    return 0.5\n"
        outcomes: list[CallOutcome] = []
        rows, patient = [RewardRow("p", "c")], Timeouts(sample=60.0, call=120.0)
        thread = threading.Thread(target=lambda: outcomes.append(free.score(source, rows, timeouts=patient)))
        thread.start()
        eventually(lambda: [pid for pid in jails_of(daemon) if children(pid)])
        for pid in jails_of(daemon):
            os.kill(pid, signal.SIGKILL)  # a fault, after which every jail has to prove itself again
        eventually(lambda: free.status().jail == "L", within=60)
        assert free.status().probe["refused"] == {"N": "taken away"}
        assert free.score(CONTROL, [RewardRow("p", "c")]).jail == "L"
        outcome = held.score(CONTROL, [RewardRow("p", "c")])
        assert (outcome.status, outcome.rows) == ("sandbox_unavailable", [])
        assert "began in jail N" in (outcome.message or "")
    thread.join()


def test_without_a_usable_prefix_the_reason_is_reported() -> None:
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


def _datagrams_again(configuration: dict[str, Any]) -> None:
    """Sends to any address and pairs of any kind, by rules ahead of all others."""
    allow = bytes.fromhex(ALLOW_EVERYTHING)
    rules = b"".join(
        struct.pack("<HBBI", 0x15, 0, 1, bpf.SYSCALLS[name]) + allow for name in ("sendto", "socketpair")
    )
    for key in ("zygote_filter", "child_filter"):
        program = bytes.fromhex(configuration[key])
        configuration[key] = (program[:64] + rules + program[64:]).hex()


def _unlimited_memory(configuration: dict[str, Any]) -> None:
    configuration["rlimits"] = {**configuration["rlimits"], "AS": 1 << 50}


def _broken_preload(configuration: dict[str, Any]) -> None:
    configuration["preload"] = ["no_such_module"]


def _empty_filter(configuration: dict[str, Any]) -> None:
    configuration["zygote_filter"] = ""


def _forgotten_filter(configuration: dict[str, Any]) -> None:
    del configuration["child_filter"]


def _starved(configuration: dict[str, Any]) -> None:
    configuration["rlimits"] = {**configuration["rlimits"], "AS": -(1 << 40)}


@pytest.mark.parametrize(
    ("weaken", "says"),
    [
        (_read_everything, "an account file"),
        (_no_child_filter, "a signal to another process"),
        (_no_filters, "a network socket"),
        (_datagrams_again, "a pair of datagram sockets"),
        (_unlimited_memory, "unlimited memory"),
        (_broken_preload, "no_such_module"),
        (_empty_filter, "prctl"),
        (_forgotten_filter, "child_filter"),
        (_starved, ""),
    ],
)
@pytest.mark.parametrize("jail", JAILS)
def test_a_jail_that_does_not_hold_is_refused(
    jail: str, weaken: Callable[[dict[str, Any]], None], says: str
) -> None:
    if (jail, weaken) == ("N", _read_everything):
        weaken = _forgotten_filter  # what can be read in N is no matter of its configuration: see below
        says = "child_filter"
    proof = asyncio.run(prove(WeakJail(weaken, LETTERS[jail](ensure_prefix()))))
    assert not proof.held
    assert says in (proof.reason or "")


@pytest.mark.skipif(bool(cannot("N")), reason=f"jail N: {cannot('N')}")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--ro-bind", "/etc", "/etc"], "an account file"),
        (["--ro-bind", "/tmp", "/tmp", "--ro-bind", "/var/tmp", "/var/tmp"], "a file of the host"),
        (["--bind", "/tmp", "/tmp"], "a file written on the host"),
        (["--uid", "0"], "the superuser"),
        (["--ro-bind", "/nonexistent", "/x"], "bwrap"),
    ],
)
def test_namespaces_with_a_hole_are_refused(
    change: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    proof = asyncio.run(prove(WeakNamespaces(ensure_prefix(), hole=tuple(change))))
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
        "--key",
        "--pool",
        "--jail",
    }
    for none in ("none", "", "plain", "off", "0"):
        with pytest.raises(SystemExit):
            main(["--socket", "/tmp/s", "--jail", none])


def test_the_sandbox_reads_no_environment_but_where_its_files_lie_and_how_it_logs() -> None:
    names = set()
    for file in PACKAGE.rglob("*.py"):
        tree = parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).endswith("getenv"):
                names.add("getenv")
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "os.environ.get":
                names.add(ast.literal_eval(node.args[0]))
            reads = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
            if reads and ast.unparse(node.value) == "os.environ":
                names.add(ast.unparse(node.slice))
    assert names == {"REINFORGE_PREFIX", "REINFORGE_HOME", "REINFORGE_LOG_FORMAT", "NLTK_DATA"}


def test_user_code_is_compiled_and_run_in_one_place_that_the_host_never_imports() -> None:
    runs, imports = set(), set()
    for file in [*PACKAGE.rglob("*.py")]:
        for node in ast.walk(parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "exec",
                "eval",
                "compile",
                "runpy.run_path",
            ):
                runs.add(str(file.relative_to(PACKAGE)))
            if isinstance(node, ast.ImportFrom) and node.module and file.parent != PACKAGE / "jailed":
                imports |= {f"{node.module}.{alias.name}" for alias in node.names if "jailed" in node.module}
    assert runs == {"jailed/modules.py", "jailed/programs.py"}
    assert {name.rpartition("jailed.")[2].split(".")[0] for name in imports} <= {
        "region",
        "kernel",
        "spellings",
        "tool_texts",
        "watch",
    }


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
