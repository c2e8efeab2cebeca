# SPDX-License-Identifier: Apache-2.0
"""A run that is broken off: by Ctrl-C, by kill -9 at any moment, by a second one beside it. The
ledger stays whole, nothing is left running, and the next run goes on."""
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

KILLS = int(os.environ.get('TWICE_TEST_KILLS', '20'))


def interrupt_in_repetition(q, number, sig=signal.SIGINT):
    """Starts a run, waits until its repetition works, sends the signal. (exit code, value)"""
    q.write('slow', '30\n')
    p = q.start('run', '--json')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    p.send_signal(sig)
    out, err = p.communicate(timeout=60)
    q.remove('started')
    q.remove('slow')
    quick.no_process_left(q.dir)
    tap.true(p.returncode == 2, 'interrupt %d: exit %d\n%s%s' % (number, p.returncode, out, err))
    return quick.json.loads(out)


def test_ctrl_c_in_a_repetition():
    q = quick.Quick()
    tap.equal(q.json('run', '--reps', '2', status=2)['body']['decision']['used'], 2)
    v = interrupt_in_repetition(q, 1)
    tap.equal((v['interrupted'], v['exit'], 'verdict' in v), (True, 2, False))
    ends = [b for b in q.bodies('run.result') if b['scope'] == 'run']
    tap.equal(ends[-1]['state'], 'interrupted')
    tap.equal(len(q.bodies('run.abandon')), 1)      # the repetition that was going on
    tap.equal(q.json('verify')['state'], 'intact')
    tap.true(q.call('accept')[0] != 0)
    v = q.json('run')
    tap.equal((v['verdict'], len(v['body']['series']), len(v['body']['reps'])),
              ('accepted_with_note', 3, 6))
    tap.equal(v['body']['decision']['used'], 5)
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')


def test_sigterm_is_the_same():
    q = quick.Quick()
    tap.true(interrupt_in_repetition(q, 1, signal.SIGTERM)['interrupted'])
    tap.equal(q.json('verify')['state'], 'intact')


def test_nobody_picks_repetitions_by_ctrl_c():
    q = quick.Quick()
    for number in range(3):
        interrupt_in_repetition(q, number)
    v = q.json('run', '--reps', '5', status=None)
    states = [r['state'] for r in (q.entry(x['digest'])['body'] for x in v['body']['reps'])
              if 'state' in r]
    tap.equal(states.count('ok'), len(states))
    text = ' '.join(r['text'] if isinstance(r, dict) else r for r in
                    v['body']['decision']['reasons'] + v['body']['decision']['notes'])
    tap.has(text, 'interrupted')
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')


def test_ctrl_c_in_a_check():
    q = quick.Quick('hardware:\n  - command: {argv: [sh, -c, "touch started; sleep 30"], '
                    'extract: [{metric: n, exit: true, better: lower, limit: "= 0"}]}\n')
    v = interrupt_in_repetition(q, 1)
    tap.true(v['interrupted'])
    tap.equal(q.json('verify')['state'], 'intact')


def test_ctrl_c_ends_a_job_that_ignores_it():
    q = quick.Quick()
    q.write('work.sh', 'trap "" INT TERM\ntouch started\nsleep 30 & sleep 30\nsleep 30\n')
    p = q.start('run', '--json')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60)
    tap.equal(p.returncode, 2)
    quick.no_process_left(q.dir)


