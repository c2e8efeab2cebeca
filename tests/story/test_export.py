# SPDX-License-Identifier: Apache-2.0
"""twice export and twice witness: what they write, read by others and on other machines."""
import base64
import hashlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import bare  # noqa: E402
import quick  # noqa: E402
import tap  # noqa: E402

SIGSTORE = 'application/vnd.dev.sigstore.bundle.v0.3+json'


def accepted():
    q = quick.Quick()
    q.json('run')
    q.json('accept', '--yes', '--note', 'a "quoted" note')
    return q


def read(q, name):
    with open(q.path(name), encoding='utf-8') as f:
        return f.read()


def openssl_verifies(q, envelope, public):
    """ECDSA over the DSSE PAE, by a program that has nothing of ours."""
    payload = base64.b64decode(envelope['payload'])
    kind = envelope['payloadType'].encode()
    pae = b'DSSEv1 %d %s %d %s' % (len(kind), kind, len(payload), payload)
    for name, data in (('pae', pae), ('sig', base64.b64decode(envelope['signatures'][0]['sig']))):
        with open(q.path(name), 'wb') as f:
            f.write(data)
    q.write('pub', public)
    done = subprocess.run(['openssl', 'dgst', '-sha256', '-verify', 'pub', '-signature', 'sig',
                           'pae'], cwd=q.dir, capture_output=True, text=True, check=False)
    tap.equal((done.returncode, done.stdout), (0, 'Verified OK\n'))
    return json.loads(payload)


def test_envelopes_of_a_run():
    q = accepted()
    v = q.json('export')
    lines = [json.loads(line) for line in read(q, 'twice.intoto.jsonl').splitlines()]
    tap.equal((len(lines), len(v['predicates'])), (3, 3))
    body = q.json('show', str(v['seq']))['entry']['body']
    for line, kind in zip(lines, v['predicates']):
        s = openssl_verifies(q, line, v['public_key'])
        tap.equal((s['_type'], s['predicateType']), ('https://in-toto.io/Statement/v1', kind))
        tap.equal([x['digest']['sha256'] for x in s['subject'] if x['name'] in
                   ('stack', 'contract')], [body['stack_digest'], body['contract']['digest']])
    ours, tests, vsa = [json.loads(base64.b64decode(x['payload']))['predicate'] for x in lines]
    tap.equal((ours['entry']['body'], tests['result'], vsa['verificationResult']),
              (body, 'PASSED', 'PASSED'))
    tap.equal(tests['failedTests'], [])
    tap.true('quick' in tests['passedTests'], tests)
    tap.equal(q.json('export', '--predicate', 'vsa')['predicates'],
              ['https://slsa.dev/verification_summary/v1'])
    tap.equal(os.stat(q.path('.twice', 'export.key')).st_mode & 0o777, 0o600)


def test_our_predicate_is_checked_without_us():
    q = accepted()
    q.json('export', '--format', 'statement')
    p = json.loads(read(q, 'twice.statement.json'))['predicate']
    entry = json.dumps(p['entry'], sort_keys=True, separators=(',', ':'), ensure_ascii=False)
    node = hashlib.sha256(b'\0' + entry.encode()).digest()
    tap.equal(node.hex(), p['leaf'])
    index, size = p['inclusionProof']['index'], p['inclusionProof']['treeSize']
    first, last = index, size - 1
    for x in map(base64.b64decode, p['inclusionProof']['hashes']):
        if first % 2 or first == last:
            node = hashlib.sha256(b'\1' + x + node).digest()
            while first % 2 == 0 and first:
                first, last = first // 2, last // 2
        else:
            node = hashlib.sha256(b'\1' + node + x).digest()
        first, last = first // 2, last // 2
    lines = p['checkpoint'].split('\n')
    tap.equal((lines[1], base64.b64decode(lines[2]), last), (str(size), node, 0))


def test_a_bundle_and_keys_of_ones_own():
    q = accepted()
    v = q.json('export', '--format', 'bundle')
    b = json.loads(read(q, 'twice.sigstore.json'))
    tap.equal((b['mediaType'], sorted(b['verificationMaterial'])),
              (SIGSTORE, ['publicKey', 'tlogEntries']))
    hint = base64.b64decode(b['verificationMaterial']['publicKey']['hint']).hex()
    tap.equal(hint, v['key_id'])
    openssl_verifies(q, b['dsseEnvelope'], v['public_key'])
    own = ['openssl', 'genpkey', '-out', q.path('own.pem'), '-algorithm']
    for how in (['ed25519'], ['EC', '-pkeyopt', 'ec_paramgen_curve:P-256']):
        subprocess.run(own + how, check=True, capture_output=True)
        os.chmod(q.path('own.pem'), 0o600)
        q.json('export', '--format', 'bundle', '--key', 'own.pem')
    subprocess.run(own + ['EC', '-pkeyopt', 'ec_paramgen_curve:P-384'], check=True,
                   capture_output=True)
    for key, mode, word in (('own.pem', 0o600, 'not an unencrypted P-256 or Ed25519 key'),
                            ('own.pem', 0o644, 'can be read by others'),
                            ('twice.yaml', 0o600, 'not an unencrypted'),
                            ('none', None, "no file 'none'")):
        if mode:
            os.chmod(q.path(key), mode)
        tap.has(q.json('export', '--key', key, status=65)['error']['message'], word)


