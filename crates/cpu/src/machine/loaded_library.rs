//! Shared libraries as this process has loaded them: which file, and of which version.

use std::fs;
use std::path::Path;

use syncscope_core::machine::LoadedLibrary;
use syncscope_host::file_hash;

use crate::machine::system::System;

/// Folders that systems install into. The path of a file elsewhere may name a user and is not written.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/", "/lib/", "/lib64/", "/opt/"];

/// The library of this name, such as `libgomp`; `None` if it is not loaded.
pub fn loaded_library(system: &System, name: &str) -> Option<LoadedLibrary> {
    let path = loaded_file(system, name)?;
    let file_name = Path::new(&path).file_name()?.to_str()?.to_owned();
    let is_systems = SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder));
    let version = package_version(system, name, &path).or_else(|| version_in_name(&file_name));
    let hash = file_hash(&system.root().join(path.trim_start_matches('/')));
    Some(LoadedLibrary { name: name.to_owned(), file: if is_systems { path } else { file_name }, version, hash })
}

/// The mapped file that is called `name.so` and perhaps more. The kernel resolves links.
fn loaded_file(system: &System, name: &str) -> Option<String> {
    let maps = system.read("proc/self/maps")?;
    let start = format!("{name}.so");
    maps.lines()
        .filter_map(|line| line.find('/').map(|path| &line[path..]))
        .find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(&start)))
        .map(|path| path.trim_end_matches(" (deleted)").to_owned())
}

/// `1.0.0` of `libgomp.so.1.0.0`.
fn version_in_name(file_name: &str) -> Option<String> {
    let (_, version) = file_name.split_once(".so.")?;
    Some(version.to_owned())
}

/// Version of the Debian package that installed the file, as `dpkg` lists it.
fn package_version(system: &System, name: &str, path: &str) -> Option<String> {
    const LISTS: &str = "var/lib/dpkg/info";
    // `/lib` may be a link to `/usr/lib`, and the list may have either name.
    let bare = path.strip_prefix("/usr").unwrap_or(path);
    let names_file = |line: &str| line.strip_prefix("/usr").unwrap_or(line) == bare;
    let lists = fs::read_dir(system.root().join(LISTS)).ok()?.flatten();
    let lists = lists.filter_map(|entry| entry.file_name().into_string().ok());
    let owner = lists
        .filter_map(|list| Some(list.strip_suffix(".list")?.to_owned()))
        .filter(|package| package.starts_with(name))
        .find(|package| {
            system.read(&format!("{LISTS}/{package}.list")).is_some_and(|list| list.lines().any(names_file))
        })?;
    // `libgomp1:amd64`
    let (package, architecture) = owner.split_once(':').map_or((&*owner, None), |(name, arch)| (name, Some(arch)));
    let status = system.read("var/lib/dpkg/status")?;
    let paragraph = status.split("\n\n").find(|paragraph| {
        let has = |key: &str, value: &str| field(paragraph, key) == Some(value);
        has("Package", package) && architecture.is_none_or(|architecture| has("Architecture", architecture))
    })?;
    field(paragraph, "Version").map(str::to_owned)
}

fn field<'a>(paragraph: &'a str, key: &str) -> Option<&'a str> {
    paragraph.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::system::tests::system;

    const MAPS: &str = "55d0-55d1 r-xp 00000000 08:01 12   /usr/bin/syncscope\n\
        7f00-7f01 r--p 00000000 08:01 34                   /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n\
        7f01-7f02 r-xp 00001000 08:01 34                   /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n\
        7f03-7f04 rw-p 00000000 00:00 0\n\
        7f05-7f06 r-xp 00000000 08:01 56                   /home/ann/my env/lib/libomp.so.5\n";

    #[test]
    fn a_package_says_its_version() {
        let (_root, system) = system(&[
            ("proc/self/maps", MAPS),
            ("usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", "foobar"),
            ("var/lib/dpkg/info/libgomp-plugin:amd64.list", "/usr/lib\n/usr/lib/other.so\n"),
            ("var/lib/dpkg/info/libgomp1:amd64.list", "/.\n/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n"),
            (
                "var/lib/dpkg/status",
                "Package: libgomp1\nArchitecture: i386\nVersion: 11\n\nPackage: libgomp1\nStatus: installed\n\
                 Architecture: amd64\nVersion: 12.2.0-14\n\nPackage: zlib\nVersion: 1\n",
            ),
        ]);
        let expected = LoadedLibrary {
            name: "libgomp".to_owned(),
            file: "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0".to_owned(),
            version: Some("12.2.0-14".to_owned()),
            hash: Some("85944171f73967e8".to_owned()),
        };
        assert_eq!(loaded_library(&system, "libgomp"), Some(expected));
    }

    #[test]
    fn a_file_in_a_home_directory_is_named_without_its_folder() {
        let (_root, system) = system(&[("proc/self/maps", MAPS)]);
        let library = loaded_library(&system, "libomp").unwrap();
        assert_eq!((library.file.as_str(), library.version.as_deref()), ("libomp.so.5", Some("5")));
        assert_eq!(library.hash, None);
        assert_eq!(loaded_library(&system, "libiomp5"), None);
    }
}
