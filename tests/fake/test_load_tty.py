#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live display of `twice load` in a pseudo terminal, against the scripted server.

A small terminal is kept here (cursor up, carriage return, line feed, erase to the end of the line),
so that what is checked is what a person would see.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

TWICE = os.environ.get('TWICE_BIN', '')
FAKE = os.environ.get('TWICE_FAKE_SERVER', '')
SECONDS = 60


class Screen:
    """Rows of text under the few control sequences that are allowed to come."""

    def __init__(self, columns):
        self.columns, self.rows, self.row, self.col = columns, [''], 0, 0
        self.wrapped = self.strange = 0
        self.frames = []
        self.rest = ''

    def put(self, c):
        if self.col >= self.columns:
            self.wrapped += 1
        line = self.rows[self.row].ljust(self.col)
        self.rows[self.row] = line[:self.col] + c + line[self.col + 1:]
        self.col += 1

    def down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append('')

    def feed(self, data):
        text, self.rest = self.rest + data.decode('utf-8', 'replace'), ''
        i = 0
        while i < len(text):
            m = re.compile(r'\033\[(\d*)([A-Za-z])').match(text, i)
            if text[i] == '\033' and not m:
                self.rest = text[i:]
                return
            if m:
                i = m.end()
                if m.group(2) == 'A':
                    self.row = max(0, self.row - int(m.group(1) or 1))
                elif m.group(2) == 'K':
                    self.rows[self.row] = self.rows[self.row][:self.col]
                else:
                    self.strange += 1
                continue
            if text[i] == '\r':
                self.col = 0
            elif text[i] == '\n':
                self.down()
            else:
                self.put(text[i])
            i += 1
        self.frames.append('\n'.join(self.rows))

    def text(self):
        return '\n'.join(r.rstrip() for r in self.rows).rstrip()


