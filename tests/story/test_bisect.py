# SPDX-License-Identifier: Apache-2.0
"""Searches for the component that did it, on a workload of milliseconds: five words in five files,
each with a switch, and a script whose speed depends on some of them."""
import json
import os
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

NAMES = ['blas', 'threads', 'malloc', 'package', 'flag']

CONTRACT = '''\
twice: 1
workload: {name: five, kind: batch, unit: item, owner: test}
stack:
  files:
%s
  switch:
%s
workload_check:
  command:
    argv: [sh, "{dir}/work.sh"]
    limit: 20 s
    extract: [{metric: speed, pattern: 'speed (?<value>[0-9.]+)', unit: tokens/s, better: higher}]
  objectives: [speed >= 10 tokens/s]
repeat: {runs: 5, at_most: 10}
compare: {speed: 5 %%}
cost: {currency: EUR, per_hour: 3600, source: assumed}
''' % ('\n'.join('    %s: {path: %s, layer: kernellib}' % (n, n) for n in NAMES),
       '\n'.join('    %s: {set: [sh, "{dir}/switch.sh", set, %s, "{version}"], '
                 'get: [sh, "{dir}/switch.sh", get, %s]}' % (n, n, n) for n in NAMES))

# `law` prints the loss in percent for the words that are in place.
WORK = '''\
n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count
[ -e slow ] && { touch started; sleep "$(cat slow)"; }
loss=$(sh ./law) || exit 3
echo "speed $((1000 - 10 * loss + (n * 7) % 11)).5"
'''

SWITCH = '''\
cd "$(dirname "$0")" || exit 1
echo "$1 $2 $3" >> switched
case $1 in
set)
    # Half of it is done and then it ends, or waits to be killed; get sees nothing of that.
    [ ! -e "breaks-$2-$3" ] || { rm "breaks-$2-$3"; touch "$2.half"; echo "disk full" >&2; exit 4; }
    [ ! -e "hangs-$2-$3" ] || { rm "hangs-$2-$3"; touch "$2.half"; sleep 30; }
    rm -f "$2.half"
    [ ! -e "refuses-$2-$3" ] || { echo "no such version" >&2; exit 4; }; echo "$3" > "$2" ;;
get) cat "$2" ;;
esac
'''


def is_new(name):
    return '[ "$(cat %s)" = new ]' % name


def law(*names):
    """A loss of 20 % when all of these are new."""
    return '%s && echo 20 || echo 0\n' % ' && '.join(is_new(n) for n in names)


READY = tempfile.TemporaryDirectory(prefix='twice-test-')   # accepted and rejected: to copy


class Five(quick.Quick):
    """Accepted with all old, rejected with all new: that much is the same under every law."""

    def __init__(self, rule):
        super().__init__()
        if not rule.endswith('echo 0\n'):
            self.prepare(rule)
        elif os.listdir(READY.name):
            shutil.copytree(READY.name, self.dir, dirs_exist_ok=True)
        else:
            self.prepare(rule)
            shutil.copytree(self.dir, READY.name, dirs_exist_ok=True)
        self.write('law', rule)

    def prepare(self, rule):
        self.contract(text=CONTRACT)
        self.write('work.sh', WORK)
        self.write('switch.sh', SWITCH)
        self.write('law', rule)
        self.words('old')
        tap.equal(self.json('run')['verdict'], 'accepted')
        self.json('accept', '--note', 'by a test')
        self.words('new')
        tap.equal(self.json('run', status=1)['verdict'], 'rejected')

    def words(self, word):
        for name in NAMES:
            self.write(name, word + '\n')

    def now(self):
        words = []
        for name in NAMES:
            with open(self.path(name), encoding='utf-8') as f:
                words.append(f.read().strip())
        return words


