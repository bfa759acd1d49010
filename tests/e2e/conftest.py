"""The whole platform, as people run it (`make e2e`).

Several workers run the files side by side (`tests.support.units`). The demo runs once; each worker serves a copy of its
home on a platform of its own.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from playwright.sync_api import Browser, Page, StorageState

from reinforge.client import Reinforge
from reinforge.net.outbound import ALLOW_VARIABLE
from reinforge.platform.backup import backup, restore
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.platform.up import Platform
from tests.e2e.browser import sign_in, started_browser, visit
from tests.e2e.places import RECEIVER, make_places
from tests.support.hub_stub import HubStub
from tests.support.processes import eventually
from tests.support.units import in_order_of_units

ROOT = Path(__file__).resolve().parents[2]
DEMO_JOB = ROOT / "examples" / "arithmetic" / "job.yaml"
KEY = "rf-e2e-owner-key-0123456789abcdef"


def number_of(item: pytest.Item) -> int:
    """Of the item's file: `test_10_rewards.py` is 10."""
    return int(item.path.stem.split("_")[1])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    own = [place for place, item in enumerate(items) if item.path.is_relative_to(Path(__file__).parent)]
    for place in own:
        items[place].add_marker(pytest.mark.e2e)
        items[place].add_marker(pytest.mark.timeout(900))
    # By their numbers: the demo comes first, in a home where nothing runs yet; test_10 comes after test_9.
    ordered = sorted((items[place] for place in own), key=number_of)
    if "PYTEST_XDIST_WORKER" in os.environ:
        ordered = in_order_of_units(ordered)
    for place, item in zip(own, ordered, strict=True):
        items[place] = item


@dataclass
class Demo:
    home: Path
    cwd: Path
    status: int
    output: str
    seconds: float

    @property
    def copy(self) -> Path:
        """A backup of the home."""
        return self.cwd / "copy"

    @property
    def summary(self) -> dict[str, Any]:
        return dict(json.loads((self.cwd / "demo-summary.json").read_text()))


def demo_command(home: Path, *options: str, file: Path = DEMO_JOB) -> list[str]:
    return [
        sys.executable, "-m", "reinforge.cli.main", "demo", "--home", str(home), "--port", "0",
        "--file", str(file), *options,
    ]  # fmt: skip


def job_file(folder: Path, **changes: Any) -> Path:
    """The demo's job with other top-level values, as a file in `folder`."""
    job = yaml.safe_load(DEMO_JOB.read_text()) | changes
    job["data"] |= {name: str(DEMO_JOB.parent / job["data"][name]) for name in ("dataset", "held_out")}
    job["rewards"][0]["path"] = str(DEMO_JOB.parent / job["rewards"][0]["path"])
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    return folder / "job.yaml"


def run_demo(home: Path, cwd: Path, *options: str) -> Demo:
    begin = time.monotonic()
    done = subprocess.run(
        demo_command(home, "--exit", *options),
        cwd=cwd,
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "160"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=850,
    )
    return Demo(home, cwd, done.returncode, done.stdout, time.monotonic() - begin)


def processes_of(home: Path) -> list[str]:
    """Command lines of running processes that know this home: from their environment or arguments."""
    commands = []
    needle = os.fsencode(str(home))
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:  # it has just ended, or is a stranger's
            continue
        if command and (needle in command or b"REINFORGE_HOME=" + needle in environment):
            commands.append(command.replace(b"\0", b" ").decode(errors="replace").strip())
    return commands


def pids_of(platform: Platform, *words: str, last: bool = True) -> list[int]:
    """Processes of this platform whose arguments end with `words`; not `last`: hold them all."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            is_ours = b"REINFORGE_HOME=" + os.fsencode(platform.home) in environment
            texts = [argument.decode() for argument in arguments]
            if is_ours and (texts[-len(words) :] == list(words) if last else set(words) <= set(texts)):
                pids.append(int(entry.name))
    return pids


def assert_nothing_left(home: Path) -> None:
    eventually(lambda: not processes_of(home), within=20, what=f"the end of {processes_of(home)}")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo from nothing to its end, run by the first worker that needs it; the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "demo"
    folder.mkdir(exist_ok=True)
    record = folder / "demo.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not record.exists():
            demo = run_demo(folder / "home", folder)
            if demo.status == 0:
                backup(demo.home, demo.copy)
            record.write_text(json.dumps(asdict(demo), default=str))
    fields = json.loads(record.read_text())
    return Demo(**fields | {"home": folder / "home", "cwd": folder})


@pytest.fixture(scope="session")
def hub() -> Iterator[HubStub]:
    """The hub that the platform's workers know."""
    stub = HubStub()
    yield stub
    stub.close()


@pytest.fixture(scope="session")
def platform(demo: Demo, hub: HubStub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """This worker's platform: restored from the demo's backup, with its finished job."""
    assert demo.status == 0, demo.output
    home = tmp_path_factory.mktemp("platform") / "home"
    restore(demo.copy, home)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(ALLOW_VARIABLE, RECEIVER)
            patch.setenv("HF_ENDPOINT", hub.url)
            with Platform(home, port=0, bootstrap_api_key=KEY) as running:
                yield running
    finally:
        EmbeddedPostgres(home).destroy()


@pytest.fixture(scope="session")
def client(platform: Platform) -> Iterator[Reinforge]:
    with Reinforge(platform.url, KEY) as one:
        yield one


@pytest.fixture(scope="session")
def api(platform: Platform) -> Iterator[httpx.Client]:
    """The API as it is, for what the SDK does not wrap."""
    headers = {"authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{platform.url}/api/v1/", headers=headers, timeout=120) as one:
        yield one


@pytest.fixture(scope="session")
def places(demo: Demo, client: Reinforge) -> dict[str, str]:
    """Ids that stand in the addresses of the screens."""
    return make_places(client, demo.summary["job_id"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as one:
        yield one


@pytest.fixture(scope="module")
def owner(browser: Browser, client: Reinforge) -> StorageState:
    """What a browser keeps in which an owner has signed in."""
    with visit(browser) as page:
        sign_in(page, client.sign_in_link())
        return page.context.storage_state()


@pytest.fixture
def page(browser: Browser, owner: StorageState, platform: Platform) -> Iterator[Page]:
    """An owner's page in a profile of its own; addresses are paths of the platform."""
    with visit(browser, base_url=platform.url, state=owner) as one:
        yield one
