"""The claims ledger: at least twenty effects that the articles state, each run again with three seeds and marked.

    benchmarks/claims.py                 run what has no result yet, then write results and page
    benchmarks/claims.py --only ID …     only the runs of these claims
    benchmarks/claims.py --page          write results and page from the runs there are
    benchmarks/claims.py --check         compare docs/claims.md with the committed results; writes nothing

What each claim's runs are, when it counts as reproduced here, and what its mechanism needs in order to act at all
stands in `claims/`. Single runs are kept in `.reinforge/claims/runs.jsonl`: an interrupted ledger goes on where it was.
Some are those of `learning.py`, in its folder: run here what is missing there. An hour or two on two cores. Numbers of
runs that are not stored any more stay as committed, while their jobs are the same.
"""

import argparse
import sys

from claims import page, results
from claims.fixtures import WORK, write_rows
from claims.learned import LEARNING
from claims.registry import CLAIMS, arms
from common import preset_jobs
from common.runs import run_all


def main() -> int:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--only", nargs="+", default=[], metavar="ID", help="run only these claims")
    made.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    made.add_argument("--retry", action="store_true", help="run failed ones again")
    made.add_argument("--page", action="store_true", help="run nothing")
    made.add_argument("--check", action="store_true", help="write nothing; fail when the page has drifted")
    options = made.parse_args()
    if options.check:
        return page.check()
    if unknown := set(options.only) - {claim.id for claim in CLAIMS}:
        made.error(f"no such claim: {', '.join(sorted(unknown))}")
    if not options.page:
        chosen = tuple(claim for claim in CLAIMS if not options.only or claim.id in options.only)
        write_rows()
        preset_jobs.write_rows(LEARNING / "data")
        for into, learned in ((WORK, False), (LEARNING, True)):
            runs = [run for arm in arms(chosen) if bool(arm.preset) == learned for run in arm.runs()]
            run_all(runs, into, jobs=options.jobs, retry=options.retry)
    page.write(results.stored_results())
    return 0


if __name__ == "__main__":
    sys.exit(main())
