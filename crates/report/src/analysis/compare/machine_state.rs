//! The states of the machine in two runs, and what the rows of each class have in common. A comparison states both first and
//! once, so that each row is judged by its own change.

use std::collections::BTreeSet;

use serde::Serialize;
use syncscope_core::run::another_run::half_width;
use syncscope_core::run::fingerprint::{Chosen, figure_of};
use syncscope_core::run::row::{Parts, RunToRun};
use syncscope_core::stats::{LEAST_CHANGE, Variance, median};
use syncscope_core::{Catalogue, Class, Nanoseconds, Row};

use super::in_both;
use super::ratio::UncertainCost;
use crate::RunData;
use crate::analysis::phrases::joined;
use crate::reading::has_cost_of_case;
use syncscope_core::sets::sets;

/// The fewest rows that separate what they have in common from each row's own change.
pub(super) const FEWEST: usize = 4;

/// What the rows of a class have in common in two runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassChange {
    /// The class.
    pub class: Class,
    /// The number of rows of both runs behind the change.
    pub cases: usize,
    /// The median ratio of the cost in B to the cost in A, in nanoseconds.
    pub factor: f64,
    /// The median ratio in cycles, if rows of the class are compared by cycles because these vary less than nanoseconds.
    pub factor_of_cycles: Option<f64>,
    /// How much the factor differs between runs in one state: half of the 95 % interval of its logarithm.
    pub between_runs: f64,
    /// Whether the machine was in another state.
    pub is_another_state: bool,
    /// Whether the factor is removed before rows are judged.
    pub is_removed: bool,
}

/// The classes of two runs that were measured by several processes each, and the states of the machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MachineStates {
    /// The classes.
    pub classes: Vec<ClassChange>,
    /// What distinguishes the states, in A and in B.
    pub causes: Vec<[String; 2]>,
}

/// A row in both runs, each with its variance from run to run.
type Pair<'a> = (&'a Row, RunToRun, &'a Row, RunToRun);

impl MachineStates {
    /// Derives the states from all cases that both runs have. Different machines have no states in common.
    pub(super) fn of(a: &RunData, b: &RunData) -> Self {
        if !a.run.machine.may_be(&b.run.machine) {
            return Self::default();
        }
        let rows = in_both(a, b);
        let both = rows.iter().filter(|(a, b)| has_cost_of_case(a) && has_cost_of_case(b));
        let known: Vec<Pair<'_>> = both.filter_map(|(a, b)| Some((*a, a.run_to_run?, *b, b.run_to_run?))).collect();
        let of_one_class = known.iter().filter(|(_, of_a, _, of_b)| of_a.class == of_b.class);
        let of_class = sets(of_one_class.map(|pair| (pair.1.class, *pair)));
        let chosen = Chosen::of(&known.iter().map(|(row, ..)| *row).collect::<Vec<_>>(), &a.catalogue);
        let in_a = chosen.reading(figure_of);
        let in_b = chosen
            .reading(|row, in_cycles| figure_of(known.iter().find(|(one, ..)| std::ptr::eq(*one, row))?.2, in_cycles));
        let is_one_program = a.run.tool.is_some() && a.run.tool == b.run.tool && a.run.version == b.run.version;
        let classes = of_class.into_iter().filter(|(_, pairs)| pairs.len() >= FEWEST);
        let mut classes: Vec<ClassChange> =
            classes.filter_map(|(class, pairs)| change(class, &pairs, is_one_program)).collect();
        // Threads at other places, or another speed of the interconnect: hand-offs show either, whatever the median of all
        // rows is.
        let lines = classes.iter().find(|change| change.class == Class::Lines).copied();
        // The clock of all cases or, if a run has none, of the fingerprint's case.
        let of_run = |data: &RunData| data.run.shared.iter().find_map(|shared| shared.clock_hz);
        let clocks_hz = of_run(a).zip(of_run(b)).map(<[f64; 2]>::from).or_else(|| in_a.clocks_hz(&in_b));
        let clocks = clocks_hz.map_or(0.0, |[a, b]| (b / a).ln());
        let handoffs = in_a.handoffs_to(&in_b).map_or(0.0, f64::ln);
        let handoffs = handoffs.abs().min((handoffs + clocks).abs());
        let moved = lines.is_some_and(|lines| lines.is_another_state || handoffs > LEAST_CHANGE + lines.between_runs);
        for change in &mut classes {
            change.is_another_state |= moved && matches!(change.class, Class::Lines | Class::Sleeping);
            change.is_removed &= !change.is_another_state;
        }
        let causes = if classes.is_empty() { Vec::new() } else { in_a.causes(&in_b, clocks_hz) };
        Self { classes, causes }
    }

