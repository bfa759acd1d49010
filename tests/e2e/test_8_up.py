"""`reinforge up` for a first-time user: the printed address signs in, and the command line works from there."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from reinforge.client import Reinforge
from reinforge.offline.demo import NAME
from reinforge.states import FINAL
from tests.e2e.conftest import DEMO_JOB, assert_nothing_left
from tests.support.processes import eventually

CLI = [sys.executable, "-m", "reinforge.cli.main"]


def test_up_prints_an_address_that_signs_the_command_line_in(tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "log"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REINFORGE_")}
    environment |= {"XDG_CONFIG_HOME": str(tmp_path / "config"), "NO_COLOR": "1"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*CLI, *arguments], env=environment, capture_output=True, text=True, timeout=120
        )

    with log.open("w") as out:
        command = [*CLI, "up", "--no-demo", "--home", str(home), "--port", "0"]
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        eventually(
            lambda: "Ctrl-C" in log.read_text() or server.poll() is not None, within=120, what="readiness"
        )
        match = re.search(r"http://\S+/sign-in\?token=\S+", log.read_text())
        assert match, log.read_text()
        assert run("job", "list").returncode in (4, 6)  # nobody is signed in
        assert "demo job" not in log.read_text()
        assert run("login", match[0]).returncode == 0
        again = run("login", match[0])
        assert again.returncode == 4 and "used up" in again.stderr
        pushed = run("dataset", "push", str(DEMO_JOB.parent / "heldout.jsonl"))
        assert pushed.returncode == 0 and pushed.stdout.startswith("file-"), pushed.stderr
        reward = str(DEMO_JOB.parent / "reward.py")
        scored = run(
            "reward",
            "test",
            reward,
            "--item",
            '{"answer": "3"}',
            "--completion",
            "<answer>3</answer>",
            "--json",
        )
        assert json.loads(scored.stdout)["results"][0]["value"] == 1.0, scored.stderr
        busy = run("up", "--home", str(home), "--port", "0")
        assert busy.returncode == 5 and "Traceback" not in busy.stderr
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    assert_nothing_left(home)


def test_up_in_a_new_home_starts_the_demo_and_says_so(tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "log"
    key = "rf-first-owner-key-0123456789"
    environment = os.environ | {"REINFORGE_BOOTSTRAP_API_KEY": key, "NO_COLOR": "1"}
    lines = []
    for _ in range(2):  # the second time there is a job already
        with log.open("w") as out:
            command = [*CLI, "up", "--home", str(home), "--port", "0"]
            server = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            eventually(
                lambda: "Ctrl-C" in log.read_text() or server.poll() is not None, within=120, what="readiness"
            )
            match = re.search(r"serves at (http://\S+?);", log.read_text())
            assert match, log.read_text()
            with Reinforge(match[1], key) as client:
                eventually(lambda: list(client.jobs.list()), within=120, what="the demo job")
                [job] = client.jobs.list()
                assert (job.name, job.status in FINAL) == (NAME, False)
                lines.append("demo job starts automatically" in log.read_text())
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(60) == 0
    assert lines == [True, False]
    assert_nothing_left(home)


def test_doctor_finds_what_it_needs() -> None:
    done = subprocess.run(
        [*CLI, "doctor", "--json", "--port", "0"], capture_output=True, text=True, timeout=120
    )
    checks = {check["name"]: check["status"] for check in json.loads(done.stdout)}
    assert done.returncode == 0, done.stdout
    assert checks["sandbox"] == "ok" and checks["database"] == "ok"
