"""Turns the text of a completion search into an SQL condition.

Terms of ASCII letters and digits match whole words through an index; other terms match literally.
"""

import re
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, func, literal_column, not_, or_

from backend.models import Completion

_TERM = re.compile(r'(?P<without>-(?=\S))?(?:"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+))')
# pattern: linear: white space and letters exclude each other, so there is one way to divide a text
_WORDS = re.compile(r"[A-Za-z0-9]+(?:\s+[A-Za-z0-9]+)*", re.ASCII)
_BOUND = r"[\s!-/:-@\[-`{-~]"
# pattern: ours; linear, for letters and bounds exclude each other
_WHOLE = re.compile(rf"(?<={_BOUND})[A-Za-z0-9]+(?={_BOUND})", re.ASCII)
_SIMPLE: ColumnElement[str] = literal_column("'simple'::regconfig")


@dataclass(frozen=True, slots=True)
class SearchTerm:
    text: str
    without: bool = False

    @property
    def is_words(self) -> bool:
        return _WORDS.fullmatch(self.text) is not None


def parse(q: str) -> list[list[SearchTerm]]:
    alternatives: list[list[SearchTerm]] = [[]]
    matches = [match for match in _TERM.finditer(q) if (match["quoted"] or match["bare"] or "").strip()]
    for number, match in enumerate(matches):
        is_or = match["bare"] is not None and match["bare"].lower() == "or" and not match["without"]
        if is_or and alternatives[-1] and number + 1 < len(matches):
            alternatives.append([])
            continue
        text = match["bare"] if match["bare"] is not None else match["quoted"].strip()
        alternatives[-1].append(SearchTerm(text, bool(match["without"])))
    return [terms for terms in alternatives if terms]


def condition(q: str) -> ColumnElement[bool] | None:
    alternatives = parse(q)
    return or_(*(_all(terms) for terms in alternatives)) if alternatives else None


def _all(terms: list[SearchTerm]) -> ColumnElement[bool]:
    parts = []
    words = [f'{"-" if term.without else ""}"{term.text}"' for term in terms if term.is_words]
    for term in terms:
        if not term.is_words:
            as_it_stands = Completion.text.icontains(term.text, autoescape=True)
            parts.append(not_(as_it_stands) if term.without else as_it_stands)
            if (
                not term.without
            ):  # terms that are certainly words of the text let the index do most of the work
                words += [f'"{word}"' for word in _WHOLE.findall(term.text)]
    if words:
        parts.insert(0, Completion.words.op("@@")(func.websearch_to_tsquery(_SIMPLE, " ".join(words))))
    return and_(*parts)
