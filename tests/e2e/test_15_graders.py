"""Graders and the judges that they ask, on the page: the form and the JSON follow each other."""

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.platform.up import Platform
from reinforge.schemas.resources import Dataset
from tests.e2e.browser import sign_in, visit
from tests.e2e.conftest import DEMO_JOB
from tests.e2e.places import RECEIVER
from tests.support.judge_stub import Stub, judged

CHECK = {
    "type": "string_check",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
KEY = "sk-nobody-sees-this"
NOBODY = f"http://{RECEIVER}:9/v1"


@pytest.fixture(scope="module")
def additions(client: Reinforge) -> Dataset:
    return client.datasets.push(DEMO_JOB.parent / "additions.jsonl")


@pytest.fixture
def judge_server() -> Iterator[Stub]:
    with Stub(lambda request, number: judged(0.75)) as stub:
        yield stub


def open_grader(page: Page, dataset: Dataset) -> None:
    page.goto(f"/rewards/new?dataset={dataset.id}&rows=1-1")
    page.get_by_role("radiogroup", name="Kind of reward").get_by_text("Grader").click()
    expect(page.get_by_label("Type of grader")).to_have_value("string_check")


def text(page: Page) -> Locator:
    return page.get_by_role("textbox", name="The grader as JSON")


def grader(page: Page) -> Any:
    return json.loads("\n".join(text(page).locator(".cm-line").all_text_contents()))


def form(page: Page) -> Locator:
    return page.get_by_role("region", name="Form of the grader")


class TestBuildingAGrader:
    def test_the_form_writes_the_json_and_is_stored(
        self, page: Page, api: httpx.Client, additions: Dataset
    ) -> None:
        open_grader(page, additions)
        assert grader(page) == CHECK
        page.get_by_label("Operation", exact=True).select_option("ilike")
        reference = page.get_by_label("Reference", exact=True)
        reference.fill("= ")
        page.get_by_role("button", name="Insert a name into Reference").click()
        page.get_by_role("menuitem", name="item.answer").click()
        expect(reference).to_have_value("= {{ item.answer }}")
        reference.fill("{{ item.answer }}")
        page.get_by_label("Type of grader").select_option("multi")
        page.get_by_role("button", name="Add a grader").click()
        second = page.get_by_role("region", name="Part exact")
        second.get_by_label("Type of exact").select_option("text_similarity")
        second.get_by_label("Name in the formula").fill("close")
        second.get_by_label("Name in the formula").press("Enter")
        second = page.get_by_role("region", name="Part close")
        second.get_by_label("Run").select_option("string_check")
        second.get_by_label("close: more than").fill("0.5")
        page.get_by_label("Calculate output").fill("0.5 * string_check + 0.5 * ")
        expect(form(page).get_by_text("The formula cannot be read at the end")).to_be_visible()
        page.get_by_role("button", name="Insert close into the formula").click()
        expect(page.get_by_role("status").filter(has_text="Valid grader")).to_contain_text(
            "close (text_similarity)"
        )
        built = grader(page)
        assert built == {
            "type": "multi",
            "graders": {
                "string_check": CHECK | {"operation": "ilike"},
                "close": {
                    "type": "text_similarity",
                    "input": "{{ sample.output_text }}",
                    "reference": "{{ item.answer }}",
                    "evaluation_metric": "fuzzy_match",
                },
            },
            "calculate_output": "0.5 * string_check + 0.5 * close",
            "gates": {"close": {"part": "string_check", "above": 0.5}},
        }
        page.get_by_role("button", name="Run on 1 completion").click()
        expect(page.get_by_role("region", name="Scores").locator("tbody tr")).to_contain_text(
            ["string_check 1"]
        )
        page.get_by_label("Name", exact=False).first.fill(f"built {uuid4()}")
        page.get_by_role("button", name="Save reward").click()
        expect(page).to_have_url(re.compile("/rewards/rew_"))
        match = re.search(r"/rewards/(rew_\w+)", page.url)
        assert match
        stored = api.get(f"rewards/{match[1]}").json()
        assert (stored["kind"], json.loads(stored["revisions"][0]["source"])) == ("grader", built)

    def test_the_json_leads_the_form_and_what_is_no_json_holds_it(
        self, page: Page, additions: Dataset
    ) -> None:
        open_grader(page, additions)
        text(page).fill(json.dumps(CHECK | {"operation": "is", "reference": "{{ item.sum }}", "hue": 1}))
        expect(page.get_by_label("Reference", exact=True)).to_have_value("{{ item.sum }}")
        panel = form(page)
        expect(panel.get_by_text("The test rows have no “sum”.")).to_be_visible()
        expect(panel.get_by_text("Input should be 'eq', 'ne', 'like' or 'ilike'")).to_be_visible()
        expect(panel.get_by_text("There is no field hue.")).to_be_visible()
        text(page).fill('{\n  "type": "string_check",\n  "input" 1\n}')
        expect(panel.get_by_text("The text is not JSON at line 3, column 11")).to_be_visible()
        expect(page.get_by_label("Reference", exact=True)).to_be_disabled()
        expect(page.get_by_label("Reference", exact=True)).to_have_value("{{ item.sum }}")
        panel.get_by_role("button", name="Restore the last valid JSON").click()
        expect(page.get_by_label("Reference", exact=True)).to_be_enabled()
        assert grader(page)["hue"] == 1
        # The address keeps which of the two is shown, and Python is still there.
        page.get_by_role("radiogroup", name="Grader view").get_by_text("JSON").click()
        expect(page).to_have_url(re.compile("grader=json"))
        expect(form(page)).to_have_count(0)
        page.get_by_role("radiogroup", name="Kind of reward").get_by_text("Python").click()
        expect(page.get_by_role("textbox", name="Source of the reward, Python")).to_contain_text("def grade")


class TestJudges:
    def test_a_judge_is_added_tried_changed_and_deleted_and_its_key_never_appears(
        self, page: Page, api: httpx.Client, judge_server: Stub
    ) -> None:
        name = f"judge-{uuid4().hex[:8]}"
        page.goto("/settings?tab=judges")
        page.get_by_role("button", name="New judge").click()
        dialog = page.get_by_role("dialog", name="New judge")
        dialog.get_by_label("Name").fill(name)
        dialog.get_by_label("Base URL").fill("somewhere")
        dialog.get_by_label("Model").fill("m")
        dialog.get_by_label("Key", exact=True).fill(KEY)
        dialog.get_by_role("button", name="Add judge").click()
        expect(dialog.get_by_text("Write an address such as")).to_be_visible()
        dialog.get_by_label("Base URL").fill(judge_server.url)
        dialog.get_by_role("button", name="Add judge").click()
        expect(dialog.get_by_text("by adding 127.0.0.1 to REINFORGE_ALLOW_HOSTS")).to_be_visible()
        dialog.get_by_label("Base URL").fill(judge_server.url.replace("127.0.0.1", RECEIVER))
        dialog.get_by_role("button", name="Add judge").click()
        expect(dialog).to_have_count(0)
        page.get_by_role("button", name=f"Try {name}").click()
        expect(page.get_by_role("status").filter(has_text=f"{name} answers")).to_contain_text("0.75")
        assert judge_server.requests[-1].headers["authorization"] == f"Bearer {KEY}"

        page.get_by_role("button", name=f"Change {name}").click()
        dialog = page.get_by_role("dialog", name=f"Change {name}")
        expect(dialog.get_by_label("Key", exact=True)).to_have_value("")
        assert KEY not in page.content()
        dialog.get_by_label("Base URL").fill(NOBODY)
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.get_by_text("The new address of the judge needs the API key again.")).to_be_visible()
        dialog.get_by_label("Remove the key").check()
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_have_count(0)
        changed = api.get(f"judges/{name}").json()
        assert (changed["base_url"], changed["has_key"]) == (NOBODY, False)

        page.get_by_role("button", name=f"Delete {name}").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete judge").click()
        expect(page.get_by_role("button", name=f"Delete {name}")).to_have_count(0)
        assert api.get(f"judges/{name}").status_code == 404

    def test_a_viewer_reads_them_and_changes_nothing(
        self, browser: Browser, platform: Platform, api: httpx.Client
    ) -> None:
        name = f"judge-{uuid4().hex[:8]}"
        body = {"name": name, "base_url": NOBODY, "model": "m", "api_key": KEY}
        api.post("judges", json=body).raise_for_status()
        link = api.post("members", json={"name": f"Vera {name}", "role": "viewer"}).json()["url"]
        with visit(browser, base_url=platform.url) as page:
            sign_in(page, link)
            page.goto("/settings?tab=judges")
            judges = page.get_by_role("region", name="Judges", exact=True).last
            expect(judges.get_by_text(name)).to_be_visible()
            expect(page.get_by_role("button", name="New judge")).to_have_attribute("aria-disabled", "true")
            expect(page.get_by_role("button", name=f"Change {name}")).to_have_count(0)
            expect(page.get_by_role("button", name=f"Try {name}")).to_have_count(0)
        api.delete(f"judges/{name}")
