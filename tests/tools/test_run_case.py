#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/run-case with a program of its own: what differs is seen, what varies can be filtered."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

TOOL = os.path.join(tap.source_root(), 'tests', 'run-case')
PROGRAM = '''#!/bin/sh
case $1 in
--version) echo "twice 1.2.3" ;;
say) shift; echo "$*" ;;
warn) shift; echo "$*" >&2; exit 65 ;;
where) pwd; echo "$HOME" ;;
cat) cat ;;
esac
'''


def run(files, *args):
    """Runs one case 'c' made of these files; gives exit code, output and the case's folder."""
    root = tap.folder()
    program = os.path.join(root, 'program')
    case = os.path.join(root, 'cases', 'c')
    for path, text in [(program, PROGRAM)] + [(os.path.join(case, k), v) for k, v in files.items()]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
    os.chmod(program, 0o755)
    done = subprocess.run([sys.executable, TOOL, '--cases', os.path.dirname(case), *args],
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ, TWICE_BIN=program))
    return done.returncode, done.stdout + done.stderr, case


def passes(files):
    code, text, _ = run(files)
    tap.equal((code, text), (0, 'c: ok\n'))


def differs(files, *parts):
    code, text, _ = run(files)
    tap.equal(code, 1)
    for part in parts:
        tap.has(text, part)


def test_compares_output_and_exit_code():
    passes({'cmd': 'twice say hello', 'out': 'hello\n'})
    passes({'cmd': 'twice warn no such run', 'err': 'no such run\n', 'status': '65\n'})


def test_shows_what_differs():
    differs({'cmd': 'twice say a', 'out': 'b\n'}, '-b', '+a', 'c: DIFFERS')
    differs({'cmd': 'twice say a'}, '+a')
    differs({'cmd': 'twice warn x', 'err': 'x\n'}, '-0', '+65')
    differs({'cmd': 'twice say a', 'out': 'a'}, 'line ends')


def test_feeds_stdin_and_copies_files():
    passes({'cmd': 'twice cat', 'stdin': 'fed\n', 'out': 'fed\n'})
    passes({'cmd': 'cat root/etc/name twice.yaml', 'root/etc/name': 'x\n', 'twice.yaml': 'y\n',
            'out': 'x\ny\n'})


def test_the_folder_is_a_placeholder():
    passes({'cmd': 'twice where', 'out': '<DIR>\n<DIR>/home\n'})


def test_the_environment_is_clean():
    passes({'cmd': 'env | grep -c -e ^USER= -e ^TWICE_BIN= || true', 'out': '0\n'})


def test_filters():
    passes({'cmd': 'twice say at 2026-12-01T10:04:00.000Z took 2 min 5 s and 1.5 ms', 'filters':
            '# what varies\ntime\nduration\n', 'out': 'at <TIME> took <DURATION> and <DURATION>\n'})
    passes({'cmd': 'twice say sha256:%s run 0123456789ab' % ('0a' * 32), 'filters': 'digest\nid\n',
            'out': 'sha256:<DIGEST> run <ID>\n'})
    passes({'cmd': 'twice say twice 1.2.3 on 127.0.0.1:8080', 'filters': 'version\nport\n',
            'out': 'twice <VERSION> on 127.0.0.1:<PORT>\n'})
    passes({'cmd': 'twice say "p99   12.5 -3 v2 sha256"', 'filters': 'number\nblanks\n',
            'out': 'p99 <N> <N> v2 sha256\n'})
    passes({'cmd': 'twice say seed abc', 'filters': 're seed \\w+ => seed <SEED>\n',
            'out': 'seed <SEED>\n'})


def test_without_a_filter_nothing_is_forgiven():
    differs({'cmd': 'twice say 1.5 ms', 'out': '<DURATION>\n'}, '+1.5 ms')


def test_a_wrong_filter_or_case_is_said():
    differs({'cmd': 'true', 'filters': 'tiem\n'}, "filters:1: no filter 'tiem'")
    differs({'out': ''}, 'has no cmd')


def test_a_process_left_behind_differs():
    differs({'cmd': 'sleep 100 >/dev/null 2>&1 &'}, 'left a process running')


def test_a_step_that_fails_ends_the_script():
    differs({'cmd': 'false\ntwice say on'}, '+1')


def test_accept_writes_what_is_printed():
    code, text, case = run({'cmd': 'twice warn x 1.5 s', 'out': 'old\n', 'filters': 'duration\n'},
                           '--accept', 'c')
    tap.equal((code, text), (0, 'c: accepted\n'))
    tap.equal(sorted(os.listdir(case)), ['cmd', 'err', 'filters', 'status'])
    with open(os.path.join(case, 'err'), encoding='utf-8') as f:
        tap.equal(f.read(), 'x <DURATION>\n')


def test_tap_has_a_line_a_case():
    code, text, _ = run({'cmd': 'twice say a', 'out': 'b\n'}, '--tap')
    tap.equal(code, 1)
    tap.equal(text.splitlines()[0], '1..1')
    tap.equal(text.splitlines()[-1], 'not ok 1 - c')


def test_no_cases_is_a_skip_with_a_reason():
    done = subprocess.run([sys.executable, TOOL, '--cases', tap.folder()], capture_output=True,
                          text=True, check=False)
    tap.equal((done.returncode, done.stdout), (0, '1..0 # SKIP no cases yet\n'))


tap.main(globals())
