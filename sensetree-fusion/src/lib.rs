//! Rank and score fusion rules of sensetree
