//! The figures and tables of two papers as ready states of the page's explorer: which rows, over what, on which scales, and
//! which charts side by side.

use serde::Serialize;
use syncscope_core::run::columns::COLUMNS;
use syncscope_core::{Case, Row};

use super::claim::Paper;
use super::usual::MachineSize;
use crate::RunData;

/// A figure or table of a paper.
#[derive(Debug)]
struct PaperFigure {
    paper: Paper,
    /// `9`, `table 4`.
    number: &'static str,
    title: &'static str,
    /// Columns of the rows and their values, with commas between them.
    rows: Selection,
    /// Numbers of blocks, as [`grid`] writes them; all without any.
    grids: &'static str,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    /// The explorer: the horizontal axis, the measure, the scale, and what stands side by side.
    Explorer { x: &'static str, y: &'static str, scale: &'static str, facet: &'static str },
    /// The part of the page that is the figure.
    Part(&'static str),
}

/// A figure as the page's scripts read it.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct FigureState {
    id: String,
    paper: &'static str,
    label: String,
    /// The explorer's filter.
    q: String,
    x: &'static str,
    y: &'static str,
    scale: &'static str,
    facet: &'static str,
    /// The part of the page, in place of the explorer.
    part: Option<&'static str>,
    /// What the runs lack for it.
    missing: Option<String>,
}

const fn of(
    paper: Paper,
    number: &'static str,
    title: &'static str,
    rows: Selection,
    grids: &'static str,
    shown: Shown,
) -> PaperFigure {
    PaperFigure { paper, number, title, rows, grids, shown }
}

/// Linear axes, throughput of each thread.
const fn openmp(number: &'static str, title: &'static str, rows: Selection, facet: &'static str) -> PaperFigure {
    let shown = Shown::Explorer { x: "threads", y: "thread", scale: "linear", facet };
    of(Paper::Burtchell, number, title, rows, "", shown)
}

/// A logarithmic horizontal axis, throughput of each thread.
const fn cuda(
    number: &'static str,
    title: &'static str,
    rows: Selection,
    grids: &'static str,
    facet: &'static str,
) -> PaperFigure {
    of(
        Paper::Burtchell,
        number,
        title,
        rows,
        grids,
        Shown::Explorer { x: "threads", y: "thread", scale: "logx", facet },
    )
}

