# SPDX-License-Identifier: Apache-2.0
"""A store that is damaged is broken (exit 1) for everybody who reads it, in one way; evidence that is
gone is said by everybody who rests on it, and stops nobody who does not."""
import glob
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import quick  # noqa: E402 pylint: disable=wrong-import-position
import tap    # noqa: E402 pylint: disable=wrong-import-position

READERS = (('log',), ('show', '0'), ('report',), ('why',), ('export',), ('check',), ('diff',),
           ('key', 'list'), ('waive', 'list'), ('rollback', '--dry-run'), ('witness', 'request'))
TABLES = ('log', 'entry', 'entry_ref', 'signature', 'checkpoint', 'blob', 'node')


def sql(q, text):
    db = sqlite3.connect(q.path('.twice', 'ledger.db'))
    db.executescript('PRAGMA foreign_keys = OFF;' + text)
    db.commit()
    db.close()


def remove_store(q):
    for path in glob.glob(q.path('.twice', 'ledger.db*')):
        os.unlink(path)


def overwrite(q, data):
    remove_store(q)
    with open(q.path('.twice', 'ledger.db'), 'wb') as f:
        f.write(data)


def rejected():
    """An accepted run and a rejected one."""
    q = quick.Quick()
    q.accepted(100)
    q.write('speed', '50\n')
    q.call('run', status=1)
    return q


def broken(q, name, damage, *commands):
    """All say it, nobody writes, and it is the store that is named."""
    kept = q.path('kept')
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(q.path('.twice'), kept)
    try:
        for args in (*commands, ('verify',)):
            damage(q)
            code, out, err = q.call(*args)
            if code != 1:
                raise AssertionError('%s: twice %s: exit %d, want 1\n%s%s' % (
                    name, ' '.join(args), code, out, err))
            if args != ('verify',):
                tap.has(err, 'twice: ')
                tap.has(err, '.twice')
            shutil.rmtree(q.path('.twice'))
            shutil.copytree(kept, q.path('.twice'))
    finally:
        shutil.rmtree(q.path('.twice'))
        os.rename(kept, q.path('.twice'))


def test_a_table_that_is_gone():
    q = rejected()
    for i, table in enumerate(TABLES):
        some = READERS[i % 2::2]           # each command on every other table: it is one place that tells
        broken(q, table, lambda q, t=table: sql(q, 'DROP TABLE %s' % t), *some, ('run',), ('accept',))


def test_a_column_an_index_a_trigger_that_is_not_as_it_was():
    q = rejected()
    for text in ('ALTER TABLE entry RENAME COLUMN leaf TO sheet', 'DROP INDEX entry_ref_by_digest',
                 'DROP TRIGGER entry_in_order', 'CREATE TABLE more (x)', 'DELETE FROM log'):
        broken(q, text, lambda q, t=text: sql(q, t), ('log',), ('check',), ('report',))


def test_a_store_that_is_gone_empty_or_something_else():
    q = rejected()
    broken(q, 'gone', remove_store, *READERS, ('run',), ('accept',))
    broken(q, 'empty', lambda q: overwrite(q, b''), ('log',), ('check',), ('export',))
    broken(q, 'junk', lambda q: overwrite(q, b'x' * 9000), ('log',), ('check',), ('export',))


def test_lost_evidence_is_said():
    q = rejected()
    first = [v['run'] for v in q.bodies('verdict')][0]
    shutil.rmtree(q.path('.twice', 'blobs'))
    # Whoever only reads on says that something is not there any more.
    for args in (('why',), ('export', '--format', 'junit', '--out', q.path('junit.xml')),
                 ('export', '--format', 'intoto', '--out', q.path('a.jsonl')),
                 ('export', '--format', 'folder', '--out', q.path('folder')), ('report',)):
        _, out, _ = q.call(*args, status=0)
        tap.has(out, 'not there any more')
    for form, name in (('html', 'r.html'), ('md', 'r.md')):
        q.call('report', '--format', form, '--out', q.path(name), status=0)
        with open(q.path(name), encoding='utf-8') as f:
            text = f.read()
        tap.has(text, 'not there any more')
        tap.has(text, 'missing')
    tap.true(q.json('report', '--out', q.path('r.html'))['evidence_lost'] > 0)
    tap.equal(q.json('verify', status=2)['state'], 'incomplete')
    # What can't be told is not told: exit 2.
    code, _, err = q.call('diff')
    tap.equal(code, 2)
    tap.has(err, 'lost or withheld')
    v = q.json('check', status=2)
    tap.equal(v['state'], 'unknown')
    tap.has(v['reasons'][0], 'lost or withheld')
    # Equal digests are equal stacks, whatever is left of what they were made of.
    q.write('speed', '100\n')
    tap.equal(q.json('check')['state'], 'accepted')
    # And it stops nobody: the repetitions are in entries.
    q.write('speed', '101\n')
    v = q.json('run')
    tap.equal(v['verdict'], 'accepted')
    tap.true('changes' not in v['body'])
    _, _, err = q.call('accept', '--note', 'again', status=0)
    tap.has(err, 'since then: not known')
    tap.equal(q.json('check')['state'], 'accepted')
    tap.true(first != v['run'])


def test_nothing_is_said_where_all_is_there():
    q = rejected()
    for args in (('why',), ('report',), ('export', '--format', 'junit', '--out', q.path('junit.xml')),
                 ('export', '--format', 'folder', '--out', q.path('folder'))):
        _, out, _ = q.call(*args, status=0)
        tap.true('not there any more' not in out, out)
    tap.equal(q.json('report')['evidence_lost'], 0)


tap.main(globals())
