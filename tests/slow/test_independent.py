# SPDX-License-Identifier: Apache-2.0
"""What twice exports, checked by implementations that have nothing to do with it.

Fetches their packages into a temporary folder, so it is in the slow suite, and skips where they
can't be had.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
import quick  # noqa: E402
import tap  # noqa: E402

# The versions the checks were written for.
PACKAGES = ('securesystemslib[crypto]==1.6.0', 'in-toto-attestation==0.9.3', 'sigstore==4.5.1')
MODULES = ('golang.org/x/mod@v0.30.0', 'filippo.io/torchwood@v0.6.1')


def ran(argv, reason=None, **more):
    """Its output; a failure is a skip where a reason is given."""
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=900, **more)
    except (FileNotFoundError, subprocess.TimeoutExpired) as err:
        tap.skip('%s: %s' % (reason or argv[0], err))
    if done.returncode:
        if reason:
            tap.skip('%s: %s' % (reason, (done.stdout.strip().splitlines() or [''])[-1]))
        raise AssertionError('%s\n%s' % (' '.join(argv), done.stdout))
    return done.stdout


def accepted():
    q = quick.Quick()
    q.json('run')
    q.json('accept', '--yes')
    q.json('run')
    return q


def test_python_packages_of_dsse_in_toto_and_sigstore():
    venv = tap.folder()
    python = os.path.join(venv, 'bin', 'python')
    ran([sys.executable, '-m', 'venv', venv], 'no venv here')
    ran([python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', *PACKAGES],
        'the packages can not be had')
    q = accepted()
    v = q.json('export')
    q.json('export', '--format', 'bundle')
    q.write('public.pem', v['public_key'])
    out = ran([python, os.path.join(HERE, 'independent', 'check.py'), 'public.pem', v['key_id'],
               'twice.intoto.jsonl', 'twice.sigstore.json'], cwd=q.dir)
    tap.equal(out.splitlines(), ['envelope ' + p for p in v['predicates']] +
              ['bundle application/vnd.dev.sigstore.bundle.v0.3+json'])


def test_go_packages_of_notes_and_tiles():
    work = tap.folder()
    env = dict(os.environ, GOFLAGS='-mod=mod', GOTOOLCHAIN='local', CGO_ENABLED='0')
    shutil.copy(os.path.join(HERE, 'independent', 'check.go'), work)
    with open(os.path.join(work, 'go.mod'), 'w', encoding='ascii') as f:
        f.write('module check\n\ngo 1.24.0\n')
    ran(['go', 'get', *MODULES], 'no Go, or its modules can not be had', cwd=work, env=env)
    ran(['go', 'build', '-o', 'check', '.'], cwd=work, env=env)
    q = accepted()
    for _ in range(12):                     # past a full tile
        if q.json('verify')['size'] > 270:
            break
        q.json('run', '--new-series', 'more entries')
    _, log, _ = q.call('witness', 'log-key', status=0)
    q.call('witness', 'key', '--name', 'witness.example/w1', status=0)
    _, key, _ = q.call('witness', 'key', status=0)
    q.json('witness', 'cosign', '.twice', '--log', log.strip(), '--out', 'answer')
    anchor = q.json('witness', 'import', 'answer', '--witness', key.strip())['path']
    size = q.json('verify')['size']
    q.json('export', '--format', 'tiles')
    # The log's key alone is asked for: a proof with cosignatures has more lines.
    seq = size - 1
    q.json('export', str(seq), '--format', 'tlog-proof')
    out = ran([os.path.join(work, 'check'), 'twice-tiles', log.strip(), 'twice.tlog-proof', anchor,
               os.path.join(q.home, '.local/state/twice/witness/witness.key')], cwd=q.dir)
    tap.equal(out.splitlines(), ['tiles %d' % size, 'proof %d %d' % (seq, size),
                                 'cosigned %d' % (size - 1)])


tap.main(globals())
