"""Each process starts with what its extras bring: nothing that only the development environment has."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support.closure import ROOT, closure, expose
from worker.sandbox.libraries import DISTRIBUTIONS

BACKEND = ("backend.main", "backend.__main__", "backend.data.migrate", "backend.background")
QUEUE = (
    "worker.celery_app",
    "worker.tasks",
    "worker.rpc.server",
    "worker.supervisor.supervisor",
    "worker.__main__",
)
TRAINER = ("worker.trainer.main", "worker.serving.__main__", "worker.rewards.sandbox_access")
SANDBOX = ("worker.sandbox", "worker.sandbox.__main__")
CLIENT = ("reinforge.cli.main", "reinforge.client", "reinforge.client.aio")
COMMANDS = (
    "reinforge.cli.admin.serve",
    "reinforge.platform.up",
    "reinforge.platform.doctor",
    "reinforge.offline.train",
)

TRACES = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.sdk.trace.export")

# Of every extra by itself, and of the combinations that images and wheels have.
PROCESSES: dict[tuple[str, ...], tuple[str, ...]] = {
    (): CLIENT,
    ("backend",): (*CLIENT, *BACKEND, *COMMANDS),
    ("backend", "otel"): (*BACKEND, *TRACES),
    ("worker",): (*CLIENT, *QUEUE, *SANDBOX),
    ("train",): (*CLIENT, "torch", "transformers", "peft", "accelerate", "safetensors.torch", "llguidance"),
    ("worker", "train"): (*CLIENT, *QUEUE, *TRAINER, *SANDBOX),
    ("backend", "worker"): (*CLIENT, *BACKEND, *QUEUE, *SANDBOX, *COMMANDS),
}
_ASYNC_ENGINE = (
    "import asyncio\n"
    "from backend.data.database import Database\n"
    "asyncio.run(Database('postgresql://nobody@127.0.0.1:1/none', pool_size=2).close())\n"
)


def bare_interpreter(folder: Path) -> tuple[Path, Path]:
    """A virtual environment without any package, and its `site-packages`; our own source is importable."""
    venv.create(folder, with_pip=False)
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (site / "source.pth").write_text(f"{ROOT}\n")
    return folder / "bin" / "python", site


def imports(python: Path, modules: tuple[str, ...], more: str = "") -> str:
    """What importing `modules` prints on standard error; empty when all can be imported."""
    code = "import " + ", ".join(modules) + "\n" + more
    done = subprocess.run(
        [str(python), "-I", "-c", code], capture_output=True, text=True, timeout=200, cwd=python.parent
    )
    return "" if done.returncode == 0 else done.stderr


@pytest.mark.long
@pytest.mark.parametrize("extras", PROCESSES, ids=lambda extras: "+".join(extras) or "base")
def test_the_extras_alone_start_their_processes(extras: tuple[str, ...], tmp_path: Path) -> None:
    python, site = bare_interpreter(tmp_path / "venv")
    expose(closure("reinforge", *extras).values(), site)
    more = _ASYNC_ENGINE if "backend" in extras else ""
    assert imports(python, PROCESSES[extras], more) == ""


def test_the_rewards_extra_alone_has_every_library_of_a_reward(tmp_path: Path) -> None:
    """As in the sandbox's image: no base dependency is there."""
    python, site = bare_interpreter(tmp_path / "venv")
    expose(closure("reinforge", "rewards", base=False).values(), site)
    assert imports(python, (*SANDBOX, *DISTRIBUTIONS)) == ""


def test_a_missing_distribution_is_noticed(tmp_path: Path) -> None:
    """The environment is truly bare: without greenlet, which SQLAlchemy does not require by itself, nothing starts."""
    python, site = bare_interpreter(tmp_path / "venv")
    expose(
        [
            distribution
            for name, distribution in closure("reinforge", "backend").items()
            if name != "greenlet"
        ],
        site,
    )
    assert "greenlet" in imports(python, ("backend.data.migrate",), _ASYNC_ENGINE)