const fn zhang(
    number: &'static str,
    title: &'static str,
    rows: Selection,
    (x, y, scale): (&'static str, &'static str, &'static str),
) -> PaperFigure {
    of(Paper::Zhang, number, title, rows, "", Shown::Explorer { x, y, scale, facet: "none" })
}

const fn part(number: &'static str, title: &'static str, rows: Selection, id: &'static str) -> PaperFigure {
    of(Paper::Zhang, number, title, rows, "", Shown::Part(id))
}

type Selection = &'static [(&'static str, &'static str)];

const FULL_AND_DOUBLE: &str = "SMs × 1,SMs × 2";
const TWO_AND_HALF: &str = "2 blocks,SMs × 0.5";
const ONE_AND_FULL: &str = "1 block,SMs × 1";
const GLOBAL: (&str, &str) = ("space", "global");
const DEVICE: (&str, &str) = ("scope", "device");
const THROUGHPUT: (&str, &str) = ("mode", "throughput");
const DEFAULT: (&str, &str) = ("form", "default");
const SHARED: (&str, &str) = ("layout", "shared");
const PRIVATE: (&str, &str) = ("layout", "private");
const LEVELS: Selection =
    &[("primitive", "gpu.warp.tile,gpu.warp.coalesced,gpu.block.syncthreads,gpu.grid.cooperative,gpu.multi.counter")];
const WARPS: Selection = &[("primitive", "gpu.warp.tile,gpu.warp.coalesced")];
const SYNCTHREADS: Selection = &[("primitive", "gpu.block.syncthreads")];
const SEVERAL_GPUS: Selection = &[("family", "multi"), ("devices", "2,3,4,5,6,7,8")];
const STRIDES: (&str, &str) = ("stride", "1,4,8,16");
const NEAR_AND_FAR: (&str, &str) = ("stride", "1,32");

const FIGURES: &[PaperFigure] = &[
    openmp("1", "Barrier", &[("primitive", "cpu.barrier.openmp")], "none"),
    openmp("2", "Atomic update, one variable", &[("primitive", "cpu.atomic.add"), SHARED, THROUGHPUT], "none"),
    openmp("3", "Atomic update, strides", &[("primitive", "cpu.atomic.add"), PRIVATE, STRIDES], "variables"),
    openmp("4", "Atomic write", &[("primitive", "cpu.atomic.write"), ("order", "relaxed")], "none"),
    openmp("5", "Critical section", &[("primitive", "cpu.lock.openmp_critical")], "none"),
    openmp("6", "Flush, strides", &[("primitive", "cpu.fence.flush"), STRIDES], "variables"),
    cuda("7", "__syncthreads()", SYNCTHREADS, "", "grid"),
    cuda("8", "__syncwarp()", &[("primitive", "gpu.warp.syncwarp"), ("group", "converged")], FULL_AND_DOUBLE, "grid"),
    cuda(
        "9",
        "atomicAdd(), one variable",
        &[("primitive", "gpu.atomic.add"), SHARED, GLOBAL, DEVICE, THROUGHPUT, DEFAULT],
        TWO_AND_HALF,
        "grid",
    ),
    cuda(
        "10",
        "atomicAdd(), strides",
        &[("primitive", "gpu.atomic.add"), PRIVATE, NEAR_AND_FAR, GLOBAL, DEVICE, THROUGHPUT, DEFAULT],
        ONE_AND_FULL,
        "gridStride",
    ),
    cuda(
        "11",
        "atomicCAS(), one variable",
        &[("primitive", "gpu.atomic.cas_pass"), SHARED, GLOBAL, DEVICE, THROUGHPUT],
        ONE_AND_FULL,
        "grid",
    ),
    cuda(
        "12",
        "atomicCAS(), strides",
        &[("primitive", "gpu.atomic.cas_pass"), PRIVATE, NEAR_AND_FAR, GLOBAL, DEVICE, THROUGHPUT],
        ONE_AND_FULL,
        "gridStride",
    ),
    cuda(
        "13",
        "atomicExch()",
        &[("primitive", "gpu.atomic.exchange"), SHARED, GLOBAL, DEVICE, THROUGHPUT],
        TWO_AND_HALF,
        "grid",
    ),
    cuda("14", "__threadfence()", &[("primitive", "gpu.fence.device"), NEAR_AND_FAR], ONE_AND_FULL, "gridStride"),
    cuda("15", "__shfl_sync()", &[("primitive", "gpu.shuffle.idx"), DEFAULT], FULL_AND_DOUBLE, "grid"),
    zhang("6", "Block barriers by warps", SYNCTHREADS, ("warps", "cycles", "linear")),
    zhang("7", "Throughput of block barriers", SYNCTHREADS, ("warps", "warps", "linear")),
    part("8", "Grid barriers", &[("family", "grid")], "details"),
    part("9", "Barriers of 1 and 2 GPUs", SEVERAL_GPUS, "details"),
    part("10", "Barriers of up to 8 GPUs", SEVERAL_GPUS, "details"),
    part("11", "Barriers over GPUs", SEVERAL_GPUS, "tables"),
    zhang("12", "All levels, V100", LEVELS, ("threads", "ns", "log")),
    zhang("13", "All levels, P100", LEVELS, ("threads", "ns", "log")),
    zhang("table 4", "Warp barriers", WARPS, ("threads", "cycles", "log")),
    zhang("table 5", "Block barriers", SYNCTHREADS, ("threads", "cycles", "log")),
    zhang("table 6", "Latency, one GPU", LEVELS, ("threads", "cycles", "log")),
    part("table 10", "Lessons", LEVELS, "findings"),
];

/// The number of blocks as the papers say it: `1 block`, `2 blocks`, or as a multiple of the multiprocessors, `SMs × 0.5`.
pub(crate) fn grid(case: &Case, machine: MachineSize) -> Option<String> {
    let (blocks, units) = (case.blocks?, machine.multiprocessors);
    let halves = 2 * blocks;
    Some(if blocks > 2 && units > 0 && halves.is_multiple_of(units) {
        format!("SMs × {}", f64::from(halves / units) / 2.0)
    } else {
        crate::naming::plural(blocks, "block")
    })
}

/// The id of a figure's link: `figure-burtchell-9`.
pub(crate) fn id(paper: Paper, number: &str) -> String {
    format!("figure-{}-{}", paper.as_str(), number.replace(' ', "-"))
}

/// Whether the strip has this figure.
pub(crate) fn has(paper: Paper, number: &str) -> bool {
    FIGURES.iter().any(|figure| figure.paper == paper && figure.number == number)
}

impl PaperFigure {
    fn selects(&self, row: &Row, machine: MachineSize) -> bool {
        let case = &row.case;
        let has = |(column, values): &(&str, &str)| {
            let is_one = |own: &str| values.split(',').any(|value| value == own);
            match *column {
                "primitive" => is_one(&case.primitive),
                "family" => is_one(case.domain_and_family().1),
                "form" => case.form.is_none(),
                name => {
                    COLUMNS.iter().find(|column| column.name == name).is_some_and(|column| is_one(&column.write(row)))
                }
            }
        };
        let of_grid = || grid(case, machine).is_some_and(|own| self.grids.split(',').any(|one| one == own));
        self.rows.iter().all(has) && (self.grids.is_empty() || of_grid())
    }

    fn shows_cycles(&self) -> bool {
        matches!(self.shown, Shown::Explorer { y: "cycles", .. })
    }

    /// What no run has: an axis needs rows of two sizes.
    fn missing(&self, runs: &[RunData]) -> Option<String> {
        let sizes = |data: &RunData| {
            let machine = MachineSize::of(&data.run.machine);
            let is_shown = |row: &&Row| row.ns.is_some() && (!self.shows_cycles() || row.cycles.is_some());
            let own = data.rows.iter().filter(is_shown).filter(|row| self.selects(row, machine));
            let mut sizes: Vec<_> =
                own.map(|row| (row.case.threads, row.case.blocks, row.case.group.clone())).collect();
            sizes.sort_unstable();
            sizes.dedup();
            sizes.len()
        };
        let (_, primitives) = self.rows[0];
        let command = if self.rows[0].0 == "family" { format!("gpu.{primitives}.*") } else { primitives.to_owned() };
        runs.iter().all(|data| sizes(data) < 2).then(|| format!("syncscope run --preset paper --only '{command}'"))
    }

    fn state(&self, runs: &[RunData]) -> FigureState {
        let field = |(name, values): &(&str, &str)| format!("{name}:{values}");
        let mut q: Vec<String> = self.rows.iter().map(field).collect();
        q.extend((!self.grids.is_empty()).then(|| format!("grid:\"{}\"", self.grids)));
        let (x, y, scale, facet, part) = match self.shown {
            Shown::Explorer { x, y, scale, facet } => (x, y, scale, facet, None),
            Shown::Part(id) => ("", "ns", "log", "", Some(id)),
        };
        FigureState {
            id: id(self.paper, self.number),
            paper: self.paper.title(),
            label: format!("{} {}", self.number, self.title),
            q: q.join(" "),
            x,
            y,
            scale,
            facet,
            part,
            missing: self.missing(runs),
        }
    }
}

/// All figures, those that the runs lack rows for with what would measure them; none where they have rows for none.
pub(crate) fn states(runs: &[RunData]) -> Vec<FigureState> {
    let all: Vec<FigureState> = FIGURES.iter().map(|figure| figure.state(runs)).collect();
    if all.iter().all(|one| one.missing.is_some()) { Vec::new() } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::path::PathBuf;

    fn stored(name: &str) -> RunData {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", name].iter().collect();
        RunData::load(&path, crate::testing::catalogue()).unwrap()
    }

    #[test]
    fn every_figure_has_rows_in_a_stored_run_or_says_what_measures_them() {
        let ids: HashSet<_> = FIGURES.iter().map(|one| id(one.paper, one.number)).collect();
        assert_eq!(ids.len(), FIGURES.len());
        assert!(FIGURES.iter().flat_map(|one| one.rows).all(|(name, _)| {
            ["family", "form"].contains(name) || COLUMNS.iter().any(|column| column.name == *name)
        }));
        let lacking = |run: &str| {
            let states = states(&[stored(run)]);
            let lacking = states.into_iter().filter(|one| one.missing.is_some());
            lacking.map(|one| one.id.replace("figure-", "")).collect::<Vec<_>>()
        };
        assert_eq!(lacking("h100-paper"), ["zhang-9", "zhang-10", "zhang-11"], "which need two GPUs");
        let published = lacking("published-system3");
        assert!(published.iter().all(|id| id.starts_with("zhang")), "all of its own paper: {published:?}");
        assert_eq!(states(&[crate::testing::data(Vec::new())]), []);
        let [barrier, ..] = &states(&[stored("epyc-zen4-2cpu-vm")])[..] else { panic!("the OpenMP figures") };
        let fence = FIGURES.iter().find(|one| one.number == "14").unwrap().missing(&[stored("epyc-zen4-2cpu-vm")]);
        assert_eq!((barrier.id.as_str(), &*barrier.q), ("figure-burtchell-1", "primitive:cpu.barrier.openmp"));
        assert_eq!(fence.as_deref(), Some("syncscope run --preset paper --only 'gpu.fence.device'"));
    }

    #[test]
    fn blocks_are_multiples_of_the_multiprocessors() {
        let machine = MachineSize { hardware_threads: 16, multiprocessors: 132 };
        let of = |blocks| grid(&Case { blocks: Some(blocks), ..Case::new("gpu.atomic.add") }, machine).unwrap();
        let texts = [1, 2, 66, 100, 132, 264].map(of);
        assert_eq!(texts, ["1 block", "2 blocks", "SMs × 0.5", "100 blocks", "SMs × 1", "SMs × 2"]);
    }
}
