"""Makes the small models that the tests use, and the outputs expected of them.

    python make_test_models.py [--out DIR]           all models and expected.json, into tests/fixtures/models by default
    python make_test_models.py --minilm MODEL_DIR    minilm-expected.json only, from the real model

The same versions of the packages (scripts/requirements.txt) write the same bytes: the weights come from a generator with fixed
seeds. The models are described in tests/fixtures/models/README.md.
"""

import argparse
import json
import string
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from bert_onnx import GraphBuilder, build_model, quantize_int8
from reference_model import ReferenceCrossEncoder, ReferenceEmbedder

OPSET = 17
HIDDEN = 32
WEIGHT_DEVIATION = 0.3
DEFAULT_OUTPUT = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "models"

# --- Vocabularies --------------------------------------------------------------------------------------------------------

COMMON_WORDS = """
the a an of to in is are was be and or not for on with as by at from it this that what how when where who which do does can
""".split()
SMALL_WORDS = """
file folder search find name text note page list open read write save copy move word index query result score rank time day
week month year house garden kitchen window door street city river sea sun rain snow wind tree flower apple bread water milk
coffee tea dog cat bird fish horse person man woman child friend people happy sunny old new good small big long short red blue
green white black play walk run eat drink sleep work pay invoice letter photo music tax bank car train
""".split()
SUFFIXES = "##s ##ed ##ing ##er ##ly ##ion ##ness ##able ##ment ##es".split()
MORE_WORDS = """
about above account across action address after again against age ago air all allow almost along already also always among
amount angle animal another answer any appear area arm around art ask author autumn away baby back bad ball base bath battery
beach bear beautiful because become bed before begin behind best better between bicycle bill board boat body book born both
bottom box boy break bridge bright bring brother brown budget build building burn bus business buy cake call camera camp
capital card care carry case cause cell center century chair chance change chapter charge cheap check cheese choose church
circle class clean clear climb clock close cloth cloud code cold color column come common company compare complete computer
contain contract control cook cool corner cost could count country course cover create cross crowd cry cup current customer cut
dance danger dark data date daughter dead deal decide deep delete desk detail device dictionary die difference different dinner
direction discuss disk distance doctor document dollar double down draw dream dress drive drop dry during each ear early earth
east easy edge egg eight electric eleven else email empty end energy engine enough enter error even evening event ever every
example except expect experience explain eye face fact fall family famous far farm fast father fear feel few field fight figure
fill film final fine finger finish fire first fit five flat flight floor fly follow food foot force forest forget form forward
four free fresh front fruit full function game gas gate gave get gift girl give glass go gold gone government grand grass gray
great ground group grow guess guide guitar half hand happen hard has hat have he head health hear heart heat heavy height help
her here high hill him his history hold hole holiday home hope hospital hot hotel hour human hundred hurry husband ice idea if
image important improve inch include income information inside insurance interest into invite iron island job join journey jump
just keep key kind king know lake land language large last late laugh law lay lead learn least leave left leg less lesson let
level library license lie life lift light like line link little live load local lock look lose lot loud love low lunch machine
made mail main make manager many map mark market matter may me mean measure meat medicine meet meeting member memory message
metal method middle might mile million mind minute miss mobile model modern moment money moon more morning most mother mountain
mouth much museum must my narrow nation nature near neck need network never news next night nine no noise none noon north nose
nothing notice now number object ocean off offer office often oil once one only open or orange order other our out outside over
own package paint pair paper parent park part party pass passport password past path pattern pen pencil percent perhaps period
phone picture piece pink place plan plane plant plate please point police pool poor port position possible post potato pound
power prepare present press pretty price print private problem process produce product program project protect prove public
pull push put quarter question quick quiet quite race radio raise reach ready real reason receipt receive recipe record reduce
region remember remove rent repair repeat reply report request rest restaurant return rice rich ride right ring rise road rock
role roof room root rose rough round row rule safe salt same sand say school science sea season seat second secret section see
seed seem sell send sentence serve service set seven several shade shape share she sheet ship shirt shoe shop should shoulder
show side sign silver similar simple since sing single sister sit six size skill skin sky slow smell smile so soft soil some son
song soon sort sound soup south space speak special speed spend sport spring square stand star start state station stay steel
step still stone stop store storm story strange strong student study subject such sugar suit summer supper support sure surface
surprise sweet swim system table take talk tall taste teach teacher team tell temperature ten tennis test than thank their them
then there these they thick thin thing think third those though thought thousand three through throw ticket tie till tire title
together tomorrow tonight too tool top total touch toward town toy trade travel trip trouble truck true trust try turn twelve
twenty two type under understand unit until up update upon us use usual valley value version very video view village visit voice
wait wake wall want war warm wash watch wave way we wear weather wedding weight well west wet wheel while whole why wide wife
wild will win wine winter wire wish without wonder wood world worry would wrong yard yellow yes yesterday yet you young your
zero
""".split()
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[]_")
CHARACTERS = list(string.digits + string.ascii_lowercase)
OTHER_SCRIPTS = list("日本語中文東京検索ежизнмирαβγ")


