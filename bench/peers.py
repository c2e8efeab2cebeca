#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same scenarios against our load generator, GuideLLM and vLLM's `bench serve`: what each reports,
beside what the scripted server knows to be true.

    peers.py TWICE FAKE_SERVER [--venv DIR] [--out FILE] [--plays N]

The peers come from PyPI into a virtual environment (DIR, kept for the next time; some gigabytes: both
want torch). Where it isn't reached, or one doesn't install, that peer is left out and the reason is
printed. Everything runs on loopback. Times are medians over the plays, interleaved.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# What vLLM's client imports, without the server's kernels.
VLLM_NEEDS = '''aiohttp blake3 cachetools cbor2 cloudpickle compressed-tensors diskcache fastapi gguf lark
mistral-common msgspec ninja openai openai-harmony partial-json-parser pillow prometheus-client psutil
py-cpuinfo pybase64 python-json-logger pyzmq requests sentencepiece setproctitle tiktoken uvicorn
watchfiles'''.split()
VLLM = '''
import argparse, importlib.util, os, sys, types
# A name that only adapters need; its module would import the whole server with its kernels.
where = os.path.dirname(importlib.util.find_spec("vllm").origin)
lora, utils = types.ModuleType("vllm.lora"), types.ModuleType("vllm.lora.utils")
lora.__path__ = [os.path.join(where, "lora")]
utils.get_adapter_absolute_path = lambda path: path
sys.modules.update({"vllm.lora": lora, "vllm.lora.utils": utils})
from vllm.benchmarks import serve
p = argparse.ArgumentParser()
serve.add_cli_args(p)
serve.main(p.parse_args(sys.argv[1:]))
'''

# name, script, streams, requests, truth in ms (None: not asked)
SCENARIOS = [
    ('64 streams, a token each 20 ms', 'n=64,ttft=100ms,itl=20ms', 64, 256,
     {'ttft p50': 100, 'ttft p99': 100, 'itl p99': 20, 'tpot p50': 20}),
    ('256 streams, a token each 20 ms', 'n=64,ttft=100ms,itl=20ms', 256, 1024,
     {'ttft p50': 100, 'ttft p99': 100, 'itl p99': 20, 'tpot p50': 20}),
    ('four tokens an event', 'n=64,tpc=4,ttft=100ms,itl=10ms,usage=every', 16, 64,
     {'ttft p50': 100, 'tpot p50': 10}),
    ('the role first, the token later', 'n=64,role=early,ttft=200ms,itl=10ms', 16, 64,
     {'ttft p50': 200, 'itl p99': 10}),
    ('half of the requests refused', 'status=503|n=64,ttft=100ms,itl=10ms', 8, 64,
     {'ttft p50': 100, 'failed %': 50}),
    ('streams that end too soon', 'n=64,end=clean,at=10,ttft=100ms,itl=10ms', 8, 32,
     {'failed %': 100}),
]
MEASURES = ['ttft p50', 'ttft p99', 'itl p99', 'tpot p50', 'failed %', 'CPU s']


WORDS = {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': [], 'normalizer': None,
         'pre_tokenizer': {'type': 'Whitespace'}, 'post_processor': None, 'decoder': None,
         'model': {'type': 'WordLevel', 'vocab': {'[UNK]': 0, 'word': 1}, 'unk_token': '[UNK]'}}


def python(venv):
    return os.path.join(venv, 'bin', 'python')


def pip(venv, *what):
    done = subprocess.run([python(venv), '-m', 'pip', '-q', 'install', *what], text=True,
                          capture_output=True, check=False, timeout=3600)
    return '' if done.returncode == 0 else (done.stderr.strip().splitlines() or ['pip failed'])[-1]


