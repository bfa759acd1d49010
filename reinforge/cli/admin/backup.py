"""Commands `reinforge backup` and `reinforge restore`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from reinforge.cli.admin.serve import Home
from reinforge.cli.output import Json, err, result, size
from reinforge.platform.backup import Manifest
from reinforge.platform.backup import Progress as ProgressCallback

Folder = Annotated[Path, typer.Argument(help="Folder of the backup.")]


def backup(folder: Folder, home: Home = Path(".reinforge"), json: Json = False) -> None:
    """Copy database and stored objects to a folder, even while the platform runs.

    A second run copies only new objects."""
    from reinforge.platform.backup import backup as make

    with _bar("Copying objects") as progress:
        manifest = make(home.resolve(), folder.resolve(), progress)
    _say(manifest, f"The backup is in {folder.resolve()}.", json=json)


def restore(folder: Folder, home: Home = Path(".reinforge"), json: Json = False) -> None:
    """Restore a backup into an empty data folder."""
    from reinforge.platform.backup import restore as make

    with _bar("Restoring objects") as progress:
        manifest = make(folder.resolve(), home.resolve(), progress)
    _say(manifest, f"Restored to {home.resolve()}. Start it with: reinforge up --home {home}", json=json)


def _say(manifest: Manifest, sentence: str, *, json: bool) -> None:
    what = f"{manifest.count:,} objects, {size(manifest.bytes)}"
    about = f"{what}; version {manifest.version}, schema {manifest.revision}, {manifest.made_at:%Y-%m-%d %H:%M} UTC"
    result(manifest, about, sentence, json=json)


@contextmanager
def _bar(text: str) -> Iterator[ProgressCallback]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
