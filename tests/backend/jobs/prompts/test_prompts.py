"""Prompts of a job over all steps: categories, order, pages, resumes."""

from typing import Any

import pytest

from backend.jobs.prompts.service import series
from tests.backend.jobs.lifecycle.test_pause import lose_lease
from tests.backend.server import Backend, Trainer, refused

Draws = list[list[float | None]]
"""Rewards of each draw of a prompt, in the order of the steps."""
UP_AND_DOWN: Draws = [[1, 0], [0, 0], [1, 1], [0, 1]]
PROMPTS: dict[str, Draws] = {
    "never": [[0, 0], [0, 0.5], [0, None], [0, 0]],  # 0.5 is not above pass_above
    "never, drawn once": [[0, 0]],
    "lost": [[0, 0], [1, 0], [0, 0], [0, 0]],
    "lost, drawn twice": [[1, 1], [0, 0]],
    "won": [[0, 0], [0, 0], [0, 1], [1, 1]],
    "won, drawn three times": [[0, 0], [0, 0], [1, 1]],
    "failed only at the end": [[1, 1], [1, 1], [1, 1], [0, 0]],
    "solved only at the end": [[0, 0], [0, 0], [0, 0], [1, 1]],
    "won at once": [[0, 0], [1, 1], [0, 1], [1, 1]],
    "a third at the end": [[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0]],
    "steady": [[1, 0], [1, 0], [0, 1], [0, 1]],
    "always": [[1, 1], [1, 1], [1, 1], [1, 1]],
    "up and down": UP_AND_DOWN,
    "errors only": [[None, None]],
    "errors between": [[0, 0], [None, None], [1, 1]],
}
CATEGORIES = {
    "never_solved": ["never", "never, drawn once"],
    "newly_lost": ["lost", "lost, drawn twice"],
    "won": ["won", "won, drawn three times", "won at once", "errors between"],
    "most_variable": ["failed only at the end"],
}


def rows_of(prompts: dict[str, Draws], step: int) -> list[dict[str, Any]]:
    """What a step reports that draws every prompt which has a draw left."""
    rows = []
    for row_index, (name, draws) in enumerate(prompts.items()):
        for sample_no, reward in enumerate(draws[step - 1] if step <= len(draws) else ()):
            rows.append(
                {
                    "prompt_no": row_index * 2,
                    "sample_no": sample_no,
                    "prompt_hash": f"hash of {name}",
                    "row_index": row_index,
                    "reward": reward,
                    "advantage": None,
                    "length": 3,
                    "finish_reason": "stop",
                    "error": "exception" if reward is None else None,
                    "text": "a completion",
                }
            )
    return rows


def heads_of(prompts: dict[str, Draws]) -> list[dict[str, Any]]:
    return [
        {"row_index": row_index, "prompt": f"Prompt 100%: {name}", "answer": f"answer {row_index}"}
        for row_index, name in enumerate(prompts)
    ]


def report(
    trainer: Trainer,
    step: int,
    prompts: dict[str, Draws],
    *,
    split: str = "train",
    heads: list[dict[str, Any]] | None = None,
) -> None:
    blob = trainer.blob(f"{trainer.claimed['job']} {split} {step} {trainer.attempt}".encode(), "rollouts")
    record = {"kind": "rollouts", "step": step, "split": split, "blob": blob}
    trainer.send(record | {"rows": rows_of(prompts, step), "prompts": heads or []})


@pytest.fixture(scope="module")
def job(rpc_backend: Backend) -> str:
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    trainer.start()
    for step in range(1, 5):
        report(trainer, step, PROMPTS, heads=heads_of(PROMPTS) if step == 1 else None)
    report(trainer, 1, {"held out": [[1, 0]]}, split="held_out")
    return id


def listed(backend: Backend, job: str, **query: Any) -> dict[str, Any]:
    response = backend.api.get(f"/jobs/{job}/prompts", params=query)
    assert response.status_code == 200, response.text
    page: dict[str, Any] = response.json()
    return page


