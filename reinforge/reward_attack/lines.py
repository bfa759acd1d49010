"""Finds the line of a reward's code that probably rewards a wrong completion."""

SEARCHES = frozenset(
    {"echo", "inside_longer", "every_answer", "numbers", "digits", "either", "denied", "changed_mind"}
)


def suspicious_line(source: str, code: str) -> int | None:
    """Number of the first line with a string search, such as `.find(`, if `code` is in SEARCHES; or None."""
    if code not in SEARCHES:
        return None
    for number, line in enumerate(source.split("\n"), 1):
        text = line.partition("#")[0]
        words = text.replace("(", " ").replace(")", " ").split()
        if any(call in text for call in ("re.search(", "re.findall(", ".find(", ".count(")):
            return number
        if (
            "in" in words
            and "for" not in words
            and not text.lstrip().startswith(("for ", "import ", "from "))
        ):
            return number
    return None
