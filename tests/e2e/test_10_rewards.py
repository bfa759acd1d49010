"""Rewards on the page: written, tried on rows, stored, revised."""

import json
import re
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.schemas.resources import Dataset
from tests.e2e.browser import drop
from tests.e2e.conftest import DEMO_JOB

GRADER = """\
def grade(sample, item):
    text = sample["output_text"]
    if text == "crash":
        raise LookupError("nothing to compare with")
    print("compared with", item["answer"])
    right = float(text == str(item["answer"]))
    parts = {"right": right, "length": float(len(text))}
    return {"score": right, "parts": parts, "reason": "as asked" if right else "another sum"}
"""


@pytest.fixture(scope="module")
def additions(client: Reinforge) -> Dataset:
    return client.datasets.push(DEMO_JOB.parent / "additions.jsonl")


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Source of the reward, Python")


def source_in(page: Page) -> str:
    return "\n".join(editor(page).locator(".cm-line").all_text_contents())


def open_new_reward(page: Page, dataset: Dataset, source: str | None = None, rows: str = "1-1") -> None:
    page.goto(f"/rewards/new?dataset={dataset.id}&rows={rows}")
    expect(page.get_by_role("status").filter(has_text="Loads.")).to_be_visible()
    if source is not None:
        editor(page).fill(source)


def completion(page: Page, number: int) -> Locator:
    return page.get_by_role("textbox", name=f"Completion {number} of row 1")


def scores(page: Page) -> Locator:
    """The rows of the table of scores."""
    return page.get_by_role("region", name="Scores").locator("tbody tr")


