#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Serves a checkpoint of train.py as a streaming, OpenAI-compatible HTTP server.

    GET  /health /v1/models /metrics /version      POST /v1/chat/completions /v1/completions

One thread a connection, --slots generations at a time, the others wait in the order they came.
Greedy only. See README.md. Exit codes: 0 ended by SIGTERM or SIGINT, 1 could not start, 2 usage.
"""
import argparse
import collections
import json
import os
import resource
import signal
import socket
import socketserver
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
try:
    import numpy as np
except ImportError:
    sys.exit("serve.py: this Python has no numpy; run it with /usr/bin/python3 (python3-numpy)")
import data      # noqa: E402
import model     # noqa: E402

MAX_BODY = 1 << 20          # bytes of a request
MAX_CONNECTIONS = 256
IDLE_S = 30                 # a connection that says nothing for so long is closed


class Refused(Exception):
    """A request that gets an error answer."""

    def __init__(self, status, message, param=None, code=None):
        super().__init__(message)
        self.status, self.param, self.code = status, param, code


class Slots:
    """A fair semaphore: first come, first served. Counts who runs and who waits."""

    def __init__(self, n):
        self.lock, self.free, self.queue, self.running = threading.Lock(), n, collections.deque(), 0

    def __enter__(self):
        with self.lock:
            if self.free and not self.queue:
                self.free, self.running = self.free - 1, self.running + 1
                return
            turn = threading.Event()
            self.queue.append(turn)
        turn.wait()                         # __exit__ of another one hands its slot over

    def __exit__(self, *_):
        with self.lock:
            if self.queue:
                self.queue.popleft().set()
            else:
                self.free, self.running = self.free + 1, self.running - 1


class Histogram:
    EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

    def __init__(self):
        self.counts, self.sum = [0] * (len(self.EDGES) + 1), 0.0

    def add(self, x):
        self.counts[sum(x > e for e in self.EDGES)] += 1
        self.sum += x

    def text(self, name, label, about):
        out, n = [f"# HELP {name} {about}", f"# TYPE {name} histogram"], 0
        for edge, c in zip((*self.EDGES, "+Inf"), self.counts):
            n += c
            out.append(f'{name}_bucket{{{label},le="{edge}"}} {n}')
        return out + [f"{name}_sum{{{label}}} {self.sum:.6f}", f"{name}_count{{{label}}} {n}"]


class Metrics:
    """Prometheus text under the names that vLLM's dashboards already know."""

    def __init__(self):
        self.lock = threading.Lock()
        self.prompt_tokens = self.generated = self.cut = 0
        self.finished = {"stop": 0, "length": 0}
        self.errors = collections.Counter()
        self.ttft, self.itl, self.e2e = Histogram(), Histogram(), Histogram()

    def text(self, name, slots):
        label = f'model_name="{name}"'
        usage = resource.getrusage(resource.RUSAGE_SELF)
        with slots.lock:
            running, waiting = slots.running, len(slots.queue)
        with self.lock:
            out = []

            def one(metric, kind, about, value):
                out.extend([f"# HELP {metric} {about}", f"# TYPE {metric} {kind}",
                            f"{metric}{{{label}}} {value}"])
            one("vllm:num_requests_running", "gauge", "Requests being generated.", running)
            one("vllm:num_requests_waiting", "gauge", "Requests waiting for a slot.", waiting)
            one("vllm:prompt_tokens_total", "counter", "Prompt tokens read.", self.prompt_tokens)
            one("vllm:generation_tokens_total", "counter", "Tokens generated.", self.generated)
            out += ["# HELP vllm:request_success_total Requests answered in full.",
                    "# TYPE vllm:request_success_total counter"]
            out += [f'vllm:request_success_total{{{label},finished_reason="{k}"}} {n}'
                    for k, n in self.finished.items()]
            one("smallgpt:requests_cut_total", "counter", "Clients gone before the end.", self.cut)
            out += ["# HELP smallgpt:request_errors_total Requests refused, by HTTP status.",
                    "# TYPE smallgpt:request_errors_total counter"]
            out += [f'smallgpt:request_errors_total{{{label},status="{k}"}} {n}'
                    for k, n in sorted(self.errors.items())]
            out += self.ttft.text("vllm:time_to_first_token_seconds", label, "Arrival to token 1.")
            out += self.itl.text("vllm:inter_token_latency_seconds", label, "Token to token.")
            out += self.e2e.text("vllm:e2e_request_latency_seconds", label, "Arrival to the end.")
        out += ["# HELP process_cpu_seconds_total User and system time.",
                "# TYPE process_cpu_seconds_total counter",
                f"process_cpu_seconds_total {usage.ru_utime + usage.ru_stime:.3f}",
                "# HELP process_max_resident_memory_bytes Largest resident size so far.",
                "# TYPE process_max_resident_memory_bytes gauge",
                f"process_max_resident_memory_bytes {usage.ru_maxrss * 1024}"]
        return "\n".join(out) + "\n"