# Where a search can stand: state, what became of the newest search, words of the plan's text.
STANDS = {
    'fresh': ('open', 'none', ['plan, confirmation included', 'next (reproduce): none new'], []),
    'running': ('open', 'running', ['is going on here', 'next ('], []),
    'killed': ('open', 'not ended', ['goes on elsewhere or was killed', '--restore'], []),
    'interrupted': ('open', 'ended', ['next ('], ['answered already']),
    'found': ('found', 'ended', ['answered already by', ', entry ', 'malloc: share',
                                 'nothing: it is known', 'measures the share of malloc anew'],
              [' 0.0 %', 'plan, confirmation']),
    'pair': ('found', 'ended', ['threads together with flag: share',
                                '--factorial threads,flag measures each'], [' 0.0 %', 'plan, conf']),
    'outside': ('outside', 'ended', ['none of these components: all old is as bad now',
                                     'nothing about these components'], ['plan, conf']),
    'vanished': ('vanished', 'ended', ['it does not reproduce', "'twice run' says"],
                 ['plan, conf']),
    'limit': ('undetermined', 'ended', ['undetermined: the limit of trials is reached',
                                        '--trials N with a larger N goes on'], ['plan, conf']),
    'exhausted': ('undetermined', 'ended', ['undetermined: ', 'nothing: what could be tried was'],
                  ['plan, conf']),
    'refused': ('undetermined', 'ended', ['undetermined: ', '--unsupported tries them'],
                ['plan, conf']),
    'impossible': ('undetermined', 'none', ['before any trial', 'no configuration can be tried',
                                            'nothing: every combination is refused'],
                   ['plan, conf']),
}


def stands(q, where, *more):
    state, search, has, lacks = STANDS[where]
    entries = len(q.log('--all'))
    v = q.json('bisect', '--dry-run', *more)
    s = v['so_far']
    tap.equal((v['state'], s['state'], s['search']), ('planned', state, search))
    tap.equal(s['trials'], len(v['trials']))
    tap.equal('answer' in v, state in ('found', 'outside', 'vanished'))
    tap.equal(bool(v['plan']['expect']), state == 'open')
    if state != 'open' and search == 'ended':
        tap.equal(q.entry(s['seq'])['kind'], 'attribution')
        tap.has(q.entry(s['seq'])['body']['run'], '2')
    text = q.call('bisect', '--dry-run', *more, status=0)[1]
    for words in has:
        tap.has(text, words)
    for words in lacks:
        tap.true(words not in text, '%r in %s' % (words, text))
    if search != 'running':
        q.same_text('bisect', '--dry-run', *more)
        tap.equal(len(q.log('--all')), entries)        # a plan leaves nothing behind


def the_answer_is_told(q, v):
    """By every command that shows the run, before what was only suspected."""
    share = '%.0f %% of the loss [%.0f, %.0f], ' % tuple(
        v['answer'][k] / 1e7 for k in ('share_e9', 'low_e9', 'high_e9'))
    text = q.call('why', status=0)[1]
    tap.has(text, 'malloc: ' + share)
    tap.has(text, 'before the search, which supersedes it, was suspected:')
    tap.true(text.index('malloc: ' + share) < text.index('symptom: '), text)
    tap.has(text, 'only new there: ')
    for form, first, then in (('html', '<h2 id="search">', 'The search measured it and supersedes'),
                              ('md', '### Which component did it', 'which supersedes it')):
        text = q.call('report', '--format', form, '--out', '-', status=0)[1]
        tap.true(text.index(first) < text.index(then), form)
        tap.has(text.replace('\\', ''), share)
        tap.has(text.replace('\\', ''), 'all new but there: ')
    for form in ('junit', 'ctrf'):
        tap.has(q.call('report', '--format', form, '--out', '-', status=0)[1],
                "malloc: " + share)
    tap.equal(q.json('report', '--format', 'json', '--out', '-')['search']['answer'], v['answer'])
    e = q.log('--kind', 'attribution')[-1]
    tap.has(e['summary'], 'answer: malloc: ' + share)
    tap.equal([x['kind'] for x in q.log('--component', 'malloc')], ['verdict', 'attribution'])
    tap.equal([x['kind'] for x in q.log('--component', 'blas')], ['verdict'])
    tap.has(q.call('show', str(e['seq']), status=0)[1], '\nanswer: malloc: ' + share)
    verdict = q.log('--kind', 'verdict')[-1]
    tap.equal(q.json('show', str(verdict['seq']))['search']['run'], v['bisect'])
    tap.has(q.call('show', str(verdict['seq']), status=0)[1], 'malloc: ' + share)
    for args in (('show', str(e['seq'])), ('show', str(verdict['seq'])), ('log',)):
        q.same_text(*args)