def without_repeats(tokens):
    return list(dict.fromkeys(tokens))


def small_vocabulary():
    """About 300 WordPiece tokens: whole words, a few endings, and single characters for everything else."""
    return without_repeats(
        SPECIAL_TOKENS
        + PUNCTUATION
        + OTHER_SCRIPTS
        + CHARACTERS
        + [f"##{character}" for character in CHARACTERS]
        + COMMON_WORDS
        + SMALL_WORDS
        + SUFFIXES
    )


def overlap_vocabulary():
    """The vocabulary of the overlap reranker and each token's weight in its score.

    An unknown word falls into pairs of letters rather than single letters, which would be found in almost any passage.
    """
    letters = string.ascii_lowercase
    pairs = [first + second for first in letters for second in letters]
    groups = [
        (SPECIAL_TOKENS + PUNCTUATION, 0.0),
        (COMMON_WORDS, 0.25),
        (SMALL_WORDS + MORE_WORDS, 1.0),
        (OTHER_SCRIPTS + CHARACTERS + pairs, 0.5),
        (SUFFIXES, 0.25),
        ([f"##{piece}" for piece in CHARACTERS + pairs], 0.5),
    ]
    weights = {}
    for tokens, weight in groups:
        for token in tokens:
            weights.setdefault(token, weight)
    return list(weights), list(weights.values())


def unigram_vocabulary():
    """About 300 pieces with log probabilities; a longer piece beats the pieces it is made of."""
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0)]
    for rank, word in enumerate(without_repeats(COMMON_WORDS + SMALL_WORDS)):
        pieces.append((f"▁{word}", round(-4.0 - 0.01 * rank, 2)))
    for rank, ending in enumerate(SUFFIXES):
        pieces.append((ending.removeprefix("##"), round(-4.5 - 0.01 * rank, 2)))
    characters = CHARACTERS + list(string.ascii_uppercase) + PUNCTUATION + OTHER_SCRIPTS + list("àâäçèéêñöüß")
    known = {piece for piece, _ in pieces}
    for rank, character in enumerate(without_repeats(characters)):
        if character not in known:
            pieces.append((character, round(-7.0 - 0.005 * rank, 3)))
    return pieces


# --- Tokenizers ----------------------------------------------------------------------------------------------------------


def wordpiece_tokenizer(vocabulary):
    ids = {token: index for index, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens(SPECIAL_TOKENS)
    return tokenizer


def unigram_tokenizer(pieces):
    ids = {piece: index for index, (piece, _) in enumerate(pieces)}
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=ids["<unk>"], byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", ids["<s>"]), ("</s>", ids["</s>"])],
    )
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    return tokenizer


# --- Encoders with random weights ----------------------------------------------------------------------------------------


