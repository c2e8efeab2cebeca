#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/setup with a dpkg-query, an apt-get and an id of our own: it installs what is missing."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

TOOL = os.path.join(tap.source_root(), 'tools', 'setup')
DPKG = '''#!/bin/sh
shift 3
for p; do grep -qxF -- "$p" "$STATE/installed" && echo "installed $p"; done
exit 1
'''
# Knows no package before `update`, as a fresh machine; STATE/lists says that it has been run.
APT = '''#!/bin/sh
echo "$*" >>"$STATE/apt.log"
for a; do
	case $a in
	update) : >"$STATE/lists"; exit 0 ;;
	esac
done
[ -e "$STATE/lists" ] || exit 100
[ ! -e "$STATE/broken" ] || exit 100
while [ "$1" != install ]; do shift; done
for a; do case $a in -* | install) ;; *) echo "$a" >>"$STATE/installed" ;; esac; done
'''


def setup(args, installed=(), user=0, files=(), env=None):
    state = tap.folder()
    for name, text in (('dpkg-query', DPKG), ('apt-get', APT),
                       ('id', '#!/bin/sh\necho %d\n' % user)):
        with open(os.path.join(state, name), 'w', encoding='utf-8') as f:
            f.write(text)
        os.chmod(f.name, 0o755)
    for name, text in [('installed', ''.join(p + '\n' for p in installed)), ('apt.log', '')] + \
            [(name, '') for name in files]:
        with open(os.path.join(state, name), 'w', encoding='utf-8') as f:
            f.write(text)
    done = subprocess.run([TOOL, *args], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PATH=state + ':' + os.environ['PATH'], STATE=state,
                                   **(env or {})))
    with open(os.path.join(state, 'apt.log'), encoding='utf-8') as f:
        return done.returncode, done.stdout, done.stderr, f.read().splitlines()


def packages(group):
    return subprocess.run([TOOL, '--list', group], capture_output=True, text=True,
                          check=True).stdout.split()


def test_nothing_to_do_calls_nobody():
    tap.equal(setup(['build'], packages('build')), (0, '', '', []))


def test_as_root_it_installs_only_what_is_missing():
    code, _, err, log = setup(['build'], packages('build')[2:], files=['lists'])
    tap.equal((code, len(log)), (0, 1))
    tap.true(log[0].endswith('install -y --no-install-recommends ' +
                             ' '.join(packages('build')[:2])), log[0])
    tap.has(err, 'setup: installing')


def test_a_machine_without_package_lists_gets_them_once():
    code, _, err, log = setup(['build'])
    tap.equal((code, len(log)), (0, 3))
    tap.has(log[1], 'update')
    tap.has(err, 'fresh package lists')


def test_what_can_not_be_installed_is_said():
    code, _, err, log = setup(['build'], packages('build')[1:], files=['broken'])
    tap.equal((code, len(log)), (3, 3))
    tap.has(err, 'setup: still missing: ' + packages('build')[0])


def test_as_a_user_it_says_what_is_missing_and_how_to_get_it():
    first = packages('build')[0]
    code, _, err, log = setup(['build'], packages('build')[1:], user=1000)
    tap.equal((code, log), (3, []))
    tap.has(err, '1 packages are missing: %s\n' % first)
    tap.has(err, '\n  apt-get install -y --no-install-recommends %s\n' % first)


def test_setup_no_goes_on():
    tap.equal(setup(['build'], user=1000, env={'SETUP': 'no'}), (0, '', '', []))


def test_every_group_holds_what_building_needs():
    for group in ('demo', 'test', 'lint', 'fuzz', 'san', 'ci'):
        tap.true(set(packages('build')) <= set(packages(group)), group)


def test_a_wrong_group_is_refused():
    code, _, err, _ = setup(['biuld'])
    tap.equal(code, 64)
    tap.has(err, 'usage: tools/setup')


tap.main(globals())
