"""The claims ledger: at least twenty effects that the articles state, each run again with three seeds and marked.

    benchmarks/claims.py                 run what has no result yet, then write results and page
    benchmarks/claims.py --only ID …     only the runs of these claims
    benchmarks/claims.py --page          write results and page from the runs there are
    benchmarks/claims.py --check         compare docs/claims.md with the committed results; writes nothing

What each claim's runs are and when it counts as confirmed stands in `claims/`, written before the runs. Single runs
are kept in `.reinforge/claims/runs.jsonl`: an interrupted ledger goes on where it was. About two hours on two cores.
"""

import argparse
import sys

from claims import page
from claims.fixtures import WORK, write_rows
from claims.registry import CLAIMS, arms
from common.runs import run_all, stored


def main() -> int:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--only", nargs="+", default=[], metavar="ID", help="run only these claims")
    made.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    made.add_argument("--retry", action="store_true", help="run failed ones again")
    made.add_argument("--page", action="store_true", help="run nothing")
    made.add_argument("--check", action="store_true", help="write nothing; fail when the page has drifted")
    given = made.parse_args()
    if given.check:
        return page.check()
    if unknown := set(given.only) - {claim.id for claim in CLAIMS}:
        made.error(f"no such claim: {', '.join(sorted(unknown))}")
    if not given.page:
        chosen = tuple(claim for claim in CLAIMS if not given.only or claim.id in given.only)
        runs = [run for arm in arms(chosen) for run in arm.runs()]
        write_rows()
        run_all(runs, WORK, jobs=given.jobs, retry=given.retry)
    page.write(stored(WORK))
    return 0


if __name__ == "__main__":
    sys.exit(main())
