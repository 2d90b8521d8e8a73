"""Writes the reference vector of every line of a text file, as JSON lines.

    python reference_vectors.py MODEL_DIR OUT.jsonl TEXTS.txt [--precision int8]

One text at a time, with the pooling, normalisation and maximum length that the model's files name, and no prompt before the
text. Each output line is {"text": ..., "vector": [...]}, in the order of the input; an empty line counts as an empty text.
"""

import argparse
import json
from pathlib import Path

from reference_model import ONNX_FILE_OF_PRECISION, ReferenceEmbedder


def main():
    parser = argparse.ArgumentParser(description="Write the reference vectors of a text file's lines.")
    parser.add_argument("model_dir", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--precision", choices=sorted(ONNX_FILE_OF_PRECISION), default="fp32")
    arguments = parser.parse_args()
    embedder = ReferenceEmbedder(arguments.model_dir, arguments.precision)
    # Not splitlines(): that also splits at form feeds and Unicode separators, which other readers keep.
    texts = arguments.texts.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    with arguments.output.open("w", encoding="utf-8") as output:
        for text in texts:
            vector = [float(value) for value in embedder.embed(text)]
            output.write(json.dumps({"text": text, "vector": vector}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
