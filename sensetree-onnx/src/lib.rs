//! ONNX Runtime, tokenizers and model files, shared by the embedder and the rerankers of sensetree
