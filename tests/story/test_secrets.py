# SPDX-License-Identifier: Apache-2.0
"""Secrets of more than fifty kinds, planted where they turn up in real life: in the words of commands
(and so in the contract), in environments, in what a workload prints, in what a server answers. None
may be in the ledger, a report, an export or what the program prints.

Each has a part of its own that is random, so that what is found tells which one got through. They are
made up, and put together from pieces so that no scanner takes them for real.
"""
import glob
import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

# '@' is a random part of 40 letters and digits, '%' one of 12 that could be a password.
KINDS = (
    'AWS_SECRET_ACCESS_KEY=@', 'aws_session_token: @', 'key=AI' 'za@', 'ya' '29.@', 'GOC' 'SPX-@',
    'gh' 'p_@', 'gh' 'o_@', 'gh' 's_@', 'gh' 'u_@', 'github' '_pat_@', 'gl' 'pat-@', 'gl' 'rt-@',
    'xo' 'xb-@', 'xo' 'xp-@', 'xa' 'pp-@', 's' 'k-@', 's' 'k-proj-@', 's' 'k_live_@', 'rk' '_live_@',
    'wh' 'sec_@', 'h' 'f_@', 'nv' 'api-@', 'gs' 'k_@', 'np' 'm_@', 'py' 'pi-@', 'do' 'p_v1_@',
    'da' 'pi@', 'S' 'G.@', 'sh' 'pat_@', 'hv' 's.@', 'dc' 'kr_pat_@', 'ey' 'J@.@.@', 'ts' 'key-@',
    'xa' 'i-@', 'gl' 'sa_@', 'Authorization: Bearer @', 'authorization: basic @',
    'Authorization: Token @', 'postgres://joe:%@db/x', 'https://%@example.org/repo',
    'mongodb+srv://u:%@cluster/x', 'redis://:%@cache:6379/0', 'amqp://u:%@mq/v',
    'machine example.org login joe password %', '-----BEGIN OPENSSH PRIVATE KEY-----\n@',
    '-----BEGIN RSA PRIVATE KEY-----\n@', '-----BEGIN EC PRIVATE KEY-----\n@',
    '-----BEGIN PRIVATE KEY-----\n@', 'HF_TOKEN: @', 'OPENAI_API_KEY=@', 'WANDB_API_KEY=@',
    '{"password": "%"}', "'api_key': '%'", 'client_secret=%&x=1', '--password %', '--api-key=%',
    "export DB_PASSWORD='%'", 'Cookie: %', 'x-api-key: %', 'AccountKey=%;x', 'mysql_pwd=%',
    'SLACK_WEBHOOK_TOKEN=@', 'Proxy-Authorization: Basic @', 'private_token=@', 'vault_token: %')


def planted(where):
    """[(kind, text, random part)] of one place."""
    found = []
    for i, kind in enumerate(KINDS):
        digest = hashlib.sha256(('%s %d' % (where, i)).encode()).hexdigest().upper()
        core = ('q7' + digest[:38]) if '@' in kind.replace('%@', '') else 'Zx9' + digest[:9]
        text = kind.replace('%', core) if 'Zx9' in core else kind.replace('@', core)
        found.append((kind, text, core))
    return found


def yaml_word(text):
    return json.dumps(text)


def everything(q):
    """(name, bytes) of all that the program left behind or wrote for others."""
    for path in glob.glob(q.path('.twice', '**'), recursive=True):
        if not os.path.isfile(path):
            continue
        with open(path, 'rb') as f:
            data = f.read()
        if path.endswith('.zst'):
            data = subprocess.run(['zstd', '-dcq', path], check=True, capture_output=True).stdout
        yield os.path.relpath(path, q.dir), data
    for form in ('html', 'md', 'json', 'junit', 'ctrf'):
        q.call('report', '--format', form, '--out', q.path('r.' + form), status=0)
        with open(q.path('r.' + form), 'rb') as f:
            yield 'report as ' + form, f.read()
    for form in ('intoto', 'bundle', 'statement', 'tlog-proof', 'junit', 'ctrf', 'folder', 'tiles'):
        out = q.path('out-' + form)
        q.call('export', '--format', form, '--out', out, status=0)
        for path in [out] if os.path.isfile(out) else glob.glob(out + '/**', recursive=True):
            if os.path.isfile(path):
                with open(path, 'rb') as f:
                    data = f.read()
                yield 'export: ' + os.path.relpath(path, q.dir), data + decoded(data)
    q.call('why', '--pack', q.path('pack'), status=0)
    for path in glob.glob(q.path('pack', '**'), recursive=True):
        if os.path.isfile(path):
            with open(path, 'rb') as f:
                yield 'pack: ' + os.path.relpath(path, q.dir), f.read()
    for args in (('log', '--all', '--limit', '0', '--json'), ('show', '2'), ('contract',), ('why', '--json'),
                 ('stack', '--json'), ('check', '--json'), ('verify', '--all')):
        _, out, err = q.call(*args)
        yield 'what ' + ' '.join(args) + ' prints', (out + err).encode()


