//! The stored runs as tables of text.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use syncscope_core::run::columns::COLUMNS;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Catalogue, Row};
use syncscope_report::RunData;

/// A line of a table: the names of its columns with their values.
pub(crate) type Line = BTreeMap<String, String>;

/// The primitives of all hardware crates.
fn catalogue() -> Arc<Catalogue> {
    let parts = [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_cpu::mpi::primitives()];
    Arc::new(parts.into_iter().flatten().copied().collect())
}

/// The stored runs, each read once.
pub(crate) struct Runs {
    folder: PathBuf,
    loaded: RefCell<HashMap<String, Rc<RunData>>>,
    tables: RefCell<HashMap<String, Rc<Vec<Line>>>>,
}

impl Runs {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, loaded: RefCell::default(), tables: RefCell::default() }
    }

    pub(crate) fn data(&self, run: &str) -> Result<Rc<RunData>, String> {
        if let Some(known) = self.loaded.borrow().get(run) {
            return Ok(Rc::clone(known));
        }
        let data = Rc::new(RunData::load(&self.folder.join(run), catalogue()).map_err(|error| error.to_string())?);
        self.loaded.borrow_mut().insert(run.to_owned(), Rc::clone(&data));
        Ok(data)
    }

    /// The rows of a run with their details as further columns, or another table of its directory.
    pub(crate) fn table(&self, run: &str, file: Option<&str>) -> Result<Rc<Vec<Line>>, String> {
        let key = format!("{run}/{}", file.unwrap_or_default());
        if let Some(known) = self.tables.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let lines = Rc::new(match file {
            None => self.rows(run)?,
            Some("run") => vec![self.of_run(run)?],
            Some(file) => self.lines(run, file)?,
        });
        self.tables.borrow_mut().insert(key, Rc::clone(&lines));
        Ok(lines)
    }

    fn rows(&self, run: &str) -> Result<Vec<Line>, String> {
        let data = self.data(run)?;
        let line = |row: &Row| -> Line {
            let mut line: Line = COLUMNS.iter().map(|column| (column.name.to_owned(), column.write(row))).collect();
            let details = data.details.get(&row.case.id()).into_iter().flatten();
            line.extend(
                details
                    .filter(|detail| detail.actor.is_none())
                    .map(|detail| (detail.name.clone(), detail.value.to_string())),
            );
            let threads = row.case.threads.unwrap_or(1);
            line.insert("fits".into(), (threads <= data.run.machine.cpu.hardware_threads).to_string());
            line.extend(on_multiprocessors(&data, row));
            line
        };
        Ok(data.rows.iter().map(line).collect())
    }

    fn of_run(&self, run: &str) -> Result<Line, String> {
        let seconds = self.data(run)?.seconds().ok_or_else(|| format!("{run} does not say when it ended"))?;
        Ok([("seconds".to_owned(), seconds.to_string())].into())
    }

    fn lines(&self, run: &str, file: &str) -> Result<Vec<Line>, String> {
        let directory = RunDirectory::open(&self.folder.join(run)).map_err(|error| error.to_string())?;
        let path = directory.path().join(file);
        let mut reader = csv::Reader::from_path(&path).map_err(|error| format!("{run}/{file}: {error}"))?;
        reader.deserialize().collect::<Result<_, _>>().map_err(|error| format!("{run}/{file}: {error}"))
    }
}

/// Of a block barrier: whether all its blocks run at the same time, and how many barriers a multiprocessor passes in a
/// microsecond (Zhang et al., table 5).
fn on_multiprocessors(data: &RunData, row: &Row) -> Line {
    let gpu = data.run.machine.gpus.first().filter(|gpu| gpu.multiprocessors > 0);
    let sizes = (gpu, row.case.blocks, row.case.threads, row.ns);
    let (Some(gpu), Some(blocks), Some(threads), Some(ns)) = sizes else { return Line::new() };
    let each = blocks.div_ceil(gpu.multiprocessors);
    let resident = each <= gpu.max_blocks_per_multiprocessor
        && each * threads.next_multiple_of(32) <= gpu.max_threads_per_multiprocessor;
    let rate = 1e3 * f64::from(blocks) / f64::from(gpu.multiprocessors) / ns.value();
    [("resident".to_owned(), resident.to_string()), ("block_syncs_per_us".to_owned(), rate.to_string())].into()
}
