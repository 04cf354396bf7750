//! Machines that the environment describes in place of this one, by hwloc's variables. Where hwloc cannot read a description it
//! falls back to this machine; here that is an error.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use syncscope_host::cpu_list;
use syncscope_host::scheduling::tells_allowed_cpus;

use super::core_kinds::{self, attribute};
use super::hwloc;
use super::system::System;
use super::topology::{CoreKinds, Topology};

/// The limit on a description's hardware threads: no machine that a distribution builds Linux for has more.
const MOST_THREADS: usize = 8192;

/// The limit on a description's size: a larger file describes no machine.
const MOST_BYTES: u64 = 256 << 20;

/// What describes the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Description {
    /// Nothing: the machine that this program runs on.
    ThisSystem,
    /// The files of a Linux system, below a folder.
    Files(PathBuf),
    /// The registers of CPUID, in a folder.
    Registers(PathBuf),
    /// hwloc's notation for regular machines.
    Synthetic,
    /// The text of hwloc's XML.
    Xml(String),
}

/// hwloc's variables; if several are set, the last one counts.
const VARIABLES: [&str; 4] = ["HWLOC_FSROOT", "HWLOC_CPUID_PATH", "HWLOC_SYNTHETIC", "HWLOC_XMLFILE"];

/// The names of the set variables, for messages.
pub fn variables() -> String {
    let set: Vec<&str> = VARIABLES.into_iter().filter(|name| env::var_os(name).is_some()).collect();
    // Without a description, only this variable makes hwloc treat the topology as another machine's.
    if set.is_empty() { "HWLOC_THISSYSTEM".to_owned() } else { set.join(" and ") }
}

impl Description {
    /// The description in the environment.
    ///
    /// # Errors
    /// Which variable is wrong, and why.
    pub fn of_environment() -> Result<Self, String> {
        let mut found = Self::ThisSystem;
        for name in VARIABLES {
            if let Some(value) = env::var_os(name) {
                found = Self::of(name, &value.to_string_lossy()).map_err(|why| format!("{name}: {why}"))?;
            }
        }
        Ok(found)
    }

    fn of(name: &str, value: &str) -> Result<Self, String> {
        let path = Path::new(value);
        let has = |file: &str, what: &str| {
            let is_there = path.join(file).exists();
            is_there.then_some(()).ok_or_else(|| format!("`{value}` is not a {what}: it has no {file}"))
        };
        match name {
            _ if value.is_empty() => Err("it is empty; unset it to describe this machine".to_owned()),
            "HWLOC_FSROOT" if path == Path::new("/") => Ok(Self::ThisSystem),
            "HWLOC_FSROOT" => has("sys/devices/system", "root of a Linux system").map(|()| Self::Files(path.into())),
            "HWLOC_CPUID_PATH" => has("pu0", "folder of hwloc-gather-cpuid").map(|()| Self::Registers(path.into())),
            "HWLOC_SYNTHETIC" => counted(value).map(|()| Self::Synthetic),
            _ => xml(path).map(Self::Xml),
        }
    }

    /// The system whose files say more than the topology does; a description may have none.
    pub fn system(&self) -> System {
        match self {
            Self::ThisSystem => System::default(),
            Self::Files(root) => System::at(root),
            Self::Registers(_) | Self::Synthetic | Self::Xml(_) => System::without_files(),
        }
    }

    /// The kinds of the described machine's cores.
    pub fn core_kinds(&self, topology: &Topology) -> CoreKinds {
        match self {
            Self::ThisSystem | Self::Files(_) => core_kinds::of_system(&self.system(), topology),
            Self::Registers(folder) => core_kinds::of_dump(folder, topology),
            Self::Synthetic => CoreKinds::default(),
            Self::Xml(text) => core_kinds::of_xml(text),
        }
    }

    /// The name of the described machine's processor.
    pub fn processor(&self) -> Option<String> {
        let Self::Xml(text) = self else { return self.system().processor() };
        let (_, rest) = text.split_once("<info name=\"CPUModel\"")?;
        Some(attribute(rest.split_once('>')?.0, "value")?.trim().to_owned())
    }

