"""Measures sensetree against other libraries in one run, and prints one Markdown table. `scripts/bench.sh` sets up and calls it.

Both sides of a row run on the same machine in the same minutes: sides that can be kept loaded take turns, round after round, and the
medians of the rounds are compared; programs that run once are run in turn. A side that cannot run is named with its reason.

Standard library only, so that it can also tell that nothing could be installed.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = ["embedding", "questions", "rerank", "search", "words", "indexing"]
# What is taken for text when no collection is named.
TEXT_ENDINGS = {".rs", ".md", ".txt", ".py", ".sh", ".toml", ".csv", ".html", ".log"}


class Missing(Exception):
    """Why a side was not measured."""


# --- Sides ---------------------------------------------------------------------------------------------------------------


class Side:
    """A process that does its work once for each line it is sent."""

    def __init__(self, name, command):
        self.name = name
        self.answers = []
        if isinstance(command, Missing):
            raise command
        self.errors = open(place("errors") / f"{name.replace(' ', '-')}.txt", "w+")
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )
        self.ready = self._read()

    def once(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            # It ended since its last answer; why is told below.
            pass
        self.answers.append(self._read())

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise Missing(last_line(self.errors.read()) or f"ended with status {self.process.returncode}")
        return json.loads(line)

    def stop(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()

    def seconds(self):
        return [answer["seconds"] for answer in self.answers]


def in_turn(commands, rounds, warm_up=0):
    """Every side once in each round. Sides that cannot run are Missing in the result."""
    sides = {}
    for name, command in commands.items():
        try:
            sides[name] = Side(name, command)
        except Missing as reason:
            sides[name] = reason
    for number in range(rounds + warm_up):
        for name, side in sides.items():
            if isinstance(side, Side):
                say(f"  round {number + 1 - warm_up} of {rounds}: {name}")
                try:
                    side.once()
                except Missing as reason:
                    sides[name] = reason
    for side in sides.values():
        if isinstance(side, Side):
            side.stop()
            side.answers = side.answers[warm_up:]
    return sides


def run(command, environment=None):
    """The lines of JSON that a program prints, its seconds and its peak of memory in MiB."""
    if isinstance(command, Missing):
        raise command
    started = time.perf_counter()
    with open(place("errors") / "run.txt", "w+") as errors:
        command = [str(part) for part in command]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **(environment or {})})
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise Missing(last_line(errors.read()) or f"{command[0]} ended with status {process.returncode}")
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return lines, seconds, usage.ru_maxrss / 1024


def alternate(programs, rounds):
    """What `measure()` of each program gave, round after round; or why it gave nothing."""
    found = {name: [] for name in programs}
    for number in range(rounds):
        for name, measure in programs.items():
            if not isinstance(found[name], Missing):
                say(f"  round {number + 1} of {rounds}: {name}")
                try:
                    found[name].append(measure())
                except Missing as reason:
                    found[name] = reason
    return found


def rival(*arguments):
    """One of the sides in Rust."""
    return built("RIVALS_BINARY", "RIVALS_MISSING") or [os.environ["RIVALS_BINARY"], *arguments]


def python(script, *arguments):
    missing = built("RIVALS_PYTHON", "PYTHON_MISSING")
    return missing or [os.environ["RIVALS_PYTHON"], "-B", HERE / script, *arguments]


def own(variable, *arguments):
    """One of the workspace's programs."""
    return built(variable, "OWN_MISSING") or [os.environ[variable], *arguments]


def built(variable, reason):
    if not os.environ.get(variable):
        return Missing(os.environ.get(reason) or f"{variable} is not set: run scripts/bench.sh")
    return None


# --- The table -----------------------------------------------------------------------------------------------------------


