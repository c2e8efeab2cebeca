#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's own HTTP server, out of the package xllamacpp, on 127.0.0.1.

    serve_llamacpp.py MODEL SLOTS        prints "port N"; ends with its standard input
"""
import sys

import xllamacpp


def main(model, slots):
    p = xllamacpp.CommonParams()
    p.model.path = model
    p.port = 0
    p.n_parallel = slots
    p.n_ctx = 1024 * slots
    p.endpoint_metrics = True
    p.cpuparams.n_threads = 1
    p.cpuparams_batch.n_threads = 1
    p.warmup = True
    server = xllamacpp.Server(p)
    address = server.listening_address
    print('port %d' % int(str(address).rsplit(':', 1)[1].strip('/')), flush=True)
    sys.stdin.read()


main(sys.argv[1], int(sys.argv[2]))
