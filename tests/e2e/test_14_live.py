"""A running job in the browser: the charts equal the database after every disturbance."""

import itertools
import os
import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, StorageState, expect

from reinforge.client import Reinforge
from reinforge.errors import NotFound
from reinforge.platform.up import Platform
from tests.e2e.browser import visit
from tests.e2e.conftest import DEMO_JOB, pids_of
from tests.support.processes import eventually
from tests.support.relay import Relay

ARITHMETIC = DEMO_JOB.parent
COLUMNS = {
    "train mean": "reward/mean",
    "mixed groups low": "groups/all_right_share",
    "held-out": "held_out/reward_mean",
}
# Chromium without a screen has no notifications.
NOTIFICATIONS = """
window.notified = [];
window.Notification = class {
    static permission = "default";
    static requestPermission = async () => (window.Notification.permission = "granted");
    constructor(title, options) { window.notified.push([title, options.tag]); }
};
"""
# A job that waits for the one before it, a worker that is started again, a machine that does other things too.
SOON = 120_000


@pytest.fixture(scope="module")
def dataset(client: Reinforge) -> str:
    return client.datasets.push(ARITHMETIC / "additions.jsonl").id


@pytest.fixture
def start(client: Reinforge, dataset: str) -> Iterator[Callable[..., str]]:
    """Starts a job that runs until it is stopped, unless `steps` says otherwise; what still runs is stopped."""
    started: list[str] = []

    def create(steps: int = 2000, reward: str | None = None, checkpoint_every: int = 5) -> str:
        source = reward or (ARITHMETIC / "reward.py").read_text()
        spec = {
            "model": "starter-arith",
            "data": {"dataset": dataset, "held_out_rows": 8},
            "rewards": [{"type": "python", "name": "correct", "source": source}],
            "rollout": {"prompts_per_step": 2, "completions_per_prompt": 4, "max_completion_tokens": 56},
            "optimizer": {"learning_rate": 4e-4},
            "evaluation": {"every_steps": 0, "rows": 8, "samples_per_row": 1},
            "limits": {"steps": steps, "checkpoint_every": checkpoint_every},
        }
        started.append(client.jobs.create(spec).id)
        return started[-1]

    yield create
    for job in started:
        try:
            status = client.jobs.get(job).status
        except NotFound:  # a test has deleted it
            continue
        if status not in ("succeeded", "failed", "cancelled", "cancelling"):
            client.jobs.cancel(job)
        client.jobs.wait(job, timeout=180)


@pytest.fixture
def relay(platform: Platform) -> Iterator[Relay]:
    with Relay(int(platform.url.rsplit(":", 1)[1])) as one:
        yield one


@pytest.fixture
def far_page(browser: Browser, owner: StorageState, relay: Relay) -> Iterator[Page]:
    """A page that reaches the platform over a network which can be lost."""
    with visit(browser, height=900, base_url=relay.url, state=owner) as one:
        yield one


def reward_chart(page: Page) -> Locator:
    return page.get_by_role("figure").filter(has=page.get_by_role("heading", name="Reward", exact=True))


def open_table(page: Page, job: str) -> Locator:
    """The numbers of the job's reward, from a freshly loaded page; its rows."""
    page.goto(f"/jobs/{job}")
    reward_chart(page).get_by_role("button", name="Reward as a table").click()
    return reward_chart(page).locator("tbody tr")


def newest(page: Page) -> int:
    """The newest step of the table; 0 while there is none."""
    heads = reward_chart(page).locator("tbody th").all_inner_texts()
    return int(heads[0]) if heads else 0


def step_on_page(page: Page) -> int:
    """The step that the line under the progress bar tells."""
    words = page.get_by_text(re.compile(r"^Step \d+ of 2000")).inner_text()
    return int(words.split()[1])


def reaches(page: Page, step: int) -> None:
    eventually(lambda: newest(page) >= step, within=SOON / 1000, what=f"step {step} in the table")


def step_of(client: Reinforge, job: str) -> int:
    return next((s.steps[-1] for s in client.jobs.metrics(job).series if s.key == "reward/mean"), 0)


def goes_on(client: Reinforge, job: str, by: int = 3) -> int:
    """Wait until the job is `by` steps further, and tell where it is."""
    before = step_of(client, job)
    eventually(lambda: step_of(client, job) >= before + by, within=SOON / 1000, what=f"step {before + by}")
    return step_of(client, job)


