"""Chromium for tests: the one from npm, else one on PATH."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, ConsoleMessage, Page, StorageState, sync_playwright

from tests.e2e.conftest import ROOT

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip


def chromium() -> str:
    """Path of an executable. Raises when there is none: the browser tests never skip."""
    script = "import('@sparticuz/chromium').then(async m => console.log(await m.default.executablePath()))"
    node = shutil.which("node") or str(ROOT / ".venv" / "bin" / "node")
    done = subprocess.run(
        [node, "--input-type=module", "-e", script],
        cwd=ROOT / "frontend",
        capture_output=True,
        text=True,
        timeout=120,
    )
    path = done.stdout.strip()
    if done.returncode == 0 and os.access(path, os.X_OK):
        return path
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        raise RuntimeError(f"no Chromium: run `make setup`. {done.stderr[-500:]}")
    return found


def _faults(message: ConsoleMessage) -> list[str]:
    """Errors that the page's own code logged; an answer that is not 2xx is not one of them."""
    faulty = message.type == "error" and not message.text.startswith("Failed to load resource")
    return [message.text] if faulty else []


@contextmanager
def started_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def visit(
    browser: Browser, *, width: int = 1440, height: int = 1200, state: StorageState | None = None
) -> Iterator[Page]:
    """A page in a fresh profile that begins with `state`; fails at the end if the page logged an error."""
    errors: list[str] = []
    context = browser.new_context(
        viewport={"width": width, "height": height}, locale="en-US", storage_state=state
    )
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.extend(_faults(message)))
    yield page
    context.close()
    assert errors == []


@contextmanager
def browser_page(width: int = 1440, height: int = 1200) -> Iterator[Page]:
    """A page in a browser of its own."""
    with started_browser() as browser, visit(browser, width=width, height=height) as page:
        yield page
