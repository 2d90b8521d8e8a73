"""Exports a BERT or XLM-RoBERTa checkpoint (config.json, model.safetensors) to ONNX, without PyTorch.

    python bert_onnx.py CHECKPOINT_DIR OUT.onnx [--head] [--int8 OUT_INT8.onnx] [--opset N]

Inputs of the graph, all int64 (batch, sequence): input_ids, attention_mask and, for BERT, token_type_ids.
Output: last_hidden_state (batch, sequence, hidden), or with --head the logits (batch, labels) of a checkpoint for sequence
classification.

The BERT encoder is checked against a real model: prepare_minilm.py compares the export of all-MiniLM-L6-v2 with the
similarities published for it.
"""

import argparse
import json
import logging
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# The first operator set with a Gelu operator; ONNX Runtime knows it since 1.17.
DEFAULT_OPSET = 20
# Each operator set needs at least this version of the file format.
IR_VERSION_OF_OPSET = {17: 8, 18: 8, 19: 9, 20: 9, 21: 10}
# Added to the attention scores of padding, so that the softmax gives it no weight.
MASKED_SCORE = -3.4e38


class GraphBuilder:
    """Collects the nodes and constants of one graph; every method returns the name of its output."""

    def __init__(self, weights, opset):
        self.weights = weights
        self.opset = opset
        self.nodes = []
        self.constants = {}

    def constant(self, name, value, dtype=None):
        """A constant tensor; the same name is stored once."""
        if name not in self.constants:
            array = np.ascontiguousarray(value, dtype=dtype)
            # ascontiguousarray makes a scalar one-dimensional; the shape is part of the meaning here.
            array = array.reshape(np.shape(value))
            self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def integers(self, name, values):
        return self.constant(name, values, np.int64)

    def number(self, name, value):
        return self.constant(name, value, np.float32)

    def node(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def dense(self, x, weight_name, output):
        """x W^T + b, with the weights of a linear layer."""
        kernel = self.constant(f"{weight_name}.weight_transposed", self.weights[f"{weight_name}.weight"].T)
        bias = self.constant(f"{weight_name}.bias", self.weights[f"{weight_name}.bias"])
        product = self.node("MatMul", [x, kernel], f"{output}_product")
        return self.node("Add", [product, bias], output)

    def layer_norm(self, x, weight_name, epsilon, output):
        scale = self.constant(f"{weight_name}.weight", self.weights[f"{weight_name}.weight"])
        bias = self.constant(f"{weight_name}.bias", self.weights[f"{weight_name}.bias"])
        return self.node("LayerNormalization", [x, scale, bias], output, axis=-1, epsilon=epsilon)

    def gelu(self, x, output):
        """The exact Gelu: x / 2 * (1 + erf(x / sqrt(2)))."""
        if self.opset >= 20:
            return self.node("Gelu", [x], output)
        scaled = self.node("Div", [x, self.number("sqrt_two", np.sqrt(2.0))], f"{output}_scaled")
        erf = self.node("Erf", [scaled], f"{output}_erf")
        shifted = self.node("Add", [erf, self.number("one", 1.0)], f"{output}_shifted")
        half = self.node("Mul", [x, self.number("half", 0.5)], f"{output}_half")
        return self.node("Mul", [half, shifted], output)

    def model(self, graph_name, inputs, output, output_shape):
        """The finished and checked model; all inputs are int64 (batch, sequence), the output is float32."""
        graph = helper.make_graph(
            self.nodes,
            graph_name,
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)],
            list(self.constants.values()),
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSION_OF_OPSET[self.opset],
            producer_name="sensetree",
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def bert_embeddings(builder, config):
    """Word, position and token type embeddings; positions count from 0."""
    weights = builder.weights
    words = builder.constant("word_embeddings", weights["embeddings.word_embeddings.weight"])
    types = builder.constant("token_type_embeddings", weights["embeddings.token_type_embeddings.weight"])
    positions = builder.constant("position_embeddings", weights["embeddings.position_embeddings.weight"])
    word = builder.node("Gather", [words, "input_ids"], "word_embedding")
    token_type = builder.node("Gather", [types, "token_type_ids"], "token_type_embedding")
    shape = builder.node("Shape", ["input_ids"], "input_shape")
    length = builder.node("Gather", [shape, builder.integers("axis_1", [1])], "sequence_length")
    position = builder.node(
        "Slice",
        [positions, builder.integers("axis_0", [0]), length, builder.integers("axis_0", [0])],
        "position_embedding",
    )
    words_and_types = builder.node("Add", [word, token_type], "word_and_type_embedding")
    total = builder.node("Add", [words_and_types, position], "summed_embedding")
    return builder.layer_norm(total, "embeddings.LayerNorm", config["layer_norm_eps"], "embedding")


