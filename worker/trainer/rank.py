"""One further rank of a job: `python -m worker.trainer.rank --run DIR --rank N --size N`. torchrun starts it
without the numbers.
"""

import argparse
import faulthandler
import signal
import warnings
from pathlib import Path

from transformers.utils.logging import disable_progress_bar

from reinforge.records import RunManifest
from worker.machine import settings
from worker.machine.portable_error import portable
from worker.policy.load import load_base_model
from worker.policy.ranks.group import Store, refuse_start
from worker.policy.ranks.server import RankServer, end_at_once
from worker.trainer.models import trained_models
from worker.trainer.plugins import checked_spec
from worker.trainer.ranks import STORE, file_store, rank_group, torchrun_store


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m worker.trainer.rank", description="A rank of one job.")
    parser.add_argument("--run", type=Path, required=True, help="folder with run.json")
    parser.add_argument("--rank", type=int, help="from 1")
    parser.add_argument("--size", type=int, help="number of ranks")
    arguments = parser.parse_args()
    disable_progress_bar()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    faulthandler.register(signal.SIGUSR1)
    settings.hide_devices()
    settings.use_local_device()
    folder: Path = arguments.run
    manifest = RunManifest.model_validate_json((folder / "run.json").read_text(encoding="utf-8"))
    if arguments.rank is None:
        serve(manifest, *torchrun_store())
    else:
        serve(manifest, file_store(folder / STORE, arguments.size), arguments.rank, arguments.size)


def serve(manifest: RunManifest, store: Store, rank: int, size: int) -> None:
    folder = Path(manifest.model_path)
    try:
        spec = checked_spec(manifest.spec)
        sharded = spec.base.sharded
        # The ranks divide a base model between them while they load it.
        group = rank_group(store, rank, size, sharded=True) if sharded else None
        base = load_base_model(folder, precision=spec.base.precision, sharded=sharded)
        if group is not None:
            group.meet("loaded")
        models = trained_models(spec, base, folder, ranks=size)
    except Exception as error:  # noqa: BLE001 - raised by rank 0
        refuse_start(store, portable(error, f"rank {rank}"))
        end_at_once()
    group = group or rank_group(store, rank, size, sharded=False)
    RankServer(group, models.policy, models.critic).run()


if __name__ == "__main__":
    main()
