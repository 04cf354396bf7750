//! The course of a run: what is measured, in which order, how often and until when.

pub mod laboratory;
