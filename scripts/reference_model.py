"""The reference that the Rust code is compared with: one text at a time through ONNX Runtime's Python package.

Everything about a model is read from its own files, as sentence-transformers does: the maximum length, pooling,
normalisation and prompts.
"""

import json
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

ONNX_FILE_OF_PRECISION = {"fp32": "onnx/model.onnx", "fp16": "onnx/model_fp16.onnx", "int8": "onnx/model_int8.onnx"}


def read_json(path, default=None):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default


class ReferenceModel:
    """A tokenizer and a session; the tokenizer's own truncation and padding are overridden."""

    def __init__(self, folder, precision="fp32"):
        self.folder = Path(folder)
        self.max_length = self._read_max_length()
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.max_length, strategy="longest_first")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(self.folder / ONNX_FILE_OF_PRECISION[precision]), options, providers=["CPUExecutionProvider"]
        )
        self.input_names = [value.name for value in self.session.get_inputs()]

    def _read_max_length(self):
        sentence_transformers = read_json(self.folder / "sentence_bert_config.json", {})
        tokenizer_config = read_json(self.folder / "tokenizer_config.json", {})
        return sentence_transformers.get("max_seq_length") or tokenizer_config["model_max_length"]

    def encode(self, text, pair=None):
        return self.tokenizer.encode(text, pair)

    def run(self, encoding):
        """The graph's output for one encoding, without the batch dimension, and the attention mask."""
        available = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
            "position_ids": list(range(len(encoding.ids))),
        }
        feeds = {name: np.array([available[name]], dtype=np.int64) for name in self.input_names}
        return self.session.run(None, feeds)[0][0], np.array(encoding.attention_mask, dtype=np.float32)


class ReferenceEmbedder(ReferenceModel):
    """Text to vector, with the pooling and normalisation that the folder's files name; without such files, as the graph has it."""

    def __init__(self, folder, precision="fp32"):
        super().__init__(folder, precision)
        modules = read_json(self.folder / "modules.json")
        self.pooling = self._read_pooling() if modules else None
        self.is_normalized = bool(modules) and any(module["type"].endswith(".Normalize") for module in modules)
        self.prompts = read_json(self.folder / "config_sentence_transformers.json", {}).get("prompts", {})

    def _read_pooling(self):
        config = read_json(self.folder / "1_Pooling" / "config.json")
        modes = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "last token": "pooling_mode_lasttoken"}
        named = [name for name, key in modes.items() if config.get(key)]
        if len(named) != 1:
            raise ValueError(f"{self.folder}: neither mean, cls nor last-token pooling")
        return named[0]

    def prefix(self, *names):
        return next((self.prompts[name] for name in names if name in self.prompts), "")

    def embed(self, text):
        output, mask = self.run(self.encode(text))
        if self.pooling == "mean":
            vector = (output * mask[:, None]).sum(axis=0) / max(mask.sum(), 1e-9)
        elif self.pooling == "cls":
            vector = output[0]
        elif self.pooling == "last token":
            vector = output[-1]
        else:
            vector = output
        if self.is_normalized:
            vector = vector / max(np.linalg.norm(vector), 1e-12)
        return vector


class ReferenceCrossEncoder(ReferenceModel):
    """A query and a passage to the raw logit."""

    def score(self, query, passage):
        logits, _ = self.run(self.encode(query, passage))
        return float(logits[0])
