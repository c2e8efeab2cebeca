# SPDX-License-Identifier: Apache-2.0
"""Looking after a ledger: copies, retention, corrections, and a new one after a broken one."""
import base64
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

# What the workload says is kept as evidence; so is a file of its own.
WORK = quick.WORK + 'echo "a line of run $n"\n'
WHY = ('--reason', 'a test')


def days(n):
    return {'TWICE_NOW_MS': str(int(time.time() * 1000) + n * 86400000)}


def evidence(q, run):
    """Digests of all that the repetitions of a run left."""
    return {e['digest'] for b in q.bodies('run.result') if b['run'] == run
            for e in b.get('evidence', [])}


def test_status_tells_what_there_is():
    q = quick.Quick()
    q.json('ledger', status=3)
    q.accepted()
    v = q.json('ledger')
    tap.equal((v['action'], v['store'], v['withheld'], v['expired'], v['waiting']),
              ('status', 'sqlite', 0, 0, False))
    tap.equal(v['entries'], len(q.kinds()))
    note = open(q.path('.twice', 'checkpoint'), encoding='utf-8').read().split('\n')
    tap.equal((note[0], note[1], note[2]), (v['origin'], str(v['entries']),
                                            base64.b64encode(bytes.fromhex(v['root'])).decode()))
    tap.true(v['evidence'] > 2 and v['evidence_bytes'] > 100, v)
    q.same_text('ledger')
    q.same_text('ledger', 'status')


def test_a_copy_has_the_same_root_and_life_goes_on_there():
    q = quick.Quick()
    q.accepted()
    v = q.json('ledger', 'copy', q.path('there', 'copy'))
    tap.equal(v['root'], q.json('ledger')['root'])
    tap.equal(q.json('verify', q.path('there', 'copy'), '--recompute')['state'], 'intact')
    q.json('ledger', 'copy', q.path('there', 'copy'), status=74)   # not onto one that is there
    there = ('--ledger', q.path('there', 'copy'))
    tap.equal(q.json('check', *there)['state'], 'accepted')
    q.write('speed', '101\n')
    q.json('run', *there)
    tap.equal(q.json('verify', *there)['state'], 'intact')
    # A fork is found when the other's checkpoint is held against it.
    q.json('run')
    cp = q.path('there', 'copy', 'checkpoint')
    tap.equal(q.json('verify', '--anchor', cp, status=1)['state'], 'broken')


def test_evidence_is_withheld_and_the_log_says_who_took_it():
    q = quick.Quick()
    q.write('work.sh', WORK)
    q.accepted()
    run = q.json('check')['accepted']['run']
    digest = sorted(evidence(q, run))[0]
    path = [os.path.join(d, f) for d, _, files in os.walk(q.path('.twice', 'blobs')) for f in files
            if digest[2:20] in f]
    tap.equal(len(path), 1)
    tap.equal(q.json('ledger', 'withhold', digest, status=64)['error']['code'], 'usage')
    q.json('ledger', 'withhold', digest[:6], *WHY, status=64)
    q.json('ledger', 'withhold', '0' * 64, *WHY, status=65)
    v = q.json('ledger', 'withhold', digest[:20], *WHY, '--as', 'jane')
    tap.equal((v['digest'], v['gone'], v['signed_run']), (digest, 1, True))
    tap.true(not os.path.exists(path[0]))
    q.json('ledger', 'withhold', digest, *WHY, status=3)           # gone already
    said = q.json('show', digest, status=65)['error']['message']
    tap.has(said, 'withheld')
    tap.has(said, 'a test')
    tap.equal(q.log('--kind', 'evidence.state')[0]['by'], 'jane')
    v = q.json('verify', '--recompute')
    tap.equal(v['state'], 'intact')
    tap.equal([f['severity'] for f in q.json('verify', '--all')['findings']], ['note'])
    tap.equal(q.json('ledger')['withheld'], 1)
    # What decisions rest on stays.
    for kind, member in (('contract.set', 'source'), ('stack.capture', 'components')):
        b = q.bodies(kind)[0][member]['digest']
        tap.equal(q.json('ledger', 'withhold', b, *WHY, status=3)['error']['code'], 'unsupported')