    /// Keeps only the classes that these cases belong to.
    pub(super) fn of_cases(mut self, rows: &[(&Row, &Row)], catalogue: &Catalogue) -> Self {
        let by_facts = |row: &Row| Some(catalogue.facts(&row.case.primitive)?.class_of(&row.case));
        let measured = |row: &Row| Some(row.run_to_run?.class);
        let classes: BTreeSet<Class> =
            rows.iter().flat_map(|(a, b)| [measured(a), measured(b), by_facts(a)]).flatten().collect();
        self.classes.retain(|change| classes.contains(&change.class));
        if self.classes.is_empty() {
            self.causes.clear();
        }
        self
    }

    /// Whether enough cases of a class are known to separate the machine's change from each case's own.
    pub(super) fn tell_of(&self, class: Class) -> bool {
        self.classes.iter().any(|change| change.class == class)
    }

    fn class_of(&self, a: &Row, b: &Row) -> Option<&ClassChange> {
        // Either row may have been measured in too few processes for a class of its own.
        let mut of_rows = [a, b].into_iter().filter_map(|row| Some(row.run_to_run?.class));
        let class = of_rows.next()?;
        self.classes.iter().find(|change| change.class == class && of_rows.all(|other| other == class))
    }

    /// Whether the rows of a class are from two states of the machine, including rows that too few processes measured.
    pub(super) fn differ_for(&self, class: Option<Class>) -> bool {
        self.classes.iter().any(|change| Some(change.class) == class && change.is_another_state)
    }

    /// Whether any class is in another state.
    pub fn differ(&self) -> bool {
        self.classes.iter().any(|change| change.is_another_state)
    }

    /// The costs of a row in both runs without the factor that its class has in common, and that factor; `None` if the class
    /// is unknown.
    pub(super) fn costs(&self, a: &Row, b: &Row) -> Option<(UncertainCost, UncertainCost, f64)> {
        let change = self.class_of(a, b).filter(|_| has_cost_of_case(a) && has_cost_of_case(b))?;
        let (of_a, of_b) = (a.run_to_run?, b.run_to_run?);
        let (ns_a, ns_b) = (a.ns?.value(), b.ns?.value());
        let by_cycles = (of_a.cycles, of_b.cycles, change.factor_of_cycles);
        let ((cost_a, parts_a), (cost_b, parts_b), factor) = match by_cycles {
            (Some(parts_a), Some(parts_b), Some(factor)) => {
                ((a.cycles?.value(), parts_a), (b.cycles?.value(), parts_b), factor)
            }
            _ => ((ns_a, of_a.ns), (ns_b, of_b.ns), change.factor),
        };
        let (factor, shares) = if change.is_removed { (factor, false) } else { (1.0, true) };
        let of_a = UncertainCost::of_parts(cost_a, parts_a, shares)?;
        let of_b = UncertainCost::of_parts(cost_b / factor, parts_b, shares)?;
        Some((of_a, of_b, ns_b / ns_a / (cost_b / factor / cost_a)))
    }

