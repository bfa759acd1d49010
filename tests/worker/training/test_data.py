"""Prompts: rendering, order, refusals."""

from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from reinforge.dataset import NO_PLACE_FOR_TOOLS, row_hash
from reinforge.dataset.columns import ColumnRoles
from reinforge.errors import JobFailure
from reinforge.spec import DataSpec
from tests.support.small_jobs import write_rows
from tests.support.tiny_models import write_tokenizer
from worker.models.rendering import ChatRenderer
from worker.training.prompts.data import JobPrompts, load_prompts


@pytest.fixture(scope="module", params=[True, False], ids=["template", "plain"])
def renderer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ChatRenderer:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder, chat_template=request.param)
    return ChatRenderer(AutoTokenizer.from_pretrained(folder))


def load(
    folder: Path, renderer: Any, rows: list[dict[str, Any]], *, max_tokens: int = 100, **data: Any
) -> JobPrompts:
    path = write_rows(folder / "rows.jsonl", rows)
    return load_prompts(
        DataSpec(dataset="x", **data), path, None, renderer=renderer, seed=3, max_tokens=max_tokens
    )


ROWS = [{"prompt": f"row {n}", "answer": n} for n in range(10)]


def test_a_prompt_is_rendered_up_to_the_answer(tmp_path: Path, renderer: ChatRenderer) -> None:
    prompts = load(tmp_path, renderer, ROWS, held_out_rows=0, system_prompt="be brief", sampling="in_order")
    first = prompts.for_step(1, 1)[0]
    if renderer.has_template:
        assert first.text == "<system>be brief<user>row 0<assistant>"
    else:
        assert first.text == "be brief\n\nrow 0"
    ids = renderer._tokenizer(first.text, add_special_tokens=not renderer.has_template)["input_ids"]
    assert first.token_ids == tuple(ids)
    assert (first.row_index, first.item) == (0, ROWS[0])
    assert [message["role"] for message in first.messages] == ["system", "user"]


def test_every_epoch_deals_every_row_once_in_a_new_order(tmp_path: Path, renderer: ChatRenderer) -> None:
    prompts = load(tmp_path, renderer, ROWS, held_out_rows=0)
    dealt = [prompt.row_index for step in range(1, 8) for prompt in prompts.for_step(step, 3)]
    assert sorted(dealt[:10]) == sorted(dealt[10:20]) == list(range(10))
    assert dealt[:10] != dealt[10:20]
    assert [p.row_index for p in prompts.for_step(4, 3)] == dealt[9:12]


def test_in_order_means_in_order(tmp_path: Path, renderer: ChatRenderer) -> None:
    prompts = load(tmp_path, renderer, ROWS, held_out_rows=0, sampling="in_order")
    assert [p.row_index for p in prompts.for_step(2, 6)] == [6, 7, 8, 9, 0, 1]


def test_held_out_rows_are_never_dealt(tmp_path: Path, renderer: ChatRenderer) -> None:
    prompts = load(tmp_path, renderer, ROWS, held_out_rows=4)
    held_out = {prompt.row_index for prompt in prompts.for_evaluation(100)}
    assert len(held_out) == 4
    assert not held_out & {p.row_index for step in range(1, 20) for p in prompts.for_step(step, 3)}
    assert len(prompts.for_evaluation(2)) == 2


def test_held_out_prompts_that_are_trained_on_are_counted(tmp_path: Path, renderer: ChatRenderer) -> None:
    assert load(tmp_path, renderer, ROWS, held_out_rows=3).leaked_rows == 0
    doubled = [{"prompt": f"row {number % 5}"} for number in range(10)]
    prompts = load(tmp_path, renderer, doubled, held_out_rows=3)
    trained = {row.messages[0]["content"] for row in prompts.train}
    assert prompts.leaked_rows == sum(row.messages[0]["content"] in trained for row in prompts.held_out) > 0
    assert load(tmp_path, renderer, doubled, held_out_rows=2, split_by="prompt").leaked_rows == 0


def test_one_row_trains_alone_and_says_so(tmp_path: Path, renderer: ChatRenderer) -> None:
    prompts = load(tmp_path, renderer, ROWS[:1])
    assert [p.row_index for p in prompts.for_step(5, 3)] == [0, 0, 0]
    assert prompts.for_evaluation(5) == []
    assert any("no held-out evaluation" in note for note in prompts.notes)


def test_a_row_that_is_too_long_is_named(tmp_path: Path, renderer: ChatRenderer) -> None:
    prompts = load(tmp_path, renderer, [*ROWS, {"prompt": "x" * 200}], held_out_rows=0)
    with pytest.raises(JobFailure, match=r"row 11 has .* tokens; the limit is 100") as caught:
        prompts.check()
    assert caught.value.code == "data_error"


