"""Chromium for tests: the one from npm, else one on PATH."""

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    StorageState,
    expect,
    sync_playwright,
)

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
# What is waited for may need a worker, on a machine that does more than these tests.
PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)


def chromium() -> str:
    """Path of an executable. Raises when there is none: the browser tests never skip."""
    script = "import('@sparticuz/chromium').then(async m => console.log(await m.default.executablePath()))"
    node = shutil.which("node") or str(FRONTEND.parent / ".venv" / "bin" / "node")
    done = subprocess.run(
        [node, "--input-type=module", "-e", script],
        cwd=FRONTEND,
        capture_output=True,
        text=True,
        timeout=120,
    )
    path = done.stdout.strip()
    if done.returncode == 0 and os.access(path, os.X_OK):
        return path
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        raise RuntimeError(f"no Chromium: run `make setup`. {done.stderr[-500:]}")
    return executable


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
    browser: Browser,
    *,
    width: int = 1440,
    height: int = 1200,
    base_url: str | None = None,
    state: StorageState | None = None,
    forgive: str = "",
    touch: bool = False,
) -> Iterator[Page]:
    """A page in a fresh profile that begins with `state`.

    Fails at the end if the page logged an error, unless that begins with the text that is to `forgive`.
    """
    errors: list[str] = []
    context = browser.new_context(
        viewport={"width": width, "height": height},
        locale="en-US",
        base_url=base_url,
        storage_state=state,
        has_touch=touch,
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.extend(_faults(message)))
    yield page
    context.close()
    assert [one for one in errors if not (forgive and one.startswith(forgive))] == []


@contextmanager
def browser_page(width: int = 1440, height: int = 1200) -> Iterator[Page]:
    """A page in a browser of its own."""
    with started_browser() as browser, visit(browser, width=width, height=height) as page:
        yield page


def sign_in(page: Page, link: str) -> None:
    page.goto(link)
    expect(page).to_have_url(re.compile(r":\d+/$"))


def drop(target: Locator, file: Path) -> None:
    """Drop a file on an element, as a hand does that comes over the window with it."""
    content = base64.b64encode(file.read_bytes()).decode()
    carried = target.page.evaluate_handle(
        """([name, content]) => {
            const bytes = Uint8Array.from(atob(content), c => c.charCodeAt(0));
            const carried = new DataTransfer();
            carried.items.add(new File([bytes], name));
            return carried;
        }""",
        [file.name, content],
    )
    for event in ("dragenter", "dragover", "drop"):
        target.dispatch_event(event, {"dataTransfer": carried})
