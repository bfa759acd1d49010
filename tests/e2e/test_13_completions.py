"""Reading completions of the finished job: groups, tokens, one prompt over steps. Truth is the API."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.schemas.jobs import CompletionGroup, GroupList
from tests.e2e.conftest import Demo
from tests.e2e.reading import (
    address_of,
    card,
    cards,
    in_address,
    kind,
    mixed_group,
    order_on_page,
    varied_step,
)


@pytest.fixture(scope="module")
def job(demo: Demo) -> str:
    return str(demo.summary["job_id"])


@pytest.fixture(scope="module")
def step(client: Reinforge, job: str) -> GroupList:
    return varied_step(client, job)


@pytest.fixture(scope="module")
def group(client: Reinforge, job: str) -> CompletionGroup:
    return mixed_group(client, job)


@pytest.fixture
def at_group(job: str, group: CompletionGroup) -> str:
    return address_of(job, group)


def read_number(text: str) -> float:
    """A number as the page writes it: a real minus, thousands apart."""
    return float(re.sub(r"\s", "", text.replace("−", "-")))


def advantage_words(value: float | None) -> str:
    assert value is not None
    if abs(value) < 0.005:
        return "= 0.00"
    return f"▲ +{value:.2f}" if value > 0 else f"▼ −{-value:.2f}"


def test_the_scrubber_moves_over_steps_and_stands_in_the_address(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}?tab=completions&each=true")
    field = page.get_by_role("textbox", name="Go to step")
    expect(field).to_have_value("60")
    page.get_by_role("slider", name="Step").press("ArrowLeft")
    expect(page).to_have_url(in_address(step=59))
    page.get_by_role("button", name="Previous step").click()
    expect(page).to_have_url(in_address(step=58))
    field.fill("31")
    field.press("Enter")
    expect(page).to_have_url(in_address(step=31))
    page.reload()
    expect(field).to_have_value("31")
    expect(cards(page)).to_have_count(8)
    page.get_by_role("button", name="Next step").click()
    expect(field).to_have_value("32")
    page.get_by_role("button", name="Last step").click()
    expect(field).to_have_value("60")
    expect(page).not_to_have_url(re.compile(r"[?&]step="))


def test_the_completions_of_a_prompt_are_side_by_side_with_their_advantages(
    page: Page, group: CompletionGroup, at_group: str
) -> None:
    page.goto(at_group)
    expect(cards(page)).to_have_count(len(group.completions))
    assert any(one.advantage for one in group.completions)
    for one in group.completions:
        text = card(page, one.sample_no)
        expect(text.locator("header")).to_have_text(
            f"#{one.sample_no + 1} reward {one.reward:g}advantage {advantage_words(one.advantage)}"
        )
        assert text.locator("pre").first.inner_text() == one.text
        expect(text).to_contain_text(one.rewards[0].reason or "")
        expect(text.locator("footer")).to_contain_text(f"{one.length} tok")
    prompt = page.get_by_role("region", name="Prompt", exact=True)
    expect(prompt).to_have_text(group.prompt_messages[-1]["content"])
    boxes = [box for box in (one.bounding_box() for one in cards(page).all()) if box]
    assert len({box["x"] for box in boxes}) >= 3, "not side by side"


def test_completions_are_sorted_as_requested(page: Page, group: CompletionGroup, at_group: str) -> None:
    page.goto(at_group)
    order = page.get_by_label("Sort completions")
    keys: dict[str, Any] = {
        "reward": lambda one: (-one.reward, one.sample_no),
        "length": lambda one: (-one.length, one.sample_no),
        "sampled": lambda one: one.sample_no,
        "advantage": lambda one: (-one.advantage, one.sample_no),
    }
    expect(cards(page)).to_have_count(len(group.completions))
    for name, key in keys.items():
        expected = [one.sample_no for one in sorted(group.completions, key=key)]
        order.select_option(name)
        if name == "advantage":
            expect(page).not_to_have_url(re.compile("sort="))
        else:
            expect(page).to_have_url(in_address(sort=name))
        expect(cards(page).first).to_have_attribute("aria-label", f"Completion {expected[0] + 1}")
        assert order_on_page(page) == expected, name


PAGE = 12
"""Prompts that the list shows at a time."""


def test_prompts_are_narrowed_to_those_equal_or_mixed(page: Page, job: str, step: GroupList) -> None:
    page.goto(f"/jobs/{job}?tab=completions&step={step.step}")
    prompts = page.get_by_role("navigation", name="Prompts of the step")
    listed = prompts.get_by_role("listitem")
    place = prompts.get_by_text(re.compile(r"^\d+–\d+ of \d+ prompts$"))
    # The list begins with the page of the chosen prompt.
    expect(place).to_contain_text(f"of {len(step.data)} prompts")
    choice = page.get_by_label("Filter prompts")
    for name, words in (("right", "equal > 0"), ("signal", "mixed"), ("wrong", "equal ≤ 0")):
        expected = [head for head in step.data if kind(head) == words]
        choice.select_option(name)
        expect(page).to_have_url(in_address(only=name))
        expect(choice.locator("option:checked")).to_contain_text(f"({len(expected)})")
        if len(expected) > PAGE:
            expect(place).to_contain_text(f"of {len(expected)} prompts")
            first, last = (int(number) for number in re.findall(r"\d+", place.inner_text())[:2])
            expected = expected[first - 1 : last]
        expect(listed).to_have_count(len(expected))
        for head, row in zip(expected, listed.all(), strict=True):
            expect(row).to_contain_text(words)
            expect(row).to_contain_text(head.prompt)


def token_facts(slider: Locator) -> dict[str, float]:
    """What is told about the token under the cursor."""
    value_text = slider.get_attribute("aria-valuetext") or ""
    numbers = re.findall(r"(log-prob|entropy|gap) (\S+) nat|(id) (\d+)", value_text)
    return {name or id_: read_number(value or number) for name, value, id_, number in numbers}


def test_tokens_have_the_values_that_were_recorded(
    page: Page, client: Reinforge, job: str, group: CompletionGroup, at_group: str
) -> None:
    one = client.jobs.completion(job, "train", group.step, group.prompt_no, 0)
    page.goto(at_group)
    card(page, 0).get_by_role("button", name="tokens of completion 1").click()
    expect(page).to_have_url(in_address(sample=0))
    strip = page.get_by_role("region", name="Tokens of completion 1")
    slider = strip.get_by_role("slider", name="Token")
    expect(slider).to_have_attribute("aria-valuemax", str(len(one.tokens)))
    cells = slider.locator("[data-i]")
    assert "".join(cells.all_inner_texts()) == "".join(one.tokens).replace(" ", "·")
    for place, key in ((0, "Home"), (1, "ArrowRight"), (len(one.tokens) - 1, "End")):
        slider.press(key)
        expect(slider).to_have_attribute("aria-valuenow", str(place + 1))
        assert token_facts(slider) == {
            "log-prob": pytest.approx(one.sampler_logprobs[place], rel=0.06),
            "entropy": pytest.approx(one.entropies[place], rel=0.06),
            "gap": pytest.approx(one.trainer_logprobs[place] - one.sampler_logprobs[place], rel=0.06),
            "id": one.token_ids[place],
        }
    least = min(range(len(one.tokens)), key=lambda at: one.sampler_logprobs[at])
    expect(strip).to_contain_text(f"least likely at token {least + 1}")
    strip.get_by_text("gap", exact=True).click()
    expect(page).to_have_url(in_address(tokens="gap"))
    expect(strip).to_contain_text("Negligible: the largest gap is")
    assert set(cells.evaluate_all("all => all.map(one => one.dataset.level)")) <= {"0", "1"}
    page.reload()
    expect(slider).to_have_attribute("data-measure", "gap")


def test_tokens_are_a_table_too(
    page: Page, client: Reinforge, job: str, group: CompletionGroup, at_group: str
) -> None:
    one = client.jobs.completion(job, "train", group.step, group.prompt_no, 2)
    page.goto(f"{at_group}&sample=2")
    strip = page.get_by_role("region", name="Tokens of completion 3")
    strip.get_by_role("button", name="table").click()
    rows = strip.locator("tbody tr")
    expect(rows).to_have_count(len(one.tokens))
    read = rows.evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.innerText))")
    for at, (number, text, id_, logprob, _, entropy, trainer, _) in enumerate(read):
        assert (int(number), text.replace("·", " "), int(id_)) == (at + 1, one.tokens[at], one.token_ids[at])
        measured = [one.sampler_logprobs[at], one.entropies[at], one.trainer_logprobs[at]]
        assert [read_number(value) for value in (logprob, entropy, trainer)] == pytest.approx(
            measured, rel=0.06
        )


def drawn_twice(client: Reinforge, job: str) -> CompletionGroup:
    """A group whose prompt was drawn at several steps, and answered differently at the first and last of them."""
    for number in range(60, 0, -1):
        for prompt_no in range(16):
            group = client.jobs.group(job, "train", number, prompt_no)
            if len(group.steps) > 1:
                return group
    raise AssertionError("no prompt was drawn twice")


def test_one_prompt_over_the_steps_with_what_changed(page: Page, client: Reinforge, job: str) -> None:
    group = drawn_twice(client, job)
    page.goto(f"/jobs/{job}?tab=completions&step={group.step}&prompt={group.prompt_no}")
    page.get_by_role("radiogroup", name="View of the prompt").get_by_text("Across steps").click()
    expect(page).to_have_url(in_address(view="steps"))
    table = page.get_by_role("region", name="Steps of this prompt")
    expect(table.locator("tbody tr")).to_have_count(len(group.steps))
    assert [int(t) for t in table.get_by_role("rowheader").all_inner_texts()] == sorted(group.steps)
    page.get_by_label("Completion shown per step").select_option("first")
    compared = page.get_by_role("region", name="Comparison of two steps")
    expect(compared.locator("header")).to_contain_text(f"From step {min(group.steps)}")
    expect(compared.locator("header")).to_contain_text(f"to step {max(group.steps)}")
    texts = []
    for number in (min(group.steps), max(group.steps)):
        hits = client.jobs.search_completions(
            job, prompt_hash=group.prompt_hash, split="train", step_from=number, step_to=number, limit=100
        )
        first = min(hits.data, key=lambda row: (row.prompt_no, row.sample_no))
        texts.append(first.text)
    diff = compared.locator("pre")
    expect(diff).to_have_count(1)
    for text, left_out in zip(texts, ("ins", "del"), strict=True):
        without = "(pre, out) => { const copy = pre.cloneNode(true);"
        without += " copy.querySelectorAll(out + ', [class=visually-hidden]').forEach(one => one.remove());"
        without += " return copy.textContent; }"
        assert diff.evaluate(without, left_out) == text
    page.get_by_role("radio", name=f"To step {min(group.steps)}").check()
    expect(page).to_have_url(in_address(b=min(group.steps)))
    expect(compared).to_have_count(0)
    table.get_by_role("button", name=str(min(group.steps)), exact=True).click()
    expect(page).to_have_url(in_address(step=min(group.steps)))
    expect(page).not_to_have_url(re.compile("view=steps"))
