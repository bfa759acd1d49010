"""Handlers that interrupt a thread which holds what they need."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from reinforge.system.signals import Flag, Relay


@contextmanager
def handled(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR2, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_what_a_signal_asks_for_may_need_a_lock_that_the_main_thread_holds() -> None:
    lock, done = threading.Lock(), []

    def act() -> None:
        with lock:
            done.append(threading.current_thread() is not threading.main_thread())

    relay = Relay(act)
    with handled(relay.handle), lock:
        os.kill(os.getpid(), signal.SIGUSR2)
        os.kill(os.getpid(), signal.SIGUSR2)
        assert done == []
    relay.close()
    assert done and all(done)


def test_a_flag_set_in_a_signal_handler_wakes_its_waiter() -> None:
    flag = Flag()
    assert not flag.wait(0)
    with handled(lambda *_: flag.set()):
        os.kill(os.getpid(), signal.SIGUSR2)
    began = time.monotonic()
    assert flag.wait(30)
    assert time.monotonic() - began < 5