class RandomWeights:
    """Weights by name, drawn in the order of the calls from a generator whose stream never changes."""

    def __init__(self, seed):
        self.generator = np.random.RandomState(seed)
        self.weights = {}

    def matrix(self, name, rows, columns):
        self.weights[f"{name}.weight"] = self._normal((rows, columns), 0.0)

    def dense(self, name, inputs, outputs):
        self.matrix(name, outputs, inputs)
        self.weights[f"{name}.bias"] = self._normal((outputs,), 0.0)

    def layer_norm(self, name):
        self.weights[f"{name}.weight"] = self._normal((HIDDEN,), 1.0)
        self.weights[f"{name}.bias"] = self._normal((HIDDEN,), 0.0)

    def _normal(self, shape, mean):
        return (mean + WEIGHT_DEVIATION * self.generator.standard_normal(shape)).astype(np.float32)


def encoder_config(model_type, vocabulary_size, positions, token_types, padding_id, architecture):
    return {
        "architectures": [architecture],
        "model_type": model_type,
        "vocab_size": vocabulary_size,
        "hidden_size": HIDDEN,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 2 * HIDDEN,
        "hidden_act": "gelu",
        "max_position_embeddings": positions,
        "type_vocab_size": token_types,
        "layer_norm_eps": 1e-12 if model_type == "bert" else 1e-5,
        "pad_token_id": padding_id,
    }


def encoder_weights(config, seed):
    random = RandomWeights(seed)
    random.matrix("embeddings.word_embeddings", config["vocab_size"], HIDDEN)
    random.matrix("embeddings.position_embeddings", config["max_position_embeddings"], HIDDEN)
    random.matrix("embeddings.token_type_embeddings", config["type_vocab_size"], HIDDEN)
    random.layer_norm("embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            random.dense(f"{name}.attention.self.{part}", HIDDEN, HIDDEN)
        random.dense(f"{name}.attention.output.dense", HIDDEN, HIDDEN)
        random.layer_norm(f"{name}.attention.output.LayerNorm")
        random.dense(f"{name}.intermediate.dense", HIDDEN, config["intermediate_size"])
        random.dense(f"{name}.output.dense", config["intermediate_size"], HIDDEN)
        random.layer_norm(f"{name}.output.LayerNorm")
    return random


# --- Model folders -------------------------------------------------------------------------------------------------------


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_model(folder, model, tokenizer, config, tokenizer_config):
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "onnx" / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    # Without indentation: nobody reads a vocabulary, and every line of it would cost six blanks.
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=False) + "\n", encoding="utf-8")
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer_config.json", tokenizer_config)


def write_sentence_transformers_files(folder, pooling, is_normalized, max_length, prompts):
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")] + ([("2_Normalize", "Normalize")] if is_normalized else [])
    write_json(
        folder / "modules.json",
        [
            {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for index, (path, kind) in enumerate(modules)
        ],
    )
    write_json(
        folder / "1_Pooling" / "config.json",
        {
            "word_embedding_dimension": HIDDEN,
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
            "pooling_mode_max_tokens": False,
            "pooling_mode_mean_sqrt_len_tokens": False,
        }
        | ({"pooling_mode_lasttoken": True} if pooling == "last token" else {}),
    )
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})
    settings = {"__version__": {"sentence_transformers": "3.0.0"}}
    if prompts:
        settings |= {"prompts": prompts, "default_prompt_name": None}
    write_json(folder / "config_sentence_transformers.json", settings)


