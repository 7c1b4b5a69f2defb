#!/usr/bin/env python3
"""Holds many streams open at once through a proxy, and prints how many came whole, as one line of JSON.

usage: proxy_streams.py PORT STREAMS EVENTS PAUSE_MS
"""
import asyncio
import json
import resource
import sys
import time

port, streams, events, pause = map(int, sys.argv[1:])
BODY = b'{"model": "stub", "prompt": "Two and two is", "max_tokens": 200, "stream": true}'
REQUEST = (f"POST /v1/completions HTTP/1.1\r\nHost: proxy\r\nContent-Type: application/json\r\nX-Events: {events}\r\n"
           f"X-Pause-Ms: {pause}\r\nContent-Length: {len(BODY)}\r\nConnection: close\r\n\r\n").encode() + BODY


async def stream(seen):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(REQUEST)
    text = await reader.readuntil(b"data: ")
    seen["open"] += 1
    seen["most"] = max(seen["most"], seen["open"])
    text += await reader.read(-1)
    seen["open"] -= 1
    writer.close()
    # A proxy may cut the stream in chunks of its own, never the events themselves.
    seen["whole"] += text.count(b"finish_reason") == events and b"[DONE]" in text


async def main():
    seen = {"open": 0, "most": 0, "whole": 0}
    begin = time.time()
    failed = await asyncio.gather(*(stream(seen) for _ in range(streams)), return_exceptions=True)
    errors = [str(error) for error in failed if error]
    print(json.dumps({"most_open": seen["most"], "whole": seen["whole"], "seconds": round(time.time() - begin, 2),
                      "errors": errors[:3]}))


hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
asyncio.run(main())
