//! Figures of stored runs on other machines for the rungs of the cost ladder, which show readers how their machine compares.
//!
//! `assets/anchors.csv` holds the figures. `SYNCSCOPE_UPDATE=1 cargo test -p syncscope-report anchors` generates the file
//! from the runs in `results/`; without the variable, the same test checks that the file is current.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use syncscope_core::stats::Interval;
use syncscope_core::{Actor, Row};

use crate::analysis::compare::ratio::{UncertainCost, p_at_most};
use crate::analysis::compare::{USUAL_THRESHOLD, instructions};
use crate::analysis::ladder::LADDER;
use crate::analysis::ladder::row_query::{Rung, Selected};
use crate::analysis::phrases::joined;
use crate::analysis::usual::short_name;
use crate::figure;
use crate::reading::{self, Reading};
use crate::{RunData, naming};
use syncscope_core::sets::{in_groups, unique};

const TABLE: &str = include_str!("../../assets/anchors.csv");

/// How well a figure is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// A measured figure with an interval for another run.
    Measured,
    /// A median of single operations, without an interval.
    Median,
    /// Another publication's figure, without an interval.
    Published,
}

/// A stored run's figure for a rung: one line of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Anchor {
    /// The folder of the run, and when it started.
    run: String,
    started: String,
    /// The hardware that executed the case.
    hardware: String,
    /// The id of the rung.
    rung: String,
    primitive: String,
    /// Threads, blocks and devices, in words.
    size: String,
    /// The actor whose cost it is; empty where a run does not say.
    actor: Option<Actor>,
    /// The instructions that the evidence names; empty where a run does not say.
    evidence: String,
    kind: Kind,
    is_noisy: bool,
    ns: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Anchor {
    fn interval(&self) -> Option<Interval> {
        self.low.zip(self.high).map(|(low, high)| Interval { low, high })
    }
}

static ANCHORS: LazyLock<Vec<Anchor>> = LazyLock::new(|| {
    // A test checks that every line can be read.
    csv::Reader::from_reader(TABLE.as_bytes()).deserialize().filter_map(Result::ok).collect()
});

/// The mark of another machine's figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Mark {
    /// The cost in ns.
    pub(crate) x: f64,
    /// Whether it has an interval.
    pub(crate) certain: bool,
    /// `NVIDIA H100 80GB HBM3`.
    pub(crate) machine: String,
    /// The figure with everything that a reader must know about it.
    pub(crate) tip: String,
}

/// The hardware that executes a row's case, with the hypervisor for CPUs.
fn hardware(data: &RunData, row: &Row) -> String {
    let machine = &data.run.machine;
    let name = naming::hardware(machine, &row.case);
    match (&machine.cpu.hypervisor, row.case.domain_and_family().0) {
        (Some(hypervisor), "cpu") => format!("{name} ({hypervisor})"),
        _ => name,
    }
}

/// The stored figures for a rung that are comparable with the selected row. They have the same size. Those with an interval
/// are costs of the same actor, and those of the same primitive executed the same instructions. Each hardware has one
/// figure, the one with the narrowest interval, and the run itself has none. The order is the table's.
pub(crate) fn behind(rung: &Rung, data: &RunData, selected: &Selected) -> Vec<Mark> {
    let Some(row) = data.rows.get(selected.row) else { return Vec::new() };
    let of_hardware = in_groups(comparable(rung, data, row).map(|anchor| (&anchor.hardware, anchor)));
    of_hardware.into_iter().map(|(_, anchors)| mark(anchors[0])).collect()
}

/// The names of the machines behind these figures, which the ticks alone do not show.
pub(crate) fn in_words(marks: &[Mark]) -> Option<String> {
    let machines = unique(marks.iter().map(|mark| mark.machine.as_str()));
    // A launch names both CPU and device; those are also listed by themselves.
    let is_part = |name: &str| !machines.iter().any(|other| name.ends_with(&format!(", {other}")));
    let names = |certain: bool| {
        let has = |name: &str| marks.iter().any(|mark| mark.machine == name && mark.certain == certain);
        machines.iter().copied().filter(|name| is_part(name) && has(name)).collect::<Vec<&str>>()
    };
    let (measured, mut others) = (names(true), names(false));
    others.retain(|name| !measured.contains(name));
    let listed = |names: Vec<&str>, what| (!names.is_empty()).then(|| format!("{what} ({}).", names.join("; ")));
    let parts = [
        listed(measured, "Grey ticks mark stored runs"),
        listed(others, "Dotted ticks mark values without an interval"),
        (!marks.is_empty()).then(|| {
            "All ticks on a line mark the same operation at the same size; the grey ones also use the same statistic as this run (mean, median or \
             slowest thread). Where both runs recorded their machine instructions, the instructions match too. Select a tick to see its run and figure."
                .to_owned()
        }),
    ];
    joined(parts, " ")
}

