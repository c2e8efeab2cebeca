#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the embedded workload. `--tap` for TAP, otherwise unittest's own output.

Without numpy: a skip with its reason (TAP: `1..0 # SKIP`, else exit code 77).
"""
import hashlib
import http.client
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
for _name in ("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"         # before numpy: small products gain nothing from threads
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

try:
    import numpy as np
except ImportError:
    reason = f"{sys.executable} has no numpy (package python3-numpy)"
    if "--tap" in sys.argv:
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    print(f"SKIP: {reason}")
    sys.exit(77)

import data             # noqa: E402
import evaluate         # noqa: E402
import make_prompts     # noqa: E402
import model            # noqa: E402
import serve            # noqa: E402
import train            # noqa: E402

KERNELLIB = os.path.join(HERE, "blas", "kernellib")
TINY = ["--dim", "32", "--batch", "4"]
PATIENCE_S = 60


def script(name, *args):
    return [sys.executable, os.path.join(HERE, name), *map(str, args)]


def call(name, *args):
    return subprocess.run(script(name, *args), capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S)


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.002)
    return value


def json_lines(path):
    """Finished lines only: a killed process may leave part of one."""
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def steps_of(path):
    return [o for o in json_lines(path) if "ms" in o]


class InFolder(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="smallgpt-test-")
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)


class Model(unittest.TestCase):
    def setUp(self):
        self.conf = {"dim": 32, "layers": 2, "heads": 4, "context": 64,
                     "vocab": len(data.VOCAB), "seed": 3, "system": ""}
        self.w = model.init(self.conf)

    def test_gradients_agree_with_differences(self):
        x, y, mask = data.train_batch(1, 1, 3, 48)
        _, g = model.loss_and_grad(self.w, self.conf, x, y, mask)
        self.assertEqual(list(self.w), [k for k in self.w if g[k].shape == self.w[k].shape])
        rng = np.random.Generator(np.random.PCG64(5))
        for name, a in self.w.items():
            # Along a random direction: one number that every entry of the gradient takes part in
            way = rng.standard_normal(a.shape).astype(np.float32)
            step = np.float32(2e-3 * np.linalg.norm(a) / np.linalg.norm(way))
            kept = a.copy()
            loss = []
            for sign in (1, -1):
                a[...] = kept + sign * step * way
                loss.append(model.loss_and_grad(self.w, self.conf, x, y, mask, grad=False)[0])
            a[...] = kept
            found, want = (loss[0] - loss[1]) / (2 * step), float(np.vdot(g[name], way))
            self.assertAlmostEqual(found, want, delta=0.03 * abs(want) + 2e-3, msg=name)

    def test_cache_gives_what_a_full_pass_gives(self):
        tokens = data.encode("q: legs of an ant?\na: six legs.\nq: nearest star?\na: ")
        cache = model.Cache(self.w, self.conf)
        cached = [cache.feed(tokens[:20])] + [cache.feed([t]) for t in tokens[20:]]
        for n, logits in zip(range(20, len(tokens) + 1), cached):
            full = model.Cache(self.w, self.conf).feed(tokens[:n])
            np.testing.assert_allclose(logits, full, rtol=1e-4, atol=1e-5)

    def test_cache_and_training_pass_are_one_model(self):
        x, y, _ = data.eval_batch(48)
        x, y = x[:1], y[:1]
        cache = model.Cache(self.w, self.conf)
        logits = [cache.feed([int(t)]) for t in x[0]]
        shifted = [row - row.max() for row in logits]
        each = [np.log(np.exp(r).sum()) - r[t] for r, t in zip(shifted, y[0])]
        loss, _ = model.loss_and_grad(self.w, self.conf, x, y, np.ones_like(x), grad=False)
        self.assertAlmostEqual(loss, float(np.mean(each)), places=4)

    def test_prompt_that_does_not_fit_is_refused(self):
        with self.assertRaisesRegex(ValueError, "65 tokens do not fit into a context of 64"):
            model.Cache(self.w, self.conf).feed([1] * 65)

    def test_samples_depend_on_seed_and_step_only(self):
        def one(seed, step):
            return data.train_batch(seed, step, 4, 48)[0].tobytes()
        self.assertEqual(one(7, 11), one(7, 11))
        self.assertEqual(4, len({one(7, 11), one(7, 12), one(8, 11), one(8, 12)}))

    def test_loss_mask_covers_exactly_the_answers(self):
        _, y, mask = data.eval_batch(48)
        for row, (_, answer) in enumerate(data.FACTS):
            shown = data.decode(y[row][mask[row] == 1])
            self.assertTrue(shown.startswith(answer + "\n"), shown)

    def test_chat_template_says_what_is_wrong(self):
        user = {"role": "user", "content": "nearest star?"}
        self.assertEqual(data.chat_text([user], "be brief\n"), "be brief\nq: nearest star?\na: ")
        own = [{"role": "system", "content": "x  y"}, user]
        self.assertEqual(data.chat_text(own, "be brief\n"), "x y\nq: nearest star?\na: ")
        for bad, why in ((None, "a list"), ([], "not empty"), (["hi"], "an object"),
                         ([{"role": "user", "content": 3}], "string"),
                         ([user, user], r"messages\[1\].role: expected 'assistant'"),
                         ([own[0]], "last one"), ([user, own[0]], "expected 'assistant'")):
            with self.assertRaisesRegex(ValueError, why):
                data.chat_text(bad)

    def test_prompts_file_is_the_generated_one(self):
        with open(os.path.join(HERE, "prompts.jsonl"), encoding="utf-8") as f:
            self.assertEqual([json.loads(line) for line in f], make_prompts.requests(32))


class Training(InFolder):
    def train(self, out, *args):
        return call("train.py", "--out", self.path(out), "--jsonl", self.path(out + ".jsonl"),
                    "--log", self.path(out + ".mllog"), *TINY, *args)

    def weights(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split("weights=")[1].strip()

    def test_loss_falls_and_the_logs_agree(self):
        done = self.train("a", "--steps", 60, "--eval-every", 20, "--target", 2.5)
        self.weights(done)
        lines = json_lines(self.path("a.jsonl"))
        steps, final = lines[:-1], lines[-1]
        self.assertEqual([o["step"] for o in steps], list(range(1, 61)))
        self.assertLess(steps[-1]["loss"], 0.75 * steps[0]["loss"])
        for o in steps:
            self.assertGreater(o["ms"], 0)
            self.assertAlmostEqual(o["samples_per_s"], 4000 / o["ms"], delta=4 / o["ms"])
        evals = [(o["step"], o["eval_loss"]) for o in steps if "eval_loss" in o]
        self.assertEqual([s for s, _ in evals], [20, 40, 60])
        self.assertIs(final["target_reached"], evals[-1][1] <= 2.5)
        self.assertEqual(final["final_eval_loss"], evals[-1][1])

        with open(self.path("a.mllog"), encoding="utf-8") as f:
            marks = [line.split(":::MLLOG ", 1) for line in f]
        self.assertTrue(all(len(m) == 2 and m[0] == "" for m in marks))
        log = [json.loads(m[1]) for m in marks]
        keys = [o["key"] for o in log]
        for key in ("init_start", "init_stop", "run_start", "run_stop"):
            self.assertEqual(keys.count(key), 1, key)
        for key in ("epoch_start", "epoch_stop", "eval_start", "eval_stop", "eval_accuracy"):
            self.assertEqual(keys.count(key), 3, key)
        self.assertEqual([(o["metadata"]["step_num"], o["value"]) for o in log
                          if o["key"] == "eval_accuracy"], evals)
        self.assertEqual(keys[-1], "run_stop")
        self.assertEqual(log[-1]["metadata"]["status"], "success")
        self.assertEqual(log[-1]["metadata"]["samples_count"], 240)
        for o in log:
            self.assertEqual(sorted(o), ["event_type", "key", "metadata", "namespace", "time_ms",
                                         "value"])
            want = {"_start": "INTERVAL_START", "_stop": "INTERVAL_END"}.get(
                o["key"][o["key"].rfind("_"):], "POINT_IN_TIME")
            self.assertEqual(o["event_type"], want)

    def test_target_that_is_missed_is_called_missed(self):
        done = self.train("a", "--steps", 4, "--target", 0.001)
        self.assertIn("target_reached=no", done.stdout)
        self.assertIs(json_lines(self.path("a.jsonl"))[-1]["target_reached"], False)
        with open(self.path("a.mllog"), encoding="utf-8") as f:
            self.assertIn('"status": "aborted"', f.read().splitlines()[-1])

    def test_target_that_is_reached_may_end_the_job(self):
        args = ("--steps", 1000, "--eval-every", 5, "--target", 100, "--stop-at-target")
        self.assertIn("final step=5 ", self.train("a", *args).stdout)
        self.assertIn("final step=5 ", self.train("a", *args, "--resume").stdout)

    def test_equal_jobs_write_equal_files(self):
        digests = set()
        for out in "ab":
            self.weights(self.train(out, "--steps", 3))
            for name in ("model.npz", "ckpt-000003.npz"):
                with open(os.path.join(self.path(out), name), "rb") as f:
                    digests.add((name, hashlib.sha256(f.read()).hexdigest()))
        self.assertEqual(len(digests), 2)
        self.assertNotEqual(self.weights(self.train("c", "--steps", 3, "--seed", 2)),
                            self.weights(self.train("d", "--steps", 3)))

    def test_killed_from_outside_and_resumed_is_bit_identical(self):
        out, log = self.path("a"), self.path("a.jsonl")
        job = subprocess.Popen(script("train.py", "--out", out, "--jsonl", log, "--log",
                                      os.devnull, *TINY, "--steps", 1000000,
                                      "--checkpoint-every", 5), stderr=subprocess.DEVNULL)
        try:
            wait_for("step 13", lambda: os.path.exists(log) and len(json_lines(log)) >= 13)
        finally:
            job.kill()
            job.wait()
        last_line = steps_of(log)[-1]["step"]
        newest = max(int(n[5:11]) for n in os.listdir(out) if n.endswith(".npz"))
        self.assertGreaterEqual(newest, last_line - 4)
        with open(log, "a", encoding="utf-8") as f:     # what an earlier moment would have left
            f.write('{"step": 9')

        end = last_line + 3
        resumed = self.weights(self.train("a", "--steps", end, "--resume"))
        self.assertEqual(resumed, self.weights(self.train("b", "--steps", end)))
        whole = {o["step"]: o["loss"] for o in steps_of(self.path("b.jsonl"))}
        both = steps_of(log)
        self.assertEqual([o["step"] for o in both],
                         list(range(1, last_line + 1)) + list(range(newest + 1, end + 1)))
        self.assertEqual([whole[o["step"]] for o in both], [o["loss"] for o in both])

    def test_crash_then_broken_checkpoint_then_the_one_before(self):
        args = ("--steps", 12, "--checkpoint-every", 4)
        done = self.train("a", *args, "--crash-at", 10)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(steps_of(self.path("a.jsonl"))[-1]["step"], 10)
        want = self.weights(self.train("b", *args))
        for breaks in (lambda raw: raw[:len(raw) // 2], lambda raw: b"", lambda raw: b"PK" * 99,
                       lambda raw: raw[:70000] + bytes([raw[70000] ^ 1]) + raw[70001:]):
            shutil.rmtree(self.path("c"), ignore_errors=True)
            shutil.copytree(self.path("a"), self.path("c"))
            newest = os.path.join(self.path("c"), "ckpt-000008.npz")
            with open(newest, "rb") as f:
                raw = f.read()
            with open(newest, "wb") as f:
                f.write(breaks(raw))
            done = self.train("c", *args, "--resume")
            self.assertIn("ckpt-000008.npz: not a readable checkpoint", done.stderr)
            self.assertIn("train.py: step 4 of 12", done.stderr)
            self.assertEqual(self.weights(done), want)

    def test_no_good_checkpoint_is_an_error(self):
        self.weights(self.train("a", "--steps", 2))
        for name in os.listdir(self.path("a")):
            with open(os.path.join(self.path("a"), name), "w", encoding="utf-8") as f:
                f.write("not one")
        done = self.train("a", "--steps", 4, "--resume")
        self.assertEqual(done.returncode, 1)
        self.assertIn("none of its 1 checkpoints can be read", done.stderr)

    def test_another_job_cannot_resume_or_overwrite(self):
        self.weights(self.train("a", "--steps", 2))
        for args, why in ((("--resume", "--seed", 2), "was made with seed 1, this job has 2"),
                          (("--resume", "--lr", 1), "was made with lr"),
                          (("--resume", "--steps", 1), "beyond --steps 1"),
                          ((), "already holds checkpoints")):
            done = self.train("a", "--steps", 4, *args)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(why, done.stderr)

    def test_sigterm_writes_a_checkpoint(self):
        args = ("--out", self.path("a"), "--jsonl", self.path("a.jsonl"), "--log", os.devnull,
                *TINY, "--checkpoint-every", 1000000)
        job = subprocess.Popen(script("train.py", *args, "--steps", 1000000),
                               stderr=subprocess.PIPE, text=True)
        wait_for("a step", lambda: os.path.exists(self.path("a.jsonl")) and
                 json_lines(self.path("a.jsonl")))
        job.terminate()
        _, stderr = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 143)
        last = steps_of(self.path("a.jsonl"))[-1]["step"]
        self.assertIn(f"terminated at step {last}", stderr)
        self.assertEqual(os.listdir(self.path("a")), [f"ckpt-{last:06d}.npz"])

    def test_wrong_arguments_are_named(self):
        for args, why in ((("--steps", 0), "--steps: 0: must be 1 or more"),
                          (("--dim", 30), "multiple of 4"), (("--lr", "nan"), "above 0"),
                          (("--length", 20), "the longest question"),
                          (("--context", 20), "a sample needs"),
                          (("--stop-at-target",), "needs --target"), (("--stepz", 3), "stepz")):
            argv = ["train.py", "--out", self.path("a"), *map(str, args)]
            stderr = io.StringIO()
            with mock.patch.object(sys, "argv", argv), mock.patch.object(sys, "stderr", stderr), \
                    self.assertRaises(SystemExit) as end:
                train.main()
            self.assertEqual(end.exception.code, 2, args)
            self.assertIn(why, stderr.getvalue().splitlines()[-1])
        self.assertFalse(os.path.exists(self.path("a")))

    def test_full_disk_ends_with_a_message_and_keeps_the_old(self):
        self.weights(self.train("a", "--steps", 2))
        os.chmod(self.path("a"), 0o500)
        self.addCleanup(os.chmod, self.path("a"), 0o700)
        if os.access(self.path("a"), os.W_OK):      # root: limit the size of files instead
            run = ["sh", "-c", 'ulimit -f 100; trap "" XFSZ; exec "$@"', "sh"]
        else:
            run = []
        done = subprocess.run(run + script("train.py", "--out", self.path("a"), *TINY, "--steps",
                                           4, "--resume", "--log", os.devnull),
                              capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "File too large|Permission denied")
        self.assertEqual(sorted(os.listdir(self.path("a"))), ["ckpt-000002.npz", "model.npz"])


CHAT = {"messages": [{"role": "user", "content": "Capital of Peru?"}], "max_tokens": 12}


class Evaluating(InFolder):
    def setUp(self):
        super().setUp()
        self.model = self.path("m.npz")
        conf = {"dim": 32, "layers": 2, "heads": 4, "context": 60, "seed": 1,
                "vocab": len(data.VOCAB)}
        model.save(self.model, conf, model.init(conf))

    def evaluate(self, bits=None, *args):
        env = dict(os.environ)
        env.pop("WEIGHT_BITS", None)
        if bits:
            env["WEIGHT_BITS"] = bits
        return subprocess.run(script("evaluate.py", "--model", self.model, "--out",
                                     self.path("items"), *args), capture_output=True, text=True,
                              check=False, timeout=PATIENCE_S, env=env)

    def test_items_and_summary_agree(self):
        done = self.evaluate(None, "--rows", "40")
        self.assertEqual((done.returncode, done.stderr), (0, "weight_bits=none\n"))
        said, items = json.loads(done.stdout), json_lines(self.path("items"))
        self.assertEqual(said["answers"], len(items))
        self.assertEqual(said["right"], sum(i["correct"] for i in items))
        self.assertEqual(len({i["id"] for i in items}), len(items))
        self.assertLessEqual({i["conversation"] for i in items}, set(range(40)))
        self.assertGreaterEqual(len(items), 20)
        first = items
        self.evaluate(None, "--rows", "40")
        self.assertEqual(json_lines(self.path("items")), first)     # the same questions again

    def test_rounding_keeps_the_scale_and_few_values(self):
        rng = np.random.Generator(np.random.PCG64(1))
        a = rng.standard_normal((50, 3)).astype(np.float32)
        for bits in (2, 3, 8):
            b = evaluate.rounded(a, bits)
            self.assertTrue(all(len(set(column)) <= 2 ** bits - 1 for column in b.T))
            np.testing.assert_allclose(np.abs(b).max(axis=0), np.abs(a).max(axis=0), rtol=1e-6)
            step = np.abs(a).max(axis=0) / (2 ** (bits - 1) - 1)
            self.assertTrue((np.abs(a - b) <= step / 2 * 1.0001).all())
        self.assertEqual(evaluate.rounded(np.zeros((2, 2), np.float32), 4).tolist(), [[0, 0]] * 2)

    def test_wrong_wishes_are_named(self):
        for bits in ("1", "17", "four", "-8"):
            done = self.evaluate(bits)
            self.assertEqual(done.returncode, 1)
            self.assertIn("must be 2 to 16", done.stderr)
        self.model = self.path("nothing.npz")
        done = self.evaluate()
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing.npz", done.stderr)


class Serving(unittest.TestCase):
    """The server in this process, on a free port of the loopback."""

    @classmethod
    def setUpClass(cls):
        cls.servers = []

    def start(self, state="ready", slots=4, nagle=False, context=128):
        args = types.SimpleNamespace(host="127.0.0.1", port=0, slots=slots, name="smallgpt",
                                     max_tokens=64, nagle=nagle, drain=5)
        s = serve.Server(args)
        s.conf = {"dim": 32, "layers": 2, "heads": 4, "context": context,
                  "vocab": len(data.VOCAB), "seed": 4, "system": data.SYSTEM}
        s.weights = model.init(s.conf)
        for a in s.weights.values():        # lively: fresh weights would repeat one character
            a *= 3
        s.digest, s.state = model.digest(s.weights), state
        t = threading.Thread(target=s.serve_forever, args=(0.01,), daemon=True)
        t.start()
        self.addCleanup(t.join)
        self.addCleanup(s.server_close)
        self.addCleanup(s.shutdown)
        return s

    def connect(self, s):
        c = http.client.HTTPConnection("127.0.0.1", s.server_port, timeout=PATIENCE_S)
        self.addCleanup(c.close)
        return c

    def ask(self, c, method, path, body=None, **headers):
        raw = json.dumps(body) if isinstance(body, dict) else body
        c.request(method, path, raw, headers)
        r = c.getresponse()
        return r, r.read()

    def raw(self, s, *parts):
        """Send bytes, give back all that comes until the server closes."""
        with socket.create_connection(("127.0.0.1", s.server_port), timeout=PATIENCE_S) as c:
            for part in parts:
                c.sendall(part)
            c.shutdown(socket.SHUT_WR)
            got = b""
            while piece := c.recv(65536):
                got += piece
        return got

    def answer(self, c, **more):
        r, raw = self.ask(c, "POST", "/v1/chat/completions", {**CHAT, **more})
        self.assertEqual(r.status, 200, raw)
        return json.loads(raw)

    def test_stream_and_whole_answer_are_the_same(self):
        c = self.connect(self.start())
        whole = self.answer(c)
        text = whole["choices"][0]["message"]["content"]
        self.assertGreater(len(text), 0)
        for options in ({}, {"include_usage": True},
                        {"include_usage": True, "continuous_usage_stats": True}):
            r, raw = self.ask(c, "POST", "/v1/chat/completions",
                              {**CHAT, "stream": True, "stream_options": options})
            self.assertEqual(r.getheader("Content-Type"), "text/event-stream; charset=utf-8")
            events = raw.decode().split("\n\n")
            self.assertEqual(events[-2:], ["data: [DONE]", ""])
            events = [json.loads(e.removeprefix("data: ")) for e in events[:-2]]
            self.assertEqual(1, len({e["id"] for e in events}))
            deltas = [e["choices"][0]["delta"] for e in events if e["choices"]]
            self.assertEqual(deltas[0], {"role": "assistant", "content": ""})
            self.assertEqual("".join(d.get("content", "") for d in deltas), text)
            ends = [e["choices"][0]["finish_reason"] for e in events if e["choices"]]
            self.assertEqual(set(ends[:-1]), {None})
            self.assertEqual(ends[-1], whole["choices"][0]["finish_reason"])
            if options:
                self.assertEqual(events[-1]["choices"], [])
                self.assertEqual(events[-1]["usage"], whole["usage"])
                counts = [e["usage"] and e["usage"]["completion_tokens"] for e in events[:-1]]
                n = len(text)
                self.assertEqual(counts, [0, *range(1, n + 1), n] if len(options) == 2 else
                                 [None] * (n + 2))
            else:
                self.assertNotIn(b'"usage"', raw)

    def test_answer_is_what_the_model_says(self):
        s = self.start()
        tokens = data.encode(data.chat_text(CHAT["messages"], data.SYSTEM))
        for more, end in (({}, data.END), ({"ignore_eos": True}, None)):
            want = data.decode(model.generate(s.weights, s.conf, tokens, 12, end))
            got = self.answer(self.connect(s), **more)
            self.assertEqual(got["choices"][0]["message"]["content"], want)
            self.assertEqual(got["usage"], {"prompt_tokens": len(tokens),
                                            "completion_tokens": len(want),
                                            "total_tokens": len(tokens) + len(want)})
            self.assertEqual(got["choices"][0]["finish_reason"],
                             "length" if len(want) == 12 else "stop")

    def test_completions_and_the_end_of_the_context(self):
        c = self.connect(self.start(context=90))
        r, raw = self.ask(c, "POST", "/v1/completions",
                          {"prompt": "q" * 85, "max_tokens": 50, "ignore_eos": True})
        got = json.loads(raw)
        self.assertEqual((r.status, got["usage"]["completion_tokens"]), (200, 5))
        self.assertEqual(got["choices"][0]["finish_reason"], "length")
        r, raw = self.ask(c, "POST", "/v1/completions", {"prompt": "q" * 90})
        self.assertEqual(r.status, 400)
        self.assertEqual(json.loads(raw)["error"]["code"], "context_length_exceeded")

    def test_wrong_requests_get_json_errors_and_harm_nobody(self):
        s = self.start()
        c = self.connect(s)
        before = self.answer(c)["choices"]
        for path, body, status, why in (
                ("/v1/chat/completions", b"{", 400, "not JSON"),
                ("/v1/chat/completions", b"\xff\xfe{}", 400, "not JSON"),
                ("/v1/chat/completions", b"[" * 100000, 400, "not JSON"),
                ("/v1/chat/completions", b"[]", 400, "must be a JSON object"),
                ("/v1/chat/completions", {}, 400, "messages: expected a list"),
                ("/v1/chat/completions", {**CHAT, "max_tokens": 0}, 400, "max_tokens: expected"),
                ("/v1/chat/completions", {**CHAT, "max_tokens": True}, 400, "max_tokens"),
                ("/v1/chat/completions", {**CHAT, "max_tokens": "9"}, 400, "max_tokens"),
                ("/v1/chat/completions", {**CHAT, "stream": "yes"}, 400, "stream: expected true"),
                ("/v1/chat/completions", {**CHAT, "stream_options": {}}, 400, "stream_options"),
                ("/v1/chat/completions", {**CHAT, "temperature": 0.7}, 400, "temperature"),
                ("/v1/chat/completions", {**CHAT, "n": 2}, 400, "n: only 1"),
                ("/v1/chat/completions", {**CHAT, "model": "gpt"}, 404, "model: this server"),
                ("/v1/completions", {"prompt": 5}, 400, "prompt: expected a string"),
                ("/v1/completions", {"prompt": "q" * 200}, 400, "the prompt has 200 tokens"),
                ("/v1/completions", b"x" * (serve.MAX_BODY + 1), 413, "at most 1048576"),
                ("/v1/nothing", {}, 404, "no such path"), ("/health", {}, 405, "takes GET")):
            try:
                r, raw = self.ask(c, "POST", path, body)
            except (BrokenPipeError, ConnectionResetError):
                self.assertEqual(status, 413)       # refused while the body was on its way
                c = self.connect(s)
                continue
            error = json.loads(raw)["error"]
            self.assertEqual(r.status, status, raw)
            self.assertIn(why, error["message"])
            self.assertEqual(sorted(error), ["code", "message", "param", "type"])
        self.assertEqual(self.answer(c)["choices"], before)

    def test_requests_that_are_not_http_get_an_answer_or_a_close(self):
        s = self.start()
        body = json.dumps(CHAT).encode()
        post = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
        for parts, want in (([b"\x16\x03\x01\x02\x00\x01\r\n\r\n"], b"400"),
                            ([b"GET\r\n\r\n"], b""), ([b"GET / HTTP/9.9\r\n\r\n"], b"505"),
                            ([b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n"], b"414"),
                            ([b"PUT /health HTTP/1.1\r\n\r\n"], b"501"),
                            ([post + b"\r\n" + body], b"411"),
                            ([post + b"Content-Length: -1\r\n\r\n" + body], b"411"),
                            ([post + b"Content-Length: 9\r\nContent-Length: 8\r\n\r\n"], b"400"),
                            ([post + b"Content-Length: 999999999999\r\n\r\n" + body], b"413"),
                            ([post + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"], b"411"),
                            ([post + b"Content-Length: 500\r\n\r\n", body], b"")):
            self.assertIn(want, self.raw(s, *parts)[:200] if want else b"", parts[0][:60])
        got = self.raw(s, post.replace(b"1.1", b"1.0") + b"Content-Length: %d\r\n\r\n" % len(body),
                       body)
        self.assertTrue(got.startswith(b"HTTP/1.1 200"), got[:80])
        streamed = json.dumps({**CHAT, "stream": True}).encode()
        got = self.raw(s, post.replace(b"1.1", b"1.0") +
                       b"Content-Length: %d\r\n\r\n" % len(streamed), streamed)
        self.assertNotIn(b"chunked", got)
        self.assertTrue(got.endswith(b"data: [DONE]\n\n"), got[-80:])
        self.answer(self.connect(s))

    def test_fault_of_the_server_is_a_500_and_not_its_end(self):
        s = self.start()
        kept, s.weights = s.weights, {}
        with mock.patch.object(sys, "stderr", io.StringIO()) as log:
            r, raw = self.ask(self.connect(s), "POST", "/v1/chat/completions", CHAT)
        self.assertIn("KeyError", log.getvalue())
        self.assertEqual((r.status, json.loads(raw)["error"]["type"]), (500, "internal_error"))
        s.weights = kept
        self.answer(self.connect(s))

    def test_not_ready_is_503_and_ready_is_200(self):
        s = self.start(state="loading")
        c = self.connect(s)
        self.assertEqual(self.ask(c, "GET", "/health")[0].status, 503)
        r, raw = self.ask(c, "POST", "/v1/chat/completions", CHAT)
        self.assertEqual((r.status, r.getheader("Retry-After")), (503, "1"))
        self.assertIn("loading", json.loads(raw)["error"]["message"])
        s.state = "ready"
        r, raw = self.ask(c, "GET", "/health")
        self.assertEqual((r.status, json.loads(raw)), (200, {"status": "ready"}))
        listed = json.loads(self.ask(c, "GET", "/v1/models")[1])["data"][0]
        self.assertEqual((listed["id"], listed["weights"]), ("smallgpt", "sha256:" + s.digest))
        self.assertIn("blas", json.loads(self.ask(c, "GET", "/version")[1]))

    def test_one_connection_serves_many_requests_without_nagle(self):
        s, seen = self.start(), []
        kept = serve.ROUTES["/health"]

        def spy(handler):
            seen.append((handler.client_address, handler.connection.getsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            kept[1](handler)
        serve.ROUTES["/health"] = ("GET", spy)
        self.addCleanup(serve.ROUTES.__setitem__, "/health", kept)
        c = self.connect(s)
        for _ in range(3):
            self.assertEqual(self.ask(c, "GET", "/health")[0].status, 200)
            self.answer(c)
        self.assertEqual(len({where for where, _ in seen}), 1)
        self.assertTrue(all(nodelay for _, nodelay in seen))
        self.assertEqual(self.ask(self.connect(self.start(nagle=True)), "GET", "/health")[0].status,
                         200)
        self.assertEqual(seen[-1][1], 0)

    def test_more_requests_than_slots_are_all_answered(self):
        s = self.start(slots=1)
        want, got = self.answer(self.connect(s))["choices"], []

        def one():
            got.append(self.answer(self.connect(s))["choices"])
        threads = [threading.Thread(target=one) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(got, [want] * 8)
        wait_for("the slot", lambda: s.slots.free == 1)     # given back after the last byte
        self.assertEqual((s.slots.running, len(s.slots.queue)), (0, 0))

    def test_slots_are_given_in_order(self):
        slots, order = serve.Slots(1), []

        def one(i):
            with slots:
                order.append(i)
        threads = [threading.Thread(target=one, args=(i,)) for i in range(5)]
        with slots:
            for i, t in enumerate(threads):
                t.start()
                wait_for("the queue", lambda n=i + 1: len(slots.queue) == n)
            self.assertEqual((slots.running, slots.free), (1, 0))
        for t in threads:
            t.join()
        self.assertEqual(order, list(range(5)))
        self.assertEqual((slots.running, slots.free), (0, 1))

    def test_client_that_leaves_gives_its_slot_back(self):
        s = self.start(slots=1)
        body = json.dumps({**CHAT, "stream": True, "ignore_eos": True, "max_tokens": 40}).encode()
        for _ in range(3):
            c = socket.create_connection(("127.0.0.1", s.server_port), timeout=PATIENCE_S)
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                      % len(body) + body)
            c.recv(10)
            c.close()                   # with a reset
        self.answer(self.connect(s))
        wait_for("all slots", lambda: s.slots.free == 1)

    def test_metrics_count(self):
        s = self.start()
        c = self.connect(s)
        used = [self.answer(c)["usage"] for _ in range(3)]
        self.ask(c, "POST", "/v1/chat/completions", {})
        wait_for("all slots", lambda: s.slots.free == 4)    # given back after the last byte
        r, raw = self.ask(c, "GET", "/metrics")
        self.assertTrue(r.getheader("Content-Type").startswith("text/plain"))
        values = dict(line.rsplit(" ", 1) for line in raw.decode().splitlines()
                      if not line.startswith("#"))
        label = '{model_name="smallgpt"}'
        for name, want in (("vllm:num_requests_running", 0), ("vllm:num_requests_waiting", 0),
                           ("vllm:prompt_tokens_total", sum(u["prompt_tokens"] for u in used)),
                           ("vllm:generation_tokens_total",
                            sum(u["completion_tokens"] for u in used)),
                           ("vllm:time_to_first_token_seconds_count", 3),
                           ("vllm:e2e_request_latency_seconds_count", 3)):
            self.assertEqual(float(values[name + label]), want, name)
        self.assertEqual(3, sum(float(v) for k, v in values.items()
                                if k.startswith("vllm:request_success_total")))
        self.assertEqual("1", values['smallgpt:request_errors_total{model_name="smallgpt",'
                                     'status="400"}'])


class ServerProcess(InFolder):
    def test_trains_serves_and_ends_gracefully(self):
        done = call("train.py", "--out", self.path("a"), *TINY, "--system", "--context", 160,
                    "--steps", 8, "--log", os.devnull)
        self.assertEqual(done.returncode, 0, done.stderr)
        ckpt = os.path.join(self.path("a"), "model.npz")
        done = call("make_prompts.py", "--out", self.path("p"), "--model", ckpt, "--golden",
                    self.path("g"))
        self.assertEqual(done.returncode, 0, done.stderr)
        golden = json_lines(self.path("g"))
        self.assertEqual(len(golden), 25)

        server = subprocess.Popen(script("serve.py", "--model", ckpt, "--port", 0),
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        self.assertIn("ready: smallgpt sha256:", server.stdout.readline())
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        for want, request in list(zip(golden, json_lines(self.path("p"))))[:4]:
            self.assertEqual(want["id"], request.pop("id"))
            c.request("POST", "/v1/chat/completions", json.dumps(request))
            message = json.loads(c.getresponse().read())["choices"][0]["message"]
            self.assertEqual(message["content"], want["answer"])
        c.request("POST", "/v1/chat/completions",
                  json.dumps({**CHAT, "stream": True, "ignore_eos": True, "max_tokens": 50}))
        r = c.getresponse()
        first = r.readline()
        server.terminate()              # in the middle of an answer
        self.assertIn(b'"content"', first)
        self.assertTrue(r.read().endswith(b"data: [DONE]\n\n"))
        c.close()
        self.assertEqual(server.wait(timeout=PATIENCE_S), 0)
        self.assertIn("stopped", server.stdout.read())
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)

    def test_what_cannot_start_says_why(self):
        done = call("serve.py", "--model", self.path("none.npz"), "--port", 0)
        self.assertEqual(done.returncode, 1)
        self.assertIn("none.npz", done.stderr)
        with open(self.path("bad.npz"), "wb") as f:
            f.write(b"PK\3\4 nothing")
        done = call("serve.py", "--model", self.path("bad.npz"), "--port", 0)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad.npz: not a readable checkpoint", done.stderr)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = call("serve.py", "--model", "x", "--port", taken.getsockname()[1])
        self.assertEqual(done.returncode, 1)
        self.assertIn("Address already in use", done.stderr)
        self.assertEqual(call("serve.py", "--model", "x", "--port", 99999).returncode, 2)


class KernelLibrary(InFolder):
    def kernellib(self, *args, **env):
        return subprocess.run([KERNELLIB, *args], capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S, env={**os.environ, **env})

    def setUp(self):
        super().setUp()
        if not shutil.which("update-alternatives", path=os.environ["PATH"] + ":/usr/bin"):
            self.skipTest("no update-alternatives here (package dpkg)")
        listed = self.kernellib("list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.have = {line.split()[0]: line.split()[-1] for line in listed.stdout.splitlines()
                     if " available " in line}
        if not self.have:
            self.skipTest("no BLAS of Debian is installed (for example libblas3)")

    def test_process_maps_what_was_selected_and_no_other(self):
        db = self.path("db")
        first = next(iter(self.have))
        self.assertEqual(self.kernellib("init", db).returncode, 0)
        self.assertEqual(self.kernellib("get", db).stdout, first + "\n")
        link = self.kernellib("path", db).stdout.strip()
        for name in [*self.have, first]:
            done = self.kernellib("set", db, name)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(self.kernellib("get", db).stdout, name + "\n")
            marked = [line for line in self.kernellib("list", db).stdout.splitlines()
                      if line.startswith("*")]
            self.assertEqual([m.split()[1] for m in marked], [name])
            mapped = subprocess.run(
                [sys.executable, "-c", "import model; print(*model.mapped_blas())"], cwd=HERE,
                env={**os.environ, "LD_LIBRARY_PATH": link}, capture_output=True, text=True,
                check=True).stdout.split()
            self.assertIn(self.have[name], mapped)
            others = {"openblas", "blis", "atlas"} - {name}
            if os.path.exists(os.path.join(link, "liblapack.so.3")):
                self.assertEqual([p for p in mapped if any(o in p for o in others)], [])

    def test_faults_have_their_codes(self):
        db = self.path("db")
        self.assertEqual(self.kernellib().returncode, 64)
        self.assertEqual(self.kernellib("swap", db).returncode, 64)
        self.assertEqual(self.kernellib("get", db).returncode, 3)
        self.assertEqual(self.kernellib("init", db).returncode, 0)
        before = self.kernellib("get", db).stdout
        done = self.kernellib("set", db, "mkl")
        self.assertEqual(done.returncode, 64)
        self.assertIn("unknown library 'mkl'; known: openblas blis atlas reference", done.stderr)
        os.mkdir(self.path("empty"))
        done = self.kernellib("set", db, "blis", KERNELLIB_LIBDIR=self.path("empty"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("blis is not installed in", done.stderr)
        self.assertIn("package libblis4-pthread", done.stderr)
        self.assertEqual(self.kernellib("get", db).stdout, before)
        done = self.kernellib("init", self.path("db2"), KERNELLIB_LIBDIR=self.path("empty"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.kernellib("init", self.path("d b")).returncode, 3)

    def test_switching_at_once_ends_at_one_of_them(self):
        if len(self.have) < 2:
            self.skipTest(f"only {', '.join(self.have)} is installed")
        db, names = self.path("db"), list(self.have)[:2]
        self.assertEqual(self.kernellib("init", db).returncode, 0)
        jobs = [subprocess.Popen([KERNELLIB, "set", db, names[i % 2]], stderr=subprocess.DEVNULL)
                for i in range(6)]
        link, running = os.path.join(db, "link", "libblas.so.3"), True
        while running:                  # there is always a library to be found
            running = any(j.poll() is None for j in jobs)
            self.assertTrue(os.path.exists(link))
        self.assertEqual([j.returncode for j in jobs], [0] * 6)
        self.assertIn(self.kernellib("get", db).stdout.strip(), names)


class Tap(unittest.TestResult):
    """One line a test: `ok 3 - killed from outside and resumed is bit identical`."""
    count = 0

    def say(self, word, test, more=""):
        self.count += 1
        name = str(getattr(test, "_testMethodName", test)).removeprefix("test_").replace("_", " ")
        print(f"{word} {self.count} - {name}{more}", flush=True)

    def addSuccess(self, test):
        self.say("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say("ok", test, f" # SKIP {reason}")

    def failed(self, test, text):
        self.say("not ok", test)
        for line in text.splitlines():
            print(f"# {line}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.failed(test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.failed(test, self.errors[-1][1])


def main():
    if "--tap" not in sys.argv:
        unittest.main()
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    print(f"1..{suite.countTestCases()}", flush=True)
    result = Tap()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