class Server:
    def __init__(self, script, *more):
        if not TWICE or not FAKE:
            tap.skip('the program or the scripted server is not built here')
        # It ends with its standard input.
        self.child = subprocess.Popen([FAKE, '--script', script] + list(more),
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = 'http://127.0.0.1:%d' % int(self.child.stdout.readline().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()


class Play:
    """A run whose standard error is a terminal; its standard output is a pipe."""

    def __init__(self, server, *args, columns=100, env=(), until=None):
        self.screen = Screen(columns)
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        before = termios.tcgetattr(slave)
        full = {'LC_ALL': 'C', 'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent',
                'TERM': 'xterm-256color'}
        full.update(env)
        child = subprocess.Popen([TWICE, 'load', '--prompt', 'hi', '--client-lag', '5s'] +
                                 list(args) + [server.url], stdin=slave, stderr=slave,
                                 stdout=subprocess.PIPE, env=full, start_new_session=True)
        self.out, self.raw, end = b'', b'', time.monotonic() + SECONDS
        os.set_blocking(child.stdout.fileno(), False)
        while child.poll() is None and time.monotonic() < end:
            self.read(master, child.stdout.fileno())
            if until and until(self.screen):
                until = None
                child.send_signal(signal.SIGINT)
        if child.poll() is None:
            child.kill()
        self.read(master, child.stdout.fileno())
        child.wait()
        rest = child.stdout.read()
        child.stdout.close()
        self.out = (self.out + (rest or b'')).decode()
        self.status = child.returncode
        self.same_terminal = termios.tcgetattr(slave) == before
        os.close(slave)
        os.close(master)

    def read(self, master, out):
        ready, _, _ = select.select([master, out], [], [], 0.1)
        if master in ready:
            got = os.read(master, 65536)
            self.raw += got
            self.screen.feed(got)
        if out in ready:
            self.out += os.read(out, 65536)


def seen(play, pattern):
    tap.true(any(re.search(pattern, f) for f in play.screen.frames),
             '%r is in none of %d frames; the last: %r' % (
                 pattern, len(play.screen.frames), play.screen.frames[-1:]))


def clean(play):
    tap.equal(play.screen.wrapped, 0)
    tap.equal(play.screen.strange, 0)
    tap.true(play.same_terminal, 'the terminal is set otherwise than before')
    # Nothing of it is left on the screen.
    tap.equal(play.screen.text(), '')


def test_shows_what_the_run_is_doing():
    with Server('3*n=8,ttft=30ms,itl=5ms|status=503,ttft=0|end=cut,at=3,ttft=30ms,itl=1ms') as s:
        p = Play(s, '--rate', '40', '--arrival', 'constant', '--for', '1500ms')
    seen(p, r'load +(1|0) s left  [0-9.]+/s of [0-9.]+  \d+ in flight  \d+ ok')
    seen(p, r'\d+ http_status')
    seen(p, r'\d+ cut')
    seen(p, r'ttft [0-9.]+ ms/[0-9.]+ ms  itl [0-9.]+ (ms|us)/[0-9.]+ ms  e2e [0-9.]+ ms/')
    tap.true(len(p.screen.frames) >= 4, '%d frames' % len(p.screen.frames))
    clean(p)
    tap.has(p.out, 'errors')
    # What the rates say is what was asked for.
    rates = [float(m) for f in p.screen.frames
             for m in re.findall(r'/s of ([0-9.]+)', f)]
    tap.true(rates and abs(rates[-1] - 40) < 8, str(rates))


def test_a_narrow_terminal_is_not_wrapped_and_still_tells_of_errors():
    with Server('n=4,ttft=10ms,itl=2ms|status=503,ttft=0') as s:
        p = Play(s, '--rate', '40', '--for', '600ms', columns=60)
        seen(p, r'ok  \d+ http')
        clean(p)
        p = Play(s, '--rate', '40', '--for', '400ms', columns=12)
        clean(p)


def test_no_colours_and_none_where_a_terminal_can_do_nothing():
    with Server('n=4,ttft=10ms,itl=2ms') as s:
        p = Play(s, '--rate', '40', '--for', '400ms', env={'NO_COLOR': '1'})
        tap.true(b'm' not in re.findall(rb'\033\[[0-9;]*([A-Za-z])', p.raw), 'colours')
        clean(p)
        p = Play(s, '--rate', '40', '--for', '400ms', env={'TERM': 'dumb'})
        tap.true(b'\033' not in p.raw, 'sequences for a dumb terminal')


def test_quiet_shows_nothing():
    with Server('n=4,ttft=10ms,itl=2ms') as s:
        for args in (('--quiet',), ('--progress', 'none')):
            p = Play(s, '--rate', '40', '--for', '400ms', *args)
            tap.equal(p.raw, b'')
            tap.has(p.out, 'throughput')


def test_lines_of_json_are_lines_of_json_on_a_terminal_too():
    with Server('n=4,ttft=10ms,itl=2ms') as s:
        p = Play(s, '--rate', '40', '--for', '1300ms', '--progress', 'json', columns=400)
    lines = [json.loads(line) for line in p.screen.text().splitlines()]
    tap.true(len(lines) >= 1)
    tap.equal({line['schema'] for line in lines}, {'twice.load-progress/1'})
    tap.true(lines[0]['ttft_p50_ns'] >= 10000000 and lines[0]['in_flight'] >= 0)


def test_ctrl_c_gives_the_result_so_far():
    with Server('n=8,ttft=30ms,itl=5ms') as s:
        p = Play(s, '--rate', '40', '--for', '50s', '--json',
                 until=lambda screen: re.search(r' [1-9]\d* ok', screen.text()))
    tap.equal(p.status, 2)
    v = json.loads(p.out)
    tap.equal(v['interrupted'], True)
    tap.true(any(m['name'] == 'requests.ok' and m['value'] > 0 for m in v['metrics']))
    clean(p)
    with Server('n=8,ttft=30ms,itl=5ms') as s:
        p = Play(s, '--rate', '40', '--for', '50s',
                 until=lambda screen: re.search(r' [1-9]\d* ok', screen.text()))
    tap.has(p.out, 'INTERRUPTED')


tap.main(globals())
