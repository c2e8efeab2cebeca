#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures both jobs on every installed kernel library and prints the table of README.md.

    measure.py [--rounds N] [--arms openblas,reference,...]

Arms are interleaved, so that a busy spell of the machine hits all of them. A figure is the median
within a round, of the fastest round, and in brackets the slowest one: other processes can only add
to a time, and the distance of the two says how much they did. The client is this script: one
request at a time, so the figures are the server's own and say nothing about load.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELLIB = os.path.join(HERE, "blas", "kernellib")
SERVED = ["--dim", "96", "--batch", "8", "--system", "--context", "192", "--steps", "160",
          "--target", "0.08", "--stop-at-target"]


def run(*argv, **env):
    done = subprocess.run(argv, capture_output=True, text=True, check=False,
                          env={**os.environ, **env})
    if done.returncode:
        sys.exit(f"measure.py: {' '.join(argv)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def train(out, *args, **env):
    run(sys.executable, os.path.join(HERE, "train.py"), "--out", out, "--jsonl", out + ".jsonl",
        "--log", os.devnull, *args, **env)
    with open(out + ".jsonl", encoding="utf-8") as f:
        *steps, final = map(json.loads, f)
    return {"ms": statistics.median(o["ms"] for o in steps),
            "cpu": statistics.median(o["cpu_ms"] for o in steps),
            "seconds": final["seconds"], "reached": final["reached_at_step"],
            "eval": final["final_eval_loss"], "weights": final["weights"]}


def ask(port, request):
    """-> (time to first token, gaps, whole time, text), ms"""
    body = json.dumps({**request, "stream": True}).encode()
    with socket.create_connection(("127.0.0.1", port)) as c:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.perf_counter()
        c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                  % len(body) + body)
        stamps, text = [], ""
        with c.makefile("rb") as answer:
            for line in answer:
                if line.startswith(b"data: [DONE]"):
                    break
                if line.startswith(b"data: "):
                    delta = json.loads(line[6:])["choices"][0]["delta"].get("content")
                    if delta:
                        stamps.append(time.perf_counter())
                        text += delta
        end = time.perf_counter()
    gaps = [(b - a) * 1e3 for a, b in zip(stamps, stamps[1:])]
    return (stamps[0] - start) * 1e3, gaps, (end - start) * 1e3, text


def serve(ckpt, prompts, **env):
    server = subprocess.Popen([sys.executable, os.path.join(HERE, "serve.py"), "--model", ckpt,
                               "--port", "0"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **env})
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        server.stdout.readline()
        for request in prompts[:5]:
            ask(port, request)
        got = [ask(port, request) for request in prompts * 2]
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
    return {"ttft": statistics.median(g[0] for g in got),
            "itl": statistics.median(gap for g in got for gap in g[1]),
            "e2e": statistics.median(g[2] for g in got),
            "text": json.dumps([g[3] for g in got])}


def main():
    p = argparse.ArgumentParser(prog="measure.py", description=__doc__.split("\n")[0])
    p.add_argument("--rounds", type=int, default=3, help="default 3")
    p.add_argument("--arms", help="default: all that are installed")
    args = p.parse_args()
    installed = [line.split()[0] for line in run(KERNELLIB, "list").splitlines()
                 if " available " in line]
    arms = args.arms.split(",") if args.arms else installed
    with open(os.path.join(HERE, "prompts.jsonl"), encoding="utf-8") as f:
        prompts = [json.loads(line) for line in f]
    for request in prompts:
        del request["id"]
    with tempfile.TemporaryDirectory(prefix="smallgpt-measure-") as work:
        env = {}
        for arm in arms:
            db = os.path.join(work, "blas-" + arm)
            run(KERNELLIB, "init", db, arm)
            env[arm] = {"LD_LIBRARY_PATH": os.path.join(db, "link"), "OPENBLAS_NUM_THREADS": "1",
                        "BLIS_NUM_THREADS": "1"}
        big = train(os.path.join(work, "served"), *SERVED, **env[arms[0]])
        print(f"served model, trained on {arms[0]}: {big['seconds']:.1f} s, {big['reached']} "
              f"steps, {big['ms']:.1f} ms a step", file=sys.stderr)
        ckpt = os.path.join(work, "served", "model.npz")
        trained, served = {a: [] for a in arms}, {a: [] for a in arms}
        for i in range(args.rounds):
            for arm in arms:
                trained[arm].append(train(os.path.join(work, f"{arm}-{i}"), "--target", "0.10",
                                          **env[arm]))
                served[arm].append(serve(ckpt, prompts, **env[arm]))
                print(f"round {i + 1} {arm}: {trained[arm][-1]['ms']:.1f} ms a step, "
                      f"ttft {served[arm][-1]['ttft']:.2f} ms", file=sys.stderr)

    def of(results, key, digits):
        values = sorted(r[key] for r in results)
        return f"{values[0]:.{digits}f} [{values[-1]:.{digits}f}]"
    print("| library | ms/step | CPU ms/step | run, s | target at | eval loss | weights | TTFT, ms "
          "| ITL, ms | E2E, ms | text |\n|---|---|---|---|---|---|---|---|---|---|---|")
    text = served[arms[0]][0]["text"]
    for arm in arms:
        t, s = trained[arm], served[arm]
        digests = sorted({r["weights"][:8] for r in t})
        same = {r["text"] for r in s} == {text}
        print(f"| {arm} | {of(t, 'ms', 1)} | {of(t, 'cpu', 1)} | {of(t, 'seconds', 1)} | "
              f"{t[0]['reached']} | {t[0]['eval']:.6f} | {' '.join(digests)} | "
              f"{of(s, 'ttft', 1)} | {of(s, 'itl', 2)} | {of(s, 'e2e', 1)} | "
              f"{'same' if same else 'other'} |")


if __name__ == "__main__":
    main()
