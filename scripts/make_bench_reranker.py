"""Makes a cross-encoder of the size of MiniLM-L6 (6 layers, 384 wide, 12 heads) with random weights, for measuring time.

    python make_bench_reranker.py MODEL_DIR OUT_DIR

MODEL_DIR is all-MiniLM-L6-v2, whose tokenizer is taken. Writes onnx/model.onnx and onnx/model_int8.onnx; OUT_DIR appears complete
or not at all. Random weights take as long as trained ones; the scores mean nothing.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import bert_onnx
import numpy as np
import onnx

# As BERT is initialised before its training.
DEVIATION = 0.02
SEED = 20


def random_weights(config):
    """Weights by the names that they have in a checkpoint."""
    generator = np.random.default_rng(SEED)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    weights = {}

    def matrix(name, rows, columns):
        weights[f"{name}.weight"] = generator.normal(0.0, DEVIATION, (rows, columns)).astype(np.float32)

    def dense(name, inputs, outputs):
        matrix(name, outputs, inputs)
        weights[f"{name}.bias"] = np.zeros(outputs, np.float32)

    def layer_norm(name):
        weights[f"{name}.weight"] = np.ones(hidden, np.float32)
        weights[f"{name}.bias"] = np.zeros(hidden, np.float32)

    matrix("embeddings.word_embeddings", config["vocab_size"], hidden)
    matrix("embeddings.position_embeddings", config["max_position_embeddings"], hidden)
    matrix("embeddings.token_type_embeddings", config["type_vocab_size"], hidden)
    layer_norm("embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            dense(f"{name}.attention.{part}", hidden, hidden)
        layer_norm(f"{name}.attention.output.LayerNorm")
        dense(f"{name}.intermediate.dense", hidden, inner)
        dense(f"{name}.output.dense", inner, hidden)
        layer_norm(f"{name}.output.LayerNorm")
    dense("pooler.dense", hidden, hidden)
    dense("classifier", hidden, 1)
    return weights


def main():
    model, output = Path(sys.argv[1]), Path(sys.argv[2])
    output.parent.mkdir(parents=True, exist_ok=True)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config["architectures"] = ["BertForSequenceClassification"]
    config["id2label"] = {"0": "LABEL_0"}
    # Beside the final place, so that moving it there is one rename.
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as temporary:
        made = Path(temporary) / "model"
        (made / "onnx").mkdir(parents=True)
        for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            shutil.copy(model / name, made / name)
        (made / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        onnx.save(bert_onnx.build_model(config, random_weights(config), head=True), str(made / "onnx" / "model.onnx"))
        bert_onnx.quantize_int8(made / "onnx" / "model.onnx", made / "onnx" / "model_int8.onnx")
        shutil.rmtree(output, ignore_errors=True)
        made.rename(output)


if __name__ == "__main__":
    main()
