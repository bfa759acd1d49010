"""The form of a new job: checks while typing, every field, and the same job as text."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.offline import jobfile
from reinforge.schemas.jobs import JobDetail
from reinforge.schemas.resources import Dataset
from reinforge.spec import JobSpec
from tests.e2e.conftest import DEMO_JOB, KEY, Demo

ARITHMETIC = DEMO_JOB.parent
MODEL = "starter-arith"


@pytest.fixture(scope="module")
def additions(client: Reinforge) -> Dataset:
    return client.datasets.push(ARITHMETIC / "additions.jsonl")


@pytest.fixture(scope="module")
def reward(client: Reinforge) -> str:
    return client.rewards.push(ARITHMETIC / "reward.py", name="correct sum").id


@pytest.fixture(scope="module")
def demo_job(client: Reinforge, demo: Demo) -> JobDetail:
    return client.jobs.get(demo.summary["job_id"])


@pytest.fixture
def form(page: Page, additions: Dataset, reward: str) -> Iterator[Page]:
    """The form with a base model, a dataset and a reward chosen by its address."""
    page.goto(f"/jobs/new?model={MODEL}&dataset={additions.id}&reward={reward}")
    expect(page.get_by_role("complementary", name="Summary")).to_contain_text("correct_sum")
    expect(page.get_by_role("radio", name=re.compile(f"^{MODEL}"))).to_be_checked()
    expect(page.get_by_role("main")).to_contain_text("First row, rendered for starter-arith")
    yield page


def typed(page: Page, name: str, text: str) -> Locator:
    """A field with that text in it."""
    field = page.get_by_role("textbox", name=name, exact=True)
    field.fill(text)
    return field


def beside(field: Locator) -> Locator:
    """What is told about a field under it."""
    return field.locator("xpath=ancestor::*[label][1]").get_by_role("listitem")


def start(page: Page) -> str:
    """Start job; its id."""
    page.get_by_role("button", name="Start job").click()
    expect(page).to_have_url(re.compile(r"/jobs/ftjob-"))
    return page.url.rsplit("/", 1)[1].split("?")[0]


def copied(page: Page, format: str) -> str:
    """The job as text in one of the formats of "Copy as…"."""
    page.get_by_role("button", name="Copy as…").click()
    page.get_by_role("menuitem", name=format).click()
    return page.get_by_role("region", name=format).locator("pre").inner_text()


class TestChecks:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("-1", "Allowed range: above 0"),
            ("fast", "Type a number, or auto."),
            ("1e", "Type a number, or auto."),
        ],
    )
    def test_a_number_out_of_range_has_an_error_beside_its_field(
        self, form: Page, text: str, message: str
    ) -> None:
        field = typed(form, "Learning rate", text)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(beside(field)).to_contain_text(message)
        field.fill("3e-4")
        expect(field).not_to_have_attribute("aria-invalid", "true")
        expect(beside(field)).to_have_count(0)

    def test_the_servers_errors_are_beside_their_fields(self, form: Page) -> None:
        field = typed(form, "Max tokens", "5000")
        expect(beside(field)).to_contain_text("leave no room for a prompt in a context of 512")
        form.get_by_role("button", name="1 problem: show the first").click()
        expect(field).to_be_focused()
        field.fill("32")
        expect(beside(field)).to_have_count(0)

    def test_an_unknown_field_is_reported(self, page: Page, additions: Dataset, reward: str) -> None:
        """As of a draft that an older page has left in this browser."""
        draft = {
            "model": MODEL,
            "data": {"dataset": additions.id},
            "rewards": [{"type": "python", "name": "correct", "reward": reward}],
            "optimizer": {"lerning_rate": 1e-3},
        }
        stored = json.dumps({"draft": draft, "at": "2026-01-01T00:00:00Z"})
        page.goto("/jobs/new")
        page.evaluate("stored => localStorage.setItem('reinforge-job-draft', stored)", stored)
        page.reload()
        expect(page.get_by_role("radio", name=re.compile(f"^{MODEL}"))).to_be_checked()
        problem = page.get_by_role("alert").filter(has_text="Problems of the job")
        expect(problem).to_contain_text("optimizer.lerning_rate")
        assert "lerning_rate" in copied(page, "Job file (YAML)")

    def test_the_whole_check_says_that_nothing_stands_in_the_way(self, form: Page) -> None:
        form.get_by_role("button", name="Validate").click()
        expect(form.get_by_text("All checks passed.")).to_be_visible()

    def test_missing_fields_are_reported_when_the_job_is_started(self, page: Page) -> None:
        page.goto("/jobs/new")
        page.get_by_role("button", name="Start job").click()
        for message in ("Drop a file or choose a dataset.", "Choose a reward or drop a .py file."):
            expect(page.get_by_role("listitem").filter(has_text=message)).to_be_visible()
        expect(page).to_have_url(re.compile("/jobs/new"))


def field_paths(value: Any, path: str = "") -> Iterator[str]:
    """Paths of everything that a specification says; a part with variants is a field too, its tag is not."""
    if isinstance(value, dict) and value:
        if "type" in value:
            yield path
        for key, inner in value.items():
            if key != "type":
                yield from field_paths(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, inner in enumerate(value):
            yield from field_paths(inner, f"{path}[{place}]")
    else:
        yield path


class TestAdvanced:
    def test_every_field_of_the_specification_is_there(
        self, form: Page, additions: Dataset, reward: str
    ) -> None:
        whole = JobSpec.model_validate(
            {"model": MODEL, "data": {"dataset": additions.id}, "rewards": [{"reward": reward}]}
        ).model_dump(mode="json")
        form.get_by_role("heading", name="Advanced").click()
        search = form.get_by_role("searchbox", name="Search the fields")
        # Beside a field's name; in explanations paths of other fields are code too.
        paths = form.locator("label + code, span + code")
        missing = []
        for path in field_paths(whole):
            search.fill(path)
            # A part that may be left out altogether is there with the fields inside it.
            if not any(f"{text}.".startswith(f"{path}.") for text in paths.all_text_contents()):
                missing.append(path)
        assert not missing

    def test_a_field_set_here_is_in_the_job(self, form: Page) -> None:
        form.get_by_role("heading", name="Advanced").click()
        form.get_by_role("searchbox", name="Search the fields").fill("rollout.top_p")
        field = form.get_by_role("textbox", name=re.compile(r"\(rollout\.top_p\)"))
        field.fill("0.9")
        assert "top_p: 0.9" in copied(form, "Job file (YAML)")
        form.get_by_role("button", name="Reset rollout.top_p to its default").click()
        expect(field).to_have_value("")
        assert "top_p" not in copied(form, "Job file (YAML)")
        form.get_by_role("searchbox", name="Search the fields").fill("zebra")
        expect(form.get_by_text("No field matches “zebra”.")).to_be_visible()

    def test_the_bases_precision_is_in_the_job_beside_its_memory(self, form: Page) -> None:
        expect(form.get_by_text("Estimated memory to train:")).to_contain_text("in NF4")
        form.get_by_role("combobox", name="Precision", exact=True).select_option("nf4")
        assert jobfile_of(copied(form, "Job file (YAML)")).base.precision == "nf4"

    def test_a_preset_fills_the_slots(self, form: Page) -> None:
        form.get_by_role("radio", name=re.compile(r"^Dr\. GRPO")).check()
        expect(form.get_by_role("complementary", name="Summary")).to_contain_text("Dr. GRPO")
        assert jobfile_of(copied(form, "Job file (YAML)")).algorithm.preset == "dr_grpo"


def jobfile_of(text: str) -> JobSpec:
    return jobfile.validate(yaml.safe_load(text))


SMALL = {
    "Steps": "1",
    "Prompts per step": "1",
    "Completions per prompt": "2",
    "Max tokens": "8",
    "Rows per evaluation": "0",
}


class TestTheSameJobElsewhere:
    def test_the_copied_yaml_starts_the_same_job(self, form: Page, client: Reinforge, tmp_path: Path) -> None:
        for name, text in SMALL.items():
            typed(form, name, text)
        typed(form, "Job name", "small: from the page")
        file = tmp_path / "job.yaml"
        file.write_text(copied(form, "Job file (YAML)"))
        first = start(form)
        command = [sys.executable, "-m", "reinforge.cli.main", "job", "create", "-f", str(file)]
        environment = os.environ | {"REINFORGE_URL": client.base_url, "REINFORGE_API_KEY": KEY}
        second = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
        assert second.returncode == 0, second.stderr
        jobs = [first, second.stdout.strip()]
        specs = [JobSpec.model_validate(client.jobs.get(id).spec) for id in jobs]
        client.jobs.cancel(jobs[1])
        assert specs[0] == specs[1] == jobfile.load(file)
        assert specs[0].limits.steps == 1 and specs[0].name == "small: from the page"
        assert client.jobs.wait(first, timeout=120).status == "succeeded"
        expect(form.get_by_text("Step 1 of 1")).to_be_visible()
        expect(form.get_by_text("Succeeded").first).to_be_visible()

    def test_a_model_a_dataset_and_a_reward_are_the_very_same_job_on_every_way_in(
        self, form: Page, client: Reinforge, additions: Dataset, reward: str, tmp_path: Path
    ) -> None:
        spec = {
            "model": MODEL,
            "data": {"dataset": additions.id},
            "rewards": [{"type": "python", "name": "correct_sum", "reward": reward}],
        }
        file = tmp_path / "job.yaml"
        file.write_text(yaml.safe_dump(spec))
        command = [sys.executable, "-m", "reinforge.cli.main", "job", "create", "-f", str(file)]
        environment = os.environ | {"REINFORGE_URL": client.base_url, "REINFORGE_API_KEY": KEY}
        by_command = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
        assert by_command.returncode == 0, by_command.stderr
        rate = form.get_by_role("textbox", name="Learning rate", exact=True)
        expect(rate).to_have_attribute("placeholder", "auto (0.00125)")
        hint = "auto for this job: 0.16 ÷ hidden size 128; the first steps use more, from 0.00375 down."
        expect(form.get_by_text(hint)).to_be_visible()
        jobs = [start(form), by_command.stdout.strip(), client.jobs.create(spec).id]
        views = [client.jobs.get(id) for id in jobs]
        for id in jobs:
            client.jobs.cancel(id)
        assert views[0].resolved_spec == views[1].resolved_spec == views[2].resolved_spec
        assert (views[0].resolved_spec or {})["optimizer"]["learning_rate"] == 1.25e-3
        assert all("optimizer" not in view.spec for view in views)

    def test_the_copied_python_is_the_same_job(self, form: Page) -> None:
        from_yaml = jobfile_of(copied(form, "Job file (YAML)"))
        calls: list[Any] = []

        class Recorder:
            def __init__(self) -> None:
                self.jobs = self

            def create(self, spec: Any) -> Any:
                calls.append(spec)
                return type("Job", (), {"id": "ftjob-1"})

            def wait(self, _: str) -> None:
                pass

        code = copied(form, "Python SDK").replace("from reinforge.client import Reinforge\n", "")
        exec(code, {"Reinforge": Recorder})
        assert [JobSpec.model_validate(spec) for spec in calls] == [from_yaml]

    def test_another_job_is_where_to_start_from(self, page: Page, demo_job: JobDetail) -> None:
        page.goto("/jobs/new")
        page.get_by_role("button", name="Copy from a job…").click()
        page.get_by_role("menuitem", name=demo_job.name).first.click()
        expect(page.get_by_text(f"Started from “{demo_job.name}”.")).to_be_visible()
        expect(page.get_by_role("textbox", name="Steps", exact=True)).to_have_value("60")
        again = jobfile_of(copied(page, "Job file (YAML)"))
        assert again.name is None  # the server names it by what differs
        before = JobSpec.model_validate(demo_job.spec)
        changed = {"name": before.name, "metadata": before.metadata}
        assert again.model_copy(update=changed) == before


class TestSuggestedValues:
    def test_they_fit_the_data_have_a_reason_and_are_the_job_that_starts(
        self, page: Page, client: Reinforge, reward: str, demo_job: JobDetail, tmp_path: Path
    ) -> None:
        """And the demo job, on the same model, tells the time."""
        file = tmp_path / "few.jsonl"
        file.write_text("".join(f'{{"prompt": "{n}+{n}=", "answer": "{2 * n}"}}\n' for n in range(12)))
        data = client.datasets.push(file, reuse=False)
        page.goto(f"/jobs/new?model={MODEL}&dataset={data.id}&reward={reward}")
        steps = page.get_by_role("textbox", name="Steps", exact=True)
        expect(steps).to_have_attribute("placeholder", "30")
        expect(page.get_by_text("Only 11 rows train: no row repeats within a step.")).to_be_visible()
        time = page.get_by_role("status", name="Estimated time")
        expect(time).to_contain_text(re.compile(rf"From \d+ earlier jobs? with {MODEL} on other datasets"))
        steps.fill("7")
        page.get_by_role("button", name="Use 30: Steps").click()
        expect(steps).to_have_value("")
        job = jobfile_of(copied(page, "Job file (YAML)"))
        assert (job.limits.steps, job.rollout.prompts_per_step) == (30, 11)


class TestDrafts:
    def test_a_draft_survives_a_reload_and_is_dropped_by_starting_over(self, form: Page) -> None:
        typed(form, "Steps", "17")
        expect(form.get_by_role("complementary", name="Summary")).to_contain_text("17")
        form.reload()
        expect(form.get_by_text(re.compile("Your draft of .* was restored"))).to_be_visible()
        expect(form.get_by_role("textbox", name="Steps", exact=True)).to_have_value("17")
        expect(form.get_by_role("complementary", name="Summary")).to_contain_text("correct_sum")
        form.get_by_role("button", name="Start over").click()
        expect(form.get_by_role("textbox", name="Steps", exact=True)).to_have_value("")
        expect(form.get_by_role("complementary", name="Summary")).not_to_contain_text("correct_sum")

    def test_a_dataset_brings_how_its_rows_become_prompts(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        file = tmp_path / "sums.jsonl"
        file.write_text("".join(f'{{"left": {a}, "right": {b}}}\n' for a in range(3) for b in range(4)))
        data = client.datasets.push(file, reuse=False)
        page.goto(f"/jobs/new?model={MODEL}&dataset={data.id}")
        expect(page.get_by_text("Prompt column required")).to_be_visible()
        template = page.get_by_label("Prompt template", exact=True).first
        template.fill("{left}+{right}=")
        expect(page.get_by_role("figure").locator("pre")).to_contain_text("0+0=")


class TestEnvironment:
    def test_a_call_of_a_tool_is_tried_before_the_job(self, form: Page) -> None:
        section = form.get_by_role("region", name="Environment")
        section.get_by_role("radio", name=re.compile("^Tools")).check()
        source = section.get_by_role("group", name="Source tools_0.py")
        expect(source.get_by_role("status")).to_have_text("1 tool: multiply")
        expect(section.get_by_role("region", name="What the model reads")).to_contain_text("multiply(a, b)")
        call = section.get_by_role("group", name="Try a call")
        for name, value in (("a", "6"), ("b", "7")):
            call.get_by_role("textbox", name=name, exact=True).fill(value)
        call.get_by_role("button", name="Run").click()
        result = call.get_by_role("group", name="Call of multiply")
        expect(result).to_contain_text("ok")
        expect(result.locator("pre").last).to_have_text("42")
        assert yaml.safe_load(copied(form, "Job file (YAML)"))["environment"]["type"] == "tools"

    def test_problems_of_tools_are_in_their_section(self, form: Page) -> None:
        section = form.get_by_role("region", name="Environment")
        section.get_by_role("radio", name=re.compile("^Tools")).check()
        form.get_by_role("button", name="Validate").click()
        expect(section).to_contain_text("the template has no place for tools")
        source = section.get_by_role("group", name="Source tools_0.py")
        source.get_by_role("textbox").click()
        form.keyboard.press("Control+a")
        form.keyboard.insert_text('def half(x):\n    """Half."""\n    return x / 2\n')
        expect(source.get_by_role("status")).to_contain_text(
            "Line 1: the parameter x of half has no type hint."
        )
        section.get_by_role("radio", name=re.compile("^Your own program")).check()
        expect(section.get_by_role("region", name="Program and command")).to_contain_text("rollout serve")
