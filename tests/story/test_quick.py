# SPDX-License-Identifier: Apache-2.0
"""The story on a workload of milliseconds: accepted, changed, stale, rejected, explained, rolled
back, accepted again, proven, verified; and what must not be possible on the way."""
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position


def flip(path, after=b''):
    """Changes one bit of the byte in the middle, or of the one after this text."""
    with open(path, 'r+b') as f:
        data = f.read()
        at = data.index(after) + len(after) if after else len(data) // 2
        f.seek(at)
        f.write(bytes([data[at] ^ 1]))


def test_the_whole_story():
    q = quick.Quick()
    v = q.json('check', status=1)
    tap.equal((v['state'], v['proven']), ('never accepted', False))
    v = q.json('run')
    tap.equal((v['verdict'], v['interrupted'], v['already_decided']), ('accepted', False, False))
    first = v['run']
    tap.equal(v['body']['decision']['used'], 5)
    tap.true(v['body']['decision']['first'])
    v = q.json('accept', '--note', 'first')
    tap.equal((v['run'], v['in_force'], v['proven'], v['times']), (first, True, False, 1))
    v = q.json('check')
    tap.equal((v['state'], v['accepted']['run'], v['accepted']['note']), ('accepted', first, 'first'))

    q.write('speed', '50\n')
    v = q.json('check', status=1)
    tap.equal(v['state'], 'stale')
    tap.equal([(c['layer'], c['name']) for c in v['changes'] if c['material']],
              [('kernellib', 'kernel')])
    tap.true('workload' in v['run_again'])
    v = q.json('run', status=1)
    tap.equal(v['verdict'], 'rejected')
    tap.equal(v['body']['attribution']['suspects'][0]['owner'], 'kernel team')
    rejected = v['run']
    n, = [x for x in v['body']['decision']['numbers'] if x['name'] == 'speed']
    tap.true(0.68e9 < n['shift_e9'] < 0.71e9, n)   # ln 2
    v = q.json('accept', status=1)
    tap.equal(v['error']['code'], 'broken')
    tap.has(v['error']['message'], rejected)
    v = q.json('run', status=1)             # no second throw of the dice
    tap.equal((v['verdict'], v['already_decided']), ('rejected', True))

    v = q.json('why', rejected)
    tap.equal(sorted({r['arm'] for r in v['repetitions']}), ['accepted', 'candidate'])
    v = q.json('diff', status=1)
    tap.equal(v['material'], 1)
    tap.equal(q.json('diff', first, rejected, status=1)['lines'], v['lines'])

    v = q.json('rollback', '--dry-run')
    tap.equal([(s['component'], s['from'], s['to'], s['needed']) for s in v['steps']],
              [('kernel', '50', '100', True)])
    v = q.json('rollback')
    tap.equal((v['state'], v['still_different'], v['proof']['verdict']), ('accepted', [], 'accepted'))
    tap.equal(q.json('diff')['material'], 0)
    v = q.json('accept')
    tap.equal((v['times'], v['proven']), (2, True))
    tap.equal(q.json('check')['proven'], True)

    q.write('speed', '101\n')               # another harmless one: proven on two stacks
    tap.equal(q.json('run')['body']['decision']['verdict'], 'accepted')
    q.json('accept')
    v = q.json('verify', '--recompute')
    tap.equal((v['state'], v['recomputed']), ('intact', True))
    tap.equal([f for f in v['findings'] if f['severity'] != 'note'], [])

    kinds = q.kinds()
    tap.equal(kinds[:4], ['ledger.genesis', 'contract.set', 'stack.capture', 'run.intent'])
    tap.equal((kinds.count('contract.set'), kinds.count('key.add'), kinds.count('signoff'),
               kinds.count('drill'), kinds.count('verdict')), (1, 1, 3, 1, 5))
    for args, status in ((('check',), 0), (('why',), 0), (('diff',), 0), (('log',), 0),
                         (('log', '--all'), 0), (('show', '4'), 0), (('rollback', '--dry-run'), 0),
                         (('verify', '--recompute'), 0), (('stack',), 0),
                         (('contract', 'check'), 0)):
        q.same_text(*args, status=status)

    # One changed byte, anywhere that counts, is seen.
    for where, after in (('ledger.db', b'"verdict":"'), ('ledger.db', b'"note":"'),
                         ('ledger.db', b'BEGIN SSH SIGNATURE-----\n'), ('checkpoint', b'')):
        copy = q.path('copy')
        shutil.copytree(q.path('.twice'), copy)
        flip(os.path.join(copy, where), after)
        code, out, err = q.call('verify', copy)
        tap.true(code == 1, '%s: exit %d\n%s%s' % (where, code, out, err))
        shutil.rmtree(copy)
    blobs = [os.path.join(d, f) for d, _, fs in os.walk(q.path('.twice', 'blobs')) for f in fs]
    flip(sorted(blobs)[0])
    tap.equal(q.json('verify', status=1)['state'], 'broken')
    os.unlink(sorted(blobs)[0])
    tap.equal(q.json('verify', status=2)['state'], 'incomplete')


def test_a_run_without_its_workload_cannot_be_accepted():
    q = quick.Quick()
    tap.equal(q.json('run')['verdict'], 'accepted')
    v = q.json('run', '--layer', 'recovery', status=2)
    tap.equal(v['verdict'], 'no_result')
    tap.true(q.call('accept')[0] != 0)
    q.json('verify', '--recompute')


