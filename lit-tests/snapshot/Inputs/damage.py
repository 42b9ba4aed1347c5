"""Damages a snapshot file in several ways, each into a file of its own: damage.py FILE FOLDER."""

import struct
import sys
import zlib
from pathlib import Path

CHECKSUM_AT, COUNTS_AT, STAGE_AT = 12, 16, 88 + 44


def with_word(data, offset, word):
    """The data with another 32-bit word at `offset`."""
    return data[:offset] + struct.pack("<I", word) + data[offset + 4 :]


def sealed(data):
    """The data with a right checksum."""
    return with_word(data, CHECKSUM_AT, zlib.crc32(data[COUNTS_AT:]))


source, folder = Path(sys.argv[1]), Path(sys.argv[2])
good = source.read_bytes()
damaged = {
    "magic": b"ORIELSN?" + good[8:],
    "version": with_word(good, 8, 77),
    "checksum": good[:-1] + bytes([good[-1] ^ 1]),
    "cut": sealed(good[:-64]),
    "count": sealed(with_word(good, COUNTS_AT, 0xFFFFFFFF)),
    "stage": sealed(with_word(good, STAGE_AT, 9)),
}
for name, data in damaged.items():
    (folder / f"{name}.oriel").write_bytes(data)