class Table:
    def __init__(self):
        self.rows = []
        self.raw = []

    def row(self, what, ours, rival, ratio, aim=None, at_most=False):
        """`ours` and `rival` are texts, `ratio` a number, `aim` its bound."""
        met = "" if aim is None else "yes" if (ratio <= aim if at_most else ratio >= aim) else "no"
        sign = "≤" if at_most else "≥"
        self._add(what, ours, rival, f"{ratio:.2f}", "" if aim is None else f"{sign} {aim:g}", met)

    def missing(self, what, name, reason):
        self._add(what, "", f"{name}: not measured ({reason})", "", "", "")

    def _add(self, *cells):
        row = [cell.replace("|", "/").replace("\n", " ") for cell in cells]
        # What is missing is missing in each comparison; once says it.
        if row not in self.rows:
            self.rows.append(row)

    def text(self):
        head = ["what", "ours", "rival", "ratio", "aim", "met"]
        lines = [head, ["---"] * len(head), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# --- Parts ---------------------------------------------------------------------------------------------------------------


def embedding(table, options, data):
    """Texts per second. Every side embeds all texts in each round."""
    texts, count = data.texts, data.count
    sides = {}
    # One precision after the other: batches of 256 keep several GB for as long as their side is loaded.
    for precision in ("fp32", "int8"):
        commands = {
            f"sensetree {precision}": rival("embed", "sensetree", precision, data.model, texts),
            f"fastembed crate {precision}": rival("embed", "fastembed", precision, data.model, texts),
            f"fastembed Python {precision}": python("embed.py", "fastembed", precision, data.model, texts),
            f"by length, batches of 32, Python {precision}": python("embed.py", "by-length", precision, data.model, texts),
            f"by hand, single texts {precision}": rival("embed", "by-hand-singles", precision, data.model, texts),
            f"by hand, batches of 8 {precision}": rival("embed", "by-hand-batches", precision, data.model, texts),
        }
        sides |= in_turn(commands, options.rounds)
    table.raw += [{"part": "embedding", "side": name, "seconds": s.seconds()} for name, s in sides.items() if isinstance(s, Side)]
    rates = {}
    for name, side in sides.items():
        rates[name] = count / statistics.median(side.seconds()) if isinstance(side, Side) else side
        precision = name.split()[-1]
        ours = sides[f"sensetree {precision}"]
        # An 8-bit graph gives other vectors in each batch that a text is in.
        if isinstance(side, Side) and isinstance(ours, Side) and least_cosine(side, ours) < (0.999 if precision == "fp32" else 0.95):
            rates[name] = Missing(f"its vectors are others: cosine {least_cosine(side, ours):.3f}")

    def compare(what, ours, name, aim=None):
        if isinstance(rates[ours], Missing):
            return table.missing(what, "ours", rates[ours])
        if isinstance(rates[name], Missing):
            return table.missing(what, name, rates[name])
        table.row(what, f"{rates[ours]:.1f} texts/s", f"{name}: {rates[name]:.1f} texts/s", rates[ours] / rates[name], aim)

    rivals = ["fastembed crate", "fastembed Python", "by length, batches of 32, Python"]
    for name in rivals:
        compare("embedding, fp32", "sensetree fp32", f"{name} fp32", 4)
    for name in rivals:
        compare("embedding, int8 against fp32", "sensetree int8", f"{name} fp32", 7)
    for name in rivals:
        compare("embedding, int8", "sensetree int8", f"{name} int8")
    table.missing("embedding", "sentence-transformers", "its PyTorch is several GB; its order and batches stand in, by length")
    for precision in ("fp32", "int8"):
        loops = [f"by hand, {loop} {precision}" for loop in ("single texts", "batches of 8")]
        best = max(loops, key=lambda loop: -1 if isinstance(rates[loop], Missing) else rates[loop])
        compare(f"embedding, {precision}, against the better loop", f"sensetree {precision}", best, 0.85)


def questions(table, options, data):
    """How long a question waits while passages are embedded, p95."""
    for precision in ("fp32", "int8"):
        what = f"question while indexing, {precision}, p95"
        side = in_turn({precision: rival("questions", precision, data.model, data.texts)}, options.rounds, warm_up=1)[precision]
        if isinstance(side, Missing):
            table.missing(what, "ours", side)
            continue
        table.raw.append({"part": "questions", "precision": precision, "answers": side.answers})
        idle, busy = (p95([time for answer in side.answers for time in answer[key]]) for key in ("idle", "busy"))
        table.row(what, f"{busy:.1f} ms", f"itself, idle: {idle:.1f} ms", busy / idle, 3, at_most=True)


def rerank(table, options, data):
    """Seconds for 60 passages of 800 characters."""
    if isinstance(data.reranker, Missing):
        return table.missing("reranking", "cross-encoder", data.reranker)
    commands = {}
    for precision in ("fp32", "int8"):
        for side, name in (("sensetree", "sensetree"), ("fastembed", "fastembed crate")):
            commands[f"{name} {precision}"] = rival("rerank", side, precision, data.reranker, data.texts)
    sides = in_turn(commands, options.rerank_rounds, warm_up=1)
    mine, other = sides["sensetree fp32"], sides["fastembed crate fp32"]
    if isinstance(mine, Side) and isinstance(other, Side):
        pairs = zip(mine.ready["probes"], other.ready["probes"])
        if not all(math.isclose(a, b, rel_tol=0.01, abs_tol=1e-4) for a, b in pairs):
            sides["fastembed crate fp32"] = Missing("its scores are others")
    for name, side in sides.items():
        if isinstance(side, Missing):
            table.missing("reranking 60 passages", name, side)
        else:
            table.raw.append({"part": "rerank", "side": name, "seconds": side.seconds()})
    good = {name: side for name, side in sides.items() if isinstance(side, Side)}

    def compare(what, ours, name, aim=None):
        if ours in good and name in good:
            mine, other = (statistics.median(good[side].seconds()) for side in (ours, name))
            table.row(what, f"{mine * 1e3:.0f} ms", f"{name}: {other * 1e3:.0f} ms", other / mine, aim)

    compare("reranking 60 passages, fp32", "sensetree fp32", "fastembed crate fp32", 2)
    compare("reranking 60 passages, int8", "sensetree int8", "fastembed crate int8")
    compare("reranking 60 passages, what int8 adds", "sensetree int8", "sensetree fp32")
    for precision in ("fp32", "int8"):
        if side := good.get(f"sensetree {precision}"):
            middle, late = statistics.median(side.seconds()), p95(side.seconds())
            what = f"reranking 60 passages, {precision}, p95 to median"
            table.row(what, f"{late * 1e3:.0f} ms", f"its median: {middle * 1e3:.0f} ms", late / middle, 1.3, at_most=True)


def own_search(data, chunks):
    """The bench `search` of the workspace, which also makes the store; kept for the part `words`."""
    lines, _, _ = run(own("SEARCH_BENCH", chunks))
    data.searches.setdefault(chunks, []).append(lines[-1])
    return lines[-1]


def search(table, options, data):
    """A hybrid query without reranking and without embedding, p50 and p95."""
    for chunks in options.sizes:
        store = place(f"chunks-{chunks}")

        def lancedb(*flags, store=store, chunks=chunks):
            folder = place("rivals") / f"lancedb-{chunks}{''.join(flags)}"
            lines, _, _ = run(python("hybrid.py", store, store / "queries.json", folder, *flags))
            return lines[-1]

        programs = {"sensetree": lambda chunks=chunks: own_search(data, chunks), "LanceDB Python": lancedb}
        if options.vector_index:
            programs["LanceDB Python, vector index"] = lambda measure=lancedb: measure("--vector-index")
        found = alternate(programs, options.search_rounds)
        table.raw.append({"part": "search", "chunks": chunks, **{name: f for name, f in found.items() if isinstance(f, list)}})
        ours = found.pop("sensetree")
        for name, theirs in found.items():
            for share in ("p50", "p95"):
                what = f"hybrid query, {chunks:,} chunks, {share}"
                if isinstance(ours, Missing) or isinstance(theirs, Missing):
                    missing = ("ours", ours) if isinstance(ours, Missing) else (name, theirs)
                    table.missing(what, *missing)
                    continue
                mine = statistics.median(line["search"][share] for line in ours)
                other = statistics.median(line[f"{share}_ms"] for line in theirs)
                table.row(what, f"{mine:.1f} ms", f"{name}: {other:.1f} ms", other / mine, 1)
        if not isinstance(ours, Missing):
            of_ours(table, chunks, ours)
    sizes = [chunks for chunks in options.sizes if data.searches.get(chunks)]
    if len(sizes) > 1:
        small, large = (statistics.median(line["search"]["p50"] for line in data.searches[at]) for at in (sizes[0], sizes[-1]))
        what = f"hybrid query, {sizes[-1]:,} chunks to {sizes[0]:,}, p50"
        table.row(what, f"{large:.1f} ms", f"itself: {small:.1f} ms", large / small, 3, at_most=True)


def of_ours(table, chunks, lines):
    """What has no rival: recall, and freshness."""
    recall = statistics.median(line["recall_at_10"] for line in lines)
    table.row(f"dense leg, {chunks:,} chunks, recall@10", f"{recall:.3f}", "comparing every vector: 1", recall, 0.95)
    first = statistics.median(line["first_search_after"]["p50"] for line in lines)
    usual = statistics.median(line["search"]["p50"] for line in lines)
    what = f"first search after one file changed, {chunks:,} chunks"
    table.row(what, f"{first:.1f} ms", f"itself, unchanged: {usual:.1f} ms", first / usual, 3, at_most=True)


def words(table, options, data):
    """BM25 alone, p50 and p95."""
    for chunks in options.sizes:
        store, texts = place(f"chunks-{chunks}"), place("rivals") / f"texts-{chunks}.jsonl"
        queries = store / "queries.json"
        found = alternate({"sensetree": lambda chunks=chunks: own_search(data, chunks)}, 0 if data.searches.get(chunks) else 1)
        try:
            if isinstance(found["sensetree"], Missing):
                raise found["sensetree"]
            if not texts.exists() or texts.stat().st_mtime < (store / "built.json").stat().st_mtime:
                run(python("export.py", store, texts))
        except Missing as reason:
            table.missing(f"words, {chunks:,} chunks", "the texts", reason)
            continue
        programs = {
            "bm25s": lambda: run(python("bm25.py", texts, queries))[0][-1],
            "tantivy": lambda: run(rival("tantivy", texts, queries, place("rivals") / f"tantivy-{chunks}"))[0][-1],
        }
        found = alternate(programs, 1)
        table.raw.append({"part": "words", "chunks": chunks, **{name: f for name, f in found.items() if isinstance(f, list)}})
        for name, theirs in found.items():
            for share in ("p50", "p95"):
                what = f"words, {chunks:,} chunks, {share}"
                if isinstance(theirs, Missing):
                    table.missing(what, name, theirs)
                    continue
                mine = statistics.median(line["sparse"][share] for line in data.searches[chunks])
                other = statistics.median(line[f"{share}_ms"] for line in theirs)
                table.row(what, f"{mine:.1f} ms", f"{name}: {other:.1f} ms", other / mine, 1)


def indexing(table, options, data):
    """A folder of text files into a searchable store: files per second and peak memory."""
    folder = data.files(options.files)
    count = sum(path.is_file() for path in folder.rglob("*"))
    settings = place("rivals") / "settings"
    settings.mkdir(exist_ok=True)
    programs = {}
    for precision in ("fp32", "int8"):
        file = settings / f"{precision}.toml"
        file.write_text(f'[embedding]\nmodel = "{data.model}"\nprecision = "{precision}"\n[retrieval]\nrerank = false\n')

        def ours(file=file, precision=precision):
            store = fresh(place("rivals") / "index-ours")
            return run(own("SEARCH_EXAMPLE", "index", "--settings", file, "--store", store, folder))

        def theirs(precision=precision):
            return run(python("index.py", folder, fresh(place("rivals") / "index-theirs"), data.model, precision))

        programs |= {f"sensetree {precision}": ours, f"LanceDB and fastembed, Python, {precision}": theirs}
    found = alternate(programs, options.index_rounds)
    for precision in ("fp32", "int8"):
        name = f"LanceDB and fastembed, Python, {precision}"
        mine, other = found[f"sensetree {precision}"], found[name]
        what = f"indexing {count} files, {precision}"
        if isinstance(mine, Missing) or isinstance(other, Missing):
            table.missing(what, *(("ours", mine) if isinstance(mine, Missing) else (name, other)))
            continue
        table.raw.append({"part": "indexing", "precision": precision, "ours": mine, "theirs": other})
        rates = [count / statistics.median(seconds for _, seconds, _ in side) for side in (mine, other)]
        peaks = [statistics.median(peak for _, _, peak in side) for side in (mine, other)]
        table.row(what, f"{rates[0]:.1f} files/s", f"{name}: {rates[1]:.1f} files/s", rates[0] / rates[1], 1)
        table.row(f"{what}, peak memory", f"{peaks[0]:.0f} MiB", f"{name}: {peaks[1]:.0f} MiB", peaks[1] / peaks[0], 1)
    table.missing("indexing", "haiku.rag, rag-forge", "see benches/README.md")


# --- What is measured on -------------------------------------------------------------------------------------------------


class Data:
    """Documents, chunks of them, and the models."""

    def __init__(self, options, parts):
        self.model = Path(os.environ["BENCH_MODEL"])
        self.reranker = built("BENCH_RERANKER", "RERANKER_MISSING") or Path(os.environ["BENCH_RERANKER"])
        self.searches = {}
        self.documents, self.origin = documents()
        self.texts = place("rivals") / "chunks.jsonl"
        self.count = 0
        if {"embedding", "questions", "rerank"} & set(parts):
            self._cut(options.texts)

    def _cut(self, count):
        whole, every = place("rivals") / "documents.jsonl", place("rivals") / "every-chunk.jsonl"
        whole.write_text("".join(json.dumps({"text": text}) + "\n" for text in self.documents[:count]))
        command = rival("cut", whole, every)
        if isinstance(command, Missing):
            return
        subprocess.run([str(part) for part in command], check=True)
        chunks = every.read_text().splitlines()[:count]
        self.texts.write_text("\n".join(chunks) + "\n")
        self.count = len(chunks)
        lengths = sorted(len(json.loads(chunk)["text"]) for chunk in chunks)
        self.origin += f"; {self.count} chunks of {lengths[0]} to {lengths[-1]} characters, {statistics.median(lengths):.0f} in the middle"

    def files(self, count):
        folder = fresh(place("rivals") / "files")
        for number, text in enumerate(self.documents[:count]):
            file = folder / f"{number // 100:03}" / f"{number:05}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return folder


def documents():
    """The texts of the named collections in BEIR form, else the repository's own."""
    named = [Path(folder) for folder in os.environ.get("SENSETREE_BENCH_TEXTS", "").split(os.pathsep) if folder]
    texts = []
    for folder in named:
        with open(folder / "corpus.jsonl", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                texts.append(f"{document.get('title', '')}\n\n{document['text']}".strip())
    if not named:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
        names = listed.stdout.split("\0") if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
        for name in sorted(names):
            path = ROOT / name
            if path.suffix in TEXT_ENDINGS and path.is_file():
                texts.append(path.read_text(encoding="utf-8", errors="replace"))
    origin = ", ".join(folder.name for folder in named) if named else "the repository's own files"
    return [text for text in texts if text], f"{origin}: {len(texts)} documents"


# --- Helpers -------------------------------------------------------------------------------------------------------------


def place(name):
    folder = Path(os.environ["BENCH_FOLDER"]) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def p95(times):
    times = sorted(times)
    return times[min(math.ceil(len(times) * 0.95), len(times)) - 1]


def least_cosine(one, other):
    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))

    return min(cosine(a, b) for a, b in zip(one.ready["probes"], other.ready["probes"]))


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def say(text):
    print(text, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh", description="Measure sensetree against other libraries.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument("--texts", type=int, default=512, help="chunks to embed")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of embedding and of questions")
    parser.add_argument("--rerank-rounds", type=int, default=20)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[5_000, 50_000, 500_000],
                        help="chunks of the stores, such as 5000,50000")
    parser.add_argument("--search-rounds", type=int, default=3, help="how often the programs of a size run in turn")
    parser.add_argument("--vector-index", action="store_true", help="also LanceDB with its default vector index")
    parser.add_argument("--files", type=int, default=1000, help="files to index")
    parser.add_argument("--index-rounds", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    parts = [part for part in PARTS if not options.parts or part in options.parts]
    data, table = Data(options, parts), Table()
    for part in parts:
        say(f"{part}: {globals()[part].__doc__}")
        globals()[part](table, options, data)
    print(f"{os.cpu_count()} cores; {data.origin}\n")
    print(table.text())
    results = place("rivals") / "results.json"
    results.write_text(json.dumps({"corpus": data.origin, "raw": table.raw}, indent=1) + "\n")
    say(f"\nSingle figures: {results}")


if __name__ == "__main__":
    main()
