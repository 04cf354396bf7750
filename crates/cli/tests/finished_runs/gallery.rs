//! `syncscope gallery` over the stored runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn gallery(runs: &[&Path], options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_syncscope")).arg("gallery").args(runs).args(options).output().unwrap()
}

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(name)
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn runs_stand_on_one_page_and_what_is_no_run_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.html");
    fs::create_dir(folder.path().join("h200")).unwrap();
    fs::write(folder.path().join("h200/report.html"), "the page of the run").unwrap();
    let runs = ["h200", "evidence", "published-system3", "h100", "README.md"].map(stored);
    let runs: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
    let output = gallery(&runs, &["-o", file.to_str().unwrap(), "--title", "Machines & <others>"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    for left_out in ["evidence is not a run", "README.md is not a run", "3 runs"] {
        assert!(errors(&output).contains(left_out), "{}", errors(&output));
    }
    let html = fs::read_to_string(&file).unwrap();
    assert!(html.contains("<title>Machines &amp; &lt;others&gt;</title>"));
    let runs = html.split("runs-table").last().unwrap();
    assert_eq!(runs.matches("/report.html\"").count(), 1, "a link where the page stands beside it");
    assert!(html.contains("href=\"h200/report.html\""));
}

#[test]
fn a_broken_run_of_several_is_named_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["a", "b", "c", "d"] {
        fs::create_dir(path(name)).unwrap();
        for file in ["run.json", "measurements.csv"] {
            fs::copy(stored("epyc-zen5-2cpu-vm").join(file), path(name).join(file)).unwrap();
        }
    }
    // A reader that waited for a writer would never end.
    fs::remove_file(path("b/measurements.csv")).unwrap();
    assert!(Command::new("mkfifo").arg(path("b/measurements.csv")).status().unwrap().success());
    let run = fs::read_to_string(path("a/run.json")).unwrap();
    fs::write(path("c/run.json"), run.replacen("\"packages\": 1", "\"packages\": 4294967295", 1)).unwrap();
    let names = ["a", "b", "c", "d"].map(|name| path(name).into_os_string());
    for command in ["gallery", "report"] {
        let page = path("page.html");
        let output = Command::new(env!("CARGO_BIN_EXE_syncscope"))
            .arg(command)
            .args(&names)
            .arg("-o")
            .arg(&page)
            .output()
            .unwrap();
        let text = errors(&output);
        assert_eq!(output.status.code(), Some(0), "{command}: {text}");
        for part in ["b/measurements.csv: it is not a regular file", "c/run.json: `machine.cpu.packages` is 4294967295"]
        {
            assert!(text.contains("left out: ") && text.contains(part), "{command}: {text}");
        }
        fs::remove_file(page).unwrap();
    }
    let alone = Command::new(env!("CARGO_BIN_EXE_syncscope"))
        .args(["show".into(), path("b").into_os_string()])
        .output()
        .unwrap();
    assert!(alone.status.code() == Some(1) && errors(&alone).contains("regular file"), "{}", errors(&alone));
}

#[test]
fn without_a_run_there_is_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.html");
    let evidence = stored("evidence");
    let output = gallery(&[&evidence], &["-o", file.to_str().unwrap()]);
    assert!(output.status.code() == Some(2) && errors(&output).contains("none of these folders holds a run"));
    assert!(!file.exists());
    let (again, name) = (stored("h200").join("../h200"), file.to_str().unwrap());
    let output = gallery(&[&stored("h200"), &again], &["-o", name]);
    assert!(output.status.success() && errors(&output).ends_with("1 run\n"), "each run once: {}", errors(&output));
    let output = gallery(&[&stored("h200")], &["-o", folder.path().to_str().unwrap()]);
    assert!(output.status.code() == Some(1) && errors(&output).contains("name another file"), "{}", errors(&output));
}

/// The page shows the 38 machines with the figures of the published matrices; costs across packages are marked.
#[test]
fn the_machines_of_core_to_core_latency_stand_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let words = [stored("core-to-core").into_os_string(), "-o".into(), runs.clone().into_os_string()];
    let mut import = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    let imported = import.args(["import", "core-to-core-latency"]).args(words).output().unwrap();
    assert_eq!(imported.status.code(), Some(0), "{}", errors(&imported));
    let machines: Vec<PathBuf> = fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(machines.len() == 38 && machines.iter().all(|machine| machine.join("LICENSE").is_file()), "{machines:?}");
    let machines = ["ryzen-7950x", "graviton3", "ppc970-2s", "xeon-x5650-2s"].map(|name| runs.join(name));
    let machines: Vec<&Path> = machines.iter().map(PathBuf::as_path).collect();
    let file = folder.path().join("index.html");
    let output = gallery(&machines, &["-o", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let html = fs::read_to_string(&file).unwrap().replace('\u{a0}', " ");
    assert_eq!(html.matches("<details class=\"machine\"").count(), 4);
    let operation = |id: &str| html.split(&format!("id=\"{id}\"")).nth(1).unwrap().split("</details>").next().unwrap();
    let row = |text: &str, name: &str| {
        text.split("<tr").find(|row| row.contains(name)).unwrap().split("</tr>").next().unwrap().to_owned()
    };
    assert!(row(operation("handoff.core"), "Ryzen 9 7950X").contains("5.33 ns"));
    assert!(row(operation("handoff.near"), "Graviton3").contains("46.4 ns"));
    assert!(row(operation("handoff.across"), "PowerPC 970").contains("576 ns"));
    let across = operation("handoff.across");
    assert_eq!(across.matches("data-machine").count(), across.matches("(issue 97)").count());
}
