"""Stand-alone evaluations on the page: started, watched, read row by row, compared, stopped and taken up again."""

import re
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.evaluation.summary import estimate, row_values
from tests.support.processes import eventually

SOON = 180_000


def figures(page: Page, region: str | re.Pattern[str]) -> Locator:
    return page.get_by_role("region", name=region).locator("dd b")


def signed(value: float) -> str:
    text = f"{abs(value):.2f}"
    return text if float(text) == 0 else f"{'+' if value > 0 else '−'}{text}"


def test_one_is_started_in_the_form_and_read(page: Page, client: Reinforge, places: dict[str, str]) -> None:
    name = f"sums {uuid4()}"
    page.goto(f"/evaluations/new?from={client.jobs.get(places['job']).adapter}")
    start = page.get_by_role("button", name="Start evaluation")
    # What the adapter's job measures is filled in.
    expect(page.get_by_text("Held-out rows, prompts and reward are those of")).to_be_visible()
    expect(start).to_be_enabled()
    page.get_by_role("combobox", name="Dataset").select_option("")
    expect(page.get_by_text("Choose a dataset.")).to_be_visible()
    expect(start).to_be_disabled()
    page.get_by_role("combobox", name="Dataset").select_option(places["dataset"])
    page.get_by_role("combobox", name="Split").select_option("all")
    page.get_by_role("combobox", name="Reward").select_option(places["reward"])
    page.get_by_role("textbox", name="Rows", exact=True).fill("5")
    page.get_by_role("textbox", name="Samples per row").fill("2")
    page.get_by_role("textbox", name="Max tokens").fill("24")
    page.get_by_text("Sampling and name").click()
    page.get_by_role("textbox", name="Name").fill(name)
    expect(page.get_by_text("At most 10 completions.")).to_be_visible()
    start.click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    table = page.get_by_role("region", name="Evaluated rows")
    expect(table.get_by_role("row")).to_have_count(6, timeout=SOON)
    (made,) = client.evaluations.list(name=name)
    assert made.summary is not None and made.settings is not None
    assert (made.settings.rows, made.settings.samples_per_row, made.settings.max_tokens) == (5, 2, 24)
    mean = made.summary.metrics["eval/reward"]
    expect(figures(page, "Results").first).to_have_text(f"{mean.value:.2f}")
    expect(page.get_by_role("region", name="Results")).to_contain_text(f"{mean.low:.2f} to {mean.high:.2f}")
    expect(page.get_by_role("region", name="Results")).to_contain_text("fewer than 20 rows")
    page.get_by_role("link", name="Evaluations", exact=True).first.click()
    expect(page.get_by_role("row").filter(has_text=name)).to_contain_text(f"{mean.value:.2f}")


def test_two_are_compared_with_the_gates_own_numbers(
    page: Page, client: Reinforge, places: dict[str, str]
) -> None:
    page.goto(f"/evaluations/{places['evaluation']}")
    page.get_by_role("combobox", name="Compare with").select_option(places["base"])
    beside = page.get_by_role("region", name=re.compile("^Compared with main"))
    own, base = (client.evaluations.rows(places[name]) for name in ("evaluation", "base"))
    expected = []
    for metric in ("eval/reward", "eval/pass_rate", "eval/pass_any"):
        new, old = (row_values(rows.data, metric, own.pass_above) for rows in (own, base))
        expected.append(estimate([new[row] - old[row] for row in sorted(new.keys() & old.keys())]))
    expect(beside.locator("dd b")).to_have_text([signed(change.value) for change in expected])
    expect(beside.locator("dd small")).to_have_text(
        [f"{signed(change.low)} to {signed(change.high)}" for change in expected]
    )
    expect(page).to_have_url(re.compile(f"against={places['base']}"))
    expect(page.get_by_label("Gate", exact=True).get_by_text(f"--baseline {places['base']}")).to_be_visible()


def test_a_row_shows_both_completions(page: Page, client: Reinforge, places: dict[str, str]) -> None:
    page.goto(f"/evaluations/{places['evaluation']}?against={places['base']}")
    table = page.get_by_role("region", name="Evaluated rows")
    table.get_by_role("button").first.click()
    peek = page.get_by_role("dialog")
    row = int(re.search(r"row=(\d+)", page.url)[1])  # type: ignore[index]
    completions = [
        completion
        for place in ("evaluation", "base")
        for completion in client.evaluations.completions(places[place], row=row).data
    ]
    expect(peek.get_by_role("article").locator("pre")).to_have_text(
        [completion.text or "(empty)" for completion in completions]
    )
    peek.get_by_role("button", name="Close").click()
    expect(peek).to_have_count(0)


def test_one_is_cancelled_and_goes_on(page: Page, api: httpx.Client, places: dict[str, str]) -> None:
    body = {"kind": "stand_alone", "adapter": None, "model": "starter-arith", "dataset": places["dataset"]}
    body |= {"reward": places["reward"], "rows": 150, "samples_per_row": 2, "max_tokens": 16}
    id = api.post("evaluations", json=body).raise_for_status().json()["id"]
    page.goto(f"/evaluations/{id}")
    page.get_by_role("button", name="Cancel").click(timeout=SOON)
    expect(page.get_by_text("Evaluation cancelled")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("progressbar", name="Evaluation")).to_be_visible()
    api.post(f"evaluations/{id}/cancel").raise_for_status()
    eventually(
        lambda: api.get(f"evaluations/{id}").json()["status"] == "cancelled", within=20, what="the end"
    )


@pytest.mark.parametrize("address", ["/evaluations/eval_none", "/evaluations/new?like=eval_none"])
def test_a_missing_evaluation_has_a_message(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_role("alert")).to_contain_text("There is no evaluation eval_none")
