"""Keys, members and what each of them may do; a server that does not answer, fails, or holds nothing yet."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, StorageState, expect

from reinforge.client import Reinforge
from reinforge.errors import Unavailable
from reinforge.platform.up import Platform
from tests.e2e.browser import sign_in, visit
from tests.e2e.test_9_screens import SCREENS, settled

VIEWERS = "Your role is viewer (read only)."


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has_text=name)


def invite(page: Page, name: str, role: str) -> str:
    """Add a person in the settings; their one-time link."""
    page.goto("/settings?tab=people")
    page.get_by_role("button", name="Add a person").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill(name)
    dialog.get_by_role("combobox", name="Role").select_option(role)
    dialog.get_by_role("button", name="Create link").click()
    link = dialog.get_by_role("region", name="One-time sign-in link").inner_text()
    dialog.get_by_role("button", name="Done").click()
    return link


@pytest.fixture(scope="module")
def viewer(browser: Browser, owner: StorageState, platform: Platform) -> StorageState:
    """What a browser keeps in which a viewer has signed in with the link of an owner."""
    with visit(browser, base_url=platform.url, state=owner) as page:
        link = invite(page, f"Vera {uuid4()}", "viewer")
    with visit(browser) as page:
        sign_in(page, link)
        return page.context.storage_state()


@pytest.fixture
def reading(browser: Browser, viewer: StorageState, platform: Platform) -> Iterator[Page]:
    with visit(browser, base_url=platform.url, state=viewer) as page:
        yield page


class TestKeys:
    def test_a_key_works_until_it_is_revoked(self, page: Page, platform: Platform) -> None:
        name = f"ci {uuid4()}"
        page.goto("/settings?tab=keys")
        page.get_by_role("button", name="New key").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox", name="Name").fill(name)
        dialog.get_by_role("combobox", name="Role").select_option("viewer")
        dialog.get_by_role("button", name="Create key").click()
        secret = dialog.get_by_role("region", name="API key secret").inner_text()
        dialog.get_by_role("button", name="Done").click()
        expect(row(page, name)).to_contain_text("viewer")
        assert secret not in page.content()
        address, headers = f"{platform.url}/api/v1/me", {"authorization": f"Bearer {secret}"}
        assert httpx.get(address, headers=headers).json()["name"] == name
        row(page, name).get_by_role("button", name=f"Revoke {name}").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke key").click()
        expect(page.get_by_text(f"{name} revoked.")).to_be_visible()
        expect(page.get_by_role("region", name="Active keys").get_by_text(name)).to_have_count(0)
        assert httpx.get(address, headers=headers).status_code == 401


def made_key(page: Page, platform: Platform, name: str) -> str:
    """The secret of a key that whoever is signed in makes."""
    headers = {"origin": platform.url}
    answer = page.request.post(f"{platform.url}/api/v1/keys", data={"name": name}, headers=headers)
    return str(answer.json()["key"])


def status_of(platform: Platform, key: str) -> int:
    """Of a request with this key."""
    headers = {"authorization": f"Bearer {key}"}
    return httpx.get(f"{platform.url}/api/v1/me", headers=headers).status_code


class TestMembers:
    def test_a_link_signs_in_one_browser_once(self, page: Page, browser: Browser) -> None:
        link = invite(page, f"Otto {uuid4()}", "editor")
        with visit(browser) as first:
            sign_in(first, link)
            expect(first.get_by_role("link", name="New job").first).to_be_visible()
        with visit(browser) as second:
            second.goto(link)
            expect(second.get_by_text("This link is no longer valid")).to_be_visible()

    def test_a_changed_role_counts_and_a_removed_member_is_out(
        self, page: Page, browser: Browser, platform: Platform
    ) -> None:
        name = f"Mona {uuid4()}"
        link = invite(page, name, "viewer")
        with visit(browser, base_url=platform.url) as theirs:
            sign_in(theirs, link)
            theirs.goto("/rewards")
            expect(theirs.get_by_role("button", name="New reward")).to_have_attribute("aria-disabled", "true")
            row(page, name).get_by_role("combobox", name=f"Role of {name}").select_option("editor")
            expect(page.get_by_text(f"{name} has the role editor.")).to_be_visible()
            theirs.reload()
            expect(theirs.get_by_role("link", name="New reward")).to_be_visible()
            row(page, name).get_by_role("combobox", name=f"Role of {name}").select_option("owner")
            expect(page.get_by_text(f"{name} has the role owner.")).to_be_visible()
            staying, ending = (
                made_key(theirs, platform, f"{purpose} of {name}") for purpose in ("kept", "ending")
            )
            row(page, name).get_by_role("button", name=f"More for {name}").click()
            page.get_by_role("menuitem", name="Remove from the project").click()
            dialog = page.get_by_role("dialog")
            expect(dialog.get_by_text("Their API keys are revoked, too:")).to_be_visible()
            expect(dialog.get_by_text(f"ending of {name}")).to_be_visible()
            dialog.get_by_role("button", name=f"Take over kept of {name}").click()
            expect(dialog.get_by_role("button", name=f"Take over kept of {name}")).to_have_count(0)
            dialog.get_by_role("button", name="Remove member").click()
            expect(page.get_by_text(f"{name} is no longer a member.")).to_be_visible()
            assert [status_of(platform, key) for key in (staying, ending)] == [200, 401]
            theirs.get_by_role("navigation", name="Main").get_by_role("link", name="Models").click()
            expect(theirs.get_by_text("Your session has ended")).to_be_visible()
            expect(theirs.get_by_label("API key")).to_be_visible()


class TestViewers:
    @pytest.mark.long
    def test_every_screen_is_there_to_read(self, reading: Page, places: dict[str, str]) -> None:
        for name, address in SCREENS.items():
            reading.goto(address.format(**places))
            settled(reading)
            if name not in ("nothing there", "no such job"):
                assert reading.get_by_role("alert").all_inner_texts() == [], name

    @pytest.mark.parametrize(
        ("address", "action"),
        [
            ("/rewards", "New reward"),
            ("/datasets/{dataset}", "Use in a job"),
            ("/rewards/{reward}", "Use in a job"),
            ("/playground?job={job}", "Send"),
            ("/jobs/new?from={job}", "Start job"),
            ("/evaluations", "New evaluation"),
            ("/evaluations/new", "Start evaluation"),
            ("/deployments", "New deployment"),
        ],
    )
    def test_an_action_says_why_it_is_not_theirs(
        self, reading: Page, places: dict[str, str], address: str, action: str
    ) -> None:
        reading.goto(address.format(**places))
        button = reading.get_by_role("button", name=action)
        expect(button).to_have_attribute("aria-disabled", "true")
        button.focus()
        expect(reading.get_by_role("tooltip")).to_contain_text(VIEWERS)

    def test_what_they_may_not_do_is_not_offered(self, reading: Page, places: dict[str, str]) -> None:
        reading.goto("/jobs")
        settled(reading)
        expect(reading.get_by_role("link", name="New job")).to_have_count(0)
        reading.goto("/datasets")
        expect(reading.get_by_text("Only editors and owners can upload datasets.")).to_be_visible()
        expect(reading.locator("input[type=file]")).to_have_count(0)
        refused = reading.get_by_text("Only owners of the project can do this; your role is viewer.").first
        offered = reading.get_by_role("button", name=re.compile("^(Revoke|More for|New key|New webhook)"))
        for tab in ("people", "keys", "webhooks", "audit"):
            reading.goto(f"/settings?tab={tab}")
            expect(refused).to_be_visible()
            expect(offered).to_have_count(0)

    def test_the_api_refuses_it_too(self, reading: Page) -> None:
        reading.goto("/")
        settled(reading)
        answer: dict[str, Any] = reading.evaluate(
            """async () => {
                const response = await fetch('/api/v1/rewards', {
                    method: 'POST',
                    headers: {'content-type': 'application/json'},
                    body: JSON.stringify({name: 'mine', source: 'def grade(sample, item):\\n    return 1\\n'}),
                });
                return {status: response.status, body: await response.json()};
            }"""
        )
        assert answer["status"] == 403
        assert "viewer" in answer["body"]["error"]["message"]


def room(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Main").get_by_role("link", name=re.compile(f"^{name}"))


@pytest.fixture
def patient(browser: Browser, owner: StorageState, platform: Platform) -> Iterator[Page]:
    """An owner's page of which some code may be missing."""
    with visit(browser, base_url=platform.url, state=owner, forgive="CodeMissing") as page:
        page.goto("/datasets")
        settled(page)
        yield page


