"""Writes a model of random weights that llama.cpp serves: `python tiny_model.py FILE LAYERS`.

A script of its own, run where PyPI's `gguf` is installed, so that what is read is what others write.
"""

import sys

import numpy as np
from gguf import GGUFWriter, TokenType

WIDTH, FORWARD, HEADS, KV_HEADS, CONTEXT = 64, 128, 4, 2, 512
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LETTERS = ["\u2581", *"abcdefghijklmnopqrstuvwxyz"]
TOKENS = ["<unk>", "<s>", "</s>", *BYTES, *LETTERS]
KINDS = [TokenType.UNKNOWN, *[TokenType.CONTROL] * 2, *[TokenType.BYTE] * 256, *[TokenType.NORMAL] * len(LETTERS)]


def describe(file: GGUFWriter, layers: int) -> None:
    file.add_name("tiny")
    file.add_block_count(layers)
    file.add_context_length(CONTEXT)
    file.add_embedding_length(WIDTH)
    file.add_feed_forward_length(FORWARD)
    file.add_head_count(HEADS)
    file.add_head_count_kv(KV_HEADS)
    file.add_rope_dimension_count(WIDTH // HEADS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_vocab_size(len(TOKENS))


def add_tokenizer(file: GGUFWriter) -> None:
    file.add_tokenizer_model("llama")
    file.add_token_list(TOKENS)
    file.add_token_scores([0.0] * len(TOKENS))
    file.add_token_types(KINDS)
    file.add_unk_token_id(0)
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)


def add_tensors(file: GGUFWriter, layers: int) -> None:
    random = np.random.default_rng(1)
    grouped = WIDTH * KV_HEADS // HEADS
    shapes = {"token_embd": (len(TOKENS), WIDTH), "output": (len(TOKENS), WIDTH), "output_norm": (WIDTH,)}
    layer = {
        "attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (grouped, WIDTH), "attn_v": (grouped, WIDTH),
        "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,), "ffn_gate": (FORWARD, WIDTH), "ffn_up": (FORWARD, WIDTH),
        "ffn_down": (WIDTH, FORWARD),
    }  # fmt: skip
    shapes |= {f"blk.{number}.{name}": shape for number in range(layers) for name, shape in layer.items()}
    for name, shape in shapes.items():
        norm = name.endswith("_norm")
        values = np.ones(shape) if norm else random.standard_normal(shape) * 0.02
        file.add_tensor(f"{name}.weight", values.astype(np.float32))


def write(path: str, layers: int) -> None:
    file = GGUFWriter(path, "llama")
    describe(file, layers)
    add_tokenizer(file)
    add_tensors(file, layers)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


write(sys.argv[1], int(sys.argv[2]))
