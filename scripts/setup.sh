#!/usr/bin/env bash
# Installs what building and running sensetree needs, and skips whatever is already there.
#
#   scripts/setup.sh           what `make setup` runs
#   scripts/setup.sh --tests   also what only the tests need: a browser that shows the meaning tree's page
#   scripts/setup.sh --check   only says what is missing; status 1 if anything is
#
# SENSETREE_CACHE       where the files go (default: $XDG_CACHE_HOME/sensetree or ~/.cache/sensetree)
# ORT_DYLIB_PATH        an existing ONNX Runtime library, used instead of the one from the package registry
# SENSETREE_MODEL_DIR   an existing model folder, used instead of all-MiniLM-L6-v2
# CHROMIUM              an existing Chromium or Chrome, or `none` to leave out the tests that look at pages
# PYTHON                the Python to make the virtual environment with (default: the first fitting python3)
set -Eeuo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly scripts
readonly requirements="$scripts/requirements.txt"
export PYTHONDONTWRITEBYTECODE=1

die() {
    local status=1
    if [[ $1 == --status=* ]]; then
        status="${1#--status=}"
        shift
    fi
    printf 'setup: %s\n' "$1" >&2
    exit "$status"
}

step="looking at what is there"
trap 'die "Stopped while $step (line $LINENO of scripts/setup.sh): run it again, and report this if it stays."' ERR
trap 'die --status=130 "Interrupted while $step: nothing half done is used, run it again to go on."' INT TERM

check_only=false
for_tests=false
for option in "$@"; do
    case "$option" in
        --check) check_only=true ;;
        --tests) for_tests=true ;;
        *) die "There is no option $option: --check says what is missing and installs nothing, --tests adds what only the tests need." ;;
    esac
done
readonly check_only for_tests
[[ -n "${SENSETREE_CACHE:-}${XDG_CACHE_HOME:-}${HOME:-}" ]] || die "HOME is not set: set SENSETREE_CACHE to a folder for the downloaded files."

readonly cache="${SENSETREE_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/sensetree}"
readonly venv="$cache/venv"
readonly library="$cache/onnxruntime/libonnxruntime.so"
readonly model="$cache/models/all-MiniLM-L6-v2"

# --- What is there -------------------------------------------------------------------------------------------------------

pinned_version() {
    sed -n "s/^$1==//p" "$requirements"
}

rust_version_needed() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' "$scripts/../Cargo.toml"
}

# $1 >= $2, for dotted versions.
at_least() {
    local -a have want
    IFS=. read -ra have <<<"${1%%-*}"
    IFS=. read -ra want <<<"$2"
    local i
    for i in 0 1 2; do
        ((${have[i]:-0} == ${want[i]:-0})) || {
            ((${have[i]:-0} > ${want[i]:-0}))
            return
        }
    done
}

has_protoc() {
    local protoc
    protoc="${PROTOC:-$(command -v protoc || true)}"
    [[ -x "$protoc" ]] || return 1
    local folder
    for folder in "${PROTOC_INCLUDE:-/usr/include}" "$(dirname "$(readlink -f "$protoc")")/../include" /usr/include; do
        [[ ! -f "$folder/google/protobuf/any.proto" ]] || return 0
    done
    return 1
}