fn comparable<'a>(rung: &'a Rung, data: &'a RunData, row: &'a Row) -> impl Iterator<Item = &'static Anchor> + 'a {
    let size = naming::size(&row.case);
    ANCHORS.iter().filter(move |anchor| {
        anchor.rung == rung.id
            && anchor.size == size
            && !(anchor.started == data.run.started && anchor.run == data.name)
            && anchor.ns >= PLAUSIBLE_NS
            && has_same_actor(anchor, row)
            && has_same_code(anchor, row)
            && (anchor.kind != Kind::Published || has_one_code(anchor))
    })
}

/// A third of a cycle at 3 GHz. A smaller figure without an interval is noise.
const PLAUSIBLE_NS: f64 = 0.1;

/// Says what changed on this hardware: the rungs of the ladder against stored runs on hardware of the same name, both with
/// their intervals for another run. `None` if no stored run has one of the rungs.
pub(crate) fn against_equal_hardware(data: &RunData) -> Option<String> {
    let found = pairs_on_equal_hardware(data);
    let hardware: BTreeSet<&str> = found.iter().map(|pair| pair.anchor.hardware.as_str()).collect();
    let level = 0.025 / (found.len().max(1) as f64);
    let certain = |costs: fn(&Pair<'_>) -> [UncertainCost; 2]| -> Vec<String> {
        let is_certain = |pair: &&Pair<'_>| {
            let [more, less] = costs(pair);
            p_at_most(&more, 1.0 + USUAL_THRESHOLD, &less) <= level
        };
        found.iter().filter(is_certain).map(Pair::words).collect()
    };
    let sentence = |change: &str, names: &[String]| {
        let them = match (found.len(), names.len()) {
            (1, 0) => "It is not".to_owned(),
            (1, _) => "It is".to_owned(),
            (_, 0) => "None of them is".to_owned(),
            (_, 1) => "1 of them is".to_owned(),
            (_, count) => format!("{count} of them are"),
        };
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join("; ")) };
        format!("{them} more than {:.0} % {change} here{names}.", 100.0 * USUAL_THRESHOLD)
    };
    let (slower, faster) = (certain(|pair| [pair.own, pair.stored]), certain(|pair| [pair.stored, pair.own]));
    let changes = match (slower.as_slice(), faster.as_slice()) {
        ([], []) => sentence("slower or faster", &[]),
        (slower, []) if found.len() == 1 => sentence("slower", slower),
        ([], faster) if found.len() == 1 => sentence("faster", faster),
        (slower, faster) => format!("{} {}", sentence("slower", slower), sentence("faster", faster)),
    };
    let shared = match found.len() {
        0 => return None,
        1 => "1 of this run's operations was".to_owned(),
        several => format!("{several} of this run's operations were"),
    };
    let hardware = hardware.into_iter().collect::<Vec<_>>().join("; ");
    Some(format!("{shared} also measured in stored runs on matching hardware: {hardware}. {changes}"))
}

/// A row of a run and the stored figure for the same primitive.
struct Pair<'a> {
    rung: &'static Rung,
    row: &'a Row,
    own: UncertainCost,
    anchor: &'static Anchor,
    stored: UncertainCost,
}

impl Pair<'_> {
    /// `Cluster, Barrier, 8 blocks (405 ns here, 167 ns stored)`.
    fn words(&self) -> String {
        let (own, stored) = (Reading::of(self.row).figure, figure::time(self.stored.ns));
        format!("{}, {} ({own} here, {stored} stored)", self.rung.level, self.rung.title)
    }
}

fn pairs_on_equal_hardware(data: &RunData) -> Vec<Pair<'_>> {
    let pair = |rung: &'static Rung| {
        let selected = rung.find(data).filter(|selected| selected.median_ns.is_none())?;
        let row = data.rows.get(selected.row).filter(|row| reading::has_figure(row))?;
        let own = certain_cost(row.ns?.value(), row.ns_with_allowance()?)?;
        let name = hardware(data, row);
        let is_like = |anchor: &&Anchor| anchor.hardware == name && anchor.primitive == row.case.primitive;
        let anchor = comparable(rung, data, row).filter(|anchor| anchor.kind == Kind::Measured).find(is_like)?;
        Some(Pair { rung, row, own, anchor, stored: certain_cost(anchor.ns, anchor.interval()?)? })
    };
    let mut pairs: Vec<Pair<'_>> = LADDER.iter().filter_map(pair).collect();
    // Two rungs may select the same row.
    let mut rows = HashSet::new();
    pairs.retain(|pair| rows.insert(std::ptr::from_ref(pair.row)));
    pairs
}