def bert_tokenizer_config(max_length):
    names = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
    return {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": max_length, **names}


def xlm_roberta_tokenizer_config(max_length):
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>", "pad_token": "<pad>", "cls_token": "<s>"}
    return {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": max_length, **names}


def make_bert_cross_encoder(folder):
    vocabulary = small_vocabulary()
    config = encoder_config("bert", len(vocabulary), 128, 2, 0, "BertForSequenceClassification")
    random = encoder_weights(config, seed=1)
    random.dense("pooler.dense", HIDDEN, HIDDEN)
    random.dense("classifier", HIDDEN, 1)
    model = build_model(config, random.weights, head=True, opset=OPSET)
    labels = {"num_labels": 1, "id2label": {"0": "LABEL_0"}}
    write_model(folder, model, wordpiece_tokenizer(vocabulary), config | labels, bert_tokenizer_config(128))


def make_xlmr_cross_encoder(folder):
    pieces = unigram_vocabulary()
    # Two more positions than tokens: the first two belong to padding.
    config = encoder_config("xlm-roberta", len(pieces), 130, 1, 1, "XLMRobertaForSequenceClassification")
    random = encoder_weights(config, seed=2)
    random.dense("classifier.dense", HIDDEN, HIDDEN)
    random.dense("classifier.out_proj", HIDDEN, 1)
    model = build_model(config, random.weights, head=True, opset=OPSET)
    labels = {"num_labels": 1, "id2label": {"0": "LABEL_0"}}
    write_model(folder, model, unigram_tokenizer(pieces), config | labels, xlm_roberta_tokenizer_config(128))


def make_xlmr_embedder(folder):
    pieces = unigram_vocabulary()
    config = encoder_config("xlm-roberta", len(pieces), 130, 1, 1, "XLMRobertaModel")
    model = build_model(config, encoder_weights(config, seed=3).weights, opset=OPSET)
    write_model(folder, model, unigram_tokenizer(pieces), config, xlm_roberta_tokenizer_config(128))
    prompts = {"query": "query: ", "passage": "passage: "}
    write_sentence_transformers_files(folder, "cls", is_normalized=True, max_length=64, prompts=prompts)


def make_bert_embedder(folder):
    vocabulary = small_vocabulary()
    config = encoder_config("bert", len(vocabulary), 128, 2, 0, "BertModel")
    model = build_model(config, encoder_weights(config, seed=4).weights, opset=OPSET)
    tokenizer = wordpiece_tokenizer(vocabulary)
    # Baked in as all-MiniLM-L6-v2 has it, but wrong: who obeys it cuts at 16 tokens and pads short texts.
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16, pad_id=0, pad_token="[PAD]")
    write_model(folder, model, tokenizer, config, bert_tokenizer_config(128))
    write_sentence_transformers_files(folder, "mean", is_normalized=False, max_length=32, prompts=None)


def make_positions_embedder(folder):
    """A graph that wants position_ids and keeps its weights in another file; last-token pooling, prompts as nomic's."""
    vocabulary = small_vocabulary()
    config = encoder_config("bert", len(vocabulary), 128, 2, 0, "BertModel")
    model = build_model(config, encoder_weights(config, seed=5).weights, opset=OPSET)
    with_position_ids(model.graph)
    write_model(folder, model, wordpiece_tokenizer(vocabulary), config, bert_tokenizer_config(128))
    data = folder / "onnx" / "model.onnx_data"
    # Saving appends to what is there.
    data.unlink(missing_ok=True)
    onnx.save_model(model, str(folder / "onnx" / "model.onnx"), save_as_external_data=True, location=data.name, size_threshold=1024)
    data.chmod(0o644)
    prompts = {"query": "search_query: ", "document": "search_document: "}
    write_sentence_transformers_files(folder, "last token", is_normalized=True, max_length=64, prompts=prompts)


def with_position_ids(graph):
    """Positions are looked up by an input instead of being counted."""
    counted = {"input_shape", "sequence_length", "position_embedding"}
    kept = [node for node in graph.node if node.name not in counted]
    looked_up = helper.make_node("Gather", ["position_embeddings", "position_ids"], ["position_embedding"], name="position_embedding")
    del graph.node[:]
    graph.node.extend([looked_up] + kept)
    used = {name for node in graph.node for name in node.input}
    weights = [weight for weight in graph.initializer if weight.name in used]
    del graph.initializer[:]
    graph.initializer.extend(weights)
    graph.input.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "sequence"]))


