"""The form for sweeps: a sweep from a job, its errors at their fields, and the sweep that it starts."""

import re

from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from tests.e2e.conftest import Demo
from tests.e2e.test_9_screens import findings, settled


def test_the_form_starts_a_sweep_from_a_job(page: Page, client: Reinforge, demo: Demo) -> None:
    page.goto(f"/jobs/{demo.summary['job_id']}?tab=config")
    page.get_by_role("link", name="Sweep from this job").click()
    summary = page.get_by_role("complementary", name="Jobs of this sweep")
    page.get_by_role("button", name="Start sweep").click()
    expect(page.get_by_text("Add a setting, or enter seeds.")).to_be_visible()

    search = page.get_by_role("combobox", name="Add a setting")
    search.fill("limits steps")
    page.get_by_role("option", name="Steps (limits.steps)").click()
    steps = page.get_by_role("combobox", name="Values of limits.steps")
    steps.fill("0")
    steps.press("Enter")
    expect(page.get_by_text(re.compile("^0: Allowed range"))).to_be_visible()
    expect(summary.get_by_text("1 problem: show the first")).to_be_visible()
    steps.press("Backspace")
    steps.fill("1")
    steps.press("Enter")
    steps.press("Enter")  # with nothing typed: it starts no sweep
    page.get_by_label("Seeds", exact=True).fill("7, 8")
    expect(summary.get_by_text("2 jobs")).to_be_visible()
    first_job = summary.get_by_role("list", name="First jobs").get_by_role("listitem").first
    expect(first_job).to_contain_text("steps 1, seed 7")
    settled(page)
    assert findings(page) == []

    page.reload()
    expect(summary.get_by_text("2 jobs")).to_be_visible()
    page.get_by_label("Jobs at a time", exact=True).fill("1")
    page.get_by_label("Name", exact=True).fill("By the form")
    page.get_by_role("button", name="Start sweep").click()
    expect(page).to_have_url(re.compile("/sweeps/sweep_"), timeout=180_000)
    id = page.url.rpartition("/")[2]
    try:
        expect(page.get_by_role("heading", level=1)).to_have_text("By the form")
        expect(page.get_by_role("region", name="Jobs of the sweep")).to_contain_text(
            "seed 7", timeout=180_000
        )
        assert client.sweeps.get(id).spec.seed_values == [7, 8]
    finally:
        if client.sweeps.get(id).status == "running":
            client.sweeps.cancel(id)
        for trial in client.sweeps.wait(id, timeout=120).trials:
            if trial.job:
                client.jobs.delete(trial.job)
        client.sweeps.delete(id)
