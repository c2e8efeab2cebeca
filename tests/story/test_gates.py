# SPDX-License-Identifier: Apache-2.0
"""A required check that did not pass, in whichever way, keeps a run from being accepted: every kind
that `twice version --build` names, in each way it can end."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

BW = ("extract: [{metric: bw, pattern: 'bw (?<value>[0-9]+)', unit: GB/s, better: higher, "
      "limit: '>= 10 GB/s'}]")
# kind, layer, settings, how it ends (several: it depends on the machine), a part of the reason
CASES = [
    ('allreduce', 'communication', 'launcher: [no-such-launcher]', 'SKIP', 'no-such-launcher'),
    ('allreduce', 'communication', 'launcher: ["true"]', 'ERROR SKIP', ''),
    ('allreduce', 'communication', 'launcher: [sh, -c, "sleep 30"], limit: 1 s', 'ERROR SKIP', ''),
    ('allreduce', 'communication', 'launcher: [sh, -c, "exit 3"]', 'FAIL SKIP', ''),
    ('cpus', 'hardware', 'count: ">= 100000"', 'FAIL', 'processors: '),
    ('collective', 'communication', 'argv: [no-such-tool]', 'SKIP', 'no-such-tool'),
    ('collective', 'communication', 'argv: ["true"]', 'ERROR', 'no results'),
    ('collective', 'communication', 'argv: ["false"]', 'FAIL', 'no results (exit 1)'),
    ('collective', 'communication', 'argv: [sleep, "30"], limit: 1 s', 'ERROR', 'limit'),
    ('ecc', 'hardware', 'for: 1 ms, size: 1 MiB, corrected: "= 1"', 'SKIP FAIL', ''),
    ('gpus', 'hardware', 'count: ">= 4096"', 'FAIL', 'GPUs found, limit >= 4096'),
    ('host', 'hardware', 'settings: {vm.no_such_setting: "1"}', 'ERROR', 'cannot be read here'),
    ('host', 'hardware', 'settings: {vm.swappiness: none such}', 'FAIL ERROR', ''),
    ('import', 'framework', 'module: no_such_module_here', 'FAIL', 'no_such_module_here'),
    ('import', 'framework', 'module: json, smoke: "1 == 2"', 'FAIL', 'smoke test is not true'),
    ('import', 'framework', 'module: json, version: "99.*"', 'FAIL', 'wanted 99.*'),
    ('import', 'framework', 'module: json, python: /no/such/python', 'FAIL', '/no/such/python'),
    ('import', 'framework', 'module: json, python: "{dir}/sleeper", within: 1 s', 'ERROR', 'limit'),
    ('import', 'framework', 'module: json, python: "{dir}/chatter"', 'ERROR', ''),
    ('memory', 'hardware', 'size: ">= 900 TiB"', 'FAIL', 'memory is '),
    ('memory_bandwidth', 'hardware', 'size: 1 MiB, repeats: 3, at_least: ">= 900 TB/s"', 'FAIL',
     'limit >= 900 TB/s'),
    ('restart', 'recovery', 'within: 5 s', 'SKIP', 'no server'),
    ('replay', 'recovery', 'requests: 3', 'SKIP', 'no server'),
    ('resume', 'recovery', 'kill_at: 50 %', 'SKIP', 'no training job'),
    ('command', 'hardware', 'argv: [no-such-program-here], ' + BW, 'SKIP', 'no-such-program-here'),
    ('command', 'hardware', 'argv: [echo, nothing], ' + BW, 'ERROR', 'bw'),
    ('command', 'hardware', 'argv: [echo, bw 9], ' + BW, 'FAIL', 'limit >= 10 GB/s'),
    ('command', 'hardware', 'argv: [sh, -c, "echo bw 12; exit 3"], ' + BW, 'FAIL', 'exit 3'),
    ('command', 'hardware', 'argv: [sh, -c, "echo bw 12; kill -9 $$"], ' + BW, 'FAIL', 'signal 9'),
    ('command', 'framework', 'argv: [sh, -c, "echo bw 12; sleep 30"], limit: 1 s, ' + BW, 'ERROR',
     'limit'),
    ('command', 'recovery', 'argv: [sh, -c, "echo bw 12; head -c 90000 /dev/zero"], '
     'output_limit: 4 KiB, ' + BW, 'DOUBTFUL', 'cut'),
]


def scene(kind, layer, settings):
    q = quick.Quick('%s:\n  - %s: {%s}\n' % (layer, kind, settings))
    q.write('sleeper', '#!/bin/sh\nsleep 30\n')
    q.write('chatter', '#!/bin/sh\necho hello\n')
    os.chmod(q.path('sleeper'), 0o755)
    os.chmod(q.path('chatter'), 0o755)
    return q


def refused(q, verdict):
    tap.true(verdict['verdict'] not in ('accepted', 'accepted_with_note'), verdict['verdict'])
    tap.true(verdict['exit'] != 0)
    code, out, err = q.call('accept')
    tap.true(code not in (0, 70), 'accept: exit %d\n%s%s' % (code, out, err))
    tap.equal(q.bodies('signoff'), [])
    tap.equal(q.json('check', status=1)['state'], 'never accepted')
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')


def holds(number):
    kind, layer, settings, how, reason = CASES[number]
    q = scene(kind, layer, settings)
    # Every second one goes on in spite of it: good repetitions do not outweigh it.
    code, out, _ = q.call('run', '--json', *(['--keep-going'] if number % 2 else []))
    verdict = json.loads(out)
    results = [o for b in q.bodies('run.result') for o in b.get('outcomes', [])
               if o['check'] == '%s/%s' % (layer, kind)]
    tap.equal(len(results), 1)
    tap.true(results[0]['result'] in how.split(), results[0])
    tap.has(results[0]['reason'], reason)
    tap.equal(verdict['exit'], code)
    refused(q, verdict)


def every_kind_of_check_is_here():
    q = quick.Quick()
    kinds = q.json('version', '--build')['checks'] + ['command']
    tap.equal(sorted(set(kinds)), sorted({c[0] for c in CASES}))


def not_required_is_only_told():
    q = scene('cpus', 'hardware', 'count: ">= 100000", required: false')
    v = q.json('run')
    tap.true(v['verdict'] in ('accepted', 'accepted_with_note'), v['verdict'])
    tap.has(' '.join(str(n) for n in v['body']['decision']['notes']), 'hardware/cpus')


def an_earlier_layer_stops_the_later_ones():
    q = quick.Quick('hardware:\n  - cpus: {count: ">= 100000"}\n'
                    'framework:\n  - command: {argv: [touch, ran], extract: '
                    '[{metric: n, exit: true, better: lower, limit: "= 0"}]}\n')
    v = q.json('run', status=1)
    tap.equal((v['verdict'], v['body'].get('reps', [])), ('rejected', []))
    tap.true(not os.path.exists(q.path('ran')))
    q.json('run', '--keep-going', status=1)
    tap.true(os.path.exists(q.path('ran')))


def workload(change, want):
    """The workload itself ends badly in every repetition."""
    def test():
        q = quick.Quick()
        with open(q.path('twice.yaml'), encoding='utf-8') as f:
            text = f.read()
        tap.true(change[0] in text)
        q.write('twice.yaml', text.replace(*change))
        code, out, err = q.call('run', '--json')
        verdict = json.loads(out)
        tap.true(verdict['verdict'] in want.split(), verdict['verdict'] + err)
        tap.equal(verdict['exit'], code)
        for b in q.bodies('run.result'):
            tap.true(b['scope'] != 'rep' or b['state'] != 'ok', b)
        refused(q, verdict)
    return test


# Answers that it is well, and nothing else.
DENY = '''\
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_response(200 if self.path == '/health' else 500)
        self.send_header('Content-Length', '0')
        self.end_headers()
    do_POST = do_GET
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()
'''
PROMPT = '{"id": "a", "messages": [{"role": "user", "content": "say one"}]}\n'
STEPS = 'for i in 1 2 3; do echo "{\\"step\\": $i, \\"loss\\": 0.5, \\"eval_loss\\": 0.5}"; done'
CHECK = '''\
workload_check:
%s
repeat: {runs: 5, at_most: 5}
'''


def ends_badly(block, reason, files):
    def test():
        q = quick.Quick()
        for name, text in files.items():
            q.write(name, text)
        with open(q.path('twice.yaml'), encoding='utf-8') as f:
            text = f.read()
        q.write('twice.yaml', text[:text.index('workload_check:')] + CHECK % block)
        q.call('contract', 'check', status=0)
        code, out, err = q.call('run', '--json')
        verdict = json.loads(out)
        tap.true(verdict['verdict'] in ('rejected', 'no_result'), verdict['verdict'] + err)
        tap.equal(verdict['exit'], code)
        reps = [b for b in q.bodies('run.result') if b['scope'] == 'rep']
        tap.true(reps and all(b['state'] != 'ok' for b in reps), reps)
        tap.has(' '.join(b['reason'] for b in reps), reason)
        refused(q, verdict)
    return test


def serving(start, reason, within='300 ms'):
    return ends_badly('''\
  serve:
    start: %s
    ready: {http: /health, within: %s}
    stop_within: 1 s
  load: {prompts: prompts.jsonl, arrival: {constant: 50/s}, duration: 200 ms, max_tokens: 4,
         timeout: 1 s, client_lag: 2 s}
  objectives: [errors <= 1 %%]''' % (start, within), reason,
                      {'prompts.jsonl': PROMPT, 'deny.py': DENY})


def training(script, reason):
    return ends_badly('''\
  train:
    run: [sh, "{dir}/train.sh"]
    metrics: {jsonl: stdout}
    target: {eval_loss: "<= 0.8"}
  objectives: [final_loss <= 0.8, runs_reaching_target = 100 %]''', reason,
                      {'train.sh': script + '\n'})


def recovery_fails(block, check, reason, files):
    """Good repetitions, and a recovery check that fails after them."""
    def test():
        q = quick.Quick('recovery:\n  - %s\n' % check)
        for name, text in files.items():
            q.write(name, text)
        with open(q.path('twice.yaml'), encoding='utf-8') as f:
            text = f.read()
        q.write('twice.yaml', text[:text.index('workload_check:')] + CHECK % block)
        v = q.json('run', status=1)
        results = [o for b in q.bodies('run.result') for o in b.get('outcomes', [])
                   if o['check'].startswith('recovery/')]
        tap.equal((v['verdict'], [o['result'] for o in results]), ('rejected', ['FAIL']))
        tap.has(results[0]['reason'], reason)
        tap.equal([b['state'] for b in q.bodies('run.result') if b['scope'] == 'rep'], ['ok'] * 5)
        refused(q, v)
    return test


LLM = os.path.join(tap.source_root(), 'tests', 'fake', 'llm.py')
SERVER = '''\
  serve:
    start: ["/usr/bin/python3", "%s", "{port}"%s]
    cwd: "{work}"
    ready: {http: /health, within: 20 s}
    stop_within: 2 s
  load: {prompts: prompts.jsonl, arrival: {constant: 50/s}, duration: 200 ms, max_tokens: 8,
         timeout: 10 s, client_lag: 5 s}
  objectives: [errors <= 1 %%]'''
TRAINER = '''\
  train:
    run: [sh, "{dir}/train.sh", start]
    resume: [sh, "{dir}/train.sh", resume]
    metrics: {jsonl: stdout}
    target: {eval_loss: "<= 0.8"}
    checkpoints: "{work}"
  objectives: [final_loss <= 0.8]'''
# Begins from the first step whatever it is told.
FORGETFUL = '''\
for i in 1 2 3 4 5 6 7 8 9; do
echo "{\\"step\\": $i, \\"loss\\": 0.5, \\"eval_loss\\": 0.$((90 - i * 5))}"
echo $i > ckpt; [ $i -gt 4 ] && sleep 0.05
done
true
'''
ARGV = 'argv: [sh, "{dir}/work.sh"]'
TESTS = [('every_kind_of_check_is_here', every_kind_of_check_is_here)]
TESTS += [('%s_%s_%d_cannot_be_accepted' % (c[0], c[3].split()[0].lower(), i),
           lambda i=i: holds(i)) for i, c in enumerate(CASES)]
TESTS += [
    ('not_required_is_only_told', not_required_is_only_told),
    ('an_earlier_layer_stops_the_later_ones', an_earlier_layer_stops_the_later_ones),
    ('a_workload_that_fails', workload((ARGV, 'argv: [sh, -c, "echo speed 100; exit 3"]'),
                                       'rejected no_result')),
    ('a_workload_without_its_number', workload((ARGV, 'argv: [echo, hello]'), 'rejected no_result')),
    ('a_workload_that_is_not_there', workload((ARGV, 'argv: [no-such-program-here]'),
                                              'rejected no_result')),
    ('a_workload_over_its_time', workload(
        (ARGV + '\n    limit: 20 s', 'argv: [sh, -c, "echo speed 100; sleep 30"]\n    limit: 1 s'),
        'rejected no_result')),
    ('a_server_that_ends', serving('["false"]', 'ended before it was ready (exit 1)')),
    ('a_server_that_is_never_ready', serving('[sleep, "30"]', 'not ready within 300 ms')),
    ('a_server_that_answers_nothing', serving('["/usr/bin/python3", "{dir}/deny.py", "{port}"]',
                                              'none of ', '10 s')),
    ('a_training_that_says_nothing', training('echo hello', 'reported no step')),
    ('a_training_that_fails', training(STEPS + '; exit 3', 'exit 3')),
    ('a_training_that_misses_its_target', training(STEPS.replace('0.5', '2'), 'target was not')),
    ('a_training_whose_loss_is_no_number', training(STEPS.replace('0.5', 'NaN'), '')),
    ('a_restart_that_takes_too_long', recovery_fails(
        SERVER % (LLM, ''), 'restart: {within: 1 ms}', 'limit 1 ms', {'prompts.jsonl': PROMPT})),
    ('a_server_that_does_not_come_again', recovery_fails(
        SERVER % (LLM, ', never-again'), 'replay: {requests: 5}', 'the disk is gone',
        {'prompts.jsonl': PROMPT})),
    ('a_training_that_begins_anew', recovery_fails(
        TRAINER, 'resume: {kill_at: 60 %, within: 20 s}', 'began again at step 1',
        {'train.sh': FORGETFUL})),
    ('a_workload_whose_output_is_cut', workload(
        (ARGV, 'argv: [sh, -c, "echo speed 100; head -c 90000 /dev/zero"]\n    output_limit: 4 KiB'),
        'rejected no_result')),
]

tap.main(TESTS)
