"""Datasets and rewards on the page: what is dropped, previewed, rendered, written, tried and stored."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.errors import NotFound
from reinforge.schemas.jobs import JobDetail
from reinforge.schemas.resources import Dataset
from tests.e2e.browser import drop
from tests.e2e.conftest import DEMO_JOB

ARITHMETIC = DEMO_JOB.parent
MODEL = "starter-arith"
ROWS = [
    {"question": f"{a}+{b}=", "answer": str(a + b), "kind": "even" if (a + b) % 2 == 0 else "odd"}
    for a in range(1, 7)
    for b in range(1, 6)
]


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


WRITERS: dict[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}


def dataset_of(page: Page) -> str:
    """The id in the address of a dataset's page, once that is where the browser is."""
    expect(page).to_have_url(re.compile(r"/datasets/[a-z]+-"))
    return page.url.rsplit("/", 1)[1].split("?")[0]


@pytest.fixture
def questions(client: Reinforge, tmp_path: Path) -> Dataset:
    """A new dataset without a column of prompts."""
    write_jsonl(tmp_path / "questions.jsonl", ROWS)
    return client.datasets.push(tmp_path / "questions.jsonl", reuse=False)


@pytest.fixture(scope="module")
def additions(client: Reinforge) -> Dataset:
    return client.datasets.push(ARITHMETIC / "additions.jsonl")