    /// What a comparison must say first; empty if nothing is known.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let others = self.classes.iter().filter(|change| change.is_another_state);
        let mut all = match joined(others.map(|change| Some(change.class.in_words().to_owned())), ", ") {
            None => self.causes.iter().map(|[a, b]| format!("{a} in A, {b} in B")).collect(),
            Some(names) => {
                let side = |side: usize| joined(self.causes.iter().map(|cause| Some(cause[side].as_str())), "; ");
                let causes = side(0).zip(side(1)).map(|(a, b)| format!(" ({a} in A, {b} in B)")).unwrap_or_default();
                let nothing = "so these classes count as neither slower nor faster";
                vec![format!("the runs were in different machine states{causes}, {nothing}: {names}")]
            }
        };
        let text = |change: &ClassChange| {
            let (class, cases) = (change.class.in_words(), change.cases);
            let by_cycles = |factor| format!(", {} in cycles, which decide the comparison", shift(factor));
            let by_cycles = change.factor_of_cycles.map(by_cycles).unwrap_or_default();
            let removed = if change.is_removed { ", removed from each" } else { "" };
            let (factor, percent) = (shift(change.factor), 100.0 * change.between_runs);
            format!(
                "{class}, {cases} cases: {factor}{by_cycles}{removed} (runs in the same state differ by \
                 ±{percent:.1} %)"
            )
        };
        all.extend(self.classes.iter().filter(|change| !change.is_another_state).map(text));
        all
    }
}

/// `5.1 % faster`, `0.2 % slower`, `the same`.
fn shift(factor: f64) -> String {
    let word = if factor < 1.0 { "faster" } else { "slower" };
    let percent = 100.0 * (if factor < 1.0 { 1.0 - factor } else { factor - 1.0 });
    if percent < 0.05 { "the same".to_owned() } else { format!("{percent:.1} % {word}") }
}

fn change(class: Class, pairs: &[Pair<'_>], is_one_program: bool) -> Option<ClassChange> {
    let middle =
        |logs: Vec<f64>| median(&logs).filter(|_| logs.len() >= FEWEST && logs.iter().all(|log| log.is_finite()));
    let ns = |row: &Row| row.ns.map(Nanoseconds::value);
    let of_ns = middle(pairs.iter().filter_map(|(a, _, b, _)| Some((ns(b)? / ns(a)?).ln())).collect())?;
    let in_cycles = |(a, of_a, b, of_b): &Pair<'_>| {
        of_a.cycles.zip(of_b.cycles)?;
        Some((b.cycles?.value() / a.cycles?.value()).ln())
    };
    let all_cycles = middle(pairs.iter().filter_map(in_cycles).collect());
    let follow_the_clock = class == Class::NothingShared;
    let of_cycles = all_cycles.filter(|_| follow_the_clock || vary_less_in_cycles(pairs));
    let (_, of_a, _, of_b) = pairs.first()?;
    let parts = |one: &RunToRun| if of_cycles.is_some() { one.cycles.unwrap_or(one.ns) } else { one.ns };
    let between_runs = between(parts(of_a), parts(of_b));
    // A change in nanoseconds only is the clock of the cores; a change in cycles only belongs to something that does not
    // follow that clock.
    let in_both = match all_cycles {
        Some(cycles) if follow_the_clock => cycles.abs(),
        Some(cycles) => cycles.abs().min(of_ns.abs()),
        None => of_ns.abs(),
    };
    let is_certain = in_both > LEAST_CHANGE + between_runs;
    Some(ClassChange {
        class,
        cases: pairs.len(),
        factor: of_ns.exp(),
        factor_of_cycles: of_cycles.map(f64::exp),
        between_runs,
        is_another_state: is_certain && is_one_program,
        // A change that the machine does not explain may come from the program, so it is judged; so is a change in cycles
        // where costs follow the clock.
        is_removed: !(is_certain || follow_the_clock && of_cycles.is_some()),
    })
}

/// Whether most rows vary less in cycles than in nanoseconds in both runs, apart from what the class has in common.
fn vary_less_in_cycles(pairs: &[Pair<'_>]) -> bool {
    let of_both = |(_, a, _, b): &Pair<'_>, parts: fn(&RunToRun) -> Option<Parts>| {
        Some(parts(a)?.own.value + parts(b)?.own.value)
    };
    let ratio = |pair| Some(of_both(pair, |run| run.cycles)? / of_both(pair, |run| Some(run.ns))?);
    median(&pairs.iter().filter_map(ratio).collect::<Vec<f64>>()).is_some_and(|ratio| ratio < 1.0)
}

/// Half of the interval of a class's common factor between these two runs.
fn between(a: Parts, b: Parts) -> f64 {
    let value = f64::midpoint(a.shared.value, b.shared.value);
    half_width(Variance { value, degrees: a.shared.degrees.min(b.shared.degrees).max(1.0) })
}