def kill_at(q, after_s, *args):
    p = q.start('run', *args)
    try:
        p.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.kill(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.communicate()
    quick.no_process_left(q.dir)


def test_kill_9_at_any_moment():
    """The ledger opens, is never broken, and the next run closes what was left and goes on."""
    seed = int(os.environ.get('TWICE_TEST_SEED', '1'))
    moments = random.Random(seed)
    q = quick.Quick()
    start = time.monotonic()
    q.json('run', '--reps', '3', status=None)
    whole = time.monotonic() - start
    for number in range(KILLS):
        # A new series now and then, so that there are repetitions to be made.
        after = moments.uniform(0, whole)
        kill_at(q, after, *(['--new-series', 'kill'] if number % 3 == 0 else []))
        code, out, err = q.call('verify')
        tap.true(code in (0, 2), 'kill %d after %.3f s (seed %d): verify %d\n%s%s' % (
            number, after, seed, code, out, err))
    v = q.json('run', '--new-series', 'after the kills')
    tap.equal((v['verdict'], v['body']['decision']['used']), ('accepted', 5))
    v = q.json('verify', '--recompute')
    tap.equal(v['state'], 'intact')
    tap.equal([f for f in v['findings'] if f['code'] == 'UNFINISHED'], [])
    q.json('accept')
    tap.equal(q.json('check')['state'], 'accepted')


def test_kill_9_of_the_first_run_ever():
    q = quick.Quick()
    moments = random.Random(int(os.environ.get('TWICE_TEST_SEED', '2')))
    for number in range(KILLS // 2):
        kill_at(q, moments.uniform(0, 0.25))
        code, out, err = q.call('verify')
        tap.true(code in (0, 2, 3), 'kill %d: verify %d\n%s%s' % (number, code, out, err))
        if number % 2:
            shutil.rmtree(q.path('.twice'), ignore_errors=True)
    tap.equal(q.json('run', '--new-series', 'after')['verdict'], 'accepted')


def test_killed_in_a_repetition_and_gone_on():
    q = quick.Quick()
    q.json('run', '--reps', '2', status=2)
    q.write('slow', '30\n')
    p = q.start('run')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    os.kill(p.pid, signal.SIGKILL)
    p.communicate()
    quick.no_process_left(q.dir)
    v = q.json('verify', status=2)
    tap.equal({f['code'] for f in v['findings'] if f['severity'] != 'note'}, {'UNFINISHED'})
    q.remove('slow')
    v = q.json('run')
    tap.equal((v['verdict'], len(v['body']['reps']), v['body']['decision']['used']),
              ('accepted_with_note', 6, 5))
    tap.equal(len(q.bodies('run.abandon')), 2)      # the repetition and its run
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')


def test_two_runs_at_once_both_land():
    q = quick.Quick()
    both = [q.start('run', '--json') for _ in range(2)]
    values = []
    for p in both:
        out, err = p.communicate(timeout=120)
        tap.true(p.returncode == 0, 'exit %d\n%s%s' % (p.returncode, out, err))
        values.append(quick.json.loads(out))
    tap.true(values[0]['run'] != values[1]['run'])
    tap.equal([v['verdict'] for v in values], ['accepted', 'accepted'])
    # One measured, the other waited for it and found the question answered.
    tap.equal(sorted(v['already_decided'] for v in values), [False, True])
    tap.equal(len(q.bodies('verdict')), 2)
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')


def test_a_waiting_run_can_be_interrupted():
    q = quick.Quick()
    q.write('slow', '30\n')
    first = q.start('run', '--json')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    second = q.start('run', '--json')
    line = second.stderr.readline()
    tap.has(line, 'waiting')
    second.send_signal(signal.SIGINT)
    out, _ = second.communicate(timeout=30)
    tap.equal((second.returncode, quick.json.loads(out)['error']['code']), (2, 'interrupted'))
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    tap.equal(first.returncode, 2)
    quick.no_process_left(q.dir)
    tap.equal(q.json('verify')['state'], 'intact')


def test_no_files_left_is_no_failure_of_the_workload():
    q = quick.Quick()
    q.accepted()
    before = len(q.bodies('verdict'))
    for most in range(6, 20):
        p = subprocess.run(['/bin/sh', '-c', 'ulimit -n %d; exec "$0" run' % most, quick.BIN],
                           cwd=q.dir, env=q.env(), stdin=subprocess.DEVNULL, check=False,
                           capture_output=True, text=True, timeout=120)
        # Too few even for the loader (127), or for the run, or enough.
        tap.true(p.returncode in (0, 2, 74, 127), 'ulimit -n %d: exit %d\n%s%s' % (
            most, p.returncode, p.stdout, p.stderr))
    tap.true('rejected' not in [b['decision']['verdict'] for b in q.bodies('verdict')[:-before]])
    tap.true('failed' not in [b.get('state') for b in q.bodies('run.result')])
    tap.equal(q.json('verify')['state'], 'intact')


def test_evidence_drives_no_terminal():
    q = quick.Quick()
    result = {'schema': 'twice.show/1', 'command': 'show', 'exit': 0, 'content': 'a\x1b[31mb\nc\n'}
    q.write('v', quick.json.dumps(result))
    tap.equal(q.call('show', '--render', 'v', status=0)[1], result['content'])
    ours, theirs = pty.openpty()
    with subprocess.Popen([quick.BIN, 'show', '--render', 'v'], cwd=q.dir, env=q.env(),
                          stdin=subprocess.DEVNULL, stdout=theirs) as p:
        tap.equal(p.wait(timeout=30), 0)
    os.close(theirs)
    tap.equal(os.read(ours, 1000).decode(), 'a?[31mb\r\nc\r\n')
    os.close(ours)


def test_what_is_signed_is_shown_in_its_own_order():
    q = quick.Quick()
    q.accepted()
    q.write('k.pub', 'ssh-ed25519 '
            'AAAAC3NzaC1lZDI1NTE5AAAAIMhR4K0drVOX7LkaSg7dpvZ2hAwK0NY//7aoAJgfR1Jy\n')
    _, _, err = q.call('key', 'add', 'k.pub', '--holder', 'a\u202eb', '--yes')
    tap.has(err, '"holder": "a?b"')
    tap.true('\u202e' not in err)


tap.main(globals())
