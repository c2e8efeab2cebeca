# SPDX-License-Identifier: Apache-2.0
"""The shell blocks of the man pages, run where only the programs they name can be found.

    done = bare.run(bare.block('twice-ledger.5', 'octal='), bare.LOOP, folder)
"""
import os
import re
import shutil
import subprocess

import tap

LOOP = ('sha256sum', 'tr', 'base64', 'awk', 'ssh-keygen')


def block(page, first):
    """The literal block of man/PAGE.scd that begins with `first`, as a reader of the page sees it."""
    with open(os.path.join(tap.source_root(), 'man', page + '.scd'), encoding='utf-8') as f:
        text = f.read()
    for found in re.findall(r'^```\n(.*?)^```$', text, re.M | re.S):
        if found.startswith(first):
            return re.sub(r'\\(.)', r'\1', found)
    raise AssertionError('%s has no block that begins with %r' % (page, first))


def run(script, programs, folder):
    """The script by /bin/sh with these programs alone; twice is not among them."""
    bin_dir = tap.folder()
    for name in programs:
        path = shutil.which(name, path='/usr/bin:/bin')
        if not path:
            tap.skip('no %s here' % name)
        os.symlink(path, os.path.join(bin_dir, name))
    return subprocess.run(['/bin/sh', '-c', script], cwd=folder, text=True, timeout=300, check=False,
                          env={'PATH': bin_dir, 'LC_ALL': 'C', 'TMPDIR': tap.folder()},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def loop(folder):
    return run(block('twice-ledger.5', 'octal='), LOOP, folder)
