# SPDX-License-Identifier: Apache-2.0
"""TAP for tests written in Python: functions named test_..., run in the order they stand.

    import tap

    def test_adds_up():
        tap.equal(1 + 1, 2)

    tap.main(globals())

A test fails by any exception, is skipped by tap.skip(reason), and finds an empty folder of its own
by tap.folder().
"""
import atexit
import difflib
import os
import shutil
import sys
import tempfile
import traceback

_folders = []


class Skip(Exception):
    pass


def skip(reason):
    raise Skip(reason)


def folder():
    path = tempfile.mkdtemp(prefix='twice-test-')
    _folders.append(path)
    return path


def source_root():
    return os.environ.get('TWICE_SRC') or os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def true(what, message='not true'):
    if not what:
        raise AssertionError(message)


def equal(got, want):
    if got == want:
        return
    if isinstance(got, str) and isinstance(want, str):
        raise AssertionError('\n' + '\n'.join(difflib.unified_diff(
            want.splitlines(), got.splitlines(), 'want', 'got', lineterm='')))
    raise AssertionError('got %r, want %r' % (got, want))


def has(text, part):
    if part not in text:
        raise AssertionError('%r is not in\n%s' % (part, text))


def _remove_folders():
    while _folders:
        shutil.rmtree(_folders.pop(), ignore_errors=True)


atexit.register(_remove_folders)


def main(names):
    """names: the globals() of the test file, or a list of (name, function)."""
    if isinstance(names, dict):
        names = [(k[5:], v) for k, v in names.items() if k.startswith('test_') and callable(v)]
    print('1..%d' % len(names))
    bad = 0
    for number, (name, function) in enumerate(names, 1):
        try:
            function()
            print('ok %d - %s' % (number, name))
        except Skip as why:
            print('ok %d - %s # SKIP %s' % (number, name, why))
        except Exception as err:  # pylint: disable=broad-except
            bad += 1
            text = str(err) if isinstance(err, AssertionError) else traceback.format_exc()
            for line in text.splitlines() or ['failed']:
                print('# ' + line)
            print('not ok %d - %s' % (number, name))
        _remove_folders()
        sys.stdout.flush()
    sys.exit(1 if bad else 0)
