"""Pictures of the page for README and guide, with the data of real jobs: `make screens`.

Starts a platform of its own in a temporary home, runs the demo job and a shorter one that is replayed, labelled,
forked, evaluated and deployed (`screens_data.py`), and has Chromium take the pictures that the pages refer to
(`pictures.py`) into `docs/img`; pictures there that no page refers to are deleted.

`--only job,start` takes some of them. `--all --out FOLDER` takes every screen at 1440, 1024 and 390 px, light and dark.
`--serve` takes none and serves the data until it is stopped, for work on the page (`REINFORGE_URL=… npm run dev`).
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from pictures import IMAGES, screens, unreferenced
from screens_data import RECEIVER_HOST, prepare, receiver

from reinforge.client import Reinforge
from reinforge.net.outbound import ALLOW_VARIABLE
from reinforge.platform.up import Platform

FRONTEND = Path(__file__).resolve().parents[1] / "frontend"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--only", help="names of screens, with commas")
    parser.add_argument(
        "--all", action="store_true", help="every screen, width and theme; needs another --out"
    )
    parser.add_argument("--serve", action="store_true", help="serve the data instead of taking pictures")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("options", nargs="*", help="passed on to frontend/e2e/screens.mjs, after --")
    arguments = parser.parse_args()
    if arguments.all and arguments.out == IMAGES:
        parser.error("--all needs --out FOLDER: docs/img holds the pictures that pages show")
    options = ["--out", str(arguments.out.resolve()), *selection(arguments), *arguments.options]
    key = f"rf-{secrets.token_urlsafe(24)}"
    os.environ.setdefault(ALLOW_VARIABLE, RECEIVER_HOST)
    with (
        tempfile.TemporaryDirectory() as home,
        receiver() as hooks,
        Platform(Path(home), port=arguments.port, bootstrap_api_key=key, say=print) as platform,
    ):
        begin = time.monotonic()
        with Reinforge(platform.url, key) as client:
            print("preparing the data: the demo job, three others, evaluations, a deployment", flush=True)
            headers = {"authorization": f"Bearer {key}"}
            with httpx.Client(base_url=f"{platform.url}/api/v1/", headers=headers, timeout=120) as api:
                places = json.dumps(prepare(client, api, hooks))
        print(f"the data is ready after {time.monotonic() - begin:.0f} s", flush=True)
        command = ["node", "e2e/screens.mjs", "--url", platform.url, "--key", key, "--places", places]
        if arguments.serve:
            print(f"serving. For pictures, in frontend/: {' '.join(command[:-1])} '{places}'", flush=True)
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
            return
        done = subprocess.run([*command, *options], cwd=FRONTEND, check=False)
        print(f"done after {time.monotonic() - begin:.0f} s")
    if done.returncode == 0 and arguments.out == IMAGES:
        for picture in unreferenced(IMAGES):
            picture.unlink()
    sys.exit(done.returncode)


def selection(arguments: argparse.Namespace) -> list[str]:
    """Options of `screens.mjs` that say which pictures to take."""
    only = ["--only", arguments.only] if arguments.only else []
    return only if arguments.all else ["--pictures", ",".join(screens()), *only]


if __name__ == "__main__":
    main()
