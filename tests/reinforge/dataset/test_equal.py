"""Prompts that are the same, and a split that keeps them together."""

from hypothesis import given
from hypothesis import strategies as st

from reinforge.dataset import normalised, prompt_key, split, split_together


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_white_space_capitals_and_the_system_message_tell_no_prompts_apart() -> None:
    assert normalised(user("  What IS\n\t2+2? ")) == "what is 2+2?"
    system = {"role": "system", "content": "Be brief."}
    assert normalised([system, *user("What is 2+2?")]) == "what is 2+2?"
    assert normalised(user("2 + 2?")) != normalised(user("2+2?"))
    assert prompt_key("a") != prompt_key("b") and prompt_key("a") < 2**64


def test_roles_distinguish_conversations() -> None:
    messages = [*user("Hi"), {"role": "assistant", "content": "Yes?"}, *user("Go on")]
    other = [*user("Hi"), *user("Yes?"), *user("Go on")]
    assert normalised(messages) == "user: hi assistant: yes? user: go on"
    assert normalised(messages) != normalised(other)


@given(st.integers(1, 60), st.none() | st.integers(0, 59), st.integers(0, 1000))
def test_without_equal_prompts_it_is_the_split_by_rows(rows: int, held: int | None, seed: int) -> None:
    held = None if held is None else held % rows
    assert split_together(range(rows), held, seed) == split(rows, held, seed)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.integers(1, 20), st.integers(0, 1000))
def test_equal_prompts_stay_on_one_side(keys: list[int], held_out: int, seed: int) -> None:
    held_out = min(held_out, len(keys) - 1)
    train, held = split_together(keys, held_out, seed)
    assert sorted(train + held) == list(range(len(keys)))
    assert not {keys[row] for row in train} & {keys[row] for row in held}
    smallest = min(keys.count(key) for key in keys)
    assert len(held) <= max(held_out, smallest)
    assert train and (held or len(set(keys)) == 1)


def test_the_seed_decides() -> None:
    keys = [row // 2 for row in range(40)]
    assert split_together(keys, 6, 1) != split_together(keys, 6, 2)
    assert len(split_together(keys, 6, 1)[1]) == 6
