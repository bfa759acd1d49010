"""Comparison of jobs in the page, and what is done with several jobs of the list."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from tests.e2e.conftest import Demo
from tests.e2e.test_9_screens import findings, settled


@pytest.fixture(scope="module")
def other(client: Reinforge, demo: Demo) -> Iterator[Any]:
    """One step of a job like the demo's with another seed, and one evaluation after it."""
    spec = dict(client.jobs.get(demo.summary["job_id"]).spec) | {"name": "Another seed", "seed": 4321}
    spec |= {"limits": {"steps": 1}, "evaluation": spec["evaluation"] | {"samples_per_row": 1}}
    job = client.jobs.create(spec)
    assert client.jobs.wait(job.id, timeout=300).status == "succeeded"
    yield job
    client.jobs.delete(job.id)


def test_two_ticked_jobs_are_compared(page: Page, demo: Demo, other: Any) -> None:
    first = demo.summary["job_id"]
    page.goto("/jobs")
    page.get_by_role("checkbox", name="Select Another seed").check()
    page.get_by_role("row").filter(has=page.locator(f'a[href*="{first}"]')).get_by_role("checkbox").check()
    page.get_by_role("link", name="Compare 2").click()
    expect(page).to_have_url(re.compile("/compare"))
    expect(page.get_by_text(re.compile("is (better|worse) than"))).to_be_visible()
    settings = page.get_by_role("region", name="Settings that differ")
    expect(settings.get_by_role("row", name=re.compile("^seed"))).to_contain_text("4321")
    expect(page.get_by_role("figure").locator("canvas").first).to_be_visible()
    page.get_by_role("radio", name="Compare with Another seed").check()
    expect(page).to_have_url(re.compile(f"jobs={other.id}%2C{first}|jobs={other.id},{first}"))
    page.get_by_label("Metric", exact=True).select_option("reward/mean")
    expect(page.get_by_role("figure").first).to_contain_text(re.compile("ends at"))
    speed = page.get_by_role("region", name="Speed and memory")
    expect(speed.get_by_role("figure")).to_have_count(0)
    speed.get_by_role("button", name=re.compile("Speed and memory")).click()
    expect(speed.get_by_role("figure").first).to_contain_text(re.compile("ends at"))
    page.reload()
    expect(speed.get_by_role("figure").first).to_be_visible()
    expect(page.get_by_label("Metric", exact=True)).to_have_value("reward/mean")


def test_a_job_s_page_compares_it_with_another(page: Page, demo: Demo, other: Any) -> None:
    page.goto(f"/jobs/{demo.summary['job_id']}")
    page.get_by_role("button", name="Compare with…").click()
    page.get_by_role("menuitem", name=re.compile("Another seed")).click()
    expect(page).to_have_url(re.compile(f"jobs={demo.summary['job_id']}(%2C|,){other.id}"))
    settings = page.get_by_role("region", name="Settings that differ")
    expect(settings.get_by_role("row", name=re.compile("^seed"))).to_contain_text("4321")


def test_groups_have_rows_verdicts_and_bands(page: Page, demo: Demo, other: Any) -> None:
    page.goto(f"/compare?jobs={demo.summary['job_id']},{other.id}&group=seed")
    groups = page.get_by_role("region", name="Groups")
    expect(groups.get_by_role("row", name=re.compile("seed 4321"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"^seed 4321 is worse than seed \d+ by"))).to_be_visible()
    expect(page.get_by_text("One group has a single job")).to_be_visible()
    page.get_by_label("Group by", exact=True).select_option("evaluation.samples_per_row")
    expect(page).to_have_url(re.compile("group=evaluation.samples_per_row"))
    expect(groups.get_by_role("row", name=re.compile("samples_per_row 1"))).to_be_visible()
    expect(page.get_by_role("figure").first).to_contain_text("samples_per_row 4 ends at")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_one_prompt_is_read_side_by_side(page: Page, demo: Demo, other: Any, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    first = demo.summary["job_id"]
    page.goto(f"/compare?jobs={first},{other.id}&group=seed")
    prompts = page.get_by_role("region", name="Prompts that the jobs share")
    picker = prompts.get_by_role("list", name="Prompts")
    expect(picker.get_by_role("button").first).to_contain_text("2 jobs")
    card = prompts.get_by_role("article", name="Another seed")
    expect(card).to_contain_text("mean")
    second = picker.get_by_role("button").nth(1)
    second.click()
    expect(second).to_have_attribute("aria-current", "true")
    expect(page).to_have_url(re.compile("prompt_hash="))
    expect(card.get_by_role("link", name="Another seed")).to_have_attribute(
        "href", re.compile(f"/jobs/{other.id}.*step=1")
    )
    settled(page)
    assert not findings(page)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    prompts.get_by_label("Filter by text of the prompt").fill("no prompt has this")
    expect(prompts.get_by_text("No matching prompts")).to_be_visible()


def test_too_few_jobs_are_an_invitation(page: Page) -> None:
    page.goto("/compare?jobs=ftjob-one")
    expect(page.get_by_text("Select 2 to 50 jobs")).to_be_visible()


def test_ticked_jobs_are_archived_and_listed_again(page: Page, client: Reinforge, other: Any) -> None:
    page.goto("/jobs")
    box = page.get_by_role("checkbox", name="Select Another seed")
    box.check()
    expect(page.get_by_text("1 job selected")).to_be_visible()
    page.get_by_role("button", name="Archive 1").click()
    expect(box).to_have_count(0)
    assert client.jobs.get(other.id).archived
    page.goto("/jobs?archived=only")
    box.check()
    page.get_by_role("button", name="Delete 1…").click()
    expect(page.get_by_role("dialog")).to_contain_text("deleted permanently")
    page.get_by_role("button", name="Keep jobs").click()
    page.get_by_role("button", name="Unarchive 1").click()
    expect(page.get_by_text("No matching jobs")).to_be_visible()
    assert not client.jobs.get(other.id).archived


def test_a_saved_view_brings_filter_columns_and_groups_back(page: Page, other: Any) -> None:
    page.goto("/jobs?q=Another&columns=status,spec.seed&group=seed")
    expect(page.get_by_role("rowgroup").get_by_text("seed: 4321")).to_be_visible()
    page.get_by_role("button", name="Views").click()
    page.get_by_label("Name of the view").fill("Seeds")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto("/jobs")
    expect(page.get_by_role("columnheader", name="Created")).to_be_visible()
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Seeds", exact=True).click()
    expect(page).to_have_url(re.compile("q=Another.*group=seed|group=seed.*q=Another"))
    expect(page.get_by_role("cell", name="4321")).to_be_visible()
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Delete Seeds").click()
    expect(page.get_by_text("No saved views")).to_be_visible()
