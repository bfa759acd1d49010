"""Makes exceptions picklable, to send them to another process. Standard library only."""

import os
import pickle
import traceback


def portable(error: Exception, process: str) -> Exception:
    """Copy of `error` that can be pickled, with the traceback as a note. process: name of this process in the
    note.
    """
    trace = "".join(traceback.format_exception(error))
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - unpickling may run any code of the error's class
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"In {process} {os.getpid()}:\n{trace}")
    return copy
