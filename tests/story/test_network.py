# SPDX-License-Identifier: Apache-2.0
"""A run whose ledger is in PostgreSQL, over a relay that is cut and put together again: a real server in
a folder of its own. The run goes on, nothing is lost and nothing is there twice."""
import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import postgres  # noqa: E402 pylint: disable=wrong-import-position
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position


class Relay:
    """127.0.0.1:PORT to the server's socket; cut() drops all connections and takes no other."""
    def __init__(self, to):
        self.to, self.on, self.pairs, self.lose_answer_to = to, True, [], None
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if not self.on:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.to)
            self.pairs.append((client, server))
            for a, b, up in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.pump, args=(a, b, up), daemon=True).start()

    def pump(self, a, b, up):
        try:
            while True:
                data = a.recv(65536)
                if not data:
                    break
                if up and self.lose_answer_to and self.lose_answer_to in data:
                    self.lose_answer_to = None
                    a.shutdown(socket.SHUT_RDWR)   # the client hears no answer; it is done all the same
                    b.sendall(data)
                    b.recv(65536)
                    self.on = False
                    break
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.on = False
        for pair in self.pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs = []

    def mend(self):
        self.on = True


def scene(server, database):
    server.sql('CREATE DATABASE %s' % database)
    relay, q = Relay(server.socket), quick.Quick()
    where = 'postgresql://twice@127.0.0.1:%d/%s' % (relay.port, database)
    return relay, q, where


def sleepers(q):
    return [pid for pid, line in quick.processes_in(q.dir) if line.startswith('sleep 600')]


def running(q, where, *args):
    """A run that waits inside a repetition."""
    q.write('slow', '600')
    p = q.start('run', '--json', '--ledger', where, *args)
    quick.wait_for(lambda: sleepers(q))   # not the file: it is there a moment before
    return p


def go_on(q):
    """The waiting repetition ends, and no other one waits."""
    q.remove('slow')
    q.remove('started')
    for pid in sleepers(q):
        os.kill(pid, 15)


def whole(q, where, server, database, reps=5):
    """Every entry once, and the verdict again from the ledger alone."""
    v = q.json('verify', '--recompute', '--all', '--ledger', where, status=None)
    tap.equal([f for f in v['findings'] if f['severity'] != 'note'], [])
    kinds = server.sql("SELECT kind || coalesce(convert_from(bytes, 'UTF8')::json->'body'->>'scope', '')"
                       " FROM twice.entry ORDER BY seq", database).split()
    tap.equal(kinds.count('run.intentrep'), reps)
    tap.equal(kinds.count('run.resultrep'), reps)
    tap.equal((kinds.count('run.intentrun'), kinds.count('run.resultrun'), kinds.count('verdict')),
              (1, 1, 1))
    tap.equal(int(server.sql('SELECT count(DISTINCT bytes) - count(*) FROM twice.entry', database)), 0)


def ended(p):
    out, err = p.communicate(timeout=120)
    return p.returncode, json.loads(out), err


def test_a_run_goes_on_without_the_network_and_lands_with_the_next_command():
    relay, q, where = scene(SERVER, 'later')
    p = running(q, where)
    relay.cut()
    go_on(q)
    code, v, err = ended(p)
    tap.equal((code, v['verdict']), (0, 'accepted'))
    tap.has(err, "entries wait in")
    tap.true(os.path.exists(q.path('.twice', 'spool.jsonl')))
    code, _, err = q.call('log', '--ledger', where)
    tap.equal(code, 74)                       # not there, and that is said
    relay.mend()
    _, _, err = q.call('log', '--ledger', where, status=0)
    tap.has(err, 'have landed')
    tap.true(not os.path.exists(q.path('.twice', 'spool.jsonl')))
    whole(q, where, SERVER, 'later')
    q.json('accept', '--ledger', where)
    tap.equal(q.json('check', '--ledger', where)['state'], 'accepted')


