#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a careful Python client costs and how well it times, for bench_load to compare with.

    load_aiohttp.py URL STREAMS      prints: events, CPU ns, timing error p50, p99, max in ns
"""
import asyncio
import json
import resource
import sys
import time

import aiohttp


async def stream(session, url, i, stamps):
    body = {'messages': [{'role': 'user', 'content': 'hello'}], 'max_tokens': 64, 'stream': True}
    headers = {'X-Request-Id': 'py-%d' % i}
    got = stamps[i]
    async with session.post(url + '/v1/chat/completions', json=body, headers=headers) as r:
        async for line in r.content:
            if not line.startswith(b'data: {'):
                continue
            chunk = json.loads(line[6:])
            if chunk['choices'] and chunk['choices'][0]['delta'].get('content'):
                got.append(time.monotonic_ns())


async def main(url, streams):
    stamps = [[] for _ in range(streams)]
    timeout = aiohttp.ClientTimeout(total=120)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0),
                                     timeout=timeout) as session:
        before = resource.getrusage(resource.RUSAGE_SELF)
        await asyncio.gather(*(stream(session, url, i, stamps) for i in range(streams)))
        after = resource.getrusage(resource.RUSAGE_SELF)
        async with session.get(url + '/truth/events') as r:
            truth = [json.loads(line) for line in (await r.text()).splitlines()]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    errors = []
    for entry in truth:
        if entry['id'].startswith('py-'):
            ours = stamps[int(entry['id'][3:])]
            errors += [a - b for a, b in zip(ours, entry['sent'])]
    errors.sort()
    n = len(errors)
    print(n, int(cpu * 1e9), errors[n // 2], errors[n * 99 // 100], errors[-1])


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
