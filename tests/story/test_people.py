# SPDX-License-Identifier: Apache-2.0
"""Who may sign, exceptions, and looking things up: the whole program, a workload of milliseconds."""
import json
import os
import pty
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import bare   # noqa: E402 pylint: disable=wrong-import-position
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

BROKEN = 'hardware:\n  - cpus: {count: ">= 100000"}\n'
WAIVE = ('--reason', 'one is broken', '--owner', 'lab', '--until')


def keygen(q, name, kind='ed25519', *more):
    """A key of a person in the folder; its path."""
    path = q.path(name)
    subprocess.run(['ssh-keygen', '-q', '-t', kind, *more, '-N', '', '-C', name, '-f', path],
                   check=True, stdin=subprocess.DEVNULL)
    return path


def people(q, *names):
    """Makes keys; the first person signs in, and adds the others."""
    paths = {n: keygen(q, n) for n in names}
    first = names[0]
    q.json('key', 'add', paths[first] + '.pub', '--holder', first, '--role', 'approver', '--role',
           'admin', '--key', paths[first], '--as', first)
    for n in names[1:]:
        q.json('key', 'add', paths[n] + '.pub', '--holder', n, '--key', paths[first])
    return paths


def later(days):
    """The environment of a program that believes so many days have passed."""
    import time
    return {'TWICE_NOW_MS': str(int(time.time() * 1000) + days * 86400000)}


def test_a_second_signer_is_added_and_signs():
    q = quick.Quick()
    k = people(q, 'jane', 'max')
    keys = q.json('key')['keys']
    tap.equal([(x['holder'], x['roles'], x['state']) for x in keys],
              [('jane', ['approver', 'admin'], 'valid'), ('max', ['approver'], 'valid')])
    q.json('run', '--as', 'jane')
    tap.equal(q.json('accept', '--key', k['max'])['in_force'], True)
    tap.equal(q.log('--kind', 'signoff')[0]['by'], 'max')
    tap.equal(q.json('verify')['state'], 'intact')
    q.same_text('key')
    q.same_text('key', 'show', 'max')


def test_who_is_not_known_or_lacks_the_role_signs_nothing():
    q = quick.Quick()
    k = people(q, 'jane', 'max')
    eve = keygen(q, 'eve')
    q.json('run')
    size = q.json('log')['size']
    code, _, err = q.call('accept', '--key', eve)
    tap.equal(code, 3)
    tap.has(err, 'is not known to this ledger')
    code, _, err = q.call('key', 'add', eve + '.pub', '--holder', 'eve', '--key', k['max'])
    tap.equal(code, 3)
    tap.has(err, "max has not the role 'admin', which 'key.add' needs")
    code, _, err = q.call('accept', '--key', k['max'], '--as', 'jane')
    tap.equal(code, 64)
    tap.has(err, "this key is that of 'max'")
    code, _, err = q.call('key', 'add', eve + '.pub', '--holder', 'eve', '--role', 'aprover',
                          '--key', k['jane'])
    tap.equal(code, 64)
    tap.has(err, "Did you mean 'approver'?")
    code, _, err = q.call('key', 'add', eve + '.pub', '--holder', 'e v e', '--key', k['jane'])
    tap.equal(code, 64)
    code, _, err = q.call('key', 'revoke', 'jane', '--reason', 'x', '--key', k['jane'])
    tap.equal(code, 3)
    tap.has(err, 'the last key that may add others')
    tap.equal(q.json('log')['size'], size)


def test_the_first_key_adds_itself_and_may_add_others():
    q = quick.Quick()
    jane, max_ = keygen(q, 'jane'), keygen(q, 'max')
    for more, what in ((('--key', max_), 'is added by itself'),
                       (('--key', jane, '--role', 'approver'), 'needs --role admin')):
        code, _, err = q.call('key', 'add', jane + '.pub', '--holder', 'jane', *more)
        tap.true(code in (3, 64), err)
        tap.has(err, what)
    tap.equal(q.json('key')['keys'], [])
    q.json('key', 'add', jane + '.pub', '--holder', 'jane', '--key', jane)
    tap.equal(q.json('key')['keys'][0]['roles'], ['approver', 'admin'])
    q.json('key', 'add', max_ + '.pub', '--holder', 'max', '--until', '2 days', '--key', jane)
    tap.equal([x['state'] for x in q.json('key', env=later(5))['keys']], ['valid', 'expired'])
    tap.equal(q.json('verify')['state'], 'intact')