def number(body, key, low, high, default):
    value = body.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused(400, f"{key}: expected a whole number from {low} to {high}", key)
    return value


def flag(body, key, where=""):
    value = body.get(key)
    if value is not None and not isinstance(value, bool):
        raise Refused(400, f"{where}{key}: expected true or false", where + key)
    return bool(value)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, args):
        self.address_family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
        super().__init__((args.host, args.port), Handler)
        self.args, self.slots, self.metrics = args, Slots(args.slots), Metrics()
        self.name, self.created = args.name, int(time.time())
        self.state, self.conf, self.weights, self.digest = "loading", None, None, None
        self.lock, self.connections, self.active, self.count = threading.Lock(), 0, 0, 0

    def server_bind(self):
        self.allow_reuse_address = True
        # Not HTTPServer's: that one asks the name service for this machine's name.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def process_request(self, request, client_address):
        with self.lock:
            self.connections += 1
            full = self.connections > MAX_CONNECTIONS
        if full:
            try:
                request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                                b"Retry-After: 1\r\nConnection: close\r\n\r\n")
            except OSError:
                pass
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        with self.lock:
            self.connections -= 1
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        kind = sys.exc_info()[0]
        if not issubclass(kind, (ConnectionError, TimeoutError)):       # those are the client's
            super().handle_error(request, client_address)

    def next_id(self):
        with self.lock:
            self.count += 1
            return self.count


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "smallgpt"
    timeout = IDLE_S
    disable_nagle_algorithm = True      # TCP_NODELAY: without it each first token waits 40 ms
    wbufsize = 0

    def setup(self):
        if self.server.args.nagle:
            self.disable_nagle_algorithm = False
        super().setup()

    def log_message(self, *_):
        pass

    # --- answers

    def send(self, status, body, kind="application/json", extra=()):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in extra:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers_with(raw if self.command != "HEAD" else b"")

    def end_headers_with(self, raw):
        """Headers and body in one write. (HTTP/0.9 has no headers.)"""
        head = b"".join(getattr(self, "_headers_buffer", [])) + b"\r\n"
        self._headers_buffer, self.begun = [], True
        self.wfile.write(raw if self.request_version == "HTTP/0.9" else head + raw)

    def refuse(self, e):
        with self.server.metrics.lock:
            self.server.metrics.errors[e.status] += 1
        kind = {404: "not_found_error", 503: "service_unavailable"}.get(
            e.status, "invalid_request_error" if e.status < 500 else "internal_error")
        extra = [("Retry-After", "1")] if e.status == 503 else []
        if e.status == 405:
            extra.append(("Allow", "GET" if self.command == "POST" else "POST"))
        self.send(e.status, {"error": {"message": str(e), "type": kind, "param": e.param,
                                       "code": e.code}}, extra=extra)

    def send_error(self, code, message=None, explain=None):
        """Of http.server itself, for requests that it can't read."""
        self.close_connection = True
        self.request_version = "HTTP/1.1"   # else taken for 0.9, which has no status line
        self.command = getattr(self, "command", None) or "GET"
        self.refuse(Refused(int(code), message or "bad request"))

    def answer(self, method):
        self.begun = False
        try:
            path = self.path.split("?", 1)[0]
            route = ROUTES.get(path)
            if route is None:
                self.close_connection = method == "POST"    # its body was not read
                raise Refused(404, f"no such path: {path}", code="not_found")
            if route[0] != method:
                self.close_connection = method == "POST"
                raise Refused(405, f"{path} takes {route[0]}")
            route[1](self)
        except Refused as e:
            self.refuse(e)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception:
            # A fault of ours ends this request, not the server; a begun answer is cut, so that
            # no client takes it for a whole one.
            traceback.print_exc()
            self.close_connection = True
            if not self.begun:
                self.refuse(Refused(500, "the server failed; its log says how"))
        finally:
            if self.server.state == "draining":
                self.close_connection = True

    def do_GET(self):
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.close_connection = True        # a body nobody reads must not become a request
        self.answer("GET")

    do_HEAD = do_GET

    def do_POST(self):
        self.answer("POST")

    # --- GET

    def health(self):
        ready = self.server.state == "ready"
        self.send(200 if ready else 503, {"status": self.server.state},
                  extra=() if ready else (("Retry-After", "1"),))

    def models(self):
        s = self.server
        self.send(200, {"object": "list", "data": [] if s.conf is None else [
            {"id": s.name, "object": "model", "created": s.created, "owned_by": "smallgpt",
             "max_model_len": s.conf["context"], "weights": "sha256:" + s.digest}]})

    def show_metrics(self):
        self.send(200, self.server.metrics.text(self.server.name, self.server.slots).encode(),
                  "text/plain; version=0.0.4; charset=utf-8")

    def version(self):
        self.send(200, {"version": "smallgpt", "python": sys.version.split()[0],
                        "numpy": np.__version__, "blas": model.mapped_blas(),
                        "weights": self.server.digest and "sha256:" + self.server.digest})

    # --- POST

    def body(self):
        if "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Refused(411, "a request body needs Content-Length")
        length = self.headers.get("Content-Length", "")
        if len(self.headers.get_all("Content-Length", [])) > 1:
            self.close_connection = True
            raise Refused(400, "Content-Length given twice")
        if not (length.isascii() and length.isdigit()):
            self.close_connection = True
            raise Refused(411, "a request body needs Content-Length")
        if len(length) > 9 or int(length) > MAX_BODY:
            self.close_connection = True
            raise Refused(413, f"the request has {length} bytes, at most {MAX_BODY} are taken")
        raw = self.rfile.read(int(length))
        if len(raw) < int(length):
            raise ConnectionResetError("client left within its request")
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError) as e:
            raise Refused(400, f"the body is not JSON: {e}") from e
        if not isinstance(body, dict):
            raise Refused(400, "the body must be a JSON object")
        return body

    def chat(self):
        self.complete(chat=True)

    def completions(self):
        self.complete(chat=False)

    def read_request(self, body, chat):
        """-> prompt tokens, most tokens to generate, stream, usage options, ignore_eos"""
        s = self.server
        if body.get("model", s.name) != s.name:
            raise Refused(404, f"model: this server has '{s.name}'", "model", "model_not_found")
        for key, allowed in (("n", (1,)), ("temperature", (0,)), ("stop", ([],)),
                             ("logprobs", (False,)), ("tools", ([],))):
            if body.get(key) is not None and body[key] not in allowed:
                raise Refused(400, f"{key}: only {json.dumps(allowed[0])} is possible here", key)
        stream = flag(body, "stream")
        options = body.get("stream_options")
        if options is not None and not (isinstance(options, dict) and stream):
            raise Refused(400, "stream_options: an object, and only with \"stream\": true",
                          "stream_options")
        options = options or {}
        usage = (flag(options, "include_usage", "stream_options."),
                 flag(options, "continuous_usage_stats", "stream_options."))
        try:
            if chat:
                text = data.chat_text(body.get("messages"), s.conf["system"])
            else:
                text = body.get("prompt")
                if not isinstance(text, str) or not text:
                    raise ValueError("prompt: expected a string that is not empty")
        except ValueError as e:
            raise Refused(400, str(e), "messages" if chat else "prompt") from e
        room = s.conf["context"] - len(text)
        if room < 1:
            raise Refused(400, f"the prompt has {len(text)} tokens; with the answer at most "
                          f"{s.conf['context']} are possible", "messages" if chat else "prompt",
                          "context_length_exceeded")
        most = number(body, "max_tokens", 1, 1 << 20, None)
        most = number(body, "max_completion_tokens", 1, 1 << 20, most)
        most = min(s.args.max_tokens if most is None else most, s.args.max_tokens, room)
        return data.encode(text), most, stream, usage, flag(body, "ignore_eos")

    def complete(self, chat):
        s, arrived = self.server, time.perf_counter()
        body = self.body()
        if s.state != "ready":
            raise Refused(503, f"the server is {s.state}")
        prompt, most, stream, usage, ignore_eos = self.read_request(body, chat)
        with s.lock:
            s.active += 1
        try:
            with s.slots:
                self.generate(chat, prompt, most, stream, usage, ignore_eos, arrived)
        except (ConnectionError, TimeoutError):
            with s.metrics.lock:
                s.metrics.cut += 1
            raise
        finally:
            with s.lock:
                s.active -= 1

    def generate(self, chat, prompt, most, stream, usage, ignore_eos, arrived):
        s = self.server
        kind = "chat.completion" if chat else "text_completion"
        head = {"id": f"{'chatcmpl' if chat else 'cmpl'}-{s.next_id():08d}",
                "object": kind + (".chunk" if chat and stream else ""),
                "created": int(time.time()), "model": s.name}
        sse = Sse(self, head, chat, usage, len(prompt)) if stream else None
        text, finish, last, gaps, ttft = [], "length", None, [], None
        tokens = model.generate(s.weights, s.conf, prompt, most,
                                None if ignore_eos else data.END)
        while True:
            token = next(tokens, None)
            now = time.perf_counter()
            if token is None:
                finish = "stop" if len(text) < most else "length"
                break
            if last is None:
                ttft = now - arrived
            else:
                gaps.append(now - last)
            last = now
            text.append(data.VOCAB[token])
            if sse:
                sse.token(text[-1], len(text))
        n, m = len(text), s.metrics
        with m.lock:            # before the last bytes: who has the answer finds it counted
            m.prompt_tokens += len(prompt)
            m.generated += n
            m.finished[finish] += 1
            m.e2e.add(time.perf_counter() - arrived)
            if ttft is not None:
                m.ttft.add(ttft)
            for gap in gaps:
                m.itl.add(gap)
        if sse:
            sse.end(finish, n)
            return
        message = {"message": {"role": "assistant", "content": "".join(text)}} if chat else {
            "text": "".join(text)}
        self.send(200, {**head, "choices": [{"index": 0, **message, "logprobs": None,
                                             "finish_reason": finish}],
                        "usage": usage_of(len(prompt), n)})


