#!/usr/bin/env bash
# Measures sensetree against other libraries and prints one table; benches/README.md says what each row means. `make bench` runs it
# after the set-up.
#
#   scripts/bench.sh [PART…] [--texts N] [--rounds N] [--sizes N,N] [--files N] [--vector-index]    (--help lists all)
#
# Installs the rivals of scripts/requirements-bench.txt into bench-venv/ of the cache folder (220 MB to download, 630 MB on disk) and
# builds those in benches/rivals into rivals-target/. What cannot be had is named in the table.
#
# SENSETREE_BENCH_TEXTS   folders in BEIR form (corpus.jsonl, queries.jsonl, qrels/), separated by colons: the corpus.
#                         Default: the repository's own text files; the demo's for the stores
# SENSETREE_CACHE, ORT_DYLIB_PATH, SENSETREE_MODEL_DIR, PYTHON   as for scripts/setup.sh
set -Eeuo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(dirname "$scripts")"
cache="${SENSETREE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sensetree}"
readonly scripts root cache
readonly requirements="$scripts/requirements-bench.txt" venv="$cache/bench-venv"
export PYTHONDONTWRITEBYTECODE=1

say() { printf '%s\n' "$1" >&2; }

# For a message about something that failed: the last line that says anything.
reason() { grep -v '^[[:space:]]*$' "$1" | tail -n 1; }

# The environment of the set-up makes this one, since its Python fits.
make_venv() {
    local hash log="$cache/bench-venv.log" python="$cache/venv/bin/python"
    hash="$(sha256sum "$requirements" | cut -d' ' -f1)"
    [[ "$(cat "$venv/.requirements.sha256" 2>/dev/null)" != "$hash" ]] || return 0
    [[ -x "$python" ]] || python="${PYTHON:-python3}"
    say "Installing the Python rivals into $venv ..."
    rm -rf "$venv"
    if ! { "$python" -m venv "$venv" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --only-binary=:all: --requirement "$requirements"; } >"$log" 2>&1; then
        PYTHON_MISSING="could not be installed: $(reason "$log")"
        return 0
    fi
    echo "$hash" >"$venv/.requirements.sha256"
}

# The reranker's weights are random: there is no published one in the package registries.
make_reranker() {
    local folder="$cache/bench/cross-encoder" log="$cache/bench-reranker.log"
    if [[ ! -d "$folder" ]]; then
        say "Making a cross-encoder of the size of MiniLM-L6 ..."
        if ! "$cache/venv/bin/python" "$scripts/make_bench_reranker.py" "$BENCH_MODEL" "$folder" >"$log" 2>&1; then
            RERANKER_MISSING="could not be made: $(reason "$log")"
            return 0
        fi
    fi
    BENCH_RERANKER="$folder"
}

build_rivals() {
    say "Building the rivals in Rust ..."
    local log="$cache/bench-rivals.log"
    if CARGO_TARGET_DIR="$cache/rivals-target" cargo build --manifest-path "$root/benches/rivals/Cargo.toml" 2>"$log"; then
        RIVALS_BINARY="$cache/rivals-target/debug/sensetree-rivals"
    else
        RIVALS_MISSING="benches/rivals could not be built: $(grep -m 1 '^error' "$log")"
    fi
}

# What cargo calls the executable of a target.
executable() {
    cargo build --manifest-path "$root/Cargo.toml" --all-features "$@" --message-format=json-render-diagnostics |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

build_own() {
    say "Building sensetree ..."
    SEARCH_BENCH="$(executable --bench search)" && SEARCH_EXAMPLE="$(executable --example search)" ||
        OWN_MISSING="the bench and the example \`search\` could not be built"
}

for argument in "$@"; do
    [[ "$argument" != --help && "$argument" != -h ]] || exec "${PYTHON:-python3}" "$root/benches/rivals/drive.py" --help
done

PYTHON_MISSING="" RERANKER_MISSING="" RIVALS_MISSING="" OWN_MISSING=""
RIVALS_BINARY="" BENCH_RERANKER="" SEARCH_BENCH="" SEARCH_EXAMPLE=""
BENCH_FOLDER="$cache/bench"
BENCH_MODEL="${SENSETREE_MODEL_DIR:-$cache/models/all-MiniLM-L6-v2}"
ORT_DYLIB_PATH="${ORT_DYLIB_PATH:-$cache/onnxruntime/libonnxruntime.so}"
mkdir -p "$BENCH_FOLDER"

# All parts by default; otherwise only what the chosen ones need.
parts=" $* "
wants() {
    local part
    [[ "$parts" =~ \ (embedding|questions|rerank|search|words|indexing)\  ]] || return 0
    for part in "$@"; do [[ "$parts" != *" $part "* ]] || return 0; done
    return 1
}
if wants embedding search words indexing; then make_venv; fi
if wants rerank; then make_reranker; fi
if wants embedding questions rerank words; then build_rivals; fi
if wants search words indexing; then build_own; fi

RIVALS_PYTHON="$venv/bin/python"
[[ -z "$PYTHON_MISSING" && -x "$RIVALS_PYTHON" ]] || RIVALS_PYTHON=""
export PYTHON_MISSING RERANKER_MISSING RIVALS_MISSING OWN_MISSING
export RIVALS_BINARY RIVALS_PYTHON BENCH_RERANKER SEARCH_BENCH SEARCH_EXAMPLE BENCH_FOLDER BENCH_MODEL ORT_DYLIB_PATH
exec "${RIVALS_PYTHON:-${PYTHON:-python3}}" "$root/benches/rivals/drive.py" "$@"
