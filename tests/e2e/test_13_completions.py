"""Reading completions of the finished job: groups, tokens, one prompt over steps, search, keys. Truth is the API."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from reinforge.client import Reinforge
from reinforge.platform.up import Platform
from reinforge.schemas.jobs import Completion, CompletionGroup, GroupHead, GroupList
from tests.e2e.browser import sign_in, started_browser, visit
from tests.e2e.conftest import Demo


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as one:
        yield one


@pytest.fixture(scope="module")
def signed_in(browser: Browser, client: Reinforge) -> StorageState:
    with visit(browser) as page:
        sign_in(page, client.sign_in_link())
        return page.context.storage_state()


@pytest.fixture
def page(browser: Browser, signed_in: StorageState, platform: Platform) -> Iterator[Page]:
    with visit(browser, height=900, base_url=platform.url, state=signed_in) as one:
        one.emulate_media(reduced_motion="reduce")
        yield one


@pytest.fixture(scope="module")
def job(demo: Demo) -> str:
    return str(demo.summary["job_id"])


def kind(head: GroupHead) -> str:
    rewards = set(head.rewards)
    return "mixed" if len(rewards) > 1 else "all right" if rewards == {1.0} else "all wrong"


@pytest.fixture(scope="module")
def step(client: Reinforge, job: str) -> GroupList:
    """The first step from the tenth on that has groups which are all right and groups which are mixed."""
    for number in range(10, 61):
        groups = GroupList.model_validate(client.transport.get(f"/jobs/{job}/groups", step=number))
        if {"mixed", "all right"} <= {kind(head) for head in groups.data}:
            return groups
    raise AssertionError("no such step")


@pytest.fixture(scope="module")
def group(client: Reinforge, job: str, step: GroupList) -> CompletionGroup:
    """A mixed group of that step."""
    assert step.step is not None
    number = next(head.prompt_no for head in step.data if kind(head) == "mixed")
    return client.jobs.group(job, "train", step.step, number)


@pytest.fixture
def at_group(job: str, group: CompletionGroup) -> str:
    return f"/jobs/{job}?tab=completions&step={group.step}&prompt={group.prompt_no}"


def cards(page: Page) -> Locator:
    return page.get_by_role("region", name="Completions").get_by_role("article")


def card(page: Page, sample_no: int) -> Locator:
    return page.get_by_role("article", name=f"Completion {sample_no + 1}", exact=True)


def shown_order(page: Page) -> list[int]:
    """Sample numbers of the cards, as they stand."""
    names = cards(page).evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    return [int(name.split()[-1]) - 1 for name in names]


def read_number(text: str) -> float:
    """A number as the page writes it: a real minus, thousands apart."""
    return float(re.sub(r"\s", "", text.replace("−", "-")))


def advantage_words(value: float | None) -> str:
    assert value is not None
    if abs(value) < 0.005:
        return "= 0.00"
    return f"▲ +{value:.2f}" if value > 0 else f"▼ −{-value:.2f}"


def in_address(**search: object) -> re.Pattern[str]:
    return re.compile("".join(rf"(?=.*[?&]{name}={value}(?:&|$))" for name, value in search.items()))


def test_the_scrubber_moves_over_steps_and_stands_in_the_address(page: Page, job: str) -> None:
    page.goto(f"/jobs/{job}?tab=completions")
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


def test_completions_are_sorted_as_asked(page: Page, group: CompletionGroup, at_group: str) -> None:
    page.goto(at_group)
    order = page.get_by_label("Order of the completions")
    keys: dict[str, Any] = {
        "reward": lambda one: (-one.reward, one.sample_no),
        "length": lambda one: (-one.length, one.sample_no),
        "sampled": lambda one: one.sample_no,
        "advantage": lambda one: (-one.advantage, one.sample_no),
    }
    expect(cards(page)).to_have_count(len(group.completions))
    for name, key in keys.items():
        wanted = [one.sample_no for one in sorted(group.completions, key=key)]
        order.select_option(name)
        if name == "advantage":
            expect(page).not_to_have_url(re.compile("sort="))
        else:
            expect(page).to_have_url(in_address(sort=name))
        expect(cards(page).first).to_have_attribute("aria-label", f"Completion {wanted[0] + 1}")
        assert shown_order(page) == wanted, name


def test_prompts_are_narrowed_to_those_all_right_or_mixed(page: Page, job: str, step: GroupList) -> None:
    page.goto(f"/jobs/{job}?tab=completions&step={step.step}")
    listed = page.get_by_role("navigation", name="Prompts of the step").get_by_role("listitem")
    expect(listed).to_have_count(len(step.data))
    choice = page.get_by_label("Which prompts")
    for name, words in (("right", "all right"), ("signal", "mixed"), ("wrong", "all wrong")):
        wanted = [head for head in step.data if kind(head) == words]
        choice.select_option(name)
        expect(page).to_have_url(in_address(only=name))
        expect(choice.locator("option:checked")).to_contain_text(f"({len(wanted)})")
        expect(listed).to_have_count(len(wanted))
        for head, row in zip(wanted, listed.all(), strict=True):
            expect(row).to_contain_text(words)
            expect(row).to_contain_text(head.prompt)


def token_facts(slider: Locator) -> dict[str, float]:
    """What is told about the token under the cursor."""
    told = slider.get_attribute("aria-valuetext") or ""
    numbers = re.findall(r"(log-prob|entropy|gap) (\S+) nat|(id) (\d+)", told)
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
    expect(strip).to_contain_text("Nothing to see: the largest gap is")
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
    page.get_by_role("radiogroup", name="What to see of the prompt").get_by_text("Across steps").click()
    expect(page).to_have_url(in_address(view="steps"))
    table = page.get_by_role("region", name="Steps of this prompt")
    expect(table.locator("tbody tr")).to_have_count(len(group.steps))
    assert [int(t) for t in table.get_by_role("rowheader").all_inner_texts()] == sorted(group.steps)
    page.get_by_label("Which completion stands for a step").select_option("first")
    compared = page.get_by_role("region", name="Comparison of two steps")
    expect(compared.locator("header")).to_contain_text(f"From step {min(group.steps)}")
    expect(compared.locator("header")).to_contain_text(f"to step {max(group.steps)}")
    texts = []
    for number in (min(group.steps), max(group.steps)):
        found = client.jobs.search_completions(
            job, prompt_hash=group.prompt_hash, split="train", step_from=number, step_to=number, limit=100
        )
        first = min(found.data, key=lambda row: (row.prompt_no, row.sample_no))
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


def found_words(total: int, counted_to: int) -> re.Pattern[str]:
    least = "at least " if total >= counted_to else ""
    digits = r"\s?".join(str(total))
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
            {"Reward, at most": "0.5", "Step, at least": "20", "Tokens, at least": "30"},
            {"reward_max": 0.5, "step_from": 20, "length_min": 30},
        ),
        ("", {"Advantage": "positive", "Rows": "train"}, {"advantage": "positive", "split": "train"}),
        ("", {"Finish": "length"}, {"finish_reason": "length"}),
    ],
    ids=["word", "symbols", "phrase", "nothing", "ranges", "advantage", "finish"],
)
def test_a_search_finds_what_the_api_finds(
    page: Page, client: Reinforge, job: str, typed: str, filters: dict[str, str], query: dict[str, Any]
) -> None:
    hits = client.jobs.search_completions(job, typed or None, limit=100, **query)
    page.goto(f"/jobs/{job}?tab=completions")
    page.get_by_label("Search the completions of all steps").fill(typed)
    if filters:
        page.get_by_role("button", name=re.compile("^Filters")).click()
    for label, value in filters.items():
        field = page.get_by_label(label, exact=True)
        if label.endswith(("least", "most")):
            field.fill(value)
            field.press("Enter")
        else:
            field.select_option(value)
    if filters:
        page.keyboard.press("Escape")
    results = page.get_by_role("region", name="Search results")
    expect(results.get_by_role("status")).to_have_text(found_words(hits.total, hits.counted_to))
    if not hits.data:
        expect(results.get_by_text("No completion matches")).to_be_visible()
        return
    expect(results.locator("ol")).to_have_attribute("aria-busy", "false")
    for row, link in zip(hits.data[:5], results.get_by_role("link").all(), strict=False):
        expect(link).to_contain_text(f"step {row.step}")
        expect(link).to_contain_text(f"prompt {row.prompt_no + 1}, #{row.sample_no + 1}")
        expect(link).to_contain_text(row.text)
    page.reload()
    expect(results.get_by_role("status")).to_have_text(found_words(hits.total, hits.counted_to))


def test_a_result_leads_to_its_group_and_back(page: Page, client: Reinforge, job: str) -> None:
    hits = client.jobs.search_completions(job, "think", reward_max=0.5, limit=3)
    page.goto(f"/jobs/{job}?tab=completions")
    expect(cards(page)).to_have_count(8)
    page.keyboard.press("/")
    search = page.get_by_label("Search the completions of all steps")
    expect(search).to_be_focused()
    page.keyboard.type("think")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Reward, at most").fill("0.5")
    page.get_by_label("Reward, at most").press("Enter")
    page.keyboard.press("Escape")
    results = page.get_by_role("region", name="Search results")
    expect(results.get_by_role("listitem", name="“think”")).to_have_count(0)
    expect(results.get_by_role("status")).to_have_text(found_words(hits.total, hits.counted_to))
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


def test_keys_read_the_completions(page: Page, job: str, group: CompletionGroup, at_group: str) -> None:
    page.goto(at_group)
    expect(cards(page)).to_have_count(8)
    order = shown_order(page)
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
    expect(page.get_by_label("Search the completions of all steps")).to_have_value("jnp")


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


def stranger(one: Completion, text: str) -> Completion:
    return one.model_copy(update={"text": text, "length": len(text) // 3})


def answer_with(page: Page, group: CompletionGroup, texts: list[str]) -> None:
    """Let the group say these texts: in the shapes of the real API, which gets the other questions."""
    changed = [stranger(one, text) for one, text in zip(group.completions, texts, strict=False)]
    body = group.model_copy(update={"completions": changed}).model_dump_json()
    page.route(
        re.compile(r"/api/v1/jobs/[^/]+/groups/"),
        lambda route: route.fulfill(body=body, content_type="application/json"),
    )


def test_long_texts_and_other_directions_hold_their_place(
    page: Page, group: CompletionGroup, at_group: str
) -> None:
    long = ("word " * 30 + "x" * 500 + "\n") * 200
    assert len(long) > 100_000
    arabic = "الجواب هو 42 لأن العدد 6 مضروب في 7. "
    override = "before\u202etxet desrever\u202c after"
    answer_with(
        page, group, [long, arabic * 20, override, "a\0b\x1b[31mred", "𝔘𝔫𝔦 👩‍👩‍👧", "", " \t\n", "</pre>"]
    )
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(at_group)
        expect(cards(page)).to_have_count(8)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for one in cards(page).all():
            assert one.evaluate("one => one.scrollWidth <= one.clientWidth"), (
                f"wider than its card at {width}"
            )
    first = card(page, 0).locator("pre").first
    assert len(first.inner_text()) < 5_000
    card(page, 0).get_by_role("button", name=re.compile("^show all")).click()
    assert len(first.text_content() or "") == len(long)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = card(page, 0).bounding_box()
    assert box is not None and box["height"] < 900, "a long text pushes the others away"
    card(page, 0).get_by_role("button", name="show less").click()
    right = card(page, 1).locator("pre").first
    expect(right).to_have_attribute("dir", "auto")
    assert right.evaluate("pre => getComputedStyle(pre).direction") == "rtl"
    assert card(page, 0).locator("pre").first.evaluate("pre => getComputedStyle(pre).direction") == "ltr"
    # What would turn the text around it, or is not visible, is named.
    expect(card(page, 2).locator("pre").first).to_have_text("before‹U+202E›txet desrever‹U+202C› after")
    expect(card(page, 3).locator("pre").first).to_have_text("a‹NUL›b‹ESC›[31mred")
    expect(card(page, 5)).to_contain_text("empty: the model ended at once")


WATCH = (
    "window.refused = []; document.addEventListener('securitypolicyviolation',"
    " event => window.refused.push(event.violatedDirective + ' ' + event.blockedURI))"
)
NASTY = "<img src=x onerror=\"window.ran='{0}'\"><script>window.ran='{0}'</script><style>*{{display:none}}</style>"


def test_markup_in_completions_is_shown_and_never_run(
    page: Page, group: CompletionGroup, at_group: str
) -> None:
    page.add_init_script(WATCH)
    texts = [
        NASTY.format("completion"),
        "<think><b onclick=alert(1)>bold</b></think>",
        "[a](javascript:alert(1))",
    ]
    answer_with(page, group, texts + ["![x](http://127.0.0.1:9/pixel.png)"] * 5)
    page.goto(at_group)
    for at, text in enumerate(texts):
        assert card(page, at).locator("pre").first.inner_text() == text
    page.get_by_role("checkbox", name="fold thinking").check()
    expect(card(page, 1).get_by_text("thinking")).to_be_visible()
    assert page.evaluate("[window.ran ?? null, window.refused]") == [None, []]
    assert cards(page).locator("img, script, style, b[onclick], a").count() == 0


def test_markup_of_data_and_rewards_is_shown_and_never_run(
    page: Page, client: Reinforge, tmp_path: Any
) -> None:
    """A real job: prompts, columns and their names, reasons, prints, parts, the names of job, file and reward."""
    rows = [
        {
            "prompt": f"{NASTY.format('prompt')} {at}+2=",
            "answer": NASTY.format("answer"),
            "<b>column</b>": NASTY,
        }
        for at in range(4)
    ]
    file = tmp_path / "<img src=x onerror=window.ran=1>.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = (
        f"NASTY = {NASTY!r}\n"
        "def grade(sample, item):\n"
        "    print(NASTY.format('print'))\n"
        "    score = float(len(sample['output_text']) % 3)\n"
        "    return {'score': score, 'reason': NASTY.format('reason'), 'parts': {'<i>part</i>': 1.0}}\n"
    )
    data = client.datasets.push(file)
    created = client.jobs.create(
        {
            "name": NASTY.format("job"),
            "model": "starter-arith",
            "data": {"dataset": data.id, "held_out_rows": 0, "columns": {"answer": "answer"}},
            "rewards": [{"type": "python", "source": source}],
            "rollout": {"prompts_per_step": 1, "completions_per_prompt": 2, "max_completion_tokens": 24},
            "limits": {"steps": 1},
        }
    )
    done = client.jobs.wait(created.id, timeout=120)
    assert done.status == "succeeded", done.error
    page.add_init_script(WATCH)
    for address, words in {
        f"/jobs/{done.id}?tab=completions": ["print", "reason", "prompt", "answer"],
        f"/jobs/{done.id}": ["job"],
        f"/jobs/{done.id}?tab=config": ["job"],
        f"/jobs/{done.id}?tab=logs": [],
        f"/datasets/{data.id}": ["prompt"],
        f"/datasets/{data.id}?tab=prompts": ["prompt"],
        "/datasets": [],
        "/jobs": ["job"],
        "/": [],
    }.items():
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_load_state("networkidle")
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
        for word in words:
            expect(page.get_by_text(NASTY.format(word)).first).to_be_attached()
        assert page.evaluate("[window.ran ?? null, window.refused]") == [None, []], address
        assert page.locator("img[src=x]").count() == 0, address
