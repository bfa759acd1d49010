"""The playground: base and adapter answer side by side, are stopped, and say why they cannot answer."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from reinforge.client import Reinforge
from reinforge.errors import Unavailable
from reinforge.offline.demo import job_file
from tests.e2e.conftest import Demo

PROMPT = "68+52="


@pytest.fixture
def chat(page: Page, demo: Demo) -> Iterator[Page]:
    """The playground with the demo's best checkpoint."""
    page.goto(f"/playground?job={demo.summary['job_id']}")
    expect(page.get_by_role("article", name=re.compile("^Answer of Adapter, step"))).to_be_visible()
    yield page


def test_it_opens_with_the_newest_adapter(page: Page, demo: Demo) -> None:
    page.goto("/playground")
    expect(page).to_have_url(re.compile(r"\?job=ftjob-"))
    expect(page.get_by_role("article", name=re.compile("^Answer of Adapter, step"))).to_be_visible()
    page.get_by_label("Job", exact=True).select_option("")
    expect(page).not_to_have_url(re.compile("job="))


def ask(page: Page, prompt: str = PROMPT) -> None:
    page.get_by_role("textbox", name=re.compile("^(Prompt|Next message)$")).fill(prompt)
    page.get_by_role("button", name="Send").click()


def set_sampling(page: Page, name: str, value: str) -> None:
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("textbox", name=name).fill(value)
    page.get_by_role("button", name="Hide settings").click()


def answers(page: Page) -> Locator:
    """Of the newest prompt: the base's, then the adapter's."""
    return page.get_by_role("region", name=re.compile("^Prompt: ")).last.get_by_role("article")


def test_base_and_adapter_answer_side_by_side(chat: Page) -> None:
    set_sampling(chat, "Temperature", "0")
    ask(chat)
    base, adapter = answers(chat).nth(0), answers(chat).nth(1)
    for one in (base, adapter):
        expect(one.locator("footer")).to_contain_text(re.compile(r"[0-9]+ tokens? · "))
    assert base.locator("pre").inner_text() != adapter.locator("pre").inner_text()
    left, right = base.bounding_box(), adapter.bounding_box()
    assert left and right and left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    # The adapter has learned to work it out before it answers.
    expect(adapter.locator("pre")).to_contain_text("<answer>120</answer>")


def test_the_page_displays_what_the_api_samples(chat: Page, client: Reinforge, demo: Demo) -> None:
    best = next(one for one in client.jobs.checkpoints(demo.summary["job_id"]) if one.best)
    set_sampling(chat, "Seed", "11")
    ask(chat)
    expect(answers(chat).nth(1).locator("footer")).to_contain_text("token")
    prompt = [{"role": "user", "content": PROMPT}]
    events = client.sample("starter-arith", [prompt], checkpoint=best.id, seed=11, max_tokens=56)
    text = next(event.text for event in events if event.type == "done")
    assert text
    expect(answers(chat).nth(1).locator("pre")).to_have_text(text)


def test_a_held_out_row_comes_with_its_answer(chat: Page) -> None:
    chat.get_by_role("button", name="Insert held-out row").click()
    note = chat.get_by_role("status").filter(has_text="Held-out row 1 of")
    expect(note).to_contain_text(re.compile("reference answer: [0-9]+"))
    expect(chat.get_by_role("textbox", name="Prompt", exact=True)).to_have_value(re.compile(r"^\d+\+\d+=$"))
    chat.get_by_role("button", name="Send").click()
    expect(answers(chat)).to_have_count(2)
    chat.get_by_role("button", name="New conversation").click()
    expect(chat.get_by_role("region", name=re.compile("^Prompt: "))).to_have_count(0)


