"""Rewards that people can trust, on the page: pre-flight, golden cases, replay, live edit, calibration."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.evaluation.golden import Expectation, GoldenCase
from reinforge.schemas.resources import Dataset
from tests.e2e.conftest import DEMO_JOB
from tests.support.processes import eventually

ARITHMETIC = DEMO_JOB.parent
SOURCE = (ARITHMETIC / "reward.py").read_text()
# Says something else about half of all completions, whatever they are.
EVEN = 'def grade(sample, item):\n    return float(len(sample["output_text"]) % 2 == 0)\n'
# A job that waits for the one before it, on a machine that does other things too.
SOON = 180_000


@pytest.fixture(scope="module")
def additions(client: Reinforge) -> Dataset:
    return client.datasets.push(ARITHMETIC / "additions.jsonl")


def stored_reward(client: Reinforge, folder: Path) -> str:
    file = folder / "sums.py"
    file.write_text(SOURCE)
    return client.rewards.push(file, name=f"sums {uuid4()}").id


@pytest.fixture
def reward(client: Reinforge, tmp_path: Path) -> str:
    return stored_reward(client, tmp_path)


def start(client: Reinforge, dataset: Dataset, reward: str, steps: int) -> str:
    spec: dict[str, Any] = {
        "model": "starter-arith",
        "data": {"dataset": dataset.id, "held_out_rows": 8},
        "rewards": [{"type": "python", "name": "correct", "reward": reward}],
        "rollout": {"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 56},
        "optimizer": {"learning_rate": 4e-4},
        "evaluation": {"every_steps": 0, "rows": 0},
        "limits": {"steps": steps, "checkpoint_every": 5},
    }
    return client.jobs.create(spec).id


@pytest.fixture(scope="module")
def trained(
    client: Reinforge, additions: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    """A finished job of five steps, and its stored reward."""
    reward = stored_reward(client, tmp_path_factory.mktemp("trained"))
    job = start(client, additions, reward, steps=5)
    assert client.jobs.wait(job, timeout=SOON / 1000).status == "succeeded"
    return job, reward


@pytest.fixture
def running(client: Reinforge, additions: Dataset, reward: str) -> Iterator[str]:
    """A job with the reward that runs until it is stopped; it has completions."""
    job = start(client, additions, reward, steps=2000)
    eventually(lambda: client.jobs.get(job).progress.step >= 2, within=SOON / 1000, what="step 2")
    yield job
    client.jobs.cancel(job)
    client.jobs.wait(job, timeout=SOON / 1000)


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Source of the reward, Python")


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Reward sections").get_by_role(
        "link", name=re.compile(f"^{name}")
    )


def open_form(page: Page, dataset: Dataset, reward: str) -> None:
    page.goto(f"/jobs/new?model=starter-arith&dataset={dataset.id}&reward={reward}")
    expect(page.get_by_role("radio", name=re.compile("^starter-arith"))).to_be_checked()
    expect(page.get_by_role("complementary", name="Summary")).to_contain_text("sums")


class TestPreflight:
    def test_the_report_stands_under_the_form(
        self, page: Page, api: httpx.Client, additions: Dataset, reward: str
    ) -> None:
        open_form(page, additions, reward)
        page.get_by_role("button", name="Run pre-flight").click()
        panel = page.get_by_role("region", name="Pre-flight")
        expect(panel.get_by_text("Groups by passing completions")).to_be_visible(timeout=SOON)
        match = re.search(r"preflight=([^&]+)", page.url)
        assert match, page.url
        report = api.get(f"preflights/{match[1]}").json()["report"]
        expect(panel.get_by_text(report["verdict"].capitalize(), exact=True).first).to_be_visible()
        for reason in report["reasons"]:
            expect(panel).to_contain_text(reason["message"])
        for suggestion in report["suggestions"]:
            expect(panel.get_by_role("region", name="Suggestions")).to_contain_text(suggestion["why"])
        for name in ("Total time", "Memory", "Useful completions", "Reward time"):
            expect(panel.get_by_text(name, exact=True)).to_be_visible()
        # The address keeps it.
        page.reload()
        expect(panel.get_by_text("Groups by passing completions")).to_be_visible()
        panel.get_by_role("button", name="Close").click()
        expect(panel).to_have_count(0)


class TestBench:
    def test_completions_of_a_job_are_scored_by_the_source_in_the_editor(
        self, page: Page, trained: tuple[str, str]
    ) -> None:
        job, reward = trained
        page.goto(f"/rewards/{reward}?dataset=job&rows={job}:2")
        page.get_by_role("button", name="Run on 16 completions").click()
        status = page.get_by_role("status").filter(has_text="16 of 16 completions scored")
        expect(status).to_contain_text(re.compile(r"[0-4] of 4 rows distinguished"))
        page.get_by_role("textbox", name="Step", exact=True).fill("3")
        expect(page).to_have_url(re.compile(f"rows={job}(:|%3A)3"))
        expect(status).to_contain_text("run again")


class TestGoldenCases:
    def test_a_result_of_the_bench_is_stored_run_and_deleted(
        self, page: Page, client: Reinforge, additions: Dataset, reward: str
    ) -> None:
        page.goto(f"/rewards/{reward}?dataset={additions.id}&rows=1-1")
        completion = page.get_by_role("textbox", name="Completion 1 of row 1")
        completion.fill("<answer>120</answer>")
        page.get_by_role("button", name="Run on 1 completion").click()
        page.get_by_role("button", name="Result 1, details").click()
        page.get_by_role("button", name="Save as golden case").click()
        dialog = page.get_by_role("dialog", name="Save as golden case")
        expect(dialog.get_by_label("Expected reward")).to_have_value("1")
        dialog.get_by_label("Note").fill("the plain answer")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_have_count(0)
        (case,) = client.rewards.golden_cases(reward)
        assert (case.expect.value, case.note, case.item["answer"]) == (1, "the plain answer", "120")

        tab(page, "Golden cases 1").click()
        page.get_by_role("button", name="Run revision 1").click()
        expect(page.get_by_role("status").filter(has_text="Revision 1 passes all cases")).to_be_visible()
        tab(page, "Edit and test").click()
        editor(page).fill("def grade(sample, item):\n    return 0.0\n")
        tab(page, "Golden cases").click()
        page.get_by_role("button", name="Run unsaved source").click()
        expect(page.get_by_role("status").filter(has_text="passes 0 of 1 case")).to_be_visible()
        expect(page.get_by_text("It got 0 instead of 1.")).to_be_visible()
        page.get_by_role("button", name="Delete the case “the plain answer”").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete case").click()
        expect(page.get_by_role("heading", name="No golden cases yet")).to_be_visible()
        assert client.rewards.golden_cases(reward) == []

    def test_a_completion_of_a_job_is_stored_with_its_origin(
        self, page: Page, client: Reinforge, trained: tuple[str, str]
    ) -> None:
        job, reward = trained
        page.goto(f"/jobs/{job}?tab=completions&step=2&prompt=0&sample=1")
        page.get_by_role("button", name="Save as golden case").click()
        dialog = page.get_by_role("dialog", name="Save as golden case")
        dialog.get_by_text("Range", exact=True).click()
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_have_count(0)
        (case,) = client.rewards.golden_cases(reward)
        group = client.jobs.group(job, "train", 2, 0)
        text = next(one.text for one in group.completions if one.sample_no == 1)
        assert case.origin is not None
        assert (case.origin.job, case.origin.step, case.origin.sample_no) == (job, 2, 1)
        assert (case.completion, case.item) == (text, group.item)
        assert case.expect.least is not None or case.expect.most is not None
        page.goto(f"/rewards/{reward}?tab=golden")
        page.get_by_role("link", name="step 2, prompt 1, #2").click()
        expect(page.get_by_role("article", name="Completion 2", exact=True)).to_have_attribute(
            "data-open", "true"
        )
        client.rewards.remove_golden_case(reward, case.id)

    def test_a_job_that_they_refuse_names_them(
        self, page: Page, client: Reinforge, additions: Dataset, reward: str
    ) -> None:
        case = GoldenCase(
            item={"answer": "4"}, completion="5", expect=Expectation(value=1), note="wrong on purpose"
        )
        client.rewards.add_golden_cases(reward, [case])
        open_form(page, additions, reward)
        page.get_by_role("button", name="Start job").click()
        failing = page.get_by_role("list", name="Failed golden cases").get_by_role("listitem")
        expect(failing).to_have_text([re.compile("wrong on purpose, expects 1: It got 0 instead of 1.")])
        page.get_by_role("link", name="Open golden cases").click()
        expect(page.get_by_text("wrong on purpose")).to_be_visible()


class TestReplay:
    def test_another_revision_is_compared_with_what_the_job_had(
        self, page: Page, api: httpx.Client, trained: tuple[str, str]
    ) -> None:
        job, reward = trained
        page.goto(f"/rewards/{reward}")
        editor(page).fill(EVEN)
        tab(page, "Replay").click()
        page.get_by_role("button", name="Replay", exact=True).click()
        panel = page.get_by_role("region", name="Replay results")
        expect(panel).to_be_visible(timeout=SOON)
        (replay,) = api.get("evaluations", params={"job": job}).json()["data"]
        report = replay["report"]
        assert (replay["revision"], report["completions"]) == (None, 5 * 16)
        assert report["flips"] > 0
        expect(panel.get_by_role("status")).to_contain_text("unsaved source")
        expect(panel.get_by_role("figure").get_by_role("heading", name="Mean reward")).to_be_visible()
        rows = panel.get_by_role("region", name="Completions whose result changes").locator("tbody tr")
        flips = len(report["shown_flips"])
        expect(rows).to_have_count(min(flips, 12))
        if flips > 12:
            panel.get_by_role("button", name=f"Show all {flips}").click()
            expect(rows).to_have_count(flips)
        expect(page.get_by_role("region", name="Earlier replays").get_by_role("link")).to_have_count(1)

    @pytest.mark.long
    def test_a_running_job_changes_from_the_next_step_on(
        self, page: Page, client: Reinforge, api: httpx.Client, running: str, reward: str
    ) -> None:
        api.post(
            f"rewards/{reward}/revisions", headers={"if-match": "*"}, json={"source": EVEN}
        ).raise_for_status()
        page.goto(f"/rewards/{reward}?tab=replay")
        page.get_by_role("button", name="Replay", exact=True).click()
        page.get_by_role("button", name="Apply from the next step").click(timeout=SOON)
        page.get_by_role("dialog").get_by_role("button", name="Apply").click()
        expect(page.get_by_text(re.compile(r"Revision 2 is in use since step \d+"))).to_be_visible(
            timeout=SOON
        )
        (change,) = client.jobs.changes(running)
        assert change.step is not None
        page.get_by_role("link", name="Open the job").click()
        legend = page.get_by_role("list", name="Changes during the run")
        expect(legend).to_contain_text(f"“correct” is revision 2 from step {change.step} on")

    def test_the_jobs_page_changes_its_reward_once_the_golden_cases_pass(
        self, page: Page, client: Reinforge, api: httpx.Client, running: str, reward: str
    ) -> None:
        item, completion = {"answer": "12"}, "<answer>12</answer>"
        case = GoldenCase(item=item, completion=completion, expect=Expectation(value=1), note="plain")
        client.rewards.add_golden_cases(reward, [case])
        for source in (EVEN, f"{SOURCE}\n# the same\n"):
            api.post(
                f"rewards/{reward}/revisions", headers={"if-match": "*"}, json={"source": source}
            ).raise_for_status()
        page.goto(f"/jobs/{running}")
        page.get_by_role("button", name="Change…").click()
        page.get_by_role("menuitem", name="Reward…").click()
        dialog = page.get_by_role("dialog", name="Change the reward from the next step")
        expect(dialog.get_by_role("status")).to_contain_text("Passes all 1 golden case")
        dialog.get_by_label("Replaces revision 1").select_option("2")
        failing = dialog.get_by_role("list", name="Failed golden cases").get_by_role("listitem")
        expect(failing).to_have_text(["plain, expects 1: It got 0 instead of 1."])
        apply = dialog.get_by_role("button", name="Change from the next step")
        expect(apply).to_have_attribute("aria-disabled", "true")
        expect(dialog.get_by_role("link", name="Replay first")).to_have_attribute(
            "href", re.compile(rf"/rewards/{reward}\?.*job={running}.*revision=2|revision=2.*job={running}")
        )
        dialog.get_by_label("Replaces revision 1").select_option("3")
        apply.click()
        expect(dialog).to_have_count(0)
        legend = page.get_by_role("list", name="Changes during the run")
        expect(legend).to_contain_text(
            re.compile(r"“correct” is revision 3 from step [0-9]+ on"), timeout=SOON
        )
        (change,) = client.jobs.changes(running)
        assert change.revision == f"{reward}@3"


class TestCalibration:
    def test_labels_by_keys_lead_to_the_report(
        self, page: Page, api: httpx.Client, trained: tuple[str, str]
    ) -> None:
        job, _ = trained
        open_places = api.get(f"jobs/{job}/calibration").json()["unlabelled"]
        labels = [{**place, "right": number % 2 == 0} for number, place in enumerate(open_places[:27])]
        api.post(f"jobs/{job}/labels", json={"labels": labels}).raise_for_status()
        page.goto(f"/jobs/{job}?tab=completions")
        page.get_by_role("button", name="Label", exact=True).click()
        card = page.get_by_role("article", name="Completion to label")
        progress = page.get_by_role("region", name="Label", exact=True).get_by_role("status").first
        expect(progress).to_have_text("27 of 30 labelled")
        expect(card).to_contain_text("reference answer")
        first = card.locator("header").inner_text()
        page.keyboard.press("0")
        expect(card.locator("header")).not_to_have_text(first)
        for key, text in (("1", "28 of 30 labelled"), ("2", "29 of 30 labelled")):
            page.keyboard.press(key)
            expect(progress).to_have_text(text)
        expect(card).to_be_visible()
        report = page.get_by_role("region", name="Calibration")
        expect(report).to_have_count(0)
        page.get_by_role("button", name="Right").click()
        expect(report.get_by_text(re.compile("^You and the reward agree on"))).to_be_visible()
        calibration = api.get(f"jobs/{job}/calibration").json()["report"]
        assert calibration["labels"] == 30
        cells = report.locator("tbody td[data-agrees]")
        expect(cells).to_have_text([str(calibration["right_passed"]), str(calibration["wrong_failed"])])
