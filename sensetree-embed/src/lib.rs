//! Embedders of sensetree: any sentence-transformers-like ONNX model
