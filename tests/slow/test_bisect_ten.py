# SPDX-License-Identifier: Apache-2.0
"""examples/demo-bisect ten times (TWICE_PLAYS): real processes on a real clock, five components, one
of which matters. Each play has to end with that one; what each took is printed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402 pylint: disable=wrong-import-position

PLAYS = int(os.environ.get('TWICE_PLAYS', '10'))
FOUND = re.compile(r"^found (\w+) (\[.*\]) (\d+) trials$", re.M)


def play():
    """('one', "['blas']", trials, seconds), all steps of the story as told."""
    folder = tempfile.mkdtemp(prefix='twice-ten-')
    env = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'}
    start = time.monotonic()
    try:
        done = subprocess.run([os.path.join(os.environ['TWICE_SRC'], 'examples', 'demo-bisect'), folder],
                              env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False, timeout=900)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if re.search('^demo-bisect: .*apt-get install', done.stdout, re.M):
        tap.skip(done.stdout.strip().splitlines()[-1])
    found = FOUND.search(done.stdout)
    told = done.returncode == 0 and 'NOT SO' not in done.stdout
    return (*(found.groups() if found else ('nothing', '[]', '0')), time.monotonic() - start, told,
            done.stdout)


def test_the_search_ends_right_in_every_play():
    wrong = 0
    for number in range(1, PLAYS + 1):
        what, who, trials, seconds, told, text = play()
        right = told and (what, who) == ('one', "['blas']")
        wrong += not right
        print('# play %2d: %s %s, %s trials, %.0f s, load %.1f%s' % (
            number, what, who, trials, seconds, os.getloadavg()[0], '' if right else '  NOT RIGHT'),
            flush=True)
        if not right:
            print('#   ' + text[-3000:].replace('\n', '\n#   '), flush=True)
    tap.equal(wrong, 0)


tap.main(globals())
