//! Which files this process may execute code from: only files that nobody else can have put there.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Who named a file with code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nobody: it was found near this program. It and all its parents must belong to this user, root or the owner of this
    /// program, and no one else may write there.
    Found,
    /// The user by a variable, or the system's administrator. It may belong to a site's account, but must not be writable for
    /// everybody.
    Named,
}

/// A file or folder of a path, as the system describes it.
#[derive(Debug, Clone, Copy)]
struct Node {
    user: u32,
    group: u32,
    mode: u32,
}

impl From<&Metadata> for Node {
    fn from(found: &Metadata) -> Self {
        Self { user: found.uid(), group: found.gid(), mode: found.mode() }
    }
}

/// The users who decide anyway what this process executes, and the group that has no member but this user.
#[derive(Debug)]
struct Own {
    users: Vec<u32>,
    group: Option<u32>,
}

impl Own {
    fn of_process() -> Self {
        // SAFETY: the call takes nothing and cannot fail.
        let user = unsafe { libc::geteuid() };
        let of_program = fs::metadata("/proc/self/exe").ok().map(|found| found.uid());
        let groups = fs::read_to_string("/etc/group").unwrap_or_default();
        let group = (user != 0 && has_no_other_member(&groups, user)).then_some(user);
        Self { users: [0, user].into_iter().chain(of_program).collect(), group }
    }

    /// Why this folder is not safe: somebody else may change what is below it. `child` is the next part of the path.
    fn refusal(&self, origin: Origin, node: Node, child: Option<Node>) -> Option<String> {
        const GROUP: u32 = 0o020;
        const OTHERS: u32 = 0o002;
        const STICKY: u32 = 0o1000;
        let mode = node.mode & 0o7777;
        let is_own = |node: Node| self.users.contains(&node.user);
        let by_others = mode & OTHERS != 0;
        // In a folder like /tmp, nobody can replace what belongs to somebody else.
        let is_kept = mode & STICKY != 0 && child.is_some_and(is_own);
        match origin {
            Origin::Named => (by_others && !is_kept).then(|| format!("everybody may write to it (mode {mode:04o})")),
            Origin::Found if !is_own(node) => Some(format!("it belongs to user {}", node.user)),
            Origin::Found if by_others => Some(format!("everybody may write to it (mode {mode:04o})")),
            Origin::Found => (mode & GROUP != 0 && self.group != Some(node.group))
                .then(|| format!("group {} may write to it (mode {mode:04o})", node.group)),
        }
    }
}

/// Whether the group with a user's number has no member besides that user; many systems make such a group for each user.
fn has_no_other_member(groups: &str, user: u32) -> bool {
    let mut lines = groups.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.any(|line| matches!(line[..], [name, _, number, members] if number.parse() == Ok(user) && (members.is_empty() || members == name)))
}

/// The real path of a file or folder whose code may be executed.
///
/// # Errors
/// The folder that somebody else may change, and why.
pub fn trusted(path: &Path, origin: Origin) -> Result<PathBuf, String> {
    let refused = |what: String| format!("{} is not used: {what}", path.display());
    if !path.is_absolute() {
        return Err(refused("it is relative to the working folder; name it with an absolute path".to_owned()));
    }
    let real = fs::canonicalize(path).map_err(|error| refused(error.to_string()))?;
    let own = Own::of_process();
    let mut child = None;
    for part in real.ancestors() {
        let node = fs::metadata(part).map_err(|error| refused(error.to_string()))?;
        let node = Node::from(&node);
        if let Some(reason) = own.refusal(origin, node, child) {
            return Err(refused(format!("{}: {reason}", part.display())));
        }
        child = Some(node);
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_have_changed_is_refused() {
        let own = Own { users: vec![0, 1000], group: Some(1000) };
        let node = |user, group, mode| Node { user, group, mode };
        let mine = Some(node(1000, 1000, 0o755));
        let theirs = Some(node(1001, 1001, 0o755));
        let refused = |origin, node, child| own.refusal(origin, node, child).unwrap_or_default();
        for (folder, child, found, named) in [
            (node(1000, 1000, 0o40755), mine, "", ""),
            (node(0, 0, 0o40755), mine, "", ""),
            (node(1000, 1000, 0o40775), mine, "", ""),
            (node(1001, 1001, 0o40755), mine, "user 1001", ""),
            (node(0, 50, 0o42775), mine, "group 50", ""),
            (node(1000, 1000, 0o40777), mine, "everybody", "everybody"),
            (node(0, 0, 0o41777), mine, "everybody", ""),
            (node(0, 0, 0o41777), theirs, "everybody", "everybody"),
            (node(0, 0, 0o41777), None, "everybody", "everybody"),
        ] {
            for (origin, expected) in [(Origin::Found, found), (Origin::Named, named)] {
                let said = refused(origin, folder, child);
                assert_eq!(said.is_empty(), expected.is_empty(), "{folder:?}, {origin:?}: {said}");
                assert!(said.contains(expected), "{folder:?}, {origin:?}: {said}");
            }
        }
    }

    #[test]
    fn the_group_of_a_user_is_the_one_without_others() {
        let groups = "root:x:0:\nann:x:1000:\nbob:x:1001:bob\nshared:x:1002:ann,bob\n";
        let alone = [0, 1000, 1001, 1002, 7].map(|user| has_no_other_member(groups, user));
        assert_eq!(alone, [true, true, true, false, false]);
    }

    #[test]
    fn the_folder_is_named_and_links_are_followed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let root = tempfile::tempdir().unwrap();
        let [open, link] = ["open", "link"].map(|name| root.path().join(name));
        fs::create_dir(&open).unwrap();
        fs::write(open.join("library.so"), "").unwrap();
        symlink(&open, &link).unwrap();
        assert_eq!(
            trusted(&link.join("library.so"), Origin::Named),
            Ok(fs::canonicalize(open.join("library.so")).unwrap())
        );
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let error = trusted(&link.join("library.so"), Origin::Named).unwrap_err();
        assert!(error.contains("open: everybody may write to it (mode 0777)"), "{error}");
        assert!(trusted(&open, Origin::Found).is_err());
        assert!(trusted(Path::new("library.so"), Origin::Named).unwrap_err().contains("absolute path"));
        assert!(trusted(&root.path().join("nothing"), Origin::Named).is_err());
    }
}
