"""Commands under `reinforge judge`."""

from typing import Annotated, Any

import typer

from reinforge.cli import output
from reinforge.cli.connection import connect
from reinforge.cli.output import Json, err, number, out
from reinforge.errors import InvalidInput
from reinforge.settings import variable

app = typer.Typer(
    help="Judges: models that graders call on any OpenAI-compatible server.", no_args_is_help=True
)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name by which graders refer to the judge.")],
    base_url: Annotated[
        str, typer.Option(help="Address before /chat/completions, such as https://api.openai.com/v1.")
    ],
    model: Annotated[str, typer.Option(help="Name of the model on that server.")],
    key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the API key, which is sent once and stored encrypted."),
    ] = None,
    input_price: Annotated[float, typer.Option(help="Price per million input tokens.", min=0)] = 0.0,
    output_price: Annotated[float, typer.Option(help="Price per million output tokens.", min=0)] = 0.0,
    structured: Annotated[str, typer.Option(help="json_schema, json_object or prompt.")] = "json_schema",
    concurrency: Annotated[
        int, typer.Option(help="Maximum number of requests at a time.", min=1, max=256)
    ] = 8,
    timeout: Annotated[
        float, typer.Option(help="Seconds after which one try fails.", min=0.1, max=600)
    ] = 60.0,
    json: Json = False,
) -> None:
    """Add a judge to the project, or change the judge of the same name. For owners."""
    settings: dict[str, Any] = {
        "base_url": base_url,
        "model": model,
        "input_price": input_price,
        "output_price": output_price,
        "structured": structured,
        "concurrency": concurrency,
        "timeout_seconds": timeout,
    }
    if key_env is not None:
        settings["api_key"] = variable(key_env)
        if not settings["api_key"]:
            raise InvalidInput(
                f"The environment variable {key_env} is not set.", code="usage", param="key_env"
            )
    with connect() as client:
        etags = {judge.name: judge.etag for judge in client.judges.list()}
        judge = (
            client.judges.change(name, etag=etags[name], **settings)
            if name in etags
            else client.judges.add(name, **settings)
        )
    if json:
        output.print_json(judge)
    else:
        err.print(
            f"{judge.name}: {judge.model} at {judge.base_url}, {'with' if judge.has_key else 'without'} a key"
        )
        out.print(judge.id)


@app.command("list")
def list_judges(json: Json = False) -> None:
    """List the judges of the project."""
    with connect() as client:
        judges = client.judges.list()
    if json:
        output.print_json(judges)
        return
    output.print_table(
        ["name", "model", "address", "key", "price in", "price out"],
        (
            [
                judge.name,
                judge.model,
                judge.base_url,
                "yes" if judge.has_key else "no",
                number(judge.input_price),
                number(judge.output_price),
            ]
            for judge in judges
        ),
        empty="No judges yet. Add one: reinforge judge add NAME --base-url URL --model MODEL --key-env VARIABLE",
    )


@app.command()
def remove(name: Annotated[str, typer.Argument(help="Name of the judge.")]) -> None:
    """Remove a judge and its key. Jobs that use it pause at their next attempt."""
    with connect() as client:
        client.judges.remove(name)
    err.print(f"{name} is removed")
