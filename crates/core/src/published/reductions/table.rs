//! The tables of the experiment.

use serde::{Deserialize, Serialize};

use super::costs::SyncCost;
use super::prediction::{Decision, Prediction};
use super::row::{ReductionRow, WarpRow};
use crate::published::{PublishedExperiment, table};
use crate::run::directory::{RunDirectory, RunDirectoryError};

/// What the experiment gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reductions {
    /// `reductions.csv`: the time of each variant at each size.
    pub times: Vec<ReductionRow>,
    /// `reductions_warps.csv`: reductions within a warp.
    pub warps: Vec<WarpRow>,
    /// `reductions_costs.csv`: the costs of primitives that predictions use.
    pub costs: Vec<SyncCost>,
    /// `reductions_predictions.csv`: predicted and measured differences.
    pub predictions: Vec<Prediction>,
    /// `reductions_decisions.csv`: what the costs recommend.
    pub decisions: Vec<Decision>,
}

/// The name of a further table.
fn part(part: &str) -> String {
    format!("{}_{part}", PublishedExperiment::Reductions)
}

impl Reductions {
    /// Writes the tables. Those without rows are left out, except the first.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, directory: &RunDirectory) -> Result<(), RunDirectoryError> {
        table::write(directory, PublishedExperiment::Reductions.as_str(), &self.times)?;
        write_rows(directory, "warps", &self.warps)?;
        write_rows(directory, "costs", &self.costs)?;
        write_rows(directory, "predictions", &self.predictions)?;
        write_rows(directory, "decisions", &self.decisions)
    }

    /// Reads the tables; `None` if the directory holds none.
    pub(in crate::published) fn read(directory: &RunDirectory) -> Result<Option<Self>, RunDirectoryError> {
        let Some(times) = table::read(directory, PublishedExperiment::Reductions.as_str())? else { return Ok(None) };
        Ok(Some(Self {
            times,
            warps: table::read(directory, &part("warps"))?.unwrap_or_default(),
            costs: table::read(directory, &part("costs"))?.unwrap_or_default(),
            predictions: table::read(directory, &part("predictions"))?.unwrap_or_default(),
            decisions: table::read(directory, &part("decisions"))?.unwrap_or_default(),
        }))
    }
}

fn write_rows<T: Serialize>(directory: &RunDirectory, name: &str, rows: &[T]) -> Result<(), RunDirectoryError> {
    if rows.is_empty() { Ok(()) } else { table::write(directory, &part(name), rows) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::reductions::row::tests::row;
    use crate::published::reductions::{
        Agreement, Class, CostSource, Operation, ReductionRow, VARIANTS, WarpMethod, WarpRow,
    };

    fn directory() -> (tempfile::TempDir, RunDirectory) {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create_for_experiment(&folder.path().join("run")).unwrap();
        (folder, directory)
    }

    fn full() -> Reductions {
        let (class, operation, elements) = (Class::Device, Operation::Max, 1 << 28);
        let prediction = Prediction {
            class,
            operation,
            elements,
            devices: Some(1),
            variant: "device.graph_chain".into(),
            reference: "device.atomic".into(),
            measured_ns: -12.5,
            measured_half_width_ns: Some(1.0),
            predicted_ns: None,
            predicted_half_width_ns: None,
            relative_error: None,
            relative_error_of_time: None,
            agreement: Agreement::Missing,
            terms: "1 x gpu.launch.graph (no cost)".into(),
            why_not: Some("because, \"of\"".into()),
        };
        Reductions {
            times: vec![
                row("device.atomic", elements, 245_000.0),
                ReductionRow::unmeasured(&VARIANTS[3], operation, 7, "no room, \"really\"".to_owned()),
            ],
            warps: vec![WarpRow {
                method: WarpMethod::Tile,
                threads: 32,
                cycles: Some(250.0),
                cycles_low: Some(249.0),
                cycles_high: None,
                ns: None,
                check: Some(true),
                evidence: Some("WARPSYNC 10".into()),
                reason: None,
            }],
            costs: vec![SyncCost {
                primitive: "gpu.launch.graph".into(),
                case: "gpu.launch.graph 264 x 512".into(),
                source: CostSource::Here,
                ns: 700.0,
                ns_low: 690.0,
                ns_high: 710.0,
            }],
            predictions: vec![prediction],
            decisions: vec![Decision {
                class,
                operation,
                elements,
                devices: Some(1),
                measured: "device.atomic".into(),
                predicted: "device.atomic".into(),
                loss: 0.0,
                runner_up: "device.graph".into(),
                lead_ns: 1900.5,
                predicted_lead_ns: 2000.25,
            }],
        }
    }

    #[test]
    fn tables_come_back_as_they_were_written() {
        let (_folder, directory) = directory();
        assert_eq!(Reductions::read(&directory).unwrap(), None);
        full().write(&directory).unwrap();
        assert_eq!(Reductions::read(&directory).unwrap(), Some(full()));
    }

    #[test]
    fn a_part_that_was_not_measured_leaves_no_table() {
        let (_folder, directory) = directory();
        Reductions::default().write(&directory).unwrap();
        assert_eq!(Reductions::read(&directory).unwrap(), Some(Reductions::default()));
        assert!(!directory.path().join("reductions_warps.csv").exists());
    }

    #[test]
    fn columns_have_their_units() {
        let (_folder, directory) = directory();
        full().write(&directory).unwrap();
        let text = std::fs::read_to_string(directory.path().join("reductions.csv")).unwrap();
        let header = "class,variant,operation,elements,devices,blocks,threads,ns,ns_low,ns_high,gb_per_s,pairs,chain,check,reason";
        assert_eq!(text.lines().next(), Some(header));
    }
}