def make_e5_pooled(folder):
    """E5-shaped, exported with its pooling: the only output is sentence_embedding, and no file speaks of pooling."""
    pieces = unigram_vocabulary()
    config = encoder_config("xlm-roberta", len(pieces), 130, 1, 1, "XLMRobertaModel")
    model = build_model(config, encoder_weights(config, seed=6).weights, opset=OPSET)
    with_mean_pooling(model.graph)
    tokenizer = unigram_tokenizer(pieces)
    tokenizer.enable_truncation(24)
    tokenizer.enable_padding(length=24, pad_id=1, pad_token="<pad>")
    write_model(folder, model, tokenizer, config, xlm_roberta_tokenizer_config(128))
    prompts = {"query": "query: ", "passage": "passage: "}
    write_json(folder / "config_sentence_transformers.json", {"prompts": prompts})


def with_mean_pooling(graph):
    """Replaces the token states by their mean, scaled to length 1."""
    graph.initializer.append(numpy_helper.from_array(np.array([1], dtype=np.int64), "sequence_axes"))
    graph.initializer.append(numpy_helper.from_array(np.array([2], dtype=np.int64), "hidden_axes"))
    graph.node.extend(
        helper.make_node(operator, inputs, [output], name=output, **attributes)
        for operator, inputs, output, attributes in [
            ("Cast", ["attention_mask"], "pooled_mask", {"to": TensorProto.FLOAT}),
            ("Unsqueeze", ["pooled_mask", "hidden_axes"], "pooled_mask_broadcast", {}),
            ("Mul", ["last_hidden_state", "pooled_mask_broadcast"], "pooled_states", {}),
            ("ReduceSum", ["pooled_states", "sequence_axes"], "pooled_sum", {"keepdims": 0}),
            ("ReduceSum", ["pooled_mask", "sequence_axes"], "pooled_count", {"keepdims": 1}),
            ("Div", ["pooled_sum", "pooled_count"], "pooled_mean", {}),
            ("ReduceL2", ["pooled_mean"], "pooled_length", {"axes": [1], "keepdims": 1}),
            ("Div", ["pooled_mean", "pooled_length"], "sentence_embedding", {}),
        ]
    )
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", HIDDEN]))


def make_precisions_embedder(folder):
    """One model as three graphs: fp32, fp16 (float32 at its border, as exporters leave it) and dynamic int8."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    vocabulary = small_vocabulary()
    config = encoder_config("bert", len(vocabulary), 128, 2, 0, "BertModel")
    model = build_model(config, encoder_weights(config, seed=7).weights, opset=OPSET)
    write_model(folder, model, wordpiece_tokenizer(vocabulary), config, bert_tokenizer_config(128))
    write_sentence_transformers_files(folder, "mean", is_normalized=True, max_length=64, prompts=None)
    half = convert_float_to_float16(model, keep_io_types=True)
    (folder / "onnx" / "model_fp16.onnx").write_bytes(half.SerializeToString(deterministic=True))
    quantize_int8(folder / "onnx" / "model.onnx", folder / "onnx" / "model_int8.onnx")


def make_half_embedder(folder):
    """The precisions embedder as one graph in half precision whose output is float16 as well."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    vocabulary = small_vocabulary()
    config = encoder_config("bert", len(vocabulary), 128, 2, 0, "BertModel")
    model = build_model(config, encoder_weights(config, seed=7).weights, opset=OPSET)
    half = convert_float_to_float16(model, keep_io_types=False)
    write_model(folder, half, wordpiece_tokenizer(vocabulary), config, bert_tokenizer_config(128))
    write_sentence_transformers_files(folder, "mean", is_normalized=True, max_length=64, prompts=None)


