"""Toy trainer for tests of the supervisor: speaks the real protocol, trains nothing.

Its script is the job specification's `metadata.script`: words separated by spaces.
    metrics:N   N metric records            blob      a rollouts record with its blob
    commands:N  wait for N commands, log    sleep     wait until standard input ends
    end         an `ended` record           exit:N    end with that status
    kill:N      a signal to itself          print:X   a line on the log
    ignore      do not notice EOF           garbage   a line that is no record
    child       start a child that stays    where       tell what its threads do when it is asked
"""

import argparse
import faulthandler
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path


class Toy:
    def __init__(self, run: Path) -> None:
        self.run = run
        self.manifest = json.loads((run / "run.json").read_text())
        self.pipe = os.fdopen(int(os.environ["REINFORGE_RECORD_FD"]), "w")
        self.sequence = self.manifest["first_sequence"]
        self.step = 0
        self.commands: list[dict] = []
        self.watches_eof = True

    def record(self, **fields: object) -> None:
        line = json.dumps({"sequence": self.sequence, "ts": time.time(), **fields})
        self.sequence += 1
        with (self.run / "records.jsonl").open("a") as file:
            file.write(line + "\n")
        self.pipe.write(line + "\n")
        self.pipe.flush()

    def listen(self) -> None:
        for line in sys.stdin:
            self.commands.append(json.loads(line))
        while not self.watches_eof:
            time.sleep(0.05)
        os._exit(7)

    def metrics(self, count: int) -> None:
        for _ in range(count):
            self.step += 1
            self.record(kind="step_metrics", step=self.step, values={"reward/mean": self.step / 10})

    def blob(self) -> None:
        self.step += 1
        data = os.urandom(2000)
        sha256 = hashlib.sha256(data).hexdigest()
        (self.run / "blobs" / sha256).write_bytes(data)
        blob = {"sha256": sha256, "bytes": len(data)}
        self.record(kind="rollouts", step=self.step, split="train", blob=blob, rows=[])

    def play(self, word: str) -> None:
        name, _, value = word.partition(":")
        match name:
            case "metrics":
                self.metrics(int(value))
            case "blob":
                self.blob()
            case "commands":
                deadline = time.monotonic() + 60
                while len(self.commands) < int(value or 1) and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.record(kind="log", level="info", message=json.dumps(self.commands))
            case "sleep":
                time.sleep(600)
            case "where":
                faulthandler.register(signal.SIGUSR1)
            case "ignore":
                self.watches_eof = False
            case "end":
                self.record(kind="ended", outcome="succeeded", step=self.step)
            case "exit":
                sys.exit(int(value))
            case "kill":
                os.kill(os.getpid(), signal.Signals[value])
            case "print":
                print(value.replace("_", " "), file=sys.stderr, flush=True)
            case "garbage":
                self.pipe.write("this is no record\n")
                self.pipe.flush()
                time.sleep(600)
            case "child":
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
                (self.run / "child.pid").write_text(str(child.pid))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=Path, required=True)
    toy = Toy(parser.parse_args().run)
    (toy.run / "pid").write_text(str(os.getpid()))
    (toy.run / "environment.json").write_text(json.dumps(dict(os.environ)))
    threading.Thread(target=toy.listen, daemon=True).start()
    for word in toy.manifest["spec"]["metadata"]["script"].split():
        toy.play(word)
    toy.pipe.close()


if __name__ == "__main__":
    main()
