"""A reward that is as random as its completion, and always the same for the same one."""

import zlib


def grade(sample, item):
    return {"score": zlib.crc32(sample["output_text"].encode()) / 2**32}
