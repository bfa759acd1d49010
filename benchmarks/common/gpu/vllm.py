"""Section `vllm`: the server as a job starts it, beside the trainer's policy on the same GPU."""

from collections.abc import Iterator

from common.gpu.job import no_vllm
from common.gpu.rows import Row, Setting, waiting

NAMES = (
    "start",
    "sampling",
    "gap of log-probabilities",
    "a new adapter",
    "release of the cache",
    "sleep and waking",
)


def run(setting: Setting) -> Iterator[Row]:
    if missing := no_vllm(setting):
        for name in NAMES:
            yield waiting(name, missing)
        return
    raise NotImplementedError
