//! LanceDB store of sensetree: vectors and BM25 in one table
