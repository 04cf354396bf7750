//! The runs of the calibration study: `results/calibration/*.csv.gz`, a table for each machine and session.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use syncscope_core::run::another_run;
use syncscope_core::run::columns::Header;
use syncscope_core::run::provenance::Tool;
use syncscope_core::{CaseId, Catalogue, Detail, Row, Run};
use syncscope_report::{Damage, RunData};

/// The folder of the tables.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/calibration")
}

/// The tables, each with its name.
pub(crate) fn tables() -> Vec<(String, PathBuf)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "gz"));
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().replace(".csv.gz", "");
    paths.into_iter().map(|path| (name(&path), path)).collect()
}

/// The catalogue with which stored runs are read.
pub(crate) fn catalogue() -> Arc<Catalogue> {
    let all = [syncscope_cpu::catalogue(), syncscope_gpu::primitives()].concat();
    Arc::new(all.into_iter().collect())
}

/// The rows of a run and their details.
type Tables = (Vec<Row>, HashMap<CaseId, Vec<Detail>>);

/// The runs of a table in the order of their start, each with the intervals of its processes.
pub(crate) fn runs(path: &Path, catalogue: &Arc<Catalogue>) -> Vec<RunData> {
    let mut reader = csv::Reader::from_reader(GzDecoder::new(File::open(path).unwrap()));
    let names = reader.headers().unwrap().clone();
    let mut runs: BTreeMap<String, Tables> = BTreeMap::new();
    let place = |name: &str| names.iter().position(|one| one == name);
    let header = Header::of(names.iter()).unwrap();
    let processes = [Detail::PROCESS_NS, Detail::PROCESS_CYCLES].map(|name| (name, place(name).unwrap()));
    for line in reader.records().map(Result::unwrap) {
        let row = header.row(&line).unwrap();
        let (rows, details) = runs.entry(line[0].to_owned()).or_default();
        for (name, at) in processes {
            let numbers = (0..).zip(line[at].split('|')).filter_map(|(at, text)| Some((at, text.parse().ok()?)));
            let found = numbers.map(|(process, value): (u32, f64)| Detail::of_actor(name, process, value));
            details.entry(row.case.id()).or_insert_with(Vec::new).extend(found);
        }
        rows.push(row.clone().with_facts_of(catalogue));
    }
    let run = |(started, (mut rows, details)): (String, Tables)| {
        another_run::derive(&mut rows, &details, catalogue, &[], &[]);
        RunData {
            name: started.clone(),
            run: Run { started, tool: Some(Tool::default()), ..Run::default() },
            rows,
            details,
            damage: Damage::default(),
            catalogue: Arc::clone(catalogue),
        }
    };
    runs.into_iter().map(run).collect()
}