def test_old_evidence_expires_but_not_that_of_signed_runs():
    q = quick.Quick()
    q.write('work.sh', WORK)
    q.accepted()
    signed = q.json('check')['accepted']['run']
    q.write('speed', '50\n')
    rejected = q.json('run', status=1)['run']
    old = evidence(q, rejected) - evidence(q, signed)
    tap.true(old)
    q.json('ledger', 'expire', *WHY, status=64)
    q.json('ledger', 'expire', '--older-than', '30 days', status=64)
    tap.equal(q.json('ledger', 'expire', '--older-than', '30 days', *WHY)['gone'], 0)   # young
    ask = ('ledger', 'expire', '--older-than', '30 days')
    v = q.json(*ask, '--dry-run', env=days(40))
    tap.equal((set(v['digests']), v['dry_run']), (old, True))
    tap.true(v['kept'] > 0)
    tap.equal(q.json('ledger')['expired'], 0)
    v = q.json(*ask, *WHY, env=days(40))
    tap.equal((v['gone'], set(v['digests'])), (len(old), old))
    tap.equal(q.json(*ask, *WHY, env=days(40))['gone'], 0)
    v = q.json('verify', '--recompute')
    tap.equal(v['state'], 'intact')
    for d in evidence(q, signed):
        q.call('show', d, '--out', q.path('out'), status=0)
    q.write('speed', '100\n')
    tap.equal(q.json('check')['state'], 'accepted')


def test_a_correction_is_signed_and_shown_with_what_it_corrects():
    q = quick.Quick()
    q.accepted()
    size = q.json('ledger')['entries']
    seq = q.log('--kind', 'run.result', '--all')[0]['seq']
    tap.equal(q.json('ledger', 'correct', str(seq), status=64)['error']['code'], 'usage')
    q.json('ledger', 'correct', '100000', *WHY, status=65)
    v = q.json('ledger', 'correct', str(seq), '--reason', 'it ran on node9')
    tap.equal((v['corrects'], v['in_force'], v['seq']), (seq, True, size))
    shown = q.json('show', str(seq))
    tap.equal([(c['seq'], c['reason']) for c in shown['corrections']], [(size, 'it ran on node9')])
    tap.equal(q.json('show', str(size))['signatures'][0]['scheme'], 'sshsig')
    tap.has(q.log('--kind', 'correction')[0]['summary'], 'it ran on node9')
    q.same_text('show', str(seq))
    tap.equal(q.json('verify')['state'], 'intact')


def test_a_broken_ledger_is_put_aside_and_a_new_one_names_it():
    q = quick.Quick()
    q.json('ledger', 'anew', *WHY, status=65)
    q.accepted()
    root = q.json('ledger')['root']
    q.json('ledger', 'anew', status=64)
    os.unlink(q.path('.twice', 'ledger.db'))
    for more in ('-wal', '-shm'):
        if os.path.exists(q.path('.twice', 'ledger.db' + more)):
            os.unlink(q.path('.twice', 'ledger.db' + more))
    tap.true(q.call('verify')[0] != 0)
    v = q.json('ledger', 'anew', *WHY, status=3)                   # which policy?
    tap.has(v['error']['message'], 'policy')
    q.write('policy.json', '{"signoff": {"holders": 1, "role": "approver"}}')
    v = q.json('ledger', 'anew', *WHY, '--policy', q.path('policy.json'))
    tap.equal(v['old_root'], root)
    tap.true(os.path.exists(os.path.join(v['aside'], 'checkpoint')))
    tap.equal(q.entry(0)['body']['old_root'], root)
    tap.equal(q.json('verify')['state'], 'intact')
    tap.equal(q.json('check', status=1)['state'], 'never accepted')
    q.accepted()
    tap.equal(q.json('check')['state'], 'accepted')
    # One that can be read gives its policy to the next.
    v = q.json('ledger', 'anew', *WHY)
    tap.equal(q.entry(0)['body']['policy'], {'signoff': {'holders': 1, 'role': 'approver'}})
    shutil.rmtree(v['aside'])


def test_wrong_words_are_told():
    q = quick.Quick()
    q.accepted()
    tap.has(q.json('ledger', 'cpoy', status=64)['error']['hint'], 'copy')
    q.json('ledger', 'copy', status=64)
    q.json('ledger', 'status', 'x', status=64)
    q.json('ledger', 'copy', '/proc/none/there', status=74)


tap.main(globals())
