"""Embedding chunks in Python: texts per second.

python embed.py fastembed|by-length fp32|int8 MODEL TEXTS
"""

import sys

import models
from worker import read_texts, serve

side, precision, model, texts = sys.argv[1:]
texts = read_texts(texts)
embed = {"fastembed": models.fastembed, "by-length": models.by_length}[side](model, precision)
probes = [[float(value) for value in vector] for vector in embed(texts[: models.PROBES])]
serve({"probes": probes}, lambda: {"count": len(embed(texts))})