class TestWritingAReward:
    def test_a_template_comes_with_its_example(
        self, page: Page, api: httpx.Client, additions: Dataset
    ) -> None:
        templates = api.get("rewards/templates").json()["data"]
        template = next(one for one in templates if not set(one["columns"]) <= {"answer", "messages"})
        open_new_reward(page, additions)
        page.get_by_role("button", name="Templates").click()
        drawer = page.get_by_role("dialog", name="Start from a template")
        expect(drawer.get_by_role("heading", level=4)).to_have_text([one["title"] for one in templates])
        drawer.get_by_label("Search the templates").fill(template["id"].replace("_", " "))
        expect(drawer.get_by_role("heading", level=4)).to_have_text([template["title"]])
        drawer.get_by_role("button", name=f"Use {template['title']}").click()
        expect(drawer).to_have_count(0)
        assert source_in(page).strip() == template["source"].strip()
        # The dataset lacks a column that it reads: it is tried on its own example.
        assert json.loads(page.get_by_label("Row", exact=True).input_value()) == template["example_item"]
        page.get_by_role("button", name=re.compile("^Run on")).click()
        expect(scores(page)).to_have_count(len(template["example_completions"]))
        expect(page.get_by_text(re.compile("[0-9] failures?"))).to_have_count(0)

    def test_the_columns_of_the_dataset_are_offered(self, page: Page, additions: Dataset) -> None:
        open_new_reward(page, additions, "def grade(sample, item):\n    return ")
        editor(page).press("Control+End")
        editor(page).press_sequentially("item.")
        offers = page.get_by_role("listbox", name="Completions").get_by_role("option")
        expect(offers.locator(".cm-completionLabel")).to_have_text(
            sorted(f".{column['name']}" for column in additions.columns)
        )
        editor(page).press_sequentially("answ")
        expect(offers).to_have_count(1)
        editor(page).press("Enter")
        assert source_in(page).endswith('return item["answer"]')

    def test_everything_reads_the_answer_column_that_the_dataset_declares(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        file = tmp_path / "totals.jsonl"
        file.write_text('{"question": "1+4=", "total": 5}\n{"question": "2+4=", "total": 6}\n')
        dataset = client.datasets.push(file)
        view = {"columns": {"prompt": "question", "answer": "total"}}
        client.datasets.change(dataset.id, prompt_view=view)
        open_new_reward(page, dataset)
        expect(editor(page)).to_contain_text('item["total"]')
        completion(page, 1).fill("15")
        page.get_by_role("button", name="Add a completion").click()
        completion(page, 2).fill("5")
        page.get_by_role("button", name=re.compile("^Run on")).click()
        expect(scores(page).nth(0)).to_contain_text("'15', expected '5'")
        expect(scores(page).locator("td:nth-child(3)")).to_have_text(["0", "1"])

        page.get_by_role("button", name="Templates").click()
        drawer = page.get_by_role("dialog", name="Start from a template")
        drawer.get_by_label("Search the templates").fill("exact answer")
        expect(drawer).to_contain_text("Uses “answer”: here the column “total”.")
        drawer.get_by_role("button", name=re.compile("^Use Exact")).click()
        completion(page, 2).fill("<answer>5</answer>")
        page.get_by_role("button", name=re.compile("^Run on")).click()
        expect(scores(page).locator("td:nth-child(3)")).to_have_text(["0", "1"])

        editor(page).fill(
            'def grade(sample, item):\n    return float(item["a_column_with_a_long_name_that_is_not_there"])\n'
        )
        page.get_by_role("button", name=re.compile("^Run on")).click()
        message = scores(page).nth(0).get_by_text("KeyError: 'a_column_with_a_long_name_that_is_not_there'")
        expect(message).to_be_visible()
        assert message.evaluate("e => e.scrollHeight <= e.clientHeight && e.scrollWidth <= e.clientWidth"), (
            "cut off"
        )

    def test_an_attack_shows_a_wrong_completion_that_is_rewarded(
        self, page: Page, additions: Dataset
    ) -> None:
        source = "def grade(sample, item):\n    return float(item['answer'] in sample['output_text'])\n"
        open_new_reward(page, additions, source)
        page.get_by_role("button", name="Attack").click()
        report = page.get_by_role("region", name="Attack")
        expect(report).to_contain_text("Wrong completions get a reward")
        expect(report.get_by_role("listitem").first).to_contain_text("inside a longer word or number")
        expect(report.get_by_role("listitem").first).to_contain_text("line 2")

    def test_a_syntax_error_stands_in_the_gutter_at_its_line(self, page: Page, additions: Dataset) -> None:
        open_new_reward(page, additions, "import re\n\ndef grade(sample, item:\n    return 1.0\n")
        marker = page.locator(".cm-lint-marker-error")
        expect(marker).to_have_count(1)
        line, mark = editor(page).locator(".cm-line").nth(2).bounding_box(), marker.bounding_box()
        assert line and mark and line["y"] <= mark["y"] < line["y"] + line["height"]
        expect(page.get_by_role("status").filter(has_text="Line 3:")).to_be_visible()
        page.get_by_role("textbox", name="Name").fill("unclosed")
        page.get_by_role("button", name="Save reward").click()
        expect(page.get_by_role("alert").filter(has_text="Could not save")).to_contain_text("line 3")
        editor(page).fill(GRADER)
        expect(marker).to_have_count(0)
        expect(page.get_by_role("status").filter(has_text="Loads.")).to_be_visible()

    def test_a_file_dropped_on_the_list_is_stored_under_its_name(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        file = tmp_path / "dropped_reward.py"
        file.write_text(GRADER)
        page.goto("/rewards")
        heading = page.get_by_role("heading", level=1, name="Rewards")
        expect(heading).to_be_visible()
        drop(heading, file)
        drop(page.get_by_text("Drop a .py file anywhere on this page", exact=True), file)
        expect(page.get_by_role("textbox", name="Name")).to_have_value("dropped_reward")
        expect(editor(page)).to_contain_text("nothing to compare with")
        assert source_in(page) == GRADER
        page.get_by_role("button", name="Save reward").click()
        expect(page).to_have_url(re.compile(r"/rewards/rew"))
        expect(page.get_by_role("heading", level=1, name="dropped_reward")).to_be_visible()
        stored = client.rewards.get(page.url.rsplit("/", 1)[1].split("?")[0])
        assert stored.revisions[0].source == GRADER

    def test_a_file_dropped_on_the_editor_replaces_the_source(
        self, page: Page, tmp_path: Path, additions: Dataset
    ) -> None:
        file = tmp_path / "other.py"
        file.write_text(GRADER)
        open_new_reward(page, additions)
        before = source_in(page)
        drop(editor(page), file)
        expect(editor(page)).to_contain_text("nothing to compare with")
        assert source_in(page) == GRADER
        editor(page).press("Control+z")
        expect(editor(page)).not_to_contain_text("nothing to compare with")
        assert source_in(page) == before


class TestTryingAReward:
    def test_typed_completions_are_scored_and_explained(self, page: Page, additions: Dataset) -> None:
        """Row 1 is 68+52=; its reference answer is there to begin with."""
        open_new_reward(page, additions, GRADER)
        expect(completion(page, 1)).to_have_value("120")
        for number, text in ((2, "121"), (3, "crash")):
            page.get_by_role("button", name="Add a completion").click()
            completion(page, number).fill(text)
        page.get_by_role("button", name="Run on 3 completions").click()
        expect(page.get_by_role("status").filter(has_text="2 of 3 completions scored")).to_be_visible()
        right, wrong, crashed = (scores(page).nth(i) for i in range(3))
        expect(right).to_contain_text(
            re.compile("120.*1.*right 1.*length 3.*as asked.*prints.*ms", re.DOTALL)
        )
        expect(wrong).to_contain_text(re.compile("121.*0.*right 0.*length 3.*another sum", re.DOTALL))
        expect(crashed).to_contain_text("raised an exception")
        page.get_by_role("button", name="Result 1, details").click()
        expect(page.get_by_text("compared with 120", exact=True)).to_be_visible()
        page.get_by_role("button", name="Result 3, details").click()
        expect(page.locator("pre").filter(has_text="LookupError: nothing to compare with")).to_contain_text(
            "line 4, in grade"
        )
        completion(page, 2).fill("122")
        expect(page.get_by_role("status").filter(has_text="run again")).to_be_visible()

    def test_completions_are_sampled_from_the_base(self, page: Page, additions: Dataset) -> None:
        open_new_reward(page, additions, GRADER)
        page.get_by_text("Sample completions from the base model").click()
        page.get_by_label("Per row").fill("2")
        page.get_by_label("Max tokens").fill("8")
        page.get_by_role("button", name="Sample", exact=True).click()
        row = page.get_by_role("listitem").filter(has_text="Row 1")
        expect(row.get_by_text("sampled", exact=True)).to_have_count(2, timeout=180_000)
        expect(completion(page, 3)).not_to_be_empty()
        page.get_by_role("button", name="Run on 3 completions").click()
        expect(page.get_by_role("status").filter(has_text="3 of 3 completions scored")).to_be_visible()


class TestRevisions:
    @pytest.fixture
    def reward(self, client: Reinforge, tmp_path: Path) -> str:
        file = tmp_path / "kept.py"
        file.write_text(GRADER)
        return client.rewards.push(file, name=f"kept {uuid4()}").id

    def test_a_second_revision_shows_what_changed(self, page: Page, client: Reinforge, reward: str) -> None:
        page.goto(f"/rewards/{reward}")
        expect(editor(page)).to_contain_text("another sum")
        # The job form gets the dataset that the reward is tried on.
        train = page.get_by_role("link", name="Use in a job")
        expect(train).to_have_attribute("href", re.compile("dataset=file-"))
        expect(page.get_by_role("button", name="Save revision 2")).to_have_attribute("aria-disabled", "true")
        editor(page).fill(GRADER.replace("another sum", "a different sum"))
        expect(page.get_by_text("revision 1, changed")).to_be_visible()
        editor(page).press("Control+s")
        expect(page.get_by_text("Saved as revision 2.")).to_be_visible()
        expect(page.get_by_text("revision 2", exact=True)).to_be_visible()
        expect(editor(page)).to_contain_text("a different sum")
        page.get_by_role("link", name="Revisions 2").click()
        expect(page.get_by_role("heading", name="From revision 1 to 2")).to_be_visible()
        before = page.get_by_role("textbox", name="Revision 1")
        after = page.get_by_role("textbox", name="Revision 2")
        expect(before.locator(".cm-changedLine")).to_contain_text(["another sum"])
        expect(after.locator(".cm-changedLine")).to_contain_text(["a different sum"])
        page.get_by_role("list", name="Revisions").get_by_role("link").last.click()
        page.get_by_role("button", name="Restore as revision 3").click()
        page.get_by_role("dialog").get_by_role("button", name="Restore").click()
        expect(page.get_by_text("Revision 1 restored as revision 3.")).to_be_visible()
        assert client.rewards.get(reward).revisions[-1].source == GRADER

    def test_unsaved_changes_are_not_lost_by_a_click(self, page: Page, reward: str) -> None:
        page.goto(f"/rewards/{reward}")
        editor(page).fill("def grade(sample, item):\n    return 0.25\n")
        page.get_by_role("link", name="Revisions 1").click()
        page.get_by_role("link", name="Edit and test").click()
        expect(editor(page)).to_contain_text("0.25")
        jobs = page.get_by_role("navigation", name="Main").get_by_role("link", name=re.compile("^Jobs"))
        jobs.click()
        dialog = page.get_by_role("dialog", name="Leave without saving?")
        dialog.get_by_role("button", name="Stay").click()
        expect(dialog).to_have_count(0)
        expect(editor(page)).to_contain_text("0.25")
        jobs.click()
        dialog.get_by_role("button", name="Leave without saving").click()
        expect(page).to_have_url(re.compile("/jobs$"))


def test_a_phone_shows_how_often_a_reward_fails(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/rewards")
    rewards = page.get_by_role("region", name="Rewards")
    for head in ("Last used", "Errors"):
        expect(rewards.get_by_role("columnheader", name=head)).to_be_in_viewport(ratio=1)
