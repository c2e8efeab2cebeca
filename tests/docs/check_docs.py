#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages against the program: check_docs.py MAN_SOURCE_DIR [BUILT_PAGE...]

Asks the program of TWICE_BIN for `help --json`,
{"commands": [{"name", "help", "options": [{"name", "arg", "help"}]}]}, and holds the pages to it:
each command has man/twice-NAME.1.scd, each option of it is there as **--NAME** with its argument
in a line of its own, and a page names no option that the command has not. Pages may also name the
options of every command in "global", if the program gives that list.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

MAN = sys.argv[1]
BUILT = sys.argv[2:]
BOLD_OPTION = re.compile(r'\*(?:-[A-Za-z0-9]\*,? \*)?--([a-z][a-z0-9-]*)\*')


def program():
    path = os.environ.get('TWICE_BIN', '')
    if not path:
        tap.skip('the program is not built here')
    return path


def table():
    done = subprocess.run([program(), 'help', '--json'], capture_output=True, text=True,
                          timeout=30, check=False)
    tap.equal((done.returncode, done.stderr), (0, ''))
    return json.loads(done.stdout)


def page(name):
    """A page's text without scdoc's escapes; None when there is none."""
    path = os.path.join(MAN, name)
    if not os.path.exists(path):
        return None
    with open(path, encoding='utf-8') as f:
        return re.sub(r'\\(.)', r'\1', f.read())


def options_on(text):
    """Names of options that a page describes: a bold --name that begins a line of it."""
    return {m.group(1) for line in text.splitlines()
            for m in [BOLD_OPTION.match(line.strip())] if m}


def section(text, title):
    found = re.search(r'^# %s\n(.*?)(?=^# |\Z)' % title, text, re.M | re.S)
    return found.group(1) if found else ''


def none(faults):
    tap.true(not faults, '\n'.join(faults))


def test_every_command_has_a_page():
    none(['no man/twice-%s.1.scd' % c['name'] for c in table()['commands']
          if page('twice-%s.1.scd' % c['name']) is None])


def test_every_page_has_a_command():
    names = {c['name'] for c in table()['commands']}
    pages = [re.fullmatch(r'twice-([a-z-]+)\.1\.scd', f) for f in sorted(os.listdir(MAN))]
    none(['%s: there is no such command' % m.group() for m in pages if m and
          m.group(1) not in names])


def test_every_option_is_on_its_page():
    faults = []
    for command in table()['commands']:
        text = page('twice-%s.1.scd' % command['name']) or ''
        there = options_on(text)
        for option in command['options']:
            if text and option['name'] not in there:
                faults.append('twice-%s(1) has no line that begins with *--%s*'
                              % (command['name'], option['name']))
            elif text and option.get('arg') and not re.search(
                    r'\*--%s\*[ =\[]*_%s_' % (option['name'], re.escape(option['arg'])), text):
                faults.append('twice-%s(1): *--%s* _%s_ with its argument is missing'
                              % (command['name'], option['name'], option['arg']))
    none(faults)


def test_every_option_on_a_page_is_there():
    known = table()
    everywhere = {o['name'] for o in known.get('global', [])} | {'help', 'json'}
    faults = []
    for command in known['commands']:
        text = page('twice-%s.1.scd' % command['name']) or ''
        have = {o['name'] for o in command['options']} | everywhere
        faults += ['twice-%s(1) describes --%s, which the command has not' % (command['name'], name)
                   for name in sorted(options_on(text) - have)]
    none(faults)


def test_every_page_says_the_exit_codes_and_shows_an_example():
    faults = []
    for command in table()['commands']:
        text = page('twice-%s.1.scd' % command['name'])
        for title in ('EXIT STATUS', 'EXAMPLES') if text else ():
            if not section(text, title).strip():
                faults.append('twice-%s(1) has no section "# %s"' % (command['name'], title))
    none(faults)


def test_every_command_is_on_the_first_page():
    commands, text = table()['commands'], page('twice.1.scd')
    tap.true(text is not None, 'no man/twice.1.scd')
    none(['twice(1) does not name *%s*' % c['name'] for c in commands
          if not re.search(r'\*(?:twice-)?%s\*' % re.escape(c['name']), text)])


def test_man_finds_nothing_to_say():
    if not BUILT:
        tap.skip('no man page is built here: no scdoc, or no page yet')
    faults = []
    for path in BUILT:
        try:
            done = subprocess.run(['man', '--warnings', '-E', 'UTF-8', '-l', path],
                                  capture_output=True, text=True, check=False,
                                  env=dict(os.environ, MANWIDTH='100', LC_ALL='C.UTF-8'))
        except FileNotFoundError:
            tap.skip('no man here: apt-get install man-db')
        faults += ['%s: %s' % (os.path.basename(path), line) for line in done.stderr.splitlines()]
        if done.returncode:
            faults.append('%s: man ends with %d' % (path, done.returncode))
    none(faults)


tap.main(globals())