def test_one_of_five_is_found_and_everything_put_back():
    q = Five(law('malloc'))
    stands(q, 'fresh')
    everything = ['--never', 'blas=new', '--never', 'blas=old']
    stands(q, 'impossible', *everything)
    v = q.json('bisect', *everything, status=2)
    tap.equal((v['state'], v['reason'], v['trials'], v['restored']),
              ('undetermined', 'no configuration can be tried', [], True))
    plan = q.json('bisect', '--dry-run')
    tap.equal((plan['state'], len(plan['components']), plan['trials']), ('planned', 5, []))
    one, = [x for x in plan['plan']['expect'] if x['kind'] == 'one']
    tap.true(6e9 < one['trials_e9'] < 14e9, one)
    tap.true(one['trials_cost_e9'] > 0 and one['trials_ns'] > 0, one)
    tap.equal((plan['plan']['next_why'], plan['plan']['next']), ('reproduce', []))
    entries = len(q.log('--all'))
    v = q.json('bisect')
    tap.equal((v['state'], v['answer']['kind'], v['answer']['components']),
              ('found', 'one', ['malloc']))
    tap.true(v['answer']['posterior_e9'] >= 0.99e9, v['answer'])
    tap.true(0.9e9 < v['answer']['share_e9'] < 1.1e9, v['answer'])
    tap.true(v['answer']['low_e9'] < v['answer']['share_e9'] < v['answer']['high_e9'])
    tap.equal((v['answer']['forward_trials'] >= 2, v['answer']['back_trials'] >= 2), (True, True))
    tap.true(len(v['trials']) <= 14, v['trials'])
    tap.equal((v['no_switch_for'], v['still_different']), ([], []))
    tap.equal((v['restored'], q.now()), (True, ['new'] * 5))

    # Each trial was announced before anything was switched, and ended.
    new = q.log('--all')[entries:]
    kinds = [e['kind'] for e in new]
    tap.equal(kinds[0], 'run.intent')
    tap.equal(kinds[1:-2], ['run.intent', 'bisect.trial'] * len(v['trials']))
    tap.equal(kinds[-2:], ['attribution', 'run.result'])
    body = q.entry(new[-2]['seq'])['body']
    tap.equal((body['what'], body['state'], body['answer']['components'], len(body['trials'])),
              ('bisect', 'found', ['malloc'], len(v['trials'])))
    for args, status in ((('log',), 0), (('log', '--all'), 0)):
        q.same_text(*args, status=status)
    q.json('verify', '--recompute')
    search = q.json('why')['search']
    tap.equal((search['state'], search['answer'], search['run']), ('found', v['answer'], v['bisect']))
    q.same_text('why')
    the_answer_is_told(q, v)

    # Asked again it knows the answer without a trial.
    stands(q, 'found')
    again = q.json('bisect')
    tap.equal((len(again['trials']), again['state']), (len(v['trials']), 'found'))
    q.same_text('bisect')


def test_a_pair_that_is_needed_together():
    q = Five(law('threads', 'flag'))
    v = q.json('bisect')
    tap.equal((v['answer']['kind'], v['answer']['components']), ('and', ['threads', 'flag']))
    stands(q, 'pair')
    text = q.call('bisect', status=0)[1]
    for words in ('threads itself: ', 'flag itself: ', 'each of the others: at most '):
        tap.has(text, words)
    v = q.json('bisect', '--factorial', 'threads,flag', '--each', '2')
    f = v['factorial']
    tap.equal((v['state'], f['complete'], f['cells'][3]['new']),
              ('factorial', True, ['threads', 'flag']))
    tap.true(abs(f['a_e9']) < 0.03e9 and abs(f['b_e9']) < 0.03e9, f)
    tap.true(0.15e9 < f['interaction_e9'] < 0.3e9, f)
    tap.true(f['interaction_half_e9'] < f['interaction_e9'], f)
    q.same_text('bisect', '--factorial', 'threads,flag', '--each', '2')
    # The pair is told as an interaction, with what the full plan measured beside it.
    text = q.call('why', status=0)[1]
    tap.has(text, 'threads together with flag: ')
    tap.has(text, 'an interaction: neither alone is enough')
    tap.has(text, 'full plan of threads and flag: threads alone ')
    q.same_text('why')
    for form in ('html', 'md'):
        text = q.call('report', '--format', form, '--out', '-', status=0)[1]
        tap.has(text, 'an interaction: neither alone is enough')
        tap.has(text, 'more than both added')
    tap.true(any('full plan of threads and flag' in e['summary'] for e in q.log()))
    for wrong, status, text in (('threads', 64, 'not of the form'),
                                ('threads,nothing', 65, "'nothing' is none"),
                                ('flag,flag', 64, 'two different')):
        code, _, err = q.call('bisect', '--factorial', wrong)
        tap.equal(code, status)
        tap.has(err, text)
    tap.equal(q.now(), ['new'] * 5)


