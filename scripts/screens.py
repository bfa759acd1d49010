"""Pictures of every screen, with the data of real jobs: `make screens`.

Starts a platform of its own in a temporary home, runs the demo job and a shorter one beside it, and has Chromium take
pictures at 1440, 1024 and 390 px, light and dark, into `docs/img`. Takes about six minutes on two cores.
"""

import argparse
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

from reinforge.client import Reinforge
from reinforge.demo import job_file
from reinforge.platform.up import Platform

ROOT = Path(__file__).resolve().parents[1]
FRONTEND = ROOT / "frontend"


def run_jobs(client: Reinforge) -> str:
    """The demo job's id, once it and a second job have ended."""
    demo = client.jobs.start_demo()
    files = job_file().parent
    data = client.datasets.push(files / "additions.jsonl")
    reward = client.rewards.push(files / "reward.py", name="correct sum")
    second = client.jobs.create(
        {
            "name": "Additions, Dr. GRPO",
            "model": "starter-arith",
            "data": {"dataset": data.id, "columns": {"answer": "answer"}},
            "rewards": [{"name": "correct", "reward": reward.id}],
            "algorithm": {"preset": "dr_grpo"},
            "rollout": {"prompts_per_step": 8, "completions_per_prompt": 8, "max_completion_tokens": 56},
            "optimizer": {"learning_rate": 6e-4},
            "limits": {"steps": 20, "checkpoint_every": 10},
        }
    )
    for job in (demo, second):
        status = client.jobs.wait(job.id, timeout=900).status
        if status != "succeeded":
            raise SystemExit(f"{job.id} is {status}: no pictures")
    return demo.id


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "img")
    parser.add_argument("options", nargs="*", help="passed on to frontend/e2e/screens.mjs, after --")
    arguments = parser.parse_args()
    key = f"rf-{secrets.token_urlsafe(24)}"
    with (
        tempfile.TemporaryDirectory() as home,
        Platform(Path(home), port=0, bootstrap_api_key=key, say=print) as platform,
    ):
        with Reinforge(platform.url, key) as client:
            print("training the demo job and a second one", flush=True)
            job = run_jobs(client)
        command = ["node", "e2e/screens.mjs", "--url", platform.url, "--key", key, "--job", job]
        out = ["--out", str(arguments.out.resolve())]
        done = subprocess.run([*command, *out, *arguments.options], cwd=FRONTEND, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
