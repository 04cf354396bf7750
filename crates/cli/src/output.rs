//! Files that the user names for a result: `-o`, `--export-json` and the like. `-` is stdout.
//!
//! An output that is an input, or a file of any run, would replace the only copy of a result, so it is refused before anything
//! is done.

use std::fs;
use std::io::{Write as _, stdout};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use syncscope_core::run_directory::{RunDirectory, replace_file};

use crate::failure::Failure;
use crate::terminal;

/// More links than the system follows.
const MOST_LINKS: usize = 40;

/// Whether a path is the word for stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses an output that is one of these inputs, which are files or directories of runs, by whatever path or link. If the
/// output is stdout, nothing else goes there from here on.
pub(crate) fn check<P: AsRef<Path>>(output: &Path, inputs: impl IntoIterator<Item = P>) -> Result<(), Failure> {
    if is_stdout(output) {
        terminal::leave_stdout();
        return Ok(());
    }
    let place = resolved(output);
    let is_input = |input: &P| {
        let input = input.as_ref();
        let within = place.strip_prefix(resolved(input)).ok().filter(|file| !file.as_os_str().is_empty());
        within.is_some_and(RunDirectory::is_part) || holds(input, &place)
    };
    match inputs.into_iter().find(is_input) {
        Some(input) if input.as_ref().is_dir() => {
            refuse(output, &format!("is a part of the input {}", input.as_ref().display()))
        }
        Some(_) => refuse(output, "is an input"),
        None => match run_of(&place) {
            Some(run) => refuse(output, &format!("is a part of the run {}", run.display())),
            None => Ok(()),
        },
    }
}

/// The run that the file at this place is part of.
fn run_of(place: &Path) -> Option<&Path> {
    let is_run = |folder: &&Path| {
        folder.join("run.json").is_file() && place.strip_prefix(folder).is_ok_and(RunDirectory::is_part)
    };
    place.ancestors().skip(1).take(2).find(is_run).filter(|_| place.is_file())
}

fn refuse(output: &Path, why: &str) -> Result<(), Failure> {
    Err(Failure::Usage(format!("{} {why} and would be replaced; name another file", output.display())))
}

/// Refuses two outputs that are one file.
pub(crate) fn check_distinct(one: &Path, other: &Path) -> Result<(), Failure> {
    if resolved(one) == resolved(other) { refuse(one, "is named for two outputs") } else { Ok(()) }
}

/// Whether an input is the file at this place, or a folder of a run that contains it. A hard link counts as the same file.
fn holds(input: &Path, place: &Path) -> bool {
    let Ok(found) = fs::metadata(input) else { return false };
    if found.is_dir() {
        let entries =
            [input.to_owned(), input.join("evidence")].map(|folder| fs::read_dir(folder).into_iter().flatten());
        let files = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut parts = files.filter(|file| file.strip_prefix(input).is_ok_and(RunDirectory::is_part));
        return parts.any(|part| part.is_file() && holds(&part, place));
    }
    fs::metadata(place).is_ok_and(|output| (output.dev(), output.ino()) == (found.dev(), found.ino()))
}

/// Where writing to a path ends, behind all links, even if nothing is there yet.
fn resolved(path: &Path) -> PathBuf {
    let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    let folder = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    let within = folder.and_then(|(folder, real)| Some(real.join(path.strip_prefix(folder).ok()?)));
    within.map_or(path, |path| path.components().collect())
}

/// Writes an output whole or not at all, so that an error leaves what was there before, and says where it is.
pub(crate) fn write(output: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if is_stdout(output) {
        let mut stdout = stdout().lock();
        return terminal::written(stdout.write_all(bytes).and_then(|()| stdout.flush()));
    }
    replace_file(output, bytes)
        .map_err(|error| Failure::CouldNot(format!("{}: {error}; name another file by -o", output.display())))?;
    terminal::note(&format!("wrote {}", output.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn refused(output: &Path, inputs: &[&Path]) -> Option<String> {
        check(output, inputs).err().map(|error| error.to_string())
    }

    #[test]
    fn an_output_that_is_an_input_is_refused_by_every_name_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in
            ["code.c", "run/run.json", "run/measurements.csv", "run/report.html", "run/notes.txt", "run/evidence/a.txt"]
        {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), name).unwrap();
        }
        symlink(at("run"), at("linked")).unwrap();
        symlink("run/run.json", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        symlink(at("run/details.csv"), at("dangling")).unwrap();
        symlink("nowhere/code.c", at("elsewhere")).unwrap();
        fs::hard_link(at("run/measurements.csv"), at("hard")).unwrap();
        fs::hard_link(at("run/evidence/a.txt"), at("listing")).unwrap();
        fs::hard_link(at("code.c"), at("also.c")).unwrap();
        let inputs = [at("code.c"), at("run")];
        let inputs = inputs.each_ref().map(PathBuf::as_path);
        for name in [
            "code.c",
            "also.c",
            "run/../code.c",
            "run/run.json",
            "linked/run.json",
            "link",
            "second",
            "hard",
            "listing",
            "dangling",
            "run/details.csv",
            "run/details.csv.gz",
            "run/LICENSE",
            "run/orderings.json",
            "run/./measurements.csv",
            "linked/evidence/new.txt",
        ] {
            let error = refused(&at(name), &inputs).unwrap_or_else(|| panic!("{name} is written"));
            assert!(error.contains("would be replaced; name another file"), "{error}");
        }
        for name in
            ["page.html", "run/report.html", "run/notes.txt", "run/bundle.json.gz", "other/run.json", "elsewhere"]
        {
            assert_eq!(refused(&at(name), &inputs), None, "{name}");
        }
        for name in ["run/run.json", "linked/evidence/a.txt", "link"] {
            let error = refused(&at(name), &[]).unwrap_or_else(|| panic!("{name} of another run is written"));
            assert!(error.contains("is a part of the run"), "{error}");
        }
        for name in ["run/report.html", "run/mine.csv", "code.c"] {
            assert_eq!(refused(&at(name), &[]), None, "{name} is no file of a run");
        }
        assert!(refused(&at("hard"), &[&at("linked")]).is_some(), "a run named by a link");
        assert_eq!(refused(Path::new("/dev/null"), &inputs), None);
        assert!(check_distinct(&at("run/x"), &at("linked/x")).is_err() && check_distinct(&at("x"), &at("y")).is_ok());
    }

    #[test]
    fn what_cannot_be_written_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        write(&page, b"one").unwrap();
        let within = page.join("page.html");
        let text = write(&within, b"two").unwrap_err().to_string();
        assert!(text.starts_with(&within.display().to_string()) && text.ends_with("name another file by -o"), "{text}");
        assert_eq!(fs::read(&page).unwrap(), b"one");
        symlink(&page, folder.path().join("link")).unwrap();
        write(&folder.path().join("link"), b"three").unwrap();
        assert_eq!(fs::read(&page).unwrap(), b"three", "a link that the user named is written through");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }
}
