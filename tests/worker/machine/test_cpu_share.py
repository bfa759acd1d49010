"""Who goes first on a machine where a trainer computes beside a server."""

import subprocess
import sys

import pytest
import torch

from worker.machine.cpu_share import NICE, give_way_on_processor

SCRIPT = (
    "import os\nfrom worker.machine.cpu_share import give_way_on_processor\n"
    "before = os.nice(0)\ngive_way_on_processor()\nprint(os.nice(0) - before)\n"
)


def test_a_trainer_without_a_gpu_gives_way() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert int(done.stdout) == (0 if torch.cuda.is_available() else NICE)


def test_a_trainer_with_a_gpu_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr("worker.machine.cpu_share.give_way", calls.append)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    give_way_on_processor()
    assert calls == []
