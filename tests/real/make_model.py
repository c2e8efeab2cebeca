#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small language model of random weights, for servers that load GGUF files.

    make_model.py FILE

It says nothing sensible, but always the same and always as long as it is asked to: the rows of the
output that belong to bytes and to the end of text are zero, so that they never win.
"""
import sys

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, HIDDEN, CONTEXT, WORDS = 256, 4, 8, 768, 4096, 1000


def vocabulary(writer):
    tokens = ['<unk>', '<s>', '</s>'] + ['<0x%02X>' % i for i in range(256)]
    kinds = [2, 3, 3] + [6] * 256
    tokens += ['\u2581w%d' % i for i in range(WORDS)]
    kinds += [1] * WORDS
    writer.add_tokenizer_model('llama')
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 259 + [-float(i) for i in range(WORDS)])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:")
    return len(tokens)


def main(path):
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, 'llama')
    writer.add_name('random')
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(0)
    n = vocabulary(writer)

    def matrix(name, rows, columns):
        w = rng.standard_normal((rows, columns)) / np.sqrt(columns)
        writer.add_tensor(name, w.astype(np.float32))

    def ones(name):
        writer.add_tensor(name, np.ones(WIDTH, dtype=np.float32))

    matrix('token_embd.weight', n, WIDTH)
    for i in range(LAYERS):
        for name in ('attn_q', 'attn_k', 'attn_v', 'attn_output'):
            matrix('blk.%d.%s.weight' % (i, name), WIDTH, WIDTH)
        matrix('blk.%d.ffn_gate.weight' % i, HIDDEN, WIDTH)
        matrix('blk.%d.ffn_up.weight' % i, HIDDEN, WIDTH)
        matrix('blk.%d.ffn_down.weight' % i, WIDTH, HIDDEN)
        ones('blk.%d.attn_norm.weight' % i)
        ones('blk.%d.ffn_norm.weight' % i)
    ones('output_norm.weight')
    out = rng.standard_normal((n, WIDTH)) / np.sqrt(WIDTH)
    out[:259] = 0
    writer.add_tensor('output.weight', out.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1])
