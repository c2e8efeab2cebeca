#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the small model. See README.md for the command lines and what they print.

Exit codes: 0 all steps done (or the target reached with --stop-at-target), 1 could not go on (the
last line on stderr says why), 2 wrong arguments, 143 ended by SIGTERM after writing a checkpoint.
"""
import argparse
import json
import os
import re
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
try:
    import numpy as np
except ImportError:
    sys.exit("train.py: this Python has no numpy; run it with /usr/bin/python3 (python3-numpy)")
import data      # noqa: E402
import model     # noqa: E402

CHECKPOINT = re.compile(r"ckpt-(\d{6})\.npz$")


class Fatal(Exception):
    """Ends the program with exit code 1 and this message."""


def open_log(path, append):
    """A log of lines. A job that was killed may have left part of one: it is cut off."""
    if append and os.path.isfile(path):
        with open(path, "rb+") as f:
            f.truncate(f.read().rfind(b"\n") + 1)
    return open(path, "a" if append else "w", encoding="utf-8")


class Mllog:
    """MLPerf-style log lines, to stdout or to a file."""

    def __init__(self, path, append):
        self.out = open_log(path, append) if path else sys.stdout

    def __call__(self, key, value=None, kind="POINT_IN_TIME", **metadata):
        caller = sys._getframe(1)
        if caller.f_code.co_name in ("start", "stop"):
            caller = caller.f_back
        line = {"namespace": "", "time_ms": time.time_ns() // 1_000_000, "event_type": kind,
                "key": key, "value": value,
                "metadata": {"file": os.path.basename(__file__), "lineno": caller.f_lineno,
                             **metadata}}
        print(":::MLLOG " + json.dumps(line), file=self.out, flush=True)

    def start(self, key, **metadata):
        self(key, None, "INTERVAL_START", **metadata)

    def stop(self, key, **metadata):
        self(key, None, "INTERVAL_END", **metadata)


def positive(text):
    n = int(text)
    if n < 1:
        raise argparse.ArgumentTypeError(f"{n}: must be 1 or more")
    return n


def natural(text):
    n = int(text)
    if not 0 <= n < 1 << 32:
        raise argparse.ArgumentTypeError(f"{n}: must be 0 to 4294967295")
    return n


def positive_float(text):
    x = float(text)
    if not 0 < x < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: must be above 0")
    return x


def arguments():
    p = argparse.ArgumentParser(prog="train.py", description="train the small model")
    a = p.add_argument
    a("--out", required=True, metavar="DIR", help="folder for checkpoints and model.npz")
    a("--steps", type=positive, default=100, metavar="N", help="default 100")
    a("--dim", type=positive, default=64, metavar="D", help="width, a multiple of 4; default 64")
    a("--batch", type=positive, default=12, metavar="B", help="samples a step; default 12")
    a("--length", type=positive, default=data.LONGEST + 2, metavar="T",
      help=f"tokens a sample, without the system text; default {data.LONGEST + 2}")
    a("--system", action="store_true", help="train behind the system text (longer prompts)")
    a("--context", type=positive, metavar="T",
      help="positions the model has; default: what a sample needs")
    a("--lr", type=positive_float, default=4e-3, help="Adam's rate after 20 steps; default 0.004")
    a("--seed", type=natural, default=1, metavar="S", help="of weights and samples; default 1")
    a("--target", type=positive_float, metavar="LOSS", help="eval loss that counts as reached")
    a("--stop-at-target", action="store_true", help="end at the first evaluation that reaches it")
    a("--checkpoint-every", type=positive, default=20, metavar="K", help="steps; default 20")
    a("--keep", type=positive, default=3, metavar="N", help="newest checkpoints to keep; default 3")
    a("--eval-every", type=positive, default=10, metavar="M", help="steps; default 10")
    a("--resume", action="store_true", help="go on from the newest good checkpoint in DIR")
    a("--log", metavar="FILE", help="MLLOG lines go here instead of stdout")
    a("--jsonl", metavar="FILE", help="one JSON object a step")
    a("--crash-at", type=positive, metavar="STEP", help="SIGKILL itself right after this step")
    args = p.parse_args()
    if args.dim % 4:
        p.error(f"--dim {args.dim}: must be a multiple of 4 (the number of heads)")
    if args.stop_at_target and args.target is None:
        p.error("--stop-at-target needs --target")
    if args.length < data.LONGEST:
        p.error(f"--length {args.length}: the longest question and answer take {data.LONGEST}")
    needed = args.length + (len(data.SYSTEM) if args.system else 0)
    args.context = args.context or needed
    if args.context < needed:
        p.error(f"--context {args.context}: a sample needs {needed}")
    return args


def checkpoints(folder):
    """(step, path), newest first"""
    found = [(int(m[1]), os.path.join(folder, name)) for name in os.listdir(folder)
             if (m := CHECKPOINT.match(name))]
    return sorted(found, reverse=True)


def resume(args, conf, run):
    """The newest checkpoint that can be read and belongs to this very job, or None when there is
    no checkpoint at all. Unreadable ones are named; if no good one is left, that is an error."""
    found = checkpoints(args.out)
    for _, path in found:
        try:
            old, w, state, m, v = model.load(path)
            if not m or not v:
                raise model.BadCheckpoint(f"{path}: has no optimiser state")
        except (model.BadCheckpoint, OSError) as e:
            print(f"train.py: warning: {e}; trying the one before", file=sys.stderr, flush=True)
            continue
        was, now = {**old, **state["run"]}, {**conf, **run}
        for key in now:
            if was.get(key) != now[key]:
                raise Fatal(f"{path}: was made with {key} {was.get(key)!r}, this job has "
                            f"{now[key]!r}; use the same settings or another --out")
        if state["step"] > args.steps:
            raise Fatal(f"{path}: is at step {state['step']}, beyond --steps {args.steps}")
        return w, state, m, v
    if found:
        raise Fatal(f"{args.out}: none of its {len(found)} checkpoints can be read")
    print(f"train.py: note: no checkpoint in {args.out}, starting at step 0", file=sys.stderr)
    return None


def train(args):
    terminated = []
    signal.signal(signal.SIGTERM, lambda *_: terminated.append(1))
    system = data.SYSTEM if args.system else ""
    length = args.length + len(system)
    conf = {"dim": args.dim, "layers": 2, "heads": 4, "context": args.context,
            "vocab": len(data.VOCAB), "seed": args.seed, "system": system}
    run = {"batch": args.batch, "length": length, "lr": args.lr, "target": args.target}

    os.makedirs(args.out, exist_ok=True)
    if not args.resume and checkpoints(args.out):
        raise Fatal(f"{args.out} already holds checkpoints: give --resume or another --out")
    before = resume(args, conf, run) if args.resume else None
    if before:
        w, state, m, v = before
    else:
        w, state = model.init(conf), {"step": 0, "reached": None, "eval_loss": None}
        m = {k: np.zeros_like(a) for k, a in w.items()}
        v = {k: np.zeros_like(a) for k, a in w.items()}
    first = state["step"]

    mllog = Mllog(args.log, args.resume)
    jsonl = open_log(args.jsonl, args.resume) if args.jsonl else None

    def line(obj):
        if jsonl:       # flushed, so that a kill from outside loses no finished step
            print(json.dumps(obj), file=jsonl, flush=True)

    def checkpoint(step):
        model.save(os.path.join(args.out, f"ckpt-{step:06d}.npz"), conf, w,
                   {**state, "step": step, "run": run}, m, v)
        for _, path in checkpoints(args.out)[args.keep:]:
            os.unlink(path)

    print(f"train.py: step {first} of {args.steps}, numpy {np.__version__}, "
          f"blas {' '.join(model.mapped_blas()) or 'unknown'}", file=sys.stderr, flush=True)
    mllog("cache_clear", True)
    mllog.start("init_start")
    mllog("submission_benchmark", "smallgpt")
    mllog("submission_status", "research")
    mllog("seed", args.seed)
    mllog("global_batch_size", args.batch)
    mllog("train_samples", args.steps * args.batch)
    mllog("eval_samples", len(data.FACTS))
    mllog("opt_base_learning_rate", args.lr)
    mllog("opt_name", "adam")
    evaluation = data.eval_batch(length, system)
    mllog.stop("init_stop")
    mllog.start("run_start", step_num=first, samples_count=first * args.batch)
    mllog.start("epoch_start", epoch_num=first // args.eval_every + 1, step_num=first,
                samples_count=first * args.batch)

    began = block_began = time.perf_counter()
    step, block_first, loss = first, first, None
    done = args.stop_at_target and state["reached"] is not None
    while step < args.steps and not done and not terminated:
        t0, cpu0 = time.perf_counter(), time.process_time()
        step += 1
        x, y, mask = data.train_batch(args.seed, step, args.batch, length, system)
        t1 = time.perf_counter()
        loss, grad = model.loss_and_grad(w, conf, x, y, mask)
        if not np.isfinite(loss):
            mllog.stop("run_stop", status="aborted", step_num=step)
            raise Fatal(f"step {step}: the loss is {loss}; the run is lost")
        model.adam(w, grad, m, v, step, args.lr * min(1, step / 20))
        t2 = time.perf_counter()
        out = {"step": step, "loss": round(loss, 6), "ms": round((t2 - t0) * 1e3, 3),
               "cpu_ms": round((time.process_time() - cpu0) * 1e3, 3),
               "data_ms": round((t1 - t0) * 1e3, 3),
               "samples_per_s": round(args.batch / (t2 - t0), 3)}

        where = {"step_num": step, "samples_count": step * args.batch}
        mllog("train_loss", out["loss"], lr=args.lr * min(1, step / 20), **where)
        last = step == args.steps
        if step % args.eval_every == 0 or last:
            epoch = (step - 1) // args.eval_every + 1
            rate = (step - block_first) * args.batch / (time.perf_counter() - block_began)
            mllog("tracked_stats", {"throughput": round(rate, 3)}, **where)
            mllog.stop("epoch_stop", epoch_num=epoch, **where)
            mllog.start("eval_start", epoch_num=epoch, **where)
            eval_loss, _ = model.loss_and_grad(w, conf, *evaluation, grad=False)
            state["eval_loss"] = out["eval_loss"] = round(eval_loss, 6)
            # As in MLPerf's own language model benchmarks, 'eval_accuracy' carries the eval loss.
            mllog("eval_accuracy", out["eval_loss"], epoch_num=epoch, **where)
            mllog.stop("eval_stop", epoch_num=epoch, **where)
            if args.target is not None and eval_loss <= args.target and state["reached"] is None:
                state["reached"] = step
                last = last or args.stop_at_target
            if not last:
                mllog.start("epoch_start", epoch_num=epoch + 1, **where)
            block_first, block_began = step, time.perf_counter()
        if step % args.checkpoint_every == 0 or last or terminated:
            t3 = time.perf_counter()
            checkpoint(step)
            out["checkpoint_ms"] = round((time.perf_counter() - t3) * 1e3, 3)
        line(out)           # after the checkpoint: who sees the line knows that it is on disk
        if args.crash_at == step:
            os.kill(os.getpid(), signal.SIGKILL)
        if last:
            break
    else:
        if terminated:
            if step > first and "checkpoint_ms" not in out:
                checkpoint(step)        # the signal came between the check above and here
            mllog.stop("run_stop", status="aborted", step_num=step,
                       samples_count=step * args.batch)
            print(f"train.py: terminated at step {step}; --resume goes on from there",
                  file=sys.stderr, flush=True)
            return 143

    # Not a step, so it has no "ms"; also printed by a job that had nothing left to do.
    seconds = time.perf_counter() - began
    model.save(os.path.join(args.out, "model.npz"), conf, w)
    weights = model.digest(w)
    reached = None if args.target is None else state["reached"] is not None
    mllog.stop("run_stop", status="aborted" if reached is False else "success", step_num=step,
               samples_count=step * args.batch)
    line({"final": True, "step": step, "final_loss": None if loss is None else round(loss, 6),
          "final_eval_loss": state["eval_loss"], "target_reached": reached,
          "reached_at_step": state["reached"], "seconds": round(seconds, 3),
          "run_samples_per_s": round((step - first) * args.batch / seconds, 3),
          "weights": weights})
    word = {None: "none", True: "yes", False: "no"}[reached]
    print(f"final step={step} eval_loss={state['eval_loss']} target_reached={word} "
          f"seconds={seconds:.3f} weights=sha256:{weights}", flush=True)
    return 0


def main():
    args = arguments()
    try:
        return train(args)
    except (Fatal, OSError, MemoryError) as e:
        print(f"train.py: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("train.py: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
