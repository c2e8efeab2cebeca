#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a rejected run to who has to act: what logs, profiles, failures and earlier runs say."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402
import tap  # noqa: E402

# Two libraries: one in the file `speed` (see quick), one in `comm`.
TWO = quick.CONTRACT.replace(
    '    kernel: {path: speed, layer: kernellib}\n',
    '    kernel: {path: speed, layer: kernellib}\n'
    '    rccl: {path: comm, layer: commlib}\n').replace(
        '    kernel: {set: [sh, "{dir}/switch.sh", set, "{version}"], '
        'get: [sh, "{dir}/switch.sh", get]}\n',
        '    kernel: {set: [sh, "{dir}/switch.sh", set, "{version}"], '
        'get: [sh, "{dir}/switch.sh", get]}\n'
        '    rccl: {set: [sh, "-c", "echo {version} > {dir}/comm"], '
        'get: [cat, "{dir}/comm"]}\n')


def quickly(text=None, limit=None):
    q = quick.Quick()
    q.write('comm', '1\n')
    text = text or quick.CONTRACT
    if limit:
        text = text.replace('limit: 20 s', 'limit: ' + limit)
    q.contract(text=text)
    return q


def says(q, lines, more=''):
    """The workload prints these lines first. `more`: shell code behind them."""
    q.write('work.sh', ''.join("echo '%s' >&2\n" % line for line in lines) + more + quick.WORK)


def rejected(q):
    v = q.json('run', status=1)
    tap.equal(v['verdict'], 'rejected')
    return q.bodies('verdict')[-1]['attribution']


def said(a, what):
    tap.true(any(what in r for r in a['reasons']), '%s not in %s' % (what, a['reasons']))


def test_a_start_that_fails_names_what_the_log_names():
    q = quickly(TWO)
    q.accepted()
    q.write('comm', '2\n')
    says(q, ['2026-01-01 10:00:00 \033[31mERROR\033[0m [rank0]: node7:1:2 [0] NCCL WARN NET/IB : '
             'Got completion with error 12, opcode 0, len 0, vendor err 129',
             'torchrun: a rank ended'], 'exit 7\n')
    a = rejected(q)
    tap.equal(a['layer'], 'commlib')
    tap.equal(a['trigger'], 'rccl')
    tap.equal(a['confidence'], 'medium')
    tap.equal(a['symptom'], 'does not start')
    said(a, 'completion with error 12')
    tap.true('log' in a['deciding_fields'], a['deciding_fields'])
    tap.true(a['next'], a)
    # What the person sees: why, the report and check.
    _, out, _ = q.call('why')
    for part in ('layer commlib', 'trigger: rccl', 'because ', 'mind: ', 'next: ', 'owner: '):
        tap.has(out, part)
    q.same_text('why')
    q.json('report', '--out', 'report.html')
    with open(q.path('report.html'), encoding='utf-8') as f:
        page = f.read()
    _, md, _ = q.call('report', '--format', 'md', '--out', '-')
    for text in (page, md.replace('\\', '')):     # trigger and cause apart, and all the rest
        for part in ('layer commlib (owner: ', '; trigger: rccl', 'medium', 'Mind: ', 'Next: ',
                     'completion with error 12'):
            tap.has(text, part)


def test_what_the_accepted_log_says_too_explains_nothing():
    q = quickly()
    line = ('node7:1:2 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, '
            'vendor err 129')
    says(q, [line])
    q.accepted()
    q.write('speed', '50\n')
    a = rejected(q)
    tap.equal(a['layer'], 'kernellib')
    tap.equal(a['trigger'], 'kernel')
    tap.true(not any('completion' in r for r in a['reasons']), a['reasons'])


def test_a_wrapper_decides_nothing():
    q = quickly()
    q.accepted()
    q.write('speed', '50\n')
    says(q, ['torch.distributed.elastic.multiprocessing.errors.ChildFailedError:'])
    a = rejected(q)
    tap.equal(a['layer'], 'kernellib')


