//! The figures and tables of two papers as ready-made states of the page's explorer: which rows, over which axis, on which
//! scales, and which charts side by side.

use serde::Serialize;
use syncscope_core::run::IMPORTED;
use syncscope_core::run::columns::COLUMNS;
use syncscope_core::{Case, Form, Row};

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
    /// Columns of the rows and their accepted values, separated by commas; `2+` is two or more.
    rows: Selection,
    /// Numbers of blocks, as [`grid`] writes them; empty accepts all.
    grids: &'static str,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    /// The explorer: the horizontal axis, the measure, the scale, what separates charts side by side, and the parameter with
    /// a line for each value.
    Explorer { x: &'static str, y: &'static str, scale: &'static str, facet: &'static str, each: Option<&'static str> },
    /// A part of the page that shows the figure.
    Part(&'static str),
}

/// A figure as the page's scripts read it.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct FigureState {
    id: String,
    paper: &'static str,
    label: String,
    /// The title, with the paper.
    title: String,
    /// The explorer's filter.
    q: String,
    x: &'static str,
    y: &'static str,
    scale: &'static str,
    facet: &'static str,
    each: Option<&'static str>,
    /// The part of the page that replaces the explorer.
    part: Option<&'static str>,
    /// What the runs lack for the figure.
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

/// A figure with linear axes and the throughput of each thread.
const fn openmp(number: &'static str, title: &'static str, rows: Selection, facet: &'static str) -> PaperFigure {
    let shown = Shown::Explorer { x: "threads", y: "thread", scale: "linear", facet, each: None };
    of(Paper::Burtchell, number, title, rows, "", shown)
}

/// A figure with a logarithmic horizontal axis and the throughput of each thread.
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
        Shown::Explorer { x: "threads", y: "thread", scale: "logx", facet, each: None },
    )
}

