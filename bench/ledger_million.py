#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program on a ledger of a million entries: ledger_million.py TWICE BENCH_LEDGER [ENTRIES]

A workload is run and accepted, then entries of 1 KiB are put on top, then it is run once more. Time and
peak memory of each command, the second of two calls.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'lib'))
TWICE, FILL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 1000000
os.environ['TWICE_BIN'] = TWICE
import quick  # noqa: E402 pylint: disable=wrong-import-position


def measure(q, args):
    """(seconds, peak MiB, exit code)"""
    start = time.monotonic()
    with open(os.devnull, 'w', encoding='utf-8') as null:
        p = subprocess.Popen([TWICE, *args], cwd=q.dir, env=q.env(), stdin=subprocess.DEVNULL,
                             stdout=null, stderr=null)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - start, usage.ru_maxrss / 1024, p.returncode


def main():
    q = quick.Quick(folder=tempfile.mkdtemp(prefix='twice-million-'))
    q.accepted(100)
    start = time.monotonic()
    subprocess.run([FILL, 'fill', q.path('.twice'), str(COUNT)], check=True, stdout=subprocess.DEVNULL)
    sys.stdout.reconfigure(line_buffering=True)
    print('a ledger of %d entries, filled in %.0f s' % (COUNT, time.monotonic() - start))
    print('%-36s %10s %10s  %s' % ('command', 'seconds', 'peak MiB', 'exit'))
    for args in (('check',), ('log',), ('log', '--verdict', 'accepted'), ('log', '--since', '1 h'),
                 ('show', str(COUNT // 2)), ('run',), ('accept',), ('verify', '--skip-evidence'),
                 ('export', '--format', 'folder', '--out', q.path('out'))):
        for again in range(2):
            shutil.rmtree(q.path('out'), ignore_errors=True)
            took, peak, code = measure(q, args)
            if took > 5:
                break
        print('%-36s %10.3f %10.0f  %d' % (('twice ' + ' '.join(args)).replace(q.dir, '...')[:36], took,
                                          peak, code), flush=True)
    shutil.rmtree(q.dir, ignore_errors=True)


main()
