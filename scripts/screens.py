"""Pictures of every screen, with the data of real jobs: `make screens`.

Starts a platform of its own in a temporary home, runs the demo job and a shorter one that is replayed, labelled,
forked, evaluated and deployed (`screens_data.py`), and has Chromium take pictures at 1440, 1024 and 390 px, light and
dark, into `docs/img`. Takes about twelve minutes on two cores. `--serve` takes no pictures: it serves the same data
until it is stopped, for work on the page (`REINFORGE_URL=… npm run dev`).
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
from screens_data import RECEIVER_HOST, prepare, receiver

from reinforge.client import Reinforge
from reinforge.outbound import ALLOW_VARIABLE
from reinforge.platform.up import Platform

ROOT = Path(__file__).resolve().parents[1]
FRONTEND = ROOT / "frontend"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "img")
    parser.add_argument("--serve", action="store_true", help="serve the data instead of taking pictures")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("options", nargs="*", help="passed on to frontend/e2e/screens.mjs, after --")
    arguments = parser.parse_args()
    key = f"rf-{secrets.token_urlsafe(24)}"
    os.environ.setdefault(ALLOW_VARIABLE, RECEIVER_HOST)
    with (
        tempfile.TemporaryDirectory() as home,
        receiver() as hooks,
        Platform(Path(home), port=arguments.port, bootstrap_api_key=key, say=print) as platform,
    ):
        with Reinforge(platform.url, key) as client:
            print("training the demo job and three others", flush=True)
            headers = {"authorization": f"Bearer {key}"}
            with httpx.Client(base_url=f"{platform.url}/api/v1/", headers=headers, timeout=120) as api:
                places = json.dumps(prepare(client, api, hooks))
        command = ["node", "e2e/screens.mjs", "--url", platform.url, "--key", key, "--places", places]
        if arguments.serve:
            print(f"serving. For pictures, in frontend/: {' '.join(command[:-1])} '{places}'", flush=True)
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
            return
        out = ["--out", str(arguments.out.resolve())]
        done = subprocess.run([*command, *out, *arguments.options], cwd=FRONTEND, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