const fn zhang(
    number: &'static str,
    title: &'static str,
    rows: Selection,
    (x, y, scale): (&'static str, &'static str, &'static str),
    each: Option<&'static str>,
) -> PaperFigure {
    of(Paper::Zhang, number, title, rows, "", Shown::Explorer { x, y, scale, facet: "none", each })
}

/// A figure with a line for each number of blocks on a multiprocessor.
const fn by_warps(number: &'static str, title: &'static str, y: &'static str) -> PaperFigure {
    let shown = Shown::Explorer { x: "warps", y, scale: "linear", facet: "none", each: Some("perUnit") };
    of(Paper::Zhang, number, title, SYNCTHREADS, FULL_GRIDS, shown)
}

const fn part(number: &'static str, title: &'static str, rows: Selection, id: &'static str) -> PaperFigure {
    of(Paper::Zhang, number, title, rows, "", Shown::Part(id))
}

type Selection = &'static [(&'static str, &'static str)];

const FULL_AND_DOUBLE: &str = "SMs × 1,SMs × 2";
const TWO_AND_HALF: &str = "2 blocks,SMs × 0.5";
const ONE_AND_FULL: &str = "1 block,SMs × 1";
const ALL_GRIDS: &str = "1 block,2 blocks,SMs × 0.5,SMs × 1,SMs × 2";
const FULL_GRIDS: &str = "SMs × 1,SMs × 2,SMs × 4,SMs × 8,SMs × 16,SMs × 32";
const GLOBAL: (&str, &str) = ("space", "global");
const DEVICE: (&str, &str) = ("scope", "device");
const THROUGHPUT: (&str, &str) = ("mode", "throughput");
const DEFAULT: (&str, &str) = ("form", "default");
/// The paper's own loops. Figures that others published have these loops without the name.
const PUBLISHED: (&str, &str) = ("form", "published");
const SHARED: (&str, &str) = ("layout", "shared");
const PRIVATE: (&str, &str) = ("layout", "private");
/// A serial execution needs no synchronization.
const TEAMS: (&str, &str) = ("threads", "2+");
const WHOLE_WARPS: (&str, &str) = ("threads", "32+");
/// `int`, `ull`, `float` and `double`.
const TYPES: (&str, &str) = ("dtype", "i32,u64,f32,f64");
const GROUPS: (&str, &str) =
    ("group", "tile 1,tile 4,tile 16,tile 32,coalesced 1,coalesced 16,coalesced 31,coalesced 32");
const LEVELS: Selection = &[
    ("primitive", "gpu.warp.tile,gpu.warp.coalesced,gpu.block.syncthreads,gpu.grid.cooperative,gpu.multi.counter"),
    DEFAULT,
    WHOLE_WARPS,
];
const SYNCTHREADS: Selection = &[("primitive", "gpu.block.syncthreads")];
const SEVERAL_GPUS: Selection = &[("family", "multi"), ("devices", "2,3,4,5,6,7,8")];
const STRIDES: (&str, &str) = ("stride", "1,4,8,16");
const NEAR_AND_FAR: (&str, &str) = ("stride", "1,32");

const FIGURES: &[PaperFigure] = &[
    openmp("1", "Barrier", &[("primitive", "cpu.barrier.openmp"), TEAMS], "none"),
    openmp("2", "Atomic update, one variable", &[("primitive", "cpu.atomic.add"), SHARED, THROUGHPUT, TEAMS], "none"),
    openmp("3", "Atomic update, strides", &[("primitive", "cpu.atomic.add"), PRIVATE, STRIDES, TEAMS], "variables"),
    openmp("4", "Atomic write", &[("primitive", "cpu.atomic.write"), ("order", "relaxed"), PUBLISHED, TEAMS], "run"),
    openmp("5", "Critical section", &[("primitive", "cpu.lock.openmp_critical"), TEAMS], "none"),
    openmp("6", "Flush, strides", &[("primitive", "cpu.fence.flush"), STRIDES, TEAMS], "gridStride"),
    cuda("7", "__syncthreads()", SYNCTHREADS, ALL_GRIDS, "grid"),
    cuda("8", "__syncwarp()", &[("primitive", "gpu.warp.syncwarp"), ("group", "converged")], FULL_AND_DOUBLE, "grid"),
    cuda(
        "9",
        "atomicAdd(), one variable",
        &[("primitive", "gpu.atomic.add"), SHARED, GLOBAL, DEVICE, THROUGHPUT, DEFAULT, TYPES],
        TWO_AND_HALF,
        "grid",
    ),
    cuda(
        "10",
        "atomicAdd(), strides",
        &[("primitive", "gpu.atomic.add"), PRIVATE, NEAR_AND_FAR, GLOBAL, DEVICE, THROUGHPUT, DEFAULT, TYPES],
        ONE_AND_FULL,
        "gridStride",
    ),
    cuda(
        "11",
        "atomicCAS(), one variable",
        &[("primitive", "gpu.atomic.cas_pass"), SHARED, GLOBAL, DEVICE, THROUGHPUT, DEFAULT, TYPES],
        ONE_AND_FULL,
        "grid",
    ),
    cuda(
        "12",
        "atomicCAS(), strides",
        &[("primitive", "gpu.atomic.cas_pass"), PRIVATE, NEAR_AND_FAR, GLOBAL, DEVICE, THROUGHPUT, DEFAULT, TYPES],
        ONE_AND_FULL,
        "gridStride",
    ),
    cuda(
        "13",
        "atomicExch()",
        &[("primitive", "gpu.atomic.exchange"), SHARED, GLOBAL, DEVICE, THROUGHPUT, DEFAULT, TYPES],
        TWO_AND_HALF,
        "grid",
    ),
    cuda(
        "14",
        "__threadfence()",
        &[("primitive", "gpu.fence.device"), NEAR_AND_FAR, DEFAULT],
        ONE_AND_FULL,
        "gridStride",
    ),
    cuda("15", "__shfl_sync()", &[("primitive", "gpu.shuffle.idx"), DEFAULT, TYPES], FULL_AND_DOUBLE, "grid"),
    by_warps("6", "Block barriers by warps", "cycles"),
    by_warps("7", "Throughput of block barriers", "warps"),
    part("8", "Grid barriers", &[("family", "grid")], "sizes-grid"),
    part("9", "Barriers across 1 and 2 GPUs", SEVERAL_GPUS, "sizes-multi"),
    part("10", "Barriers across up to 8 GPUs", SEVERAL_GPUS, "sizes-multi"),
    part("11", "Barriers by number of GPUs", SEVERAL_GPUS, "tables"),
    zhang("12 and 13", "All levels", LEVELS, ("threads", "ns", "log"), None),
    zhang(
        "table 4",
        "Warp barriers",
        &[("primitive", "gpu.warp.tile,gpu.warp.coalesced"), DEFAULT, GROUPS],
        ("threads", "cycles", "log"),
        Some("group"),
    ),
    zhang(
        "table 5",
        "Block barriers",
        &[("primitive", "gpu.block.syncthreads"), WHOLE_WARPS],
        ("threads", "cycles", "log"),
        None,
    ),
    zhang(
        "table 6",
        "Latency of warps and blocks",
        &[("primitive", "gpu.warp.tile,gpu.warp.coalesced,gpu.block.syncthreads"), DEFAULT, WHOLE_WARPS],
        ("threads", "cycles", "log"),
        None,
    ),
    part("table 10", "Lessons", LEVELS, "findings"),
];

/// The number of blocks as the papers write it: `1 block`, `2 blocks`, or as a multiple of the multiprocessors, `SMs × 0.5`.
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

/// Whether the strip of figures has this one.
pub(crate) fn has(paper: Paper, number: &str) -> bool {
    FIGURES.iter().any(|figure| figure.paper == paper && figure.number == number)
}

impl PaperFigure {
    fn selects(&self, row: &Row, data: &RunData, machine: MachineSize) -> bool {
        let case = &row.case;
        let has = |(column, values): &(&str, &str)| {
            let is_one = |own: &str| {
                let number = |text: &str| text.parse::<f64>().ok();
                let reaches = |least| number(least).zip(number(own)).is_some_and(|(least, own)| own >= least);
                values.split(',').any(|value| value == own || value.strip_suffix('+').is_some_and(reaches))
            };
            match *column {
                "primitive" => is_one(&case.primitive),
                "family" => is_one(case.domain_and_family().1),
                "form" if *values == PUBLISHED.1 && data.run.preset != IMPORTED => case.form == Some(Form::Published),
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

    /// Says what no run has; an axis needs rows of two sizes.
    fn missing(&self, runs: &[RunData]) -> Option<String> {
        let sizes = |data: &RunData| {
            let machine = MachineSize::of(&data.run.machine);
            let is_shown = |row: &&Row| row.ns.is_some() && (!self.shows_cycles() || row.cycles.is_some());
            let own = data.rows.iter().filter(is_shown).filter(|row| self.selects(row, data, machine));
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
        let quote = |values: &str| if values.contains(' ') { "\"" } else { "" };
        let is_imported = runs.iter().any(|data| data.run.preset == IMPORTED);
        let field = |one: &(&str, &str)| match one {
            ("form", "published") if is_imported => "form:published,default".to_owned(),
            (name, values) => format!("{name}:{0}{values}{0}", quote(values)),
        };
        let mut q: Vec<String> = self.rows.iter().map(field).collect();
        q.extend((!self.grids.is_empty()).then(|| field(&("grid", self.grids))));
        let (x, y, scale, facet, each, part) = match self.shown {
            Shown::Explorer { x, y, scale, facet, each } => (x, y, scale, facet, each, None),
            Shown::Part(id) => ("", "ns", "log", "", None, Some(id)),
        };
        let (paper, label) = (self.paper.title(), format!("{} {}", self.number, self.title));
        let figure = if self.number.starts_with(|first: char| first.is_ascii_digit()) { "figure " } else { "" };
        FigureState {
            id: id(self.paper, self.number),
            title: format!("{paper}, {figure}{label}"),
            paper,
            label,
            q: q.join(" "),
            x,
            y,
            scale,
            facet,
            each,
            part,
            missing: self.missing(runs),
        }
    }
}

/// All figures; those whose rows the runs lack say what would measure them. Empty if the runs have rows for none.
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
        let lacking = |runs: &[&str]| {
            let states = states(&runs.iter().map(|run| stored(run)).collect::<Vec<_>>());
            let lacking = states.into_iter().filter(|one| one.missing.is_some());
            lacking.map(|one| one.id.replace("figure-", "")).collect::<Vec<_>>()
        };
        let ours = ["h200-paper", "h200-standard", "h200-x4-barriers"];
        assert_eq!(lacking(&ours), ["burtchell-4"], "needs the paper's loops, which no run of ours has");
        assert_eq!(lacking(&ours[1..2]), ["burtchell-4", "zhang-9", "zhang-10", "zhang-11"], "needs two GPUs");
        let published = lacking(&["published-system3"]);
        assert!(published.iter().all(|id| id.starts_with("zhang")), "all of its own paper: {published:?}");
        assert_eq!(states(&[crate::testing::data(Vec::new())]), []);
        let [barrier, ..] = &states(&[stored("epyc-zen4-2cpu-vm")])[..] else { panic!("the OpenMP figures") };
        let fence = FIGURES.iter().find(|one| one.number == "14").unwrap().missing(&[stored("epyc-zen4-2cpu-vm")]);
        assert_eq!(
            (barrier.id.as_str(), &*barrier.q),
            ("figure-burtchell-1", "primitive:cpu.barrier.openmp threads:2+")
        );
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