def names(page: dict[str, Any]) -> list[str]:
    return [list(PROMPTS)[prompt["row_index"]] for prompt in page["data"]]


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_category_has_the_prompts_of_its_definition(rpc_backend: Backend, job: str, category: str) -> None:
    page = listed(rpc_backend, job, category=category)
    assert names(page) == CATEGORIES[category]
    assert {prompt["category"] for prompt in page["data"]} == {category}
    assert (page["total"], page["prompts"]) == (len(CATEGORIES[category]), len(PROMPTS))


def test_all_prompts_have_one_category_at_most(rpc_backend: Backend, job: str) -> None:
    page = listed(rpc_backend, job)
    assert names(page) == list(PROMPTS)
    assert page["categories"] == {category: len(prompts) for category, prompts in CATEGORIES.items()}
    others = [prompt for prompt in page["data"] if prompt["category"] is None]
    assert len(others) == len(PROMPTS) - sum(page["categories"].values())


def test_a_prompt_has_its_shares_its_series_its_text_and_its_answer(rpc_backend: Backend, job: str) -> None:
    prompt = listed(rpc_backend, job)["data"][list(PROMPTS).index("lost")]
    assert prompt == {
        "row_index": 2, "prompt_hash": "hash of lost", "prompt": "Prompt 100%: lost", "answer": "answer 2",
        "category": "newly_lost", "draws": 4, "completions": 8, "scored": 8, "pass_share": 1 / 8,
        "first_pass_share": 0, "last_pass_share": 0, "first_reward": 0, "last_reward": 0,
        "variance": pytest.approx(3 / 64), "last_step": 4, "last_prompt_no": 4,
        "series": {"steps": [1, 2, 3, 4], "rewards": [0, 0.5, 0, 0]},
    }  # fmt: skip
    unscored = listed(rpc_backend, job)["data"][list(PROMPTS).index("errors only")]
    assert (unscored["draws"], unscored["scored"], unscored["pass_share"]) == (1, 0, None)
    assert unscored["series"] == {"steps": [], "rewards": []}


def test_a_long_series_is_cut_into_means() -> None:
    points = [(step, float(step % 2)) for step in range(100)]
    short = series(points, 4)
    assert (short.steps, short.rewards) == ([24, 49, 74, 99], [12 / 25, 13 / 25, 12 / 25, 13 / 25])
    assert series(points[:3], 4).rewards == [0, 1, 0]


def test_splits_are_apart(rpc_backend: Backend, job: str) -> None:
    page = listed(rpc_backend, job, split="held_out")
    [prompt] = page["data"]
    assert (prompt["prompt_hash"], prompt["prompt"], page["prompts"]) == ("hash of held out", None, 1)


VALUES = {
    "row": lambda prompt: prompt["row_index"],
    "pass_share": lambda prompt: prompt["pass_share"],
    "last": lambda prompt: prompt["last_reward"],
    "change": lambda prompt: (
        None if prompt["last_reward"] is None else prompt["last_reward"] - prompt["first_reward"]
    ),
    "variance": lambda prompt: prompt["variance"],
    "draws": lambda prompt: prompt["draws"],
}


@pytest.mark.parametrize("sort", [sign + name for name in VALUES for sign in ("", "-")])
def test_every_order_continues_page_by_page(rpc_backend: Backend, job: str, sort: str) -> None:
    prompts: list[dict[str, Any]] = []
    after: dict[str, str] = {}
    while True:
        page = listed(rpc_backend, job, sort=sort, limit=3, **after)
        prompts += page["data"]
        if not page["has_more"]:
            break
        after = {"after": page["next_cursor"]}
    value, sign = VALUES[sort.removeprefix("-")], -1 if sort.startswith("-") else 1

    def order(prompt: dict[str, Any]) -> tuple[bool, float, int]:
        number = value(prompt)
        return number is None, sign * (number or 0), prompt["row_index"]

    assert [prompt["row_index"] for prompt in prompts] == [
        prompt["row_index"] for prompt in sorted(listed(rpc_backend, job)["data"], key=order)
    ]