def test_the_longest_prompt_is_measured_before_it_trains(tmp_path: Path, renderer: ChatRenderer) -> None:
    prompts = load(tmp_path, renderer, [*ROWS, {"prompt": "row and more"}], held_out_rows=2)
    lengths = [len(prompt.token_ids) for prompt in (*prompts.for_step(1, 9), *prompts.for_evaluation(2))]
    assert prompts.check() == max(lengths) > min(lengths)


def test_a_template_that_refuses_names_the_row(tmp_path: Path) -> None:
    class Refusing:
        chat_template = "…"

        def apply_chat_template(self, messages: Any, **_: Any) -> str:
            raise TypeError("no tools here")

    prompts = load(tmp_path, ChatRenderer(Refusing()), ROWS[:2], held_out_rows=0)
    with pytest.raises(JobFailure, match=r"Row 1 .*no tools here"):
        prompts.check()


def test_a_prompt_of_no_tokens_is_refused(tmp_path: Path) -> None:
    class Mute:
        """Has no token for any word, as a word tokenizer of another language."""

        chat_template = None

        def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
            return {"input_ids": []}

    prompts = load(tmp_path, ChatRenderer(Mute()), ROWS[:2], held_out_rows=0)
    with pytest.raises(
        JobFailure, match=r"Row 1 cannot be a prompt: the tokenizer returns no tokens for it"
    ) as caught:
        prompts.check()
    assert caught.value.code == "data_error"


TOOLS = "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}"
ADD = {"type": "function", "function": {"name": "add"}}


class RecordingTokenizer:
    """A tokenizer that keeps what its template is given."""

    def __init__(self, chat_template: Any) -> None:
        self.chat_template = chat_template
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    def apply_chat_template(self, messages: Any, **options: Any) -> str:
        self.calls.append((messages, options))
        return "prompt"

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [1, 2]}


@pytest.mark.parametrize("template", [TOOLS, {"default": "{{ messages }}", "tool_use": TOOLS}])
def test_the_tools_of_a_row_reach_its_chat_template_and_no_others(tmp_path: Path, template: Any) -> None:
    called = {"function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "", "tool_calls": [called]},
        {"role": "tool", "content": "2"},
    ]
    tokenizer = RecordingTokenizer(template)
    rows = [{"messages": messages, "tools": [{"name": "add"}]}, {"messages": messages}]
    prompts = load(tmp_path, ChatRenderer(tokenizer), rows, held_out_rows=0, sampling="in_order")
    first, second = prompts.for_step(1, 2)
    [(first_call, with_tools), (plain, without)] = tokenizer.calls
    assert with_tools.pop("tools") == first.tools == [ADD]
    assert first_call[1]["tool_calls"] == [{"function": {"name": "add", "arguments": {"a": 1}}}]
    assert (plain, second.tools) == (messages, None)
    assert with_tools == without == {"tokenize": False, "add_generation_prompt": True}
    assert first.messages == second.messages == messages
    assert second.prompt_hash == row_hash(messages) != first.prompt_hash
    assert not any("tools" in note for note in prompts.notes)


def test_a_template_without_a_place_for_tools_leaves_them_out_and_says_so(
    tmp_path: Path, renderer: ChatRenderer
) -> None:
    prompts = load(tmp_path, renderer, [ROWS[0] | {"tools": [ADD]}, ROWS[0]], held_out_rows=0)
    with_tools, without = prompts.for_step(1, 2)
    assert with_tools.text == without.text
    assert NO_PLACE_FOR_TOOLS in prompts.notes
    assert NO_PLACE_FOR_TOOLS not in load(tmp_path, renderer, ROWS, held_out_rows=0).notes


def test_tools_that_are_none_end_the_job_before_it_trains(tmp_path: Path, renderer: ChatRenderer) -> None:
    with pytest.raises(JobFailure, match=r"line 2, .*no name") as caught:
        load(tmp_path, renderer, [ROWS[0], ROWS[1] | {"tools": [{}]}])
    assert caught.value.code == "data_error"


def test_holding_out_everything_is_refused(tmp_path: Path, renderer: ChatRenderer) -> None:
    with pytest.raises(JobFailure) as caught:
        load(tmp_path, renderer, ROWS, held_out_rows=10)
    assert caught.value.code == "data_error"


def test_rewards_read_numbers_of_csv_as_numbers(tmp_path: Path, renderer: ChatRenderer) -> None:
    path, held_out = tmp_path / "rows.csv", tmp_path / "held_out.csv"
    path.write_text("prompt,total,id\n1,2,01\n")
    held_out.write_text("prompt,total,id\n3,4,02\n")
    spec = DataSpec(dataset="x", columns=ColumnRoles(answer="total"))
    prompts = load_prompts(spec, path, held_out, renderer=renderer, seed=3, max_tokens=100, numbers=["total"])
    assert prompts.train[0].item == {"prompt": "1", "total": 2, "id": "01", "answer": 2}
    assert prompts.held_out[0].item["total"] == "4"
