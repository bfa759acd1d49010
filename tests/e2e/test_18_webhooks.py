"""Webhooks on the page: made, tested against a real receiver, their log read, sent again, switched off, deleted."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.net.webhook_signature import verify
from tests.e2e.places import RECEIVER
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def address(stub: StubServer) -> str:
    return stub.url.replace("127.0.0.1", RECEIVER) + "/hooks"


def make(page: Page, url: str) -> str:
    """In the form; the secret."""
    page.goto("/settings?tab=webhooks")
    page.get_by_role("button", name="New webhook").click()
    dialog = page.get_by_role("dialog", name="New webhook")
    dialog.get_by_role("textbox", name="URL").fill(url)
    dialog.get_by_role("textbox", name="Description").fill("e2e")
    dialog.get_by_role("radio", name="Selected events").check()
    expect(dialog.get_by_role("button", name="Create webhook")).to_be_disabled()
    dialog.get_by_role("checkbox", name="evaluation.failed").check()
    dialog.get_by_role("button", name="Create webhook").click()
    secret = page.get_by_role("region", name="Webhook secret").inner_text()
    page.get_by_role("button", name="Done").click()
    return secret


def log(page: Page) -> Locator:
    return page.get_by_role("region", name="Deliveries", exact=True)


def more(page: Page, url: str, item: str) -> None:
    page.get_by_role("button", name=f"More for {url.removeprefix('http://')}").click()
    page.get_by_role("menuitem", name=item).click()


def test_from_its_secret_to_its_end(page: Page, client: Reinforge, stub: StubServer) -> None:
    stub.on("POST", "/hooks", Answer(500), Answer(204))
    url = address(stub)
    secret = make(page, url)
    (made,) = [webhook for webhook in client.webhooks.list() if webhook.url == url]
    assert (made.events, made.description) == (["evaluation.failed"], "e2e")
    assert secret not in page.content()
    page.get_by_role("button", name=url.removeprefix("http://"), exact=True).click()
    expect(page.get_by_text("No deliveries yet.")).to_be_visible()

    page.get_by_role("button", name="Send test").click()
    first = log(page).get_by_role("row").nth(1)
    expect(first).to_contain_text("webhook.test")
    first.get_by_role("button", name=re.compile("^Send (again|now): ")).wait_for()
    expect(first).to_contain_text(re.compile("Delivered|retrying"))
    first.get_by_role("button", name="webhook.test", exact=True).click()
    peek = page.get_by_role("dialog")
    tries = peek.get_by_role("listitem")
    expect(tries.first).to_contain_text("500 answered 500")
    expect(tries.nth(1)).to_contain_text("204 received")
    expect(peek.get_by_role("region", name="Delivery body")).to_contain_text('"type": "webhook.test"')
    peek.get_by_role("button", name="Close").click()
    expect(first).to_contain_text("Delivered")
    for request in stub.requests:
        assert verify(secret, request.headers, request.body)

    first.get_by_role("button", name=re.compile("^Send (again|now): ")).click()
    expect(page.get_by_text("Sent again")).to_be_visible()
    expect(first).to_contain_text("delivered at attempt 3")

    more(page, url, "Disable")
    expect(page.get_by_text(re.compile("is disabled\\.$"))).to_be_visible()
    assert client.webhooks.get(made.id).enabled is False
    more(page, url, "Change…")
    page.get_by_role("dialog").get_by_role("radio", name="All events").check()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Webhook changed.")).to_be_visible()
    assert client.webhooks.get(made.id).events == []
    more(page, url, "New secret")
    assert page.get_by_role("region", name="Webhook secret").inner_text() != secret
    page.get_by_role("button", name="Done").click()
    more(page, url, "Delete…")
    page.get_by_role("dialog").get_by_role("button", name="Delete webhook").click()
    expect(page.get_by_text("Webhook deleted.")).to_be_visible()
    assert url not in [webhook.url for webhook in client.webhooks.list()]


def test_a_refused_address_is_reported_at_its_field(page: Page, client: Reinforge) -> None:
    before = [webhook.id for webhook in client.webhooks.list()]
    page.goto("/settings?tab=webhooks")
    page.get_by_role("button", name="New webhook").click()
    dialog = page.get_by_role("dialog", name="New webhook")
    field = dialog.get_by_role("textbox", name="URL")
    field.fill("http://169.254.169.254/latest")
    dialog.get_by_role("button", name="Create webhook").click()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(dialog).to_contain_text("169.254.169.254")
    assert [webhook.id for webhook in client.webhooks.list()] == before
