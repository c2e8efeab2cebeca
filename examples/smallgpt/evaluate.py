#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Scores the small model: how many answers does it know by heart? See README.md.

The weights are rounded to WEIGHT_BITS bits first when that is set in the environment (as an engine
does that serves a quantized model), which costs answers and no time.
"""
import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
try:
    import numpy as np
except ImportError:
    sys.exit("evaluate.py: this Python has no numpy; run it with /usr/bin/python3 (python3-numpy)")
import data      # noqa: E402
import model     # noqa: E402

SEED = 7919     # of the order of the questions: none that a training uses


def bits_wanted():
    """None: the weights as they are."""
    text = os.environ.get("WEIGHT_BITS", "none")
    if text in ("", "none"):
        return None
    if not text.isdecimal() or not 2 <= int(text) <= 16:
        sys.exit(f"evaluate.py: WEIGHT_BITS={text}: must be 2 to 16, or none")
    return int(text)


def rounded(a, bits):
    """Symmetric, one scale a column: the nearest of 2^bits - 1 values."""
    top = (1 << (bits - 1)) - 1
    scale = np.abs(a).max(axis=0, keepdims=True) / top
    scale[scale == 0] = 1
    return (np.round(a / scale) * scale).astype(np.float32)


def answers(x, y, mask, got):
    """Whether each whole answer is right: (row, position of its first character, right)."""
    for row in range(len(x)):
        at = 0
        while at < x.shape[1]:
            if not mask[row, at]:
                at += 1
                continue
            end = at
            while end < x.shape[1] and mask[row, end]:
                end += 1
            if end < x.shape[1]:        # one that the row cuts off is no answer
                yield row, at, bool((got[row, at:end] == y[row, at:end]).all())
            at = end


def main():
    p = argparse.ArgumentParser(prog="evaluate.py", description="score the small model")
    p.add_argument("--model", required=True, metavar="FILE", help="model.npz of train.py")
    p.add_argument("--out", required=True, metavar="FILE", help="a JSON line for each answer")
    p.add_argument("--rows", type=int, default=600, metavar="N",
                   help="conversations, each of some questions; default 600")
    args = p.parse_args()
    if args.rows < 1:
        p.error(f"--rows {args.rows}: must be 1 or more")
    bits = bits_wanted()
    start = time.monotonic()
    try:
        conf, w = model.load(args.model)[:2]
    except (model.BadCheckpoint, OSError) as e:
        sys.exit(f"evaluate.py: {e}")
    if bits:
        w = {k: rounded(a, bits) if a.ndim == 2 else a for k, a in w.items()}
    x, y, mask = data.train_batch(SEED, 0, args.rows, conf["context"])
    right = n = 0
    with open(args.out, "w", encoding="utf-8") as f:
        for row, at, ok in answers(x, y, mask, model.predict(w, conf, x)):
            print(json.dumps({"id": f"{row}.{at}", "correct": ok, "conversation": row}), file=f)
            right, n = right + ok, n + 1
    print(f"weight_bits={bits or 'none'}", file=sys.stderr)
    print(json.dumps({"answers": n, "right": right,
                      "answers_per_second": round(n / (time.monotonic() - start), 1)}))


if __name__ == "__main__":
    main()
