# SPDX-License-Identifier: Apache-2.0
"""Two machines and a server, each in a network namespace of its own, with a cable from each machine to
the server. A cable is pulled (the link goes down), or goes silent (what is sent is lost without a
word, as behind a firewall that lost its state): the run on that machine goes on, keeps its evidence
and lands it later; the run on the other machine and a reader beside it notice nothing.

The namespaces belong to processes that die with this one, so nothing of them outlives it.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import postgres  # noqa: E402 pylint: disable=wrong-import-position
import quick     # noqa: E402 pylint: disable=wrong-import-position
import tap       # noqa: E402 pylint: disable=wrong-import-position

NOWHERE = '02:00:00:00:00:99'     # no card has this address, so what goes there is heard by nobody
PATIENCE = 100                    # seconds; without our own limits TCP would wait for 15 minutes


def ip(*args):
    subprocess.run(['ip', *args], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)    # PR_SET_PDEATHSIG


class Namespace:
    """A network of its own, as long as its process lives."""
    def __init__(self):
        self.process = subprocess.Popen(['unshare', '--net', 'sleep', '3600'],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        self.pid = str(self.process.pid)
        ours = os.readlink('/proc/self/ns/net')
        quick.wait_for(lambda: self.process.poll() is not None or
                       os.readlink('/proc/%s/ns/net' % self.pid) != ours)
        if self.process.poll() is not None:
            tap.skip('no network namespace can be made here')
        self.into = ['nsenter', '--target', self.pid, '--net', '--']
        self.ip('link', 'set', 'lo', 'up')

    def ip(self, *args):
        subprocess.run([*self.into, 'ip', *args], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Cable:
    """10.77.NUMBER.2 on the machine's side, 10.77.NUMBER.1 on the server's."""
    def __init__(self, number, machine, server):
        self.machine, self.server, self.name = machine, server, 'cable%d' % number
        self.here, self.there = '10.77.%d.2' % number, '10.77.%d.1' % number
        ip('link', 'add', self.name, 'netns', machine.pid, 'type', 'veth', 'peer', 'name', self.name,
           'netns', server.pid)
        for side, address in ((machine, self.here), (server, self.there)):
            side.ip('address', 'add', address + '/24', 'dev', self.name)
            side.ip('link', 'set', self.name, 'up')

    def pull(self):
        self.machine.ip('link', 'set', self.name, 'down')

    def plug(self):
        self.machine.ip('link', 'set', self.name, 'up')

    def silence(self):
        for side, other in ((self.machine, self.there), (self.server, self.here)):
            side.ip('neighbour', 'replace', other, 'lladdr', NOWHERE, 'dev', self.name, 'nud',
                    'permanent')

    def speak(self):
        for side, other in ((self.machine, self.there), (self.server, self.here)):
            side.ip('neighbour', 'delete', other, 'dev', self.name)


class Machine(quick.Quick):
    """A folder with a workload on the machine at this end of a cable."""
    def __init__(self, cable):
        super().__init__()
        self.cable = cable

    def start(self, *args, env=None):
        return subprocess.Popen([*self.cable.machine.into, quick.BIN, *args], cwd=self.dir, env=self.env(env),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)


class Scene:
    def __init__(self):
        self.net, self.cables, self.server = Namespace(), [], None
        try:
            for number in (1, 2):
                self.cables.append(Cable(number, Namespace(), self.net))
            self.server = postgres.Server(before=self.net.into, listen='*')
        except BaseException:
            self.stop()
            raise

    def database(self, name):
        self.server.sql('CREATE DATABASE %s' % name)
        return ['postgresql://twice@%s/%s' % (c.there, name) for c in self.cables]

    def stop(self):
        if self.server:
            self.server.stop()
        for c in self.cables:
            c.machine.stop()
        self.net.stop()


class Reader(threading.Thread):
    """log, show and verify, again and again, as somebody who watches."""
    def __init__(self, machine, where):
        super().__init__(daemon=True)
        self.machine, self.where, self.on, self.rounds, self.bad = machine, where, True, 0, []
        self.start()

    def run(self):
        commands = ((('log', '--all', '--limit', '0'), (0,)), (('show', '0'), (0,)),
                    (('verify',), (0, 2)), (('check',), (0, 1)))   # 2: a run has no end yet
        while self.on:
            for args, fine in commands:
                code, _, err = self.machine.call(*args, '--ledger', self.where)
                if code not in fine:
                    self.bad.append((args, code, err))
            self.rounds += 1

    def end(self):
        self.on = False
        self.join(60)
        tap.equal(self.bad, [])
        tap.true(self.rounds > 0, 'the reader read nothing')


def sleepers(q):
    return [pid for pid, line in quick.processes_in(q.dir) if line.startswith('sleep 600')]


def waiting_run(q, where):
    """A run that waits inside a repetition."""
    q.write('slow', '600')
    p = q.start('run', '--json', '--ledger', where)
    quick.wait_for(lambda: sleepers(q))
    return p


def go_on(q):
    q.remove('slow')
    for pid in sleepers(q):
        os.kill(pid, 15)


def ended(p, seconds=PATIENCE):
    out, err = p.communicate(timeout=seconds)
    return p.returncode, json.loads(out), err


def refused(q, where, *args):
    """While the server is away: an error of the store, soon, that says what to do."""
    start = time.monotonic()
    code, _, err = q.call(*args, '--ledger', where)
    tap.equal(code, 74)
    tap.has(err, 'hint: ')
    tap.true(time.monotonic() - start < PATIENCE, '%s hangs' % args[0])


def spool_of(q):
    try:
        with open(q.path('.twice', 'spool.jsonl'), encoding='utf-8') as f:
            return [json.loads(line) for line in f]
    except FileNotFoundError:
        return []


def is_whole(q, where, name, verdicts):
    """Nothing lost, nothing there twice, and every verdict again from the ledger alone."""
    v = q.json('verify', '--recompute', '--all', '--ledger', where, status=None)
    tap.equal([f for f in v['findings'] if f['severity'] != 'note'], [])
    rows = SCENE.server.sql(
        "SELECT kind || coalesce(convert_from(bytes, 'UTF8')::json->'body'->>'scope', '')"
        " FROM twice.entry ORDER BY seq", name).split()
    for kind in ('run', 'rep'):
        tap.equal(rows.count('run.intent' + kind), rows.count('run.result' + kind))
    tap.equal(rows.count('verdict'), verdicts)
    tap.equal(SCENE.server.sql("SELECT count(*) - count(DISTINCT bytes) FROM twice.entry", name), '0')


def while_cut(name, cut, mend, one, two, first, second, here):
    cut(one.cable)
    go_on(two)
    tap.equal(ended(second)[0], 0)
    tap.equal(first.poll(), None)                   # the first one still waits in its repetition

    # What a person signs never waits for a server; a run can't begin without one.
    refused(one, here, 'accept')
    refused(one, here, 'waive', 'speed', '--limit', '>= 5 tokens/s', '--reason', 'r', '--owner', 'me',
            '--until', '30 days')
    refused(one, here, 'run')
    tap.equal(spool_of(one), [])

    start = time.monotonic()
    go_on(one)
    code, v, err = ended(first)
    took = time.monotonic() - start
    tap.equal((code, v['verdict']), (0, 'accepted'))
    tap.has(err, 'entries wait in')
    waits = spool_of(one)
    tap.true(len(waits) >= 3, 'only %d entries wait' % len(waits))
    print('# %s: the run ended %.1f s after its repetition, with %d entries kept beside' % (
        name, took, len(waits)))
    refused(one, here, 'log')
    tap.equal(spool_of(one), waits)

    mend(one.cable)
    quick.wait_for(lambda: one.call('log', '--ledger', here)[0] == 0, PATIENCE)
    tap.equal(spool_of(one), [])

    return v


def a_cut(name, cut, mend):
    one, two = (Machine(c) for c in SCENE.cables)
    here, there = SCENE.database(name)
    one.write('speed', '100\n')
    tap.equal(one.json('run', '--ledger', here)['verdict'], 'accepted')
    one.json('accept', '--ledger', here, '--note', 'by a test')
    two.write('speed', '100\n')
    one.write('speed', '101\n')                     # a new stack, so there is something to run
    first = waiting_run(one, here)
    second = waiting_run(two, there)                # two runs at once
    reader = Reader(two, there)
    try:
        v = while_cut(name, cut, mend, one, two, first, second, here)
    finally:
        reader.end()
    print('# %s: a reader beside it read everything %d times' % (name, reader.rounds))
    is_whole(two, there, name, 3)
    # What was signed and what waited are known to both machines.
    tap.equal(one.json('accept', '--ledger', here, '--note', 'by a test')['run'], v['run'])
    tap.equal(one.json('check', '--ledger', here)['state'], 'accepted')
    is_whole(one, here, name, 3)


def test_a_cable_is_pulled_in_the_middle_of_a_run():
    a_cut('pulled', Cable.pull, Cable.plug)


def test_a_network_goes_silent_in_the_middle_of_a_run():
    a_cut('silent', Cable.silence, Cable.speak)


SCENE = None


def main():
    global SCENE  # pylint: disable=global-statement
    try:
        if os.geteuid() != 0:
            tap.skip('only root makes network namespaces')
        SCENE = Scene()
    except tap.Skip as why:
        print('1..0 # SKIP %s' % why)
        return
    try:
        tap.main(globals())
    finally:
        SCENE.stop()


main()
