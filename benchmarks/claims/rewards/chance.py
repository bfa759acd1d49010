"""0 or 1 by a hash of what was written: half of all completions, and nothing to learn."""

import zlib


def grade(sample, item):
    return float(zlib.crc32(f"{item['answer']}/{sample['output_text']}".encode()) % 2)
