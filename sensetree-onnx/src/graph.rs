//! One session of ONNX Runtime, fed as its graph declares.

use std::path::Path;

use half::f16;
use ndarray::{ArrayD, IxDyn};
use ort::{
    session::{Session, builder::PrepackedWeights},
    value::{Tensor, TensorElementType, ValueType},
};
use sensetree_core::{Error, Result};

use crate::{ModelFolder, Tokens, runtime};

/// What a text model's input can be.
#[derive(Debug, Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Types,
    Positions,
}

/// A loaded graph. Runs one text, or one pair, at a time.
#[derive(Debug)]
pub struct Graph {
    session: Session,
    model: String,
    inputs: Vec<(String, Input)>,
    output: String,
}

impl Graph {
    /// Loads a graph on `threads` threads. Sessions that share `weights` keep one copy of what the runtime prepacks.
    ///
    /// # Errors
    /// [`Error::Runtime`] without a usable library, [`Error::Model`] when the file is damaged or wants inputs that no text gives.
    pub(crate) fn load(folder: &ModelFolder, file: &Path, threads: usize, weights: &PrepackedWeights) -> Result<Self> {
        let environment = runtime::environment()?;
        let broken = |e: ort::Error| {
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
            folder.broken(format!("{name} cannot be loaded; it may be cut short, fetch it again"), Some(e.into()))
        };
        let builder = Session::builder(&environment).map_err(broken)?;
        let builder = builder.with_intra_threads(threads).map_err(|e| broken(e.into()))?;
        // Idle threads sleep: the caller's program has better uses for its cores.
        let builder = builder.with_intra_op_spinning(false).map_err(|e| broken(e.into()))?;
        let builder = builder.with_inter_threads(1).map_err(|e| broken(e.into()))?;
        let mut builder = builder.with_prepacked_weights(weights).map_err(|e| broken(e.into()))?;
        let session = builder.commit_from_file(file).map_err(broken)?;

        let mut inputs = Vec::new();
        for input in session.inputs() {
            inputs.push((input.name().to_owned(), meaning(input.name(), input.dtype()).map_err(|why| folder.broken(why, None))?));
        }
        let output = session.outputs().iter().map(|o| o.name()).min_by_key(|name| preference(name));
        let output = output.ok_or_else(|| folder.broken("its graph has no output", None))?.to_owned();
        Ok(Self { session, model: folder.name().to_owned(), inputs, output })
    }

    /// The name of the output that [`run`](Self::run) returns.
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Runs one text and returns the first useful output: token states (1, tokens, dimension), a vector (1, dimension) or
    /// logits (1, classes). Half-precision graphs often put out 16-bit floats, which are widened.
    ///
    /// # Errors
    /// [`Error::Model`] when the runtime fails or the output is not made of floats of 32 or 16 bits.
    pub fn run(&mut self, tokens: &Tokens) -> Result<ArrayD<f32>> {
        let failed = |model: &str, e: ort::Error| Error::Model {
            model: model.to_owned(),
            reason: "it cannot be run on a text".into(),
            source: Some(e.into()),
        };
        let length = tokens.ids.len();
        let mut feed = Vec::with_capacity(self.inputs.len());
        for (name, input) in &self.inputs {
            let values = match input {
                Input::Ids => tokens.ids.clone(),
                Input::Mask => vec![1; length],
                Input::Types => tokens.types.clone(),
                Input::Positions => (0..length as i64).collect(),
            };
            let tensor = Tensor::from_array(([1, length], values)).map_err(|e| failed(&self.model, e))?;
            feed.push((name.as_str(), tensor));
        }
        let outputs = self.session.run(feed).map_err(|e| failed(&self.model, e))?;
        let output = outputs.get(&self.output).ok_or_else(|| Error::Model {
            model: self.model.clone(),
            reason: format!("its output {} is missing", self.output),
            source: None,
        })?;
        let is_half = matches!(output.dtype(), ValueType::Tensor { ty: TensorElementType::Float16, .. });
        let (shape, values) = if is_half {
            let (shape, values) = output.try_extract_tensor::<f16>().map_err(|e| failed(&self.model, e))?;
            (shape, values.iter().map(|value| value.to_f32()).collect())
        } else {
            let (shape, values) = output.try_extract_tensor::<f32>().map_err(|e| failed(&self.model, e))?;
            (shape, values.to_vec())
        };
        let shape: Vec<usize> = shape.iter().map(|&d| d as usize).collect();
        ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(|e| Error::Model {
            model: self.model.clone(),
            reason: "its output has an impossible shape".into(),
            source: Some(e.into()),
        })
    }
}

fn meaning(name: &str, kind: &ValueType) -> Result<Input, String> {
    if !matches!(kind, ValueType::Tensor { ty: TensorElementType::Int64, .. }) {
        return Err(format!("its input {name} is a {kind}, only tensors of 64-bit integers can be fed"));
    }
    match name {
        "input_ids" => Ok(Input::Ids),
        "attention_mask" => Ok(Input::Mask),
        "token_type_ids" => Ok(Input::Types),
        "position_ids" => Ok(Input::Positions),
        other => Err(format!("its graph wants the input {other}, which no text gives")),
    }
}

/// Token states can be pooled by the model's own files, so they come before what an exporter pooled.
fn preference(output: &str) -> usize {
    ["last_hidden_state", "token_embeddings", "hidden_states", "sentence_embedding", "logits"]
        .iter()
        .position(|&name| name == output)
        .unwrap_or(usize::MAX)
}
