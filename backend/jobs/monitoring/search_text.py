"""What a person types into the search of completions, as a condition on their text.

Terms are written as for web searches: all have to be there, `or` stands between alternatives, `-` before what must
not be there, quotes around what belongs together. A term of plain letters and digits is found as a word, a quoted one
as words in a row, whatever punctuation is between them; both by index, in any case. Any other term (`<think>`,
`12+30=42`, `"a = b"`, letters beyond ASCII, which scripts without spaces run together) is found as it stands, anywhere
in the text, in any case. `or` where there is nothing to choose from is a word.

Limits: a text is searched in its first 2,000 characters; words in a row are missed where they follow the 256th
occurrence of one of them.
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
class Term:
    text: str
    without: bool = False

    @property
    def is_words(self) -> bool:
        return _WORDS.fullmatch(self.text) is not None


def parse(q: str) -> list[list[Term]]:
    """Alternatives, each a list of terms that all have to hold; none when nothing is asked for."""
    alternatives: list[list[Term]] = [[]]
    found = [match for match in _TERM.finditer(q) if (match["quoted"] or match["bare"] or "").strip()]
    for number, match in enumerate(found):
        is_or = match["bare"] is not None and match["bare"].lower() == "or" and not match["without"]
        if is_or and alternatives[-1] and number + 1 < len(found):
            alternatives.append([])
            continue
        text = match["bare"] if match["bare"] is not None else match["quoted"].strip()
        alternatives[-1].append(Term(text, bool(match["without"])))
    return [terms for terms in alternatives if terms]


def condition(q: str) -> ColumnElement[bool] | None:
    """On `Completion`; None when `q` asks for nothing."""
    alternatives = parse(q)
    return or_(*(_all(terms) for terms in alternatives)) if alternatives else None


def _all(terms: list[Term]) -> ColumnElement[bool]:
    parts = []
    words = [f'{"-" if term.without else ""}"{term.text}"' for term in terms if term.is_words]
    for term in terms:
        if not term.is_words:
            as_it_stands = Completion.text.icontains(term.text, autoescape=True)
            parts.append(not_(as_it_stands) if term.without else as_it_stands)
            if (
                not term.without
            ):  # what is certain to be a word of the text lets the index do most of the work
                words += [f'"{word}"' for word in _WHOLE.findall(term.text)]
    if words:
        parts.insert(0, Completion.words.op("@@")(func.websearch_to_tsquery(_SIMPLE, " ".join(words))))
    return and_(*parts)
