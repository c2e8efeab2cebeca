# SPDX-License-Identifier: Apache-2.0
"""The accepted stack and a new one alternately, on a workload of milliseconds: two words in two
files with a switch each, and a script whose speed depends on them and on the hour."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

NAMES = ['blas', 'flag']

CONTRACT = '''\
twice: 1
workload: {name: two, kind: batch, unit: item, owner: test}
stack:
  files:
    blas: {path: blas, layer: kernellib}
    flag: {path: flag, layer: kernellib}
    other: {path: other, layer: kernellib}
  switch:
%s
workload_check:
  command:
    argv: [sh, "{dir}/work.sh"]
    limit: 20 s
    extract: [{metric: speed, pattern: 'speed (?<value>[0-9.]+)', unit: tokens/s, better: higher}]
  objectives: [speed >= 10 tokens/s]
repeat: {runs: 5, at_most: 12}
compare: {speed: 5 %%}
''' % '\n'.join('    %s: {set: [sh, "{dir}/switch.sh", set, %s, "{version}"], '
                'get: [sh, "{dir}/switch.sh", get, %s]}' % (n, n, n) for n in NAMES)

WORK = '''\
n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count
[ "$(cat blas)" = old ] && [ -e old-fails ] && { echo "out of memory" >&2; exit 3; }
[ "$(cat blas)" = old ] && [ -e slow ] && { touch started; sleep "$(cat slow)"; }
loss=$(cat hour); [ "$(cat blas)" = new ] && loss=$((loss + $(cat law)))
echo "speed $((1000 - 10 * loss + (n * 7) % 11)).5"
'''

SWITCH = '''\
cd "$(dirname "$0")" || exit 1
case $1 in
set) [ ! -e "refuses-$3" ] || { echo "no such version" >&2; exit 4; }; echo "$3" > "$2" ;;
get) cat "$2" ;;
esac
'''


class Two(quick.Quick):
    def __init__(self, law=0, hour=0):
        super().__init__()
        self.contract(text=CONTRACT)
        self.write('work.sh', WORK)
        self.write('switch.sh', SWITCH)
        self.write('law', '%d\n' % law)
        self.write('hour', '0\n')
        self.write('other', 'a\n')
        self.words('old')
        tap.equal(self.json('run')['verdict'], 'accepted')
        self.json('accept', '--note', 'by a test')
        self.words('new')
        self.write('hour', '%d\n' % hour)

    def words(self, word):
        for name in NAMES:
            self.write(name, word + '\n')

    def now(self):
        words = []
        for name in NAMES:
            with open(self.path(name), encoding='utf-8') as f:
                words.append(f.read().strip())
        return words

    def arms(self):
        """Of the announced repetitions of alternating runs, in their order."""
        return [b['arm'] for b in self.bodies('run.intent') if b.get('arm')]

    def last_result(self):
        return [b for b in self.bodies('run.result') if b['scope'] == 'run'][-1]


def test_what_the_hour_costs_both_is_no_loss():
    q = Two(hour=20)
    tap.equal(q.json('run', status=1)['verdict'], 'rejected')
    v = q.json('run', '--interleave')
    # Which numbers are whose is drawn with the order: some draws make one arm noisier, a note.
    tap.true(v['verdict'] in ('accepted', 'accepted_with_note'), v['body']['decision'])
    tap.equal((v['body']['decision']['used'] >= 5, v['body']['decision']['bank'] >= 5), (True, True))
    tap.equal(q.now(), ['new'] * 2)
    arms = q.arms()
    tap.equal(len(arms), 2 * v['body']['decision']['used'])
    pairs = [tuple(arms[i:i + 2]) for i in range(0, len(arms), 2)]
    tap.true(all(sorted(p) == ['accepted', 'candidate'] for p in pairs), pairs)
    tap.equal((q.last_result()['state'], q.last_result()['restored']), ('finished', True))
    body = q.bodies('verdict')[-1]
    tap.equal((body['design'], len(body['bank']) >= 5), ('interleaved', True))
    tap.true('made alternately' in q.call('why', status=0)[1])
    q.same_text('why')
    q.call('verify', '--recompute', status=0)
    page = q.path('report.html')
    q.call('report', '--out', page, status=0)
    with open(page, encoding='utf-8') as f:
        tap.true('made alternately' in f.read())
    q.json('accept', '--note', 'by a test')
    q.call('check', status=0)


def test_a_loss_is_one_in_the_same_hour_too():
    q = Two(law=20, hour=10)
    v = q.json('run', '--interleave', status=1)
    tap.equal(v['verdict'], 'rejected')
    n, = [x for x in v['body']['decision']['numbers'] if x['name'] == 'speed']
    tap.true(0.15e9 < n['shift_e9'] < 0.30e9, n)
    tap.equal(q.now(), ['new'] * 2)
    # Both orders are drawn: over the pairs of some runs each comes first at times.
    for _ in range(3):
        q.json('run', '--interleave', '--new-series', 'once more', status=1)
    tap.equal({a for a in q.arms()[::2]}, {'accepted', 'candidate'})


def test_what_has_no_switch_stops_it_before_anything_is_measured():
    q = Two()
    q.write('other', 'b\n')
    _, _, err = q.call('run', '--interleave', status=3)
    tap.true('with every switch back it is not the accepted stack' in err and 'other' in err, err)
    tap.equal((q.now(), q.arms()), (['new'] * 2, []))
    tap.equal((q.last_result()['state'], q.last_result()['restored']), ('broken off', True))


def test_it_says_when_there_is_nothing_to_alternate_with():
    q = Two()
    q.words('old')
    tap.true('is the accepted one' in q.call('run', '--interleave', status=3)[2])
    tap.true('one of them' in q.call('run', '--interleave', '--first', 'x', status=64)[2])
    fresh = quick.Quick()
    fresh.contract(text=CONTRACT)
    for name, text in (('work.sh', WORK), ('switch.sh', SWITCH), ('law', '0'), ('hour', '0'),
                       ('other', 'a'), ('blas', 'old'), ('flag', 'old')):
        fresh.write(name, text)
    tap.true('was never accepted' in fresh.call('run', '--interleave', status=3)[2])


def test_an_accepted_stack_that_fails_now_is_no_bank():
    q = Two()
    q.write('old-fails', '')
    v = q.json('run', '--interleave', '--reps', '2', status=2)
    tap.equal(v['verdict'], 'baseline_void')
    tap.true('the accepted stack failed too' in str(v['body']['decision']['reasons']), v)
    q.call('verify', '--recompute', status=0)
    tap.equal(q.now(), ['new'] * 2)


def test_interrupted_and_killed_ones_are_put_right_and_go_on():
    q = Two()
    tap.equal(q.json('run', '--interleave', '--reps', '2', status=2)['verdict'], 'no_result')
    q.write('slow', '30\n')
    p = q.start('run', '--interleave')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60)
    tap.equal((p.returncode, q.now()), (2, ['new'] * 2))
    tap.equal((q.last_result()['state'], q.last_result()['restored']), ('interrupted', True))
    q.remove('started')
    p = q.start('run', '--interleave')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    p.kill()
    p.communicate(timeout=60)
    tap.equal(q.now(), ['old'] * 2)
    q.remove('slow')
    q.remove('started')
    # A plain run tells of it; an alternating one puts it right and goes on.
    tap.true("'twice bisect --restore'" in q.call('run', '--reps', '1')[2])
    code, _, err = q.call('run', '--interleave')
    tap.true(code == 0, err)
    tap.true('is put back first' in err and 'the series goes on' in err, err)
    tap.equal(q.now(), ['new'] * 2)
    tap.equal(q.json('bisect', '--restore')['state'], 'nothing_to_restore')


def test_a_switch_that_refuses_is_told_and_the_machine_put_back():
    q = Two()
    q.write('refuses-old', '')
    _, _, err = q.call('run', '--interleave', status=1)
    tap.true("switching 'blas' to 'old'" in err and 'no such version' in err, err)
    tap.equal((q.now(), q.last_result()['restored']), (['new'] * 2, True))


tap.main(globals())
