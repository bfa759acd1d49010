"""The gallery of examples: one press makes data, reward and a running job; a second one finds them."""

import re

from playwright.sync_api import Page, expect

from reinforge.client import Reinforge


def test_one_press_starts_an_example(page: Page, client: Reinforge) -> None:
    page.goto("/jobs/new")
    page.get_by_role("button", name="Start from an example…").click()
    expect(page).to_have_url(re.compile("examples=true"))
    gallery = page.get_by_role("dialog", name="Start from an example")
    card = gallery.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Multiple choice"))
    expect(card).to_contain_text("72 rows, 18 held out")
    card.get_by_text("Reward and job file").click()
    expect(card.get_by_label("reward.py of multiple-choice")).to_contain_text("def grade(")
    card.get_by_role("button", name="Start Multiple choice").click()
    expect(page).to_have_url(re.compile("/jobs/ftjob-"), timeout=180_000)
    job = page.url.rpartition("/")[2].partition("?")[0]
    try:
        expect(page.get_by_role("heading", level=1)).to_contain_text("Multiple choice")
        assert client.examples.start("multiple-choice").id == job
        page.goto("/jobs/new?examples=true")
        expect(card.get_by_role("link", name="Open its job for Multiple choice")).to_have_attribute(
            "href", re.compile(job)
        )
    finally:
        client.jobs.cancel(job)
        client.jobs.wait(job)
        client.jobs.delete(job)
