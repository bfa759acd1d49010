"""Says about the machine's GPUs what the test has it say."""

import os

print(os.environ["STUB_DEVICES"])
