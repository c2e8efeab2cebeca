#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes prompts.jsonl (one chat request a fact) and, from a trained model, golden.jsonl.

    make_prompts.py --out prompts.jsonl
    make_prompts.py --out prompts.jsonl --model model.npz --golden golden.jsonl

A golden answer is what the model says now, right or wrong: it shows later whether the *text* of
the service changed. `correct` compares it with the fact, which shows whether the model is any good.
Exit codes: 0 done, 1 could not, 2 usage; with --min-correct also 1 when too few answers are right.
"""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import data
    import model
except ImportError as e:
    sys.exit(f"make_prompts.py: {e}; run it with /usr/bin/python3 (package python3-numpy)")


def requests(max_tokens):
    return [{"id": f"fact-{i:02d}", "messages": [{"role": "user", "content": question}],
             "max_tokens": max_tokens} for i, (question, _) in enumerate(data.FACTS, 1)]


def write(path, objects):
    temp = f"{path}.tmp{os.getpid()}"
    with open(temp, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(o) + "\n" for o in objects)
    os.replace(temp, path)


def golden(path, prompts):
    conf, weights, *_ = model.load(path)
    for request, (_, fact) in zip(prompts, data.FACTS):
        tokens = data.encode(data.chat_text(request["messages"], conf["system"]))
        room = min(request["max_tokens"], conf["context"] - len(tokens))
        if room < 1:
            raise model.BadCheckpoint(f"{path}: its context of {conf['context']} is too short to "
                                      f"answer; train with a larger --context")
        answer = data.decode(model.generate(weights, conf, tokens, room, data.END))
        yield {"id": request["id"], "answer": answer, "correct": answer == fact}


def main():
    p = argparse.ArgumentParser(prog="make_prompts.py", description=__doc__.split("\n")[0])
    p.add_argument("--out", required=True, metavar="FILE", help="requests, one a line")
    p.add_argument("--max-tokens", type=int, default=32, metavar="N", help="default 32")
    p.add_argument("--model", metavar="CKPT", help="for --golden")
    p.add_argument("--golden", metavar="FILE", help="the model's answers, in the same order")
    p.add_argument("--min-correct", type=int, default=0, metavar="N", help="of 25; default 0")
    args = p.parse_args()
    if bool(args.model) != bool(args.golden):
        p.error("--model and --golden belong together")
    if args.max_tokens < 1:
        p.error("--max-tokens: must be 1 or more")
    try:
        prompts = requests(args.max_tokens)
        write(args.out, prompts)
        if args.golden:
            answers = list(golden(args.model, prompts))
            write(args.golden, answers)
            right = sum(a["correct"] for a in answers)
            print(f"{right} of {len(answers)} answers are right")
            return int(right < args.min_correct)
    except (model.BadCheckpoint, OSError) as e:
        print(f"make_prompts.py: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
