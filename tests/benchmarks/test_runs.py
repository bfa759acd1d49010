"""Many small jobs: the stop rule, what is read from a run folder, and a driver that can be interrupted.

The trainer is a small program here that writes metrics as the real one does; no sandbox is started.
"""

import contextlib
import fcntl
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from common import runs
from common.folder import Folder, Series
from common.forks import Trainer
from common.runs import Result, Run, StopRule, run_all, stored

EXAMPLE = Path(__file__).parents[2] / "examples" / "arithmetic"
TRAINER = """
import json, pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[sys.argv.index("--run") + 1])
spec = json.loads((folder / "run.json").read_text())["spec"]
plan = json.loads((folder / "rewards" / "0_plan.py").read_text().removeprefix("PLAN = "))
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
def add(name, value):
    with (folder / name).open("a") as file:
        file.write(json.dumps(value) + "\\n")
if plan.get("crash"):
    sys.exit("the trainer says why")
for step, value in enumerate(plan["held_out"]):
    add("metrics.jsonl", {"step": step, "kind": "held_out", "values": {"held_out/reward_mean": value}})
    add("metrics.jsonl", {"step": step, "kind": "train", "values": {"memory/peak": 0.5, "seed": spec["seed"]}})
until = time.monotonic() + 30
while plan.get("wait") and not asked and time.monotonic() < until:
    time.sleep(0.01)
ended = {"reason": None, "message": None} | plan.get("ended", {})
add("records.jsonl", {"kind": "ended", "outcome": "paused" if asked else "succeeded", **ended})
"""