def make_overlap_reranker(folder):
    """logit = 4 * (weight of the query's tokens found in the passage) / (weight of the query's tokens) - 2."""
    vocabulary, token_weights = overlap_vocabulary()
    builder = GraphBuilder({}, OPSET)
    by_token = builder.constant("token_weights", token_weights, np.float32)
    weight = builder.node("Gather", [by_token, "input_ids"], "weight")
    mask = builder.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    kind = builder.node("Cast", ["token_type_ids"], "kind", to=TensorProto.FLOAT)
    is_query = builder.node("Sub", [builder.number("one", 1.0), kind], "is_query")
    in_query = builder.node("Mul", [mask, is_query], "in_query")
    in_passage = builder.node("Mul", [mask, kind], "in_passage")
    query_weight = builder.node("Mul", [weight, in_query], "query_weight")
    # (batch, token, other token): whether the other token is the same one and belongs to the passage.
    rows = builder.node("Unsqueeze", ["input_ids", builder.integers("axis_2", [2])], "rows")
    columns = builder.node("Unsqueeze", ["input_ids", builder.integers("axis_1", [1])], "columns")
    same = builder.node("Equal", [rows, columns], "same")
    same = builder.node("Cast", [same], "same_as_float", to=TensorProto.FLOAT)
    passage_columns = builder.node("Unsqueeze", [in_passage, "axis_1"], "passage_columns")
    same_in_passage = builder.node("Mul", [same, passage_columns], "same_in_passage")
    is_found = builder.node("ReduceMax", [same_in_passage], "is_found", axes=[2], keepdims=0)
    found_weight = builder.node("Mul", [query_weight, is_found], "found_weight")
    found = builder.node("ReduceSum", [found_weight, "axis_1"], "found", keepdims=1)
    total = builder.node("ReduceSum", [query_weight, "axis_1"], "total", keepdims=1)
    total = builder.node("Max", [total, builder.number("least_total", 0.25)], "total_above_zero")
    share = builder.node("Div", [found, total], "share")
    scaled = builder.node("Mul", [share, builder.number("scale", 4.0)], "scaled")
    builder.node("Sub", [scaled, builder.number("shift", 2.0)], "logits")
    model = builder.model("overlap", ["input_ids", "attention_mask", "token_type_ids"], "logits", ["batch", 1])
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "vocab_size": len(vocabulary),
        "pad_token_id": 0,
        "num_labels": 1,
        "id2label": {"0": "LABEL_0"},
        "max_position_embeddings": 512,
    }
    write_model(folder, model, wordpiece_tokenizer(vocabulary), config, bert_tokenizer_config(512))


# --- Expected outputs ----------------------------------------------------------------------------------------------------

LONG_TEXT = " ".join(
    f"Note {number}: the old house near the river has a small garden, and on a sunny day people walk their dogs there."
    for number in range(1, 21)
)
TEXTS = [
    "That is a happy person",
    "coffee",
    "Où est le café ? Naïve façade, Straße, ÜBERMÄSSIG.",
    "東京の天気を検索する。中文 жизнь 🙂",
    "",
    LONG_TEXT,
]
PAIRS = [
    ("when is the garden sunny", "The garden is sunny on a long day in the week."),
    ("when is the garden sunny", "Invoice 42: pay the bank by train, not by car."),
    ("Où est le café ?", "Le café est près de la façade; coffee and milk."),
    ("東京 検索", "東京で検索する。中文 жизнь 🙂"),
    ("coffee", ""),
    ("which people walk their dogs near the river", LONG_TEXT),
    (LONG_TEXT, "a short note about dogs"),
]
EXPECTED_NOTE = (
    "Compare with a tolerance of 1e-4: sums are made in another order on another processor. embed_query and embed_passage are the "
    "outputs for the prefix followed by the text; max_length counts the special tokens; a logit is raw, before any sigmoid."
)
MINILM_NOTE = (
    "all-MiniLM-L6-v2, one text at a time. fp32: compare with a tolerance of 1e-4. int8: compare by cosine (at least 0.95), since "
    "quantised arithmetic differs between kinds of processors."
)


def rounded(values):
    # Adding 0.0 turns -0.0 into 0.0.
    return [round(float(value), 6) + 0.0 for value in values]


