# SPDX-License-Identifier: Apache-2.0
"""A workload of a few milliseconds for tests of the whole program: a shell script that prints the
number in the file `speed`, with a last digit that goes round. The file is a component of the stack
and has a switch, so it stands for a library that can be changed.

    q = quick.Quick()                       a folder with the contract, scripts, its own HOME
    v = q.json('run')                       exit code checked to be the one in the value
    q.json('check', status=1)['state']
"""
import json
import os
import re
import signal
import subprocess
import time

import tap

BIN = os.environ.get('TWICE_BIN') or os.path.join(tap.source_root(), 'build', 'src', 'cli', 'twice')

CONTRACT = '''\
twice: 1
workload: {name: quick, kind: batch, unit: item, owner: test}
stack:
  files:
    kernel: {path: speed, layer: kernellib}
  owners: {kernel: kernel team}
  switch:
    kernel: {set: [sh, "{dir}/switch.sh", set, "{version}"], get: [sh, "{dir}/switch.sh", get]}
%s
workload_check:
  command:
    argv: [sh, "{dir}/work.sh"]
    limit: 20 s
    extract: [{metric: speed, pattern: 'speed (?<value>[0-9.]+)', unit: tokens/s, better: higher}]
  objectives: [speed >= 10 tokens/s]
repeat: {runs: 5, at_most: 10}
compare: {speed: 5 %%}
'''

WORK = '''\
n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count
[ -e slow ] && { touch started; sleep "$(cat slow)"; }
[ -e broken ] && exit 3
factor=$(cat hidden 2>/dev/null || echo 1)
echo "speed $(($(cat speed) / factor)).$((n % 3))"
'''

SWITCH = '''\
cd "$(dirname "$0")" || exit 1
case $1 in
set) echo "$2" > speed ;;
get) cat speed ;;
esac
'''


class Quick:
    def __init__(self, checks='', folder=None):
        self.dir = folder or tap.folder()
        self.home = os.path.join(self.dir, 'home')
        os.makedirs(self.home, exist_ok=True)
        self.write('work.sh', WORK)
        self.write('switch.sh', SWITCH)
        self.write('speed', '100\n')
        self.contract(checks)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as f:
            f.write(text)

    def remove(self, name):
        os.unlink(self.path(name))

    def contract(self, checks='', text=CONTRACT):
        self.write('twice.yaml', text % checks if '%s' in text else text)

    def env(self, more=None):
        env = {'PATH': os.environ['PATH'], 'HOME': self.home, 'LC_ALL': 'C', 'TZ': 'UTC'}
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS'):
            if name in os.environ:
                env[name] = os.environ[name]
        env.update(more or {})
        return env

    def start(self, *args, env=None):
        return subprocess.Popen([BIN, *args], cwd=self.dir, env=self.env(env),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def call(self, *args, status=None, env=None):
        p = self.start(*args, env=env)
        try:
            out, err = p.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
            raise AssertionError('twice %s does not end' % ' '.join(args)) from None
        if status is not None and p.returncode != status:
            raise AssertionError('twice %s: exit %d, want %d\n%s%s' % (
                ' '.join(args), p.returncode, status, out, err))
        return p.returncode, out, err

    def json(self, *args, status=0, env=None):
        code, out, err = self.call(*args, '--json', status=status, env=env)
        try:
            value = json.loads(out)
        except ValueError as bad:
            raise AssertionError('twice %s: %s\n%s%s' % (' '.join(args), bad, out, err)) from None
        tap.equal(value['exit'], code)
        return value

    def same_text(self, *args, status=0):
        """--render of the JSON is, byte for byte, what the command prints as text."""
        _, out, _ = self.call(*args, '--json', status=status)
        self.write('value.json', out)
        _, rendered, _ = self.call(args[0], '--render', self.path('value.json'), status=status)
        _, text, _ = self.call(*args, status=status)
        tap.equal(rendered, text)

    def log(self, *args):
        """Oldest first."""
        return self.json('log', '--limit', '0', *args)['entries'][::-1]

    def kinds(self):
        return [e['kind'] for e in self.log('--all')]

    def entry(self, name):
        return self.json('show', str(name))['entry']

    def bodies(self, kind):
        return [self.entry(e['seq'])['body'] for e in self.log('--kind', kind)]

    def accepted(self, speed=100):
        """Runs and signs."""
        self.write('speed', '%d\n' % speed)
        tap.equal(self.json('run')['verdict'], 'accepted')
        return self.json('accept', '--note', 'by a test')


def wait_for(what, seconds=30):
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            raise AssertionError('waited %d s in vain' % seconds)
        time.sleep(0.01)


def processes_in(folder):
    """(pid, command line) of every process whose working folder is below this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            cwd = os.readlink('/proc/%s/cwd' % pid)
            with open('/proc/%s/cmdline' % pid, 'rb') as f:
                line = f.read().replace(b'\0', b' ').decode(errors='replace')
        except OSError:
            continue
        if (cwd == folder or cwd.startswith(folder + '/')) and int(pid) != os.getpid():
            found.append((int(pid), line))
    return found


def no_process_left(folder, seconds=10):
    wait_for(lambda: not processes_in(folder), seconds)


def normal(text):
    return re.sub(r'\b[0-9a-f]{64}\b', '<DIGEST>', text)