    /// The topology of the described machine.
    ///
    /// # Errors
    /// Where hwloc cannot read the description, or finds no machine.
    pub fn topology(&self) -> Result<Topology, String> {
        const NOTHING: &str =
            "hwloc could not load the topology: see what `lstopo` or `hwloc-info` says and whether /sys is mounted";
        // hwloc would ask in an endless loop.
        if !tells_allowed_cpus() {
            return Err(
                "the system does not say which CPUs this process may use: allow sched_getaffinity in its filter of \
                        system calls (seccomp)"
                    .to_owned(),
            );
        }
        let topology = hwloc::load().ok_or_else(|| self.unread(true).unwrap_or_else(|| NOTHING.to_owned()))?;
        let threads = topology.threads.len();
        match self.unread(topology.this_system) {
            Some(unread) => Err(unread),
            None if threads > MOST_THREADS => Err(too_many(threads as u64)),
            None => Ok(topology),
        }
    }

    /// The reason why hwloc fell back to this machine: it could not read the description. `None` where it did read it.
    fn unread(&self, is_this_system: bool) -> Option<String> {
        let is_said_to_be_this = env::var("HWLOC_THISSYSTEM").is_ok_and(|value| value == "1");
        if *self == Self::ThisSystem || !is_this_system || is_said_to_be_this {
            return None;
        }
        let (name, more) = match self {
            Self::Files(_) => ("HWLOC_FSROOT", "see what `lstopo` says about it"),
            Self::Registers(_) => ("HWLOC_CPUID_PATH", "see what `lstopo` says about it"),
            Self::Synthetic => {
                ("HWLOC_SYNTHETIC", "HWLOC_SYNTHETIC_VERBOSE=1 shows why; try 'pack:2 [numa] l3:1 core:8 pu:2'")
            }
            Self::ThisSystem | Self::Xml(_) => ("HWLOC_XMLFILE", "HWLOC_XML_VERBOSE=1 shows why"),
        };
        let value = env::var_os(name).unwrap_or_default();
        Some(format!("{name}: hwloc cannot read `{}`; {more}, or unset it", value.to_string_lossy()))
    }
}

/// The CPUs of a described machine that the plan uses; not set where it uses all allowed ones.
static PLANNED: OnceLock<Vec<u32>> = OnceLock::new();

/// Restricts the plan to these CPUs of a described machine, before a laboratory is opened. Returns false where no other machine
/// is described: the thread's own CPUs count there.
///
/// # Errors
/// Where the description is wrong, or one of the CPUs does not exist or is not allowed.
pub fn plan_on(cpus: &[u32]) -> Result<bool, String> {
    let description = Description::of_environment()?;
    if description == Description::ThisSystem {
        return Ok(false);
    }
    let topology = description.topology()?;
    if topology.this_system {
        return Ok(false);
    }
    let allowed = topology.allowed_cpus();
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed = cpu_list::format(&allowed);
        return Err(format!("--cpus names CPU {cpu}; the machine that {} describes has {allowed}", variables()));
    }
    // Called once, before any laboratory exists.
    let _ = PLANNED.set(cpus.to_vec());
    Ok(true)
}

/// A described machine, restricted to the CPUs that the plan uses.
pub fn planned(topology: Topology) -> Topology {
    match PLANNED.get() {
        Some(cpus) => topology.restricted(|cpu| cpus.contains(&cpu)),
        None => topology,
    }
}

