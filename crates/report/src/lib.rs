//! Reports of syncscope.
