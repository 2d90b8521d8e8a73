"""Indexing a folder as a short program with LanceDB and fastembed does it: `python index.py FOLDER TABLE MODEL fp32|int8`.

Text files are read, cut into windows of 1000 characters of which 150 overlap, embedded in batches of 256 and written to a table, which
then gets LanceDB's text index. Prints the number of files and of chunks.
"""

import json
import sys
from pathlib import Path

import lancedb
import models
import pyarrow
from lancedb.index import FTS

WINDOW = 1000
STEP = 850
BATCH = 256

folder, table_folder, model, precision = sys.argv[1:]
embed = models.fastembed(model, precision)
files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
chunks = []
for path in files:
    text = path.read_text(encoding="utf-8", errors="replace")
    # The last window ends with the text.
    chunks += [(str(path), text[start : start + WINDOW]) for start in range(0, max(len(text) - WINDOW + STEP, 1), STEP)]
schema = pyarrow.schema([("path", pyarrow.string()), ("text", pyarrow.string()), ("vector", pyarrow.list_(pyarrow.float32(), 384))])
table = lancedb.connect(table_folder).create_table("texts", schema=schema, mode="overwrite")
for start in range(0, len(chunks), BATCH):
    batch = chunks[start : start + BATCH]
    vectors = embed([text for _, text in batch])
    table.add([{"path": path, "text": text, "vector": vector} for (path, text), vector in zip(batch, vectors)])
table.create_index("text", config=FTS())
print(json.dumps({"files": len(files), "chunks": len(chunks)}))
