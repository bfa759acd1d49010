"""The page in a real browser on the running platform: watch a job live, read it, start one, take the adapter."""

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from tests.e2e.browser import browser_page
from tests.e2e.conftest import DEMO_JOB, Demo

ARITHMETIC = DEMO_JOB.parent
FIRST_LOAD_BYTES = 330_000
TRANSFERRED = """
() => performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
    .reduce((sum, one) => sum + one.transferSize, 0)
"""


@pytest.fixture
def page(client: Reinforge) -> Iterator[Page]:
    with browser_page() as one:
        one.goto(client.sign_in_link())
        expect(one).to_have_url(re.compile(r":\d+/$"))
        one.get_by_role("navigation").get_by_role("link", name=re.compile("^Jobs")).click()
        expect(one).to_have_url(re.compile(r"/jobs$"))
        yield one


def choose_the_starter_model(page: Page) -> None:
    """With one model the form has chosen it; with several a person has to."""
    page.get_by_role("radio", name=re.compile("^starter-arith")).check()


def test_a_sign_in_link_works_once(client: Reinforge) -> None:
    link = client.sign_in_link()
    with browser_page() as first:
        first.goto(link)
        expect(first).to_have_url(re.compile(r":\d+/$"))
    with browser_page() as second:
        second.goto(link)
        expect(second.get_by_text(re.compile("used up or expired"))).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/jobs"])
def test_the_first_load_is_small(client: Reinforge, path: str) -> None:
    """Everything that crosses the network into an empty cache: page, font, charts, answers of the API. With gzip, as
    behind a proxy without TLS: Brotli is smaller.
    """
    with browser_page() as page:
        page.context.set_extra_http_headers({"accept-encoding": "gzip"})
        page.goto(client.sign_in_link())
        expect(page.get_by_role("link", name=re.compile("^Jobs")).first).to_be_visible()
        page.context.new_cdp_session(page).send("Network.clearBrowserCache")
        page.goto(page.url.rstrip("/") + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_load_state("networkidle")
        transferred = page.evaluate(TRANSFERRED)
    assert 100_000 < transferred <= FIRST_LOAD_BYTES, transferred


def test_the_finished_job_shows_its_three_curves_in_words_and_numbers(page: Page, demo: Demo) -> None:
    page.goto(f"{page.url.removesuffix('/jobs')}/jobs/{demo.summary['job_id']}")
    for title in ("Reward", "Entropy", "Completion length"):
        figure = page.get_by_role("figure").filter(has=page.get_by_text(title, exact=True)).first
        expect(figure.locator("canvas").first).to_be_visible()
        expect(figure).to_contain_text(re.compile(r"[0-9]"))
    expect(page.get_by_text("Step 60 of 60")).to_be_visible()
    after = demo.summary["reward_after"]
    expect(page.get_by_text("Held-out reward", exact=True).locator("..").first).to_contain_text(
        f"{after:.2f}"
    )


def test_completions_of_a_group_are_side_by_side(page: Page, demo: Demo) -> None:
    page.goto(f"{page.url.removesuffix('/jobs')}/jobs/{demo.summary['job_id']}?tab=completions&each=true")
    cards = page.get_by_role("article")
    expect(cards).to_have_count(8)
    expect(cards.first).to_contain_text("reward")
    expect(cards.first.locator("pre").first).to_contain_text("<answer>")


def test_the_adapter_is_downloaded(page: Page, demo: Demo, tmp_path: Path) -> None:
    page.goto(f"{page.url.removesuffix('/jobs')}/jobs/{demo.summary['job_id']}")
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile(r"^Download best \(step \d+\)")).click()
    path = tmp_path / "adapter.tar.gz"
    download.value.save_as(path)
    with tarfile.open(path) as tar:
        assert {"adapter_config.json", "adapter_model.safetensors"} <= {Path(n).name for n in tar.getnames()}


