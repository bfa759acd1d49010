"""`make proof-fuzz`: all families, longer inputs and many at random, for every parser; the result is kept as JSON."""

import argparse
import logging
import sys
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from common.measure import stamp, write  # noqa: E402

from tests.fuzz import parsing  # noqa: E402
from tests.fuzz.parsers import PARSERS  # noqa: E402


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1, help="of the families made at random")
    options.add_argument(
        "--mixed", type=int, default=parsing.LONG.mixed, help="such families for each parser"
    )
    options.add_argument("--only", default="", help="parsers whose name has this in it")
    arguments = options.parse_args()
    logging.disable()
    effort = replace(parsing.LONG, seed=arguments.seed, mixed=arguments.mixed)
    result = stamp("pydantic", "orjson") | {"seed": effort.seed, "longest": effort.longest, "parsers": {}}
    faults: list[str] = []
    for number, parser in enumerate(PARSERS):
        if arguments.only not in parser.name:
            continue
        began = time.process_time()
        of_this = list(parsing.faults(parser, number, effort))
        families = sum(1 for _ in parsing.families_of(parser, number, effort))
        result["parsers"][parser.name] = {"families": families, "faults": len(of_this)}
        print(
            f"{parser.name}: {families} families, {time.process_time() - began:.1f} s", *of_this, sep="\n  "
        )
        faults += of_this
    write("fuzz", result | {"holds": not faults, "faults": faults[:50]}, depth=2)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
