#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/docs/check_docs.py sees what is missing on either side, with a program of its own."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

TOOL = os.path.join(tap.source_root(), 'tests', 'docs', 'check_docs.py')
TABLE = {'commands': [{'name': 'load', 'help': 'x', 'options': [
    {'name': 'url', 'arg': 'URL', 'help': 'x'}, {'name': 'null', 'arg': None, 'help': 'x'}]}],
    'global': [{'name': 'quiet', 'arg': None, 'help': 'x'}]}
PAGE = '''twice-load(1)

# OPTIONS

*-u*, *--url* _URL_
	The server; see also *--other* of another command.

*--null*
	Nothing.

*--quiet*
	Less.

# EXIT STATUS

0 yes

# EXAMPLES

	twice load
'''
FIRST = '*twice-load*(1) makes load'


def failed(load=PAGE, first=FIRST, more=None, program=True):
    """The names of the tests that fail, and all the output."""
    root = tap.folder()
    man = os.path.join(root, 'man')
    os.mkdir(man)
    exe = os.path.join(root, 'twice')
    pages = dict({'twice-load.1.scd': load, 'twice.1.scd': first}, **(more or {}))
    for path, text in [(exe, "#!/bin/sh\ncat <<'END'\n%s\nEND\n" % json.dumps(TABLE))] + [
            (os.path.join(man, n), t) for n, t in pages.items() if t is not None]:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
    os.chmod(exe, 0o755)
    done = subprocess.run([sys.executable, TOOL, man], capture_output=True, text=True, check=False,
                          env=dict(os.environ, TWICE_BIN=exe if program else ''))
    bad = [line.split(' - ')[1] for line in done.stdout.splitlines() if line.startswith('not ok')]
    return bad, done.stdout + done.stderr


def test_good_pages_pass():
    tap.equal(failed()[0], [])


def test_without_a_program_it_is_skipped():
    bad, text = failed(program=False)
    tap.equal(bad, [])
    tap.has(text, '# SKIP the program is not built here')


def test_a_command_without_a_page():
    bad, text = failed(load=None)
    tap.equal(bad, ['every_command_has_a_page'])
    tap.has(text, 'no man/twice-load.1.scd')


def test_a_page_without_a_command():
    tap.equal(failed(more={'twice-lod.1.scd': PAGE})[0], ['every_page_has_a_command'])


def test_an_option_that_is_not_described():
    bad, text = failed(load=PAGE.replace('*--null*', '--null'))
    tap.equal(bad, ['every_option_is_on_its_page'])
    tap.has(text, 'no line that begins with *--null*')


def test_an_option_without_its_argument():
    tap.equal(failed(load=PAGE.replace('_URL_', ''))[0], ['every_option_is_on_its_page'])


def test_an_option_that_is_not_there():
    bad, text = failed(load=PAGE.replace('*--null*\n', '*--null*\n\tx\n\n*--nul*\n'))
    tap.equal(bad, ['every_option_on_a_page_is_there'])
    tap.has(text, 'describes --nul,')


def test_a_page_without_exit_status_or_example():
    tap.equal(failed(load=PAGE.replace('# EXAMPLES', '# EXAMPLE'))[0],
              ['every_page_says_the_exit_codes_and_shows_an_example'])


def test_a_command_that_is_not_on_the_first_page():
    tap.equal(failed(first='load')[0], ['every_command_is_on_the_first_page'])


tap.main(globals())
