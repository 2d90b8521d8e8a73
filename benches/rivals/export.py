"""The texts of sensetree's store in the folder STORE as lines of JSON, for rivals that do not read Lance.

python export.py STORE TEXTS
"""

import json
import os
import sys

import lancedb

table = lancedb.connect(sys.argv[1]).open_table("chunks")
rows = table.search().select(["text"]).limit(table.count_rows()).to_arrow()
with open(f"{sys.argv[2]}.partial", "w", encoding="utf-8") as file:
    for text in rows["text"]:
        file.write(json.dumps({"text": text.as_py()}) + "\n")
os.replace(f"{sys.argv[2]}.partial", sys.argv[2])
