"""Finding completions of the demo in the API, and their cards on the page."""

import re

from playwright.sync_api import Locator, Page

from reinforge.client import Reinforge
from reinforge.schemas.jobs import CompletionGroup, GroupHead, GroupList


def kind(head: GroupHead) -> str:
    rewards = set(head.rewards)
    return "mixed" if len(rewards) > 1 else "equal > 0" if rewards == {1.0} else "equal ≤ 0"


def varied_step(client: Reinforge, job: str) -> GroupList:
    """The first step from the tenth on that has groups whose rewards are all 1 and groups which are mixed."""
    for number in range(10, 61):
        groups = GroupList.model_validate(client.transport.get(f"/jobs/{job}/groups", step=number))
        if {"mixed", "equal > 0"} <= {kind(head) for head in groups.data}:
            return groups
    raise AssertionError("no such step")


def mixed_group(client: Reinforge, job: str) -> CompletionGroup:
    """The first mixed group of that step."""
    groups = varied_step(client, job)
    assert groups.step is not None
    number = next(head.prompt_no for head in groups.data if kind(head) == "mixed")
    return client.jobs.group(job, "train", groups.step, number)


def address_of(job: str, group: CompletionGroup) -> str:
    """With a card for each completion, also for those of the same text."""
    return f"/jobs/{job}?tab=completions&step={group.step}&prompt={group.prompt_no}&each=true"


def cards(page: Page) -> Locator:
    return page.get_by_role("region", name="Completions").get_by_role("article")


def card(page: Page, sample_no: int) -> Locator:
    return page.get_by_role("article", name=f"Completion {sample_no + 1}", exact=True)


def order_on_page(page: Page) -> list[int]:
    """Sample numbers of the cards, as they stand."""
    names = cards(page).evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    return [int(name.split()[-1]) - 1 for name in names]


def in_address(**search: object) -> re.Pattern[str]:
    return re.compile("".join(rf"(?=.*[?&]{name}={value}(?:&|$))" for name, value in search.items()))