class Programs:
    """Starts the program above where `Forks` would fork the real trainer."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, path: Path) -> Trainer:
        with (path / "trainer.log").open("wb") as log:
            command = [sys.executable, str(self.file), "--run", str(path)]
            process = subprocess.Popen(command, stdout=log, stderr=log)
        self.started.append(process)  # one that is forgotten would be waited for, and its number given away
        return Trainer(process.pid)


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "trainer.py"
    file.write_text(TRAINER, encoding="utf-8")
    monkeypatch.setattr(runs, "Forks", lambda **_: contextlib.nullcontext(Programs(file)))
    monkeypatch.setattr(runs, "POLL", 0.02)

    @contextlib.contextmanager
    def no_sandbox(*_: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(runs, "sandbox", no_sandbox)


def spec_of(**plan: Any) -> dict[str, Any]:
    return {
        "model": "starter-arith",
        "data": {"dataset": str(EXAMPLE / "additions.jsonl")},
        "rewards": [{"type": "python", "name": "plan", "source": f"PLAN = {json.dumps(plan)}"}],
    }


@pytest.mark.parametrize(
    ("values", "reached"),
    [
        ([], False),
        ([0.95], False),
        ([0.95, 0.9], True),
        ([0.95, 0.89, 0.95], False),
        ([0.95, None, 0.95], False),
        ([0.1, 0.9, 0.9, 0.1], True),
    ],
)
def test_the_stop_rule_wants_good_values_in_succession(values: list[float | None], reached: bool) -> None:
    assert StopRule(at_least=0.9, in_a_row=2).reached(values) is reached


def test_a_series_lines_metrics_up_with_steps() -> None:
    series = Series.of([(1, {"a": 1.0}), (2, {"a": None, "b": 5.0})])
    assert series["a"] == [1.0, None]
    assert series["b"] == [None, 5.0]
    assert series["never"] == [None, None]
    assert series.points("b") == [(2, 5.0)]


def test_a_line_still_being_written_is_not_read(tmp_path: Path) -> None:
    line = json.dumps({"step": 1, "kind": "train", "values": {"a": 1.0}})
    (tmp_path / "metrics.jsonl").write_text(f"{line}\n{line[:20]}", encoding="utf-8")
    assert Folder(tmp_path).series("train") == Series([1], {"a": [1.0]})
    assert Folder(tmp_path / "nowhere").series("train") == Series()


def test_completions_are_those_of_the_requested_step(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    for step, text in ((1, "one"), (2, "two")):
        rows = [{"text": text, "rewards": '[{"name": "right"}]', "item": '{"answer": "3"}'}]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "blobs" / f"blob{step}")
        record = {"kind": "rollouts", "step": step, "split": "train", "blob": {"sha256": f"blob{step}"}}
        with (tmp_path / "records.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    expected = [{"text": "two", "rewards": [{"name": "right"}], "item": {"answer": "3"}}]
    assert Folder(tmp_path).completions("train", 2) == expected
    assert Folder(tmp_path).completions("held_out", 2) == []


def test_a_result_survives_its_line() -> None:
    result = Result(
        name="a",
        seed=1,
        digest="d",
        outcome="succeeded",
        train=Series([1, 2], {"x": [0.1234564, None]}),
        extra={"texts": ["ü\n"]},
    )
    line = result.to_json()
    assert "\n" not in line
    again = Result.from_json(line)
    assert again.train["x"] == [0.123456, None]
    assert again.extra == result.extra
    assert again.ok


def test_all_runs_end_up_stored_whatever_became_of_them(tmp_path: Path, trainer: None) -> None:
    described: list[str] = []
    results = run_all(
        [
            Run("good", 3, spec_of(held_out=[0.1, 0.95])),
            Run("stops", 0, spec_of(held_out=[0.9, 0.9], wait=True), stop=StopRule(0.9)),
            Run("crashes", 0, spec_of(crash=True)),
            Run("fails", 0, spec_of(held_out=[], ended={"outcome": "failed", "reason": "nan", "message": "why"})),
            Run("refused", 0, spec_of() | {"nonsense": 1}),
            Run("reads", 0, spec_of(held_out=[0.5]), read=lambda folder: {"n": len(folder.records("ended"))}),
            Run("misreads", 0, spec_of(held_out=[0.5]), read=lambda folder: {"n": folder.records("ended")[7]}),
        ],
        tmp_path / "out",
        describe=lambda result: described.append(result.name) or "",
    )  # fmt: skip
    by_name = {result.name: result for result in results}
    outcomes = {name: result.outcome for name, result in by_name.items()}
    assert outcomes == {
        "good": "succeeded", "stops": "stopped", "crashes": "crashed", "fails": "failed", "refused": "refused",
        "reads": "succeeded", "misreads": "unread",
    }  # fmt: skip
    assert by_name["good"].held_out["held_out/reward_mean"] == [0.1, 0.95]
    assert by_name["good"].train["seed"] == [3, 3]
    assert by_name["good"].memory_gib == 0.5
    assert "the trainer says why" in str(by_name["crashes"].cause)
    assert str(by_name["fails"].cause).startswith("nan: why")
    assert "nonsense" in str(by_name["refused"].cause)
    assert by_name["reads"].extra == {"n": 1}
    assert "IndexError" in str(by_name["misreads"].cause)
    assert sorted(described) == ["good", "reads", "stops"]
    assert list((tmp_path / "out" / "runs").iterdir()) == []


def test_a_second_call_does_only_what_is_missing_or_has_changed(tmp_path: Path, trainer: None) -> None:
    good, bad = Run("kept", 0, spec_of(held_out=[0.1])), Run("bad", 0, spec_of(crash=True))
    run_all([good, Run("changes", 0, spec_of(held_out=[0.2])), bad], tmp_path)
    with (tmp_path / "runs.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"name": "kept", "cut o')
    described: list[str] = []
    again = [good, Run("changes", 0, spec_of(held_out=[0.3])), bad, Run("kept", 1, good.spec)]
    results = run_all(
        again, tmp_path, describe=lambda result: described.append(f"{result.name} {result.seed}") or ""
    )
    assert sorted(described) == ["changes 0", "kept 1"]
    assert results[1].held_out["held_out/reward_mean"] == [0.3]
    assert len(stored(tmp_path)) == 4
    assert run_all([bad], tmp_path, retry=True)[0].outcome == "crashed"
    assert len((tmp_path / "runs.jsonl").read_text(encoding="utf-8").split("crashed")) == 3


def test_two_runs_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one name"):
        run_all([Run("a", 0, {}), Run("a", 0, {})], tmp_path)


def test_a_second_driver_in_the_same_folder_is_refused(tmp_path: Path, trainer: None) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RuntimeError, match="another process runs jobs in"):
            run_all([Run("a", 0, {})], tmp_path)
    assert not (tmp_path / "runs.jsonl").exists()


def test_without_a_sandbox_nothing_is_recorded(tmp_path: Path, trainer: None) -> None:
    gone = spec_of(
        held_out=[], ended={"outcome": "paused", "reason": "sandbox_unavailable", "message": "gone"}
    )
    with pytest.raises(RuntimeError, match="sandbox daemon is gone"):
        run_all([Run("a", 0, gone)], tmp_path)
    assert stored(tmp_path) == {}


def test_a_digest_names_the_job_and_not_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("a", 0, spec_of(held_out=[0.1]), stop=StopRule(0.9))
    moved = json.loads(json.dumps(run.spec).replace(str(runs.ROOT), "/elsewhere"))
    before = run.digest
    monkeypatch.setattr(runs, "ROOT", Path("/elsewhere"))
    assert Run("a", 0, moved, stop=StopRule(0.9)).digest == before
    assert Run("a", 0, moved).digest != before


def test_a_trainer_is_waited_for_and_signalled_by_its_number() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        trainer = Trainer(process.pid)
        assert not trainer.wait(0)
        trainer.send(signal.SIGTERM)
        assert trainer.wait(30)
        assert process.wait() == -signal.SIGTERM
        trainer.send(signal.SIGTERM)  # nobody is left to hear it, and nobody else does
        trainer.close()
