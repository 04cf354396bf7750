//! The fingerprint of a run: the costs that tell the states of a machine apart. They are three hand-offs, a locked addition
//! alone, and the clock that follows from its nanoseconds and cycles. All are cases of every run, so their costs in each
//! process and in each state are recorded.

use serde::{Deserialize, Serialize};

use crate::model::detail::{Details, value_of};
use crate::records::records;
use crate::stats::median;
use crate::units::{rounded, significant_digits};
use crate::{Catalogue, Class, Cycles, Detail, Nanoseconds, Role, Row};

/// The number of hand-offs, spread over the measured ones.
const HANDOFFS: usize = 3;

/// The most processes: a file may give a process any number.
const MOST_PROCESSES: u32 = 1024;

records! {
    /// The costs in a process or a state.
    pub struct Reading {
        /// The hand-offs from thread to thread, each a case.
        pub handoff_ns?: Vec<f64>,
        /// A locked addition of one thread.
        pub add_ns?: Option<f64>,
        /// The same addition in cycles of the core.
        pub add_cycles?: Option<f64>,
    }

    /// The fingerprint of a run.
    pub struct Fingerprint {
        /// The cases of the hand-offs.
        pub handoffs: Vec<String>,
        /// The case of the addition.
        pub add?: Option<String>,
        /// The readings in the processes that measured the run, in order of time, except that the first process also ends
        /// the run.
        pub processes: Vec<Reading>,
        /// The states of each class that had several, the longest first.
        pub states?: Vec<StateOfClass>,
    }
}

/// A state in which the cases of a class were for a part of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateOfClass {
    /// The class.
    pub class: Class,
    /// The part of the run, 0 to 1: the median over its cases.
    pub share: f64,
    /// The median cost of its cases, relative to the state that held most of the time.
    pub factor: f64,
    /// The reading that tells it from the others.
    pub reading: Reading,
}

/// The rows that a fingerprint is made of.
#[derive(Debug, Clone, Default)]
pub struct Chosen<'a> {
    handoffs: Vec<&'a Row>,
    add: Option<&'a Row>,
}

