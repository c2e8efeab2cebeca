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
    ('a_workload_whose_output_is_cut', workload(
        (ARGV, 'argv: [sh, -c, "echo speed 100; head -c 90000 /dev/zero"]\n    output_limit: 4 KiB'),
        'rejected no_result')),
]

tap.main(TESTS)
