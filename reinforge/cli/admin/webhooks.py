"""Commands under `reinforge webhook`."""

import time
from typing import Annotated

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.exits import Exit
from reinforge.cli.output import Json, err, out
from reinforge.client import Reinforge
from reinforge.schemas.webhooks import WebhookDeliveryDetail

app = typer.Typer(
    help="Webhooks of the project: addresses that the server calls when something happens; for owners.",
    no_args_is_help=True,
)
WebhookId = Annotated[str, typer.Argument(help="Id of the webhook.")]


@app.command("list")
def list_webhooks(json: Json = False) -> None:
    """List the webhooks."""
    with connect() as client:
        webhooks = list(client.webhooks.list())
    output.listing(
        webhooks,
        ["id", "url", "events", "state", "description"],
        lambda webhook: [
            webhook.id,
            webhook.url,
            " ".join(webhook.events) or "all",
            "on"
            if webhook.enabled
            else f"off{f' ({webhook.disabled_reason})' if webhook.disabled_reason else ''}",
            webhook.description or "",
        ],
        empty="No webhooks. Create one: reinforge webhook create https://example.org/hook",
        json=json,
    )


@app.command("create")
def create_webhook(
    url: Annotated[str, typer.Argument(help="Where the server sends events.")],
    event: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this event, such as fine_tuning.job.succeeded. Repeat for more; default: all."
        ),
    ] = None,
    description: Annotated[str | None, typer.Option(help="What the webhook is for.")] = None,
    json: Json = False,
) -> None:
    """Create a webhook and print the secret that signs its requests, which is shown only once."""
    with connect() as client:
        created = client.webhooks.create(url, events=event or (), description=description)
    if json:
        output.print_json(created)
        return
    err.print(f"{created.id} sends to {created.url}. Its secret is shown only now:", markup=False)
    out.print(created.secret)


@app.command("test")
def test_webhook(
    id: WebhookId,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the first answer.", min=0)] = 30.0,
    json: Json = False,
) -> None:
    """Send a `webhook.test` event and print the answer. Exit 1 if it fails, 124 without an answer."""
    with connect() as client:
        delivery = _first_try(client, id, client.webhooks.test(id).id, timeout)
    if json:
        output.print_json(delivery)
    elif not delivery.log:
        err.print(f"No answer yet after {timeout:g} s; the server keeps trying.")
    else:
        attempt = delivery.log[-1]
        answer = f"HTTP {attempt.status}" if attempt.status is not None else (attempt.error or "no answer")
        err.print(f"{delivery.id}: {answer}", markup=False, soft_wrap=True)
    if delivery.state != "delivered":
        raise typer.Exit(Exit.FAILED if delivery.log else Exit.TIMEOUT)


def _first_try(client: Reinforge, webhook: str, id: str, timeout: float) -> WebhookDeliveryDetail:
    deadline = time.monotonic() + timeout
    while True:
        delivery = client.webhooks.delivery(webhook, id)
        if delivery.log or time.monotonic() >= deadline:
            return delivery
        time.sleep(0.2)


@app.command("delete")
def delete_webhook(id: WebhookId) -> None:
    """Delete a webhook and its undelivered events."""
    with connect() as client:
        client.webhooks.delete(id)
    err.print(f"{id} is deleted")
