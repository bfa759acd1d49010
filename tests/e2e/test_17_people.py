"""A password, an invitation, another project, a budget and the audit log, as people use them."""

import re
from uuid import uuid4

from playwright.sync_api import Browser, Locator, Page, expect

from reinforge.client import Reinforge
from reinforge.platform.up import Platform
from tests.e2e.browser import visit
from tests.e2e.test_9_screens import settled

PASSWORD = "correct horse battery"


def section(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def joined(page: Page, client: Reinforge, role: str = "editor") -> str:
    """Accept an invitation in a browser in which nobody is signed in; the new person's name."""
    name = f"Ina {uuid4()}"
    page.goto(client.members.invite(role).url)  # type: ignore[arg-type]
    expect(page.get_by_role("heading", name="Join default")).to_be_visible()
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    return name


def test_an_invited_person_joins_sets_a_password_and_signs_in_with_it(
    browser: Browser, client: Reinforge, platform: Platform
) -> None:
    email = f"{uuid4()}@example.org"
    with visit(browser, base_url=platform.url) as page:
        name = joined(page, client)
        page.goto("/settings")
        account = section(page, "Account")
        account.get_by_role("textbox", name="E-mail address").fill(email)
        account.get_by_role("textbox", name="New password").fill(PASSWORD)
        account.get_by_role("button", name="Set password").click()
        expect(page.get_by_text("The password is set.")).to_be_visible()
    with visit(browser, base_url=platform.url) as again:
        again.goto("/sign-in")
        again.get_by_role("button", name="Sign in with e-mail and password").click()
        again.get_by_role("textbox", name="E-mail address").fill(email)
        again.get_by_role("textbox", name="Password").fill(PASSWORD)
        again.get_by_role("button", name="Sign in", exact=True).click()
        expect(again.get_by_role("navigation", name="Main")).to_be_visible()
        again.goto("/settings")
        expect(section(again, "You")).to_contain_text(name)


def test_a_forgotten_password_is_reset_with_an_address(
    browser: Browser, client: Reinforge, platform: Platform
) -> None:
    with visit(browser, base_url=platform.url) as page:
        name = joined(page, client)
        [member] = [item for item in client.members.list() if item.name == name]
        page.goto(client.members.reset_password(member.id).url)
        page.get_by_role("textbox", name="E-mail address").fill(f"{uuid4()}@example.org")
        page.get_by_role("textbox", name="New password").fill(PASSWORD)
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()


def test_a_new_project_is_empty_and_one_switches_back(
    browser: Browser, client: Reinforge, platform: Platform
) -> None:
    name = f"second {uuid4()}"
    with visit(browser, base_url=platform.url) as page:
        joined(page, client, "owner")
        page.goto("/settings?tab=project")
        page.get_by_role("button", name="New project").click()
        page.get_by_role("dialog").get_by_role("textbox", name="Name").fill(name)
        page.get_by_role("dialog").get_by_role("button", name="Create project").click()
        switch = page.get_by_role("combobox", name="Project", exact=True)
        expect(switch.locator("option:checked")).to_have_text(name)
        page.goto("/datasets")
        expect(page.get_by_role("heading", name="No datasets yet")).to_be_visible()
        switch.select_option(label="default")
        expect(switch.locator("option:checked")).to_have_text("default")
        switch.select_option(label=name)
        expect(switch.locator("option:checked")).to_have_text(name)
        page.goto("/settings?tab=project")
        page.get_by_role("button", name="Delete…", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Delete project")).to_be_disabled()
        dialog.get_by_role("textbox").fill(name)
        dialog.get_by_role("button", name="Delete project").click()
        expect(page.get_by_role("combobox", name="Project", exact=True)).to_have_count(0)


def test_owners_see_usage_set_budgets_and_read_who_did_what(
    page: Page, browser: Browser, client: Reinforge, platform: Platform
) -> None:
    page.goto("/settings?tab=usage")
    settled(page)
    usage = section(page, "Usage")
    expect(usage.get_by_role("img", name="Storage by day")).to_be_visible()
    usage.get_by_role("combobox", name="Budget for").select_option("judge_spend")
    usage.get_by_role("textbox", name="Amount").fill("1000000")
    usage.get_by_role("button", name="Set", exact=True).click()
    expect(usage.get_by_role("row").filter(has_text="Judges, per month")).to_contain_text("open")
    usage.get_by_role("button", name="Remove the budget of Judges").click()
    expect(usage.get_by_role("row").filter(has_text="Judges, per month")).to_have_count(0)
    page.goto("/settings?tab=audit")
    log = section(page, "Audit log")
    expect(log.get_by_role("row").filter(has_text="set budget").first).to_be_visible()
    log.get_by_role("textbox", name="Search entries").fill("remove budget")
    expect(log.get_by_role("row").filter(has_text="remove budget").first).to_be_visible()
    expect(log.get_by_role("row").filter(has_text="set budget")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"q=remove"))
    log.get_by_role("textbox", name="Search entries").fill("nobody-did-this")
    expect(log.get_by_role("status")).to_have_text("No matching entries.")


def test_a_viewer_sees_usage_and_neither_budgets_to_set_nor_the_log(
    browser: Browser, client: Reinforge, platform: Platform
) -> None:
    link = client.members.invite("viewer").url
    with visit(browser, base_url=platform.url) as page:
        page.goto(link)
        page.get_by_role("textbox", name="Name").fill(f"Vic {uuid4()}")
        page.get_by_role("button", name="Join").click()
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        page.goto("/settings?tab=usage")
        expect(section(page, "Usage").get_by_role("img", name="Sampled tokens by day")).to_be_visible()
        expect(section(page, "Usage").get_by_role("button", name="Set", exact=True)).to_have_count(0)
        for tab, name in (("audit", "Audit log"), ("keys", "API keys"), ("webhooks", "Webhooks")):
            page.goto(f"/settings?tab={tab}")
            expect(section(page, name)).to_contain_text("Only owners of the project can do this")
        page.goto("/settings?tab=people")
        expect(section(page, "Invitations")).to_contain_text("Only owners of the project can do this")
