# SPDX-License-Identifier: Apache-2.0
"""Searches over each kind of switch at once: a variable of the environment, a path, a virtual
environment, an image, a package, a module. The first three are real, the others are small scripts
that keep what is in place in a file. The workload sees each as a program would: in its environment,
through the link, by the interpreter that it starts. Then what two halves look like."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

WORDS = {'threads': ('1', '8'), 'rocblas': ('4.1', '4.2'), 'venv': ('a', 'b'),
         'engine': ('serve:1.0', 'serve:1.1'), 'torch': ('2.5', '2.6'), 'rocm': ('6.4', '7.0')}

CONTRACT = '''\
twice: 1
workload: {name: kinds, kind: batch, unit: item, owner: test}
stack:
  environment_file: settings.env
  files:
    rocblas: {path: rocblas/version, layer: kernellib}
    venv: {path: venv/name, layer: application}
    engine: {path: image.tag, layer: application}
    torch: {path: torch.version, layer: application}
    rocm: {path: modules, layer: kernellib}
  switch:
    threads: {set: [sh, "{dir}/switch.sh", variable, "{version}"],
              get: [sh, "{dir}/switch.sh", variable]}
    rocblas: {set: [ln, -sfn, "opt/rocblas-{version}", "{dir}/rocblas"],
              get: [sh, "{dir}/switch.sh", path]}
    venv: {set: [ln, -sfn, "venv-{version}", "{dir}/venv"], get: [sh, "{dir}/switch.sh", venv]}
    engine: {set: [sh, "{dir}/switch.sh", image, "{version}"],
             get: [sh, "{dir}/switch.sh", image]}
    torch: {set: [sh, "{dir}/switch.sh", package, "torch=={version}"],
            get: [sh, "{dir}/switch.sh", package]}
    rocm: {set: [sh, "{dir}/switch.sh", module, "rocm/{version}"],
           get: [sh, "{dir}/switch.sh", module]}
workload_check:
  command:
    argv: [sh, "{dir}/work.sh"]
    limit: 20 s
    extract: [{metric: speed, pattern: 'speed (?<value>[0-9.]+)', unit: tokens/s, better: higher}]
  objectives: [speed >= 10 tokens/s]
repeat: {runs: 5, at_most: 10}
compare: {speed: 5 %}
'''

SWITCH = '''\
cd "$(dirname "$0")" || exit 1
case $1 in
variable) [ $# -eq 1 ] && exec sed -n 's/^THREADS=//p' settings.env; echo "THREADS=$2" >settings.env ;;
path) basename "$(readlink rocblas)" | sed 's/^rocblas-//' ;;
venv) readlink venv | sed 's/^venv-//' ;;
image) [ $# -eq 1 ] && exec cat image.tag; echo "$2" >image.tag ;;
package) [ $# -eq 1 ] && exec cat torch.version; echo "${2#torch==}" >torch.version ;;
module) [ $# -eq 1 ] && { . ./modules; echo "${LOADED#rocm/}"; exit; }; echo "LOADED=$2" >modules ;;
esac
'''

# What a program has before it, in one line; `law` turns it into the loss in percent.
WORK = '''\
cd "$(dirname "$0")" || exit 1
n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n >count
. ./modules
threads=$THREADS rocblas=$(cat rocblas/version) venv=$(venv/bin/python -c 'import phrase; print(phrase.NAME)')
engine=$(cat image.tag) torch=$(cat torch.version) rocm=${LOADED#rocm/}
. ./law
echo "speed $((1000 - 10 * loss + (n * 7) % 11)).5"
'''

READY = tempfile.TemporaryDirectory(prefix='twice-test-')


def law(**loss):
    """So many percent for each of these that is new."""
    return 'loss=0\n' + ''.join('[ "$%s" != %s ] || loss=$((loss + %d))\n' % (n, WORDS[n][1], p)
                                for n, p in loss.items())


class Kinds(quick.Quick):
    def __init__(self, rule):
        super().__init__()
        if os.listdir(READY.name):
            shutil.copytree(READY.name, self.dir, dirs_exist_ok=True, symlinks=True)
        else:
            self.prepare()
            shutil.copytree(self.dir, READY.name, dirs_exist_ok=True, symlinks=True)
        self.write('law', rule)

    def prepare(self):
        self.contract(text=CONTRACT)
        self.write('work.sh', WORK)
        self.write('switch.sh', SWITCH)
        for v in WORDS['rocblas']:
            os.makedirs(self.path('opt/rocblas-' + v))
            self.write('opt/rocblas-%s/version' % v, v + '\n')
        for v in WORDS['venv']:
            subprocess.run(['/usr/bin/python3', '-m', 'venv', '--without-pip', self.path('venv-' + v)],
                           check=True)
            lib, = os.listdir(self.path('venv-%s/lib' % v))
            self.write('venv-%s/lib/%s/site-packages/phrase.py' % (v, lib), 'NAME = "%s"\n' % v)
            self.write('venv-%s/name' % v, v + '\n')
        self.write('law', law(threads=20))
        self.all_to(0)
        tap.equal(self.json('run')['verdict'], 'accepted')
        self.json('accept', '--note', 'by a test')
        self.all_to(1)
        tap.equal(self.json('run', status=1)['verdict'], 'rejected')

    def all_to(self, which):
        w = {name: words[which] for name, words in WORDS.items()}
        for link, to in (('rocblas', 'opt/rocblas-' + w['rocblas']), ('venv', 'venv-' + w['venv'])):
            subprocess.run(['ln', '-sfn', to, self.path(link)], check=True)
        self.write('settings.env', 'THREADS=%s\n' % w['threads'])
        self.write('image.tag', w['engine'] + '\n')
        self.write('torch.version', w['torch'] + '\n')
        self.write('modules', 'LOADED=rocm/%s\n' % w['rocm'])

    def now(self):
        kinds = {'threads': 'variable', 'rocblas': 'path', 'venv': 'venv', 'engine': 'image',
                 'torch': 'package', 'rocm': 'module'}
        return {name: subprocess.run(['sh', self.path('switch.sh'), kind], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout.strip()
                for name, kind in kinds.items()}


def found_alone(name):
    q = Kinds(law(**{name: 20}))
    v = q.json('bisect')
    tap.equal((v['state'], v['answer']['kind'], v['answer']['components']), ('found', 'one', [name]))
    tap.equal({c['component']: (c['old'], c['new']) for c in v['components']}, WORDS)
    tap.true(all(t['state'] == 'ok' for t in v['trials']), v['trials'])
    tap.equal((v['restored'], q.now()), (True, {n: w[1] for n, w in WORDS.items()}))


def test_a_variable_of_the_environment():
    found_alone('threads')


def test_a_path():
    found_alone('rocblas')


def test_a_virtual_environment():
    found_alone('venv')


def test_an_image():
    found_alone('engine')


def test_a_package():
    found_alone('torch')


def test_a_module():
    found_alone('rocm')


def test_two_that_bring_half_each():
    q = Kinds(law(venv=10, rocm=10))
    v = q.json('bisect')
    tap.equal((v['state'], v['answer']['kind'], v['answer']['components']),
              ('found', 'add', ['venv', 'rocm']))
    shares = {c['component']: c for c in v['components']}
    for name in ('venv', 'rocm'):
        tap.true(0.4e9 < shares[name]['share_e9'] < 0.6e9, shares[name])
        tap.true(shares[name]['low_e9'] < 0.5e9 < shares[name]['high_e9'], shares[name])
    q.same_text('bisect')

    # Measured by a full plan: each does something alone, both no more than their sum.
    f = q.json('bisect', '--factorial', 'venv,rocm')['factorial']
    tap.equal([c['new'] for c in f['cells']], [[], ['venv'], ['rocm'], ['venv', 'rocm']])
    for name in ('a', 'b'):
        tap.true(abs(f[name + '_e9'] - 0.105e9) < 0.03e9, f)
        tap.true(f[name + '_half_e9'] < f[name + '_e9'], f)
    tap.true(abs(f['interaction_e9']) < 0.04e9, f)


tap.main(globals())
