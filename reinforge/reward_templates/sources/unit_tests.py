"""Runs the Python code of a completion against the row's tests: the score is the share that pass.

`item.tests` is a list of expressions that have to be true, such as "add(2, 3) == 5". The code runs here, in the
sandbox, without network or files. Let the job run every completion in a process of its own (`isolate: sample`), so
that one cannot touch the next. Code that never ends is stopped and counts as an error of its row.
"""

import re


def grade(sample, item):
    blocks = re.findall(r"```(?:python|py)?\n(.*?)```", sample["output_text"], re.DOTALL)
    code = blocks[-1] if blocks else sample["output_text"]
    names = {"__name__": "completion"}
    try:
        exec(compile(code, "completion.py", "exec"), names)
    except BaseException as error:  # the code is a stranger's: sys.exit() is a failure, too
        return {"score": 0.0, "reason": f"the code does not run: {type(error).__name__}: {error}"[:300]}
    failed = [test for test in item["tests"] if not holds(test, names)]
    passed = len(item["tests"]) - len(failed)
    reason = f"{passed} of {len(item['tests'])} tests pass" + (f"; not: {failed[0]}"[:200] if failed else "")
    return {"score": passed / len(item["tests"]), "reason": reason}


def holds(test, names):
    try:
        return eval(test, dict(names)) is True
    except BaseException as error:
        print(f"{test}: {type(error).__name__}: {error}")
        return False