def test_what_waits_lands_at_the_end_when_the_network_is_back():
    relay, q, where = scene(SERVER, 'back')
    p = running(q, where)
    relay.cut()
    go_on(q)
    quick.wait_for(lambda: os.path.exists(q.path('.twice', 'spool.jsonl')))
    relay.mend()
    code, v, err = ended(p)
    tap.equal((code, v['verdict']), (0, 'accepted'))
    tap.true('entries wait in' not in err, err)
    tap.true(not os.path.exists(q.path('.twice', 'spool.jsonl')))
    whole(q, where, SERVER, 'back')
    # What it printed are names of entries, not of what waited.
    tap.equal(q.json('show', v['verdict_entry'], '--ledger', where)['entry']['kind'], 'verdict')


def test_a_commit_whose_answer_is_lost_is_not_done_twice():
    relay, q, where = scene(SERVER, 'answer')
    p = running(q, where)
    relay.lose_answer_to = b'COMMIT'
    go_on(q)
    ended(p)
    tap.equal(relay.lose_answer_to, None)
    relay.mend()
    q.call('log', '--ledger', where, status=0)
    whole(q, where, SERVER, 'answer')


def test_a_ledger_is_copied_into_the_database_and_back():
    q = quick.Quick()
    q.accepted()
    root = q.json('ledger')['root']
    SERVER.sql('CREATE DATABASE copied')
    there = 'postgresql://twice:secretword@/copied?host=' + SERVER.dir
    v = q.json('ledger', 'copy', there)
    tap.equal((v['store'], v['root']), ('postgresql', root))
    tap.true('secretword' not in json.dumps(v), v)
    q.json('ledger', 'copy', there, status=74)                        # not onto one that is there
    tap.equal(q.json('check', '--ledger', there)['state'], 'accepted')
    q.write('speed', '101\n')
    q.json('run', '--ledger', there)
    q.call('run', status=1)          # the folder is behind its checkpoint: no fork by mistake
    for form in ('intoto', 'bundle', 'tlog-proof', 'tiles', 'junit', 'ctrf'):
        q.call('export', '--ledger', there, '--format', form, '--out', q.path('out.' + form), status=0)
    q.call('export', '--ledger', there, '--format', 'folder', '--out', q.path('audit'), status=0)
    tap.equal(q.json('verify', q.path('audit'))['state'], 'intact')
    root = q.json('ledger', '--ledger', there)['root']
    v = q.json('ledger', 'copy', q.path('back'), '--ledger', there)
    tap.equal((v['store'], v['root']), ('sqlite', root))
    tap.equal(q.json('verify', q.path('back'), '--recompute')['state'], 'intact')
    tap.equal(len(q.json('show', str(q.log('--kind', 'signoff', '--ledger', q.path('back'))[0]['seq']),
                         '--ledger', q.path('back'))['signatures']), 1)


def test_two_runs_at_once_one_of_them_cut():
    """As on two machines: each its own folder, contract and way to the server."""
    relay, q, where = scene(SERVER, 'two')
    other = quick.Quick()
    p = running(q, where)
    relay.cut()
    second = Relay(SERVER.socket)
    there = 'postgresql://twice@127.0.0.1:%d/two' % second.port
    tap.equal(other.json('run', '--ledger', there)['verdict'], 'accepted')
    go_on(q)
    ended(p)
    relay.mend()
    q.call('log', '--ledger', where, status=0)
    v = other.json('verify', '--all', '--ledger', there, status=None)
    tap.equal([f for f in v['findings'] if f['severity'] == 'broken'], [])
    tap.equal(SERVER.sql('SELECT count(*) - count(DISTINCT bytes) FROM twice.entry', 'two'), '0')
    tap.equal(SERVER.sql("SELECT count(*) FROM twice.entry WHERE kind = 'verdict'", 'two'), '2')


SERVER = None


def main():
    global SERVER  # pylint: disable=global-statement
    try:
        SERVER = postgres.Server()
    except tap.Skip as why:
        print('1..0 # SKIP %s' % why)
        return
    try:
        tap.main(globals())
    finally:
        SERVER.stop()


main()