def decoded(data):
    """Payloads of envelopes are base64."""
    import base64
    found = b''
    for line in data.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        envelope = value.get('dsseEnvelope', value) if isinstance(value, dict) else {}
        if isinstance(envelope.get('payload'), str):
            found += base64.b64decode(envelope['payload'])
    return found


def nothing_is_left(q, plants, seen=()):
    """And all of it was really there to be seen."""
    bad = []
    for name, data in [*everything(q), *seen]:
        bad += ['%s: %s' % (name, kind) for kind, _, core in plants if core.encode() in data]
    tap.equal(bad, [])


def accepted(q):
    code, out, err = q.call('run')
    tap.equal((code, 'accepted' in out), (0, True))
    q.call('accept', '--note', 'by a test', status=0)
    return [('what run prints', (out + err).encode())]


def test_there_are_more_than_fifty():
    tap.true(len(KINDS) >= 60, '%d' % len(KINDS))
    for where in ('argv', 'environment'):
        cores = [core for _, text, core in planted(where)]
        tap.equal(len(set(cores)), len(KINDS))
        tap.true(all(core in text for _, text, core in planted(where)))


def test_what_a_workload_prints():
    q, plants = quick.Quick(), planted('log')
    q.write('said', ''.join(text + '\n' for _, text, _ in plants))
    q.write('work.sh', 'cat said; cat said >&2\n' + quick.WORK)
    nothing_is_left(q, plants, accepted(q))


def refused(q, plants, name):
    """Contracts are stored, so none may hold a secret: it isn't even read into the ledger."""
    code, out, err = q.call('run')
    if code != 65:
        raise AssertionError('%s: exit %d\n%s%s' % (name, code, out, err))
    tap.has(err, 'looks like a secret')
    tap.has(err, 'hint: ')
    left = []
    for path in glob.glob(q.path('.twice', '**'), recursive=True):
        if os.path.isfile(path):
            with open(path, 'rb') as f:
                left.append((path, f.read()))
    for where, data in [*left, ('stderr', err.encode())]:
        for kind, _, core in plants:
            tap.true(core.encode() not in data, '%s: %s' % (where, kind))


def test_words_of_commands_in_a_contract_are_refused():
    """Each kind alone: none hides behind another."""
    plants = planted('argv')
    q = quick.Quick()
    for kind, text, core in plants:
        q.contract(text=(quick.CONTRACT % '').replace('"{dir}/work.sh"]', '"{dir}/work.sh", %s]' %
                                                      yaml_word(text)))
        refused(q, [(kind, text, core)], kind)
    q.contract(text=(quick.CONTRACT % '').replace(
        '"{dir}/work.sh"]', '"{dir}/work.sh", --password, hunter2Zx9]'))
    refused(q, [('two words', '', 'hunter2Zx9')], 'two words')
    q.contract(text=(quick.CONTRACT % '').replace(
        '"{dir}/work.sh"]', '"{dir}/work.sh", --api-key, EMPTY, --max-tokens, "64"]'))
    accepted(q)


def test_words_of_processes():
    """What a workload starts in its turn, with secrets among the words."""
    q, plants = quick.Quick(), planted('inner argv')
    words = ' '.join("'%s'" % text.replace("'", "'\\''") for _, text, _ in plants)
    q.write('inner.sh', 'sleep 0.3\n' + quick.WORK)
    q.write('work.sh', 'exec sh inner.sh %s\n' % words)
    nothing_is_left(q, plants, accepted(q))


