#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays examples/DEMO and turns its summary into tests: one for each step of the story.

    test_demo.py DEMO STEPS

The demo measures. On a machine that is busy with other things a verdict can honestly be another one,
so a story that did not come out as told is played again, PLAYS times in all: what is wrong in the
program is wrong in every play. What is left running is a fault in any play.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import bare  # noqa: E402
import tap  # noqa: E402

SRC = os.environ['TWICE_SRC']
STEP = re.compile(r'^  (ok|NOT SO)  +(.*)$')
SKIP = '1..0 # SKIP '
PLAYS = 3


def numpy_is_there():
    done = subprocess.run(['/usr/bin/python3', '-c', 'import numpy'], capture_output=True,
                          check=False)
    return done.returncode == 0


def left_running(folder):
    """Processes that still mention the demo's folder."""
    left = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as f:
                line = f.read().replace(b'\0', b' ').decode(errors='replace')
        except OSError:
            continue
        if folder in line and int(pid) != os.getpid():
            left.append('%s %s' % (pid, line))
    return left


def checked_without_twice(folder):
    """What is wrong with the demo's ledger by the loop of twice-ledger(5), where twice is not."""
    audit = os.path.join(folder, 'audit')
    done = subprocess.run([os.environ['TWICE_BIN'], 'export', '--format', 'folder', '--out', audit,
                           '--ledger', os.path.join(folder, '.twice')], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        return done.stdout.splitlines()
    try:
        done = bare.loop(audit)
    except tap.Skip as why:
        return [str(why)]
    return [] if done.returncode == 0 and 'as they were written' in done.stdout \
        else done.stdout.splitlines() or ['exit %d' % done.returncode]


def play(demo):
    """(output, exit code, what is left running, what is wrong with the ledger)"""
    with tempfile.TemporaryDirectory(prefix='twice-demo-') as top:
        folder = os.path.join(top, 'work')
        done = subprocess.run([os.path.join(SRC, 'examples', demo), folder], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        left = left_running(folder)
        return done.stdout.splitlines(), done.returncode, left, checked_without_twice(folder)


def main():
    if not os.path.exists('/usr/bin/python3') or not numpy_is_there():
        print(SKIP + '/usr/bin/python3 has no numpy')
        return 0
    demo, wanted = sys.argv[1], int(sys.argv[2])
    for number in range(1, PLAYS + 1):
        lines, status, left, faults = play(demo)
        steps = [m.groups() for m in map(STEP.match, lines) if m]
        if left or number == PLAYS or all(word == 'ok' for word, _ in steps) and steps:
            break
        print('# play %d of %d, load %.1f, was not as told:' % (number, PLAYS, os.getloadavg()[0]))
        for line in lines[-400:]:
            print('#   ' + line)
    print('1..%d' % (len(steps) + 4))
    for i, (word, text) in enumerate(steps, 1):
        print('%s %d - %s' % ('ok' if word == 'ok' else 'not ok', i, text.replace('#', '')))
    n = len(steps)
    print('%s %d - the story has all its steps' % ('ok' if n >= wanted else 'not ok', n + 1))
    print('%s %d - the demo ends well' % ('ok' if status == 0 else 'not ok', n + 2))
    print('%s %d - nothing is left running' % ('ok' if not left else 'not ok', n + 3))
    print('%s %d - its ledger is checked where there is no twice'
          % ('ok' if not faults else 'not ok', n + 4))
    if status or left or faults or n < wanted:
        for line in (lines[-400:] + left + faults):
            print('# ' + line)
        return 1
    return 0


sys.exit(main())