class TestDatasets:
    @pytest.mark.parametrize("format", WRITERS)
    def test_a_dropped_file_becomes_a_dataset(
        self, page: Page, client: Reinforge, tmp_path: Path, format: str
    ) -> None:
        file = tmp_path / f"dropped.{format}"
        WRITERS[format](file, ROWS)
        page.goto("/datasets")
        drop(page.get_by_text("Drop a JSONL, CSV or Parquet file here"), file)
        stored = client.datasets.get(dataset_of(page))
        assert (stored.rows, stored.format, stored.name) == (len(ROWS), format, "dropped")
        expect(page.get_by_role("heading", level=1, name="dropped")).to_be_visible()
        expect(page.get_by_text("30 rows", exact=True)).to_be_visible()
        rows = page.get_by_role("region", name="Rows").locator("tbody tr")
        expect(rows).to_have_count(25)
        expect(rows.first).to_contain_text("1+1=")
        page.get_by_role("button", name="Next").click()
        expect(rows).to_have_count(5)
        page.get_by_role("button", name="Open row 30").click()
        whole = page.get_by_role("dialog", name=re.compile("Row 30 of 30"))
        for name, value in ROWS[-1].items():
            expect(whole.get_by_role("heading", name=re.compile(f"^{name}"))).to_be_visible()
            expect(whole.get_by_text(value, exact=True)).to_be_visible()

    def test_a_file_may_be_dropped_anywhere_on_the_page(self, page: Page, tmp_path: Path) -> None:
        file = tmp_path / "anywhere.jsonl"
        write_jsonl(file, ROWS)
        page.goto("/datasets")
        expect(page.get_by_text("Drop a JSONL, CSV or Parquet file here")).to_be_visible()
        drop(page.get_by_role("heading", level=1), file)
        drop(page.get_by_text("Drop it anywhere"), file)
        dataset_of(page)

    def test_a_refused_file_shows_the_line_at_fault(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        file = tmp_path / "refused.jsonl"
        file.write_text('{"prompt": "1+1=", "answer": "2"}\n{"prompt": "2+2=", "answer": four}\n')
        page.goto("/datasets")
        drop(page.get_by_text("Drop a JSONL, CSV or Parquet file here"), file)
        alert = page.get_by_role("alert").filter(has_text="refused.jsonl was refused, nothing is stored")
        expect(alert).to_contain_text("line 2, column 30")
        expect(alert.locator("pre")).to_contain_text('"answer": four')
        expect(alert.locator("mark")).to_have_text(re.compile("^f"))
        assert "refused.jsonl" not in [one.name for one in client.datasets.list()]

    def test_column_roles_are_saved_and_are_there_after_a_reload(
        self, page: Page, client: Reinforge, questions: Dataset
    ) -> None:
        page.goto(f"/datasets/{questions.id}?tab=prompts")
        page.get_by_text("A template", exact=True).click()
        template = page.get_by_role("textbox", name="Prompt template")
        template.fill("Work out {question}")
        choose(page, "Slice", "kind · string")
        page.get_by_label("System prompt").fill("Answer with a number.")
        first = page.get_by_role("listitem").filter(has_text="Row 1")
        expect(first.locator("pre")).to_contain_text("Work out 1+1=")
        expect(first).to_contain_text("slice even")
        page.get_by_role("button", name="Save for new jobs").click()
        expect(page.get_by_text("Saved. New jobs on this dataset start from it.")).to_be_visible()
        page.reload()
        expect(template).to_have_text("Work out {question}")
        expect(page.get_by_label("System prompt")).to_have_value("Answer with a number.")
        expect(page.get_by_role("combobox", name="Slice")).to_have_value("kind · string")
        view = client.datasets.get(questions.id).prompt_view
        assert view.prompt_template == "Work out {question}"
        assert (view.system_prompt, view.columns.slice) == ("Answer with a number.", "kind")

    def test_a_template_that_names_no_column_says_so(self, page: Page, questions: Dataset) -> None:
        page.goto(f"/datasets/{questions.id}?tab=prompts")
        page.get_by_text("A template", exact=True).click()
        page.get_by_role("textbox", name="Prompt template").fill("{quest}")
        expect(page.get_by_text("There is no column “quest”.")).to_be_visible()
        expect(page.get_by_role("button", name="Save for new jobs")).to_be_disabled()

    def test_prompts_and_their_lengths_are_what_the_model_reads(
        self, page: Page, api: httpx.Client, additions: Dataset
    ) -> None:
        page.goto(f"/datasets/{additions.id}?tab=prompts")
        prompts = page.get_by_role("listitem").filter(has_text=re.compile("^Row "))
        expect(prompts).to_have_count(5)
        asked = {"model": MODEL, "limit": 5, "columns": {"answer": "answer"}}
        said = api.post(f"datasets/{additions.id}/render", json=asked).json()
        for shown, one in zip(prompts.all(), said["data"], strict=True):
            expect(shown.locator("pre")).to_have_text(one["text"])
            expect(shown).to_contain_text(f"{one['tokens']} tokens")
            expect(shown).to_contain_text(f"answer {one['answer']}")
        figure = page.get_by_role("figure").filter(has_text="Length of the prompts")
        figure.get_by_role("button", name="Table").click()
        lengths = api.post(f"datasets/{additions.id}/lengths", json={"model": MODEL}).json()
        cells = [row.inner_text().split("\t") for row in figure.locator("tbody tr").all()]
        assert [int(count) for _, count in cells] == [one["count"] for one in lengths["bins"]]
        assert sum(int(count) for _, count in cells) == additions.rows
        expect(figure).to_contain_text(f"longest: row {lengths['longest_row'] + 1}")

    def test_the_split_follows_its_seed(self, page: Page, api: httpx.Client, questions: Dataset) -> None:
        page.goto(f"/datasets/{questions.id}")
        panel = page.get_by_role("region", name="Held-out split")
        expect(panel.get_by_role("status")).to_contain_text("27 train · 3 held out")
        panel.get_by_role("textbox", name="Held-out rows").fill("4")
        marked: dict[int, list[int]] = {}
        for seed in (7, 8):
            panel.get_by_role("textbox", name="Seed").fill(str(seed))
            expect(page).to_have_url(re.compile(rf"seed={seed}\b"))
            asked = {"held_out_rows": 4, "seed": seed}
            expected = api.get(f"datasets/{questions.id}/split", params=asked).json()["held_out_rows"]
            expect(panel.get_by_role("status")).to_contain_text("26 train · 4 held out")
            held = page.get_by_role("row").filter(has_text="held out")
            names = [f"Open row {row + 1}" for row in expected if row < 25]
            expect(held).to_have_count(len(names))
            for name in names:
                expect(held.get_by_role("button", name=name, exact=True)).to_be_visible()
            marked[seed] = expected
        assert marked[7] != marked[8]
        page.reload()
        expect(panel.get_by_role("textbox", name="Seed")).to_have_value("8")
        expect(panel.get_by_role("textbox", name="Held-out rows")).to_have_value("4")


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option).click()


