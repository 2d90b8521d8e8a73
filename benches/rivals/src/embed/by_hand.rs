//! What one would write without a library: texts sorted by length, cut into batches, run by sessions of their own.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use ort::{session::Session, value::Tensor};
use tokenizers::{PaddingParams, Tokenizer, TruncationParams};

use crate::Result;

/// Some sessions of some threads each, which take batches of some texts.
pub struct ByHand {
    sessions: Vec<Session>,
    tokenizer: Tokenizer,
    batch: usize,
}

impl ByHand {
    pub fn load(graph: &Path, model: &Path, tokens: usize, sessions: usize, threads: usize, batch: usize) -> Result<Self> {
        let environment = ort::init().build()?;
        let session = |_| -> Result<Session> {
            let builder = Session::builder(&environment)?.with_intra_threads(threads).map_err(|e| e.to_string())?;
            Ok(builder.with_inter_threads(1).map_err(|e| e.to_string())?.commit_from_file(graph)?)
        };
        let mut tokenizer = Tokenizer::from_file(model.join("tokenizer.json"))?;
        tokenizer.with_truncation(Some(TruncationParams { max_length: tokens, ..TruncationParams::default() }))?;
        tokenizer.with_padding(Some(PaddingParams::default()));
        Ok(Self { sessions: (0..sessions).map(session).collect::<Result<_>>()?, tokenizer, batch })
    }

    pub fn embed(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(texts[i].len()));
        let batches: Vec<&[usize]> = order.chunks(self.batch).collect();
        let (next, vectors) = (AtomicUsize::new(0), Mutex::new(vec![Vec::new(); texts.len()]));
        let (tokenizer, batches, next, done) = (&self.tokenizer, &batches, &next, &vectors);
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .sessions
                .iter_mut()
                .map(|session| {
                    scope.spawn(move || -> Result {
                        while let Some(batch) = batches.get(next.fetch_add(1, Relaxed)) {
                            let found = run(session, tokenizer, &batch.iter().map(|&i| texts[i].as_str()).collect::<Vec<_>>())?;
                            let mut vectors = done.lock().unwrap_or_else(PoisonError::into_inner);
                            batch.iter().zip(found).for_each(|(&i, vector)| vectors[i] = vector);
                        }
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
        })?;
        Ok(vectors.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Mean pooling over real tokens, then length 1.
fn run(session: &mut Session, tokenizer: &Tokenizer, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
    let encodings = tokenizer.encode_batch_fast(texts.to_vec(), true)?;
    let shape = [texts.len(), encodings[0].len()];
    let tensor = |of: fn(&tokenizers::Encoding) -> &[u32]| {
        let values: Vec<i64> = encodings.iter().flat_map(of).map(|&v| i64::from(v)).collect();
        Tensor::from_array((shape, values))
    };
    let inputs = ort::inputs![
        "input_ids" => tensor(tokenizers::Encoding::get_ids)?,
        "attention_mask" => tensor(tokenizers::Encoding::get_attention_mask)?,
        "token_type_ids" => tensor(tokenizers::Encoding::get_type_ids)?,
    ];
    let outputs = session.run(inputs)?;
    let (shape, states) = outputs["last_hidden_state"].try_extract_tensor::<f32>()?;
    let dimension = shape[2] as usize;
    let pooled = encodings.iter().zip(states.chunks_exact(shape[1] as usize * dimension)).map(|(encoding, states)| {
        let mut sum = vec![0.0f32; dimension];
        for (state, _) in states.chunks_exact(dimension).zip(encoding.get_attention_mask()).filter(|&(_, &mask)| mask == 1) {
            sum.iter_mut().zip(state).for_each(|(sum, value)| *sum += value);
        }
        let length = sum.iter().map(|v| v * v).sum::<f32>().sqrt();
        sum.into_iter().map(|v| v / length).collect()
    });
    Ok(pooled.collect())
}
