"""Untrusted text of models and datasets is displayed as text and never run."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from reinforge.schemas.jobs import Completion, CompletionGroup
from tests.e2e.conftest import Demo
from tests.e2e.reading import address_of, card, cards, mixed_group


@pytest.fixture(scope="module")
def job(demo: Demo) -> str:
    return str(demo.summary["job_id"])


@pytest.fixture(scope="module")
def group(client: Reinforge, job: str) -> CompletionGroup:
    return mixed_group(client, job)


@pytest.fixture
def at_group(job: str, group: CompletionGroup) -> str:
    return address_of(job, group)


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
    expect(card(page, 5)).to_contain_text("empty completion")


WATCH = (
    "window.refused = []; document.addEventListener('securitypolicyviolation',"
    " event => window.refused.push(event.violatedDirective + ' ' + event.blockedURI))"
)
NASTY = "<img src=x onerror=\"window.ran='{0}'\"><script>window.ran='{0}'</script><style>*{{display:none}}</style>"


def test_markup_in_completions_is_displayed_and_never_run(
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
        expect(card(page, at).locator("pre").first).to_have_text(text)
    page.get_by_role("checkbox", name="collapse thinking").check()
    expect(card(page, 1).get_by_text("thinking")).to_be_visible()
    assert page.evaluate("[window.ran ?? null, window.refused]") == [None, []]
    assert cards(page).locator("img, script, style, b[onclick], a").count() == 0


def test_markup_of_data_and_rewards_is_displayed_and_never_run(
    page: Page, client: Reinforge, tmp_path: Path
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
