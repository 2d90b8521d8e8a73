"""The protocol of the measured sides: ready, then one piece of work for each line on standard input, answered in JSON."""

import json
import sys
import time


def serve(ready, work):
    print(json.dumps(ready), flush=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        answer = work()
        answer["seconds"] = time.perf_counter() - started
        print(json.dumps(answer), flush=True)


def read_texts(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def spread(times):
    """p50 and p95 in milliseconds, of seconds."""
    times = sorted(times)
    return {"p50_ms": times[len(times) // 2] * 1e3, "p95_ms": times[len(times) * 95 // 100] * 1e3}