@pytest.mark.parametrize(
    ("q", "count"), [("LOST", 2), ("100%: lost", 2), ("100_", 0), ("%", 15), ("\\", 0), ("", 15)]
)
def test_a_part_of_the_prompt_is_searched(rpc_backend: Backend, job: str, q: str, count: int) -> None:
    page = listed(rpc_backend, job, q=q)
    assert (page["total"], len(page["data"])) == (count, count)
    assert page["prompts"] == len(PROMPTS)
    assert listed(rpc_backend, job, q=q, category="won")["total"] <= min(count, 4)


def test_results_of_the_completion_search_have_prompt_and_answer(rpc_backend: Backend, job: str) -> None:
    response = rpc_backend.api.get(f"/jobs/{job}/completions/search", params={"sort": "step", "limit": 3})
    hits = response.json()["data"]
    assert [(hit["split"], hit["row_index"], hit["prompt"], hit["answer"]) for hit in hits] == [
        ("held_out", 0, None, None),
        ("held_out", 0, None, None),
        ("train", 0, "Prompt 100%: never", "answer 0"),
    ]


def test_draws_that_a_resume_deleted_do_not_count(rpc_backend: Backend) -> None:
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    trainer.start()
    prompts: dict[str, Draws] = {"lost": [[1, 1], [0, 0], [0, 0]], "later": [[], [1, 1]]}
    report(trainer, 1, prompts, heads=heads_of(prompts))
    trainer.step(1)
    trainer.resume_state(1)
    for step in (2, 3):
        report(trainer, step, prompts)
        trainer.step(step)
    assert listed(rpc_backend, id)["categories"] == {"newly_lost": 1}
    lose_lease(rpc_backend, id)
    again = rpc_backend.claim(id)
    assert again.claimed["resume_step"] == 1
    page = listed(rpc_backend, id)
    assert [(prompt["row_index"], prompt["draws"], prompt["pass_share"]) for prompt in page["data"]] == [
        (0, 1, 1.0)
    ]
    again.start(1)
    report(again, 2, {"lost": [[], [1, 1]], "later": [[], [0, 1]]}, heads=heads_of(prompts))
    page = listed(rpc_backend, id)
    assert [(prompt["draws"], prompt["pass_share"]) for prompt in page["data"]] == [(2, 1.0), (1, 0.5)]
    assert [prompt["prompt"] for prompt in page["data"]] == ["Prompt 100%: lost", "Prompt 100%: later"]


def test_a_step_reported_again_replaces_its_draws(rpc_backend: Backend) -> None:
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    report(trainer, 1, {"a": [[1, 1]], "b": [[1, 1]]})
    report(trainer, 1, {"a": [[0, 1]]})
    [prompt] = listed(rpc_backend, id)["data"]
    assert (prompt["completions"], prompt["pass_share"]) == (2, 0.5)


def test_a_job_decides_what_passes(rpc_backend: Backend) -> None:
    id = rpc_backend.create_job(evaluation={"pass_above": 0.2})
    report(rpc_backend.claim(id), 1, {"a": [[0.3, 0.1]]})
    page = listed(rpc_backend, id)
    assert (page["pass_above"], page["data"][0]["pass_share"]) == (0.2, 0.5)


def test_a_job_without_completions_has_no_prompts(rpc_backend: Backend) -> None:
    page = listed(rpc_backend, rpc_backend.create_job(), category="won", q="x", sort="-variance")
    assert (page["data"], page["total"], page["prompts"], page["categories"]) == ([], 0, 0, {})


def test_a_cursor_of_another_order_is_refused(rpc_backend: Backend, job: str) -> None:
    cursor = listed(rpc_backend, job, sort="-change", limit=1)["next_cursor"]
    for sort, after in (("change", cursor), ("-change", cursor + "x"), ("row", "WyJyb3ciLDAsLTFd")):
        answer = rpc_backend.api.get(f"/jobs/{job}/prompts", params={"sort": sort, "after": after})
        refused(answer, "after", "invalid_cursor")
    for query in ({"category": "new"}, {"sort": "prompt"}, {"split": "all"}, {"limit": 0}):
        assert rpc_backend.api.get(f"/jobs/{job}/prompts", params=query).status_code == 422
