"""A program of the user's own trains a model: the example's files, the command line, the whole platform."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from playwright.sync_api import Page, expect

from reinforge.client import Reinforge
from reinforge.platform.up import Platform
from scripts.openai_sdks import install
from tests.e2e.conftest import KEY

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "own-program"
CLI = [sys.executable, "-m", "reinforge.cli.main"]


def small_job(folder: Path) -> Path:
    """The example's job with two steps of 16 completions, in a folder of its own."""
    shutil.copytree(EXAMPLE, folder)
    shutil.copytree(ROOT / "examples" / "calculator-agent", folder.parent / "calculator-agent")
    file = folder / "job.yaml"
    job = yaml.safe_load(file.read_text(encoding="utf-8"))
    job["rollout"] |= {"prompts_per_step": 4, "completions_per_prompt": 4}
    job |= {"evaluation": {"rows": 2, "every_steps": 0, "samples_per_row": 1}, "limits": {"steps": 2}}
    file.write_text(yaml.safe_dump(job), encoding="utf-8")
    return file


def test_a_job_is_trained_by_the_program_of_the_example(
    page: Page, client: Reinforge, platform: Platform, tmp_path: Path
) -> None:
    file = small_job(tmp_path / "own-program")
    sdk = install()["3"]
    environment = os.environ | {
        "REINFORGE_URL": platform.url,
        "REINFORGE_API_KEY": KEY,
        "PYTHONPATH": f"{ROOT}:{sdk}",
        "NO_COLOR": "1",
    }
    create = [*CLI, "job", "create", "-f", str(file), "--json"]
    created = subprocess.run(create, env=environment, capture_output=True, text=True, check=False)
    assert created.returncode == 0, created.stderr
    job = yaml.safe_load(created.stdout)["id"]
    serve = [*CLI, "rollout", "serve", "agent:play", "--job", job, "--concurrency", "4"]
    runner = subprocess.run(
        serve, env=environment, cwd=file.parent, capture_output=True, text=True, timeout=240, check=False
    )
    assert runner.returncode == 0, runner.stderr
    assert client.jobs.get(job).status == "succeeded", client.jobs.get(job).failure
    # 2 steps of 16, and 2 held-out rows before and after them; a program with four calls fails.
    assert "0 were ended by the server" in runner.stderr, runner.stderr
    succeeded, failed = (int(part.split()[0]) for part in runner.stderr.splitlines()[-1].split(", ")[:2])
    assert succeeded + failed == 36 and failed < 18
    page.goto(f"/jobs/{job}?tab=completions")
    card = page.get_by_role("article").first
    expect(card).to_contain_text("Turn 1")
    client.jobs.delete(job)
