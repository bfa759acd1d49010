"""A first job of one's own: from a CSV to the downloaded adapter, with the clicks that it takes."""

import re
import tarfile
from pathlib import Path

from playwright.sync_api import Page, expect

MOST_CLICKS = 12
COUNT_CLICKS = """
addEventListener("pointerdown", () => {
    sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks")) + 1);
}, true);
"""
TRAINING = 300_000


def sums(path: Path, rows: int = 60) -> Path:
    """A CSV whose columns have names of their own."""
    pairs = [(7 * n % 90 + 4, 11 * n % 80 + 9) for n in range(rows)]
    lines = [f"{a}+{b}=,{a + b},{'easy' if a + b < 100 else 'hard'}" for a, b in pairs]
    path.write_text("\n".join(["question,total,level", *lines]) + "\n")
    return path


def choose_file(page: Page, file: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator("[data-activate-on-click]").click()
    chooser.value.set_files(file)


def download(page: Page, to: Path) -> Path:
    """The adapter that the page offers; where none is better than base, the final one of the menu."""
    button = page.get_by_role("button", name=re.compile("^Download")).or_(
        page.get_by_role("link", name=re.compile("^Download"))
    )
    expect(button.first).to_be_enabled(timeout=TRAINING)
    opens_menu = button.first.get_attribute("aria-haspopup") == "menu"
    with page.expect_download() as started:
        button.first.click()
        if opens_menu:
            page.get_by_role("menuitem", name=re.compile("final")).click()
    started.value.save_as(to)
    return to


def walk(page: Page, data: Path, folder: Path, steps: str | None) -> tuple[Path, int]:
    """The archive of the adapter and how often something was clicked. steps: None keeps the form's number."""
    page.add_init_script(COUNT_CLICKS)
    page.goto("/datasets")
    choose_file(page, data)
    page.get_by_role("button", name="Use these columns").click()
    page.get_by_role("link", name="Write a reward").click()
    page.get_by_role("textbox", name="Name", exact=True).click()
    page.keyboard.type("exact sum")
    # The starter reads the column that holds the answers.
    expect(page.get_by_text('item["total"]')).to_be_visible()
    page.get_by_role("button", name=re.compile("^Run on")).click()
    expect(page.get_by_text("4 of 4 completions scored")).to_be_visible()
    page.get_by_role("button", name="Save reward").click()
    expect(page).to_have_url(re.compile("/rewards/rew_"))
    expect(page.get_by_text("4 of 4 completions scored")).to_be_visible()
    page.get_by_role("link", name="Use in a job").click()
    if steps is not None:
        page.get_by_role("textbox", name="Steps", exact=True).click()
        page.keyboard.type(steps)
    page.get_by_role("button", name="Start job").click()
    expect(page).to_have_url(re.compile("/jobs/ftjob-"), timeout=180_000)
    archive = download(page, folder / "adapter.tar.gz")
    return archive, int(page.evaluate("sessionStorage.getItem('clicks')"))


def test_from_a_csv_to_the_adapter_takes_few_clicks(page: Page, tmp_path: Path) -> None:
    archive, clicks = walk(page, sums(tmp_path / "sums.csv"), tmp_path, steps="2")
    with tarfile.open(archive) as tar:
        assert any(name.endswith("adapter_model.safetensors") for name in tar.getnames())
    # One more to open the page of datasets from Start.
    assert clicks + 1 <= MOST_CLICKS