def xlm_roberta_embeddings(builder, config):
    """As BERT's, but positions count from padding id + 1, padding is skipped, and there is one token type."""
    weights = builder.weights
    padding_id = config["pad_token_id"]
    words = builder.constant("word_embeddings", weights["embeddings.word_embeddings.weight"])
    positions = builder.constant("position_embeddings", weights["embeddings.position_embeddings.weight"])
    token_type = builder.constant("token_type_embedding", weights["embeddings.token_type_embeddings.weight"][0])
    word = builder.node("Gather", [words, "input_ids"], "word_embedding")
    is_padding = builder.node("Equal", ["input_ids", builder.integers("padding_id", padding_id)], "is_padding")
    is_text = builder.node("Not", [is_padding], "is_text")
    ones = builder.node("Cast", [is_text], "text_ones", to=TensorProto.INT64)
    counted = builder.node("CumSum", [ones, builder.integers("sequence_axis", 1)], "text_count")
    text_only = builder.node("Mul", [counted, ones], "text_position")
    position_ids = builder.node("Add", [text_only, "padding_id"], "position_ids")
    position = builder.node("Gather", [positions, position_ids], "position_embedding")
    words_and_types = builder.node("Add", [word, token_type], "word_and_type_embedding")
    total = builder.node("Add", [words_and_types, position], "summed_embedding")
    return builder.layer_norm(total, "embeddings.LayerNorm", config["layer_norm_eps"], "embedding")


def attention_bias(builder):
    """(batch, 1, 1, sequence): 0 where the mask is 1, a very negative score where it is 0."""
    mask = builder.node("Cast", ["attention_mask"], "mask_as_float", to=TensorProto.FLOAT)
    mask = builder.node("Unsqueeze", [mask, builder.integers("axes_1_2", [1, 2])], "mask_broadcast")
    inverted = builder.node("Sub", [builder.number("one", 1.0), mask], "mask_inverted")
    return builder.node("Mul", [inverted, builder.number("masked_score", MASKED_SCORE)], "attention_bias")


def encoder_layer(builder, config, x, bias, layer, output):
    heads = config["num_attention_heads"]
    head_size = config["hidden_size"] // heads
    epsilon = config["layer_norm_eps"]
    weight = f"encoder.layer.{layer}"
    name = f"layer{layer}"
    split_shape = builder.integers("split_heads_shape", [0, 0, heads, head_size])
    merged_shape = builder.integers("merged_heads_shape", [0, 0, heads * head_size])

    def heads_of(part, order):
        projected = builder.dense(x, f"{weight}.attention.self.{part}", f"{name}_{part}")
        split = builder.node("Reshape", [projected, split_shape], f"{name}_{part}_split")
        return builder.node("Transpose", [split], f"{name}_{part}_heads", perm=order)

    query = heads_of("query", [0, 2, 1, 3])
    key = heads_of("key", [0, 2, 3, 1])
    value = heads_of("value", [0, 2, 1, 3])
    scores = builder.node("MatMul", [query, key], f"{name}_scores")
    scaled = builder.node("Div", [scores, builder.number("score_scale", np.sqrt(head_size))], f"{name}_scaled_scores")
    masked = builder.node("Add", [scaled, bias], f"{name}_masked_scores")
    attention = builder.node("Softmax", [masked], f"{name}_attention", axis=-1)
    context = builder.node("MatMul", [attention, value], f"{name}_context")
    context = builder.node("Transpose", [context], f"{name}_context_by_token", perm=[0, 2, 1, 3])
    context = builder.node("Reshape", [context, merged_shape], f"{name}_context_merged")
    attended = builder.dense(context, f"{weight}.attention.output.dense", f"{name}_attended")
    attended = builder.node("Add", [attended, x], f"{name}_attended_residual")
    attended = builder.layer_norm(attended, f"{weight}.attention.output.LayerNorm", epsilon, f"{name}_attended_norm")
    inner = builder.dense(attended, f"{weight}.intermediate.dense", f"{name}_inner")
    inner = builder.gelu(inner, f"{name}_inner_gelu")
    outer = builder.dense(inner, f"{weight}.output.dense", f"{name}_outer")
    outer = builder.node("Add", [outer, attended], f"{name}_outer_residual")
    return builder.layer_norm(outer, f"{weight}.output.LayerNorm", epsilon, output)


