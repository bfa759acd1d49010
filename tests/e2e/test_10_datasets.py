"""Datasets on the page: dropped, read, turned into prompts, split, deleted."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Locator, Page, Route, expect

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


def dataset_of(page: Page, within: float = 60.0) -> str:
    """The id in the address of a dataset's page, once that is where the browser is."""
    expect(page).to_have_url(re.compile(r"/datasets/[a-z]+-"), timeout=within * 1000)
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

    def test_no_row_is_skipped_where_a_page_of_them_is_too_large(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        """4 MiB of rows come in one answer: 3 of these."""
        file = tmp_path / "large.jsonl"
        write_jsonl(file, [{"prompt": f"row {row}", "text": "x" * (1 << 20)} for row in range(1, 31)])
        page.goto(f"/datasets/{client.datasets.push(file).id}")
        expect(page.get_by_text("1–3 of 30 rows")).to_be_visible(timeout=180_000)
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text("4–6 of 30 rows")).to_be_visible(timeout=180_000)
        expect(page.get_by_role("region", name="Rows").locator("tbody tr").first).to_contain_text("row 4")

    def test_a_file_may_be_dropped_anywhere_on_the_page(self, page: Page, tmp_path: Path) -> None:
        file = tmp_path / "anywhere.jsonl"
        write_jsonl(file, ROWS)
        page.goto("/datasets")
        expect(page.get_by_text("Drop a JSONL, CSV or Parquet file here")).to_be_visible()
        drop(page.get_by_role("heading", level=1), file)
        drop(page.get_by_text("Drop a file anywhere on this page"), file)
        dataset_of(page)

    def test_a_refused_file_shows_the_line_at_fault(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        file = tmp_path / "refused.jsonl"
        file.write_text('{"prompt": "1+1=", "answer": "2"}\n{"prompt": "2+2=", "answer": four}\n')
        page.goto("/datasets")
        drop(page.get_by_text("Drop a JSONL, CSV or Parquet file here"), file)
        alert = page.get_by_role("alert").filter(has_text="refused.jsonl was rejected; no data was saved")
        expect(alert).to_contain_text("line 2, column 30")
        expect(alert.locator("pre")).to_contain_text('"answer": four')
        expect(alert.locator("mark")).to_have_text(re.compile("^f"))
        assert "refused" not in [one.name for one in client.datasets.list()]
        alert.get_by_role("button", name="Skip the bad row and keep 1").click()
        stored = client.datasets.get(dataset_of(page))
        assert stored.skipped is not None
        assert (stored.rows, stored.name, stored.skipped.lines) == (1, "refused", [2])
        expect(page.get_by_text("The dataset does not contain line 2 of the uploaded file.")).to_be_visible()

    def test_suggested_columns_are_used_with_one_click(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        write_csv(
            tmp_path / "totals.csv", [{"question": row["question"], "total": row["answer"]} for row in ROWS]
        )
        totals = client.datasets.push(tmp_path / "totals.csv", reuse=False)
        page.goto(f"/datasets/{totals.id}")
        page.get_by_role("button", name="Use these columns").click()
        expect(page.get_by_text("Saved. New jobs on this dataset use these columns.")).to_be_visible()
        expect(page.get_by_text("Suggested columns")).to_have_count(0)
        columns = client.datasets.get(totals.id).prompt_view.columns
        assert (columns.prompt, columns.answer) == ("question", "total")

    def test_column_roles_are_saved_and_are_there_after_a_reload(
        self, page: Page, client: Reinforge, questions: Dataset
    ) -> None:
        page.goto(f"/datasets/{questions.id}")
        page.get_by_role("link", name="Choose the columns").click()
        page.get_by_text("Template", exact=True).click()
        template = page.get_by_role("textbox", name="Prompt template")
        template.fill("Work out {question}")
        choose(page, "Slice", "kind · string")
        page.get_by_label("System prompt").fill("Answer with a number.")
        first = page.get_by_role("listitem").filter(has_text="Row 1")
        expect(first.locator("pre")).to_contain_text("Work out 1+1=")
        expect(first).to_contain_text("slice even")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved. New jobs on this dataset use these prompt settings.")).to_be_visible()
        page.reload()
        expect(template).to_have_text("Work out {question}")
        expect(page.get_by_label("System prompt")).to_have_value("Answer with a number.")
        expect(page.get_by_role("combobox", name="Slice")).to_have_value("kind · string")
        view = client.datasets.get(questions.id).prompt_view
        assert view.prompt_template == "Work out {question}"
        assert (view.system_prompt, view.columns.slice) == ("Answer with a number.", "kind")

    def test_a_template_that_names_no_column_says_so(self, page: Page, questions: Dataset) -> None:
        page.goto(f"/datasets/{questions.id}?tab=prompts")
        page.get_by_text("Template", exact=True).click()
        page.get_by_role("textbox", name="Prompt template").fill("{quest}")
        expect(page.get_by_text("There is no column “quest”.")).to_be_visible()
        expect(page.get_by_role("button", name="Save")).to_be_disabled()

    def test_prompts_and_their_lengths_are_what_the_model_reads(
        self, page: Page, api: httpx.Client, additions: Dataset
    ) -> None:
        page.goto(f"/datasets/{additions.id}?tab=prompts")
        prompts = page.get_by_role("listitem").filter(has_text=re.compile("^Row "))
        expect(prompts).to_have_count(5)
        request = {"model": MODEL, "limit": 5, "columns": {"answer": "answer"}}
        rendered = api.post(f"datasets/{additions.id}/render", json=request).json()
        for prompt, one in zip(prompts.all(), rendered["data"], strict=True):
            expect(prompt.locator("pre")).to_have_text(one["text"])
            expect(prompt).to_contain_text(f"{one['tokens']} tokens")
            expect(prompt).to_contain_text(f"answer {one['answer']}")
        figure = page.get_by_role("figure").filter(has_text="Prompt length")
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
            query = {"held_out_rows": 4, "seed": seed}
            expected = api.get(f"datasets/{questions.id}/split", params=query).json()["held_out_rows"]
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
            "rewards": [{"source": "def grade(sample, item):\n    return {}['no such column']\n"}],
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
        page.get_by_role("menuitem", name="Delete dataset…").click()
        return page.get_by_role("dialog")

    def test_its_jobs_are_listed(self, page: Page, unfinished: JobDetail) -> None:
        page.goto(f"/datasets/{unfinished.dataset}")
        expect(page.get_by_text("used by 1 job")).to_be_visible()
        page.get_by_role("link", name="Used in").click()
        page.get_by_role("link", name=unfinished.name).click()
        expect(page).to_have_url(re.compile(unfinished.id))

    def test_it_is_not_deleted_under_an_unfinished_job(
        self, page: Page, client: Reinforge, unfinished: JobDetail
    ) -> None:
        page.goto(f"/datasets/{unfinished.dataset}")
        dialog = self.delete(page)
        expect(dialog).to_contain_text("1 job used it")
        dialog.get_by_role("button", name="Delete dataset").click()
        expect(dialog.get_by_role("alert")).to_contain_text(unfinished.id)
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        assert client.datasets.get(str(unfinished.dataset)).rows == len(ROWS)

    def test_an_unused_one_is_deleted(self, page: Page, client: Reinforge, questions: Dataset) -> None:
        page.goto(f"/datasets/{questions.id}")
        self.delete(page).get_by_role("button", name="Delete dataset").click()
        expect(page).to_have_url(re.compile("/datasets$"))
        expect(page.get_by_role("heading", level=1, name="Datasets")).to_be_visible()
        with pytest.raises(NotFound):
            client.datasets.get(questions.id)
        page.goto(f"/datasets/{questions.id}")
        expect(page.get_by_role("alert")).to_contain_text("Not found")


MINUTES = 180.0
"""For a large file, on a machine that does more than these tests."""
LARGE = 65 * 1024 * 1024
"""Above this page's bound for files in parts; five parts."""


def large_file(path: Path) -> Path:
    line = json.dumps({"prompt": "word " * 4000, "answer": "1"}) + "\n"
    with path.open("w") as file:
        for number in range(LARGE // len(line) + 1):
            file.write(line.replace("word", f"w{number}", 1))
    return path


class TestLargeFiles:
    def choose(self, page: Page, file: Path) -> None:
        page.goto("/datasets")
        page.get_by_label("Choose a JSONL, CSV or Parquet file").set_input_files(file)

    def test_one_pauses_without_network_and_goes_on(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        file = large_file(tmp_path / "pausing.jsonl")
        sent: list[str] = []

        def note(route: Route) -> None:
            number = route.request.url.split("/parts/")[1].split("?")[0]
            if number == "3" and "3" not in sent:
                page.context.set_offline(True)
            sent.append(number)
            route.continue_()

        page.route(re.compile(r"/api/v1/uploads/.*/parts/"), note)
        self.choose(page, file)
        bar = page.get_by_role("progressbar", name="Upload of pausing.jsonl")
        expect(bar).to_be_visible()
        expect(
            page.get_by_text("The server does not respond; the upload resumes automatically.")
        ).to_be_visible()
        assert 30 <= float(bar.get_attribute("aria-valuenow") or 0) < 100
        page.context.set_offline(False)
        stored = client.datasets.get(dataset_of(page, MINUTES))
        assert (stored.name, stored.bytes) == ("pausing", file.stat().st_size)
        assert sent.count("1") == sent.count("2") == 1, "what had arrived is not sent again"

    def test_one_goes_on_after_the_page_was_left(self, page: Page, client: Reinforge, tmp_path: Path) -> None:
        file = large_file(tmp_path / "again.jsonl")
        sent: list[str] = []
        stuck: list[Route] = []

        def note(route: Route) -> None:
            sent.append(route.request.url.split("/parts/")[1].split("?")[0])
            if sent == ["1", "2"]:
                stuck.append(route)
            else:
                route.continue_()

        page.route(re.compile(r"/api/v1/uploads/.*/parts/"), note)
        self.choose(page, file)
        bar = page.get_by_role("progressbar", name="Upload of again.jsonl")
        expect(bar).to_have_attribute("aria-valuenow", re.compile("^2[0-9]"))
        while not stuck:  # the bar moves before the next part is sent
            page.wait_for_timeout(20)
        stuck[0].abort()
        self.choose(page, file)
        assert client.datasets.get(dataset_of(page, MINUTES)).bytes == file.stat().st_size
        assert sent.count("1") == 1 and sent[-1] == "5"

    def test_a_refused_one_says_where(self, page: Page, tmp_path: Path) -> None:
        file = large_file(tmp_path / "bad.jsonl")
        with file.open("a") as more:
            more.write("{\n")
        self.choose(page, file)
        alert = page.get_by_role("alert").filter(has_text="bad.jsonl was rejected; no data was saved")
        expect(alert).to_contain_text(re.compile(r"line \d+, column"))
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url))
        alert.get_by_role("button", name="Skip the bad row").click()
        dataset_of(page, MINUTES)
        assert not any("/parts/" in url for url in sent)


class TestDuplicates:
    @pytest.fixture
    def doubled(self, client: Reinforge, tmp_path: Path) -> Dataset:
        rows = [{"prompt": row["question"], "answer": row["answer"]} for row in ROWS]
        again = [row | {"prompt": f" {row['prompt'].upper()} "} for row in rows]
        write_jsonl(tmp_path / "doubled.jsonl", rows + again)
        return client.datasets.push(tmp_path / "doubled.jsonl", reuse=False)

    def test_leaks_are_listed_with_examples_and_a_split_by_prompt_has_none(
        self, page: Page, api: httpx.Client, doubled: Dataset
    ) -> None:
        page.goto(f"/datasets/{doubled.id}?held=6&seed=3")
        page.get_by_role("link", name="Check for leakage").click()
        query = {"held_out_rows": 6, "seed": 3}
        report = api.get(f"datasets/{doubled.id}/report", params=query).json()
        notice = page.get_by_role("status").filter(has_text="Held-out prompts occur in training")
        expect(notice).to_contain_text(f"{report['leakage']['equal']} of 6 held-out rows")
        expect(notice).to_contain_text("30 rows of 60 repeat")
        leaks = page.get_by_role("region", name="Held-out prompts in training").locator("tbody tr")
        expect(leaks).to_have_count(len(report["leakage"]["examples"]))
        first = report["leakage"]["examples"][0]
        expect(leaks.first).to_contain_text(str(first["held_out_row"] + 1))
        repeated = page.get_by_role("region", name="Duplicate prompts").locator("tbody tr")
        expect(repeated).to_have_count(20)
        page.get_by_role("combobox", name="Held out").select_option("prompt")
        expect(page).to_have_url(re.compile("by=prompt"))
        expect(leaks).to_have_count(0)
        expect(page.get_by_text("Note")).to_be_visible()
        page.get_by_role("link", name="Rows", exact=True).click()
        panel = page.get_by_role("region", name="Held-out split")
        expect(panel.get_by_role("checkbox", name="Keep duplicate prompts in one split")).to_be_checked()
        expect(panel.get_by_role("status")).to_contain_text("54 train · 6 held out")
        held = api.get(f"datasets/{doubled.id}/split", params=query | {"split_by": "prompt"}).json()
        assert {row % 30 for row in held["held_out_rows"]} == {
            row for row in held["held_out_rows"] if row < 30
        }

    def test_another_dataset_is_compared(
        self, page: Page, client: Reinforge, doubled: Dataset, tmp_path: Path
    ) -> None:
        write_jsonl(tmp_path / "kept-apart.jsonl", [{"prompt": "1+1=", "answer": "2"}])
        client.datasets.push(tmp_path / "kept-apart.jsonl")
        page.goto(f"/datasets/{doubled.id}?tab=report")
        page.get_by_role("combobox", name="Held out").select_option(label="kept-apart.jsonl")
        expect(page.get_by_text("1 of 1 held-out rows has a prompt that is trained on")).to_be_visible()
