# SPDX-License-Identifier: Apache-2.0
"""The program on a disk that fails: every nth call that changes a file, limits on file sizes, a small
file system that is full. It ends with 74 or has done what it said; nothing else is lost or half
there; and it works again when there is room."""
import os
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

SHIM = os.environ.get('TWICE_FAULTS', '')
STEP = int(os.environ.get('TWICE_FAULT_STEP', '1'))


def preload(more):
    """Sanitizers want to be the first library; they have their own runs."""
    if not SHIM or os.environ.get('ASAN_OPTIONS'):
        tap.skip('no library to put in front')
    return {'LD_PRELOAD': SHIM, **more}


def every_call(kind, args, kinds):
    q = quick.Quick()
    q.json('run')
    q.call('accept')
    shutil.copytree(q.path('.twice'), q.path('kept'))
    before, nth, codes = q.json('log')['size'], 1, {}
    while True:
        told = q.path('told')
        code, out, err = q.call(*args, env=preload({
            'TWICE_FAULT_NTH': str(nth), 'TWICE_FAULT_KIND': kind, 'TWICE_FAULT_TOLD': told}))
        if not os.path.exists(told):
            tap.equal(code, 0)
            break
        os.unlink(told)
        codes[code] = codes.get(code, 0) + 1
        tap.true(code in (0, 74), 'call %d fails with %s: exit %d\n%s%s' % (nth, kind, code, out,
                                                                           err))
        tap.equal(q.json('verify')['state'], 'intact')
        new = [e['kind'] for e in q.log() if e['seq'] >= before]
        tap.true(new in ([], kinds), 'call %d: %s' % (nth, new))
        tap.true(code != 0 or new == kinds, 'said done, and is not')
        q.call(*args, status=0)           # it goes on where it is
        shutil.rmtree(q.path('.twice'))
        shutil.copytree(q.path('kept'), q.path('.twice'))
        nth += STEP
    print('# twice %s, %s at each of %d calls: %s' % (args[0], kind, nth - 1, ', '.join(
        '%d times exit %d' % (n, c) for c, n in sorted(codes.items()))))
    tap.true(nth > 5, 'only %d calls' % nth)


def test_accept_with_eio():
    every_call('EIO', ('accept',), ['signoff'])


def test_accept_with_enospc():
    every_call('ENOSPC', ('accept',), ['signoff'])


def test_accept_with_eintr():
    every_call('EINTR', ('accept',), ['signoff'])


def test_accept_with_short_writes():
    every_call('short', ('accept',), ['signoff'])


def test_a_waiver_with_eio():
    every_call('EIO', ('waive', 'speed', '--limit', '>= 8 tokens/s', '--reason', 'r', '--owner', 'o',
                       '--until', '2 days'), ['waiver'])


def full(q, limit_bytes, *args):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))
    p = subprocess.run([quick.BIN, *args], cwd=q.dir, env=q.env(), stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, preexec_fn=limit, check=False, timeout=120)
    return p.returncode, p.stderr


def test_a_limit_on_file_sizes_is_exit_74():
    q = quick.Quick()
    q.accepted(100)
    q.json('run')
    seen, size = set(), q.json('log')['size']
    for limit in (1, 4096, 20000, 60000, 100000):
        for args in (('accept',), ('run',)):
            code, err = full(q, limit, *args)
            seen.add(code)
            tap.true(code in (0, 74), 'limit %d, twice %s: exit %d\n%s' % (limit, args[0], code, err))
            tap.true(code == 0 or err.strip(), 'no word')
            tap.equal(q.json('verify', status=None)['state'] != 'broken', True)
            now = q.json('log')['size']
            tap.true(now >= size)
            size = now
    tap.true(74 in seen)
    q.json('run')
    q.json('accept')
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')
    print('# limits on file sizes from 1 byte to 100 kB: exit 74 or done, then it goes on')


def test_a_full_small_file_system_is_exit_74():
    where = tap.folder()
    done = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', where],
                          capture_output=True, check=False)
    if done.returncode:
        tap.skip('no right to mount a file system here')
    try:
        fill_up(where)
    finally:
        subprocess.run(['umount', where], check=True)


def fill_up(where):
    q = quick.Quick(folder=where)
    q.accepted(100)
    size, codes, ballast = q.json('log')['size'], [], q.path('ballast')
    with open(ballast, 'wb') as f:   # leaves room for a few entries
        room = os.statvfs(where)
        f.write(b'x' * (room.f_bavail * room.f_bsize - 150000))
    while not codes or codes[-1] != 74:
        codes.append(q.call('run', '--reps', '1', '--new-series', 'x', env={'TMPDIR': '/tmp'})[0])
        tap.true(codes[-1] in (0, 1, 2, 74), codes)
        tap.true(len(codes) < 50, 'it never fills')
    os.unlink(ballast)
    tap.true(q.json('log')['size'] >= size)
    tap.true(q.json('verify', status=None)['state'] != 'broken')
    q.json('run', '--new-series', 'room')
    q.json('accept')
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')
    print('# a file system filled up after %d runs: exit 74, and it goes on when there is room'
          % len(codes))


tap.main(globals())