def test_environments_in_a_contract_are_refused():
    q = quick.Quick()
    for kind, text, core in planted('environment')[::4]:   # the others are those of commands
        q.contract(text=(quick.CONTRACT % '').replace(
            'stack:\n', 'stack:\n  environment: {PLANT: %s}\n' % yaml_word(text)))
        refused(q, [(kind, text, core)], kind)
    q.contract(text=(quick.CONTRACT % '').replace(
        'stack:\n', 'stack:\n  environment: {SOME_TOKEN: hunter2Zx9}\n'))
    code, _, err = q.call('run')
    tap.equal(code, 65)
    tap.has(err, "'SOME_TOKEN' looks like a secret")
    tap.true('hunter2Zx9' not in err, err)


def test_environments():
    q, plants = quick.Quick(), planted('environment')
    mine = planted('of the caller')
    q.write('environment', ''.join('PLANT_%d=%s\n' % (i, text.replace('\n', ' '))
                                   for i, (_, text, _) in enumerate(plants)))
    q.contract(text=(quick.CONTRACT % '').replace(
        'stack:\n', 'stack:\n  environment_file: environment\n  env: ["CALLER_*", "PLANT_*"]\n'))
    env = {'CALLER_%d' % i: text for i, (_, text, _) in enumerate(mine)}
    env.update({'%s_TOKEN' % i: core for i, (_, _, core) in enumerate(mine)})
    code, out, err = q.call('run', env=env)
    tap.equal(code, 0)
    q.call('accept', '--note', 'by a test', status=0)
    nothing_is_left(q, plants + mine, [('what run prints', (out + err).encode())])


SERVER = '''\
import http.server, json, sys
said = open('said').read()
lines = [l for l in said.split('\\0') if l]
turn = [0]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *a):
        pass
    def answer(self, code, kind, body):
        self.send_response(code)
        self.send_header('Content-Type', kind)
        self.send_header('Set-Cookie', 'session=' + lines[0].replace('\\n', ' '))
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        if self.path == '/metrics':
            body = '# ' + said.replace('\\0', ' ').replace('\\n', ' ') + '\\nrequests_total 1\\n'
            self.answer(200, 'text/plain', body.encode())
        else:
            self.answer(200, 'text/plain', b'ok')
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        turn[0] += 1
        text = lines[turn[0] % len(lines)]
        if turn[0] % 7 == 3:
            return self.answer(500, 'application/json', json.dumps({'error': {'message': 'no: ' + said}}).encode())
        chunks = [{'choices': [{'index': 0, 'delta': {'content': text}}]},
                  {'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]}]
        body = ''.join('data: %s\\n\\n' % json.dumps(c) for c in chunks) + 'data: [DONE]\\n\\n'
        self.answer(200, 'text/event-stream', body.encode())
sys.stderr.write(said.replace('\\0', '\\n'))
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
'''

SERVING = '''\
twice: 1
workload: {name: serving, kind: inference, unit: request, owner: test}
stack:
  files: {server: {path: server.py, layer: application}}
workload_check:
  serve:
    start: [python3, "{dir}/server.py", "{port}"]
    ready: {http: /health, within: 30 s}
    stop_within: 5 s
    metrics: /metrics
  load:
    endpoint: chat
    prompts: prompts.jsonl
    arrival: {closed: 2}
    count: 40
    max_tokens: 8
    timeout: 10 s
    client_lag: 5 s
  objectives: [errors <= 90 %]
repeat: {runs: 2, at_most: 3}
'''


def test_what_a_server_answers():
    q, plants = quick.Quick(), planted('server')
    q.contract(text=SERVING)
    q.write('said', '\0'.join(text for _, text, _ in plants))
    q.write('server.py', SERVER)
    q.write('prompts.jsonl', ''.join(json.dumps({'id': 'p%d' % i, 'prompt': 'say it'}) + '\n' for i in range(8)))
    code, out, err = q.call('run')
    tap.true(code in (0, 1, 2), err)
    tap.has(out, 'serving')
    nothing_is_left(q, plants, [('what run prints', (out + err).encode())])


tap.main(globals())
