#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/load-traps.md against the tests: check_traps.py SOURCE_DIR

Every row of its tables names tests that exist, every test of odd servers and of many requests has a
row, and what the design reports (beside a checkout in ../shared) is all there.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

ROOT = sys.argv[1]
NAMED = re.compile(r'`([a-z_]+):([a-z0-9_]+)`')
# Programs whose every test is one of these kinds.
WHOLE = ['fake_load_odd', 'fake_load_rows']


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as f:
        return f.read()


def rows():
    lines = [line for line in read('docs', 'load-traps.md').splitlines() if line.startswith('|')]
    return [line for line in lines if not re.match(r'\|[-|]+\|$', line) and
            not re.search(r'\| test \|$', line)]


def tests_of(program):
    name = program[len('fake_'):] if program.startswith('fake_') else program
    path = os.path.join(ROOT, 'tests', 'fake', 'test_%s.c' % name)
    if not os.path.exists(path):
        return set()
    main = read(path).split('TEST_MAIN(')[-1]
    return set(re.findall(r'TEST\((\w+)\)', main))


def test_every_row_is_played():
    faults = []
    for row in rows():
        named = NAMED.findall(row.split('|')[-2])
        if not named:
            faults.append('no test: ' + row[:80])
        faults += ['%s has no test %s' % n for n in named if n[1] not in tests_of(n[0])]
    tap.true(len(rows()) >= 60, '%d rows' % len(rows()))
    tap.true(not faults, '\n'.join(faults))


def test_every_kind_has_a_row():
    named = set(NAMED.findall(read('docs', 'load-traps.md')))
    faults = ['%s:%s has no row' % (p, t) for p in WHOLE for t in sorted(tests_of(p))
              if (p, t) not in named]
    tap.true(not faults, '\n'.join(faults))


def test_all_that_was_reported_is_there():
    path = os.path.join(ROOT, '..', 'shared', 'design', 'LOAD.md')
    if not os.path.exists(path):
        tap.skip('the design is not beside this checkout')
    with open(path, encoding='utf-8') as f:
        part = f.read().split('## Wrong measurements')[-1]
    there = set(re.findall(r'https://github.com/[^)\s]+', read('docs', 'load-traps.md')))
    wanted = set(re.findall(r'https://github.com/[^)\s]+', part))
    tap.true(len(wanted) > 30)
    tap.equal(sorted(wanted - there), [])


tap.main(globals())
