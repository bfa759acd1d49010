"""Search of completions: matches, order, pages, counts, arbitrary input."""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from reinforge.tools import call_keys
from tests.backend.server import Backend, Trainer, refused

Row = dict[str, Any]
TEXTS = [
    "I carry the one. <answer>42</answer>",
    "<think>12+30=42</think> so it is 42",
    "Carry ten ones; ten ones, then stop",
    "ones ten carry",
    "100% sure: a_b c\\d 'quoted' \"said\" it's",
    "答案是四十二。größe ÄPFEL",
    "plus or minus 1e5 and 3.50",
    "<b>bold</b><script>alert(1)</script>",
    "ten—one “curly” 3×4 ✅done",
    "",
]


def random_row(source: random.Random, prompt_no: int, sample_no: int) -> Row:
    reward = source.choice([None, 0.0, 0.1, 0.1 + 0.2, 1.0, -1.5])
    return {
        "prompt_no": prompt_no,
        "sample_no": sample_no,
        "prompt_hash": f"h{source.randint(0, 5)}",
        "row_index": prompt_no,
        "reward": reward,
        "advantage": None if reward is None else source.choice([-0.5, 0.0, 0.5]),
        "length": source.randint(1, 6),
        "finish_reason": source.choice(["stop", "length"]),
        "error": "exception" if reward is None else None,
        "text": source.choice(TEXTS),
        "turns": 1 + sample_no,
        "tool_calls": sample_no,
        "tool_errors": sample_no // 2,
        "call_keys": call_keys((f"t{n % 2}", "timeout" if n > 1 else "ok") for n in range(sample_no)),
    }


def report(trainer: Trainer, step: int, split: str, rows: list[Row]) -> None:
    blob = trainer.blob(f"{trainer.claimed['job']} {split} {step}".encode(), "rollouts")
    trainer.send({"kind": "rollouts", "step": step, "split": split, "blob": blob, "rows": rows})


@pytest.fixture(scope="module")
def stored(rpc_backend: Backend) -> tuple[str, list[Row]]:
    """A job with 200 random completions, as its worker reported them; another job has the same texts."""
    source = random.Random(3)
    other = rpc_backend.claim(rpc_backend.create_job())
    report(other, 1, "train", [random_row(source, n, 0) for n in range(20)])
    id = rpc_backend.create_job()
    trainer = rpc_backend.claim(id)
    trainer.start()
    rows: list[Row] = []
    for step, split in [(0, "held_out"), (1, "train"), (2, "train"), (2, "held_out"), (11, "train")]:
        made = [random_row(source, prompt, sample) for prompt in range(10) for sample in range(4)]
        report(trainer, step, split, made)
        visible = [{name: value for name, value in row.items() if name != "call_keys"} for row in made]
        rows += [{"step": step, "split": split, "prompt": None, "answer": None, **row} for row in visible]
    return id, rows


def searched(backend: Backend, job: str, **query: Any) -> dict[str, Any]:
    response = backend.api.get(f"/jobs/{job}/completions/search", params=query)
    assert response.status_code == 200, response.text
    page: dict[str, Any] = response.json()
    return page


def every_page(backend: Backend, job: str, **query: Any) -> list[Row]:
    rows: list[Row] = []
    after: dict[str, str] = {}
    while True:
        page = searched(backend, job, **query, **after)
        rows += page["data"]
        assert page["has_more"] == (page["next_cursor"] is not None)
        if not page["has_more"]:
            assert len(rows) == page["total"]
            return rows
        assert len(page["data"]) == query["limit"]
        after = {"after": page["next_cursor"]}


def place(row: Row) -> tuple[Any, ...]:
    return (row["split"], row["prompt_no"], row["sample_no"])


def order(sort: str) -> Callable[[Row], Any]:
    name, sign = sort.removeprefix("-"), -1 if sort.startswith("-") else 1
    if name == "step":
        return lambda row: (sign * row["step"], place(row))
    return lambda row: (row[name] is None, sign * (row[name] or 0), -row["step"], place(row))


@pytest.mark.parametrize("sort", ["step", "-step", "reward", "-reward", "length", "-length"])
@pytest.mark.parametrize("limit", [7, 1000])
def test_every_order_goes_on_page_by_page(
    rpc_backend: Backend, stored: tuple[str, list[Row]], sort: str, limit: int
) -> None:
    job, rows = stored
    assert every_page(rpc_backend, job, sort=sort, limit=limit) == sorted(rows, key=order(sort))