def usage_of(prompt, generated):
    return {"prompt_tokens": prompt, "completion_tokens": generated,
            "total_tokens": prompt + generated}


class Sse:
    """One streamed answer: chunked transfer coding, one event and one write a token. The role and
    the headers travel with the first token, so nothing that is sent early looks like an answer."""

    def __init__(self, handler, head, chat, usage, prompt_tokens):
        self.h, self.chat, self.usage, self.prompt = handler, chat, usage, prompt_tokens
        self.head = json.dumps(head)[:-1]
        self.started = False
        self.chunked = handler.request_version != "HTTP/1.0"    # which ends with the connection
        if not self.chunked:
            handler.close_connection = True

    def event(self, choice, generated, tail=b""):
        text = f'data: {self.head}, "choices": [{json.dumps(choice) if choice else ""}]'
        if self.usage[1] or (self.usage[0] and choice is None):
            text += f', "usage": {json.dumps(usage_of(self.prompt, generated))}'
        elif self.usage[0]:
            text += ', "usage": null'
        return (text + "}\n\n").encode() + tail

    def choice(self, content, finish):
        if not self.chat:
            return {"index": 0, "text": content or "", "logprobs": None, "finish_reason": finish}
        delta = {} if content is None else {"content": content}
        return {"index": 0, "delta": delta, "finish_reason": finish}

    def write(self, raw):
        if self.chunked:
            raw = b"%x\r\n%s\r\n" % (len(raw), raw)
        if self.started:
            self.h.wfile.write(raw)
            return
        self.started = True
        h = self.h
        h.send_response(200)
        h.send_header("Content-Type", "text/event-stream; charset=utf-8")
        h.send_header("Cache-Control", "no-store")
        h.send_header(*(("Transfer-Encoding", "chunked") if self.chunked else
                        ("Connection", "close")))
        h.end_headers_with(raw)

    def token(self, content, generated):
        raw = self.event(self.choice(content, None), generated)
        if not self.started and self.chat:
            role = {"index": 0, "delta": {"role": "assistant", "content": ""},
                    "finish_reason": None}
            raw = self.event(role, 0) + raw
        self.write(raw)

    def end(self, finish, generated):
        raw = self.event(self.choice(None, finish), generated)
        if self.usage[0]:
            raw += self.event(None, generated)
        self.write(raw + b"data: [DONE]\n\n")
        if self.chunked:
            self.h.wfile.write(b"0\r\n\r\n")