def tried(argv, timeout=300):
    """'' when it ends well, else its last line."""
    try:
        done = subprocess.run(argv, text=True, capture_output=True, check=False, timeout=timeout,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as why:
        return str(why)
    return '' if done.returncode == 0 else (done.stderr.strip().splitlines() or ['exit'])[-1]


def install(venv):
    """{'guidellm': reason or '', 'vllm': ...}"""
    if not os.path.exists(python(venv)):
        bad = tried([sys.executable, '-m', 'venv', venv])
        if bad:
            return {'guidellm': bad, 'vllm': bad}
    ask = {'guidellm': [python(venv), '-c', 'import guidellm.__main__'],
           'vllm': [python(venv), '-c', VLLM, '--help']}
    bad = {}
    for name, argv in ask.items():
        bad[name] = tried(argv)
        if bad[name] and name == 'guidellm':
            bad[name] = pip(venv, 'guidellm') or tried(argv)
        elif bad[name]:
            bad[name] = pip(venv, '--no-deps', 'vllm') or pip(venv, *VLLM_NEEDS) or tried(argv)
    return bad


def version(venv, name):
    done = subprocess.run([python(venv), '-c', 'from importlib.metadata import version as v; '
                           'print(v("%s"))' % name], text=True, capture_output=True, check=False)
    return done.stdout.strip() or '?'


class Server:
    def __init__(self, program, script):
        self.process = subprocess.Popen([program, '--script', script], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url = 'http://127.0.0.1:%s' % self.process.stdout.readline().split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def call(argv, timeout=240):
    """CPU seconds of it and its children, or None when it did not end well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(argv, text=True, capture_output=True, check=False, timeout=timeout,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, 'no end within %d s' % timeout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, done.stdout if done.returncode in (0, 1, 2) else done.stderr[-500:]


def prompts(folder, requests):
    """For all alike: one line a request, different prompts."""
    ours, guide, vllm = (os.path.join(folder, n) for n in ('ours.jsonl', 'guide.jsonl', 'vllm.jsonl'))
    with open(ours, 'w', encoding='utf-8') as a, open(guide, 'w', encoding='utf-8') as b, \
            open(vllm, 'w', encoding='utf-8') as c:
        for i in range(requests):
            text = 'question %d: what is the weather like in town %d?' % (i, 7 * i)
            a.write(json.dumps({'prompt': text, 'max_tokens': 64}) + '\n')
            b.write(json.dumps({'prompt': text, 'prompt_tokens_count': 12,
                                'output_tokens_count': 64}) + '\n')
            c.write(json.dumps({'prompt': text, 'output_tokens': 64}) + '\n')
    # Without a tokenizer vLLM's client reports no times of tokens: the smallest there is.
    os.makedirs(os.path.join(folder, 'words'), exist_ok=True)
    for name, value in (('tokenizer.json', WORDS), ('tokenizer_config.json', {
            'tokenizer_class': 'PreTrainedTokenizerFast', 'unk_token': '[UNK]'})):
        with open(os.path.join(folder, 'words', name), 'w', encoding='utf-8') as f:
            json.dump(value, f)
    return ours, guide, vllm


def ms(value):
    return value / 1e6


def twice(o, url, folder, streams, requests):
    cpu, text = call([o.twice, 'load', url, '--json', '--quiet', '--progress', 'none', '--endpoint',
                      'completions', '--prompts', prompts(folder, requests)[0], '--arrival', 'closed',
                      '--concurrency', str(streams), '--requests', str(requests),
                      '--ignore-eos', '--client-lag', '1s', '--server-metrics', 'off'])
    try:
        v = json.loads(text)
        m = {x['name']: x['value'] for x in v['metrics']}
        # Where every request failed there is no time of any.
        at = lambda name: ms(m[name]) if name in m else None                # noqa: E731
        return {'ttft p50': at('ttft.p50'), 'ttft p99': at('ttft.p99'), 'itl p99': at('itl.p99'),
                'tpot p50': at('tpot.p50'), 'failed %': 100 * m['errors'] / 1e9, 'CPU s': cpu}
    except (ValueError, KeyError, TypeError) as why:
        return {'error': '%s: %s' % (why, text[-300:])}


def guidellm(o, url, folder, streams, requests):
    out = os.path.join(folder, 'guide.json')
    if os.path.exists(out):
        os.unlink(out)
    cpu, text = call([os.path.join(o.venv, 'bin', 'guidellm'), 'run', '--backend',
                      'kind=openai_http,target=%s,model=m' % url, '--profile',
                      'kind=concurrent,streams=%d' % streams, '--constraint',
                      'kind=max_requests,count=%d' % requests, '--data',
                      'kind=json_file,path=%s' % prompts(folder, requests)[1], '--output',
                      'kind=json,path=' + out, '--disable-console'])
    try:
        with open(out, encoding='utf-8') as f:
            m = json.load(f)['benchmarks'][0]['metrics']
        n = m['request_totals']
        good = lambda name: m[name]['successful']                   # noqa: E731
        return {'ttft p50': good('time_to_first_token_ms')['median'],
                'ttft p99': good('time_to_first_token_ms')['percentiles']['p99'],
                'itl p99': good('inter_token_latency_ms')['percentiles']['p99'],
                'tpot p50': good('inter_token_latency_ms')['median'],
                'failed %': 100 * n['errored'] / max(1, n['total']), 'CPU s': cpu}
    except (OSError, ValueError, KeyError, TypeError, IndexError) as why:
        return {'error': '%s: %s' % (why, str(text)[-300:])}


def vllm(o, url, folder, streams, requests):
    out = os.path.join(folder, 'vllm.json')
    if os.path.exists(out):
        os.unlink(out)
    cpu, text = call([python(o.venv), '-c', VLLM, '--backend', 'openai', '--base-url', url, '--model', 'm',
                      '--tokenizer', os.path.join(folder, 'words'), '--dataset-name', 'custom',
                      '--dataset-path', prompts(folder, requests)[2], '--custom-output-len', '64',
                      '--num-prompts', str(requests), '--max-concurrency', str(streams), '--ignore-eos',
                      '--disable-shuffle', '--skip-chat-template', '--save-result', '--result-dir', folder,
                      '--result-filename', 'vllm.json', '--percentile-metrics', 'ttft,tpot,itl,e2el',
                      '--metric-percentiles', '50,99', '--num-warmups', '0', '--ready-check-timeout-sec',
                      '0', '--disable-tqdm'])
    try:
        with open(out, encoding='utf-8') as f:
            m = json.load(f)
        failed = m.get('failed', requests - m['completed'])
        return {'ttft p50': m['median_ttft_ms'], 'ttft p99': m['p99_ttft_ms'], 'itl p99': m['p99_itl_ms'],
                'tpot p50': m['median_tpot_ms'], 'failed %': 100 * failed / requests, 'CPU s': cpu}
    except (OSError, ValueError, KeyError, TypeError) as why:
        return {'error': '%s: %s' % (why, str(text)[-300:])}


def median(rows, name):
    got = [r[name] for r in rows if r.get(name) is not None]
    return statistics.median(got) if got else None


def shown(value, name):
    if value is None:
        return '-'
    return '%.2f' % value if name == 'CPU s' else '%.1f' % value


def main():
    p = argparse.ArgumentParser()
    p.add_argument('twice')
    p.add_argument('fake_server')
    p.add_argument('--venv', default=os.path.join(os.path.expanduser('~'), '.cache', 'twice-peers'))
    p.add_argument('--out')
    p.add_argument('--plays', type=int, default=3)
    o = p.parse_args()
    bad = install(o.venv)
    clients = {'twice': twice}
    names = {'twice': 'twice'}
    for name, run in (('guidellm', guidellm), ('vllm', vllm)):
        if bad[name]:
            print('left out: %s (%s)' % (name, bad[name]))
        else:
            clients[name] = run
            names[name] = '%s %s' % ({'guidellm': 'GuideLLM', 'vllm': 'vllm bench serve'}[name],
                                     version(o.venv, name))
    folder = tempfile.mkdtemp(prefix='twice-peers-')
    lines = ['| scenario | measure | true | ' + ' | '.join(names.values()) + ' |',
             '|---|---|---|' + '---|' * len(names)]
    try:
        for title, script, streams, requests, truth in SCENARIOS:
            rows = {c: [] for c in clients}
            for _ in range(o.plays):
                for c, run in clients.items():
                    with Server(o.fake_server, script) as server:
                        rows[c].append(run(o, server.url, folder, streams, requests))
                    if 'error' in rows[c][-1]:
                        print('%s, %s: %s' % (title, c, rows[c][-1]['error']), file=sys.stderr)
            for name in MEASURES:
                if name not in truth and name != 'CPU s':
                    continue
                unit = ' (ms)' if name[-1] not in '%s' else ''
                lines.append('| %s | %s%s | %s | %s |' % (
                    title, name, unit, shown(truth.get(name), name),
                    ' | '.join(shown(median(rows[c], name), name) for c in clients)))
                print(lines[-1], flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if o.out:
        with open(o.out, 'w', encoding='utf-8') as f:
            f.write('''# The same load, three clients

Made by `make bench-load`, %s, on %s. Each client plays each scenario %s against the scripted server,
interleaved, in a closed loop on loopback, with the same prompts; quantiles are over requests. "True" is what the server was told to
play; a client can only be later. Measures keep each client's own definition: tpot is per token, itl per event (GuideLLM
has no gaps of its own: its inter-token latency is a mean of each request and stands in both rows). CPU is the whole
process with its start. The server and the client share the machine (load average %.1f at the end).

''' % (time.strftime('%Y-%m-%d'), '%d cores' % os.cpu_count(), 'once' if o.plays == 1 else '%d times' % o.plays, os.getloadavg()[0]))
            f.write('\n'.join(lines) + '\n')


main()