def classification_head(builder, x, dense_name, projection_name):
    """The first token through dense, tanh and a projection."""
    first = builder.node("Gather", [x, builder.integers("first_token", 0)], "first_token_state", axis=1)
    pooled = builder.dense(first, dense_name, "pooled")
    pooled = builder.node("Tanh", [pooled], "pooled_tanh")
    return builder.dense(pooled, projection_name, "logits")


def build_model(config, weights, head=False, layers=None, opset=DEFAULT_OPSET):
    """The ONNX model of a checkpoint given as its config and its weights by name."""
    is_bert = config["model_type"] == "bert"
    if not is_bert and config["model_type"] not in ("roberta", "xlm-roberta"):
        raise ValueError(f"model_type {config['model_type']} is neither bert nor (xlm-)roberta")
    if config.get("hidden_act", "gelu") != "gelu":
        raise ValueError(f"hidden_act {config['hidden_act']} is not gelu")
    prefix = "bert." if is_bert else "roberta."
    builder = GraphBuilder({name.removeprefix(prefix): value for name, value in weights.items()}, opset)

    x = bert_embeddings(builder, config) if is_bert else xlm_roberta_embeddings(builder, config)
    bias = attention_bias(builder)
    count = layers or config["num_hidden_layers"]
    for layer in range(count):
        is_output = layer == count - 1 and not head
        x = encoder_layer(builder, config, x, bias, layer, "last_hidden_state" if is_output else f"layer{layer}_norm")

    inputs = ["input_ids", "attention_mask"] + (["token_type_ids"] if is_bert else [])
    if not head:
        return builder.model(config["model_type"], inputs, x, ["batch", "sequence", config["hidden_size"]])
    names = ("pooler.dense", "classifier") if is_bert else ("classifier.dense", "classifier.out_proj")
    logits = classification_head(builder, x, *names)
    labels = builder.weights[f"{names[1]}.weight"].shape[0]
    return builder.model(config["model_type"], inputs, logits, ["batch", labels])


def export(checkpoint_dir, output, head=False, layers=None, opset=DEFAULT_OPSET):
    """Writes the ONNX file of a checkpoint folder."""
    from safetensors.numpy import load_file

    checkpoint_dir = Path(checkpoint_dir)
    config = json.loads((checkpoint_dir / "config.json").read_text(encoding="utf-8"))
    weights = load_file(checkpoint_dir / "model.safetensors")
    onnx.save(build_model(config, weights, head, layers, opset), str(output))


def quantize_int8(source, output):
    """Dynamic quantisation to int8 weights, one scale per output channel."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # It advises a preparation step that changes nothing for these graphs.
    logging.getLogger().setLevel(logging.ERROR)
    quantize_dynamic(str(source), str(output), weight_type=QuantType.QInt8, per_channel=True)


def main():
    parser = argparse.ArgumentParser(description="Export a BERT or XLM-RoBERTa checkpoint to ONNX.")
    parser.add_argument("checkpoint_dir", type=Path, help="folder with config.json and model.safetensors")
    parser.add_argument("output", type=Path, help="the ONNX file to write")
    parser.add_argument("--head", action="store_true", help="keep the classification head and put out logits")
    parser.add_argument("--int8", type=Path, metavar="OUT_INT8.onnx", help="also write an int8 version")
    parser.add_argument("--opset", type=int, default=DEFAULT_OPSET, choices=sorted(IR_VERSION_OF_OPSET))
    arguments = parser.parse_args()
    export(arguments.checkpoint_dir, arguments.output, arguments.head, opset=arguments.opset)
    if arguments.int8:
        quantize_int8(arguments.output, arguments.int8)


if __name__ == "__main__":
    main()
