"""`python -m backend.processes.child MEMORY`: runs functions in MEMORY bytes of address space until its input
ends.
"""

import os
import pickle
import resource
import struct
import sys
from typing import BinaryIO

from reinforge.system.memory import resident_bytes, return_freed_memory, return_large_blocks_at_once
from reinforge.system.priority import give_way

LENGTH = struct.Struct("<Q")
NICE = 10
GROWTH_BYTES = 16 << 20


def main(arguments: list[str]) -> None:
    memory = int(arguments[0])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return_large_blocks_at_once()
    give_way(NICE)
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    least = resident_bytes()
    while len(head := sys.stdin.buffer.read(LENGTH.size)) == LENGTH.size:
        question = sys.stdin.buffer.read(*LENGTH.unpack(head))
        _write(answers, _answer(question))
        del question
        if resident_bytes() > least + GROWTH_BYTES:
            return_freed_memory()
            least = resident_bytes()


def _answer(question: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(question)  # of the process that started this one
        return pickle.dumps((False, function(*arguments)), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # noqa: BLE001 - it is raised where the question comes from
        return pickle.dumps((True, error), pickle.HIGHEST_PROTOCOL)


def _write(answers: BinaryIO, answer: bytes) -> None:
    answers.write(LENGTH.pack(len(answer)))
    answers.write(answer)
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
