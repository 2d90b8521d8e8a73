"""Words alone with bm25s (Lucene's formula, English stems and stop words): milliseconds for the best 120 texts, in one line of JSON.

python bm25.py TEXTS QUERIES

The index is in memory and made anew in each run. The first round fills caches and is not counted.
"""

import json
import sys
import time

import bm25s
import Stemmer
from worker import read_texts, spread

CANDIDATES = 120
ROUNDS = 4

texts = read_texts(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file:
    queries = [query["text"] for query in json.load(file)]
stemmer = Stemmer.Stemmer("english")
started = time.perf_counter()
index = bm25s.BM25(corpus=texts)
index.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
built = time.perf_counter() - started
times = []
for round in range(ROUNDS):
    for query in queries:
        started = time.perf_counter()
        tokens = bm25s.tokenize(query, stopwords="en", stemmer=stemmer, show_progress=False)
        index.retrieve(tokens, k=min(CANDIDATES, len(texts)), show_progress=False)
        if round > 0:
            times.append(time.perf_counter() - started)
print(json.dumps({"name": "bm25s", "n": len(texts), **spread(times), "build_seconds": built}))
