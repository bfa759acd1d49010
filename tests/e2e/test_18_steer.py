"""A running job is steered from its page and forked from a step; an adapter is deployed, pointed elsewhere, stopped."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from reinforge.client import Reinforge
from tests.e2e.test_9_screens import findings
from tests.support.processes import eventually

# A job that waits for the one before it, on a machine that does other things too.
SOON = 180_000


@pytest.fixture(scope="module")
def running(client: Reinforge, places: dict[str, str]) -> Iterator[str]:
    """A job that runs until it is stopped, with a checkpoint of step 2."""
    spec: dict[str, Any] = {
        "name": f"steered {uuid4()}",
        "model": "starter-arith",
        "data": {"dataset": places["dataset"], "held_out_rows": 8},
        "rewards": [{"name": "correct", "reward": places["reward"]}],
        "rollout": {"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 56},
        "optimizer": {"learning_rate": 4e-4},
        "evaluation": {"every_steps": 0, "rows": 0},
        "limits": {"steps": 2000, "checkpoint_every": 2},
    }
    job = client.jobs.create(spec).id
    eventually(lambda: client.jobs.get(job).progress.step >= 2, within=SOON / 1000, what="step 2")
    yield job
    client.jobs.cancel(job)
    client.jobs.wait(job, timeout=SOON / 1000)


def test_numbers_of_a_running_job_change_from_the_next_step_on(
    page: Page, client: Reinforge, running: str
) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"/jobs/{running}")
    page.get_by_role("button", name="Change…").click()
    page.get_by_role("menuitem", name="Learning rate").click()
    dialog = page.get_by_role("dialog", name="Change from the next step")
    rate = dialog.get_by_role("textbox", name="Learning rate")
    expect(rate).to_have_attribute("placeholder", re.compile("0.0004|4e-4|0,0004"))
    expect(dialog.get_by_role("button", name="Change")).to_be_disabled()
    rate.fill("1e-")
    expect(dialog.get_by_role("button", name="Change")).to_be_disabled()
    assert findings(page) == []
    rate.fill("1e-4")
    dialog.get_by_role("textbox", name="Temperature").fill("0.8")
    dialog.get_by_role("button", name="Change 2 settings").click()
    expect(dialog).to_have_count(0)
    legend = page.get_by_role("list", name="Changes during the run").get_by_role("listitem")
    expect(legend.filter(has_text=re.compile(r"from step \d+ on"))).to_have_count(2, timeout=SOON)
    changes = {change.setting: change for change in client.jobs.changes(running)}
    assert changes["optimizer.learning_rate"].value == 1e-4
    assert all(change.step is not None for change in changes.values())


def test_a_value_out_of_bounds_is_refused_and_nothing_changes(
    page: Page, client: Reinforge, running: str
) -> None:
    before = len(client.jobs.changes(running))
    page.goto(f"/jobs/{running}")
    page.get_by_role("button", name="Change…").click()
    page.get_by_role("menuitem", name="Learning rate").click()
    dialog = page.get_by_role("dialog", name="Change from the next step")
    dialog.get_by_role("textbox", name="Learning rate").fill("-1")
    dialog.get_by_role("button", name="Change").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert len(client.jobs.changes(running)) == before


def test_a_fork_begins_at_its_step_with_what_was_changed(page: Page, client: Reinforge, running: str) -> None:
    eventually(lambda: bool(client.jobs.checkpoints(running)), within=SOON / 1000, what="a checkpoint")
    # Nothing is evaluated, so that only the last checkpoint is kept: a job that goes on has another one by the end.
    client.jobs.pause(running)
    eventually(lambda: client.jobs.get(running).status == "paused", within=SOON / 1000, what="the pause")
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"/jobs/{running}?tab=checkpoints")
    page.get_by_role("button", name=re.compile("^More for step")).first.click()
    page.get_by_role("menuitem", name="New job from here…").click()
    dialog = page.get_by_role("dialog", name=re.compile("^New job from step"))
    step = int(re.search(r"\d+", dialog.get_by_role("heading").inner_text())[0])  # type: ignore[index]
    assert findings(page) == []
    name = f"fork {uuid4()}"
    dialog.get_by_role("textbox", name="Name").fill(name)
    dialog.get_by_role("textbox", name="Learning rate").fill("2e-4")
    dialog.get_by_role("textbox", name="Total steps").fill(str(step + 1))
    dialog.get_by_role("button", name="Start job").click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    forks = page.get_by_role("region", name="Forks")
    expect(forks).to_contain_text(f"from step {step}")
    (fork,) = [job for job in client.jobs.family(running) if job.name == name]
    job = client.jobs.get(fork.id)
    assert job.forked_from is not None
    assert (job.forked_from.job, job.forked_from.step) == (running, step)
    assert job.resolved_spec is not None and job.resolved_spec["optimizer"]["learning_rate"] == 2e-4
    client.jobs.wait(fork.id, timeout=SOON / 1000)
    page.reload()
    curves = forks.get_by_role("figure").filter(has_text="Reward in training")
    curves.get_by_role("button", name="Reward in training as a table").click()
    # One chart has both: the fork's curve begins behind the step that it was forked from, its parent's before.
    heads = curves.get_by_role("columnheader").all_inner_texts()
    column, parents = heads.index(name), heads.index(client.jobs.get(running).name)
    at, behind = (numbers(curves, row) for row in (step, step + 1))
    assert re.match(r"[01]\.\d+", at[parents]), at
    assert re.match(r"[01]\.\d+", behind[column]) and not re.match(r"\d", at[column]), (at, behind)
    client.jobs.resume(running)


def numbers(curves: Locator, step: int) -> list[str]:
    """The row of a step, its number first."""
    row = curves.get_by_role("row").filter(
        has=curves.page.get_by_role("rowheader", name=str(step), exact=True)
    )
    expect(row).to_be_visible()
    return [cell.strip() for cell in row.locator("th, td").all_inner_texts()]


def test_an_adapter_is_deployed_sampled_pointed_elsewhere_stopped_and_deleted(
    page: Page, client: Reinforge, places: dict[str, str]
) -> None:
    name = f"e2e-{uuid4().hex[:8]}"
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"/jobs/{places['job']}")
    page.get_by_role("link", name="Deploy…").click()
    dialog = page.get_by_role("dialog", name="New deployment")
    dialog.get_by_role("textbox", name="Name").fill("no spaces, please")
    dialog.get_by_role("button", name="Deploy").click()
    expect(dialog.get_by_role("textbox", name="Name")).to_have_attribute("aria-invalid", "true")
    assert findings(page) == []
    dialog.get_by_role("textbox", name="Name").fill(name)
    dialog.get_by_role("button", name="Deploy").click()
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("Ready", timeout=SOON)
    assert findings(page) == []
    assert client.deployments.get(name).step == client.jobs.get(places["job"]).best_step
    page.get_by_role("tab", name="vLLM, elsewhere").click()
    expect(page.get_by_role("region", name="vLLM, elsewhere")).to_contain_text("vllm serve")
    expect(page.get_by_role("region", name="vLLM, elsewhere")).to_contain_text("--lora-modules")

    page.get_by_role("link", name=f"Try it: {name}").click()
    page.get_by_role("textbox", name="Prompt").fill("68+57=")
    page.keyboard.press("Enter")
    answer = page.get_by_role("article", name=f"Answer of {name}")
    expect(answer).to_contain_text("tokens", timeout=SOON)
    expect(page.get_by_role("article", name="Answer of Base")).to_contain_text("tokens", timeout=SOON)
    page.goto(f"/deployments?show={name}")
    expect(page.get_by_text(re.compile(r"^1 request: \d"))).to_be_visible()

    page.get_by_role("button", name=f"More for {name}").click()
    page.get_by_role("menuitem", name="Change weights…").click()
    page.get_by_role("dialog").get_by_role("combobox", name="Weights").select_option("starter-arith")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(row).to_contain_text("starter-arith, the base")
    expect(row).to_contain_text("Ready", timeout=SOON)

    page.get_by_role("button", name=f"More for {name}").click()
    page.get_by_role("menuitem", name="Stop…").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop deployment").click()
    expect(row).to_contain_text("Stopped")
    page.get_by_role("button", name=f"More for {name}").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete deployment").click()
    expect(page.get_by_text(f"{name} deleted.")).to_be_visible()
    assert name not in [deployment.name for deployment in client.deployments.list()]
