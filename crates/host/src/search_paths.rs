//! The lists of folders in which the loader, the shell and compilers look for code. These programs take an empty or relative part
//! as the working folder, where anybody may have put a file of the right name.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;

/// Lists of folders with programs and libraries, from which every relative folder is removed.
const OF_PROGRAMS: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "COMPILER_PATH"];

/// Lists of folders with sources and libraries to link: a relative folder is the user's choice, an empty part an accident.
const OF_SOURCES: [&str; 4] = ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"];

/// Starts this program again, in the same process, where a list in its environment leads to the working folder: the loader has
/// already read its list. Returns where no list does.
///
/// # Errors
/// What the system says when the program cannot be started.
pub fn leave_working_folder() -> io::Result<()> {
    let lists = OF_PROGRAMS.map(|name| (name, true)).into_iter().chain(OF_SOURCES.map(|name| (name, false)));
    let changed: Vec<(&str, OsString)> = lists
        .filter_map(|(name, absolute_alone)| {
            let list = env::var_os(name).filter(|list| !list.is_empty() || name == "PATH")?;
            Some((name, without_working_folder(&list, absolute_alone)?))
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let mut command = crate::this_program()?;
    for (name, list) in changed {
        // An empty PATH means the working folder again.
        if list.is_empty() {
            command.env_remove(name)
        } else {
            command.env(name, list)
        };
    }
    Err(command.args(env::args_os().skip(1)).exec())
}

/// The list without the parts that lead to the working folder; `None` where it has no such part.
fn without_working_folder(list: &OsStr, absolute_alone: bool) -> Option<OsString> {
    // The loader knows both separators, and `$ORIGIN` for the folder of the program.
    let stays = |part: &&[u8]| {
        let is_absolute = [&b"/"[..], b"$ORIGIN", b"${ORIGIN}"].iter().any(|begin| part.starts_with(begin));
        if absolute_alone { is_absolute } else { !part.is_empty() }
    };
    let is_separator = |byte: &u8| *byte == b':' || (absolute_alone && *byte == b';');
    let parts: Vec<&[u8]> = list.as_bytes().split(is_separator).collect();
    let kept: Vec<&[u8]> = parts.iter().copied().filter(stays).collect();
    (kept.len() < parts.len()).then(|| OsString::from_vec(kept.join(&b':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_leads_to_the_working_folder() {
        let of = |list: &str, absolute_alone| {
            let changed = without_working_folder(list.as_ref(), absolute_alone);
            changed.map(|list| list.into_string().unwrap())
        };
        assert_eq!(of("/usr/bin:/bin", true), None);
        assert_eq!(of("$ORIGIN/../lib:${ORIGIN}", true), None);
        for (list, changed) in
            [("/a:", "/a"), (":/a", "/a"), ("/a::/b", "/a:/b"), (".:/a", "/a"), ("b/c;/a", "/a"), ("", "")]
        {
            assert_eq!(of(list, true).as_deref(), Some(changed), "{list}");
            assert_eq!(of(changed, true).filter(|_| !changed.is_empty()), None, "{list}: it is right then");
        }
        assert_eq!(of("include:/a", false), None);
        assert_eq!(of("include::/a:", false).as_deref(), Some("include:/a"));
    }
}