impl<'a> Chosen<'a> {
    /// Chooses from these rows, in whatever order.
    pub fn of(rows: &[&'a Row], catalogue: &Catalogue) -> Self {
        let with_role = |role: Role| {
            let is_one = move |row: &&Row| catalogue.facts(&row.case.primitive).is_some_and(|facts| facts.role == role);
            let mut found: Vec<&Row> =
                rows.iter().copied().filter(is_one).filter(|row| row.case.form.is_none()).collect();
            found.sort_by(|one, other| one.case.cmp(&other.case));
            found
        };
        let all = with_role(Role::SpinHandoff);
        let spread = |number: usize| all[number * (all.len() - 1) / (HANDOFFS - 1).max(1)];
        let handoffs = if all.len() <= HANDOFFS { all } else { (0..HANDOFFS).map(spread).collect() };
        let add = with_role(Role::Update).into_iter().find(|row| row.case.has_one_thread());
        Self { handoffs, add }
    }

    /// Reads the costs of these cases with `cost`, which is also asked for cycles.
    pub fn reading(&self, cost: impl Fn(&Row, bool) -> Option<f64>) -> Reading {
        let known = |row: &Row, in_cycles| cost(row, in_cycles).filter(|cost| *cost > 0.0).map(rounded);
        Reading {
            handoff_ns: self.handoffs.iter().filter_map(|row| known(row, false)).collect(),
            add_ns: self.add.and_then(|row| known(row, false)),
            add_cycles: self.add.and_then(|row| known(row, true)),
        }
    }
}

/// The figure of a row, in nanoseconds or in cycles.
pub fn figure_of(row: &Row, in_cycles: bool) -> Option<f64> {
    if in_cycles { row.cycles.map(Cycles::value) } else { row.ns.map(Nanoseconds::value) }
}

impl StateOfClass {
    /// The change, where no cause is known: a state follows from the mean over a class, which a part of its cases can move.
    fn cost(&self) -> String {
        if differ(1.0, self.factor, LEAST_CHANGE) {
            return format!("{:.2} times that cost", self.factor);
        }
        "a mean cost at least 10 % higher or lower".to_owned()
    }
}

impl Fingerprint {
    /// Takes the fingerprint of a run; `None` where none of its cases was measured by several processes or in several
    /// states.
    pub fn of(rows: &[Row], details: &Details, catalogue: &Catalogue) -> Option<Self> {
        let is_part = |row: &&Row| {
            let found = details.get(&row.case.id()).into_iter().flatten();
            found.map(|one| one.name.as_str()).any(|name| name == Detail::PROCESS_NS || name == Detail::STATE_NS)
        };
        let rows: Vec<&Row> = rows.iter().filter(is_part).collect();
        let chosen = Chosen::of(&rows, catalogue);
        let states = states(&rows, details, &chosen, catalogue);
        if chosen.handoffs.is_empty() && chosen.add.is_none() && states.is_empty() {
            return None;
        }
        let in_process = |process: u32| {
            let name = |in_cycles| if in_cycles { Detail::PROCESS_CYCLES } else { Detail::PROCESS_NS };
            chosen.reading(|row, in_cycles| value_of(details, &row.case, name(in_cycles), Some(process)))
        };
        // A process that measured in another state than most has no reading.
        let of_processes = details.values().flatten().filter(|one| one.name == Detail::PROCESS_NS);
        let last = of_processes.filter_map(|one| one.actor).filter(|process| *process < MOST_PROCESSES).max();
        Some(Self {
            handoffs: chosen.handoffs.iter().map(|row| row.case.to_string()).collect(),
            add: chosen.add.map(|row| row.case.to_string()),
            processes: last.into_iter().flat_map(|last| 0..=last).map(in_process).collect(),
            states,
        })
    }

