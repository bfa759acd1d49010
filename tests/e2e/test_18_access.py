"""Keys with scopes and an end, invitations that are made, renewed and withdrawn, and a link to set a password."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
from playwright.sync_api import Browser, Page, expect

from reinforge.client import Reinforge
from reinforge.platform.up import Platform
from tests.e2e.browser import visit


def test_a_key_may_do_what_was_ticked_until_its_day(
    page: Page, client: Reinforge, platform: Platform
) -> None:
    name = f"ci {uuid4()}"
    page.goto("/settings?tab=keys")
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill(name)
    dialog.get_by_role("radio", name="Selected scopes").check()
    expect(dialog.get_by_role("checkbox", name="admin")).to_have_count(0)
    dialog.get_by_role("checkbox", name="read").uncheck()
    expect(dialog.get_by_role("button", name="Create key")).to_be_disabled()
    dialog.get_by_role("checkbox", name="inference").check()
    end = dialog.get_by_label("Expires")
    end.fill("2001-01-01")
    expect(dialog.get_by_text("A date from tomorrow to ten years from now.")).to_be_visible()
    expect(dialog.get_by_role("button", name="Create key")).to_be_disabled()
    dialog.get_by_role("button", name="30 days").click()
    dialog.get_by_role("button", name="Create key").click()
    secret = page.get_by_role("region", name="API key secret").inner_text()
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("inference")
    (made,) = [item for item in client.keys.list() if item.name == name]
    assert made.scopes == ["inference"] and made.expires_at is not None
    left = made.expires_at - datetime.now(UTC)
    assert timedelta(days=29) < left <= timedelta(days=30)
    headers = {"authorization": f"Bearer {secret}"}
    refused = httpx.get(f"{platform.url}/api/v1/jobs", headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "missing_scope")
    assert httpx.get(f"{platform.url}/v1/models", headers=headers).status_code == 200


def test_an_invitation_is_made_renewed_and_withdrawn(
    page: Page, browser: Browser, client: Reinforge, platform: Platform
) -> None:
    note = f"for {uuid4()}"
    page.goto("/settings?tab=people")
    page.get_by_role("button", name="New invitation").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Recipient").fill(note)
    dialog.get_by_role("combobox", name="Role").select_option("viewer")
    dialog.get_by_role("combobox", name="Expires after").select_option("30")
    dialog.get_by_role("button", name="Create invitation").click()
    address = page.get_by_role("region", name="Invitation link")
    lost = address.inner_text()
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row").filter(has_text=note)
    expect(row).to_contain_text("viewer")
    row.get_by_role("button", name=f"New link for {note}").click()
    current = address.inner_text()
    page.get_by_role("button", name="Done").click()
    assert current != lost
    expect(row).to_have_count(1)
    with visit(browser, base_url=platform.url) as theirs:
        theirs.goto(lost)
        expect(
            theirs.get_by_text("This invitation is not valid").or_(theirs.get_by_role("alert"))
        ).to_be_visible()
        theirs.goto(current)
        expect(theirs.get_by_text("You are invited as viewer.")).to_be_visible()
    row.get_by_role("button", name=f"Revoke {note}").click()
    expect(page.get_by_text("Invitation revoked")).to_be_visible()
    expect(row).to_have_count(0)
    with visit(browser, base_url=platform.url) as theirs:
        theirs.goto(current)
        expect(theirs.get_by_role("alert")).to_be_visible()


def test_an_owner_hands_out_a_link_to_set_a_password(
    page: Page, browser: Browser, platform: Platform
) -> None:
    name = f"Paula {uuid4()}"
    page.goto("/settings?tab=people")
    page.get_by_role("button", name="Add a person").click()
    page.get_by_role("dialog").get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("dialog").get_by_role("button", name="Create link").click()
    page.get_by_role("dialog").get_by_role("button", name="Done").click()
    page.get_by_role("button", name=f"More for {name}").click()
    page.get_by_role("menuitem", name="Link to set a password").click()
    link = page.get_by_role("region", name="One-time password link").inner_text()
    with visit(browser, base_url=platform.url) as theirs:
        theirs.goto(link)
        theirs.get_by_role("textbox", name="E-mail address").fill(f"{uuid4()}@example.org")
        theirs.get_by_role("textbox", name="New password").fill("correct horse battery")
        theirs.get_by_role("button", name="Set password").click()
        expect(theirs.get_by_role("navigation", name="Main")).to_be_visible()
    with visit(browser, base_url=platform.url) as again:
        again.goto(link)
        again.get_by_role("textbox", name="E-mail address").fill(f"{uuid4()}@example.org")
        again.get_by_role("textbox", name="New password").fill("correct horse battery")
        again.get_by_role("button", name="Set password").click()
        expect(again.get_by_role("alert")).to_be_visible()
