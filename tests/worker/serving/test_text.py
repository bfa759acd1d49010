"""Text that grows: never half a character, never a stop text, in the end the whole."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models

from tests.support.tiny_models import SPECIALS, write_tokenizer
from worker.serving.text import Decode, TextStream

END = SPECIALS.index("<end>")


def byte_level(folder: Path) -> tuple[Tokenizer, Decode]:
    """Every byte is a token; `<end>` and its like are special."""
    write_tokenizer(folder, chat_template=False)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return tokenizer, lambda ids: str(tokenizer.decode(list(ids), skip_special_tokens=True))


def byte_fallback() -> tuple[Tokenizer, Decode]:
    """Words as in SentencePiece: a space before each, none before the first; bytes for what is no word."""
    words = ["▁", "▁a", "▁bc", "d", "é"]
    vocabulary = {token: index for index, token in enumerate([*words, *(f"<0x{n:02X}>" for n in range(256))])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], byte_fallback=True))
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer, lambda ids: str(tokenizer.decode(list(ids)))


@pytest.fixture(scope="module", params=["byte level", "byte fallback"])
def decoding(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, int, Decode]:
    if request.param == "byte level":
        tokenizer, decode = byte_level(tmp_path_factory.mktemp("tokenizer"))
    else:
        tokenizer, decode = byte_fallback()
    return request.param, tokenizer.get_vocab_size(), decode


def stream(tokens: Sequence[int], decode: Decode, stop: Sequence[str] = ()) -> tuple[list[str], TextStream]:
    text = TextStream(decode, stop)
    pieces = [text.push(tokens[:count]) for count in range(1, len(tokens) + 1)]
    return [*pieces, text.finish(tokens)], text


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_pieces_put_together_are_the_whole_text(
    data: st.DataObject, decoding: tuple[str, int, Decode]
) -> None:
    """Also for tokens that make no sense, as an untrained model samples them."""
    kind, size, decode = decoding
    tokens = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=150))
    pieces, text = stream(tokens, decode)
    assert text.text == decode(tokens)
    # With byte fallback one wrong byte unmakes the characters beside it, so what was shown may be another.
    if kind == "byte level" or "\ufffd" not in text.text:
        assert "".join(pieces) == text.text


def test_a_character_of_several_tokens_comes_at_once(tmp_path: Path) -> None:
    tokenizer, decode = byte_level(tmp_path)
    written = "aé日🙂b" * 20
    pieces, _ = stream(tokenizer.encode(written).ids, decode)
    assert [piece for piece in pieces if piece] == list(written)


def test_words_keep_the_spaces_between_them() -> None:
    tokenizer, decode = byte_fallback()
    words = ["▁a", "▁bc", "d", "▁", "▁a"] * 30
    pieces, _ = stream([tokenizer.token_to_id(word) for word in words], decode)
    assert "".join(pieces) == "".join(words).replace("▁", " ")[1:]
    assert pieces[1] == " bc"


def test_special_tokens_are_left_out(tmp_path: Path) -> None:
    tokenizer, decode = byte_level(tmp_path)
    ids = tokenizer.encode("ab").ids
    pieces, _ = stream([ids[0], SPECIALS.index("<user>"), ids[1], END], decode)
    assert "".join(pieces) == "ab"


@pytest.mark.parametrize(
    ("written", "stop", "expected"),
    [
        ("one\n\ntwo", ["\n\n"], "one"),
        ("one\ntwo", ["\n\n"], "one\ntwo"),
        ("aaab", ["aab"], "a"),
        ("ends with STO", ["STOP"], "ends with STO"),
        ("first! then.", [".", "!"], "first"),
        ("日本語です", ["語"], "日本"),
        ("stop", ["stop"], ""),
    ],
)
def test_a_stop_text_ends_it_and_is_left_off(
    tmp_path: Path, written: str, stop: list[str], expected: str
) -> None:
    tokenizer, decode = byte_level(tmp_path)
    pieces, text = stream(tokenizer.encode(written).ids, decode, stop)
    assert ("".join(pieces), text.text) == (expected, expected)
    assert text.stopped == (expected != written)


def test_nothing_of_a_stop_text_is_sent_before_it_is_whole(tmp_path: Path) -> None:
    tokenizer, decode = byte_level(tmp_path)
    text = TextStream(decode, ["<end/>"])
    ids = tokenizer.encode("a<end/>").ids
    assert [text.push(ids[:count]) for count in range(1, len(ids) + 1)] == ["a"] + [""] * (len(ids) - 1)
    assert text.stopped