/// The text of an XML file, if its beginning and end show that hwloc can read it.
fn xml(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(format!("{shown} is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let wrong = if bytes.is_empty() {
        "is empty".to_owned()
    } else if bytes.len() as u64 > MOST_BYTES {
        format!("has more than {} MiB", MOST_BYTES >> 20)
    } else {
        let Some(why) = not_of_hwloc(&text) else { return Ok(text) };
        why
    };
    Err(format!("{shown} {wrong}"))
}

fn not_of_hwloc(text: &str) -> Option<String> {
    let Some((_, rest)) = text.split_once("<topology") else {
        return Some("is not an hwloc XML topology: it has no <topology>; write one with `lstopo FILE.xml`".to_owned());
    };
    let element = rest.split_once('>').map_or("", |(element, _)| element);
    let version = attribute(element, "version").unwrap_or("1");
    let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or_default();
    if major > 2 {
        return Some(format!(
            "is of version {version} of hwloc's XML, and the hwloc of this program reads versions 1 and 2: export it with \
             `lstopo --export-xml-flags v2 FILE.xml`"
        ));
    }
    (!text.trim_end().ends_with("</topology>")).then(|| "ends before </topology>".to_owned())
}

/// The message about a machine that is too large.
fn too_many(threads: u64) -> String {
    format!("the machine has {threads} hardware threads, more than the supported {MOST_THREADS}")
}

/// Checks the number of hardware threads in a synthetic description: `pack:2 [numa] core:4 pu:2` has 16.
fn counted(text: &str) -> Result<(), String> {
    let mut depth = 0_u32;
    let mut levels = String::new();
    for letter in text.chars() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => levels.push(letter),
            _ => {}
        }
    }
    let count = |level: &str| level.rsplit(':').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(1);
    let threads = levels.split_whitespace().map(count).fold(1, u64::saturating_mul);
    if threads > MOST_THREADS as u64 { Err(too_many(threads)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, value: &str) -> String {
        Description::of(name, value).unwrap_err()
    }

    #[test]
    fn a_description_that_cannot_be_read_is_an_error_with_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let good = "<topology version=\"2.0\">\n</topology>\n";
        assert_eq!(Description::of("HWLOC_XMLFILE", &file("good", good)), Ok(Description::Xml(good.to_owned())));
        let old = "<topology>\n</topology>";
        assert!(Description::of("HWLOC_XMLFILE", &file("old", old)).is_ok());
        for (name, value, why) in [
            ("HWLOC_XMLFILE", "/nowhere.xml".to_owned(), "cannot read /nowhere.xml: No such file"),
            ("HWLOC_XMLFILE", folder.path().display().to_string(), "is not a regular file"),
            ("HWLOC_XMLFILE", file("empty", ""), "is empty"),
            ("HWLOC_XMLFILE", file("page", "<html></html>"), "has no <topology>"),
            ("HWLOC_XMLFILE", file("v3", "<topology version=\"3.0\">\n</topology>"), "is of version 3.0"),
            ("HWLOC_XMLFILE", file("cut", &good[..30]), "ends before </topology>"),
            ("HWLOC_XMLFILE", String::new(), "is empty"),
            ("HWLOC_SYNTHETIC", String::new(), "is empty"),
            ("HWLOC_SYNTHETIC", "pack:64 core:1000 pu:1".to_owned(), "64000 hardware threads"),
            ("HWLOC_SYNTHETIC", "99999999999 99999999999 99999999999".to_owned(), "hardware threads"),
            ("HWLOC_FSROOT", "/nowhere".to_owned(), "it has no sys/devices/system"),
            ("HWLOC_CPUID_PATH", folder.path().display().to_string(), "it has no pu0"),
        ] {
            let said = said(name, &value);
            assert!(said.contains(why), "{name}={value}: {said}");
        }
    }

    #[test]
    fn the_sizes_of_memory_are_no_counts() {
        let text = "pack:2 [numa(memory=17179869184)] l3:4(size=33554432) core:8 pu:2";
        assert_eq!(Description::of("HWLOC_SYNTHETIC", text), Ok(Description::Synthetic));
        assert_eq!(Description::of("HWLOC_SYNTHETIC", "2 4 1024"), Ok(Description::Synthetic));
        assert!(Description::of("HWLOC_SYNTHETIC", "2 4 1025").is_err());
    }

    #[test]
    fn the_processor_is_that_of_the_description() {
        let text = "<topology version=\"2.0\">\n<info name=\"CPUModel\" value=\"Intel(R) Xeon(R) X\"/>\n</topology>";
        assert_eq!(Description::Xml(text.to_owned()).processor().as_deref(), Some("Intel(R) Xeon(R) X"));
        assert_eq!(Description::Synthetic.processor(), None);
    }
}
