//! Indexing side of sensetree: walk, extract, chunk, embed, commit
