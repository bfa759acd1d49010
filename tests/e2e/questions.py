"""`make proof-questions`: twelve questions about stored jobs, answered from the page by clicks; kept as JSON.

The first seven are what people ask of a job. Each answer is read from the page and compared with the API. A question
holds if it takes at most 3 clicks and 20 s, from the page of a job or a list, over which its address was opened.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from common.measure import stamp, table, write  # noqa: E402

from reinforge.client import Reinforge  # noqa: E402
from reinforge.platform.up import Platform  # noqa: E402
from tests.e2e.browser import sign_in, started_browser, visit  # noqa: E402
from tests.e2e.question_data import QuestionData, make_data  # noqa: E402
from tests.e2e.test_20_first_job import COUNT_CLICKS  # noqa: E402

MOST_CLICKS, MOST_SECONDS = 3, 20
KEY = "rf-questions-owner-key-0123456789abcdef"


@dataclass
class QuestionContext:
    page: Page
    client: Reinforge
    data: QuestionData


@dataclass
class Question:
    text: str
    address: str
    """Where it begins; `{steady}` and so on are ids of the data."""
    answer: Callable[[QuestionContext], str]
    """Clicks, and returns what the page says. Raises AssertionError if that is not what the API has."""


def text_of(place: Locator) -> str:
    expect(place).to_be_visible()
    return re.sub(r"\s+", " ", place.inner_text()).strip()


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Job sections").get_by_role("link", name=name).click()


def why_reward_stopped(context: QuestionContext) -> str:
    heading = context.page.get_by_role("region", name="Is it training?").get_by_role("heading")
    answer = context.client.jobs.training_check(context.data.steady).message
    expect(heading).to_contain_text(answer)
    return text_of(context.page.get_by_role("region", name="Is it training?"))


def prompts_of(context: QuestionContext, category: str, label: str) -> str:
    """Of held-out rows, which every evaluation samples; a row of the training set may be drawn once only."""
    page = context.page
    open_tab(page, "Prompts")
    rows = page.get_by_role("region", name="Prompts of the job").get_by_role("link")
    expect(rows.first).to_be_visible()
    page.get_by_role("radiogroup", name="Split").get_by_text("Held-out").click()
    expect(page).to_have_url(re.compile("held_out"))
    expect(rows.first).to_be_visible()
    page.get_by_role("radiogroup", name="Category").get_by_text(label).click()
    expect(page).to_have_url(re.compile(f"prompts={category}"))
    prompts = context.client.jobs.prompts(context.data.steady, split="held_out", category=category)
    if not prompts.data:
        return text_of(page.get_by_text("No matching prompts"))
    expect(rows).to_have_count(len(prompts.data))
    assert rows.all_inner_texts() == [one.prompt for one in prompts.data]
    return f"{prompts.total}: {', '.join(rows.all_inner_texts()[:5])}"


def never_solved(context: QuestionContext) -> str:
    return prompts_of(context, "never_solved", "Never solved")


def newly_lost(context: QuestionContext) -> str:
    return prompts_of(context, "newly_lost", "Newly lost")


def is_it_hacking(context: QuestionContext) -> str:
    region = context.page.get_by_role("region", name="Is it training?")
    expect(region).to_contain_text(re.compile("follows.* length", re.IGNORECASE))
    return text_of(region)


def what_differs(context: QuestionContext) -> str:
    context.page.get_by_role("button", name="Compare with…").click()
    context.page.get_by_role("menuitem", name=re.compile("Faster")).click()
    settings = context.page.get_by_role("region", name="Settings that differ")
    expect(settings.get_by_role("row", name=re.compile("^optimizer.learning_rate"))).to_contain_text("0.0012")
    return "; ".join(text_of(row) for row in settings.get_by_role("row").all()[1:])


def best_checkpoint(context: QuestionContext) -> str:
    open_tab(context.page, "Checkpoints")
    best = next(one for one in context.client.jobs.checkpoints(context.data.steady) if one.best)
    row = context.page.get_by_role("row").filter(has_text="best")
    expect(row).to_contain_text(re.compile(rf"^{best.step}\b"))
    return text_of(row).partition(" Try it")[0]


def cost_in_time(context: QuestionContext) -> str:
    return text_of(context.page.get_by_text(re.compile(r"took \d")).first)


def base_and_tuned(context: QuestionContext) -> str:
    context.page.get_by_role("button", name="Insert held-out row").click()
    context.page.get_by_role("button", name="Send").click()
    answers = context.page.get_by_role("region", name=re.compile("^Prompt: ")).last.get_by_role("article")
    for number in (0, 1):
        expect(answers.nth(number).locator("footer")).to_contain_text("token", timeout=120_000)
    return " | ".join(re.sub(r"\s+", " ", one.locator("pre").inner_text()) for one in answers.all())


def is_it_more_than_chance(context: QuestionContext) -> str:
    for name in ("Steady", "Faster"):
        context.page.get_by_role("checkbox", name=f"Select {name}").check()
    context.page.get_by_role("link", name="Compare 2").click()
    return text_of(context.page.get_by_text(re.compile("(is (better|worse) than|differ)")).first)


def best_job(context: QuestionContext) -> str:
    context.page.get_by_role("columnheader", name=re.compile("^Held-out reward")).get_by_role(
        "button"
    ).click()
    expect(context.page).to_have_url(re.compile("held_out_reward"))
    row = context.page.get_by_role("region", name="Jobs").get_by_role("row").nth(1)
    best = max(job.held_out_reward or 0 for job in context.client.jobs.list())
    expect(row).to_contain_text(f"{best:.2f}")
    return text_of(row)


def best_of_the_sweep(context: QuestionContext) -> str:
    context.page.get_by_role("link", name="Learning rates", exact=True).click()
    return text_of(context.page.get_by_text(re.compile("^Best: ")))


def failing_reward(context: QuestionContext) -> str:
    context.page.get_by_role("navigation").get_by_role("link", name="Rewards").click()
    row = context.page.get_by_role("row").filter(has_text="fails on some")
    share = next(one for one in context.client.rewards.list() if one.id == context.data.failing).error_share
    assert share
    expect(row).to_contain_text(re.compile(rf"{100 * share:.0f}\s?%|{100 * share:.1f}\s?%"))
    return text_of(row)


QUESTIONS = [
    Question("Why did the reward stop rising?", "/jobs/{steady}", why_reward_stopped),
    Question("Which prompts never succeed?", "/jobs/{steady}", never_solved),
    Question("Is it reward hacking?", "/jobs/{hacked}", is_it_hacking),
    Question("What differs between two jobs?", "/jobs/{steady}", what_differs),
    Question("Which checkpoint is best?", "/jobs/{steady}", best_checkpoint),
    Question("What did it cost in time?", "/jobs/{steady}", cost_in_time),
    Question("What do base and tuned answer to one prompt?", "/playground?job={steady}", base_and_tuned),
    Question("Is one job better than another by more than chance?", "/jobs", is_it_more_than_chance),
    Question("Which job has the best held-out reward?", "/jobs", best_job),
    Question("Which setting of the sweep is best?", "/sweeps", best_of_the_sweep),
    Question("How often does a reward fail?", "/", failing_reward),
    Question("Which prompts did the job lose?", "/jobs/{steady}", newly_lost),
]


def answered(question: Question, context: QuestionContext, url: str) -> dict[str, Any]:
    page = context.page
    page.evaluate("sessionStorage.removeItem('clicks')")
    begin = time.monotonic()
    page.goto(url + question.address.format(**vars(context.data)))
    answer = question.answer(context)
    seconds = time.monotonic() - begin
    clicks = int(page.evaluate("sessionStorage.getItem('clicks')") or 0)
    holds = clicks <= MOST_CLICKS and seconds <= MOST_SECONDS
    return {
        "question": question.text,
        "answer": answer[:400],
        "clicks": clicks,
        "seconds": round(seconds, 1),
        "holds": holds,
    }


def warm(client: Reinforge, data: QuestionData) -> None:
    """Load the model into the serving process, which takes longer than an answer and stays for ten minutes."""
    prompt = [{"role": "user", "content": "1+1="}]
    checkpoint = client.jobs.checkpoints(data.steady)[-1].id
    list(client.sample("starter-arith", [prompt], checkpoint=checkpoint, max_tokens=8))


def ask_all(client: Reinforge, url: str, data: QuestionData) -> list[dict[str, Any]]:
    with started_browser() as browser, visit(browser) as page:
        page.add_init_script(COUNT_CLICKS)
        sign_in(page, client.sign_in_link())
        warm(client, data)
        return [answered(question, QuestionContext(page, client, data), url) for question in QUESTIONS]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20, help="of the longer jobs")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as home,
        Platform(Path(home), port=0, bootstrap_api_key=KEY, say=print) as platform,
        Reinforge(platform.url, KEY) as client,
    ):
        results = ask_all(client, platform.url, make_data(client, arguments.steps))
    report(results)
    return not all(one["holds"] for one in results)


def report(results: list[dict[str, Any]]) -> None:
    table(
        ("question", "clicks", "seconds"),
        [(one["question"], one["clicks"], one["seconds"]) for one in results],
    )
    limits = {"most_clicks": MOST_CLICKS, "most_seconds": MOST_SECONDS}
    write("questions", stamp("reinforge") | limits | {"questions": results}, depth=3)


if __name__ == "__main__":
    sys.exit(main())
