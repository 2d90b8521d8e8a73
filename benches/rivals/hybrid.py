"""A hybrid query of LanceDB's Python client with its RRF reranker: milliseconds, without embedding, in lines of JSON.

python hybrid.py STORE QUERIES TABLE [--vector-index]

Texts and vectors are those of sensetree's store in the folder STORE; they are copied once into a table in the folder TABLE, which has
LanceDB's default text index (English). Vectors are compared exactly, as LanceDB does until it is told to make an index; with
--vector-index there is one with its defaults. 120 candidates of each leg, the best 20 are kept, with their texts.
"""

import argparse
import json
import os
import shutil
import time
from pathlib import Path

from worker import spread

# It warns once for each leg of each query, which would cost it time.
os.environ["LANCEDB_LOG"] = "error"
import lancedb  # noqa: E402
from lancedb.index import FTS, IvfPq  # noqa: E402

CANDIDATES = 120
PAGE = 20
# The first fills caches and is not counted.
ROUNDS = 4


def copy(store, folder, vector_index):
    """The rival's table, made anew unless it has as many rows as the store."""
    source = lancedb.connect(str(store)).open_table("chunks")
    count = source.count_rows()
    database = lancedb.connect(str(folder))
    if "texts" in database.list_tables().tables and (folder / "complete").exists():
        table = database.open_table("texts")
        if table.count_rows() == count:
            return table, count, None
    shutil.rmtree(folder, ignore_errors=True)
    rows = source.search().select(["text", "vector"]).limit(count).to_arrow().replace_schema_metadata(None)
    started = time.perf_counter()
    table = lancedb.connect(str(folder)).create_table("texts", rows)
    table.create_index("text", config=FTS())
    if vector_index:
        table.create_index("vector", config=IvfPq())
    seconds = time.perf_counter() - started
    (folder / "complete").touch()
    return table, count, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--vector-index", action="store_true")
    arguments = parser.parse_args()
    table, count, seconds = copy(arguments.store, arguments.table, arguments.vector_index)
    queries = json.loads(arguments.queries.read_text())
    times = []
    for round in range(ROUNDS):
        for query in queries:
            started = time.perf_counter()
            search = table.search(query_type="hybrid").vector(query["vector"]).text(query["text"])
            search.select(["text"]).limit(CANDIDATES).to_arrow().slice(0, PAGE).to_pylist()
            if round > 0:
                times.append(time.perf_counter() - started)
    name = "lancedb with vector index" if arguments.vector_index else "lancedb"
    print(json.dumps({"name": name, "n": count, **spread(times), "build_seconds": seconds}))


if __name__ == "__main__":
    main()