ROUTES = {
    "/health": ("GET", Handler.health),
    "/version": ("GET", Handler.version),
    "/metrics": ("GET", Handler.show_metrics),
    "/v1/models": ("GET", Handler.models),
    "/v1/chat/completions": ("POST", Handler.chat),
    "/v1/completions": ("POST", Handler.completions),
}


def arguments():
    def whole(low, high):
        def read(text):
            n = int(text)
            if not low <= n <= high:
                raise argparse.ArgumentTypeError(f"{n}: must be {low} to {high}")
            return n
        return read
    p = argparse.ArgumentParser(prog="serve.py", description="serve the small model")
    a = p.add_argument
    a("--model", required=True, metavar="CKPT", help="a .npz file of train.py")
    a("--port", type=whole(0, 65535), required=True, metavar="P", help="0: any free one")
    a("--host", default="127.0.0.1", help="default 127.0.0.1")
    a("--name", default="smallgpt", help="model name in answers; default smallgpt")
    a("--max-tokens", type=whole(1, 4096), default=64, metavar="N",
      help="most tokens of one answer; default 64")
    a("--slots", type=whole(1, 64), default=4, metavar="N",
      help="generations at a time; default 4")
    a("--drain", type=whole(0, 3600), default=5, metavar="S",
      help="seconds that running requests get after SIGTERM; default 5")
    a("--nagle", action="store_true",
      help="leave TCP_NODELAY off: a wrong setting, to be found by a measurement")
    return p.parse_args()


