#!/usr/bin/env python3
"""as_v3.py V4 V3: a code object of version 4 with the ELF header and the metadata version of version 3, for toolchains whose Clang no longer writes it."""
import struct
import sys

EI_ABIVERSION, E_FLAGS = 8, 48
MACHINE_GFX90A, SRAMECC_ON = 0x3F, 0x200

with open(sys.argv[1], "rb") as file:
    data = bytearray(file.read())
assert data[EI_ABIVERSION] == 2, "not a code object of version 4"
assert struct.unpack_from("<I", data, E_FLAGS)[0] & 0xFF == MACHINE_GFX90A
data[EI_ABIVERSION] = 1
struct.pack_into("<I", data, E_FLAGS, MACHINE_GFX90A | SRAMECC_ON)
version = b"amdhsa.version" + bytes([0x92, 1])  # MessagePack: an array of two
assert data.count(version) == 1
data[data.index(version) + len(version)] = 0
with open(sys.argv[2], "wb") as file:
    file.write(data)
