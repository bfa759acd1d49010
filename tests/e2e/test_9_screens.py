"""Every screen in both themes and on a phone: rules of accessibility, nothing wider than the screen, no errors.

axe-core's serious and critical findings are failures (WCAG 2.2 A and AA); the real job of the demo fills the screens.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from reinforge.client import Reinforge
from tests.e2e.browser import browser_page, sign_in
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
FIRST_DRAWN_ON_A_PHONE = (
    "start",
    "jobs",
    "overview",
    "completions",
    "new job",
    "dataset",
    "reward",
    "playground",
)


DESKTOP: ViewportSize = {"width": 1440, "height": 1200}
PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture
def page(client: Reinforge) -> Iterator[Page]:
    with browser_page() as one:
        one.emulate_media(reduced_motion="reduce")
        sign_in(one, client.sign_in_link())
        yield one


def settled(page: Page) -> None:
    """Wait until nothing on the screen is loading."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def findings(page: Page) -> list[str]:
    """Axe's serious and critical findings in both themes: theme, rule, elements, what is wrong.

    What is there in three looks is one: a live list that is dimmed while it changes is not.
    """
    page.evaluate(AXE.read_text(encoding="utf8"))
    return [f"{theme}: {problem}" for theme in ("light", "dark") for problem in lasting_findings(page, theme)]


def lasting_findings(page: Page, theme: Literal["light", "dark"]) -> list[str]:
    page.emulate_media(color_scheme=theme)
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
    assert any("image-alt" in line for line in findings(page))


def test_every_screen_is_accessible_and_fits_a_phone(page: Page, places: dict[str, str]) -> None:
    """Takes over 10 s: 47 screens, loaded once each, in two themes and two widths."""
    base = page.url.rstrip("/")
    problems = []
    for name, address in SCREENS.items():
        page.goto(base + address.format(**places))
        settled(page)
        problems += [f"{name}: {line}" for line in findings(page)]
        page.set_viewport_size(PHONE)
        settled(page)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            problems.append(f"{name}: {width} px wide on a phone")
        page.set_viewport_size(DESKTOP)
    assert not problems, "\n".join(problems)


def test_main_screens_load_on_a_phone(client: Reinforge, places: dict[str, str]) -> None:
    """Screens that are first drawn on a phone, rather than made narrow later."""
    wide = {}
    with browser_page(**PHONE) as page:
        sign_in(page, client.sign_in_link())
        base = page.url.rstrip("/")
        for name in FIRST_DRAWN_ON_A_PHONE:
            page.goto(base + SCREENS[name].format(**places))
            settled(page)
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > PHONE["width"]:
                wide[name] = width
    assert not wide


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
