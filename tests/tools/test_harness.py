#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/lib/test.h: what ends badly fails, and only that. argv[1] is the built harness_probe."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

RUN = subprocess.run([sys.argv[1]], capture_output=True, text=True, timeout=60, check=False,
                     env=dict(os.environ, TWICE_TEST_LIMIT_S='0.5',
                              ASAN_OPTIONS='handle_segv=0'))


def lines_of(name):
    """The comments before a test's line, and the line itself."""
    before = []
    for line in RUN.stdout.splitlines():
        if line.split(' # ')[0].endswith(' - ' + name):
            return before, line
        before = before + [line] if line.startswith('#') else []
    raise AssertionError('no line for %s in\n%s' % (name, RUN.stdout))


def fails(name, because):
    before, line = lines_of(name)
    tap.true(line.startswith('not ok '), line)
    tap.has('\n'.join(before), because)


def passes(name):
    tap.true(lines_of(name)[1].startswith('ok '), lines_of(name))


def test_has_a_plan_and_a_line_for_each():
    lines = RUN.stdout.splitlines()
    points = [line for line in lines if line.startswith(('ok ', 'not ok '))]
    tap.equal(lines[0], '1..%d' % len(points))
    tap.equal(RUN.returncode, 1)


def test_good_ones_pass():
    for name in ('passes', 'starts_a_process_and_waits', 'ends_its_line_late'):
        passes(name)


def test_each_check_can_fail():
    fails('fails_true', 'not true: 1 > 2')
    fails('fails_int', '1 + 1 is 2, want 3')
    fails('fails_str', "is 'a', want 'b'")
    fails('fails_has', "is 'abc', want 'x' in it")
    fails('fails_near', 'is nan, want 0')


def test_only_what_is_never_in_time_fails():
    before, line = lines_of('in_time_the_third_time')
    tap.true(line.startswith('ok '), line)
    tap.has('\n'.join(before), '# play 2 of 5 was not in time')
    fails('never_in_time', 'NAN is nan, want 0 to 1')


def test_the_first_failure_ends_a_test():
    fails('stops_at_the_first_failure', 'not true: false')
    tap.true('not reached' not in RUN.stdout)


def test_a_crash_fails():
    fails('crashes', 'signal 11')


def test_a_bad_exit_code_fails():
    fails('exits', 'exit code 3')


def test_a_hang_is_killed():
    fails('hangs', 'over the time limit')
    fails('writes_for_ever', 'over the time limit')


def test_a_process_left_behind_fails():
    fails('leaves_a_process', 'left 1 process running')


def test_a_skip_is_a_skip_with_its_reason():
    tap.has(lines_of('is_skipped')[1], '# SKIP no GPU here')
    fails('exits_77_without_a_reason', 'exit code 77')


def test_output_of_a_test_is_no_result():
    passes('says_ok_itself')
    tap.true('\nok 99' not in RUN.stdout and '\nnot ok 98' not in RUN.stdout)


tap.main(globals())