def test_a_layer_alone_or_a_failed_one_before_it_does_not_keep_the_workload_from_running():
    q = quick.Quick('hardware:\n  - cpus: {count: ">= 1"}\n')
    v = q.json('run', '--layer', 'workload', status=2)
    tap.equal((v['verdict'], v['body']['decision']['used']), ('no_result', 5))
    tap.equal(len(v['body']['reps']), 5)
    tap.has(json.dumps(v), 'left out by --layer')
    q.json('verify', '--recompute')
    q = quick.Quick('hardware:\n  - cpus: {count: ">= 100000"}\n')
    v = q.json('run', status=1)
    tap.equal(v['body']['reps'], [])
    v = q.json('run', '--keep-going', status=1)
    tap.equal((v['verdict'], len(v['body']['reps'])), ('rejected', 5))
    q.json('verify', '--recompute')


def test_a_changed_contract_needs_its_own_run():
    q = quick.Quick()
    q.accepted()
    with open(q.path('twice.yaml'), encoding='utf-8') as f:
        text = f.read()
    q.write('twice.yaml', text.replace('>= 10 tokens/s', '>= 11 tokens/s'))
    v = q.json('check', status=1)
    tap.equal(v['state'], 'stale')
    tap.has(' '.join(v['reasons']), 'contract ')
    code, _, err = q.call('accept')
    tap.equal(code, 1)
    tap.has(err, 'contract has changed')
    v = q.json('run', status=2)
    tap.equal(v['verdict'], 'baseline_void')
    q.json('verify', '--recompute')


def test_a_hidden_loss_on_the_accepted_stack_does_not_become_the_measure():
    q = quick.Quick()
    q.accepted()
    q.write('hidden', '2\n')                # nothing of it is in the stack
    tap.equal(q.json('check')['state'], 'accepted')
    tap.equal(q.json('run', status=1)['verdict'], 'rejected')
    for _ in range(3):
        v = q.json('run', '--new-series', 'again', status=1)
        tap.equal(v['verdict'], 'rejected')
        n, = [x for x in v['body']['decision']['numbers'] if x['name'] == 'speed']
        tap.true(n['accepted'] > 99 * 10 ** 6, n)
    q.json('verify', '--recompute')


def test_a_series_goes_on_over_several_runs():
    q = quick.Quick()
    v = q.json('run', '--reps', '2', status=2)
    tap.equal((v['verdict'], v['body']['decision']['used']), ('no_result', 2))
    tap.true(q.call('accept')[0] != 0)
    v = q.json('run')
    tap.equal((v['verdict'], v['body']['decision']['used'], len(v['body']['series'])),
              ('accepted', 5, 2))
    v = q.json('run')
    tap.equal((v['verdict'], v['already_decided']), ('accepted', True))
    v = q.json('run', '--new-series', 'the room was warm', '--reps', '3', status=2)
    tap.equal((v['body']['decision']['used'], len(v['body']['series'])), (3, 1))
    tap.equal(q.bodies('run.intent')[-4]['new_series'], 'the room was warm')
    q.json('verify', '--recompute')


def test_on_the_accepted_stack_too():
    q = quick.Quick()
    q.accepted()
    tap.equal(q.json('run', '--reps', '2', status=2)['body']['decision']['used'], 2)
    v = q.json('run')
    tap.equal((v['verdict'], v['body']['decision']['used']), ('accepted', 5))
    v = q.json('run')                       # decided in its favour: the next one is new
    tap.equal((v['verdict'], v['already_decided']), ('accepted', False))
    tap.equal(v['body']['decision']['bank'], 10)
    q.json('verify', '--recompute')


def test_an_acceptance_expires():
    q = quick.Quick()
    with open(q.path('twice.yaml'), 'a', encoding='utf-8') as f:
        f.write('expires: 90 days\n')
    q.accepted()
    tap.equal(q.json('check')['state'], 'accepted')
    later = {'TWICE_NOW_MS': str(int((time.time() + 91 * 86400) * 1000))}
    v = q.json('check', status=1, env=later)
    tap.equal(v['state'], 'expired')
    q.json('rollback', '--dry-run', status=3, env=later)


def test_rollback_says_what_it_cannot_switch():
    q = quick.Quick()
    with open(q.path('twice.yaml'), encoding='utf-8') as f:
        text = f.read()
    q.write('data', 'one\n')
    q.write('twice.yaml', text.replace('  owners:', '    data: {path: data, layer: application}\n'
                                                    '  owners:'))
    q.accepted()
    q.write('data', 'two\n')
    q.write('speed', '80\n')
    v = q.json('rollback', '--dry-run', status=1)
    tap.equal(len(v['no_switch_for']), 1)
    tap.has(v['no_switch_for'][0], 'data')
    v = q.json('rollback', status=1)
    tap.equal((v['state'], len(v['still_different'])), ('stale', 1))
    tap.true('proof' not in v)
    q.write('switch.sh', 'echo 7\n')        # a switch that does not switch
    q.write('speed', '80\n')
    v = q.json('rollback', status=1)
    tap.has(v['error']['message'], "says '7' after it was set to '100'")


tap.main(globals())
