"""Comparison of jobs in the page, from the check boxes of the list to the settings that differ."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from tests.e2e.conftest import Demo


@pytest.fixture
def other(client: Reinforge, demo: Demo) -> Iterator[Any]:
    """A job like the demo's with another seed, cancelled before it has measured anything."""
    spec = dict(client.jobs.get(demo.summary["job_id"]).spec) | {"name": "Another seed", "seed": 4321}
    job = client.jobs.create(spec)
    client.jobs.cancel(job.id)
    client.jobs.wait(job.id)
    yield job
    client.jobs.delete(job.id)


def test_two_ticked_jobs_are_compared(page: Page, demo: Demo, other: Any) -> None:
    first = demo.summary["job_id"]
    page.goto("/jobs")
    page.get_by_role("checkbox", name="Select Another seed").check()
    page.get_by_role("row").filter(has=page.locator(f'a[href*="{first}"]')).get_by_role("checkbox").check()
    page.get_by_role("link", name="Compare 2").click()
    expect(page).to_have_url(re.compile("/compare"))
    expect(page.get_by_text(re.compile("cannot be compared with"))).to_be_visible()
    settings = page.get_by_role("region", name="Settings that differ")
    expect(settings.get_by_role("row", name=re.compile("^seed"))).to_contain_text("4321")
    expect(page.get_by_role("figure").locator("canvas").first).to_be_visible()
    page.get_by_role("radio", name="Compare with Another seed").check()
    expect(page).to_have_url(re.compile(f"jobs={other.id}%2C{first}|jobs={other.id},{first}"))
    page.get_by_label("Metric", exact=True).select_option("reward/mean")
    expect(page.get_by_role("figure")).to_contain_text(re.compile("ends at"))


def test_too_few_jobs_are_an_invitation(page: Page) -> None:
    page.goto("/compare?jobs=ftjob-one")
    expect(page.get_by_text("Select 2 to 50 jobs")).to_be_visible()
