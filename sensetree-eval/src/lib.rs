//! Judgements, metrics and collection readers of sensetree
