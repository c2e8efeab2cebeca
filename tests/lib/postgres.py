# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server for a test, in a folder of its own and on a socket there.

    server = postgres.Server()              tap.Skip where there is none
    server.sql('CREATE DATABASE one'); server.socket
    server.stop()
"""
import glob
import os
import shutil
import subprocess
import tempfile

import quick
import tap


class Server:
    """before: words in front of the server's program; listen: addresses, trusted from 10.0.0.0/8."""
    def __init__(self, before=(), listen=''):
        found = sorted(glob.glob('/usr/lib/postgresql/*/bin'), key=lambda p: int(p.split('/')[4]))
        if not found:
            tap.skip('no PostgreSQL server here')
        self.bin, self.dir = found[-1], tempfile.mkdtemp(prefix='twice-pg-', dir='/tmp')
        os.chmod(self.dir, 0o777)
        # It does not run as root.
        self.user = ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'] \
            if os.geteuid() == 0 else []
        data = os.path.join(self.dir, 'data')
        self.call('initdb', '-D', data, '-A', 'trust', '-U', 'twice', '--no-sync', '-E', 'UTF8',
                  '--locale=C')
        if listen:
            with open(os.path.join(data, 'pg_hba.conf'), 'a', encoding='utf-8') as f:
                f.write('host all all 10.0.0.0/8 trust\n')
        self.process = subprocess.Popen(
            [*before, *self.user, os.path.join(self.bin, 'postgres'), '-D', data, '-c', 'listen_addresses=' + listen,
                         '-c', 'unix_socket_directories=' + self.dir, '-c', 'fsync=off', '-c',
                         'shared_buffers=16MB'], cwd=self.dir, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.socket = os.path.join(self.dir, '.s.PGSQL.5432')
        quick.wait_for(lambda: subprocess.run(
            [os.path.join(self.bin, 'pg_isready'), '-q', '-h', self.dir, '-d', 'postgres'],
            check=False).returncode == 0)

    def call(self, program, *args):
        subprocess.run(self.user + [os.path.join(self.bin, program), *args], cwd=self.dir, check=True,
                       stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    def sql(self, text, database='postgres'):
        done = subprocess.run([os.path.join(self.bin, 'psql'), '-qXtA', '-h', self.dir, '-U', 'twice',
                               '-d', database, '-c', text], capture_output=True, text=True,
                              check=True)
        return done.stdout.strip()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
