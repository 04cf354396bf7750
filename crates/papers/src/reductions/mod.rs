//! Do the costs of primitives predict which synchronization makes a reduction fastest?
//!
//! A run measures reductions as cases of their own (`cpu.reduction.*`, `gpu.reduction.*`). Here their times are compared with
//! what the costs of the primitives they are made of predict, by rows of the same run.
//!
//! | file | contents |
//! |---|---|
//! | this one | the measured reductions of a run, and which of them are compared |
//! | `terms` | the synchronization of each variant, as cases of the catalogue with counts |
//! | `prediction` | their costs, and predicted against measured differences |
//! | `findings` | what barriers cost in reductions that differ by them alone; what a paper states of its listing; answers in sentences |
//! | `section` | the section on the page and the terminal |

mod findings;
mod prediction;
mod section;
mod terms;

use syncscope_core::stats::Interval;
use syncscope_core::{Row, Verdict, words};
use syncscope_report::{has_cost_of_case, interval_within_run, rough_time, time};

pub use self::section::section;

/// The name of the section.
const NAME: &str = "reductions";

words! {
    /// What is compared with each other.
    enum Class ("class of reductions") {
        /// The five reductions of Burtchell and Burtscher, listing 1.
        Listing = "listing 1",
        /// A vector on one GPU.
        Device = "one GPU",
        /// A vector on several GPUs.
        Devices = "several GPUs",
        /// A vector on the CPU.
        Cpu = "CPU",
    }
}

/// A reduction with a time.
#[derive(Debug, Clone, Copy)]
struct Measured<'a> {
    row: &'a Row,
    class: Class,
    /// The last part of the primitive's id.
    name: &'a str,
    elements: u64,
    ns: f64,
    /// Half of the 95 % interval within the run.
    half_width_ns: f64,
}

impl<'a> Measured<'a> {
    /// The time: `3.69 µs`, or `~3.7 µs` if the row is not resolved.
    fn time(&self) -> String {
        let written = if self.row.verdict == Verdict::Resolved { time } else { rough_time };
        written(self.ns)
    }

    /// The interval within the run.
    fn bounds(&self) -> Interval {
        Interval { low: self.ns - self.half_width_ns, high: self.ns + self.half_width_ns }
    }

    /// The reduction of a row; `None` for other rows, for wrong results and for times that may be zero. Sums are left
    /// out because they say nothing that maxima do not.
    fn of(row: &'a Row) -> Option<Self> {
        let (side, name) = row.case.primitive.split_once(".reduction.")?;
        let is_sum = row.case.group.as_ref().is_some_and(|group| group.to_string() == "sum");
        if is_sum || !has_cost_of_case(row) || row.check == Some(false) {
            return None;
        }
        let class = match (side, name.split('_').next()?) {
            ("cpu", _) => Class::Cpu,
            (_, "listing") => Class::Listing,
            (_, "devices") => Class::Devices,
            _ => Class::Device,
        };
        let interval = interval_within_run(row).filter(|interval| interval.low > 0.0)?;
        let (ns, half_width_ns) = (row.ns?.value(), interval.half_width());
        Some(Self { row, class, name, elements: row.case.elements?, ns, half_width_ns })
    }

    /// The problem of a row, which is compared with the rows of the same class, number of devices and size.
    fn problem(&self) -> (Class, u32, u64) {
        (self.class, self.row.case.devices.unwrap_or(1), self.elements)
    }

    /// The name, with the OpenMP runtime or the number of devices.
    fn title(&self) -> String {
        let more = match (self.class, &self.row.case.group) {
            (Class::Cpu, Some(runtime)) => format!(" ({runtime})"),
            (Class::Devices, _) => format!(" ({} GPUs)", self.problem().1),
            _ => String::new(),
        };
        format!("{}{more}", self.name)
    }

    /// Whether `other` is the same variant, at whatever size.
    fn is_variant_of(&self, other: &Self) -> bool {
        let key = |of: &Self| (of.row.case.primitive.clone(), of.row.case.group.clone(), of.row.case.devices);
        key(self) == key(other)
    }
}

/// The measured reductions, by problem.
fn measured(rows: &[Row]) -> Vec<Measured<'_>> {
    let mut all: Vec<Measured<'_>> = rows.iter().filter_map(Measured::of).collect();
    all.sort_by_key(Measured::problem);
    all
}

/// A number of elements, written as a power of two if it is one.
fn size(elements: u64) -> String {
    if elements.is_power_of_two() && elements > 1 { format!("2^{}", elements.ilog2()) } else { elements.to_string() }
}

/// A difference with half of its interval.
fn difference((ns, half_width_ns): (f64, f64)) -> String {
    format!("{} ±{}", time(ns), time(half_width_ns))
}

#[cfg(test)]
mod testing {
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Group, Nanoseconds, Row, Verdict};

    /// A resolved row with an interval of 1 %.
    pub(super) fn resolved(case: Case, ns: f64) -> Row {
        let interval = Some(Interval { low: ns * 0.99, high: ns * 1.01 });
        let ns = Some(Nanoseconds(ns));
        Row { ns, ns_interval: interval, ns_within: interval, ..Row::unmeasured(case, Verdict::Resolved) }
    }

    /// The maximum of `elements` elements, on a grid that fills a device.
    pub(super) fn reduction(name: &str, elements: u64, ns: f64) -> Row {
        let id = if name.contains('.') { name.to_owned() } else { format!("gpu.reduction.{name}") };
        let case = Case { elements: Some(elements), threads: Some(512), blocks: Some(264), ..Case::new(&id) };
        let group = (!name.starts_with("cpu.")).then(|| Group::of_word("max"));
        Row { check: Some(true), ..resolved(Case { group, ..case }, ns) }
    }
}