@pytest.fixture(scope="module")
def unfinished(client: Reinforge, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobDetail]:
    """A paused job on a dataset of its own; its reward fails on every completion."""
    file = tmp_path_factory.mktemp("data") / "in-use.jsonl"
    write_jsonl(file, [{"prompt": row["question"], "answer": row["answer"]} for row in ROWS])
    job = client.jobs.create(
        {
            "name": "waits for a better reward",
            "model": MODEL,
            "data": {"dataset": client.datasets.push(file, reuse=False).id, "held_out_rows": 0},
            "rewards": [{"source": "def grade(sample, item):\n    return item['no such column']\n"}],
            "rollout": {"prompts_per_step": 1, "completions_per_prompt": 2, "max_completion_tokens": 8},
            "limits": {"steps": 1},
        }
    )
    job = client.jobs.wait(job.id, timeout=120)
    assert job.status == "paused"
    yield job
    client.jobs.cancel(job.id)


class TestWhereADatasetIsUsed:
    def delete(self, page: Page) -> Locator:
        """Ask for the deletion; the dialog that asks back."""
        page.get_by_role("button", name="File").click()
        page.get_by_role("menuitem", name="Delete the dataset…").click()
        return page.get_by_role("dialog")

    def test_its_jobs_are_listed(self, page: Page, unfinished: JobDetail) -> None:
        page.goto(f"/datasets/{unfinished.dataset}")
        expect(page.get_by_text("used by 1 job")).to_be_visible()
        page.get_by_role("link", name="Where used").click()
        page.get_by_role("link", name=unfinished.name).click()
        expect(page).to_have_url(re.compile(unfinished.id))

    def test_it_is_not_deleted_under_an_unfinished_job(
        self, page: Page, client: Reinforge, unfinished: JobDetail
    ) -> None:
        page.goto(f"/datasets/{unfinished.dataset}")
        dialog = self.delete(page)
        expect(dialog).to_contain_text("1 job used it")
        dialog.get_by_role("button", name="Delete the dataset").click()
        expect(dialog.get_by_role("alert")).to_contain_text(unfinished.id)
        dialog.get_by_role("button", name="Keep it").click()
        expect(dialog).to_have_count(0)
        assert client.datasets.get(str(unfinished.dataset)).rows == len(ROWS)

    def test_an_unused_one_is_deleted(self, page: Page, client: Reinforge, questions: Dataset) -> None:
        page.goto(f"/datasets/{questions.id}")
        self.delete(page).get_by_role("button", name="Delete the dataset").click()
        expect(page).to_have_url(re.compile("/datasets$"))
        expect(page.get_by_role("heading", level=1, name="Datasets")).to_be_visible()
        with pytest.raises(NotFound):
            client.datasets.get(questions.id)
        page.goto(f"/datasets/{questions.id}")
        expect(page.get_by_role("alert")).to_contain_text("Not found")


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


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Source of the reward, Python")


def source_in(page: Page) -> str:
    return "\n".join(editor(page).locator(".cm-line").all_text_contents())


