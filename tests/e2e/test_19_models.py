"""Adding a base model in the page: the download is watched, and a model without a chat template is offered one."""

import re
import threading

from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from tests.support.hub_stub import HubStub, Repository
from tests.support.small_models import model_files


def add(page: Page, source: str, id: str) -> None:
    """Opens the page on which inspection is watched."""
    page.goto("/models")
    page.get_by_role("button", name="Add a model").click()
    dialog = page.get_by_role("dialog", name="Add a base model")
    dialog.get_by_role("textbox", name="Source").fill(source)
    dialog.get_by_role("textbox", name="ID").fill(id)
    dialog.get_by_role("button", name="Inspect and add").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("heading", level=1, name=id)).to_be_visible()


def test_a_download_is_watched_and_a_template_offered(page: Page, client: Reinforge, hub: HubStub) -> None:
    hold = threading.Event()
    # The half that comes before the hold is more than the 10 MB that the hub's client reads at once.
    hub.repositories["org/speechless"] = Repository(model_files(template=False, rows=1_500_000), hold=hold)
    add(page, "hub:org/speechless", "speechless")
    try:
        expect(page.get_by_text("Downloading", exact=True)).to_be_visible()
        expect(page.get_by_text(re.compile(r"Downloading, 1[0-9.]* MB of 24[0-9.]* MB"))).to_be_visible()
        bar = page.get_by_role("progressbar", name="Inspection in progress")
        done, total = (bar.evaluate(f"bar => bar.{name}") for name in ("value", "max"))
        assert 0 < done < total
        # It goes on, and the list says how far it is.
        page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Models").click()
        row = page.get_by_role("row").filter(has_text="speechless")
        expect(row).to_contain_text(re.compile("[1-9][0-9]%"))
    finally:
        hold.set()

    row.get_by_role("link", name="speechless").click()
    expect(page.get_by_text("Model not usable")).to_be_visible()
    page.get_by_role("button", name="Inspect again").click()
    dialog = page.get_by_role("dialog", name="Add a base model")
    offered = dialog.get_by_label("Chat template")
    expect(offered).to_have_value("plain")
    expect(dialog.get_by_role("textbox", name="Source")).to_have_value(re.compile("^hub:org/speechless"))
    dialog.get_by_role("button", name="Inspect and add").click()
    expect(page.get_by_text("Messages use the template of the model")).to_be_visible()
    expect(page.get_by_role("link", name="New job")).to_be_visible()
    expect(page.get_by_text("No jobs on this model yet.")).to_be_visible()
    model = client.models.get("speechless")
    assert (model.status, model.has_chat_template) == ("ready", True)
    client.models.remove("speechless")
