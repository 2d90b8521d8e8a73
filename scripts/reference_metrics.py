"""Makes sensetree-eval/tests/fixtures/reference.json: random judgements and a random run with what three other tools say about them,
and pairs of runs with what scipy and statsmodels say about their difference.

  pip install pytrec_eval-terrier==0.5.11 ir-measures==0.4.3 ranx==0.3.21 scipy==1.17.1 statsmodels==0.15.0
  python reference_metrics.py > ../sensetree-eval/tests/fixtures/reference.json

The run has equal scores, rankings shorter than the cut-offs, queries that were never judged, and lacks some that were. trec_eval sorts
by score and then by document, both descending; the rankings are written in that order, so that a reader who keeps the order given
sees the ranking that trec_eval saw. The other two order equal scores in ways of their own, so they are given scores that fall from
rank to rank; ranx knows no grades below 0, so it is given 0 for them.
"""
import json
import random

import ir_measures
import numpy as np
import pytrec_eval
import ranx
from scipy import stats
from statsmodels.stats.multitest import multipletests

CUTS = [1, 3, 5, 10]
# Ours: the names in trec_eval, ir_measures and ranx. trec_eval has no cut-off for the reciprocal rank, so the run is cut.
MEASURES = {f"{ours}@{k}": (f"{trec}_{k}", f"{measure}@{k}", f"{rnx}@{k}")
            for ours, trec, measure, rnx in [("nDCG", "ndcg_cut", "nDCG", "ndcg"), ("Recall", "recall", "R", "recall"),
                                             ("Precision", "P", "P", "precision"), ("HitRate", "success", "Success", "hit_rate")]
            for k in CUTS}
MEASURES |= {f"MRR@{k}": (f"recip_rank@{k}", f"RR@{k}", f"mrr@{k}") for k in CUTS}
MEASURES |= {"MRR": ("recip_rank", "RR", "mrr"), "MAP": ("map", "AP", "map")}

rng = random.Random(20090719)
documents = [f"d{n}" for n in range(24)]
queries = [f"q{n}" for n in range(20)]
judgements = {
    q: {d: rng.choice([-1, 0, 0, 1, 1, 2, 3]) for d in rng.sample(documents, rng.randint(1, 9))} for q in queries[:18]
}
judgements["q3"] = {d: min(grade, 0) for d, grade in judgements["q3"].items()}  # nothing is relevant
run = {}
for q in queries:
    if q not in ("q5", "q8"):
        grades = judgements.get(q, {})
        # Relevant documents score higher on the whole. Eighths are exact in the single precision of trec_eval.
        found = {d: (rng.randint(0, 8) + 2 * grades.get(d, 0)) / 8 for d in rng.sample(documents, rng.randint(1, 20))}
        run[q] = sorted(found.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
falling = {q: {d: float(len(ranking) - at) for at, (d, _) in enumerate(ranking)} for q, ranking in run.items()}
measurable = [q for q, grades in judgements.items() if max(grades.values()) > 0]


def by_pytrec_eval(measure):
    base, _, k = measure.partition("@")
    cut = {q: dict(ranking[:int(k)] if k else ranking) for q, ranking in run.items()}
    name = base.rsplit("_", 1)
    asked = ".".join(name) if name[-1].isdigit() else base
    return {q: of[base] for q, of in pytrec_eval.RelevanceEvaluator(judgements, {asked}).evaluate(cut).items()}


def by_ir_measures(measure):
    values = ir_measures.iter_calc([ir_measures.parse_measure(measure)], judgements, falling)
    return {value.query_id: value.value for value in values}


def by_ranx(measure):
    qrels = ranx.Qrels({q: {d: max(grade, 0) for d, grade in judgements[q].items()} for q in measurable})
    given = ranx.Run({q: falling[q] for q in measurable if q in falling})
    ranx.evaluate(qrels, given, [measure], make_comparable=True)
    return {q: float(value) for q, value in given.scores[measure].items()}


expected = {}
for ours, names in MEASURES.items():
    tools = dict(zip(("pytrec_eval", "ir_measures", "ranx"), (f(n) for f, n in zip((by_pytrec_eval, by_ir_measures, by_ranx), names))))
    # Over all queries with something relevant; what the run lacks counts 0, as with trec_eval -c.
    expected[ours] = {tool: {q: values.get(q, 0.0) for q in measurable} for tool, values in tools.items()}

draw = np.random.default_rng(1979)
paired = []
for queries_of, effect, steps in [(5, 0.3, 4), (8, 0.1, 8), (10, 0.2, 100), (12, 0.05, 100), (14, 0.0, 10), (40, 0.05, 100), (60, 0.12, 20)]:
    a = np.round(draw.random(queries_of) * steps) / steps
    b = np.clip(np.round((a + draw.normal(effect, 0.25, queries_of)) * steps) / steps, 0, 1)
    difference = lambda x, y, axis=-1: np.mean(y, axis=axis) - np.mean(x, axis=axis)
    exact = np.count_nonzero(a != b) <= 16
    test = stats.permutation_test((a, b), difference, permutation_type="samples", vectorized=True, batch=10_000,
                                  n_resamples=np.inf if exact else 400_000, rng=np.random.default_rng(1))
    ends = stats.bootstrap(((b - a),), np.mean, n_resamples=100_000, batch=10_000, method="percentile", rng=np.random.default_rng(2))
    paired.append({"baseline": a.tolist(), "other": b.tolist(), "exact": bool(exact), "p": float(test.pvalue),
                   "interval": [float(ends.confidence_interval.low), float(ends.confidence_interval.high)]})

p_values = [0.01, 0.04, 0.03, 0.005, 0.04, 0.9, 0.2]
holm = {"given": p_values, "corrected": multipletests(p_values, method="holm")[1].tolist()}

lines = lambda section: ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in section.items())
sections = [f'"{name}": {{\n{lines(of)}\n}}' for name, of in [("judgements", judgements), ("run", run), ("expected", expected), ("holm", holm)]]
sections.append('"paired": [\n' + ",\n".join("  " + json.dumps(pair) for pair in paired) + "\n]")
print("{\n" + ",\n".join(sections) + "\n}")
