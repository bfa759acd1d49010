from collections.abc import Sequence

from worker.environment.token_counts import token_counts

PIECES = ["<call>", "ad", "d", "", "é", "</call>"]


def texts(rows: Sequence[Sequence[int]]) -> list[str]:
    return ["".join(PIECES[token] for token in ids) for ids in rows]


def test_fewest_tokens_whose_text_has_the_characters() -> None:
    row = [0, 1, 2, 3, 4, 5]
    for end, tokens in ((0, 0), (1, 1), (6, 1), (7, 2), (9, 3), (10, 5), (11, 6), (17, 6), (99, 6)):
        assert token_counts(texts, [row, [2], []], [end, 1, 5]) == [tokens, 1, 0]
    assert token_counts(texts, [], []) == []