def test_a_revoked_key_signs_nothing_more_and_what_it_signed_stays():
    q = quick.Quick()
    k = people(q, 'jane', 'max')
    q.json('run')
    q.json('accept', '--key', k['max'])
    q.json('key', 'revoke', 'max', '--reason', 'left', '--key', k['jane'])
    tap.equal([x['state'] for x in q.json('key')['keys']], ['valid', 'revoked'])
    code, _, err = q.call('accept', '--key', k['max'])
    tap.equal(code, 3)
    tap.has(err, 'was revoked by entry')
    tap.equal(q.json('check')['state'], 'accepted')
    tap.equal(q.json('verify')['state'], 'intact')


def test_a_key_is_replaced_and_both_are_valid_for_a_time():
    q = quick.Quick()
    k = people(q, 'jane')
    new = keygen(q, 'new')
    v = q.json('key', 'rotate', 'jane', new + '.pub', '--key', k['jane'], '--overlap', '2 days')
    tap.equal((v['holder'], v['in_force']), ('jane', True))
    q.json('run')
    tap.equal(q.json('accept', '--key', k['jane'])['in_force'], True)
    tap.equal(q.json('accept', '--key', new)['in_force'], True)
    code, _, err = q.call('accept', '--key', k['jane'], env=later(3))
    tap.equal(code, 3)
    tap.has(err, 'is not valid now')
    tap.equal(q.json('accept', '--key', new, env=later(3))['in_force'], True)
    tap.equal([x['state'] for x in q.json('key', env=later(3))['keys']], ['expired', 'valid'])
    tap.equal(q.json('verify')['state'], 'intact')


def test_what_a_key_signed_before_its_end_is_checked_without_twice():
    q = quick.Quick()
    past = later(-10)
    jane, new = keygen(q, 'jane'), keygen(q, 'new')
    q.json('key', 'add', jane + '.pub', '--holder', 'jane', '--key', jane, env=past)
    q.json('run', env=past)
    q.json('key', 'rotate', 'jane', new + '.pub', '--key', jane, '--overlap', '2 days', env=past)
    q.json('accept', '--key', jane, env=past)
    q.json('accept', '--key', new)
    q.json('export', '--format', 'folder')
    done = bare.loop(q.path('twice-export'))
    tap.equal((done.returncode, done.stdout.count('Good "signoff@twice" signature for jane')), (0, 5))
    tap.equal(q.json('verify', q.path('twice-export'))['state'], 'intact')


def test_two_people_and_not_the_one_who_ran_it():
    q = quick.Quick()
    v = q.json('key', 'policy', '--holders', '2', '--no-self-approval')
    tap.equal((v['made'], v['policy']['signoff']['holders']), (True, 2))
    code, _, err = q.call('key', 'policy', '--holders', '1')
    tap.equal(code, 3)
    tap.has(err, 'has its policy already')
    k = people(q, 'jane', 'max', 'kim')
    q.json('run', '--as', 'jane')
    tap.equal(q.bodies('verdict')[0]['run_by'], 'jane')
    v = q.json('accept', '--key', k['jane'], status=2)
    tap.has(v['why'], 'jane may not approve what is their own')
    tap.equal(q.json('check', status=1)['state'], 'never accepted')
    v = q.json('accept', '--key', k['max'], status=2)
    tap.has(v['why'], 'signed by 1 of 2')
    seq = v['seq']
    tap.equal(q.json('verify', status=1)['findings'][0]['code'], 'POLICY')
    v = q.json('accept', '--key', k['kim'])
    tap.equal((v['seq'], v['in_force']), (seq, True))     # the same entry, signed twice
    tap.equal(len(q.json('show', str(seq))['signatures']), 2)
    tap.equal(q.json('check')['state'], 'accepted')
    code, _, err = q.call('accept', '--key', k['kim'])
    tap.equal(code, 2)                                    # a new sign-off, pending again