class TestWithoutTheServer:
    banner = "The server does not respond.Data may be outdated. Retrying every 2 s."

    def test_the_page_says_so_and_comes_back_by_itself(
        self, page: Page, client: Reinforge, tmp_path: Path
    ) -> None:
        page.goto("/datasets")
        settled(page)
        room(page, "Jobs").click()
        expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
        settled(page)
        page.evaluate("window.notReloaded = true")
        page.context.set_offline(True)
        page.get_by_label("Filter by name or ID").fill("sums")
        banner = page.get_by_role("status").filter(has_text=self.banner)
        expect(banner).to_be_visible()
        file = tmp_path / f"meanwhile-{uuid4()}.jsonl"
        file.write_text('{"prompt": "1+1=", "answer": "2"}\n')
        stored = client.datasets.push(file)
        room(page, "Datasets").click()
        expect(page.get_by_role("region", name="Datasets")).to_be_visible()
        expect(page.get_by_role("link", name=stored.name)).to_have_count(0)
        page.context.set_offline(False)
        expect(banner).to_have_count(0)
        expect(page.get_by_role("link", name=stored.name)).to_be_visible()
        assert page.evaluate("window.notReloaded")

    def test_a_screen_that_was_never_loaded_opens_once_the_server_is_back(self, patient: Page) -> None:
        patient.context.set_offline(True)
        room(patient, "Adapters").click()
        expect(patient.get_by_role("status").filter(has_text="No connection")).to_be_visible()
        expect(patient.get_by_role("status").filter(has_text=self.banner)).to_be_visible()
        patient.context.set_offline(False)
        expect(patient.get_by_role("heading", level=1, name="Adapters")).to_be_visible()

    def test_a_screen_of_an_older_build_is_fetched_again(self, patient: Page) -> None:
        """A server with another version of the page knows nothing of the code that this one asks for."""
        patient.route("**/assets/adapters*.js", lambda route: route.fulfill(status=404), times=1)
        room(patient, "Adapters").click()
        expect(patient.get_by_role("heading", level=1, name="Adapters")).to_be_visible()

    def test_typed_text_survives(self, page: Page) -> None:
        page.goto("/settings?tab=keys")
        page.get_by_role("button", name="New key").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox", name="Name").fill("kept")
        page.context.set_offline(True)
        dialog.get_by_role("button", name="Create key").click()
        expect(dialog.get_by_role("status").filter(has_text="No connection")).to_be_visible()
        expect(dialog.get_by_role("textbox", name="Name")).to_have_value("kept")


