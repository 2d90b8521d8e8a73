//! sensetree