def test_a_waived_check_stops_nothing_until_the_waiver_ends():
    q = quick.Quick(BROKEN)
    k = people(q, 'jane')
    tap.equal(q.json('run', status=1)['verdict'], 'rejected')
    q.json('waive', 'hardware/cpus', *WAIVE, '2 days', '--key', k['jane'])
    v = q.json('run')
    tap.equal(v['verdict'], 'accepted_with_note')
    tap.has(json.dumps(v['body']['decision']['notes']), 'waived until')
    tap.equal(len(v['body']['waivers']), 1)
    a = q.json('accept', '--key', k['jane'])
    tap.equal(a['waivers'][0]['subject'], 'hardware/cpus')
    c = q.json('check')
    tap.equal((c['state'], c['waivers'][0]['reason']), ('accepted', 'one is broken'))
    _, out, _ = q.call('check')
    tap.has(out, 'waiver: hardware/cpus until')
    c = q.json('check', status=1, env=later(3))
    tap.equal(c['state'], 'expired')
    tap.has(c['reasons'][0], 'the waiver of hardware/cpus ends')
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')
    tap.equal(q.json('run', status=1, env=later(3))['verdict'], 'rejected')
    q.same_text('waive', 'list')


def test_a_lowered_limit_is_a_waiver_with_an_end():
    q = quick.Quick()
    k = people(q, 'jane')
    q.write('speed', '9\n')
    tap.equal(q.json('run', status=1)['verdict'], 'rejected')
    for bad, what in ((('--limit', '>= 12 tokens/s'), 'no looser'), ((), 'to which limit'),
                      (('--limit', '<= 8 tokens/s'), "begins with '>='")):
        code, _, err = q.call('waive', 'speed', *WAIVE, '2 days', *bad, '--key', k['jane'])
        tap.true(code in (3, 64), err)
        tap.has(err, what)
    for missing in ('--reason', '--owner', '--until'):
        args = ['--reason', 'r', '--owner', 'o', '--until', '2 days', '--limit', '>= 8 tokens/s']
        at = args.index(missing)
        code, _, err = q.call('waive', 'speed', *args[:at], *args[at + 2:], '--key', k['jane'])
        tap.equal(code, 64)
        tap.has(err, 'a waiver needs %s' % missing)
    code, _, err = q.call('waive', 'speed', *WAIVE, '2020-01-01', '--key', k['jane'])
    tap.equal(code, 64)
    tap.has(err, 'is over already')
    w = q.json('waive', 'speed', '--limit', '>= 8 tokens/s', *WAIVE, '2 days', '--key', k['jane'])
    v = q.json('run', '--new-series', 'waived')
    tap.equal(v['verdict'], 'accepted_with_note')
    tap.has(json.dumps(v['body']['decision']['notes']), '>= 8 tokens/s instead of >= 10 tokens/s')
    q.json('accept', '--key', k['jane'])
    tap.equal(q.json('check')['state'], 'accepted')
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')
    q.json('waive', 'revoke', str(w['seq']), '--reason', 'fixed', '--key', k['jane'])
    c = q.json('check', status=1)
    tap.equal(c['state'], 'expired')
    tap.has(c['reasons'][0], 'was taken back')
    code, _, err = q.call('accept', '--key', k['jane'])
    tap.equal(code, 1)
    tap.has(err, 'a waiver that run')
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')


def test_a_waiver_that_too_few_signed_does_nothing():
    q = quick.Quick(BROKEN)
    q.json('key', 'policy', '--holders', '2')
    k = people(q, 'jane', 'max')
    w = q.json('waive', 'hardware/cpus', *WAIVE, '2 days', '--key', k['jane'], status=2)
    tap.equal(q.json('waive')['waivers'][0]['state'], 'pending')
    tap.equal(q.json('run', status=1)['verdict'], 'rejected')
    q.json('waive', 'sign', str(w['seq']), '--key', k['max'])
    tap.equal(q.json('waive')['waivers'][0]['state'], 'in force')
    tap.equal(q.json('run')['verdict'], 'accepted_with_note')


def elsewhere(q, *args):
    """(exit code, JSON) of the program on a machine of another name: another session."""
    line = 'hostname elsewhere && exec "$@"'
    p = subprocess.run(['unshare', '--user', '--map-root-user', '--uts', 'sh', '-c', line, 'sh', quick.BIN,
                        *args, '--json'], cwd=q.dir, env=q.env(), capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, check=False)
    return p.returncode, json.loads(p.stdout)