def test_a_backend_that_turned_over_is_found():
    q = quickly()
    says(q, ['INFO %s pid=$$ Using FlashMLA attention backend.' % i for i in '1'])
    q.accepted()
    q.write('speed', '50\n')
    says(q, ['INFO 1 pid=$$ Using Naive attention backend.'])
    a = rejected(q)
    said(a, "turned from 'FlashMLA' to 'Naive'")
    tap.equal(a['rule'], 'a marker turned over')
    tap.equal(a['layer'], 'engine')
    tap.equal(a['trigger'], 'kernel')
    tap.equal(a['second_layer'], 'kernellib')


def test_a_marker_that_is_missing_names_its_layer():
    q = quickly(TWO)
    marker = 'node1:9:9 [0] NCCL INFO GPU Direct RDMA Enabled for HCA 0 mlx5_0'
    says(q, [marker])
    q.accepted()
    q.write('comm', '2\n')
    q.write('speed', '50\n')
    says(q, ['node1:9:9 [0] NCCL INFO Channel 00 is up'])
    a = rejected(q)
    said(a, 'the line is gone')
    tap.equal(a['layer'], 'commlib')


def test_a_hang_is_told_as_one():
    q = quickly(limit='1 s')
    q.accepted()
    q.write('speed', '99\n')
    q.write('slow', '30\n')
    a = rejected(q)
    tap.equal(a['symptom'], 'hangs')
    tap.equal(a['trigger'], 'kernel')


def test_a_profile_names_the_kernel_that_grew():
    q = quickly(TWO)
    table = ('printf \'"Name","Calls","TotalDurationNs"\\n"rccl_AllReduce",9,%s\\n'
             '"elementwise",9,500\\n"gemm",9,400\\n\' > "$1/1_kernel_stats.csv"\n')
    q.contract(text=TWO.replace('"{dir}/work.sh"]', '"{dir}/work.sh", "{work}"]'))
    says(q, [], table % '100')
    q.accepted()
    q.write('comm', '2\n')
    q.write('speed', '50\n')
    says(q, [], table % '1500')
    a = rejected(q)
    said(a, 'one kernel carries the added time: rccl_AllReduce')
    tap.equal(a['suspects'][0]['component'], 'rccl')


def test_an_earlier_run_is_a_control():
    q = quickly(TWO)
    q.accepted()
    q.write('comm', '2\n')  # alone: as good as before
    tap.equal(q.json('run')['verdict'], 'accepted')
    q.write('speed', '50\n')  # both
    a = rejected(q)
    tap.equal(a['layer'], 'kernellib')
    tap.equal(a['trigger'], 'kernel')
    tap.equal(a['confidence'], 'medium' if a['rule'] == 'the only change' else 'high')
    said(a, 'run ')


def test_a_first_run_that_fails_has_its_log_at_least():
    q = quickly()
    says(q, ['amdgpu 0000:c3:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE'], 'exit 1\n')
    a = rejected(q)
    tap.equal(a['layer'], 'firmware')
    q = quickly()
    says(q, [], 'exit 1\n')
    a = rejected(q)
    tap.equal(a['layer'], 'undetermined')
    said(a, 'no accepted run')


def unjudged(q, verdict, *args):
    v = q.json('run', *args, status=2)
    tap.equal(v['verdict'], verdict)
    q.same_text('why')
    q.json('verify', '--recompute')
    a = q.bodies('verdict')[-1]['attribution']
    tap.true(a['next'] and a['reasons'] and a['must_not'], a)
    tap.has(q.call('why')[1], 'next: ' + a['next'])
    return a


