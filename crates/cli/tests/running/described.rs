//! Machines that hwloc's variables describe in place of this one: options that work on all of them, and errors in
//! descriptions.

use std::fs;
use std::process::Output;

use crate::common::{command, stderr};

/// The output of the command on a described machine.
fn on(variable: &str, value: &str, words: &[&str]) -> Output {
    command(words).env_remove("SYNCSCOPE_FAKE").env(variable, value).output().unwrap()
}

/// The number of planned cases; there must be no warning that a requested value is missing.
fn planned(description: &str, words: &[&str]) -> usize {
    let start = ["run", "--dry-run", "--no-history", "--only", "cpu.barrier.dissemination,cpu.atomic.add"];
    let output = on("HWLOC_SYNTHETIC", description, &[&start, words].concat());
    let (text, said) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(output.status.success() && !said.contains("no case"), "{description} {words:?}: {said}");
    let total = text.lines().find_map(|line| line.trim().strip_suffix("cases in total")?.trim().parse().ok());
    total.unwrap_or_else(|| panic!("{description} {words:?}: {text}"))
}

const MACHINES: [&str; 6] = [
    "core:1 pu:1",
    "core:1 pu:2",
    "pack:1 [numa] l3:1 core:6 pu:1",
    "pack:2 [numa] l3:2 core:4 pu:2",
    "pack:1 group:4 [numa] l3:1 core:8 pu:1",
    "pack:2 [numa] l3:1 core:16 pu:4",
];

#[test]
fn a_placement_that_fits_one_machine_fits_the_next() {
    for (at, machine) in MACHINES.into_iter().enumerate() {
        for (number, placement) in ["cores", "close", "spread", "cores,spread"].into_iter().enumerate() {
            // Each placement is combined with both presets.
            let preset = ["quick", "standard"][(at + number) % 2];
            let with =
                |more: &[&str]| planned(machine, &[&["--preset", preset, "--placement", placement], more].concat());
            // A team of one thread has one place under all names of placements.
            assert!((1..=with(&[])).contains(&with(&["--threads", "1"])), "{machine} {placement}");
        }
        // All CPUs are the same in every placement.
        let all = |placement| planned(machine, &["--preset", "standard", "--placement", placement, "--threads", "1"]);
        assert_eq!(all("cores"), all("close"), "{machine}");
    }
    // Without siblings `cores` is `close`.
    let flat = MACHINES[2];
    assert_eq!(planned(flat, &["--placement", "cores"]), planned(flat, &["--placement", "close"]));
}

#[test]
fn an_error_names_what_the_option_takes() {
    let words = ["run", "--dry-run", "--only", "cpu.barrier.sense", "--placement", "spread", "--threads", "1000"];
    let output = on("HWLOC_SYNTHETIC", MACHINES[3], &words);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("cpu.barrier.sense: 1000 threads on 32 CPUs"), "{said}");
}

#[test]
fn a_faulty_description_is_an_error_and_not_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let newer = file("newer.xml", "<?xml version=\"1.0\"?>\n<topology version=\"3.0\">\n</topology>\n");
    // Well-formed XML without a machine.
    let nothing = file("nothing.xml", "<topology version=\"2.0\">\n<object type=\"Fruit\"/>\n</topology>\n");
    let [empty, page] = [file("empty.xml", ""), file("page.xml", "<html/>")];
    for (variable, value, cause) in [
        ("HWLOC_XMLFILE", "/nowhere/machine.xml", "No such file"),
        ("HWLOC_XMLFILE", &empty, "is empty"),
        ("HWLOC_XMLFILE", &page, "has no <topology>"),
        ("HWLOC_XMLFILE", &newer, "version 3.0"),
        ("HWLOC_XMLFILE", &nothing, "hwloc cannot read"),
        ("HWLOC_XMLFILE", "", "is empty"),
        ("HWLOC_SYNTHETIC", "pack:2 fruit:3", "hwloc cannot read `pack:2 fruit:3`"),
        ("HWLOC_SYNTHETIC", "pack:64 core:1000 pu:1", "64000 hardware threads"),
        ("HWLOC_SYNTHETIC", "", "is empty"),
        ("HWLOC_FSROOT", "/nowhere", "sys/devices/system"),
        ("HWLOC_CPUID_PATH", "/nowhere", "pu0"),
    ] {
        for words in [&["system"][..], &["list"], &["run", "--dry-run"]] {
            let output = on(variable, value, words);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{variable}={value} {words:?}: {said}");
            assert!(said.contains(variable) && said.contains(cause), "{variable}={value}: {said}");
        }
    }
}

#[test]
fn the_cpus_of_a_described_machine_are_its_own() {
    let dry = |cpus: &str| {
        let words = ["run", "--dry-run", "--no-history", "--only", "cpu.barrier.dissemination", "--cpus", cpus];
        on("HWLOC_SYNTHETIC", "pack:2 [numa] l3:1 core:64 pu:2", &words)
    };
    for (cpus, most) in [("64-127", 64), ("0-255:2", 128), ("0-255:2/8", 64), ("5", 1)] {
        let output = dry(cpus);
        assert!(output.status.success(), "{cpus}: {}", stderr(&output));
        let words =
            ["run", "--dry-run", "--no-history", "--only", "cpu.barrier.dissemination", "--cpus", cpus, "--threads"];
        let with = |threads: &str| {
            on("HWLOC_SYNTHETIC", "pack:2 [numa] l3:1 core:64 pu:2", &[&words[..], &[threads]].concat())
        };
        assert!(with(&most.to_string()).status.success(), "{cpus}");
        let said = stderr(&with("4000"));
        assert!(said.contains(&format!("4000 threads on {most} CPU")), "{cpus}: {said}");
    }
    let output = dry("250-256");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("CPU 256") && said.contains("HWLOC_SYNTHETIC describes has 0-255"), "{said}");
}