/// A cost that its interval for another run describes completely.
fn certain_cost(ns: f64, quoted: Interval) -> Option<UncertainCost> {
    const MANY_BLOCKS: f64 = 1e6;
    UncertainCost::of_interval(ns, quoted, MANY_BLOCKS)
}

/// Whether both costs have one actor; versions of syncscope differ in it. A single thread is every actor, and a figure
/// without an interval is only a hint.
fn has_same_actor(anchor: &Anchor, row: &Row) -> bool {
    let is_exempt = anchor.kind != Kind::Measured || row.case.has_one_thread();
    is_exempt || anchor.actor.zip(row.actor).is_none_or(|(stored, own)| stored == own)
}

/// Whether both executed the same instructions; versions of syncscope and architectures differ in some.
fn has_same_code(anchor: &Anchor, row: &Row) -> bool {
    let own = row.evidence.as_deref().unwrap_or_default();
    anchor.primitive != row.case.primitive
        || own.is_empty()
        || anchor.evidence.is_empty()
        || code(own) == code(&anchor.evidence)
}

/// The instructions that an evidence names, and whether the baseline has them, too: the surrounding code is part of a
/// primitive's figure.
fn code(evidence: &str) -> (BTreeSet<Vec<&str>>, bool) {
    (instructions(evidence), !evidence.contains(" 0/"))
}

/// Whether all stored runs execute the same instructions for the primitive of this anchor. If not, a figure without evidence
/// may belong to other code.
fn has_one_code(anchor: &Anchor) -> bool {
    let like = ANCHORS.iter().filter(|other| {
        (&other.rung, &other.primitive) == (&anchor.rung, &anchor.primitive) && !other.evidence.is_empty()
    });
    like.map(|other| code(&other.evidence)).collect::<BTreeSet<_>>().len() <= 1
}

