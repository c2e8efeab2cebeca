#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/test-summary: the last line and exit code for logs of every kind."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

TOOL = os.path.join(tap.source_root(), 'tools', 'test-summary')


def log(*runs):
    path = os.path.join(tap.folder(), 'testlog.json')
    with open(path, 'w', encoding='utf-8') as f:
        for run in runs:
            f.write(json.dumps(dict({'name': 'x', 'result': 'OK', 'returncode': 0}, **run)) + '\n')
    return path


def summary(*args):
    out = subprocess.run([sys.executable, TOOL, *args], capture_output=True, text=True,
                         check=False)
    lines = out.stdout.splitlines()
    return out.returncode, lines[-1] if lines else out.stderr, out.stdout


def of(*runs):
    return summary(log(*runs))


def test_counts_tests_not_programs():
    code, last, _ = of({'stdout': '1..3\nok 1 - a\nok 2 - b\nok 3 - c # SKIP no GPU here\n'},
                       {'name': 'y', 'stdout': ''})
    tap.equal((code, last), (0, '3 passed, 0 failed, 1 skipped'))


def test_says_which_failed_and_why():
    code, last, text = of({'stdout': '1..2\nok 1 - a\n# f.c:3: n is 2, want 3\nnot ok 2 - b\n',
                           'result': 'FAIL', 'returncode': 1})
    tap.equal((code, last), (1, '1 passed, 1 failed, 0 skipped'))
    tap.has(text, 'failed: x: b (f.c:3: n is 2, want 3)')


def test_a_program_that_dies_between_two_lines_fails():
    code, last, text = of({'stdout': '1..3\nok 1 - a\n', 'returncode': -11})
    tap.equal((code, last), (1, '1 passed, 1 failed, 0 skipped'))
    tap.has(text, 'ended after 1 of 3 tests, signal 11')


def test_more_lines_than_the_plan_fail():
    tap.equal(of({'stdout': '1..1\nok 1 - a\nok 2 - b\n'})[0], 1)


def test_a_plan_is_needed():
    code, _, text = of({'stdout': 'ok 1 - a\n'})
    tap.equal(code, 1)
    tap.has(text, 'no plan')


def test_all_lines_ok_but_a_bad_exit_code_fails():
    code, last, text = of({'stdout': '1..1\nok 1 - a\n', 'returncode': 23, 'result': 'ERROR',
                           'stderr': 'ERROR: LeakSanitizer: detected memory leaks\n'})
    tap.equal((code, last), (1, '1 passed, 1 failed, 0 skipped'))
    tap.has(text, 'detected memory leaks')


def test_a_time_limit_fails():
    code, _, text = of({'stdout': '', 'result': 'TIMEOUT', 'returncode': -9})
    tap.equal(code, 1)
    tap.has(text, 'time limit')


def test_bail_out_fails():
    tap.equal(of({'stdout': '1..1\nok 1 - a\nBail out! no disk\n'})[0], 1)


def test_a_whole_program_may_be_skipped():
    code, last, text = of({'stdout': '1..0 # SKIP no cases yet\n', 'result': 'SKIP'},
                          {'name': 'y', 'stdout': 'no numpy\n', 'result': 'SKIP',
                           'returncode': 77}, {'name': 'z'})
    tap.equal((code, last), (0, '1 passed, 0 failed, 2 skipped'))
    tap.has(text, 'skipped: x (no cases yet)')
    tap.has(text, 'skipped: y (no numpy)')


def test_a_skip_without_a_reason_fails():
    tap.equal(of({'stdout': '1..2\nok 1 - a\nok 2 - b # SKIP\n'})[0], 1)
    tap.equal(of({'stdout': '', 'result': 'SKIP', 'returncode': 77}, {'name': 'y'})[0], 1)


def test_no_test_at_all_fails():
    tap.equal(summary()[:2], (1, '0 passed, 1 failed, 0 skipped'))
    tap.equal(of()[:2], (1, '0 passed, 1 failed, 0 skipped'))
    tap.equal(summary('--passed', 'build')[:2], (1, '1 passed, 1 failed, 0 skipped'))


def test_only_skips_is_not_a_success():
    tap.equal(of({'stdout': '1..1\nok 1 - a # SKIP no GPU\n'})[:2],
              (1, '0 passed, 0 failed, 1 skipped'))


def test_an_unreadable_log_fails():
    broken = os.path.join(tap.folder(), 'l.json')
    with open(broken, 'w', encoding='utf-8') as f:
        f.write('{"name": ')
    tap.equal(summary(log({}), broken)[:2], (1, '1 passed, 1 failed, 0 skipped'))
    tap.equal(summary(log({}), '/nonexistent')[0], 1)


def test_adds_results_from_elsewhere():
    good = log({'stdout': '1..1\nok 1 - a\n'})
    tap.equal(summary('--passed', 'lint', good)[:2], (0, '2 passed, 0 failed, 0 skipped'))
    tap.equal(summary('--failed', 'lint', good)[:2], (1, '1 passed, 1 failed, 0 skipped'))


def test_sums_several_logs():
    one = log({'stdout': '1..1\nok 1 - a\n'})
    tap.equal(summary(one, one)[:2], (0, '2 passed, 0 failed, 0 skipped'))


tap.main(globals())
