#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/rooms finds what it says it finds: small trees with one fault each."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import tap  # noqa: E402

TOOL = os.path.join(tap.source_root(), 'tools', 'rooms')
HEADER = '/* What this room is for, said at such a length that a reader has learnt something. */\n'
GOOD = {
    'src/base/str.h': '',
    'src/base/str.c': '#include "base/str.h"\n#include <fcntl.h>\n',
    'src/base/proc.h': '',
    'src/base/file.h': 'int file_read(const char *path) MUST_USE;\n',
    'src/model/model.h': HEADER + '#include "base/str.h"\n',
    'src/model/stack.c': '#include "model/model.h"\n#include "base/str.h"\n#include <math.h>\n',
    'src/capture/capture.h': HEADER + '#include "model/model.h"\n',
    'src/capture/probe.h': '',
    'src/capture/probe_os.c': '#include "capture/probe.h"\n',
    'tests/machines/test_machines.c': '',
    'src/capture/os.c': '#include "capture/probe.h"\n#include "capture/capture.h"\n',
    'src/gpu/gpu.h': HEADER,
    'src/gpu/load.c': '#include "gpu/gpu.h"\nvoid *f(void)\n{\n\treturn dlopen("x", 1);\n}\n',
    'tests/unit/test_str.c': '', 'tests/unit/test_stack.c': '', 'tests/unit/test_os.c': '',
    'tests/unit/test_gpu_load.c': '',
}


def rooms(changes=None, *args):
    root = tap.folder()
    for path, text in dict(GOOD, **(changes or {})).items():
        if text is None:
            continue
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
    done = subprocess.run([sys.executable, TOOL, '--root', root, *args], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def refused(changes, because):
    code, text = rooms(changes)
    tap.has(text, because)
    tap.equal((code, text.splitlines()[-1]), (1, 'rooms: 1 faults'))


def test_a_good_tree_passes():
    tap.equal(rooms(), (0, ''))


def test_an_include_outside_the_table():
    refused({'src/gpu/load.c': '\n#include "model/model.h"\n'},
            'src/gpu/load.c:2: gpu may not include model')


def test_a_private_header_of_another_room():
    refused({'src/run/run.h': HEADER + '#include "capture/probe.h"\n'},
            'src/run/run.h:2: "capture/probe.h" is private to capture')


def test_an_include_without_a_room_or_file():
    refused({'src/capture/os.c': '#include "probe.h"\n'}, 'not of the form "room/name.h"')
    refused({'src/capture/os.c': '#include "capture/none.h"\n'}, '"capture/none.h" is not there')
    refused({'src/capture/os.c': '#include <capture/probe.h>\n'}, 'write "capture/probe.h"')


def test_a_cycle():
    code, text = rooms({'src/base/str.c': '#include "model/model.h"\n'})
    tap.has(text, 'cycle: base -> model -> base')


def test_dlopen_outside_gpu():
    refused({'src/capture/os.c': 'void f(void)\n{\n\tdlopen ("x", 1);\n}\n'},
            'src/capture/os.c:3: dlopen() outside gpu')


def test_a_pure_room_with_input_or_output():
    refused({'src/model/stack.c': '#include <sys/socket.h>\n'}, 'includes sys/socket.h')
    refused({'src/model/stack.c': '#include <time.h>\n'}, 'includes time.h')
    refused({'src/model/stack.c': '#include "base/proc.h"\n'}, 'includes base/proc.h')
    for call in ('fopen("a", "r")', 'getenv("A")', 'clock_gettime(0, 0)', 'time(NULL)',
                 'clock_ns()', 'file_read(p)'):
        refused({'src/model/stack.c': 'void f(void)\n{\n\tg(%s);\n}\n' % call}, 'pure room model')


def test_words_in_comments_and_strings_are_no_calls():
    tap.equal(rooms({'src/model/stack.c':
                     '/* like fopen() */\n// time()\nconst char *s = "getenv(A) \\" open(";\n'}),
              (0, ''))


def test_methods_of_a_struct_are_no_calls():
    tap.equal(rooms({'src/model/stack.c': 'int f(void)\n{\n\treturn r->read(1) + s.open(2);\n}\n'}),
              (0, ''))


def test_a_function_of_its_own_may_have_any_name():
    tap.equal(rooms({'src/model/stack.c': 'static int accept(int a)\n{\n\treturn a;\n}\n'
                                          'int f(void)\n{\n\treturn accept(1);\n}\n'}), (0, ''))


def test_printing_outside_cli():
    refused({'src/capture/os.c': 'void f(void)\n{\n\tputs("x");\n}\n'}, 'puts() in room capture')
    refused({'src/capture/os.c': 'void f(void)\n{\n\tfprintf(stderr, "x");\n}\n'},
            'writes to a standard stream')


def test_a_room_nobody_knows():
    code, text = rooms({'src/misc/misc.h': HEADER})
    tap.equal(code, 1)
    tap.has(text, 'src/misc: a room that is not in the table')


def test_a_room_without_a_header_that_explains():
    refused({'src/gpu/gpu.h': '/* short */\n'}, 'no comment that explains the room')
    code, text = rooms({'src/gpu/gpu.h': None})
    tap.equal(code, 1)
    tap.has(text, 'src/gpu: no public header gpu.h')


def test_a_source_file_without_a_test():
    refused({'tests/unit/test_os.c': None}, 'src/capture/os.c: no tests/unit/test_os.c')


def test_a_file_that_is_too_long():
    refused({'src/capture/os.c': '\n' * 1001}, 'src/capture/os.c: 1001 lines')


def test_counts_lines_by_room():
    code, text = rooms({'src/gpu/load.c': '/* one\n * two */\nint a;\n\nint b; /* c */\n'
                                          'const char *c =\n\t"text";\n'}, '--lines')
    tap.equal(code, 0)
    row = [line.split() for line in text.splitlines() if line.startswith('gpu ')]
    tap.equal(row, [['gpu', '2', '4', '3', '0']])


tap.main(globals())