# A room, what it asks for, what it says when that fails and when there is nothing yet.
ROOMS = [
    ("/jobs", "**/api/v1/jobs?*", "Could not load jobs", "No jobs yet"),
    ("/datasets", "**/api/v1/datasets*", "Could not load datasets", "No datasets yet"),
    ("/rewards", "**/api/v1/rewards*", "Could not load rewards", "No rewards yet"),
    ("/models", "**/api/v1/models*", "Could not load models", "No models yet"),
    ("/adapters", "**/api/v1/adapters*", "Could not load adapters", "No adapters yet"),
    ("/settings?tab=people", "**/api/v1/members*", "Could not load members", "No members yet"),
    ("/settings?tab=webhooks", "**/api/v1/webhooks?*", "Could not load webhooks", "No webhooks yet"),
    ("/settings?tab=keys", "**/api/v1/keys*", "Could not load keys", "No API keys"),
    ("/evaluations", "**/api/v1/evaluations*", "Could not load evaluations", "No evaluations yet"),
    ("/deployments", "**/api/v1/deployments*", "Could not load deployments", "No deployments yet"),
]


NOTHING = {"object": "list", "data": [], "has_more": False}


class TestRooms:
    @pytest.mark.parametrize(
        ("address", "role", "action"),
        [
            ("jobs", "link", "New job"),
            ("models", "button", "Add a model"),
            ("evaluations", "link", "New evaluation"),
            ("deployments", "button", "New deployment"),
        ],
    )
    def test_an_action_is_offered_where_it_stays(
        self, page: Page, address: str, role: Literal["link", "button"], action: str
    ) -> None:
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route(re.compile(rf"/api/v1/{address}(\?|$)"), hold)
        page.goto(f"/{address}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        offered = page.get_by_role("main").get_by_role(role, name=action)
        expect(offered).to_have_count(0)
        for route in held:
            route.fulfill(json=NOTHING)
        expect(offered).to_have_count(1)

    @pytest.mark.parametrize(("address", "route_pattern", "text"), [(a, q, text) for a, q, text, _ in ROOMS])
    def test_a_failure_is_displayed_and_can_be_retried(
        self, page: Page, address: str, route_pattern: str, text: str
    ) -> None:
        def fail(route: Route) -> None:
            body = Unavailable("Something broke.", code="internal_error").envelope("req-e2e")
            route.fulfill(status=500, json=body)

        page.route(route_pattern, fail)
        page.goto(address)
        alert = page.get_by_role("alert").filter(has_text=text)
        expect(alert).to_contain_text("Something broke.")
        expect(alert.get_by_role("button", name="Copy request id")).to_be_visible()
        page.unroute(route_pattern)
        alert.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("alert")).to_have_count(0)
        settled(page)

    @pytest.mark.parametrize(
        ("address", "route_pattern", "text"), [(a, q, empty) for a, q, _, empty in ROOMS]
    )
    def test_an_empty_one_says_what_would_be_here(
        self, page: Page, address: str, route_pattern: str, text: str
    ) -> None:
        page.route(route_pattern, lambda route: route.fulfill(json=NOTHING))
        page.goto(address)
        expect(page.get_by_role("heading", name=text)).to_be_visible()