def test_a_void_comparison_says_what_voids_it():
    # The contract changed meanwhile.
    q = quickly()
    q.accepted()
    q.write('speed', '50\n')
    q.contract(text=quick.CONTRACT.replace('>= 10 tokens/s', '>= 11 tokens/s'))
    a = unjudged(q, 'baseline_void')
    tap.equal((a['trigger'], a['layer'], a['rule']),
              ('contract', 'none', 'the accepted evidence was for something else'))
    said(a, 'the accepted run was under contract')
    tap.has(a['next'], 'accept a run of what is there now')
    tap.true(any('do not call it a regression' in m for m in a['must_not']), a)
    # A setting is not in effect, whatever the label says.
    for member, effective, component in (('requested: "64"', '32', 'batch in effect'),
                                         ('label: "64"', '32', 'label of batch')):
        q = quickly()
        q.contract(text=quick.CONTRACT.replace(
            '  objectives:', "  settings:\n    batch: {from: stdout, pattern: 'batch (?<value>[0-9]+)', %s}\n"
            '  objectives:' % member))
        says(q, [], 'echo "batch $(cat batch)"\n')
        q.write('batch', '64\n')
        q.accepted()
        q.write('batch', effective + '\n')
        q.write('speed', '99\n')
        a = unjudged(q, 'baseline_void')
        tap.equal((a['component'], a['trigger'], a['confidence']), (component, 'batch', 'high'))
        tap.has(a['next'], 'run again with batch really 64')


def test_no_result_is_attributed_by_what_there_is():
    line = 'amdgpu 0000:c3:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE'
    # It died, it never ended, it said no number: too few are left to judge by.
    for lines, more, symptom, reason in (
            ([line], 'exit 7\n', 'does not start', 'exit 7'),
            ([line], 'kill -SEGV $$\n', 'crashes', 'signal 11'),
            ([line], 'sleep 30\n', 'hangs', 'limit'),
            ([line], 'echo nothing; exit 0\n', None, 'speed')):
        q = quickly(TWO, limit='1 s')
        q.accepted()
        q.write('comm', '2\n')
        q.write('speed', '99\n')
        says(q, lines, more)
        a = unjudged(q, 'no_result', '--reps', '1')
        tap.equal(a['layer'], 'firmware')
        said(a, 'MES failed to respond')
        said(a, reason)
        tap.true(symptom in (None, a['symptom']), a['symptom'])
        tap.equal(sorted(s['component'] for s in a['suspects']), ['kernel', 'rccl'])
        tap.true(any('do not call it rejected' in m for m in a['must_not']), a)
    # Without a telling line, two changes: undetermined, with the next probe.
    q = quickly(TWO)
    q.accepted()
    q.write('comm', '2\n')
    q.write('speed', '99\n')
    says(q, [], 'exit 7\n')
    a = unjudged(q, 'no_result', '--reps', '1')
    tap.equal((a['layer'], a['confidence']), ('undetermined', 'undetermined'))
    tap.has(a['next'], 'only')
    # The tool of a check broke, not the workload.
    q = quick.Quick('hardware:\n  - command: {name: tool, argv: [sh, "{dir}/tool.sh"], limit: 1 s}\n')
    q.write('tool.sh', 'exit 0\n')
    q.accepted()
    q.write('tool.sh', 'sleep 30\n')
    a = unjudged(q, 'no_result')
    tap.equal((a['layer'], a['rule']), ('undetermined', 'not measured'))
    tap.has(a['next'], "'twice run --layer hardware' alone makes hardware/tool again")
    tap.true(any('not measured' in m for m in a['must_not']), a)


def test_trials_of_a_search_are_swaps():
    q = quickly(TWO)
    q.accepted()
    q.write('speed', '50\n')
    q.write('comm', '2\n')
    rejected(q)
    tap.equal(q.json('bisect', '--leave', 'rejected')['answer']['components'], ['kernel'])
    a = rejected(q)
    tap.equal(a['layer'], 'kernellib')
    tap.equal(a['trigger'], 'kernel')
    tap.equal(a['confidence'], 'high')
    said(a, 'twice bisect')


tap.main(globals())
