"""The whole platform, as people run it (`make e2e`).

Two rows of tests run side by side (`tests.support.rows`), each one after another on a demo and a platform of its own:
the platform itself, and the page in a browser.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, StorageState

from reinforge.client import Reinforge
from reinforge.net.outbound import ALLOW_VARIABLE
from reinforge.platform.up import Platform
from tests.e2e.browser import sign_in, started_browser, visit
from tests.e2e.places import RECEIVER, make_places
from tests.support.hub_stub import HubStub
from tests.support.processes import eventually

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
    def summary(self) -> dict[str, Any]:
        return dict(json.loads((self.cwd / "demo-summary.json").read_text()))


def demo_command(home: Path, *options: str) -> list[str]:
    return [
        sys.executable, "-m", "reinforge.cli.main", "demo", "--home", str(home), "--port", "0",
        "--file", str(DEMO_JOB), *options,
    ]  # fmt: skip


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
    found = []
    needle = os.fsencode(str(home))
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:  # it has just ended, or is a stranger's
            continue
        if command and (needle in command or b"REINFORGE_HOME=" + needle in environment):
            found.append(command.replace(b"\0", b" ").decode(errors="replace").strip())
    return found


def pids_of(platform: Platform, *words: str, last: bool = True) -> list[int]:
    """Processes of this platform whose arguments end with `words`; not `last`: hold them all."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            mine = b"REINFORGE_HOME=" + os.fsencode(platform.home) in environment
            texts = [argument.decode() for argument in arguments]
            if mine and (texts[-len(words) :] == list(words) if last else set(words) <= set(texts)):
                found.append(int(entry.name))
    return found


def assert_nothing_left(home: Path) -> None:
    eventually(lambda: not processes_of(home), within=20, what=f"the end of {processes_of(home)}")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, run once from nothing to its end."""
    folder = tmp_path_factory.mktemp("demo")
    return run_demo(folder / "home", folder)


@pytest.fixture(scope="session")
def hub() -> Iterator[HubStub]:
    """The hub that the platform's workers know."""
    stub = HubStub()
    yield stub
    stub.close()


@pytest.fixture(scope="session")
def platform(demo: Demo, hub: HubStub) -> Iterator[Platform]:
    """The demo's platform, serving again, with its finished job."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ALLOW_VARIABLE, RECEIVER)
        patch.setenv("HF_ENDPOINT", hub.url)
        with Platform(demo.home, port=0, bootstrap_api_key=KEY) as running:
            yield running


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
