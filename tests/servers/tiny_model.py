"""tiny_model.py FILE: writes a model of the family of Llama with weights by chance, of 130 kB. It says nothing that has
a sense, but is loaded and served like any other. Run where requirements.txt is installed."""

import sys

import gguf
import numpy

WIDTH, HEADS, FEED = 32, 2, 64

words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *(f"▁word{n}" for n in range(61))]
kinds = [gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * 2, *[gguf.TokenType.BYTE] * 256]
kinds += [gguf.TokenType.NORMAL] * (len(words) - len(kinds))

file = gguf.GGUFWriter(sys.argv[1], "llama")
file.add_context_length(8192)
file.add_embedding_length(WIDTH)
file.add_block_count(1)
file.add_feed_forward_length(FEED)
file.add_head_count(HEADS)
file.add_head_count_kv(HEADS)
file.add_rope_dimension_count(WIDTH // HEADS)
file.add_layer_norm_rms_eps(1e-5)
file.add_vocab_size(len(words))
file.add_tokenizer_model("llama")
file.add_token_list(words)
file.add_token_scores([0.0] * len(words))
file.add_token_types(kinds)
file.add_unk_token_id(0)
file.add_bos_token_id(1)
file.add_eos_token_id(2)

shapes = {"token_embd": (len(words), WIDTH), "output_norm": (WIDTH,), "output": (len(words), WIDTH)}
shapes |= {f"blk.0.{name}": (WIDTH,) for name in ("attn_norm", "ffn_norm")}
shapes |= {f"blk.0.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
shapes |= {"blk.0.ffn_gate": (FEED, WIDTH), "blk.0.ffn_up": (FEED, WIDTH), "blk.0.ffn_down": (WIDTH, FEED)}
chance = numpy.random.default_rng(7)
for name, shape in shapes.items():
    file.add_tensor(f"{name}.weight", chance.standard_normal(shape, dtype=numpy.float32) * 0.3)

file.write_header_to_file()
file.write_kv_data_to_file()
file.write_tensors_to_file()
file.close()