def test_answers_are_scored_with_a_reward_of_the_project(chat: Page, client: Reinforge) -> None:
    reward = client.rewards.push(job_file().parent / "reward.py", name="sums in the playground")
    chat.reload()
    chat.get_by_label("Score with").select_option(label=reward.name)
    set_sampling(chat, "Temperature", "0")
    chat.get_by_role("button", name="Insert held-out row").click()
    status = chat.get_by_role("status").filter(has_text="reference answer:").inner_text()
    item = {"answer": re.findall("reference answer: ([0-9]+)", status)[0]}
    chat.get_by_role("button", name="Send").click()
    for one in answers(chat).all():
        score = one.locator("footer").get_by_text(reward.name)
        expect(score).to_be_visible()
        [score_of_reward] = client.rewards.test(
            [{"completion": one.locator("pre").inner_text(), "item": item}], id=reward.id
        ).results
        expect(score.locator("b")).to_have_text(re.compile(rf"^{score_of_reward.value:g}(\.0+)?$"))
        expect(score).to_have_attribute("title", score_of_reward.reason or "")
    # The adapter has learned what the reward pays for.
    expect(answers(chat).nth(1).locator("footer b")).to_have_text(re.compile(r"^1(\.0+)?$"))

    chat.get_by_role("button", name="New conversation").click()
    ask(chat)  # a prompt that is no row has no answer to compare with
    for one in answers(chat).all():
        expect(one.locator("footer")).to_contain_text(
            re.compile("not scored: .* without a row|sums in the playground")
        )
    expect(answers(chat).nth(1).locator("footer")).to_contain_text("without a row")


class SlowWorker(ThreadingHTTPServer):
    """Answers every request with a stream that never ends by itself; counts the streams that were broken off."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Endless)
        self.stop = threading.Event()
        self.broken_off = threading.Semaphore(0)


class _Endless(BaseHTTPRequestHandler):
    server: SlowWorker

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        event = {"type": "delta", "prompt": 0, "sample": 0, "text": "again "}
        try:
            while not self.server.stop.wait(0.05):
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        except OSError:
            self.server.broken_off.release()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def slow_worker() -> Iterator[SlowWorker]:
    with SlowWorker() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.stop.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("how", ["button", "Escape"])
def test_stop_ends_both_answers_and_their_requests(chat: Page, slow_worker: SlowWorker, how: str) -> None:
    address = f"http://127.0.0.1:{slow_worker.server_address[1]}/"
    chat.route("**/api/v1/sample", lambda route: route.continue_(url=address))
    ask(chat)
    for one in answers(chat).all():
        expect(one.locator("pre")).to_contain_text("again again")
    if how == "button":
        chat.get_by_role("button", name="Stop").click()
    else:
        chat.get_by_role("textbox", name="Next message").press("Escape")
    for one in answers(chat).all():
        expect(one.locator("footer")).to_contain_text("stopped")
        expect(one.locator("pre")).to_contain_text("again again")
    assert all(slow_worker.broken_off.acquire(timeout=20) for _ in range(2))
    chat.unroute("**/api/v1/sample")
    ask(chat)
    for one in answers(chat).all():
        expect(one.locator("footer")).to_contain_text("token")


def test_without_a_worker_it_says_so_and_what_to_do(chat: Page) -> None:
    """The answer is the API's own for a lane without workers."""
    refusal = Unavailable(
        "No worker is there to answer this.", code="no_worker", hint="Start one, then try again."
    )

    def refuse(route: Route) -> None:
        route.fulfill(status=refusal.status, json=refusal.envelope("req-1"))

    chat.route("**/api/v1/sample", refuse)
    ask(chat)
    for one in answers(chat).all():
        expect(one.get_by_role("alert")).to_have_text(
            "No worker is there to answer this. Start one, then try again."
        )
    chat.unroute("**/api/v1/sample")
    chat.get_by_role("button", name="Sample again").click()
    for one in answers(chat).all():
        expect(one.get_by_role("alert")).to_have_count(0)
        expect(one.locator("footer")).to_contain_text("token")


def test_the_checkpoints_tab_tries_one(page: Page, client: Reinforge, demo: Demo) -> None:
    first = min(client.jobs.checkpoints(demo.summary["job_id"]), key=lambda one: one.step)
    page.goto(f"/jobs/{demo.summary['job_id']}?tab=checkpoints&try={first.step}")
    ask(page)
    expect(answers(page).nth(1)).to_have_accessible_name(f"Answer of Adapter, step {first.step}")
    for one in answers(page).all():
        expect(one.locator("footer")).to_contain_text("token")