def main():
    args = arguments()
    stop = threading.Event()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: stop.set())
    try:
        server = Server(args)
    except OSError as e:
        print(f"serve.py: {args.host} port {args.port}: {e.strerror or e}", file=sys.stderr)
        return 1
    host = f"[{args.host}]" if ":" in args.host else args.host
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    print(f"listening on http://{host}:{server.server_port}", flush=True)
    try:
        # The port answers /health with 503 until the model is there and has spoken once.
        server.conf, server.weights, *_ = model.load(args.model)
        if server.conf["vocab"] != len(data.VOCAB):
            raise model.BadCheckpoint(f"{args.model}: made for another tokenizer")
        server.digest = model.digest(server.weights)
        for _ in model.generate(server.weights, server.conf, data.encode(data.ANSWER), 4):
            pass
    except (model.BadCheckpoint, OSError) as e:
        print(f"serve.py: {e}", file=sys.stderr)
        return 1
    server.state = "ready"
    print(f"ready: {args.name} sha256:{server.digest}, blas "
          f"{' '.join(model.mapped_blas()) or 'unknown'}", flush=True)

    stop.wait()
    server.state = "draining"
    server.shutdown()               # accepts no more; running requests have --drain seconds
    server.socket.close()
    end = time.monotonic() + args.drain
    while server.active and time.monotonic() < end:
        time.sleep(0.01)
    left = server.active
    print(f"stopped, {left} requests cut" if left else "stopped", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
