"""The embedding model on the rivals' side, from the same files."""

import json
import os
from pathlib import Path

import numpy as np

NAME = "the-bench/all-MiniLM-L6-v2"
PROBES = 4


def graph(precision):
    return "onnx/model_int8.onnx" if precision == "int8" else "onnx/model.onnx"


def max_tokens(model):
    return json.loads((Path(model) / "sentence_bert_config.json").read_text())["max_seq_length"]


def fastembed(model, precision):
    """fastembed's own class with a model of one's own, which makes batches of 256 in the order of arrival."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model=NAME, pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(hf=NAME), dim=384, model_file=graph(precision)
    )
    embedder = TextEmbedding(NAME, threads=os.cpu_count(), specific_model_path=str(model))
    # It reads 512 from tokenizer_config.json; the model's own limit is that of sentence_bert_config.json.
    embedder.model.tokenizer.enable_truncation(max_tokens(model))
    return lambda texts: list(embedder.embed(texts))


def by_length(model, precision, batch=32):
    """The order and the batches of sentence-transformers' `encode` (longest first, 32 at once), on ONNX Runtime and without PyTorch."""
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count()
    session = onnxruntime.InferenceSession(str(Path(model) / graph(precision)), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(Path(model) / "tokenizer.json"))
    tokenizer.enable_truncation(max_tokens(model))
    tokenizer.enable_padding()

    def embed(texts):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = [None] * len(texts)
        for start in range(0, len(order), batch):
            numbers = order[start : start + batch]
            encodings = tokenizer.encode_batch([texts[i] for i in numbers])
            mask = np.array([e.attention_mask for e in encodings], dtype=np.int64)
            ids = np.array([e.ids for e in encodings], dtype=np.int64)
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            states = session.run(["last_hidden_state"], feed)[0]
            pooled = (states * mask[:, :, None].astype(np.float32)).sum(1)
            pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
            for number, vector in zip(numbers, pooled):
                vectors[number] = vector
        return vectors

    return embed