def recorded(client: Reinforge, job: str) -> dict[int, dict[str, Any]]:
    """What the database has: step → column → value."""
    series = {one.key: one for one in client.jobs.metrics(job).series}
    rows: dict[int, dict[str, Any]] = {}
    for column, key in COLUMNS.items():
        for step, value in zip(series[key].steps, series[key].values, strict=True):
            if value is not None:
                rows.setdefault(step, {})[column] = pytest.approx(value, abs=0.0051)
    return rows


def drawn(page: Page) -> list[tuple[int, dict[str, float]]]:
    """What the table has, oldest first: a step that stands there twice is here twice."""
    figure = reward_chart(page)
    heads = figure.get_by_role("columnheader").all_inner_texts()
    cells = figure.locator("tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )
    rows = [dict(zip(heads, row, strict=True)) for row in cells]
    return [
        (int(row["step"]), {name: float(row[name]) for name in COLUMNS if row[name] != "–"})
        for row in reversed(rows)
    ]


def assert_the_same(page: Page, client: Reinforge, job: str) -> None:
    """No hole, no double, no other value than in the database; the job must rest."""
    expected = recorded(client, job)
    # Frames come twice a second at most: the last step may be drawn a moment after the state.
    eventually(lambda: newest(page) == max(expected), what=f"step {max(expected)} in the table")
    assert drawn(page) == sorted(expected.items())
    assert sorted(step for step in expected if step > 0) == list(range(1, max(expected) + 1))


def cancelled(client: Reinforge, job: str, *pages: Page) -> None:
    client.jobs.cancel(job)
    client.jobs.wait(job, timeout=180, poll=0.1)
    for page in pages:
        expect(page.get_by_text("Cancelled", exact=True).first).to_be_visible()


def test_points_come_by_themselves_in_two_tabs_and_after_a_reload(
    page: Page, client: Reinforge, start: Callable[..., str]
) -> None:
    job = start()
    open_table(page, job)
    page.evaluate("window.loaded = 'once'")
    reaches(page, 3)
    other = page.context.new_page()
    open_table(other, job)
    reaches(other, 6)
    assert page.evaluate("window.loaded") == "once"
    page.reload()
    reward_chart(page).get_by_role("button", name="Reward as a table").click()
    reaches(page, goes_on(client, job))
    expect(page.get_by_text(re.compile(r"^Step \d+ of 2000"))).to_be_visible()
    cancelled(client, job, page, other)
    assert_the_same(page, client, job)
    assert_the_same(other, client, job)


def test_a_lost_network_leaves_no_hole_and_no_double(
    far_page: Page, relay: Relay, client: Reinforge, start: Callable[..., str]
) -> None:
    job = start()
    open_table(far_page, job)
    reaches(far_page, 3)
    relay.cut()
    far_page.context.set_offline(True)
    step_now = newest(far_page)
    expect(far_page.get_by_text(re.compile(rf"^Reconnecting… shown up to step {step_now}"))).to_be_visible()
    expect(far_page.get_by_text("The server does not respond")).to_be_visible()
    there = goes_on(client, job)
    assert newest(far_page) == step_now
    relay.restore()
    far_page.context.set_offline(False)
    reaches(far_page, there)
    expect(far_page.get_by_role("status").filter(has_text=re.compile("^Live$"))).to_be_visible()
    expect(far_page.get_by_text("The server does not respond")).to_have_count(0)
    # The end comes while nobody listens.
    relay.cut()
    client.jobs.cancel(job)
    client.jobs.wait(job, timeout=180, poll=0.1)
    relay.restore()
    expect(far_page.get_by_text("Cancelled", exact=True).first).to_be_visible()
    assert_the_same(far_page, client, job)


@pytest.mark.long
def test_a_laptop_that_slept_catches_up(
    far_page: Page, relay: Relay, client: Reinforge, start: Callable[..., str]
) -> None:
    job = start()
    far_page.clock.install()
    open_table(far_page, job)
    reaches(far_page, 3)
    relay.silence()
    there = goes_on(client, job)
    assert newest(far_page) < there
    far_page.clock.fast_forward("05:00")
    reaches(far_page, there)
    cancelled(client, job, far_page)
    assert_the_same(far_page, client, job)


@pytest.mark.long
def test_a_held_picture_stands_still_and_catches_up(
    page: Page, client: Reinforge, start: Callable[..., str]
) -> None:
    job = start()
    open_table(page, job)
    reaches(page, 3)
    page.get_by_role("button", name="Freeze view").click()
    expect(page.get_by_text(re.compile(r"^Frozen at step \d+$"))).to_be_visible()
    step_now = newest(page)
    there = goes_on(client, job)
    assert newest(page) == step_now
    page.get_by_role("button", name="Back to live").click()
    reaches(page, there)
    cancelled(client, job, page)
    assert_the_same(page, client, job)


# Every newest step that the table ever had, as it changed.
REMEMBER = """() => {
    window.newest = [];
    const look = () => {
        const head = [...document.querySelectorAll('figure')]
            .find(one => one.querySelector('h3')?.textContent === 'Reward')?.querySelector('tbody th');
        const step = Number(head?.textContent ?? 0);
        if (step !== window.newest.at(-1)) window.newest.push(step);
    };
    new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


@pytest.mark.long
def test_curves_rewind_when_the_worker_is_killed(
    page: Page, client: Reinforge, platform: Platform, start: Callable[..., str]
) -> None:
    steps = 24
    job = start(steps, checkpoint_every=10)
    open_table(page, job)
    page.evaluate(REMEMBER)
    reaches(page, 14)
    workers = pids_of(platform, "-m", "worker")
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    expect(page.get_by_text(re.compile("^Succeeded")).first).to_be_visible(timeout=2 * SOON)
    expect(page.get_by_text("attempt 2")).to_be_visible()
    assert_the_same(page, client, job)
    back = next(event.data["to_step"] for event in client.jobs.stream(job) if event.type == "rewind")
    assert 10 <= back < 20
    steps_on_page: list[int] = page.evaluate("window.newest")
    falls = [(before, after) for before, after in itertools.pairwise(steps_on_page) if after < before]
    assert len(falls) == 1, steps_on_page
    assert back <= falls[0][1] < falls[0][0]


def test_a_job_is_cancelled_on_a_phone_with_a_notification(
    page: Page, client: Reinforge, start: Callable[..., str]
) -> None:
    job = start()
    page.set_viewport_size({"width": 390, "height": 844})
    page.add_init_script(NOTIFICATIONS)
    page.goto(f"/jobs/{job}")
    expect(page.get_by_text(re.compile(r"^Step [1-9]\d* of 2000"))).to_be_visible(timeout=SOON)
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_text("You will be notified when the job ends.")).to_be_visible()
    page.get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(
        re.compile(r"The \d+ of 2000 steps done so far do not produce a final adapter")
    )
    box = dialog.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    dialog.get_by_role("button", name="Cancel job").click()
    expect(page.get_by_text("Cancelled", exact=True).first).to_be_visible(timeout=SOON)
    expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert client.jobs.get(job).status == "cancelled"
    assert page.evaluate("window.notified") == [[f"{client.jobs.get(job).name}: cancelled", job]]


def test_a_job_that_has_ended_is_deleted(page: Page, client: Reinforge, start: Callable[..., str]) -> None:
    job = start(1)
    name = client.jobs.wait(job, timeout=120).name
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name=f"Delete {name}?")).to_be_visible()
    expect(dialog).to_contain_text(
        "checkpoints, completions, curves, log, labels and replays are deleted permanently"
    )
    expect(dialog).to_contain_text("Its dataset")
    box = dialog.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert client.jobs.get(job).status == "succeeded"
    page.get_by_role("button", name="Delete…").click()
    dialog.get_by_role("button", name="Delete job").click()
    expect(page).to_have_url(re.compile(r"/jobs$"))
    expect(page.get_by_text(f"{name} deleted.")).to_be_visible()
    with pytest.raises(NotFound):
        client.jobs.get(job)


@pytest.mark.long
def test_a_paused_job_says_why_and_goes_on_where_it_paused(
    page: Page, client: Reinforge, start: Callable[..., str]
) -> None:
    reward = "def grade(sample, item):\n    return {}['no such column']\n"
    job = start(3, reward)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/jobs/{job}")
    expect(page.get_by_text("Paused: the reward fails too often")).to_be_visible(timeout=SOON)
    details = page.locator("details", has_text="Error of the reward code")
    expect(details.locator("pre")).to_contain_text("KeyError: 'no such column'")
    expect(details.locator("pre")).to_contain_text("line 2")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Resume").click()
    # The code is the same, so it pauses again; the page says so without being loaded again.
    expect(page.get_by_text("attempt 2")).to_be_visible(timeout=SOON)
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=SOON)
    page.get_by_role("link", name="Logs").click()
    expect(page.get_by_text(re.compile("KeyError")).first).to_be_visible()
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    expect(page.get_by_text("Cancelled", exact=True).first).to_be_visible()
    assert client.jobs.get(job).attempt == 2


# What moved on the screen without a hand: how far, and which elements (the browser's own account).
WATCH_SHIFTS = """() => {
    window.shifts = [];
    const name = node => node ? (node.closest?.('[aria-label], figure, section, dl, nav')?.textContent ?? '')
        .slice(0, 40) + ' <' + node.nodeName + ' ' + (node.className ?? '') + '>' : '?';
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput)
            window.shifts.push([entry.value, entry.sources.map(one => name(one.node))]);
    }).observe({type: 'layout-shift'});
}"""


LONG = (
    "Completions went from 30.5 to 45.7 tokens and the reward did not rise in any of the last forty steps. "
    * 3
)


def changed(body: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return body | {key: value for key, value in change.items() if key in body}


def long_answers(page: Page, job: str) -> None:
    """All that is written about a job from now on is as long as it can be: answers, advice, notes, numbers."""
    one = {"code": "truncated", "severity": "warning", "title": LONG[:60], "message": LONG, "hint": LONG}
    remedies = [{"kind": "fork", "label": f"{LONG[:30]} {at}", "step": 1, "set": {}} for at in range(4)]
    note: dict[str, Any] = {
        "step": 1,
        "evidence": {},
        "source": "trainer",
        "resolved_step": None,
        "why": LONG,
    }
    note |= one | {"cause": None, "remedies": []}
    answers: dict[str, dict[str, Any]] = {
        "training-check": {"message": LONG, "summary": one, "observations": [one, one | {"code": "other"}]},
        "findings": {"data": [note | {"source": "training_check", "remedies": remedies}, note]},
        "": {"finding": note | {"severity": "error"}, "attempt": 12},
    }

    def answer(route: Route) -> None:
        name = re.sub(r".*/jobs/[^/?]+/?|[?].*", "", route.request.url)
        response = route.fetch()
        body = response.json()
        if name == "metrics":
            for series in body["series"]:
                series["values"] = [0.012345 if at % 2 else 123.45678 for at in range(len(series["values"]))]
            return route.fulfill(response=response, json=body)
        return route.fulfill(response=response, json=changed(body, answers[name]))

    page.route(re.compile(rf"/api/v1/jobs/{job}(/training-check|/findings|/metrics)?([?].*)?$"), answer)


# Headline charts and what stands above them: the first and last pixel of each on the whole page.
PLACES = """() => [...document.querySelectorAll('main nav, [role=toolbar], [class*=_big_] figure')].map(one => {
    const {top, bottom} = one.getBoundingClientRect();
    return [one.querySelector('h3')?.textContent ?? one.ariaLabel, top + window.scrollY, bottom - top];
})"""


@pytest.mark.long
def test_long_and_short_words_take_the_same_room(
    page: Page, client: Reinforge, start: Callable[..., str]
) -> None:
    job = start()
    eventually(lambda: step_of(client, job) >= 1, within=SOON / 1000, what="the first step")
    places: list[dict[int, list[tuple[str, float, float]]]] = []
    for words in (re.compile("Is it training"), re.compile(LONG[:60])):
        page.goto(f"/jobs/{job}")
        expect(page.get_by_role("region", name="Is it training?")).to_contain_text(words)
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        expect(page.locator("figure").nth(5)).to_be_attached()  # the headline, and what is measured
        page.get_by_role("button", name="Freeze view").click()
        places.append({})
        for width in (1440, 1280, 1024, 901, 768, 641, 414, 390, 360):
            page.set_viewport_size({"width": width, "height": 900})
            places[-1][width] = page.evaluate(PLACES)
        page.set_viewport_size({"width": 1440, "height": 900})
        if len(places) == 1:
            long_answers(page, job)
    page.unroute_all(behavior="ignoreErrors")
    short, long = places
    assert {name for name, *_ in short[390]} >= {"Job sections", "Curves", "Reward"}
    assert long == short


def test_nothing_moves_while_steps_arrive(page: Page, client: Reinforge, start: Callable[..., str]) -> None:
    job = start()
    eventually(lambda: step_of(client, job) >= 1, within=SOON / 1000, what="the first step")
    for width, (tab, settled) in itertools.product(
        (1440, 390), {"": "figure canvas", "?tab=completions": "article"}.items()
    ):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"/jobs/{job}{tab}")
        # A chart is drawn where somebody looks: on a phone below the tiles and the verdict.
        page.locator(settled.split()[0]).first.scroll_into_view_if_needed()
        expect(page.locator(settled).first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        page.evaluate(WATCH_SHIFTS)
        there = goes_on(client, job, by=10)
        eventually(lambda: step_on_page(page) >= there, what=f"step {there} on the screen")
        shifts: list[tuple[float, list[str]]] = page.evaluate("window.shifts")
        assert sum(value for value, _ in shifts) < 0.02, (width, tab, shifts)
