#!/usr/bin/env python3
"""Writes a tiny language model for llama.cpp: the llama architecture with random weights, and a vocabulary of the 256 bytes.

It says nothing sensible, but it takes the way of a real one: embeddings, attention with a KV cache, rotary positions, normalisation, gated feed-forward layers and the output
matrix, with the weights of each layer in another format. The file depends on the arguments alone. Only the Python that every system has is needed.
"""

import argparse
import math
import random
import struct

VERSION, ALIGNMENT = 3, 32
U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9  # types of metadata values
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # types of tokens
BLOCK = 32  # weights that share a scale


def q8_0(values):
    """A scale in f16 and a signed byte for each weight."""
    data = bytearray()
    for start in range(0, len(values), BLOCK):
        block = values[start:start + BLOCK]
        scale = max(abs(value) for value in block) / 127
        data += struct.pack("<e32b", scale, *(round(value / scale) if scale else 0 for value in block))
    return bytes(data)


def q4_0(values):
    """A scale in f16 and four bits for each weight: byte i has weight i low and weight i + 16 high, both with 8 added."""
    data = bytearray()
    for start in range(0, len(values), BLOCK):
        block = values[start:start + BLOCK]
        scale = max(block, key=abs) / -8
        nibbles = [min(15, int(value / scale + 8.5)) if scale else 8 for value in block]
        data += struct.pack("<e16B", scale, *(nibbles[i] | nibbles[i + 16] << 4 for i in range(16)))
    return bytes(data)


# ggml's number of each format, and how weights are written in it
FORMATS = {
    "f32": (0, lambda values: struct.pack(f"<{len(values)}f", *values)),
    "f16": (1, lambda values: struct.pack(f"<{len(values)}e", *values)),
    "q4_0": (2, q4_0),
    "q8_0": (8, q8_0),
}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, what):
    if kind == ARRAY:
        element, items = what
        return struct.pack("<IQ", element, len(items)) + b"".join(value(element, item) for item in items)
    return text(what) if kind == STRING else struct.pack({U32: "<I", I32: "<i", F32: "<f"}[kind], what)


def metadata(options, tokens, kinds):
    llama = "llama."
    return [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "tiny"),
        (llama + "context_length", U32, options.context),
        (llama + "embedding_length", U32, options.width),
        (llama + "block_count", U32, len(options.formats)),
        (llama + "feed_forward_length", U32, options.feed_forward),
        (llama + "attention.head_count", U32, options.width // options.head),
        (llama + "attention.head_count_kv", U32, options.kv_heads),
        (llama + "attention.layer_norm_rms_epsilon", F32, 1e-5),
        (llama + "rope.dimension_count", U32, options.head),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, tokens)),
        ("tokenizer.ggml.scores", ARRAY, (F32, [0.0] * len(tokens))),
        ("tokenizer.ggml.token_type", ARRAY, (I32, kinds)),
        ("tokenizer.ggml.unknown_token_id", U32, 0),
        ("tokenizer.ggml.bos_token_id", U32, 1),
        ("tokenizer.ggml.eos_token_id", U32, 2),
    ]


def tensors(options, vocabulary):
    """Name, shape (the dimension that is summed over first) and format of each."""
    width, kv, inner = options.width, options.kv_heads * options.head, options.feed_forward
    yield "token_embd.weight", (width, vocabulary), "f32"
    for n, form in enumerate(options.formats):
        layer = f"blk.{n}."
        yield layer + "attn_norm.weight", (width,), "f32"
        yield layer + "attn_q.weight", (width, width), form
        yield layer + "attn_k.weight", (width, kv), form
        yield layer + "attn_v.weight", (width, kv), form
        yield layer + "attn_output.weight", (width, width), form
        yield layer + "ffn_norm.weight", (width,), "f32"
        yield layer + "ffn_gate.weight", (width, inner), form
        yield layer + "ffn_up.weight", (width, inner), form
        yield layer + "ffn_down.weight", (inner, width), form
    yield "output_norm.weight", (width,), "f32"
    yield "output.weight", (width, vocabulary), options.formats[-1]


def write(options):
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["\u2581"]  # the last is a space
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL]
    while len(tokens) % BLOCK:
        tokens.append(f"<unused{len(tokens)}>")
        kinds.append(CONTROL)
    numbers = random.Random(options.seed)
    infos, data = [], bytearray()
    for name, shape, form in tensors(options, len(tokens)):
        count = math.prod(shape)
        if len(shape) == 1:
            weights = [1 + numbers.gauss(0, 0.1) for _ in range(count)]
        else:
            spread = 1 if name.startswith("token_embd") else 1.5 / math.sqrt(shape[0])
            weights = [numbers.gauss(0, spread) for _ in range(count)]
        number, encode = FORMATS[form]
        infos.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, len(data)))
        data += encode(weights)
        data += bytes(-len(data) % ALIGNMENT)
    about = metadata(options, tokens, kinds)
    head = struct.pack("<4sIQQ", b"GGUF", VERSION, len(infos), len(about))
    head += b"".join(text(key) + struct.pack("<I", kind) + value(kind, what) for key, kind, what in about) + b"".join(infos)
    with open(options.file, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the GGUF file to write")
    parser.add_argument("--formats", default="f32,f16,q8_0,q4_0", type=lambda names: names.split(","), help="of the weights: one for each layer (default: %(default)s)")
    parser.add_argument("--width", type=int, default=128, help="of an embedding (default: %(default)s)")
    parser.add_argument("--head", type=int, default=64, help="size of an attention head (default: %(default)s)")
    parser.add_argument("--kv-heads", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--feed-forward", type=int, default=256, help="(default: %(default)s)")
    parser.add_argument("--context", type=int, default=256, help="tokens (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the weights (default: %(default)s)")
    options = parser.parse_args()
    unknown = [name for name in options.formats if name not in FORMATS]
    if unknown:
        parser.error(f"unknown format '{unknown[0]}'; expected one of: {', '.join(FORMATS)}")
    write(options)


if __name__ == "__main__":
    main()