def json_lines(value, indent=""):
    """JSON with one line for a list of numbers."""
    inner = indent + "  "
    if isinstance(value, dict):
        items = [f"{inner}{json.dumps(key)}: {json_lines(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n" + indent + "}"
    if isinstance(value, list) and not all(isinstance(item, (int, float)) for item in value):
        return "[\n" + ",\n".join(inner + json_lines(item, inner) for item in value) + "\n" + indent + "]"
    return json.dumps(value, ensure_ascii=False)


def expected_of_embedder(folder):
    embedder = ReferenceEmbedder(folder)
    query_prefix = embedder.prefix("query")
    passage_prefix = embedder.prefix("passage", "document")

    def expected(text, prefix):
        return {"input_ids": embedder.encode(prefix + text).ids, "vector": rounded(embedder.embed(prefix + text))}

    cases = [
        {"text": text, "embed_query": expected(text, query_prefix), "embed_passage": expected(text, passage_prefix)}
        for text in TEXTS
    ]
    return {
        "kind": "embedder",
        "max_length": embedder.max_length,
        "pooling": embedder.pooling,
        "normalized": embedder.is_normalized,
        "query_prefix": query_prefix,
        "passage_prefix": passage_prefix,
        "cases": cases,
    }


def expected_of_precisions(folder):
    embedders = {precision: ReferenceEmbedder(folder, precision) for precision in ("fp32", "fp16", "int8")}
    cases = [
        {"text": text} | {precision: rounded(embedder.embed(text)) for precision, embedder in embedders.items()}
        for text in TEXTS
    ]
    return {"kind": "precisions", "max_length": embedders["fp32"].max_length, "cases": cases}


def expected_of_cross_encoder(folder):
    encoder = ReferenceCrossEncoder(folder)
    cases = [
        {
            "query": query,
            "passage": passage,
            "input_ids": encoder.encode(query, passage).ids,
            "logit": rounded([encoder.score(query, passage)])[0],
        }
        for query, passage in PAIRS
    ]
    return {"kind": "cross-encoder", "max_length": encoder.max_length, "truncation": "longest_first", "cases": cases}


MODELS = {
    "bert-cross-encoder": (make_bert_cross_encoder, expected_of_cross_encoder),
    "xlmr-cross-encoder": (make_xlmr_cross_encoder, expected_of_cross_encoder),
    "xlmr-embedder": (make_xlmr_embedder, expected_of_embedder),
    "bert-embedder": (make_bert_embedder, expected_of_embedder),
    "positions-embedder": (make_positions_embedder, expected_of_embedder),
    "e5-pooled": (make_e5_pooled, expected_of_embedder),
    "precisions-embedder": (make_precisions_embedder, expected_of_precisions),
    "half-embedder": (make_half_embedder, expected_of_embedder),
    "overlap-reranker": (make_overlap_reranker, expected_of_cross_encoder),
}


def make_all(output):
    expected = {}
    for name, (make, expected_of) in MODELS.items():
        make(output / name)
        onnx.checker.check_model(str(output / name / "onnx" / "model.onnx"), full_check=True)
        expected[name] = expected_of(output / name)
    document = {"note": EXPECTED_NOTE, "models": expected}
    (output / "expected.json").write_text(json_lines(document) + "\n", encoding="utf-8")


def make_minilm_expected(model_dir, output):
    fp32 = ReferenceEmbedder(model_dir)
    int8 = ReferenceEmbedder(model_dir, "int8")
    cases = []
    for text in TEXTS:
        vectors = {"fp32": rounded(fp32.embed(text)), "int8": rounded(int8.embed(text))}
        cases.append({"text": text, "input_ids": fp32.encode(text).ids, **vectors})
    expected = {
        "note": MINILM_NOTE,
        "max_length": fp32.max_length,
        "pooling": "mean",
        "normalized": True,
        "cases": cases,
    }
    (output / "minilm-expected.json").write_text(json_lines(expected) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="Make the tests' small models and their expected outputs.")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUTPUT, help="the folder to write to")
    parser.add_argument("--minilm", type=Path, metavar="MODEL_DIR", help="write minilm-expected.json from this folder instead")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.minilm:
        make_minilm_expected(arguments.minilm, arguments.out)
    else:
        make_all(arguments.out)


if __name__ == "__main__":
    main()