def test_a_changed_session_can_be_waived_and_is_named():
    if subprocess.run(['unshare', '--user', '--map-root-user', '--uts', 'hostname', 'elsewhere'],
                      capture_output=True, check=False).returncode:
        tap.skip('no other host name can be had here')
    q = quick.Quick()
    q.accepted()
    q.write('speed', '101\n')
    code, v = elsewhere(q, 'run')
    tap.equal((code, v['verdict']), (2, 'inconclusive'))
    tap.true('sessions_not_spread' in [r['code'] for r in v['body']['decision']['reasons']], v)
    q.json('waive', 'sessions', *WAIVE, '30 days')
    code, v = elsewhere(q, 'run')
    tap.equal((code, v['verdict']), (0, 'accepted_with_note'))
    tap.true('sessions' in json.dumps(v['body']['decision']['notes']), v)
    tap.equal(len(v['body']['waivers']), 1)
    q.json('verify', '--recompute')


def test_a_waived_pin_is_told():
    q = quick.Quick()
    with open(q.path('twice.yaml'), encoding='utf-8') as f:
        text = f.read()
    q.write('twice.yaml', text.replace('stack:\n', 'stack:\n  pins: {python: "=0.1"}\n'))
    k = people(q, 'jane')
    q.json('run')
    q.json('accept', '--key', k['jane'])
    c = q.json('check')['pins'] if not q.call('check')[0] else q.json('check', status=q.call(
        'check')[0])['pins']
    if c[0]['kind'] != 'violated':
        tap.skip('no python in this stack')
    q.json('waive', 'pin/python', *WAIVE, '2 days', '--key', k['jane'])
    c = q.json('check')
    tap.has(c['pins'][0]['waived'], 'one is broken')


def seqs(q, *args):
    return [e['seq'] for e in q.json('log', *args)['entries']]


def test_the_log_is_looked_through():
    q = quick.Quick()
    q.accepted(100)
    q.write('speed', '50\n')
    q.json('run', status=1)
    q.json('waive', 'speed', '--limit', '>= 8 tokens/s', '--reason', 'r', '--owner', 'fans',
           '--until', '2 days')
    everything = seqs(q)
    tap.equal(len(seqs(q, '--verdict', 'rejected')), 1)
    tap.equal(len(seqs(q, '--verdict', 'accepted')), 1)
    tap.equal(q.json('log', '--owner', 'fans')['entries'][0]['kind'], 'waiver')
    tap.equal(seqs(q, '--owner', 'nobody'), [])
    tap.true(q.json('log', '--owner', 'kernel team')['entries'])
    # what saw it change; what ran with it
    tap.equal([e['kind'] for e in q.json('log', '--component', 'kernel')['entries']], ['verdict'])
    tap.equal(seqs(q, '--component', 'kernellib/kernel'), seqs(q, '--component', 'kernel'))
    tap.equal(seqs(q, '--component', 'no-such'), [])
    all_runs = seqs(q, '--component', 'kernel=*')
    tap.equal(len(all_runs), 5)   # 2 intents, 2 verdicts, 1 sign-off
    tap.equal(seqs(q, '--component', 'kernel=99'), [])
    tap.equal(seqs(q, '--since', '1 h'), everything)
    tap.equal(seqs(q, '--until', '1 h'), [])
    tap.equal(seqs(q, '--since', '2020-01-01', '--until', '2020-12-31'), [])
    tap.equal(seqs(q, '--workload', 'other'), [])
    tap.equal([e['kind'] for e in q.json('log', '--by', 'nobody')['entries']], [])
    code, _, err = q.call('log', '--since', 'soon')
    tap.equal(code, 64)
    tap.has(err, "--since: 'soon' is no time")


def test_the_log_comes_in_pages():
    q = quick.Quick()
    q.accepted(100)
    everything, got, before = seqs(q, '--all', '--limit', '0'), [], 0
    while True:
        v = q.json('log', '--all', '--limit', '4', '--before', str(before))
        got += [e['seq'] for e in v['entries']]
        if not v['more']:
            break
        before = v['next']
    tap.equal(got, everything)
    _, out, _ = q.call('log', '--limit', '2')
    tap.has(out, '... more with --before')


def on_terminal(q, *args, rows=5, pager='sed s/^/paged:/', answer=''):
    """What twice prints on a terminal."""
    import fcntl
    import struct
    import termios
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(q.dir)
        os.execve(quick.BIN, [quick.BIN, *args], q.env({'PAGER': pager, 'TERM': 'dumb'}))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, 100, 0, 0))
    if answer:
        os.write(fd, answer.encode())
    out = b''
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode().replace('\r\n', '\n')


