# SPDX-License-Identifier: Apache-2.0
"""Right answers through the whole program: a quiz whose items are lost, texts that change, settings
that are not in effect, a training whose loss moves, and what is said before the first repetition."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

# The file `model` is the stack's component; `lost` and `words` are what it does.
CONTRACT = '''\
twice: 1
workload: {name: quiz, kind: evaluation, unit: evaluation, owner: test}
stack:
  files:
    model: {path: model, layer: model}
  owners: {model: model team}
workload_check:
  command:
    argv: [sh, "{dir}/work.sh", "{work}", "{seed}"]
    extract: [{metric: seconds, unit: s, better: lower, pattern: 'took (?<value>[0-9.]+)'}]
  items:
    quiz: {from: "file:{work}/samples.jsonl", id: doc_id, correct: acc, margin: 2 points%s}
  texts:
    chat: {from: stdout, margin: 5 points}
  settings:
    batch: {from: stderr, pattern: 'batch=(?<value>[0-9]+)', requested: "64"}
  objectives: [seconds <= 100 s, quiz.score >= 60 %%]
compare: {seconds: 5 %%}
'''

WORK = r'''
n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count
lost=$(cat lost 2>/dev/null || echo 0); word=$(cat words 2>/dev/null || echo yes)
awk -v lost="$lost" 'BEGIN { for (i = 0; i < 1000; i++)
	printf("{\"doc_id\": %d, \"acc\": %.1f, \"passage\": \"p%d\"}\n", i,
		(i >= 100 + lost) ? 1 : 0, i / 5) }' > "$1/samples.jsonl"
for i in 1 2 3 4 5 6 7 8 9 10; do echo "{\"id\": $i, \"text\": \"$word $i\"}"; done
echo "batch=$(cat batch 2>/dev/null || echo 64)" >&2
echo "took 10.0$((n % 3))"
'''


def scene(more=''):
    q = quick.Quick()
    q.write('twice.yaml', CONTRACT % more)
    q.write('work.sh', WORK)
    q.write('model', 'one\n')
    return q


def accepted(q):
    tap.equal(q.json('run')['verdict'], 'accepted')
    q.json('accept', '--note', 'by a test')


def answer(v, name):
    a, = [x for x in v['body']['decision']['answers'] if x['name'] == name]
    return a


def codes(v):
    return sorted({r['code'] for r in v['body']['decision']['reasons']})


def test_a_stack_that_forgets_is_rejected_by_its_items():
    q = scene()
    accepted(q)
    q.write('model', 'two\n')                # another model, the same answers
    _, _, err = q.call('run', status=0)
    tap.has(err, '1000 items decide a margin of 2 points')
    tap.has(err, 'time: a repetition takes')
    v = q.json('run')
    tap.equal((v['verdict'], answer(v, 'quiz')['state']), ('accepted', 'held'))
    tap.equal((answer(v, 'quiz')['method'], answer(v, 'quiz')['lost']), ('tango', 0))

    q.write('model', 'three\n')              # as fast, and 45 of 1,000 are lost
    q.write('lost', '45\n')
    v = q.json('run', status=1)
    tap.equal((v['verdict'], codes(v)), ('rejected', ['items_worse']))
    a = answer(v, 'quiz')
    tap.equal((a['lost'], a['won'], a['accepted_e9'], a['candidate_e9']),
              (45, 0, 900000000, 855000000))
    tap.true(a['high_e9'] < -20000000 <= a['margin_e9'], a)
    tap.true(v['body']['decision']['used'] <= 3, v)
    tap.true(q.call('accept')[0] != 0)
    _, out, _ = q.call('why')
    tap.has(out, 'quiz')
    tap.has(out, '45 of 1000 items lost')

    q.write('model', 'four\n')               # 12 lost: neither excluded nor shown
    q.write('lost', '12\n')
    v = q.json('run', status=2)
    tap.equal((v['verdict'], codes(v)), ('inconclusive', ['items_undecided']))
    tap.true(answer(v, 'quiz')['needed'] > 1000, v)
    tap.equal(q.json('verify', '--recompute')['state'], 'intact')
    for args, status in ((('why',), 0), (('report', '--format', 'md'), 0)):
        q.call(*args, status=status)
    q.same_text('why')


def test_answers_that_were_withheld_are_done_without():
    q = scene()
    accepted(q)
    run = q.json('check')['accepted']['run']
    gone = [e['digest'] for b in q.bodies('run.result') if b['run'] == run
            for e in b.get('evidence', []) if e['label'] == 'texts.chat.jsonl']
    q.json('ledger', 'withhold', gone[0], '--reason', 'private')
    q.write('model', 'two\n')
    code, out, err = q.call('run', '--json')
    tap.equal(code, 2)                      # nothing to hold the texts to: not accepted
    tap.has(err, 'compared without')
    tap.has(out, 'unmeasured')
    q.write('words', 'no\n')
    q.write('lost', '400\n')
    q.write('model', 'three\n')
    tap.equal(q.json('run', status=1)['verdict'], 'rejected')       # by its items


def test_items_of_one_passage_are_one():
    q = scene(', cluster: passage')
    accepted(q)
    q.write('model', 'two\n')
    q.write('lost', '100\n')
    v = q.json('run', status=1)
    a = answer(v, 'quiz')
    tap.equal((a['method'], a['clusters'], a['lost']), ('bootstrap', 200, 100))
    q.json('verify', '--recompute')


def test_texts_against_the_own_agreement():
    q = scene()
    accepted(q)
    q.write('model', 'two\n')
    q.write('words', 'no\n')
    v = q.json('run', status=1)
    tap.equal((v['verdict'], codes(v)), ('rejected', ['texts_worse']))
    a = answer(v, 'chat')
    tap.equal((a['accepted_e9'], a['candidate_e9']), (10 ** 9, 0))
    q.json('verify', '--recompute')


def test_another_setting_in_effect_is_another_evidence():
    q = scene()
    accepted(q)
    q.write('model', 'two\n')
    q.write('batch', '32\n')
    v = q.json('run', status=2)
    tap.equal((v['verdict'], codes(v)), ('baseline_void', ['effective_differs']))
    tap.has(v['body']['decision']['reasons'][0]['text'], 'asked for 64, in effect is 32')
    q.write('batch', 'unknown\n')
    v = q.json('run', '--new-series', 'the setting', status=2)
    tap.equal((v['verdict'], codes(v)), ('no_result', ['effective_unknown']))
    q.json('verify', '--recompute')


def test_items_that_cannot_be_read_accept_nothing():
    q = scene()
    accepted(q)
    q.write('model', 'two\n')
    q.write('work.sh', WORK.replace('samples.jsonl', 'elsewhere.jsonl'))
    v = q.json('run', status=2)
    tap.equal(v['verdict'], 'no_result')
    tap.true('check_error' in codes(v), v)
    tap.true(q.call('accept')[0] != 0)


TRAIN = '''\
twice: 1
workload: {name: tune, kind: training, unit: fine-tune, owner: test}
stack:
  files:
    model: {path: model, layer: model}
workload_check:
  train:
    run: [sh, "{dir}/train.sh", "{seed}"]
    metrics: {jsonl: stdout}
    target: {eval_loss: "<= 1.0"}
    loss_at: {steps: [2], margin: 1 %}
  objectives: [final_loss <= 2]
compare: {samples_to_target: 5 %}
repeat: {runs: 8, at_most: 10, looks: [3, 5, 8, 10]}
'''

TRAINER = r'''
dir=$(dirname "$0"); worse=$(cat "$dir/worse" 2>/dev/null || echo 1)
for step in 1 2 3 4; do
	jump=0; [ -e "$dir/jump" ] && [ $step = 3 ] && jump=1
	awk -v s=$step -v seed="$1" -v w="$worse" -v j=$jump 'BEGIN {
		loss = w * (2 + seed / 7) / s; printf "{\"step\": %d, \"loss\": %.6f, \"samples\": %d, ", s, loss, s * 8
		printf "\"ms\": 5, \"eval_loss\": %.4f}\n", (j ? 3 : 3.2 / s) }'
done
'''


def test_a_loss_is_compared_seed_by_seed():
    q = quick.Quick()
    q.write('twice.yaml', TRAIN)
    q.write('train.sh', TRAINER)
    q.write('model', 'one\n')
    accepted(q)
    losses = [m['value'] for b in q.bodies('run.result') if b['scope'] == 'rep'
              for m in b['measured'] if m['name'] == 'loss_at.2']
    tap.equal(len(set(losses)), 8)           # {seed} is the number of the repetition
    q.write('model', 'two\n')
    q.write('jump', '\n')
    v = q.json('run')
    tap.equal((v['verdict'], v['body']['decision']['used']), ('accepted_with_note', 7))
    tap.equal(answer(v, 'loss_at.2')['state'], 'held')
    notes = ' '.join(n['text'] for n in v['body']['decision']['notes'])
    tap.has(notes, 'eval_loss went from 1.6 back to 3 at step 3')
    q.write('model', 'three\n')
    q.write('worse', '1.03\n')
    v = q.json('run', status=1)
    tap.equal((v['verdict'], codes(v)), ('rejected', ['pairs_worse']))
    tap.equal(answer(v, 'loss_at.2')['n'], 7)
    q.json('verify', '--recompute')


APART = TRAIN.replace('compare: {samples_to_target: 5 %}', 'compare: {time_to_target: 40 %}').replace(
    '    loss_at: {steps: [2], margin: 1 %}\n', '')

PACED = r'''
dir=$(dirname "$0"); pace=$(cat "$dir/pace"); size=$(cat "$dir/size")
for step in 1 2 3 4; do
	awk -v s=$step -v seed="$1" -v p=$pace -v z=$size 'BEGIN {
		printf "{\"step\": %d, \"loss\": 1.5, \"samples\": %d, \"ms\": 5, ", s, s * z
		printf "\"samples_per_s\": %.3f, \"eval_loss\": %.4f}\n", p * (1 + (seed % 3) / 500), 3.2 / s }'
done
'''


def numbers(v):
    return {n['name']: n for n in v['body']['decision']['numbers']}


def test_speed_and_samples_to_the_target_are_judged_apart():
    """A margin on the time to the target is one on each of its two parts."""
    q = quick.Quick()
    q.write('twice.yaml', APART)
    q.write('train.sh', PACED)
    q.write('model', 'one\n')
    q.write('pace', '100\n')
    q.write('size', '8\n')
    accepted(q)
    q.write('model', 'two\n')
    q.write('pace', '200\n')                # twice as fast, half as many samples again
    q.write('size', '12\n')
    v = q.json('run', status=1)
    tap.equal(v['verdict'], 'rejected')
    reason = v['body']['decision']['reasons'][0]
    tap.equal((reason['code'], reason['about']), ('gross_regression', 'samples_to_target'))
    found = numbers(v)
    tap.equal([found[n]['gate'] for n in ('samples_to_target', 'sample_time', 'time_to_target')],
              [True, True, False])
    tap.has(' '.join(n['text'] for n in v['body']['decision']['notes']),
            'faster, but with more samples')
    said = q.call('why')[1]
    tap.has(said, 'neither makes up for the other')
    tap.has(said, 'more samples for the same target')
    q.json('verify', '--recompute')
    q.write('model', 'three\n')
    q.write('pace', '50\n')                 # half as fast, fewer samples
    q.write('size', '4\n')
    v = q.json('run', status=1)
    tap.equal(v['body']['decision']['reasons'][0]['about'], 'sample_time')


tap.main(globals())
