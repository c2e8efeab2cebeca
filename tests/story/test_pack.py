#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What leaves the house: the evidence of a rejection, without the secrets that were planted."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402
import tap  # noqa: E402

SECRETS = ('ghp_' + 'aB3dE6gH9j' * 3 + 'kL12mN', 'hf_' + 'QwErTyUiOp' * 3 + 'AsDf',
           'Tr0ub4dor-and-3', 'eyJhbGciOi' + 'JIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkw.c2lnbmF0dXJl')
LINES = ('Authorization: Bearer %s', 'using HF_TOKEN=%s', 'postgres://me:%s@db.example/x',
         'token %s')


def rejected():
    """A quick workload whose log and contract hold secrets and a known line, and a rejection."""
    q = quick.Quick()
    q.accepted()
    with open(q.path('work.sh'), encoding='utf-8') as f:
        work = f.read()
    said = ''.join("echo '%s'\n" % (line % secret) for line, secret in zip(LINES, SECRETS))
    known = 'echo "cache in $HOME/.cache"\n'
    known += "echo 'HSA_STATUS_ERROR_OUT_OF_RESOURCES: Available Free mem : 0 MB' >&2\n"
    q.write('work.sh', said + said.replace("'\n", "' >&2\n") + known + work)
    q.write('speed', '50\n')
    q.json('run', status=1)
    return q


def files_of(folder):
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, encoding='utf-8') as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


def test_the_bundle_has_the_evidence_and_no_secret():
    q = rejected()
    v = q.json('why', '--pack', 'bundle')
    found = files_of(q.path('bundle'))
    tap.equal(sorted(found), sorted(v['packed']))
    for name in ('README.md', 'verdict.json', 'stack-difference.txt', 'samples.csv', 'commands.txt',
                 'contract.yaml', 'stack.json'):
        tap.true(found.get(name), name)
    for name, text in found.items():
        for secret in SECRETS:
            tap.true(secret not in text, '%s has a secret' % name)
    tap.has(found['stack-difference.txt'], 'kernellib kernel')
    tap.has(found['README.md'], 'rejected')
    tap.has(found['contract.yaml'], 'work.sh')
    rows = found['samples.csv'].splitlines()
    tap.true(any(r.startswith('accepted,') for r in rows) and
             any(r.startswith('candidate,') for r in rows), rows)
    logs = ''.join(text for name, text in found.items() if name.startswith('logs/'))
    tap.has(logs, 'OUT_OF_RESOURCES')
    tap.has(logs, '[redacted]')
    for name, text in found.items():
        tap.true(q.home not in text, '%s names the home folder' % name)
    code, _, err = q.call('why', '--pack', 'bundle')
    tap.true(code != 0, 'it wrote over a bundle')
    tap.has(err, 'there already')


def test_an_archive_holds_the_same():
    q = rejected()
    q.json('why', '--pack', 'plain')
    q.json('why', '--pack', 'packed.tar.zst')
    if not shutil.which('tar') or not shutil.which('zstd'):
        tap.skip('no tar or no zstd here')
    subprocess.run(['tar', '--zstd', '-xf', 'packed.tar.zst'], cwd=q.dir, check=True, timeout=60)
    tap.equal(files_of(q.path('packed')), files_of(q.path('plain')))


PLANTED = ('gpunode17', '10.20.30.41', 'fe80::a1b2:3ff:fe04:5', '02:42:ac:11:00:02', 'asmith',
           '4f3c9a10-1b2c-3d4e-5f60-718293a4b5c6', '1650522003820', 'llm7.dc.bigcorp.example')
PLACES = ('gpunode17:4711:4790 [0] NCCL INFO NET/IB', 'peer 10.20.30.41:29500 and fe80::a1b2:3ff:fe04:5',
          'link/ether 02:42:ac:11:00:02', '/home/asmith/venv/lib/x.so',
          'UUID: GPU-4f3c9a10-1b2c-3d4e-5f60-718293a4b5c6', 'Serial Number : 1650522003820',
          'GET http://llm7.dc.bigcorp.example:8000/v1')


def test_names_and_addresses_of_others_have_placeholders_in_every_file():
    q = quick.Quick()
    with open(q.path('twice.yaml'), encoding='utf-8') as f:
        contract = f.read()
    notes = ''.join('# %s\n' % line for line in PLACES)
    q.contract(text=contract.replace('twice: 1\n', 'twice: 1\n' + notes))
    q.accepted()
    with open(q.path('work.sh'), encoding='utf-8') as f:
        work = f.read()
    said = ''.join("echo '%s' >&2\n" % line for line in PLACES)
    q.write('work.sh', said + "echo 'HSA_STATUS_ERROR_OUT_OF_RESOURCES: Available Free mem : 0 MB'"
            " >&2\n" + work)
    q.write('speed', '50\n')
    q.json('run', status=1)
    q.json('why', '--pack', 'bundle')
    found = files_of(q.path('bundle'))
    for name, text in found.items():
        for planted in PLANTED:
            tap.true(planted not in text and planted not in name, (name, planted))
    logs = ''.join(text for name, text in found.items() if name.startswith('logs/'))
    hosts = ['<host-1>', '<host-3>', '<ip-1>', '<ip-2>', '<mac-1>', '<user-1>', '<uuid-1>']
    for there in hosts + ['<serial-1>', 'OUT_OF_RESOURCES']:
        tap.has(logs, there)
    for line in found['contract.yaml'].splitlines():
        if line.startswith('# ') and '<' in line:
            tap.has(logs, line[2:])          # the same name, the same placeholder


tap.main(globals())