def test_a_pager_only_on_a_terminal_and_only_when_it_is_long():
    q = quick.Quick()
    q.accepted(100)
    env = {'PAGER': 'sed s/^/paged:/'}
    _, plain, _ = q.call('log', '--all', '--limit', '0', env=env)
    tap.true('paged:' not in plain)
    code, out = on_terminal(q, 'log', '--all', '--limit', '0')
    tap.equal(code, 0)
    tap.equal(out.replace('paged:', ''), plain)
    tap.equal(out.count('paged:'), plain.count('\n'))
    tap.equal(on_terminal(q, 'log', '--all', '--limit', '0', rows=500)[1], plain)
    tap.equal(on_terminal(q, 'log', '--all', '--limit', '0', pager='no-such-pager')[1].split('\n')[-2],
              plain.split('\n')[-2])


def test_accept_shows_what_is_signed_and_asks():
    q = quick.Quick()
    q.accepted(100)
    q.write('speed', '101\n')
    q.json('run')
    code, out = on_terminal(q, 'accept', answer='n\n')
    tap.equal(code, 2)
    for part in ('quick: accepted', 'last accepted: run', 'since then: kernellib kernel',
                 'sign this as accepted? [y/N]', 'not signed'):
        tap.has(out, part)
    tap.equal(len(q.log('--kind', 'signoff')), 1)
    code, out = on_terminal(q, 'accept', '--quiet', answer='y\n')
    tap.equal(code, 0)
    tap.has(out, 'since then: kernellib kernel')
    tap.equal(len(q.log('--kind', 'signoff')), 2)
    _, out, err = q.call('accept')   # no terminal: shown, not asked
    tap.has(err, 'no change of the stack that matters')
    tap.true('[y/N]' not in err)


def test_every_kind_of_key_signs_and_ssh_keygen_agrees():
    q = quick.Quick()
    k = people(q, 'jane')
    q.json('run')
    kinds = (('ed25519',), ('ecdsa', '-b', '256'), ('ecdsa', '-b', '384'), ('ecdsa', '-b', '521'),
             ('rsa', '-b', '3072'))
    agent = subprocess.run(['ssh-agent', '-s'], capture_output=True, text=True, check=True,
                           stdin=subprocess.DEVNULL).stdout
    sock, pid = agent.split('=')[1].split(';')[0], int(agent.split('PID=')[1].split(';')[0])
    try:
        for number, kind in enumerate(kinds):
            for way in ('file', 'agent'):
                name = '%s-%d' % (way, number)
                path, env = keygen(q, name, *kind), None
                q.json('key', 'add', path + '.pub', '--holder', name, '--key', k['jane'])
                if way == 'agent':   # the private key is only there
                    subprocess.run(['ssh-add', '-q', path], check=True, stdin=subprocess.DEVNULL,
                                   env={**os.environ, 'SSH_AUTH_SOCK': sock})
                    os.unlink(path)
                    path, env = path + '.pub', {'SSH_AUTH_SOCK': sock}
                v = q.json('accept', '--key', path, env=env)
                tap.equal((name, v['in_force']), (name, True))
                keygen_agrees(q, v['seq'], name)
    finally:
        os.kill(pid, 15)
    tap.equal(q.json('verify')['state'], 'intact')


def keygen_agrees(q, seq, holder):
    """ssh-keygen on the bytes and the signature that the ledger keeps."""
    import sqlite3
    db = sqlite3.connect('file:%s?mode=ro' % q.path('.twice', 'ledger.db'), uri=True)
    entry, sig = db.execute('SELECT bytes, sig FROM entry JOIN signature USING (leaf) '
                            'WHERE seq = ?', (seq,)).fetchone()
    db.close()
    q.write('allowed', q.json('key', 'show', holder)['allowed_signers'])
    with open(q.path('sig'), 'wb') as f:
        f.write(sig)
    argv = ['ssh-keygen', '-Y', 'verify', '-f', q.path('allowed'), '-I', holder, '-n',
            'signoff@twice', '-s', q.path('sig')]
    good = subprocess.run(argv, input=entry, capture_output=True, check=False)
    tap.equal((good.returncode, good.stderr), (0, b''))
    bad = subprocess.run(argv, input=entry + b' ', capture_output=True, check=False)
    tap.true(bad.returncode != 0)


tap.main(globals())
