"""Every screen in both themes and on a phone: rules of accessibility, nothing wider than the screen, no errors.

axe-core's serious and critical findings are failures (WCAG 2.2 A and AA); the real job of the demo fills the screens.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from tests.e2e.browser import browser_page
from tests.e2e.conftest import ROOT

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

SCREENS = {
    "start": "/",
    "jobs": "/jobs",
    "jobs by a setting": "/jobs?group=algorithm.preset&columns=status,held_out,best,spec.seed",
    "too few jobs to compare": "/compare?jobs={job}",
    "overview": "/jobs/{job}",
    "completions": "/jobs/{job}?tab=completions&step=20",
    "labels": "/jobs/{job}?tab=completions&view=label",
    "prompts": "/jobs/{job}?tab=prompts",
    "prompts that changed": "/jobs/{job}?tab=prompts&category=won",
    "checkpoints": "/jobs/{job}?tab=checkpoints",
    "logs": "/jobs/{job}?tab=logs",
    "config": "/jobs/{job}?tab=config",
    "new job": "/jobs/new",
    "new job like another": "/jobs/new?from={job}",
    "datasets": "/datasets",
    "dataset": "/datasets/{dataset}",
    "dataset's prompts": "/datasets/{dataset}?tab=prompts",
    "dataset's jobs": "/datasets/{dataset}?tab=jobs",
    "rewards": "/rewards",
    "new reward": "/rewards/new?dataset={dataset}",
    "reward": "/rewards/{reward}",
    "grader": "/rewards/{grader}?dataset={dataset}",
    "grader's form": "/rewards/{grader}?dataset={dataset}&grader=form",
    "grader's JSON": "/rewards/{grader}?dataset={dataset}&grader=json",
    "reward's golden cases": "/rewards/{reward}?tab=golden",
    "reward's replays": "/rewards/{reward}?tab=replay",
    "reward's revisions": "/rewards/{reward}?tab=revisions",
    "models": "/models",
    "model": "/models/starter-arith",
    "adapters": "/adapters",
    "playground": "/playground?job={job}",
    "evaluations": "/evaluations",
    "new evaluation": "/evaluations/new?dataset={dataset}&reward={reward}",
    "evaluation": "/evaluations/{evaluation}",
    "two evaluations": "/evaluations/{evaluation}?against={base}&sorted=fell",
    "deployments": "/deployments",
    "settings": "/settings",
    "people": "/settings?tab=people",
    "API keys": "/settings?tab=keys",
    "usage": "/settings?tab=usage",
    "webhooks": "/settings?tab=webhooks&webhook={webhook}",
    "judges": "/settings?tab=judges",
    "project": "/settings?tab=project",
    "audit log": "/settings?tab=audit",
    "nothing there": "/nowhere",
    "no such job": "/jobs/ftjob-none",
}


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, client: Reinforge) -> Iterator[Page]:
    with browser_page() as one:
        one.emulate_media(color_scheme=request.param, reduced_motion="reduce")
        one.goto(client.sign_in_link())
        expect(one).to_have_url(re.compile(r":\d+/$"))
        yield one


def settled(page: Page) -> None:
    """Wait until nothing on the screen is loading."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def findings(page: Page) -> list[str]:
    """axe's serious and critical findings: rule, elements, what is wrong.

    What is there in three looks is one: a live list that is dimmed while it changes is not.
    """
    page.evaluate(AXE.read_text(encoding="utf8"))
    for _ in range(2):
        if not (problems := _findings(page)):
            return problems
        page.wait_for_timeout(500)
    return _findings(page)


def _findings(page: Page) -> list[str]:
    problems: list[dict[str, Any]] = page.evaluate(
        "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}}).then(r => r.violations)", RULES
    )
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for one in problems
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]


def test_the_rules_find_what_is_wrong(page: Page) -> None:
    """The check itself: a picture without words is found."""
    settled(page)
    page.evaluate("document.body.append(document.createElement('img'))")
    assert any(line.startswith("image-alt") for line in findings(page))


def test_every_screen_is_accessible(page: Page, places: dict[str, str]) -> None:
    base = page.url.rstrip("/")
    problems = []
    for name, address in SCREENS.items():
        page.goto(base + address.format(**places))
        settled(page)
        problems += [f"{name}: {line}" for line in findings(page)]
    assert not problems, "\n".join(problems)


def test_what_opens_over_a_screen_is_accessible(page: Page, places: dict[str, str]) -> None:
    base = page.url.rstrip("/")
    problems = []
    page.goto(f"{base}/jobs/{places['job']}")
    settled(page)
    for keys, name in (("Control+k", "go to"), ("?", "keyboard help")):
        page.keyboard.press(keys)
        expect(page.get_by_role("dialog")).to_be_visible()
        problems += [f"{name}: {line}" for line in findings(page)]
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    page.goto(f"{base}/jobs/{places['job']}?tab=completions&step=20")
    settled(page)
    page.get_by_role("button", name=re.compile("tokens")).first.click()
    problems += [f"tokens: {line}" for line in findings(page)]
    page.goto(f"{base}/settings?tab=judges")
    page.get_by_role("button", name="New judge").click()
    expect(page.get_by_role("dialog", name="New judge")).to_be_visible()
    page.get_by_text("Prices and limits").click()
    problems += [f"new judge: {line}" for line in findings(page)]
    page.goto(f"{base}/rewards/{places['grader']}")
    settled(page)
    page.get_by_role("button", name=re.compile("^Insert a name into Input")).first.click()
    expect(page.get_by_role("menu")).to_be_visible()
    problems += [f"names of a template: {line}" for line in findings(page)]
    assert not problems, "\n".join(problems)


def test_every_screen_fits_a_phone(client: Reinforge, places: dict[str, str]) -> None:
    with browser_page(width=390, height=844) as page:
        page.goto(client.sign_in_link())
        expect(page).to_have_url(re.compile(r":\d+/$"))
        base = page.url.rstrip("/")
        wide = {}
        for name, address in SCREENS.items():
            page.goto(base + address.format(**places))
            settled(page)
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > 390:
                wide[name] = width
        assert not wide