# A compiler alone links nothing: the C library's start files belong to it.
has_c_compiler() {
    command -v cc >/dev/null || return 1
    [[ "$(cc -print-file-name=crt1.o 2>/dev/null)" == /* || "$(cc -print-file-name=Scrt1.o 2>/dev/null)" == /* ]]
}

has_browser() {
    local browser
    [[ "${CHROMIUM:-}" != none ]] || return 0
    for browser in ${CHROMIUM:+"$CHROMIUM"} chromium chromium-browser google-chrome google-chrome-stable; do
        ! command -v "$browser" >/dev/null || return 0
    done
    return 1
}

# The first Python that the pinned packages have wheels for and that can make a virtual environment with pip in it.
find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.14; do
        [[ -n "$candidate" ]] || continue
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

requirements_hash() {
    sha256sum "$requirements" | cut -d' ' -f1
}

has_venv() {
    [[ -f "$venv/.requirements.sha256" ]] || return 1
    [[ "$(<"$venv/.requirements.sha256")" == "$(requirements_hash)" ]] || return 1
    # A new Python of the system finds its old packages no more.
    "$venv/bin/python" -c 'import importlib.util as i, sys; sys.exit(i.find_spec("onnxruntime") is None)' 2>/dev/null
}

has_library() {
    [[ -s "$library" && -f "$cache/onnxruntime/VERSION" ]] || return 1
    [[ "$(<"$cache/onnxruntime/VERSION")" == "$(pinned_version onnxruntime)" ]]
}

has_model() {
    local file recipe
    for file in config.json config_sentence_transformers.json modules.json sentence_bert_config.json special_tokens_map.json \
        tokenizer.json tokenizer_config.json 1_Pooling/config.json onnx/model.onnx onnx/model_int8.onnx source.json; do
        [[ -s "$model/$file" ]] || return 1
    done
    recipe="$(sed -n 's/^RECIPE = //p' "$scripts/prepare_minilm.py")"
    grep -q "\"recipe\": $recipe," "$model/source.json"
}

missing=()
debian_packages=()
needs_venv=false
needs_library=false
needs_model=false

check_rust() {
    if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
        if [[ -x "${HOME:-}/.cargo/bin/cargo" ]]; then
            rust_problem="Rust is installed but not on the PATH: run '. \"\$HOME/.cargo/env\"' or open a new terminal, then run this again."
        else
            rust_problem="Rust is missing: install it as https://rustup.rs says (as yourself, not as root), open a new terminal and run this again."
        fi
        return
    fi
    local version
    version="$(rustc --version 2>/dev/null | cut -d' ' -f2)" || version=""
    if ! at_least "${version:-0}" "$(rust_version_needed)"; then
        rust_problem="Rust ${version:-of an unknown version} is too old, $(rust_version_needed) or newer is needed: run 'rustup update stable', then run this again."
    fi
}

look() {
    rust_problem=""
    missing=()
    debian_packages=()
    needs_venv=false
    needs_library=false
    needs_model=false

    check_rust
    [[ -z "$rust_problem" ]] || missing+=("$rust_problem")
    if ! has_protoc; then
        missing+=("protoc with its google/protobuf includes (they build LanceDB; PROTOC can name one)")
        debian_packages+=(protobuf-compiler libprotobuf-dev)
    fi
    if ! has_c_compiler; then
        missing+=("a C compiler and linker")
        debian_packages+=(build-essential)
    fi
    if $for_tests && ! has_browser; then
        missing+=("a browser that shows pages without a screen (the tests look at one; CHROMIUM can name it, or be \`none\`)")
        debian_packages+=(chromium)
    fi
    if [[ -n "${ORT_DYLIB_PATH:-}" ]]; then
        [[ -f "$ORT_DYLIB_PATH" ]] || die "ORT_DYLIB_PATH names $ORT_DYLIB_PATH, which is no file: set it to libonnxruntime.so of ONNX Runtime 1.17 or newer, or unset it."
    elif ! has_library; then
        needs_library=true
        missing+=("ONNX Runtime $(pinned_version onnxruntime) at $library")
    fi
    if [[ -n "${SENSETREE_MODEL_DIR:-}" ]]; then
        [[ -f "$SENSETREE_MODEL_DIR/tokenizer.json" ]] || die "SENSETREE_MODEL_DIR names $SENSETREE_MODEL_DIR, which holds no tokenizer.json: set it to a folder laid out like the model's repository on the hub, or unset it."
    elif ! has_model; then
        needs_model=true
        missing+=("the model all-MiniLM-L6-v2 at $model")
    fi
    # Who brings both the library and a model needs no Python at all.
    if [[ -z "${ORT_DYLIB_PATH:-}" || -z "${SENSETREE_MODEL_DIR:-}" ]] && ! has_venv; then
        needs_venv=true
        missing+=("the Python environment at $venv")
        if ! find_python >/dev/null; then
            missing+=("Python 3.11 to 3.14 with venv")
            debian_packages+=(python3 python3-venv)
        fi
    fi
}

# --- What is done about it -----------------------------------------------------------------------------------------------

say_plan() {
    echo "sensetree set-up"
    if ((${#debian_packages[@]})); then
        echo "  packages of the system:  ${debian_packages[*]}"
    fi
    if $needs_venv; then
        echo "  Python environment:      $venv  (50 MB to download, 225 MB on disk; the pins are in scripts/requirements.txt)"
    fi
    if $needs_library; then
        echo "  ONNX Runtime $(pinned_version onnxruntime):     $library  (35 MB)"
    fi
    if $needs_model; then
        echo "  model all-MiniLM-L6-v2:  $model  (84 MB to download, 114 MB on disk)"
    fi
    echo "Everything else is already there. Remove $cache to undo all but the packages."
}

install_debian_packages() {
    step="installing packages of the system"
    local names="${debian_packages[*]}"
    local -a install=(env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends "${debian_packages[@]}")
    if ! command -v apt-get >/dev/null; then
        die --status=2 "This system has no apt-get: install what Debian calls $names (protoc with its google/protobuf includes, a C compiler and linker, Python 3.11 or newer with venv) with its own package manager, then run this again."
    fi
    local ask="ask the administrator to run 'apt-get update && apt-get install --no-install-recommends $names', then run this again."
    local -a as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die --status=2 "Packages are missing and neither root nor sudo is available: $ask"
        # Without a terminal, sudo could only wait for a password that nobody types.
        [[ -t 0 ]] || sudo -n true 2>/dev/null || die --status=2 "Packages are missing and sudo would ask for a password: $ask"
        as_root=(sudo)
    fi
    echo "Installing $names ..."
    # A failed update is no reason to stop: the lists that are there may do.
    "${as_root[@]}" apt-get update --quiet=2 || true
    "${as_root[@]}" "${install[@]}" >/dev/null ||
        die --status=2 "apt-get could not install $names (see above): check the network and the package sources, or $ask"
}

make_venv() {
    step="making the Python environment"
    local python log="$cache/setup.log"
    python="$(find_python)" ||
        die "No Python between 3.11 and 3.14 that can make virtual environments was found: install one and set PYTHON to it, or set both ORT_DYLIB_PATH and SENSETREE_MODEL_DIR."
    echo "Making the Python environment ..."
    rm -rf "$venv"
    "$python" -m venv "$venv" >"$log" 2>&1 ||
        die "$python could not make a virtual environment in $venv (the reason is in $log): check the disk's free space, or set PYTHON to another Python."
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --requirement "$requirements" >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        die "pip could not install the packages of scripts/requirements.txt (onnxruntime and others, see above and $log): check the network or pip's index setting and run this again, or set ORT_DYLIB_PATH to an existing libonnxruntime.so and SENSETREE_MODEL_DIR to an existing model folder."
    fi
    requirements_hash >"$venv/.requirements.sha256"
    rm -f "$log"
}

copy_library() {
    step="copying ONNX Runtime's library"
    echo "Copying ONNX Runtime's library ..."
    local version package
    version="$(pinned_version onnxruntime)"
    package="$("$venv/bin/python" -c 'import importlib.util as i; print(i.find_spec("onnxruntime").submodule_search_locations[0])')"
    [[ -s "$package/capi/libonnxruntime.so.$version" ]] ||
        die "The onnxruntime package has no libonnxruntime.so.$version: remove $venv and run this again, or set ORT_DYLIB_PATH to an existing library."
    mkdir -p "$cache/onnxruntime"
    local source target
    for source in LICENSE ThirdPartyNotices.txt "capi/libonnxruntime.so.$version"; do
        target="$cache/onnxruntime/$(basename "$source" ".$version")"
        # Renamed into place: a process that has the old file open keeps it, and nobody sees half of the new one.
        if ! { cp "$package/$source" "$target.partial" && mv -f "$target.partial" "$target"; }; then
            die "$target could not be written: make room or check the folder's permissions, and run this again."
        fi
    done
    echo "$version" >"$cache/onnxruntime/VERSION"
}

prepare_model() {
    step="preparing the model"
    echo "Preparing all-MiniLM-L6-v2 (download, export, comparison with its published figures; about a minute) ..."
    mkdir -p "$cache/models"
    rm -rf "$cache/models/.all-MiniLM-L6-v2."*
    local status=0
    "$venv/bin/python" "$scripts/prepare_minilm.py" "$model" || status=$?
    # 3: it has said why in a sentence of its own.
    ((status != 3)) || exit 1
    ((status == 0)) || die "The model could not be prepared (see above): run this again, or set SENSETREE_MODEL_DIR to an existing model folder."
}

look

if $check_only; then
    if ((${#missing[@]} == 0)); then
        echo "Nothing is missing ($cache)."
        exit 0
    fi
    printf 'missing: %s\n' "${missing[@]}"
    exit 1
fi

[[ -z "$rust_problem" ]] || die "$rust_problem"
if ((${#missing[@]} == 0)); then
    echo "Everything is set up ($cache)."
    exit 0
fi

say_plan
if ((${#debian_packages[@]})); then
    install_debian_packages
fi
if $needs_venv || $needs_library || $needs_model; then
    step="making the folder $cache"
    if ! { mkdir -p "$cache" 2>/dev/null && [[ -w "$cache" ]]; }; then
        die "The folder $cache cannot be written: set SENSETREE_CACHE to one that can."
    fi
    if command -v flock >/dev/null; then
        exec 9>"$cache/.setup.lock"
        flock --nonblock 9 || {
            echo "Another set-up is running; waiting for it ..."
            flock 9
        }
        # The other one may have done the work.
        look
    fi
    if $needs_venv || { { $needs_library || $needs_model; } && ! has_venv; }; then make_venv; fi
    if $needs_library; then copy_library; fi
    if $needs_model; then prepare_model; fi
fi

step="checking the result"
look
((${#missing[@]} == 0)) || die "Still missing after the set-up: ${missing[*]}; run this again, and report it if it stays."
echo "Everything is set up ($cache)."
