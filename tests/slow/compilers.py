#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same values, the same decisions: gcc and clang, -O0 and -O2.

Builds same.c with the rooms that decide by each compiler there is and compares what they print:
words exactly, numbers within 1e-9.
"""
import glob
import math
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402 pylint: disable=wrong-import-position

ROOT = tap.source_root()
ROOMS = ('base', 'stat', 'model', 'verdict', 'bisect')
LIBRARIES = ['-ljansson', '-lyaml', '-lcrypto', '-lcurl', '-lzstd', '-lpcre2-8', '-lpthread', '-lm']
HOW = [(cc, o) for cc in ('gcc', 'clang') for o in ('-O0', '-O2')]


def build(compiler, optimization, folder):
    program = os.path.join(folder, compiler + optimization)
    sources = [f for room in ROOMS for f in sorted(glob.glob(os.path.join(ROOT, 'src', room, '*.c')))]
    subprocess.run([compiler, '-std=gnu17', optimization, '-ffp-contract=off', '-D_GNU_SOURCE',
                    '-I' + os.path.join(ROOT, 'src'), '-w', '-o', program,
                    os.path.join(ROOT, 'tests', 'slow', 'same.c')] + sources + LIBRARIES,
                   check=True, timeout=1200)
    return program


def lines_of(program):
    out = subprocess.run([program], capture_output=True, text=True, check=True, timeout=600).stdout
    for line in out.splitlines():
        words, _, numbers = line.partition('|')
        yield words, [float(x) for x in numbers.split()]


def near(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-9 * max(1, abs(a))


def test_every_compiler_decides_the_same():
    there = [h for h in HOW if shutil.which(h[0])]
    if len({cc for cc, _ in there}) < 2:
        tap.skip('only one of gcc and clang is installed')
    folder = tap.folder()
    first = list(lines_of(build(*there[0], folder)))
    tap.true(len(first) > 4000, 'only %d lines' % len(first))
    tap.true(len({w.split()[0] for w, _ in first}) >= 5, 'too few kinds of decisions')
    for how in there[1:]:
        other = list(lines_of(build(*how, folder)))
        tap.equal(len(other), len(first))
        for a, b in zip(first, other):
            tap.equal(b[0], a[0])
            tap.true(len(a[1]) == len(b[1]) and all(map(near, a[1], b[1])),
                     '%s: %s against %s' % (' '.join(how), a, b))


tap.main(globals())
