"""Token ids as text and as pieces."""

import pytest
from transformers import AutoTokenizer

from tests.support.tiny_models import write_tokenizer
from worker.rollout.text import Text


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder, chat_template=False)
    return AutoTokenizer.from_pretrained(folder)


def test_pieces_join_to_the_text_with_characters_at_their_last_byte(tokenizer) -> None:  # type: ignore[no-untyped-def]
    text = "aä東🗼 z"
    ids = tokenizer(text)["input_ids"]
    pieces = Text(tokenizer).pieces(ids)
    assert "".join(pieces) == text
    assert pieces == ["a", "", "ä", "", "", "東", "", "", "", "🗼", " ", "z"]


def test_broken_bytes_do_not_swallow_what_follows(tokenizer) -> None:  # type: ignore[no-untyped-def]
    broken = tokenizer("東")["input_ids"][:2] * 3
    pieces = Text(tokenizer).pieces([*broken, *tokenizer("ok")["input_ids"]])
    assert len(pieces) == 8
    assert pieces[-2:] == ["o", "k"]


def test_special_tokens_are_pieces_but_not_text(tokenizer) -> None:  # type: ignore[no-untyped-def]
    ids = [*tokenizer("hi")["input_ids"], 1]
    assert Text(tokenizer).completion(ids) == "hi"
    assert Text(tokenizer).pieces(ids) == ["h", "i", "<end>"]
