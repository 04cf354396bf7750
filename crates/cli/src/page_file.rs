//! Pages as files: a page that cannot be written whole leaves what was there before.

use std::path::Path;

use syncscope_core::run_directory::{RunDirectory, replace_file};
use syncscope_report::{RunData, page};

use crate::failure::Failure;
use crate::terminal;

/// Writes the page of a run to its place in the directory, and says where it is.
///
/// # Errors
/// With the command that writes it again when there is room.
pub(crate) fn of_run(directory: &RunDirectory, data: &RunData) -> Result<(), Failure> {
    let report = directory.report();
    let html = page::render(std::slice::from_ref(data));
    write(&report, &html, &format!("then: syncscope report {}", directory.path().display()))?;
    terminal::note(&format!("the report is {}", report.display()));
    Ok(())
}

/// Writes a page to the file that the user named with `-o`.
///
/// # Errors
/// With the advice to name another one.
pub(crate) fn named(page: &Path, html: &str) -> Result<(), Failure> {
    write(page, html, "name another file with -o")
}

fn write(page: &Path, html: &str, remedy: &str) -> Result<(), Failure> {
    replace_file(page, html.as_bytes())
        .map_err(|error| Failure::CouldNot(format!("{}: {error}; {remedy}", page.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_page_that_cannot_be_written_leaves_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("report.html");
        named(&page, "one").unwrap();
        // The draft cannot be written.
        fs::create_dir(folder.path().join("report.html.new")).unwrap();
        let Err(Failure::CouldNot(text)) = named(&page, "two") else { panic!("it was written") };
        assert!(text.starts_with(&page.display().to_string()) && text.ends_with("name another file with -o"), "{text}");
        assert_eq!(fs::read_to_string(&page).unwrap(), "one");
    }

    #[test]
    fn a_link_is_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        named(&link, "one").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