    /// The states of the machine in words; `None` where there was one.
    pub fn sentence(&self) -> Option<String> {
        let of_class = |states: &[StateOfClass]| {
            let [usual, others @ ..] = states else { return Vec::new() };
            // Each share is a median over cases, so their sum is not quite the whole.
            let whole: f64 = states.iter().map(|state| state.share).sum();
            let percent = |share: f64| format!("{:.0} %", 100.0 * share / whole);
            // The usual state in words, once for all the others that are compared with it in the same words.
            let mut compared: Vec<(String, Vec<(String, f64)>)> = Vec::new();
            for other in others {
                let mut causes = usual.reading.causes(&other.reading, usual.reading.clocks_hz(&other.reading));
                if causes.is_empty() {
                    causes.push([format!("the usual cost of {}", other.class.in_words()), other.cost()]);
                }
                let [one, two] = [0, 1]
                    .map(|side| causes.iter().map(|cause| cause[side].as_str()).collect::<Vec<_>>().join(" and "));
                *entry(entry(&mut compared, one), two) += other.share;
            }
            let of_usual = |(one, others): (String, Vec<_>)| {
                let others = others.iter().map(|(text, share)| format!(", {text} for {}", percent(*share)));
                format!("{one} for {} of the run{}", percent(usual.share), others.collect::<String>())
            };
            compared.into_iter().map(of_usual).collect()
        };
        let texts: Vec<String> =
            self.states.chunk_by(|one, other| one.class == other.class).flat_map(of_class).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

/// The entry of `text`; a new text comes last.
fn entry<V: Default>(list: &mut Vec<(String, V)>, text: String) -> &mut V {
    let place = list.iter().position(|(known, _)| *known == text).unwrap_or_else(|| {
        list.push((text, V::default()));
        list.len() - 1
    });
    &mut list[place].1
}

/// The states of each class that had several: shares and costs of its cases, and the readings of `chosen`.
fn states(rows: &[&Row], details: &Details, chosen: &Chosen<'_>, catalogue: &Catalogue) -> Vec<StateOfClass> {
    let in_state = |row: &Row, name: &str, state: u32| value_of(details, &row.case, name, Some(state));
    let mut all = Vec::new();
    for class in Class::ALL.iter().copied() {
        // Levels of single cases are no states of the machine.
        let is_own = |row: &Row| {
            let facts = catalogue.facts(&row.case.primitive);
            facts.is_some_and(|facts| facts.class_of(&row.case) == class && !facts.has_levels(&row.case))
        };
        let own: Vec<&Row> = rows.iter().copied().filter(|row| is_own(row)).collect();
        for state in 0.. {
            let of_all = |of: &dyn Fn(&Row) -> Option<f64>| {
                median(&own.iter().filter_map(|row| of(row)).collect::<Vec<_>>()).map(rounded)
            };
            let share = of_all(&|row| in_state(row, Detail::STATE_SHARE, state));
            let factor =
                of_all(&|row| Some(in_state(row, Detail::STATE_NS, state)? / in_state(row, Detail::STATE_NS, 0)?));
            let Some((share, factor)) = share.zip(factor) else { break };
            let reading = chosen.reading(|row, in_cycles| {
                let name = if in_cycles { Detail::STATE_CYCLES } else { Detail::STATE_NS };
                in_state(row, name, state).filter(|_| is_own(row))
            });
            all.push(StateOfClass { class, share, factor, reading });
        }
    }
    all
}

/// Hand-offs that differ by this factor are between threads at other places.
const OTHER_PLACES: f64 = 1.8;

/// Hand-offs within a core take less than this: 6 to 9 ns where two hardware threads share its first cache, 18 and more
/// where two cores share the last one.
const WITHIN_A_CORE_NS: f64 = 15.0;

/// The least change of a hand-off that counts as a cause.
const LEAST_CHANGE: f64 = 1.1;

/// Another hardware thread of the core makes a locked addition take a fifth more cycles (18.0 and 21.5 on Sapphire Rapids).
const NEIGHBOUR: f64 = 1.07;

/// Clocks that differ by less are the same clock.
const OTHER_CLOCK: f64 = 1.01;

fn clocks(clocks_hz: [f64; 2]) -> Option<[String; 2]> {
    let text = |hertz: f64| format!("a core clock of {:.2} GHz", hertz / 1e9);
    differ(clocks_hz[0], clocks_hz[1], OTHER_CLOCK).then(|| clocks_hz.map(text))
}

impl Reading {
    /// The clocks of the cores that made the additions, in this reading and in the other.
    pub fn clocks_hz(&self, other: &Self) -> Option<[f64; 2]> {
        let of = |one: &Self| Some(one.add_cycles? / one.add_ns? * 1e9);
        Some([of(self)?, of(other)?])
    }

    /// The factor by which hand-offs cost more in another reading of the same cases; `None` without one.
    pub fn handoffs_to(&self, other: &Self) -> Option<f64> {
        let ratios: Vec<f64> = self.handoff_ns.iter().zip(&other.handoff_ns).map(|(one, other)| other / one).collect();
        median(&ratios).filter(|_| self.handoff_ns.len() == other.handoff_ns.len())
    }

    /// The causes that distinguish this state from the other one, as far as the figures and clocks of both tell; each cause
    /// in the words for this state and for the other.
    pub fn causes(&self, other: &Self, clocks_hz: Option<[f64; 2]>) -> Vec<[String; 2]> {
        [clocks_hz.and_then(clocks), self.neighbours(other), self.places(other)].into_iter().flatten().collect()
    }

    fn neighbours(&self, other: &Self) -> Option<[String; 2]> {
        let cycles = [self.add_cycles?, other.add_cycles?];
        let least = cycles[0].min(cycles[1]);
        let text = |cycles: f64| {
            let who = if cycles > least { "a busy SMT sibling" } else { "no busy SMT sibling" };
            format!("{who} ({cycles:.1} cycles per locked addition)")
        };
        differ(cycles[0], cycles[1], NEIGHBOUR).then(|| cycles.map(text))
    }

    fn places(&self, other: &Self) -> Option<[String; 2]> {
        let ratio = self.handoffs_to(other)?;
        let costs = [*self.handoff_ns.first()?, *other.handoff_ns.first()?];
        let least = costs[0].min(costs[1]);
        let place = |ns: f64| match (differ(1.0, ratio, OTHER_PLACES), ns > least, least < WITHIN_A_CORE_NS) {
            (false, ..) => "",
            (true, false, true) => "two CPUs of one core",
            (true, true, true) => "two cores",
            (true, false, false) => "two nearby CPUs",
            (true, true, false) => "two distant CPUs",
        };
        let text = |ns: f64| {
            let figure = significant_digits(ns);
            match place(ns) {
                "" => format!("hand-offs of {figure} ns"),
                place => format!("hand-offs between {place} ({figure} ns)"),
            }
        };
        differ(1.0, ratio, LEAST_CHANGE).then(|| costs.map(text))
    }
}

/// Whether two figures differ by more than this factor.
fn differ(one: f64, other: f64, factor: f64) -> bool {
    (other / one).ln().abs() > factor.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(handoff: f64, add_ns: f64, add_cycles: f64) -> Reading {
        Reading { handoff_ns: vec![handoff; 3], add_ns: Some(add_ns), add_cycles: Some(add_cycles) }
    }

    #[test]
    fn causes_are_named_as_far_as_the_figures_tell() {
        let usual = reading(155.0, 6.0, 18.0);
        let all = |other: &Reading| usual.causes(other, usual.clocks_hz(other));
        let causes = |other: &Reading| all(other).into_iter().map(|cause| cause.join(" -> ")).collect::<Vec<_>>();
        assert!(causes(&usual).is_empty());
        assert_eq!(
            causes(&reading(25.0, 6.0, 18.0)),
            ["hand-offs between two distant CPUs (155 ns) -> hand-offs between two nearby CPUs (25.0 ns)"]
        );
        assert_eq!(
            causes(&reading(6.0, 6.0, 18.0)),
            ["hand-offs between two cores (155 ns) -> hand-offs between two CPUs of one core (6.00 ns)"]
        );
        assert_eq!(causes(&reading(155.0, 5.294, 18.0)), ["a core clock of 3.00 GHz -> a core clock of 3.40 GHz"]);
        assert_eq!(
            causes(&reading(155.0, 7.1667, 21.5)),
            ["no busy SMT sibling (18.0 cycles per locked addition) -> a busy SMT sibling (21.5 cycles per locked \
              addition)"]
        );
        assert_eq!(causes(&reading(180.0, 6.0, 18.0)), ["hand-offs of 155 ns -> hand-offs of 180 ns"]);
        assert_eq!(all(&Reading::default()), Vec::<[String; 2]>::new(), "nothing is known of the other");
    }

    #[test]
    fn a_state_that_few_cases_show_is_not_one_of_all_and_the_usual_one_is_named_once() {
        let of = |states: &[(f64, f64)]| {
            let of_lines =
                |&(share, factor)| StateOfClass { class: Class::Lines, share, factor, reading: Reading::default() };
            Fingerprint { states: states.iter().map(of_lines).collect(), ..Fingerprint::default() }.sentence().unwrap()
        };
        let found = of(&[(0.9, 1.0), (0.1, 1.3)]);
        assert!(found.contains("1.30 times"), "{found}");
        let found = of(&[(0.7, 1.0), (0.2, 0.78), (0.06, 1.04), (0.04, 0.99)]);
        assert!(
            found.matches("the usual cost of moving cache lines for 70 % of the run").count() == 1
                && found.matches(" %").count() == 4,
            "{found}"
        );
        assert!(
            found.contains("0.78 times that cost for 20 %")
                && found.ends_with("a mean cost at least 10 % higher or lower for 10 %"),
            "{found}"
        );
    }
}