NUMBERS: dict[str, tuple[dict[str, Any], Callable[[Row], bool]]] = {
    "split": ({"split": "held_out"}, lambda row: row["split"] == "held_out"),
    "prompt": ({"prompt_hash": "h3"}, lambda row: row["prompt_hash"] == "h3"),
    "steps": ({"step_from": 1, "step_to": 2}, lambda row: 1 <= row["step"] <= 2),
    "rewards": (
        {"reward_min": 0.1, "reward_max": 0.1 + 0.2},
        lambda row: row["reward"] is not None and 0.1 <= row["reward"] <= 0.1 + 0.2,
    ),
    "positive": ({"advantage": "positive"}, lambda row: (row["advantage"] or 0) > 0),
    "negative": ({"advantage": "negative"}, lambda row: (row["advantage"] or 0) < 0),
    "zero": ({"advantage": "zero"}, lambda row: row["advantage"] == 0),
    "none": ({"advantage": "none"}, lambda row: row["advantage"] is None),
    "finish": ({"finish_reason": "length"}, lambda row: row["finish_reason"] == "length"),
    "failed": ({"failed": True}, lambda row: row["error"] is not None),
    "not failed": ({"failed": False}, lambda row: row["error"] is None),
    "lengths": ({"length_min": 2, "length_max": 3}, lambda row: 2 <= row["length"] <= 3),
    "turns": ({"turns_min": 2, "turns_max": 3}, lambda row: 2 <= row["turns"] <= 3),
    "tool": ({"tool": "t1"}, lambda row: row["tool_calls"] > 1),
    "status": ({"tool_status": "timeout"}, lambda row: row["tool_calls"] > 2),
    "tool error": ({"tool_status": "error"}, lambda row: row["tool_calls"] > 2),
    "status of a tool": ({"tool": "t0", "tool_status": "timeout"}, lambda row: row["tool_calls"] > 2),
    "status of another tool": ({"tool": "t1", "tool_status": "timeout"}, lambda row: False),
    "nothing": ({"reward_min": 2}, lambda row: False),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_alone_and_together_with_words(
    rpc_backend: Backend, stored: tuple[str, list[Row]], name: str
) -> None:
    job, rows = stored
    query, holds = NUMBERS[name]
    expected = [row for row in sorted(rows, key=order("-step")) if holds(row)]
    assert every_page(rpc_backend, job, limit=50, **query) == expected
    with_word = [row for row in expected if "carry" in row["text"].lower() and row["step"] > 0]
    assert every_page(rpc_backend, job, limit=50, q="carry", **{"step_from": 1} | query) == with_word


QUERIES: dict[str, Callable[[str], bool]] = {
    "carry": lambda text: "carry" in text,
    "CARRY one": lambda text: "carry the one." in text,
    "carry ten": lambda text: "carry" in text and "ten" in text,
    '"carry ten"': lambda text: "carry ten" in text,
    '"ten ones then"': lambda text: "ten ones, then" in text,
    "carry -ten": lambda text: "carry" in text and "ten" not in text,
    'carry -"carry ten"': lambda text: "carry" in text and "carry ten" not in text,
    "-carry": lambda text: "carry" not in text,
    "minus or ten -one": lambda text: (
        "minus" in text or ("ten" in text and re.search(r"\bone\b", text) is None)
    ),
    '"plus or minus"': lambda text: "plus or minus" in text,
    "or": lambda text: re.search(r"\bor\b", text) is not None,
    "or minus": lambda text: "or minus" in text,
    "car": lambda text: False,
    "30": lambda text: "30" in text,
    "1e5": lambda text: "1e5" in text,
    "<think>": lambda text: "<think>" in text,
    "<THINK> 42": lambda text: "<think>" in text,
    "-<think> 42": lambda text: "<answer>42" in text,
    "12+30=42": lambda text: "12+30=42" in text,
    "0=4": lambda text: "0=4" in text,
    "=43": lambda text: False,
    '"42</think> so it"': lambda text: "42</think> so it" in text,
    "<b>bold</b>": lambda text: "<b>bold</b>" in text,
    "3.5": lambda text: "3.50" in text,
    "%": lambda text: "%" in text,
    "100%": lambda text: "100%" in text,
    "a_b": lambda text: "a_b" in text,
    "a%b": lambda text: False,
    "c\\d": lambda text: "c\\d" in text,
    "'quoted'": lambda text: "'quoted'" in text,
    "it's": lambda text: "it's" in text,
    "十二": lambda text: "十二" in text,
    "GRÖSSE or größe": lambda text: "größe" in text,
    "äpfel": lambda text: "äpfel" in text,
    '"': lambda text: True,
    '""': lambda text: True,
    "  ": lambda text: True,
    '"unfinished': lambda text: False,
    "'; DROP TABLE completion; --": lambda text: False,
    "!&|():*<->": lambda text: False,
    "alert(1)": lambda text: "alert(1)" in text,
    "-": lambda text: False,
    "--": lambda text: True,
    "curly": lambda text: "curly" in text,
    "done 4": lambda text: "done" in text,
    "×4": lambda text: "×4" in text,
    "/": lambda text: "/" in text,
}


@pytest.mark.parametrize("q", QUERIES)
def test_what_a_person_types(rpc_backend: Backend, stored: tuple[str, list[Row]], q: str) -> None:
    job, rows = stored
    expected = [row for row in sorted(rows, key=order("-step")) if QUERIES[q](row["text"].lower())]
    page = searched(rpc_backend, job, q=q, limit=1000)
    assert {row["text"] for row in page["data"]} == {row["text"] for row in expected}
    assert page["data"] == expected
    assert (page["total"], page["counted_to"]) == (len(expected), 10_000)


def test_terms_that_are_no_words_match_wherever_the_text_has_them(
    rpc_backend: Backend, stored: tuple[str, list[Row]]
) -> None:
    """The index narrows such a search down; it must not lose anything."""
    job, rows = stored
    source = random.Random(5)
    texts = {row["text"] for row in rows if row["text"]}
    for _ in range(60):
        text = source.choice(sorted(texts))
        start = source.randrange(len(text))
        part = text[start : start + source.randint(1, 20)].replace('"', " ").strip()
        if re.fullmatch(r"[A-Za-z0-9\s]*", part):
            continue
        matches = {row["text"] for row in searched(rpc_backend, job, q=f'"{part}"', limit=1000)["data"]}
        assert matches == {other for other in texts if part.lower() in other.lower()}, part


def test_a_search_refuses_what_makes_no_sense(rpc_backend: Backend, stored: tuple[str, list[Row]]) -> None:
    job, _ = stored
    path = f"/jobs/{job}/completions/search"
    cursor = searched(rpc_backend, job, limit=1, sort="reward")["next_cursor"]
    assert searched(rpc_backend, job, limit=1, sort="reward", after=cursor)["data"]
    for after in ("", "x", "äöü", cursor[:-5], cursor + "A" * 10, "W10", "a" * 10_000):
        refused(
            rpc_backend.api.get(path, params={"sort": "reward", "after": after}), "after", "invalid_cursor"
        )
    refused(rpc_backend.api.get(path, params={"sort": "-reward", "after": cursor}), "after", "invalid_cursor")
    refused(rpc_backend.api.get(path, params={"sort": "length", "after": cursor}), "after", "invalid_cursor")
    for query in (
        {"reward_min": "nan"},
        {"reward_max": "inf"},
        {"step_from": -1},
        {"step_to": 2**60},
        {"sort": "text"},
        {"advantage": "some"},
        {"limit": 0},
        {"turns_min": -1},
        {"tool": "x" * 65},
        {"tool_status": "fine"},
        {"q": "x" * 501},
    ):
        assert rpc_backend.api.get(path, params=query).status_code == 422, query
    assert rpc_backend.api.get(path + "?q=a%00b").status_code == 422
    assert rpc_backend.api.get("/jobs/ftjob-none/completions/search").status_code == 404


def test_long_input_is_answered(rpc_backend: Backend, stored: tuple[str, list[Row]]) -> None:
    job, _ = stored
    path = f"/jobs/{job}/completions/search"
    for value in ("a" * 50_000, "%" * 20_000, "'" * 20_000):
        for name in ("prompt_hash", "finish_reason"):
            response = rpc_backend.api.get(path, params={name: value})
            assert response.status_code in (200, 400, 422), response.text[:200]
            if response.status_code == 200:
                assert response.json()["data"] == []
    for q in (
        "a" * 500,
        "-" * 500,
        '"' * 500,
        "a " * 250,
        "<" * 500,
        "a or " * 100,
        '-"a" ' * 100,
        "é" * 500,
    ):
        assert searched(rpc_backend, job, q=q)["counted_to"] == 10_000


def test_words_of_any_length_are_stored(rpc_backend: Backend) -> None:
    """A word of PostgreSQL's full text has at most 2 KB; longer ones are no reason to refuse a completion."""
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    texts = ["x" * 2000, "é" * 2000, "\U0001f600" * 2000, "a b " * 500, "nul \0 end", "\u202eright to left"]
    rows = [random_row(random.Random(n), n, 0) | {"text": text} for n, text in enumerate(texts)]
    report(trainer, 1, "train", rows)
    for q, expected in (
        ("x" * 500, []),
        ('"xx"', []),
        ("b", [3]),
        ("é" * 100, [1]),
        ("end", [4]),
        ("right", [5]),
    ):
        assert [row["prompt_no"] for row in searched(rpc_backend, job, q=q)["data"]] == expected, q


def test_more_than_are_counted(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    report(trainer, 1, "train", [random_row(random.Random(1), 0, 0) | {"text": "first only", "reward": 9.0}])
    report(trainer, 2, "train", [])
    rpc_backend.sql(
        "INSERT INTO completion (job_id, split, step, prompt_no, sample_no, row_index, prompt_hash, reward, advantage,"
        " length, finish_reason, text) SELECT %s, 'train', 2, n / 8, n %% 8, 0, 'p', n / 20000.0, 0, n, 'stop',"
        " CASE WHEN n < 10000 THEN 'exactly' ELSE 'many' END || ' common' FROM generate_series(0, 10998) n",
        job,
    )
    everything = searched(rpc_backend, job, limit=2)
    assert (everything["total"], everything["counted_to"], everything["has_more"]) == (10_000, 10_000, True)
    assert [row["sample_no"] for row in everything["data"]] == [0, 1]
    oldest = searched(rpc_backend, job, sort="step", limit=1)
    assert oldest["data"][0]["text"] == "first only", (
        "sorting looks at all, not only at those that are counted"
    )
    best = searched(rpc_backend, job, sort="-reward", limit=2)
    assert [row["reward"] for row in best["data"]] == [9.0, 10998 / 20000]
    common = searched(rpc_backend, job, sort="-length", q="common", limit=2)
    assert ([row["length"] for row in common["data"]], common["total"]) == ([10998, 10997], 10_000)
    rest = searched(rpc_backend, job, sort="-length", q="common", limit=1000, after=common["next_cursor"])
    assert [row["length"] for row in rest["data"]] == list(range(10996, 9996, -1))
    assert searched(rpc_backend, job, q="exactly")["total"] == 10_000
    assert searched(rpc_backend, job, q="many")["total"] == 999
    assert searched(rpc_backend, job, q="first common")["total"] == 0
    first = searched(rpc_backend, job, q="first")
    assert (first["total"], first["data"][0]["step"]) == (1, 1)


def test_a_step_that_a_resume_undoes_no_longer_matches(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    row = random_row(random.Random(1), 0, 0) | {"text": "gone"}
    report(trainer, 1, "train", [row])
    assert searched(rpc_backend, job, q="gone")["total"] == 1
    report(trainer, 1, "train", [row | {"text": "new"}])
    assert (searched(rpc_backend, job, q="gone")["total"], searched(rpc_backend, job, q="new")["total"]) == (
        0,
        1,
    )


def test_a_search_is_planned_for_its_values(rpc_backend: Backend, stored: tuple[str, list[Row]]) -> None:
    """With the plan of any value, a rare tool would be searched as a common one is."""
    job, _ = stored
    modes: list[str] = []

    def read_mode(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if "completion.call_keys @>" in statement:
            cursor.execute("SHOW plan_cache_mode")
            modes.append(cursor.fetchone()[0])

    engine = rpc_backend.app.state.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", read_mode)
    try:
        assert searched(rpc_backend, job, tool="t1")["data"]
    finally:
        event.remove(engine, "before_cursor_execute", read_mode)
    assert modes == ["force_custom_plan"]
