# SPDX-License-Identifier: Apache-2.0
"""examples/smallgpt/evaluate.yaml as its README plays it: a model is trained and scored, its weights
are rounded to eight bits and to three, and only the answers that are lost decide."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

PYTHON = '/usr/bin/python3'
EXAMPLE = os.path.join(tap.source_root(), 'examples', 'smallgpt')


def numpy_there():
    return os.access(PYTHON, os.X_OK) and subprocess.run(
        [PYTHON, '-c', 'import numpy'], capture_output=True, check=False, timeout=60).returncode == 0


def recall(v):
    a, = v['body']['decision']['answers']
    return a


def test_rounded_weights_are_judged_by_the_answers_they_cost():
    if not numpy_there():
        tap.skip(PYTHON + ' has no numpy (package python3-numpy)')
    q = quick.Quick()
    for name in ('data.py', 'evaluate.py', 'model.py', 'setting', 'train.py'):
        shutil.copy(os.path.join(EXAMPLE, name), q.path(name))
    shutil.copy(os.path.join(EXAMPLE, 'evaluate.yaml'), q.path('twice.yaml'))
    q.write('weights.env', '')
    subprocess.run([PYTHON, q.path('train.py'), '--out', q.path('model'), '--steps', '80', '--log',
                    q.path('log')], check=True, capture_output=True, timeout=120,
                   env=dict(os.environ, OPENBLAS_NUM_THREADS='1'))
    tap.equal(q.json('run')['verdict'], 'accepted')
    q.json('accept', '--note', 'by a test')

    def bits(n):
        subprocess.run([q.path('setting'), 'set', q.path('weights.env'), 'WEIGHT_BITS', n],
                       check=True, timeout=60)

    bits('8')
    v = q.json('run')
    tap.equal((v['verdict'], recall(v)['state'], recall(v)['lost']), ('accepted', 'held', 0))
    tap.true(recall(v)['n'] >= 500, recall(v))
    bits('3')
    v = q.json('run', status=1)
    tap.equal((v['verdict'], recall(v)['state']), ('rejected', 'worse'))
    tap.true(recall(v)['lost'] > 100 and recall(v)['won'] == 0, recall(v))
    tap.equal(v['body']['attribution']['component'], 'env.WEIGHT_BITS')

    # What check and the reports say of it.
    c = q.json('check', status=1)
    tap.equal((c['last_run']['verdict'], c['last_run']['component'], c['last_run']['this_stack']),
              ('rejected', 'env.WEIGHT_BITS', True))
    q.same_text('check', status=1)
    # A variable's switch goes by its name alone: nothing is left without a way back.
    back = q.json('rollback')
    tap.equal((back['no_switch_for'], [s['component'] for s in back['steps']]), ([], ['WEIGHT_BITS']))

    for name, words in (('html', '<th scope="row">recall</th>'), ('md', '| recall | ')):
        q.call('report', '--format', name, '--out', q.path('page'), status=0)
        with open(q.path('page'), encoding='utf-8') as f:
            tap.has(f.read(), words)


tap.main(globals())
