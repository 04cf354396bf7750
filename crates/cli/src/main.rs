//! The `syncscope` command.
fn main() {}
