use std::sync::Arc;

use async_trait::async_trait;
use ndarray::{Array2, Axis, Ix3};
use sensetree_core::{Error, Reranker, Result, ScoreScale};
use sensetree_onnx::{Graph, Model, TextTokenizer, Tokens, Urgency};

/// How much a special token of the question counts, where any other counts 1.
const SPECIAL_WEIGHT: f32 = 0.2;

/// Late interaction (MaxSim, after Khattab and Zaharia, ColBERT, 2020) with the token states of an embedding model.
///
/// ```text
/// score = Σ_q w_q · max_p cos(q, p) / Σ w_q
/// ```
///
/// over the tokens `q` of the question and `p` of the passage. Special tokens weigh a fifth of the others. Weights by rarity among
/// the passages gained less on the collections that this was chosen on, and without them a passage's score is its own, whatever it is
/// compared with.
///
/// Needs no second model. Trained for single vectors, not for this, so it is best blended with the fused order.
#[derive(Debug, Clone)]
pub struct LateInteraction {
    model: Arc<Model>,
    query_prefix: String,
    passage_prefix: String,
}

impl LateInteraction {
    /// Reads token states from this model; an embedder shares its own.
    pub fn new(model: Arc<Model>) -> Self {
        Self { model, query_prefix: String::new(), passage_prefix: String::new() }
    }

    /// Sets what the model wants before a question and before a passage. Default: nothing.
    #[must_use]
    pub fn with_prefixes(mut self, query: impl Into<String>, passage: impl Into<String>) -> Self {
        (self.query_prefix, self.passage_prefix) = (query.into(), passage.into());
        self
    }
}

#[async_trait]
impl Reranker for LateInteraction {
    fn name(&self) -> &str {
        "late interaction"
    }

    fn scale(&self) -> ScoreScale {
        ScoreScale::Unit
    }

    async fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        let query = format!("{}{query}", self.query_prefix);
        let passages: Vec<String> = passages.iter().map(|passage| format!("{}{passage}", self.passage_prefix)).collect();
        let (question, passages) = self
            .model
            .run(Urgency::Query, move |graph, tokenizer| {
                let tokens = tokenizer.encode(&query)?;
                let passages = passages.iter().map(|passage| tokenizer.encode(passage)).collect::<Result<Vec<_>>>()?;
                Ok((Question { states: states(graph, &tokens)?, weights: weights(&tokens) }, passages))
            })
            .await?;
        let question = Arc::new(question);
        let work = move |passage: Tokens, graph: &mut Graph, _: &TextTokenizer| {
            let states = states(graph, &passage)?;
            Ok(question.score(&states))
        };
        self.model.run_each(Urgency::Candidate, passages, work).await
    }
}

/// The question's token states, each of length 1, and what each token counts.
struct Question {
    states: Array2<f32>,
    weights: Vec<f32>,
}

impl Question {
    fn score(&self, passage: &Array2<f32>) -> f32 {
        let similarity = self.states.dot(&passage.t());
        let best = similarity.map_axis(Axis(1), |row| row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let sum: f32 = best.iter().zip(&self.weights).map(|(cosine, weight)| cosine * weight).sum();
        // A cosine below zero is as far from an answer as zero is.
        (sum / self.weights.iter().sum::<f32>()).clamp(0.0, 1.0)
    }
}

fn weights(question: &Tokens) -> Vec<f32> {
    question.special.iter().map(|special| if *special == 0 { 1.0 } else { SPECIAL_WEIGHT }).collect()
}

/// A text's token states, each scaled to length 1.
fn states(graph: &mut Graph, tokens: &Tokens) -> Result<Array2<f32>> {
    let output = graph.run(tokens)?;
    let name = graph.output().to_owned();
    let mut states = output.into_dimensionality::<Ix3>().map_err(|e| Error::Model {
        model: "late interaction".into(),
        reason: format!("the model's output {name} has no token states"),
        source: Some(e.into()),
    })?;
    let mut states = states.index_axis_mut(Axis(0), 0).to_owned();
    for mut row in states.rows_mut() {
        let length = row.dot(&row).sqrt();
        row.mapv_inplace(|v| v / length.max(f32::MIN_POSITIVE));
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn each_token_of_the_question_takes_its_best_partner() {
        let question = Question { states: array![[1.0, 0.0], [0.0, 1.0]], weights: vec![3.0, 1.0] };
        let score = question.score(&array![[0.6, 0.8], [0.8, 0.6]]);
        assert!((score - (3.0 * 0.8 + 1.0 * 0.8) / 4.0).abs() < 1e-6);
        assert_eq!(question.score(&array![[-1.0, 0.0], [0.0, -1.0]]), 0.0, "never below 0");
    }

    #[test]
    fn special_tokens_weigh_little() {
        let question = Tokens { ids: vec![101, 7, 8, 102], types: vec![0; 4], special: vec![1, 0, 0, 1] };
        assert_eq!(weights(&question), [SPECIAL_WEIGHT, 1.0, 1.0, SPECIAL_WEIGHT]);
    }
}
