"""The supervisor process of a vLLM server: what it leaves for a restart, and what it removes with the trainer."""

import subprocess
import sys
from pathlib import Path

from worker.rollout.vllm import keeper


def run(folder: Path, code: str) -> subprocess.Popen[bytes]:
    (folder / "adapters").mkdir(parents=True)
    command = [sys.executable, "-S", "-E", keeper.__file__, str(folder), sys.executable, "-S", "-c", code]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


def test_a_server_that_ends_by_itself_leaves_the_adapters_to_the_next_one(tmp_path: Path) -> None:
    process = run(tmp_path / "server", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    process.wait(10)
    assert (tmp_path / "server" / "adapters").is_dir()
    assert process.stdin is not None
    process.stdin.close()


def test_the_folder_goes_with_the_trainer(tmp_path: Path) -> None:
    process = run(tmp_path / "server", "import time; time.sleep(60)")
    assert process.stdin is not None
    process.stdin.close()
    process.wait(10)
    assert not (tmp_path / "server").exists()