def test_a_rejection_is_no_pass():
    q = accepted()
    q.write('speed', '50\n')
    q.json('run', status=1)
    for name, member, word in (('test-result', 'result', 'FAILED'),
                               ('vsa', 'verificationResult', 'FAILED')):
        v = q.json('export', '--format', 'statement', '--predicate', name, '--out', '-')
        p = json.loads(v['content'])['predicate']
        tap.equal(p[member], word)
    tap.equal(p['verifiedLevels'], ['FAILED'])
    tap.has(q.json('export', '--format', 'junit', '--out', '-')['content'], '<failure')
    tap.equal(json.loads(q.json('export', '--format', 'ctrf', '--out', '-')['content'])
              ['results']['extra']['verdict'], 'rejected')


def test_entries_and_runs_are_found_or_not():
    q = accepted()
    run = q.json('export', '--out', 'x')['run']
    tap.equal(q.json('export', run[-8:], '--out', 'x')['run'], run)
    v = q.json('export', '0', '--format', 'tlog-proof')
    tap.equal(read(q, 'twice.tlog-proof').splitlines()[0], 'c2sp.org/tlog-proof@v1')
    tap.equal(v['seq'], 0)
    tap.has(q.json('export', '#0', status=3)['error']['message'], 'is a ledger.genesis, no verdict')
    tap.has(q.json('export', 'nosuchrun', status=65)['error']['message'], 'nosuchrun')
    tap.has(q.json('export', '0', '--format', 'folder', status=64)['error']['message'], 'whole')
    q.json('export', '--format', 'folder', '--out', '-', status=64)


def test_text_is_the_rendered_json():
    q = accepted()
    for args in (('--format', 'statement', '--out', '-'), ('--format', 'junit'),
                 ('--format', 'tlog-proof')):
        q.same_text('export', *args)
    q.call('witness', 'key', '--name', 'w.example/1', status=0)
    for args in (('key',), ('log-key',), ('request',), ('list',)):
        q.same_text('witness', *args)


def test_the_folder_is_checked_without_twice():
    q = accepted()
    q.json('run')
    q.json('export', '--format', 'folder')
    folder = q.path('twice-export')
    done = bare.loop(folder)
    tap.equal(done.returncode, 0)
    tap.has(done.stdout, 'as they were written')
    tap.has(read(q, 'twice-export/life.txt'), 'a "quoted" note')
    # The same folder is a ledger to read, and is not overwritten.
    q.json('verify', folder)
    q.json('export', '--format', 'folder', status=74)
    q.json('export', '--ledger', folder, '--out', 'y', '--format', 'statement')
    tap.has(q.json('export', '--ledger', folder, '--out', 'y', status=3)['error']['message'],
            'no key to sign with')
    q.json('export', '--ledger', folder, '--out', 'again', '--format', 'folder')
    tap.equal(bare.loop(q.path('again')).returncode, 0)
    # One altered byte.
    path = os.path.join(folder, 'entries.jsonl')
    with open(path, 'rb') as f:
        data = f.read()
    with open(path, 'wb') as f:
        f.write(data.replace(b'quoted', b'qu0ted', 1))
    done = bare.loop(folder)
    tap.equal(done.returncode, 1)
    tap.has(done.stdout, 'does not follow')


def test_two_machines():
    q = accepted()
    w = quick.Quick()                       # another folder, another HOME
    _, key, _ = w.call('witness', 'key', '--name', 'witness.example/w1', status=0)
    _, log, _ = q.call('witness', 'log-key', status=0)
    key, log = key.strip(), log.strip()

    def cosign(status=0, more=()):
        q.call('witness', 'request', '--out', 'request', status=0)
        shutil.copy(q.path('request'), w.path('request'))
        return w.json('witness', 'cosign', 'request', '--out', 'answer', *more, status=status)

    tap.has(cosign(65)['error']['message'], 'not known to this witness')
    v = cosign(0, ('--log', log))
    tap.equal((v['cosigned'], v['seen']), (True, 0))
    shutil.copy(w.path('answer'), q.path('answer'))
    tap.has(q.json('witness', 'import', 'answer', status=65)['error']['message'], 'no cosignature')
    v = q.json('witness', 'import', 'answer', '--witness', key)
    tap.equal((v['witness'], v['added']), ('witness.example/w1', True))
    tap.equal(q.json('verify')['after_anchor'], q.json('verify')['size'])
    v = q.json('verify', '--witness', key)
    tap.equal(v['after_anchor'], 1)
    tap.equal([a['vouched'] for a in v['anchors'] if a['cosigned']], [True])
    q.json('verify', '--witness', 'rubbish', status=65)
    # The proof of an entry carries what the witness said.
    tap.has(q.json('export', '--format', 'tlog-proof', '--out', '-')['content'],
            '\N{EM DASH} witness.example/w1 ')
    # It goes on; an older copy of the ledger does not.
    shutil.copytree(q.path('.twice'), q.path('old'))
    q.json('run')
    v = cosign()
    tap.true(v['cosigned'] and v['seen'] > 0)
    shutil.copytree(q.path('old'), w.path('old'))
    tap.has(w.json('witness', 'cosign', 'old', status=1)['error']['message'], 'rollback')
    tap.equal([x['forks'] for x in w.json('witness', 'list')['logs']], [0])


