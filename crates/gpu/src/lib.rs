//! GPU side of syncscope.
