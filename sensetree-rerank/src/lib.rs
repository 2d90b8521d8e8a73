//! Rerankers of sensetree: ONNX cross-encoders and late interaction
