"""`.ci/run` in parts, and the workflow that calls them."""

import os
import subprocess
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / ".ci" / "run"
GITHUB = ROOT / ".github"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A `make` that writes down what it was called with and fails for `MAKE_FAILS`, and an `id` that is nobody.

    `test-chaos` waits for the beginning of `test-vllm`, beside which it is begun.
    """
    record = tmp_path / "record"
    (tmp_path / "make").write_text(
        f'#!/bin/sh\n[ "$1$BESIDE" != test-chaosyes ] || until grep -q test-vllm {record}; do sleep 0.05; done\n'
        f'echo "$*" >> {record}\necho "$1 $REINFORGE_TEST_DEADLINE" >> {record}.deadlines\n'
        '[ "$1" != "$MAKE_FAILS" ]\n'
    )
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    for name in ("make", "id"):
        (tmp_path / name).chmod(0o755)
    return record


def run(record: Path, *parts: str, fails: str = "", beside: bool = False) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{record.parent}:{os.environ['PATH']}", "MAKE_FAILS": fails}
    environment["BESIDE"] = "yes" if beside else ""
    environment.pop("REINFORGE_TEST_DEADLINE", None)
    return subprocess.run(
        [str(RUN), *parts], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_without_arguments_everything_runs_in_order(recorded: Path) -> None:
    done = run(recorded, beside=True)
    assert done.returncode == 0, done.stderr
    made = recorded.read_text().split()
    order = ["setup", "check", "rooms", "e2e", "test-vllm", "test-chaos", "test-attack", "audit"]
    assert [name for name in made if name not in ("vllm", "sbom")] == order
    assert made.count("vllm") == made.count("sbom") == 1  # they begin beside check and test-chaos
    assert made.index("setup") < made.index("vllm") < made.index("test-vllm")
    assert made.index("test-vllm") < made.index("sbom") < made.index("test-attack")
    assert "=== time by part" in done.stdout


def test_parts_with_tests_have_a_deadline_if_all_parts_run(recorded: Path) -> None:
    def deadlines(*parts: str) -> dict[str, str]:
        (recorded.parent / "record.deadlines").unlink(missing_ok=True)
        recorded.unlink(missing_ok=True)
        assert run(recorded, *parts, beside=not parts).returncode == 0
        lines = (recorded.parent / "record.deadlines").read_text().splitlines()
        return {name: deadline for name, _, deadline in (line.partition(" ") for line in lines) if deadline}

    begin = time.time()
    left = {name: (float(deadline) - begin) / 60 for name, deadline in deadlines().items()}
    assert left.keys() == {"rooms", "e2e", "test-vllm", "test-chaos", "test-attack"}
    minutes = [left[name] for name in ("rooms", "e2e", "test-vllm", "test-attack")]
    assert [0, *minutes, 85] == sorted([0, *minutes, 85]) and left["test-chaos"] == left["test-vllm"]
    assert deadlines("rooms", "e2e") == {}


def test_nothing_runs_beside_hostile_clients(recorded: Path) -> None:
    done = run(recorded, "test-vllm", "test-chaos", "sbom", "test-attack", "audit", beside=True)
    assert done.returncode == 0, done.stderr
    assert recorded.read_text().split()[-2:] == ["test-attack", "audit"]


@pytest.mark.parametrize("part", ["test-vllm", "test-chaos"])
def test_what_fails_beside_the_chaos_suite_is_run_again_alone(recorded: Path, part: str) -> None:
    done = run(recorded, "test-vllm", "test-chaos", fails=part, beside=True)
    assert done.returncode != 0
    assert f"{part} failed beside another part" in done.stdout
    made = recorded.read_text().split()
    assert made.count(part) == 2 and made[-1] == part


def test_the_named_parts_run_and_no_others(recorded: Path) -> None:
    done = run(recorded, "setup", "rooms")
    assert (done.returncode, recorded.read_text().split()) == (0, ["setup", "rooms"])


def test_what_failed_beside_check_is_made_again_at_its_place(recorded: Path) -> None:
    done = run(recorded, "check", "vllm", "test-vllm", fails="vllm")
    assert done.returncode != 0
    assert "vllm failed beside another part" in done.stdout
    assert recorded.read_text().split().count("vllm") == 2
    assert "test-vllm" not in recorded.read_text().split()


def test_the_first_failure_ends_it(recorded: Path) -> None:
    done = run(recorded, "setup", "check", "audit", fails="check")
    assert done.returncode != 0
    assert recorded.read_text().split() == ["setup", "check"]


def test_an_unknown_part_is_refused_before_anything_runs(recorded: Path) -> None:
    done = run(recorded, "setup", "chek")
    assert done.returncode == 2
    assert "There is no part chek" in done.stderr
    assert not recorded.exists()


def test_the_workflow_runs_every_part_once(recorded: Path) -> None:
    workflow = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["part"]
    assert workflow["permissions"] == {"contents": "read"}
    assert job["steps"][-1]["run"] == ".ci/run ${{ matrix.parts }}"
    entries = [entry["parts"].split() for entry in job["strategy"]["matrix"]["include"]]
    for parts in entries:
        assert run(recorded, *parts).returncode == 0
    ran = [name for parts in entries for name in parts if name not in {"packages", "setup"}]
    every_push = ["check", "rooms", "e2e", "vllm", "test-vllm", "test-attack", "test-chaos", "sbom", "audit"]
    assert sorted(ran) == sorted([*every_push, "test-long"])
    nightly = [entry["name"] for entry in job["strategy"]["matrix"]["include"] if entry.get("nightly")]
    assert nightly == ["long"]


def test_forms_can_be_read() -> None:
    for form in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")):
        content = yaml.safe_load(form.read_text(encoding="utf-8"))
        if form.name != "config.yml":
            fields = [part for part in content["body"] if part["type"] != "markdown"]
            assert content["name"] and content["description"]
            assert len({field["id"] for field in fields}) == len(fields) > 0
            assert all(field["attributes"]["label"] for field in fields)