def post(port, body, path='/add-checkpoint', **headers):
    """Status, content type and text of one request."""
    link = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    link.request('GET' if body is None else 'POST', path,
                 None if body is None else body.encode(), headers)
    done = link.getresponse()
    text = done.read().decode()
    link.close()
    return done.status, done.headers['Content-Type'], text


def raw(port, data):
    with socket.create_connection(('127.0.0.1', port), timeout=60) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        got = b''
        while True:
            part = s.recv(4096)
            if not part:
                return got.decode()
            got += part


def test_a_witness_on_the_network():
    q = accepted()
    w = quick.Quick()
    _, key, _ = w.call('witness', 'key', '--name', 'witness.example/w1', status=0)
    _, log, _ = q.call('witness', 'log-key', status=0)
    origin = log.split('+', maxsplit=1)[0]
    monitor = '/%s/checkpoint' % hashlib.sha256(origin.encode()).hexdigest()
    first = q.json('witness', 'request', '--since', '0')['content']
    shutil.copytree(q.path('.twice'), q.path('old'))
    q.json('run')
    second = q.json('witness', 'request', '--since', '0')['content']
    server = w.start('witness', 'serve', '--listen', '127.0.0.1:0', '--log', log.strip(), '--json')
    try:
        port = int(re.search(r'port (\d+)', server.stderr.readline()).group(1))
        tap.equal(post(port, None, monitor)[0], 404)
        status, kind, lines = post(port, second)
        tap.equal((status, kind), (200, 'text/plain; charset=utf-8'))
        q.write('answer', lines)
        v = q.json('witness', 'import', 'answer', '--witness', key.strip())
        tap.equal(post(port, None, monitor)[0], 200)
        tap.has(post(port, None, monitor)[2], lines)
        # It says where it is; it does not go back; it knows nobody else.
        tap.equal(post(port, q.json('witness', 'request', '--since', '0')['content']),
                  (409, 'text/x.tlog.size', '%d\n' % v['size']))
        tap.equal(post(port, first), (409, 'text/x.tlog.size', '%d\n' % v['size']))
        tap.equal(post(port, second.replace(origin, origin + 'x'))[0], 404)
        at = second.rindex(' ') + 20
        tap.equal(post(port, second[:at] + ('A' if second[at] != 'A' else 'B') +
                       second[at + 1:])[0], 403)
        tap.equal(post(port, q.json('witness', 'request')['content'])[0], 200)
        # The owner's other history, as long as the one that was seen and longer.
        q.call('log', '--ledger', 'old', status=0)
        shutil.move(q.path('.twice'), q.path('new'))
        shutil.move(q.path('old'), q.path('.twice'))
        seen = int(post(port, first)[2])
        while q.json('verify')['size'] <= seen:
            q.json('run', '--new-series', 'another history')
        other = q.json('witness', 'request', '--since', str(seen))['content']
        tap.equal(post(port, other)[0], 422)
        for body, want in (('', 400), ('old 1', 400), ('x' * 70000, 413)):
            tap.equal(post(port, body)[0], want)
        tap.equal(post(port, 'x', '/elsewhere')[0], 404)
        tap.equal(post(port, None, '/../witness.key')[0], 404)
        for data, want in ((b'', 400), (b'GET\r\n\r\n', 400), (b'\0' * 20000, 400),
                           (b'PUT / HTTP/1.1\r\n\r\n', 405),
                           (b'POST /add-checkpoint HTTP/1.1\r\n\r\n', 411),
                           (b'POST /add-checkpoint HTTP/1.1\r\nContent-Length: -1\r\n\r\n', 400),
                           (b'POST /add-checkpoint HTTP/1.1\r\nContent-Length: 9\r\n\r\nx', 400)):
            tap.has(raw(port, data), 'HTTP/1.1 %d ' % want)
    finally:
        server.terminate()
    out, _ = server.communicate(timeout=60)
    tap.equal(server.returncode, 0)
    v = json.loads(out)
    tap.equal((v['signed'], v['refused'] > 3), (2, True))
    tap.equal([x['forks'] for x in w.json('witness', 'list')['logs']], [1])
    w.json('witness', 'serve', '--listen', 'nowhere', status=64)


def test_a_copy_in_another_place():
    q = accepted()
    os.mkdir(q.path('elsewhere'))
    q.json('witness', 'place', 'elsewhere')
    v = q.json('verify', '--anchor', q.path('elsewhere'))
    tap.equal(v['after_anchor'], 1)
    tap.equal(q.json('show', str(v['size'] - 1))['entry']['kind'], 'anchor')
    q.json('witness', 'place', '.twice', status=64)


tap.main(globals())
