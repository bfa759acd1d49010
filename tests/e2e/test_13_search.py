"""Searching completions of all steps, and reading them by keys. Truth is the API."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from reinforge.schemas.jobs import CompletionGroup
from tests.e2e.conftest import Demo
from tests.e2e.reading import address_of, card, cards, in_address, mixed_group, order_on_page


@pytest.fixture(scope="module")
def job(demo: Demo) -> str:
    return str(demo.summary["job_id"])


@pytest.fixture(scope="module")
def group(client: Reinforge, job: str) -> CompletionGroup:
    return mixed_group(client, job)


@pytest.fixture
def at_group(job: str, group: CompletionGroup) -> str:
    return address_of(job, group)


def hit_count(total: int, counted_to: int) -> re.Pattern[str]:
    least = "at least " if total >= counted_to else ""
    digits = r"[\s,]?".join(str(total))
    return re.compile(rf"^{least}{digits}\scompletions?")


@pytest.mark.parametrize(
    ("typed", "filters", "query"),
    [
        ("answer", {}, {}),
        ("<think>", {}, {}),
        ('"</think><answer>1" -5', {}, {}),
        ("nothing says this", {}, {}),
        (
            "<think>",
            {"Reward, maximum": "0.5", "Step, minimum": "20", "Tokens, minimum": "30"},
            {"reward_max": 0.5, "step_from": 20, "length_min": 30},
        ),
        ("", {"Advantage": "positive", "Rows": "train"}, {"advantage": "positive", "split": "train"}),
        ("", {"Finish reason": "length"}, {"finish_reason": "length"}),
    ],
    ids=["word", "symbols", "phrase", "nothing", "ranges", "advantage", "finish"],
)
def test_a_search_finds_what_the_api_finds(
    page: Page, client: Reinforge, job: str, typed: str, filters: dict[str, str], query: dict[str, Any]
) -> None:
    hits = client.jobs.search_completions(job, typed or None, limit=100, **query)
    page.goto(f"/jobs/{job}?tab=completions")
    page.get_by_label("Search completions of all steps").fill(typed)
    if filters:
        page.get_by_role("button", name=re.compile("^Filters")).click()
    for label, value in filters.items():
        field = page.get_by_label(label, exact=True)
        if label.endswith(("minimum", "maximum")):
            field.fill(value)
            field.press("Enter")
        else:
            field.select_option(value)
    if filters:
        page.keyboard.press("Escape")
    results = page.get_by_role("region", name="Search results")
    expect(results.get_by_role("status")).to_have_text(hit_count(hits.total, hits.counted_to))
    if not hits.data:
        expect(results.get_by_text("No matching completions")).to_be_visible()
        return
    expect(results.locator("ol")).to_have_attribute("aria-busy", "false")
    for row, link in zip(hits.data[:5], results.get_by_role("link").all(), strict=False):
        expect(link).to_contain_text(f"step {row.step}")
        expect(link).to_contain_text(f"prompt {row.prompt_no + 1}, #{row.sample_no + 1}")
        # Control characters have names on the page.
        expect(link).to_contain_text(re.split(r"[\x00-\x09\x0b-\x1f\x7f]", row.text)[0])
    page.reload()
    expect(results.get_by_role("status")).to_have_text(hit_count(hits.total, hits.counted_to))


def test_a_result_leads_to_its_group_and_back(page: Page, client: Reinforge, job: str) -> None:
    hits = client.jobs.search_completions(job, "think", reward_max=0.5, limit=3)
    page.goto(f"/jobs/{job}?tab=completions&each=true")
    expect(cards(page)).to_have_count(8)
    page.keyboard.press("/")
    search = page.get_by_label("Search completions of all steps")
    expect(search).to_be_focused()
    page.keyboard.type("think")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Reward, maximum").fill("0.5")
    page.get_by_label("Reward, maximum").press("Enter")
    page.keyboard.press("Escape")
    results = page.get_by_role("region", name="Search results")
    expect(results.get_by_role("listitem", name="“think”")).to_have_count(0)
    expect(results.get_by_role("status")).to_have_text(hit_count(hits.total, hits.counted_to))
    results.get_by_role("link").first.click()
    first, second = hits.data[:2]
    expect(page).to_have_url(in_address(step=first.step, prompt=first.prompt_no, sample=first.sample_no))
    expect(card(page, first.sample_no)).to_have_attribute("data-open", "true")
    expect(card(page, first.sample_no).locator("mark").first).to_have_text("think")
    bar = page.get_by_role("navigation", name="Search results")
    expect(bar).to_contain_text("Result 1 of")
    page.keyboard.press("j")
    expect(page).to_have_url(in_address(step=second.step, prompt=second.prompt_no, sample=second.sample_no))
    expect(bar).to_contain_text("Result 2 of")
    page.keyboard.press("k")
    expect(bar).to_contain_text("Result 1 of")
    page.go_back()
    expect(results.get_by_role("link").first).to_be_visible()
    search.press("Escape")
    expect(search).to_have_value("")
    search.press("Escape")
    expect(page).not_to_have_url(re.compile(r"view=results|[?&]q="))
    expect(cards(page)).to_have_count(8)
    page.wait_for_timeout(600)  # longer than a pause in typing after which the search begins
    expect(page).not_to_have_url(re.compile(r"view=results|[?&]q="))


def test_keys_read_the_completions(page: Page, job: str, group: CompletionGroup, at_group: str) -> None:
    page.goto(at_group)
    expect(cards(page)).to_have_count(8)
    order = order_on_page(page)
    page.keyboard.press("j")
    expect(page).to_have_url(in_address(sample=order[0]))
    page.keyboard.press("j")
    expect(card(page, order[1])).to_have_attribute("data-open", "true")
    expect(card(page, order[1])).to_be_focused()
    page.keyboard.press("k")
    expect(card(page, order[0])).to_be_focused()
    page.keyboard.press("g")
    expect(page).not_to_have_url(re.compile("sample="))
    page.keyboard.press("n")
    expect(page).to_have_url(in_address(step=group.step + 1))
    page.keyboard.press("p")
    expect(page).to_have_url(in_address(step=group.step))
    page.keyboard.press("d")
    expect(page).to_have_url(in_address(view="steps"))
    page.keyboard.press("d")
    expect(page).not_to_have_url(re.compile("view="))
    page.keyboard.press("/")
    page.keyboard.type("jnp")
    expect(page.get_by_label("Search completions of all steps")).to_have_value("jnp")


def test_single_letter_keys_can_be_switched_off(page: Page, group: CompletionGroup, at_group: str) -> None:
    page.goto(at_group)
    expect(cards(page)).to_have_count(8)
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_role("switch").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    expect(cards(page)).to_have_count(8)
    for key in ("j", "n", "/", "?", "c"):
        page.keyboard.press(key)
    # Steps are still reached by what can be seen; had a key worked, this would be another one.
    page.get_by_role("button", name="Previous step").click()
    expect(page).to_have_url(in_address(step=group.step - 1))
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert "sample=" not in page.url
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