def test_a_full_plan_that_was_killed_goes_on():
    q = Five(law('threads', 'flag'))
    two = ('bisect', '--factorial', 'threads,flag', '--each', '2')
    q.write('slow', '20')
    p = q.start(*two)
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    p.kill()
    p.communicate()
    quick.no_process_left(q.dir)
    q.remove('slow')
    plan = q.json(*two, '--dry-run')
    tap.equal((plan['so_far']['search'], plan['plan']['missing_e9']), ('not ended', 8 * 10 ** 9))
    q.same_text(*two, '--dry-run')
    v = q.json(*two)
    tap.equal((v['state'], v['factorial']['complete'], v['interrupted_before'], v['restored']),
              ('factorial', True, 1, True))
    tap.equal([t['why'] for t in v['trials']], ['factorial'] * 8)
    tap.equal(q.now(), ['new'] * 5)             # as the killed one found it
    tap.equal(q.json(*two, '--dry-run')['plan']['missing_e9'], 0)
    tap.has(q.call('why')[1], 'full plan of threads and flag: ')
    q.json('verify')


def test_what_is_outside_the_list_or_gone():
    q = Five(law('blas'))
    q.write('law', 'echo 20\n')             # by now it is slow whatever is in place
    v = q.json('bisect', status=1)
    tap.equal((v['state'], v['answer']['components']), ('outside', []))
    stands(q, 'outside')
    q.write('law', 'echo 0\n')
    v = q.json('bisect', '--again', status=1)
    tap.equal(v['state'], 'vanished')
    stands(q, 'vanished')
    q.same_text('bisect', status=1)


def test_interrupted_it_puts_back_and_goes_on():
    q = Five(law('package'))
    q.write('slow', '20')
    p = q.start('bisect', '--json')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    tap.equal(q.now(), ['old'] * 5)         # the first trial: all old
    stands(q, 'running')
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=60)
    tap.equal(p.returncode, 2)
    tap.has(out, '"interrupted"')
    tap.equal(q.now(), ['new'] * 5)
    q.remove('slow')
    stands(q, 'interrupted')
    v = q.json('bisect', '--trials', '3', status=2)
    stands(q, 'limit', '--trials', '3')
    stands(q, 'interrupted')                # with the usual limit there is more to try
    tap.equal((v['state'], v['reason'], len(v['trials']), v['interrupted_before']),
              ('undetermined', 'the limit of trials is reached', 3, 1))
    v = q.json('bisect')
    tap.equal((v['answer']['components'], v['trials_before']), (['package'], 3))
    q.json('verify')


def test_killed_the_next_one_mends():
    q = Five(law('blas'))
    q.write('slow', '20')
    p = q.start('bisect')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    p.kill()
    p.communicate()
    quick.no_process_left(q.dir)
    q.remove('slow')
    tap.equal(q.now(), ['old'] * 5)         # nobody could put it back
    stands(q, 'killed')
    v = q.json('bisect', '--restore')
    tap.equal((v['state'], len(v['words']), q.now()), ('restored', 5, ['new'] * 5))
    q.same_text('bisect', '--restore')
    tap.equal(q.json('bisect', '--restore')['state'], 'nothing_to_restore')

    os.unlink(q.path('started'))
    q.write('slow', '20')
    p = q.start('bisect')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    p.kill()
    p.communicate()
    quick.no_process_left(q.dir)
    q.remove('slow')
    tap.equal(q.now(), ['old'] * 5)
    v = q.json('bisect')                    # puts back what the killed one found, not what it left
    tap.equal((v['answer']['components'], v['restored'], q.now()), (['blas'], True, ['new'] * 5))
    v = q.json('bisect', '--leave', 'accepted')
    tap.equal(q.now(), ['old'] * 5)
    tap.equal(q.json('check')['state'], 'accepted')
    q.json('verify')


