"""One parser against the families of inputs."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from tests.fuzz import families, growth
from tests.fuzz.parsers import Parser

MEMORY_SIZE = 4096


@dataclass(frozen=True)
class Effort:
    longest: int = 65_536
    share: int = 4
    """Of the families that are the same for all parsers every so-manieth is tried; others by other parsers."""
    mixed: int = 2
    """Families made at random."""
    seed: int = 1


CI = Effort()
LONG = Effort(longest=1_048_576, share=1, mixed=60)


def faults(parser: Parser, number: int, effort: Effort) -> Iterator[str]:
    """What does not hold; number: the parser's, which chooses the families."""
    for name, make in families_of(parser, number, effort):
        if (fault := _fault(parser, make, effort)) is not None:
            yield f"{parser.name}, {name}: {fault}"


def families_of(parser: Parser, number: int, effort: Effort) -> Iterator[tuple[str, families.Make]]:
    yield from families.of_seeds(parser.seeds)
    if not parser.general:
        return
    for place, family in enumerate(families.general()):
        if place % effort.share == number % effort.share:
            yield family
    for nth in range(effort.mixed):
        chosen = f"{effort.seed}/{parser.name}/{nth}"
        yield f"mixed {chosen}", families.mixed(random.Random(chosen))


def _fault(parser: Parser, make: families.Make, effort: Effort) -> str | None:
    def run_of(size: int) -> growth.Run:
        return _refusing(parser.prepare(make(size)), parser)

    largest = min(parser.largest, effort.longest)
    try:
        breach = growth.time_breach(run_of, largest, parser.seconds_per_character)
        if breach is None:
            size = min(largest, MEMORY_SIZE)
            content_bytes = len(make(size).encode("utf-8", "replace"))
            breach = growth.memory_breach(run_of(size), content_bytes, parser.amplification)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None if breach is None else str(breach)


def _refusing(run: Callable[[], object], parser: Parser) -> growth.Run:
    def safe() -> None:
        with suppress(*parser.refusals):
            run()

    return safe
