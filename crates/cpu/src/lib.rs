//! CPU side of syncscope.