fn mark(anchor: &Anchor) -> Mark {
    let interval = anchor.interval();
    let width = interval.and_then(|interval| figure::relative(anchor.ns, interval));
    let worth = match anchor.kind {
        Kind::Measured => format!(" {} from run to run", width.unwrap_or_default()),
        Kind::Median => ", median of single operations without an interval".to_owned(),
        Kind::Published => ", a published figure without an interval".to_owned(),
    };
    let Anchor { hardware, primitive, size, run, ns, .. } = anchor;
    let written = if anchor.is_noisy { figure::rough_time } else { figure::time };
    let (time, name) = (written(*ns), short_name(primitive));
    let tip = format!("{hardware}\n{time}{worth}\n{name}, {size}; stored run {run}");
    Mark { x: *ns, certain: interval.is_some(), machine: hardware.clone(), tip }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::reading::State;
    use syncscope_core::machine::GpuMachine;
    use syncscope_core::{Case, Nanoseconds, Verdict};

    /// The number of runs on one hardware that the table keeps for a rung, since the run of a page may be one of them.
    const RUNS_OF_HARDWARE: usize = 2;

    fn anchor(rung: &Rung, data: &RunData) -> Option<Anchor> {
        let selected = rung.find(data)?;
        let row = data.rows.get(selected.row)?;
        let cost = Reading::of(row);
        let (kind, ns, interval) = match (selected.median_ns, row.ns_with_allowance()) {
            (Some(median), _) => (Kind::Median, median, None),
            (None, Some(interval)) if cost.state.has_figure() => (Kind::Measured, row.ns?.value(), Some(interval)),
            (None, None) if cost.state == State::Resolved => (Kind::Published, row.ns.map(Nanoseconds::value)?, None),
            _ => return None,
        };
        let short = |value: f64| format!("{value:.4e}").parse().unwrap_or(value);
        Some(Anchor {
            run: data.name.clone(),
            started: data.run.started.clone(),
            hardware: hardware(data, row),
            rung: rung.id.to_owned(),
            primitive: row.case.primitive.clone(),
            size: naming::size(&row.case),
            actor: row.actor,
            evidence: row.evidence.clone().unwrap_or_default(),
            kind,
            is_noisy: cost.state == State::Rough && interval.is_some(),
            ns: short(ns),
            low: interval.map(|interval| short(interval.low)),
            high: interval.map(|interval| short(interval.high)),
        })
    }

    fn stored() -> Vec<RunData> {
        let results: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results"].iter().collect();
        let mut folders: Vec<PathBuf> =
            std::fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path()).collect();
        folders.retain(|folder| folder.join("run.json").is_file());
        folders.sort();
        let runs = folders.iter().map(|folder| RunData::load(folder, crate::testing::catalogue()).unwrap());
        runs.filter(|data| !data.rows.is_empty()).collect()
    }

    /// The table of the stored runs: for each hardware, size and actor the runs with the narrowest intervals; those without
    /// an interval come last.
    fn table() -> String {
        let runs = stored();
        let mut kept: Vec<Anchor> = Vec::new();
        let width = |one: &Anchor| one.low.zip(one.high).map_or(f64::INFINITY, |(low, high)| (high - low) / one.ns);
        for rung in LADDER {
            let mut all: Vec<Anchor> = runs.iter().filter_map(|data| anchor(rung, data)).collect();
            let is_worse = |one: &Anchor| one.kind != Kind::Measured;
            let by_worth = |a: &Anchor, b: &Anchor| is_worse(a).cmp(&is_worse(b)).then(width(a).total_cmp(&width(b)));
            all.sort_by(|a, b| by_worth(a, b).then(a.run.cmp(&b.run)));
            for one in &all {
                let like = |one: &Anchor| (one.hardware.clone(), one.size.clone(), one.actor);
                let is_like = |other: &&Anchor| like(other) == like(one);
                let of_rung = kept.iter().filter(|other| other.rung == rung.id);
                if of_rung.filter(is_like).count() < RUNS_OF_HARDWARE {
                    kept.push(one.clone());
                }
            }
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        for one in &kept {
            writer.serialize(one).unwrap();
        }
        String::from_utf8(writer.into_inner().unwrap()).unwrap()
    }

    #[test]
    fn the_table_of_anchors_is_current() {
        if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/anchors.csv");
            return std::fs::write(path, table()).unwrap();
        }
        assert!(TABLE == table(), "assets/anchors.csv is out of date; run this test with SYNCSCOPE_UPDATE=1");
        assert_eq!(ANCHORS.len() + 1, TABLE.lines().count(), "every line is read");
    }

    fn barrier(threads: u32, evidence: &str) -> RunData {
        let case = Case { threads: Some(threads), blocks: Some(1), ..Case::new("gpu.block.syncthreads") };
        let evidence = Some(evidence.to_owned()).filter(|text| !text.is_empty());
        let row = Row { ns: Some(Nanoseconds(38.0)), evidence, ..Row::unmeasured(case, Verdict::Resolved) };
        let mut data = crate::testing::data(vec![row]);
        data.run.machine.gpus = vec![GpuMachine { name: "NVIDIA B300".into(), ..GpuMachine::default() }];
        data
    }

    fn marks(data: &RunData, id: &str) -> Vec<Mark> {
        let rung = LADDER.iter().find(|rung| rung.id == id).unwrap();
        behind(rung, data, &rung.find(data).unwrap())
    }

    #[test]
    fn each_other_hardware_has_one_mark_and_says_what_it_is_worth() {
        let found = marks(&barrier(1024, ""), "block.1024");
        let of = |machine: &str| found.iter().filter(|mark| mark.machine.contains(machine)).collect::<Vec<_>>();
        assert_eq!((of("H100").len(), of("H200").len()), (1, 1), "{found:?}");
        assert!(of("H200")[0].certain && of("H200")[0].tip.contains("% from run to run"), "{found:?}");
        let published = of("RTX 4090");
        assert_eq!(published.len(), 1);
        assert!(!published[0].certain && published[0].tip.contains("a published figure without an interval"));
    }

    #[test]
    fn other_instructions_and_other_sizes_are_no_anchor() {
        let title = "block.1024";
        let measured = |data: &RunData| marks(data, title).into_iter().filter(|mark| mark.certain).count();
        assert!(measured(&barrier(1024, "BAR.SYNC.DEFER_BLOCKING 64/96")) > 0);
        assert_eq!(measured(&barrier(1024, "NOP 64/96")), 0);
        // The stored block fences have fences in the baseline in only one version, so other people's figures, which have no
        // evidence, may be either.
        let mut fence = barrier(32, "");
        fence.rows[0].case.primitive = "gpu.fence.block".into();
        let found = marks(&fence, "fence.block");
        assert!(!found.is_empty() && found.iter().all(|mark| mark.certain), "{found:?}");
        let of_64 = ANCHORS.iter().filter(|one| one.rung == "add.threads" && one.size == "64 threads");
        assert!(of_64.count() > 0, "the table has other sizes");
        let add = Case { threads: Some(16), ..Case::new("cpu.atomic.add") };
        let data =
            crate::testing::data(vec![Row { ns: Some(Nanoseconds(300.0)), ..Row::unmeasured(add, Verdict::Resolved) }]);
        let rung = LADDER.iter().find(|rung| rung.id == "add.threads").unwrap();
        let found = behind(rung, &data, &rung.find(&data).unwrap());
        assert!(!found.is_empty() && found.iter().all(|mark| mark.tip.contains(", 16 threads;")), "{found:?}");
    }

    /// A mean over all threads cannot be compared with the cost of the slowest thread.
    #[test]
    fn costs_of_other_actors_are_no_anchor() {
        let measured = || ANCHORS.iter().filter(|one| one.kind == Kind::Measured && one.size.ends_with(" threads"));
        let rungs: Vec<&Rung> = LADDER.iter().filter(|rung| measured().any(|one| one.rung == rung.id)).collect();
        let mut told_apart = 0;
        for rung in rungs {
            for actor in [Actor::Slowest, Actor::Median, Actor::Mean] {
                let of_rung: Vec<&Anchor> = measured().filter(|one| one.rung == rung.id).collect();
                let Some(size) = of_rung.iter().find(|one| one.actor == Some(actor)).map(|one| &one.size) else {
                    continue;
                };
                let threads = size.split(' ').next().and_then(|count| count.replace(',', "").parse().ok());
                let case = Case { threads, ..Case::new(&of_rung[0].primitive) };
                let row = Row { actor: Some(actor), ..Row::unmeasured(case, Verdict::Resolved) };
                if naming::size(&row.case) != *size {
                    continue;
                }
                let data = crate::testing::data(vec![row.clone()]);
                let found = comparable(rung, &data, &row).filter(|one| one.kind == Kind::Measured).collect::<Vec<_>>();
                assert!(found.iter().all(|one| one.actor.is_none_or(|of| of == actor)), "{}: {found:?}", rung.id);
                told_apart += of_rung.iter().filter(|one| one.size == *size && one.actor != Some(actor)).count();
            }
        }
        assert!(told_apart > 0, "the stored runs have costs of several actors");
    }

    #[test]
    fn a_run_is_no_anchor_of_itself() {
        let data = barrier(1024, "");
        let title = "block.1024";
        let first = |data: &RunData| {
            marks(data, title).into_iter().find(|mark| mark.machine == "NVIDIA H100 80GB HBM3").unwrap()
        };
        let nearest = first(&data);
        let anchor = ANCHORS.iter().find(|one| nearest.tip.ends_with(&format!("stored run {}", one.run))).unwrap();
        let mut own = data;
        (own.name, own.run.started) = (anchor.run.clone(), anchor.started.clone());
        assert_ne!(first(&own).tip, nearest.tip, "the other run on this hardware");
    }

    #[test]
    fn what_changed_on_equal_hardware_is_said_where_it_is_certain() {
        let mut data = barrier(1024, "");
        assert_eq!(against_equal_hardware(&data), None, "no stored run is of this device");
        data.run.machine.gpus[0].name = "NVIDIA H200".into();
        let mut with = |ns: f64, share: f64| {
            data.rows[0].ns = Some(Nanoseconds(ns));
            data.rows[0].ns_interval = Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
            data.rows[0].ns_within = data.rows[0].ns_interval;
            against_equal_hardware(&data).unwrap()
        };
        let same = with(38.4, 0.01);
        assert!(
            same.starts_with(
                "1 of this run's operations was also measured in stored runs on matching hardware: NVIDIA H200. "
            ),
            "{same}"
        );
        assert!(same.ends_with(" It is not more than 5 % slower or faster here."), "{same}");
        let slower = with(60.0, 0.01);
        assert!(
            slower.ends_with(
                " It is more than 5 % slower here: Block, Barrier, 1,024 threads (60.0 ns here, 38.4 ns stored)."
            ),
            "{slower}"
        );
        assert!(with(60.0, 0.4).contains("not more than 5 % slower"), "an interval of 40 % makes nothing certain");
        assert!(with(20.0, 0.01).contains(" It is more than 5 % faster here: Block"), "cheaper");
    }
}
