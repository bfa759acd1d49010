"""Command `reinforge adapter merge`."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from reinforge import settings
from reinforge.cli import output
from reinforge.cli.admin.serve import need
from reinforge.cli.output import Json, err, out
from reinforge.cli.publish.card import write_card
from reinforge.cli.publish.weights import FetchedAdapter, base_source, fetch
from reinforge.cli.results.weights import Final, Step
from reinforge.offline.located import locate
from reinforge.offline.merge import MergedModel
from reinforge.offline.merge import merge as merge_weights

AdapterId = Annotated[
    str,
    typer.Argument(
        help="A job (ftjob-…: its best checkpoint), an adapter (adp_…), or a PEFT folder.", metavar="ADAPTER"
    ),
]
Base = Annotated[
    Path | None,
    typer.Option("--base", help="Folder of the base model, if it is neither built in nor on the hub."),
]


def merge(
    id: AdapterId,
    to: Annotated[Path, typer.Option("--out", "-o", help="New folder for the merged model.")] = Path(
        "merged"
    ),
    base: Base = None,
    archive: Annotated[
        bool, typer.Option("--archive", help="Also write the folder as a .tar beside it.")
    ] = False,
    final: Final = False,
    step: Step = None,
    json: Json = False,
) -> None:
    """Merge an adapter into its base model. The result is a model folder, as fast as the base model.

    The merge is computed in float32 on this machine and cast to the base model's precision.
    """
    need("worker")
    with tempfile.TemporaryDirectory(prefix="rf-merge-") as folder:
        merged = merge_fetched(
            fetch(id, Path(folder) / "adapter", final=final, step=step), base, to, archive=archive
        )
    if json:
        output.print_json(merged)
        return
    err.print(
        f"{', '.join(merged.precision)}; log-probabilities differ by at most {merged.largest_difference:.1e} from "
        "those of the base model with the adapter in float32",
        soft_wrap=True,
    )
    out.print(merged.archive or merged.out, markup=False, soft_wrap=True)


def merge_fetched(
    adapter: FetchedAdapter, base: Path | None, to: Path, *, archive: bool = False
) -> MergedModel:
    """Write the merged model and its model card to the new folder `to`."""
    to = to.resolve()
    model = locate(base_source(adapter, base), settings.model_cache(), "--base")
    return merge_weights(model.folder, adapter.folder, to, archive=archive, card=_card(adapter))


def _card(adapter: FetchedAdapter) -> str | None:
    return None if adapter.facts is None else write_card(adapter.facts, merged="as the base model")
