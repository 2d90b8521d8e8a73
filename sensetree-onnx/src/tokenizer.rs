//! Texts to token ids.

use std::sync::OnceLock;

use sensetree_core::{BoxError, Error, Result};
use tokenizers::{EncodeInput, Encoding, Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy};

use crate::ModelFolder;

/// One text, or one pair of texts, as a model reads it. The three lists are of one length, without padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    /// Token ids, special tokens included.
    pub ids: Vec<i64>,
    /// Which text of a pair a token belongs to.
    pub types: Vec<i64>,
    /// 1 for special tokens, 0 for those of the text.
    pub special: Vec<i64>,
}

/// A model's tokenizer, with truncation at the model's length and without padding, whatever `tokenizer.json` has baked in.
#[derive(Debug)]
pub struct TextTokenizer {
    tokenizer: Tokenizer,
    /// The same without truncation, made when tokens are first counted: one that truncates stops reading.
    uncut: OnceLock<Tokenizer>,
    model: String,
    max_tokens: usize,
}

impl TextTokenizer {
    /// The tokenizer of a model, cutting at `max_tokens`.
    ///
    /// # Errors
    /// [`Error::Model`] when `tokenizer.json` is damaged or `max_tokens` leaves no room for a text.
    pub fn load(folder: &ModelFolder, max_tokens: usize) -> Result<Self> {
        let mut tokenizer = Tokenizer::from_file(folder.file("tokenizer.json"))
            .map_err(|e| folder.broken("tokenizer.json is damaged", Some(e)))?;
        let truncation = TruncationParams {
            max_length: max_tokens,
            // Of a pair, the longer text gives way first: a long question never pushes a short passage out.
            strategy: TruncationStrategy::LongestFirst,
            stride: 0,
            direction: TruncationDirection::Right,
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|e| folder.broken(format!("{max_tokens} tokens leave no room for a text"), Some(e)))?;
        tokenizer.with_padding(None);
        Ok(Self { tokenizer, uncut: OnceLock::new(), model: folder.name().to_owned(), max_tokens })
    }

    /// The most tokens that come out, special tokens included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// One text.
    ///
    /// # Errors
    /// [`Error::Model`] when the tokenizer fails on the text.
    pub fn encode(&self, text: &str) -> Result<Tokens> {
        self.encode_input(text.into())
    }

    /// A question and a passage, in the model's own pair form.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_pair(&self, query: &str, passage: &str) -> Result<Tokens> {
        self.encode_input((query, passage).into())
    }

    /// How many tokens a text has, without special tokens and before it is cut.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn count(&self, text: &str) -> Result<usize> {
        let uncut = self.uncut.get_or_init(|| {
            let mut tokenizer = self.tokenizer.clone();
            tokenizer.with_truncation(None).expect("only a length can be refused");
            tokenizer
        });
        Ok(uncut.encode_fast(text, false).map_err(|e| self.unread(e))?.len())
    }

    fn encode_input(&self, input: EncodeInput<'_>) -> Result<Tokens> {
        let encoding = self.tokenizer.encode_fast(input, true).map_err(|e| self.unread(e))?;
        Ok(Tokens::from(&encoding))
    }

    fn unread(&self, error: BoxError) -> Error {
        Error::Model { model: self.model.clone(), reason: "its tokenizer cannot read a text".into(), source: Some(error) }
    }
}

impl From<&Encoding> for Tokens {
    fn from(encoding: &Encoding) -> Self {
        let wide = |values: &[u32]| values.iter().map(|&v| i64::from(v)).collect();
        Self {
            ids: wide(encoding.get_ids()),
            types: wide(encoding.get_type_ids()),
            special: wide(encoding.get_special_tokens_mask()),
        }
    }
}