def open_new_reward(page: Page, dataset: Dataset, source: str | None = None, rows: str = "1-1") -> None:
    page.goto(f"/rewards/new?dataset={dataset.id}&rows={rows}")
    expect(page.get_by_role("status").filter(has_text="It loads.")).to_be_visible()
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
        expect(drawer.get_by_role("heading", level=3)).to_have_text([one["title"] for one in templates])
        drawer.get_by_role("button", name=f"Use it: {template['title']}").click()
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

    def test_a_syntax_error_stands_in_the_gutter_at_its_line(self, page: Page, additions: Dataset) -> None:
        open_new_reward(page, additions, "import re\n\ndef grade(sample, item:\n    return 1.0\n")
        marker = page.locator(".cm-lint-marker-error")
        expect(marker).to_have_count(1)
        line, mark = editor(page).locator(".cm-line").nth(2).bounding_box(), marker.bounding_box()
        assert line and mark and line["y"] <= mark["y"] < line["y"] + line["height"]
        expect(page.get_by_role("status").filter(has_text="Line 3:")).to_be_visible()
        page.get_by_role("textbox", name="Name").fill("unclosed")
        page.get_by_role("button", name="Store the reward").click()
        expect(page.get_by_role("alert").filter(has_text="Not saved")).to_contain_text("line 3")
        editor(page).fill(GRADER)
        expect(marker).to_have_count(0)
        expect(page.get_by_role("status").filter(has_text="It loads.")).to_be_visible()

    def test_a_file_dropped_on_the_list_is_stored_under_its_name(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        file = tmp_path / "dropped_reward.py"
        file.write_text(GRADER)
        page.goto("/rewards")
        heading = page.get_by_role("heading", level=1, name="Rewards")
        expect(heading).to_be_visible()
        drop(heading, file)
        drop(page.get_by_text("Drop the .py file anywhere", exact=True), file)
        expect(page.get_by_role("textbox", name="Name")).to_have_value("dropped_reward")
        expect(editor(page)).to_contain_text("nothing to compare with")
        assert source_in(page) == GRADER
        page.get_by_role("button", name="Store the reward").click()
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
        page.get_by_role("button", name="Result 1, all of it").click()
        expect(page.get_by_text("compared with 120", exact=True)).to_be_visible()
        page.get_by_role("button", name="Result 3, all of it").click()
        expect(page.locator("pre").filter(has_text="LookupError: nothing to compare with")).to_contain_text(
            "line 4, in grade"
        )
        completion(page, 2).fill("122")
        expect(page.get_by_role("status").filter(has_text="run it again")).to_be_visible()

    def test_completions_are_sampled_from_the_base(self, page: Page, additions: Dataset) -> None:
        open_new_reward(page, additions, GRADER)
        page.get_by_text("Sample completions from the base now").click()
        page.get_by_label("Per row").fill("2")
        page.get_by_label("Tokens at most").fill("8")
        page.get_by_role("button", name="Sample", exact=True).click()
        row = page.get_by_role("listitem").filter(has_text="Row 1")
        expect(row.get_by_text("sampled", exact=True)).to_have_count(2, timeout=60_000)
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
        page.get_by_role("dialog").get_by_role("button", name="Restore it").click()
        expect(page.get_by_text("Revision 1 restored as revision 3.")).to_be_visible()
        assert client.rewards.get(reward).revisions[-1].source == GRADER

    def test_unsaved_changes_are_not_lost_by_a_click(self, page: Page, reward: str) -> None:
        page.goto(f"/rewards/{reward}")
        editor(page).fill("def grade(sample, item):\n    return 0.25\n")
        page.get_by_role("link", name="Revisions 1").click()
        page.get_by_role("link", name="Write and try").click()
        expect(editor(page)).to_contain_text("0.25")
        jobs = page.get_by_role("navigation", name="Main").get_by_role("link", name=re.compile("^Jobs"))
        jobs.click()
        dialog = page.get_by_role("dialog", name="Leave without saving?")
        dialog.get_by_role("button", name="Stay here").click()
        expect(dialog).to_have_count(0)
        expect(editor(page)).to_contain_text("0.25")
        jobs.click()
        dialog.get_by_role("button", name="Leave and lose them").click()
        expect(page).to_have_url(re.compile("/jobs$"))