def test_start_a_job_from_two_files_watch_it_live_and_cancel(page: Page, client: Reinforge) -> None:
    """What the page draws while the job runs is what the database has."""
    page.get_by_role("link", name="New job").first.click()
    page.locator("input[type=file]").first.set_input_files(ARITHMETIC / "additions.jsonl")
    expect(page.get_by_text(re.compile("512 rows")).first).to_be_visible()
    page.locator("input[type=file]").last.set_input_files(ARITHMETIC / "reward.py")
    page.get_by_label("Steps", exact=True).fill("500")
    page.get_by_label("Prompts per step").fill("4")
    choose_the_starter_model(page)
    page.get_by_role("button", name="Start job").click()
    expect(page).to_have_url(re.compile(r"/jobs/ftjob-"), timeout=180_000)
    job_id = page.url.rsplit("/", 1)[1].split("?")[0]
    expect(page.get_by_text(re.compile(r"^Step ([3-9]|\d\d+) of 500"))).to_be_visible(timeout=180_000)
    reward = page.get_by_role("figure").filter(has=page.get_by_text("Reward", exact=True)).first
    reward.get_by_role("button", name=re.compile("table", re.IGNORECASE)).click()
    expect(reward.get_by_role("row").nth(3)).to_be_visible()
    page.get_by_role("button", name="Cancel").first.click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Cancel")).last.click()
    expect(page.get_by_text("Cancelled").first).to_be_visible(timeout=180_000)
    client.jobs.wait(job_id, timeout=180)  # the step under way may still have been drawn
    mean = next(s for s in client.jobs.metrics(job_id).series if s.key == "reward/mean")
    # Live frames come twice a second at most: the last step may be drawn a moment after the state.
    expect(reward.get_by_role("rowheader", name=str(mean.steps[-1]), exact=True)).to_be_visible()
    heads = reward.get_by_role("columnheader").all_inner_texts()
    rows = [row.inner_text().split("\t") for row in reward.locator("tbody tr").all()]
    drawn = {int(row[0]): row[heads.index("train mean")] for row in rows if row[0] != "0"}
    assert sorted(drawn) == mean.steps
    for step, value in zip(mean.steps, mean.values, strict=True):
        assert float(drawn[step]) == pytest.approx(value, abs=0.006), f"step {step}"


def test_a_reward_that_does_not_parse_is_refused_next_to_its_field(page: Page, tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def grade(sample, item:\n    return 1\n")
    page.goto(f"{page.url}/new")
    page.locator("input[type=file]").first.set_input_files(ARITHMETIC / "additions.jsonl")
    expect(page.get_by_text(re.compile("512 rows")).first).to_be_visible()
    page.locator("input[type=file]").last.set_input_files(bad)
    choose_the_starter_model(page)
    page.get_by_role("button", name="Start job").click()
    expect(page.get_by_text(re.compile("line 1")).first).to_be_visible(timeout=180_000)
    expect(page).to_have_url(re.compile("/jobs/new"))


@pytest.mark.long
def test_html_in_a_completion_is_displayed_and_never_run(
    page: Page, client: Reinforge, tmp_path: Path
) -> None:
    reward = (
        "def grade(sample, item):\n"
        "    print('<img src=x onerror=document.title=1>')\n"
        "    return {'score': float(len(sample['output_text']) % 3), 'reason': '<script>document.title=2</script>'}\n"
    )
    data = client.datasets.push(ARITHMETIC / "additions.jsonl")
    job = client.jobs.create(
        {
            "model": "starter-arith",
            "data": {"dataset": data.id, "held_out_rows": 0},
            "rewards": [{"type": "python", "source": reward}],
            "rollout": {"prompts_per_step": 1, "completions_per_prompt": 2, "max_completion_tokens": 24},
            "limits": {"steps": 1},
        }
    )
    assert client.jobs.wait(job.id, timeout=120).status == "succeeded"
    page.goto(f"{page.url.removesuffix('/jobs')}/jobs/{job.id}?tab=completions")
    expect(page.get_by_text("<script>document.title=2</script>").first).to_be_visible()
    assert page.title() not in ("1", "2")
    assert page.locator("img[src=x]").count() == 0


def test_a_paused_job_shows_why_and_is_resumed(page: Page, client: Reinforge) -> None:
    reward = "def grade(sample, item):\n    return {}['no such column']\n"
    data = client.datasets.push(ARITHMETIC / "additions.jsonl")
    job = client.jobs.create(
        {
            "model": "starter-arith",
            "data": {"dataset": data.id, "held_out_rows": 0},
            "rewards": [{"source": reward}],
            "rollout": {"prompts_per_step": 1, "completions_per_prompt": 2, "max_completion_tokens": 24},
            "limits": {"steps": 1},
        }
    )
    assert client.jobs.wait(job.id, timeout=120).status == "paused"
    page.goto(f"{page.url.removesuffix('/jobs')}/jobs/{job.id}")
    expect(page.get_by_text(re.compile("KeyError")).first).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    # The reward has not changed, so it pauses again, and the page sees that live.
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=180_000)
    assert client.jobs.get(job.id).attempt == 2
