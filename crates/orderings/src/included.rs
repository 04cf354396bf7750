//! Replaces `#include` of the user's own headers by their text, so that their orderings are found and changed, too.

use std::path::{Path, PathBuf};

use crate::source::Source;

/// The most bytes of a source with its headers: a longer source keeps its `#include`.
const MOST_BYTES: usize = 1 << 20;

/// The text of a file in which `#include "..."` is replaced by the text of the header, if `read` has it. `#line` keeps line
/// numbers and files.
pub fn with_included(file: &Path, text: &str, folders: &[PathBuf], read: &dyn Fn(&Path) -> Option<String>) -> String {
    Includer { folders, read, known: Vec::new(), bytes: text.len() }.text_of(file, text)
}

struct Includer<'a> {
    folders: &'a [PathBuf],
    read: &'a dyn Fn(&Path) -> Option<String>,
    known: Vec<PathBuf>,
    bytes: usize,
}

impl Includer<'_> {
    fn text_of(&mut self, file: &Path, text: &str) -> String {
        let source = Source::new(text);
        let (mut all, mut done) = (String::new(), 0);
        for at in source.directives("include") {
            let Some(name) = source.word(at + 2).strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
                continue;
            };
            let Some((path, included)) = self.opened(file, name) else { continue };
            let end = source.end_of_line(at);
            let (line, _) = source.place_of(source.tokens[at].range.start);
            let included = self.text_of(&path, &included);
            all.extend([&text[done..source.tokens[at].range.start], &format!("#line 1 \"{}\"\n", path.display())]);
            all.extend([included.as_str(), &format!("\n#line {} \"{}\"\n", line + 1, file.display())]);
            done = end;
        }
        all + &text[done..]
    }

    /// The path and text of a header, without what limits it to one inclusion; the text is empty the second time.
    fn opened(&mut self, from: &Path, name: &str) -> Option<(PathBuf, String)> {
        let beside = from.parent().map(|folder| folder.join(name));
        let places = beside.into_iter().chain(self.folders.iter().map(|folder| folder.join(name)));
        let (path, text) =
            places.into_iter().find_map(|path| Some(((self.read)(&path)?, path))).map(|(a, b)| (b, a))?;
        let is_once =
            |line: &str| line.trim_start().starts_with('#') && line.contains("pragma") && line.contains("once");
        let guard = text.lines().find(|line| line.trim_start().starts_with('#'));
        let is_guarded = guard.is_some_and(|line| line.contains("ifndef")) || text.lines().any(is_once);
        if self.known.contains(&path) {
            return is_guarded.then(|| (path, String::new()));
        }
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            return None;
        }
        self.known.push(path.clone());
        let text = text.lines().map(|line| if is_once(line) { "" } else { line }).collect::<Vec<_>>().join("\n");
        Some((path, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    #[test]
    fn orderings_of_headers_are_found_in_their_files() {
        let read = |path: &Path| {
            let text = match path.to_str()? {
                "a/lib.h" => {
                    "#pragma once\n#include \"more.h\"\nstatic void fence(void) { more(); __sync_synchronize(); }\n"
                }
                "inc/more.h" => {
                    "#ifndef MORE\n#define MORE\nstatic void more(void) {\n atomic_thread_fence(memory_order_release); }\n#endif"
                }
                _ => return None,
            };
            Some(text.to_owned())
        };
        let text = "// #include \"lib.h\"\n#include \"lib.h\"\n#include <stdio.h>\n#include \"lib.h\"\n\
                    void wait(struct thread *me) { fence();\n atomic_thread_fence(memory_order_acquire); }\n";
        let all = with_included(Path::new("a/b.c"), text, &[PathBuf::from("inc")], &read);
        let places: Vec<(u32, Option<String>)> =
            find(&all, &["wait"], false).orderings.into_iter().map(|one| (one.line, one.file)).collect();
        let of = |line, file: &str| (line, Some(file.to_owned()));
        assert_eq!(places, [of(4, "inc/more.h"), of(3, "a/lib.h"), of(6, "a/b.c")], "{all}");
        assert!(all.contains("#include <stdio.h>") && all.matches("static void fence").count() == 1, "{all}");
        assert_eq!(with_included(Path::new("a.c"), text, &[], &|_| None), text);
    }
}
