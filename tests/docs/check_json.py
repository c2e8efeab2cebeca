#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of --json against the program: check_json.py SOURCE_ROOT

Each man page has a section JSON with its schema and a table of members, and docs/json.md has all
of them. What a command's source puts into its value, and what the quick commands print, must be in
both. Asks the program of TWICE_BIN.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

ROOT = sys.argv[1]
EVERYWHERE = {'schema', 'command', 'exit', 'meaning'}
QUICK = (['version', '--build'], ['help'], ['init', '--print'], ['completion', 'bash'],
         ['contract', 'help'], ['stack', '--bare'])


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as f:
        return f.read()


def ask(*argv):
    """Exit code and value of `twice ARGV --json`."""
    program = os.environ.get('TWICE_BIN', '')
    if not program:
        tap.skip('the program is not built here')
    done = subprocess.run([program, *argv, '--json'], capture_output=True, text=True, timeout=60,
                          check=False, cwd=tap.folder())
    return done.returncode, json.loads(done.stdout)


def section_of(name):
    """The section JSON of a command's page, without scdoc's escapes."""
    text = re.sub(r'\\(.)', r'\1', read('man', 'twice-%s.1.scd' % name))
    found = re.search(r'^# JSON\n(.*?)(?=^# |\Z)', text, re.M | re.S)
    return found.group(1) if found else ''


def collected(name):
    """The tables of docs/json.md for one command."""
    found = re.search(r'^## twice\.%s/1\n(.*?)(?=^## |\Z)' % name, read('docs', 'json.md'),
                      re.M | re.S)
    return found.group(1) if found else ''


def put_by(name):
    """Top-level members that a command's source puts into its value."""
    text = read('src', 'cli', 'cmd_%s.c' % name)
    if 'running_value(&done, v)' in text:
        text += read('src', 'cli', 'running.c')
    return set(re.findall(r'json_put(?:_[a-z]+)?\(v, "([a-z_]+)"', text))


def members(text):
    """Top-level members in the first column of the tables of a man page or of Markdown, and in
    a man page the bold words that begin a line and the slanted ones of the first paragraph."""
    cells = re.findall(r'^\|(?:  | )(?!---)([^|\n]+?)(?: \||$)', text, re.M)
    cells += re.findall(r'^(\*[a-z_]+\*(?:, \*[a-z_]+\*)*)', text, re.M)
    names = [m.strip('`*') for cell in cells for m in cell.split(', ')]
    names += re.findall(r'\b_([a-z_]+)_\b', text.strip().split('\n\n')[0])
    return {m.split('[')[0].split('.')[0] for m in names if not m.startswith('.')}


def none(faults):
    tap.true(not faults, '\n'.join(faults))


def test_tables_are_read():
    tap.equal(members('| `a`, `b` | x |\n| --- | --- |\n| `c[].d` | x |\n| `.e` | x |\n'),
              {'a', 'b', 'c'})
    tap.equal(members('Prints _z_ and\n\n*a* {_x_}\n\tx\n\n*b*, *c*\n\tsee *d*\n'),
              {'a', 'b', 'c', 'z'})
    tap.equal(members('|[ *member*\n:[ *type*\n|  a\n:  x\n|  b.c, .d\n:  x\n'), {'a', 'b'})


def test_every_command_has_its_tables():
    faults = []
    for name in [c['name'] for c in ask('help')[1]['commands']]:
        if '_twice.%s/1_' % name not in section_of(name):
            faults.append('twice-%s(1) has no section JSON with its schema' % name)
        if not collected(name).strip():
            faults.append('docs/json.md has no "## twice.%s/1"' % name)
    none(faults)


def test_the_tables_have_what_the_source_puts():
    faults = []
    for name in [c['name'] for c in ask('help')[1]['commands']]:
        if not os.path.exists(os.path.join(ROOT, 'src', 'cli', 'cmd_%s.c' % name)):
            continue
        faults += ['twice-%s(1), JSON, does not name %s' % (name, m)
                   for m in sorted(put_by(name) - members(section_of(name)))]
        faults += ['docs/json.md, twice.%s/1, does not name %s' % (name, m)
                   for m in sorted(put_by(name) - members(collected(name)))]
    none(faults)


def test_the_tables_have_what_is_printed():
    faults = []
    for argv in QUICK:
        _, value = ask(*argv)
        tap.equal(value['schema'], 'twice.%s/1' % argv[0])
        faults += ['twice-%s(1), JSON, does not name %s' % (argv[0], m)
                   for m in sorted(set(value) - members(section_of(argv[0])) - EVERYWHERE)]
    none(faults)


def test_an_error_is_an_object_too():
    for argv, code in ((['frobnicate'], 64), (['check', '--contract', 'none.yaml'], 3),
                       (['check', '--frobnicate'], 64)):
        rc, value = ask(*argv)
        tap.equal((rc, value['exit'], value['schema']), (code, code, 'twice.error/1'))
        tap.equal(sorted(set(value['error']) | {'hint'}), ['code', 'hint', 'message'])


def test_every_code_of_a_reason_is_in_the_documents():
    """Those of verdict.h's list and those that the sources say; and none that is not there."""
    text = read('src', 'verdict', 'verdict.h')
    listed = re.search(r'Codes of reasons: (.*?)\*/', text, re.S).group(1)
    listed = set(re.findall(r'\b[a-z]+(?:_[a-z]+)+\b', listed)) | {'note', 'noisier', 'outlook', 'drift', 'regressed'}
    said = set()
    for name in sorted(os.listdir(os.path.join(ROOT, 'src', 'verdict'))):
        if name.endswith('.c'):
            said |= set(re.findall(r'\bsay\w*\([^;"]*"([a-z]+(?:_[a-z]+)+)"',
                                   read('src', 'verdict', name)))
    section = read('docs', 'json.md').split('## Codes of reasons and notes')[1].split('\n## ')[0]
    rows = [row for row in section.splitlines() if row.startswith('| `')]
    told = set(re.findall(r'`([a-z_]+)`', ' '.join(row.split('|')[1] for row in rows)))
    tap.true(len(said) > 30, said)
    tap.equal(sorted(said - listed), [])
    tap.equal(sorted(told), sorted(listed))



tap.main(globals())
