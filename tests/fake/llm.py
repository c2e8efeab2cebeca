#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A chat server that misbehaves on request, for the tests of the checks.

    llm.py PORT [word ...]     words: see behaviours in the code; state is kept in the current folder

Answers are the prompt's last word twice, token by token. The number of starts is counted in the file
`starts`, so that a second start can behave differently.
"""
import http.server
import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time

port = int(sys.argv[1])
words = set(sys.argv[2:])
starts = 1
if os.path.exists('starts'):
    with open('starts') as f:
        starts = int(f.read()) + 1
with open('starts', 'w') as f:
    f.write(str(starts))

if 'dies-at-once' in words:
    sys.exit('cannot load the model: HF_TOKEN=hf_' + 'a1b2c3d4e5' * 4)
if 'never-again' in words and starts > 1:
    sys.exit('the disk is gone')
if 'deaf' in words:                 # SIGTERM is not heard
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *a: os._exit(0))

answered = 0
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def send(self, status, text, kind='application/json'):
        body = text.encode()
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == '/health':
            self.send(503 if 'never-ready' in words else 200, '{}')
        elif self.path == '/v1/models':
            self.send(200, json.dumps({'data': [{'id': 'fake'}]}))
        elif self.path == '/metrics':
            self.send(200, 'requests_total %d\n' % answered, 'text/plain')
        else:
            self.send(404, '{}')

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
        self.wfile.flush()

    def do_POST(self):
        global answered
        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        with lock:
            answered += 1
            mine = answered
        if 'dies-under-load' in words and mine > 3:
            os._exit(9)
        if 'refuses' in words:
            self.send(500, '{"error": {"message": "no"}}')
            return
        word = asked['messages'][-1]['content'].split()[-1]
        tokens = [word + ' ', word]
        if ('wanders' in words and mine % 2 == 0) or ('forgets' in words and starts > 1):
            tokens = ['I ', 'forgot']
        if 'goes-on' in words:
            tokens.append(' and so on %d' % mine)
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        for k, token in enumerate(tokens):
            time.sleep(0.03 if 'slow' in words else 0.002)
            self.event({'choices': [{'index': 0, 'delta': {'content': token},
                                     'finish_reason': None}]})
        self.event({'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]})
        self.event({'choices': [], 'usage': {'prompt_tokens': 3, 'completion_tokens': len(tokens),
                                             'total_tokens': 3 + len(tokens)}})
        self.chunk('data: [DONE]\n\n')
        self.wfile.write(b'0\r\n\r\n')

    def event(self, value):
        value.update({'id': 'x', 'object': 'chat.completion.chunk', 'model': 'fake'})
        self.chunk('data: %s\n\n' % json.dumps(value))


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, address):
        pass


server = Server(('127.0.0.1', port), Handler)
# In a session of its own, holding the port; `child` has its number.
if 'leaves-a-child' in words or 'hides-a-child' in words:
    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],
                             pass_fds=[server.socket.fileno()], start_new_session=True,
                             env={} if 'hides-a-child' in words else None)
    with open('child', 'w') as f:
        f.write('%d\n' % child.pid)
if 'quiet' not in words:
    print('listening, OPENAI_API_KEY=sk-' + 'a1b2c3d4e5' * 4, flush=True)
server.serve_forever()
