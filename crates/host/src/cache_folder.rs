//! The user's cache.

use std::env;
use std::path::PathBuf;

/// The folder for what this program can make again: `$SYNCSCOPE_CACHE`, `$XDG_CACHE_HOME/syncscope` or `~/.cache/syncscope`;
/// `None` if the user has no home.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("SYNCSCOPE_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("syncscope")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/syncscope")))
}