def test_what_cannot_run_is_left_out():
    q = Five(law('threads'))
    # Neither blas without malloc nor the other way round: the script ends with 3.
    q.write('law', '[ "$(cat blas)" = "$(cat malloc)" ] || exit 1\n' + law('threads'))
    v = q.json('bisect')
    tap.equal(v['answer']['components'], ['threads'])
    for t in v['trials']:
        tap.true(t['state'] == 'ok' or ('blas' in t['new']) != ('malloc' in t['new']), t)
    # The same known beforehand.
    v = q.json('bisect', '--again', '--never', 'blas=new,malloc=old', '--never',
               'blas=old,malloc=new')
    tap.equal(v['answer']['components'], ['threads'])
    tap.equal([t['state'] for t in v['trials']], ['ok'] * len(v['trials']))
    code, _, err = q.call('bisect', '--never', 'blas=maybe')
    tap.equal(code, 64)
    tap.has(err, 'NAME=old or NAME=new')
    for args, text in ((('--never', 'blas=new,blas=old'), 'twice'),
                       (('--never', 'blas=new', '--factorial', 'blas,flag'), 'no --never'),
                       (('--restore', '--dry-run'), 'only puts back')):
        code, _, err = q.call('bisect', *args)
        tap.equal(code, 64)
        tap.has(err, text)

    # A version that can't be installed any more.
    q = Five(law('flag'))
    q.write('refuses-blas-old', '')
    v = q.json('bisect', status=2)
    tap.equal(v['state'], 'undetermined')
    tap.true(any(t['state'] == 'cannot_run' and 'no such version' in t['reason']
                 for t in v['trials']), v['trials'])
    stands(q, 'exhausted')
    tap.equal((v['restored'], q.now()), (True, ['new'] * 5))


BUILDS = {'torch': ('2.7.1+rocm6.2', '2.8.0+rocm6.4'), 'rocm': ('6.2.4', '6.4.1'),
          'threads': ('1', '8'), 'package': ('1.0', '1.1')}


class Builds(quick.Quick):
    """A torch that was built for the new ROCm, the package pinned to its old version."""

    def __init__(self, rule, pins='{package: "1.0"}'):
        super().__init__()
        text = CONTRACT.replace('  switch:', '  pins: %s\n  switch:' % pins)
        for old, new in (('blas', 'torch'), ('malloc', 'rocm')):
            text = text.replace(old, new)
        self.contract(text='\n'.join(line for line in text.split('\n') if ' flag: ' not in line))
        self.write('work.sh', WORK)
        self.write('switch.sh', SWITCH)
        self.write('law', '[ "$(cat %s)" = %s ] && echo 20 || echo 0\n' % (rule, BUILDS[rule][1]))
        self.words(0)
        tap.equal(self.json('run')['verdict'], 'accepted')
        self.json('accept', '--note', 'by a test')
        self.words(1)
        tap.equal(self.json('run', status=1)['verdict'], 'rejected')

    def words(self, which):
        for name, words in BUILDS.items():
            self.write(name, words[which] + '\n')


def test_what_the_envelope_refuses_is_not_planned():
    q = Builds('threads')
    plan = q.json('bisect', '--dry-run')
    refused = {tuple((c['component'], c['which']) for c in r['together']): r
               for r in plan['refused']}
    tap.equal(sorted(refused), [(('package', 'new'),), (('torch', 'new'), ('rocm', 'old'))])
    tap.has(refused[(('torch', 'new'), ('rocm', 'old'))]['why'],
            'torch 2.8.0+rocm6.4 wants rocm >=6.4,<7, and it is 6.2.4')
    tap.equal(refused[(('package', 'new'),)]['source'], 'pin')
    tap.equal(plan['configurations_left'], 7)     # 6 of the 8 with the package old, and all new
    q.same_text('bisect', '--dry-run')
    text = q.call('bisect', '--dry-run', status=0)[1]
    tap.has(text, 'not tried: torch new (2.8.0+rocm6.4) with rocm old (6.2.4): ')
    tap.has(text, 'that leaves 7 of 16 combinations; --unsupported tries them all the same')
    v = q.json('bisect')
    tap.equal((v['state'], v['answer']['components']), ('found', ['threads']))
    for t in v['trials']:
        tap.true(len(t['new']) == 4 or not ('torch' in t['new'] and 'rocm' not in t['new']), t)
        tap.true(len(t['new']) == 4 or 'package' not in t['new'], t)
    tap.equal(q.bodies('attribution')[0]['refused'], plan['refused'])
    q.json('verify')
    # Lifted, whichever way.
    v = q.json('bisect', '--dry-run', '--unsupported')
    tap.equal((v['refused'], 'configurations_left' in v), ([], False))
    code, _, err = q.call('bisect', '--factorial', 'torch,rocm')
    tap.equal(code, 3)
    tap.has(err, '--unsupported')
    # What cannot be told apart without them is said to be open, with what was not tried.
    q = Builds('package')
    v = q.json('bisect', status=2)
    tap.equal((v['state'], len(v['refused'])), ('undetermined', 2))
    stands(q, 'refused')
    v = q.json('bisect', '--unsupported')
    tap.equal((v['state'], v['answer']['components']), ('found', ['package']))


