//! Optimal orders of trees (paper 1, Section II).