def test_a_switch_that_fails_in_the_middle_is_set_again():
    q = Five(law('threads'))
    half = q.path('blas.half')
    q.write('breaks-blas-old', '')
    code, out, err = q.call('bisect', '--json', '--trials', '3')
    v = json.loads(out)
    tap.equal((code, v['state'], v['restored'], v['state_unknown']), (2, 'undetermined', True, []))
    tap.equal([t['state'] for t in v['trials']], ['cannot_run', 'ok', 'ok'])
    tap.has(v['trials'][0]['reason'], "switching 'blas' to 'old'")
    tap.has(v['trials'][0]['reason'], 'disk full')
    tap.has(err, 'what is in place is unknown until it is set again')
    tap.has(err, ' | ')                         # what is believed now, after each trial
    with open(q.path('switched'), encoding='utf-8') as f:
        blas = [line.split()[0] + ' ' + line.split()[-1] for line in f if ' blas ' in line]
    at = blas.index('set old')
    tap.equal(blas[at + 1:at + 2], ['set new'])   # get still says new, and it is set all the same
    tap.true(not os.path.exists(half))

    # Ctrl-C, then kill -9, while the command is in the middle.
    for name, sig in (('INT', signal.SIGINT), ('KILL', signal.SIGKILL)):
        q.write('hangs-blas-old', '')
        p = q.start('bisect', '--again')
        quick.wait_for(lambda: os.path.exists(half))
        p.send_signal(sig)
        p.communicate(timeout=60)
        if name == 'KILL':
            quick.no_process_left(q.dir)
            tap.true(os.path.exists(half))
            q.json('bisect', '--restore')
        tap.true(not os.path.exists(half), name)
        tap.equal(q.now(), ['new'] * 5)

    # The way back fails as well: said for each, and mended by --restore.
    q.write('slow', '20')
    if os.path.exists(q.path('started')):
        os.unlink(q.path('started'))
    p = q.start('bisect', '--again', '--json')
    quick.wait_for(lambda: os.path.exists(q.path('started')))
    q.write('refuses-blas-new', '')
    q.write('refuses-flag-new', '')
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=60)
    v = json.loads(out)
    tap.equal((p.returncode, v['restored'], v['state_unknown']), (3, False, ['blas', 'flag']))
    tap.has(v['not_restored'], "switching 'blas' to 'new'")
    tap.has(v['not_restored'], "switching 'flag' to 'new'")
    tap.equal(q.now(), ['old', 'new', 'new', 'new', 'old'])
    q.write('value.json', out)
    text = q.call('bisect', '--render', q.path('value.json'))[1]
    tap.has(text, 'what is in place is unknown of: blas, flag')
    tap.has(text, "'twice bisect --restore' tries again")
    for name in ('refuses-blas-new', 'refuses-flag-new', 'slow'):
        q.remove(name)
    v = q.json('bisect', '--restore')
    tap.equal((v['state'], q.now()), ('restored', ['new'] * 5))
    q.json('verify')


def test_a_run_that_fails_is_searched_by_its_failing():
    q = Five(is_new('package') + ' && exit 1\necho 0 # fails\n')
    v = q.json('bisect')
    tap.equal((v['metric'], v['answer']['components']), ('failed', ['package']))
    q.same_text('bisect', '--dry-run')


def test_nothing_to_search():
    q = quick.Quick()
    code, _, err = q.call('bisect')
    tap.equal(code, 3)
    q.accepted()
    code, _, err = q.call('bisect')
    tap.equal(code, 3)
    tap.has(err, "no run of 'quick' was rejected")
    q.write('hidden', '2\n')
    tap.equal(q.json('run', status=1)['verdict'], 'rejected')
    code, _, err = q.call('bisect')
    tap.equal(code, 3)
    tap.has(err, 'has a switch')
    code, _, err = q.call('bisect', 'nonsense')
    tap.equal(code, 65)


tap.main(globals())
