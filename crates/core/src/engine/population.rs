//! Which samples a figure stands for: the costs of the pairs that count, by population.

use std::collections::BTreeMap;

use crate::model::estimate::{Strata, StrataEstimate, Stratum};
use crate::stats::{
    self, Clustered, MIN_PAIRS, block_medians, share_interval, student_half_width, trimmed_at_each_end,
};
use crate::{Disturbance, Interval, Level, Nanoseconds, Observation, Population};

/// The cost over a population, in one unit.
///
/// Where a population is made of samples with and without SMT interference, each kind has its own median, and the cost is
/// their mean by the shares of the two. The median of all pairs together would be the one or the other, and jump from the
/// one to the other as the share passes a half.
#[derive(Debug)]
pub(crate) struct Cost {
    parts: Vec<WeightedStratum>,
    /// The share of the pairs with SMT interference in each measurement block.
    shares: Vec<f64>,
    /// The costs of the parts of the run, in their order.
    course: Vec<f64>,
    /// The number of pairs behind the cost.
    pub(crate) count: usize,
}

/// A run is compared with itself in this many parts: a state that lasts for a good part of the run shows between
/// parts, not between neighbouring blocks.
const PARTS_OF_RUN: usize = 6;

#[derive(Debug)]
struct WeightedStratum {
    weight: f64,
    costs: Clustered,
    median: f64,
}

impl Cost {
    /// Computes the cost of the pairs that count, in the unit of `value`; `None` without a pair.
    pub(crate) fn of(counted: &[&Observation], value: impl Fn(&Observation) -> Option<f64>) -> Option<Self> {
        let values: Vec<(&Observation, f64)> = counted.iter().filter_map(|o| Some((*o, value(o)?))).collect();
        let cost = Self::without_course(&values)?;
        let blocks: Vec<&[(&Observation, f64)]> =
            values.chunk_by(|(one, _), (other, _)| one.block == other.block).collect();
        // With fewer blocks, a part would be a single block.
        if blocks.len() < 2 * PARTS_OF_RUN {
            return Some(cost);
        }
        let part = |number: usize| {
            let blocks = &blocks[number * blocks.len() / PARTS_OF_RUN..(number + 1) * blocks.len() / PARTS_OF_RUN];
            Some(Self::without_course(&blocks.concat())?.point())
        };
        Some(Self { course: (0..PARTS_OF_RUN).filter_map(part).collect(), ..cost })
    }

    fn without_course(values: &[(&Observation, f64)]) -> Option<Self> {
        let (beside, alone): (Vec<_>, Vec<_>) = values.iter().partition(|(o, _)| is_beside(o));
        let part = |of: Vec<&(&Observation, f64)>| {
            let costs = Clustered::of(&of.iter().map(|(o, cost)| (o.block, *cost)).collect::<Vec<_>>())?;
            Some(WeightedStratum { weight: of.len() as f64 / values.len() as f64, median: costs.median()?, costs })
        };
        let parts: Vec<WeightedStratum> = [alone, beside].into_iter().filter_map(part).collect();
        let shares = if parts.len() == 2 { shares_of(values) } else { Vec::new() };
        (!parts.is_empty()).then_some(Self { parts, shares, course: Vec::new(), count: values.len() })
    }

    /// The cost.
    pub(crate) fn point(&self) -> f64 {
        self.parts.iter().map(|part| part.weight * part.median).sum()
    }

    /// The interval of the cost within this run; `None` if there are too few pairs.
    pub(crate) fn interval(&self, level: Level) -> Option<Interval> {
        let interval = self.interval_of_parts(level)?;
        let Some(half_width) = student_half_width(&self.course, level) else { return Some(interval) };
        Some(interval.at_least(self.point(), half_width))
    }

    fn interval_of_parts(&self, level: Level) -> Option<Interval> {
        if let [part] = self.parts.as_slice() {
            return part.costs.interval(level);
        }
        if self.count < MIN_PAIRS as usize {
            return None;
        }
        let [alone, beside] = self.parts.as_slice() else { return None };
        let (point, gap) = (self.point(), beside.median - alone.median);
        let share = share_interval(&self.shares, level);
        let (fewer, more) = ((beside.weight - share.low).max(0.0), (share.high - beside.weight).max(0.0));
        let (cheaper, more_expensive) = if gap >= 0.0 { (fewer, more) } else { (more, fewer) };
        let side = |of_share: f64, distance: fn(&WeightedStratum, Interval) -> f64| {
            let of_parts =
                self.parts.iter().map(|part| part.weight * distance(part, part.costs.interval_or_range(level)));
            of_parts.fold((of_share * gap).abs(), f64::hypot)
        };
        let below = side(cheaper, |part, interval| part.median - interval.low);
        let above = side(more_expensive, |part, interval| interval.high - part.median);
        Some(Interval { low: point - below, high: point + above })
    }

    /// The interval, with at least `margin` on both sides of the cost.
    pub(crate) fn within(&self, level: Level, margin: f64) -> Option<Interval> {
        Some(self.interval(level)?.at_least(self.point(), margin))
    }

    /// Whether all costs are finite numbers.
    pub(crate) fn is_finite(&self) -> bool {
        self.parts.iter().all(|part| part.costs.is_finite())
    }
}

/// Whether a pair that counts for both populations belongs to the samples with SMT interference.
fn is_beside(observation: &Observation) -> bool {
    // A pair with a cost of actors that were alone belongs to them, whatever the others did.
    observation.strata.is_some_and(|strata| strata.alone_ns.is_none())
}

/// The share of pairs with SMT interference in each measurement block. A single block is divided into its pairs.
fn shares_of(values: &[(&Observation, f64)]) -> Vec<f64> {
    let share = |of: &[(&Observation, f64)]| of.iter().filter(|(o, _)| is_beside(o)).count() as f64 / of.len() as f64;
    let blocks: Vec<&[(&Observation, f64)]> =
        values.chunk_by(|(one, _), (other, _)| one.block == other.block).collect();
    if let [only] = blocks.as_slice() {
        return only.chunks(1).map(share).collect();
    }
    blocks.into_iter().map(share).collect()
}

/// What a pair says about the population that its row is about, given what it says about all actors; `None` if nothing.
pub(crate) fn of_population(population: Population, all_ns: f64, strata: Option<&Strata>) -> Option<f64> {
    match (population, strata) {
        (Population::Alone, Some(strata)) => strata.alone_ns,
        (Population::Alone, None) | (Population::All, _) => Some(all_ns),
    }
}

/// Both populations, each with its own median, interval and count; `None` where SMT interference is not detected.
pub(crate) fn strata_of(observations: &[Observation]) -> Option<StrataEstimate> {
    let undisturbed = observations.iter().filter(|o| matches!(o.excluded, None | Some(Disturbance::SmtInterference)));
    let found: Vec<(u32, Strata)> = undisturbed.filter_map(|o| Some((o.block, o.strata?))).collect();
    let stratum = |cost: fn(&Strata) -> Option<f64>| {
        let costs: Vec<(u32, f64)> = found.iter().filter_map(|(block, strata)| Some((*block, cost(strata)?))).collect();
        let clustered = Clustered::of(&costs)?;
        let interval = clustered.interval(Level::P95);
        Some(Stratum { ns: Nanoseconds(clustered.median()?), interval, pairs: costs.len() as u64 })
    };
    let share = found.iter().map(|(_, strata)| strata.beside_share).sum::<f64>() / found.len() as f64;
    (!found.is_empty()).then(|| StrataEstimate {
        beside_share: share,
        alone: stratum(|strata| strata.alone_ns),
        beside: stratum(|strata| strata.beside_ns),
    })
}

/// One measurement block in the course of a case: its median cost relative to the median over all blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stage {
    pub(crate) block: u32,
    pub(crate) relative: f64,
}

/// The course of a case: how the machine changed during a run.
pub(crate) fn course(observations: &[Observation]) -> Vec<Stage> {
    let counted = observations.iter().filter(|o| o.excluded.is_none());
    let medians = block_medians(&counted.clone().map(|o| (o.block, o.ns)).collect::<Vec<_>>());
    let centre = stats::median(&medians).unwrap_or(1.0);
    let mut blocks: Vec<u32> = counted.map(|o| o.block).collect();
    blocks.dedup();
    blocks.into_iter().zip(medians).map(|(block, median)| Stage { block, relative: median / centre }).collect()
}

/// The blocks of a case that are not at its usual level.
pub(crate) fn levels_of(observations: &[Observation]) -> BTreeMap<u32, usize> {
    // A block whose cost is not above zero counts as low, and no lower.
    const MOST: f64 = 2.0;
    let course = course(observations);
    let logs: Vec<f64> = course.iter().map(|stage| stage.relative.max(f64::MIN_POSITIVE).ln().max(-MOST)).collect();
    let levels = course.iter().map(|stage| stage.block).zip(stats::levels(&logs));
    levels.filter(|(_, level)| *level > 0).collect()
}

/// What the cases of a class have in common in the course of a run, by measurement block.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct States {
    /// The state of each block that was not taken in the longest state.
    pub(crate) others: BTreeMap<u32, usize>,
    /// The factor by which all costs exceeded their mean over the longest state, by block.
    pub(crate) shared: BTreeMap<u32, f64>,
    /// Whether the shared factor is the clock, which cycles do not show, and the cases have nothing else in common.
    pub(crate) is_clock: bool,
    /// The relative change of all costs in the course of the usual state, if noise does not explain it.
    pub(crate) drift: Option<f64>,
}

/// The cost of a case in one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StateCost {
    pub(crate) share: f64,
    pub(crate) ns: f64,
    pub(crate) cycles: Option<f64>,
}

impl States {
    /// The factor by which all costs of the class were higher in this block.
    pub(crate) fn shared_in(&self, block: u32) -> f64 {
        self.shared.get(&block).copied().unwrap_or(1.0)
    }

    /// Excludes the pairs of all states but the longest, and returns the cost in each state; empty with a single
    /// state.
    pub(crate) fn exclude_others(&self, observations: &mut [Observation]) -> Vec<StateCost> {
        let mut of_state: BTreeMap<usize, Vec<(f64, Option<f64>)>> = BTreeMap::new();
        for o in observations.iter_mut().filter(|o| o.excluded.is_none()) {
            let state = self.others.get(&o.block).copied().unwrap_or_default();
            of_state.entry(state).or_default().push((o.ns, o.cycles));
            o.excluded = (state > 0).then_some(Disturbance::AnotherState);
        }
        if of_state.len() < 2 {
            return Vec::new();
        }
        let all = of_state.values().map(Vec::len).sum::<usize>() as f64;
        let cost = |costs: Vec<(f64, Option<f64>)>| {
            let (ns, cycles): (Vec<f64>, Vec<Option<f64>>) = costs.into_iter().unzip();
            let cycles: Vec<f64> = cycles.into_iter().flatten().collect();
            Some(StateCost { share: ns.len() as f64 / all, ns: stats::median(&ns)?, cycles: stats::median(&cycles) })
        };
        of_state.into_values().filter_map(cost).collect()
    }
}

/// The cost of a case in one measuring process, by the process's own pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProcessCost {
    pub(crate) process: u32,
    pub(crate) ns: f64,
    pub(crate) cycles: Option<f64>,
}

/// The fewest processes that show how processes differ.
pub const FEWEST_PROCESSES: usize = 3;

/// The costs in the processes that measured a case; empty for fewer than three, or where a cost is not above zero.
pub(crate) fn process_costs(observations: &[Observation]) -> Vec<ProcessCost> {
    let mut processes: BTreeMap<u32, Vec<&Observation>> = BTreeMap::new();
    for o in observations.iter().filter(|o| o.excluded.is_none()) {
        processes.entry(o.process).or_default().push(o);
    }
    let point = |of: &[&Observation], value: fn(&Observation) -> Option<f64>| {
        let values: Vec<(&Observation, f64)> = of.iter().filter_map(|o| Some((*o, value(o)?))).collect();
        Some(Cost::without_course(&values)?.point()).filter(|cost| cost.is_finite() && *cost > 0.0)
    };
    let cost = |(process, of): (&u32, &Vec<&Observation>)| {
        Some(ProcessCost { process: *process, ns: point(of, |o| Some(o.ns))?, cycles: point(of, |o| o.cycles) })
    };
    let costs: Vec<ProcessCost> = processes.iter().filter_map(cost).collect();
    if costs.len() < FEWEST_PROCESSES || costs.len() < processes.len() { Vec::new() } else { costs }
}

/// The geometric mean over processes: each counts once, however many blocks it has. Where threads share nothing, the
/// lowest and the highest are left out, because another guest on the core makes a process half as expensive again.
/// `None` if a process has no cost.
pub(crate) fn mean_over_processes(
    costs: &[ProcessCost],
    shares_nothing: bool,
    value: impl Fn(&ProcessCost) -> Option<f64>,
) -> Option<f64> {
    // The same processes in every unit: otherwise cycles and nanoseconds would come from two clocks.
    let mut by_time: Vec<&ProcessCost> = costs.iter().collect();
    by_time.sort_by(|one, other| one.ns.total_cmp(&other.ns));
    let cut = if shares_nothing { trimmed_at_each_end(costs.len()) } else { 0 };
    let logs: Option<Vec<f64>> = by_time[cut..costs.len() - cut].iter().map(|cost| Some(value(cost)?.ln())).collect();
    Some(stats::mean(&logs.filter(|logs| !logs.is_empty())?).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(costs: &[(f64, f64)], shares_nothing: bool) -> [f64; 2] {
        let cost =
            |(process, (ns, cycles)): (u32, &(f64, f64))| ProcessCost { process, ns: *ns, cycles: Some(*cycles) };
        let costs: Vec<ProcessCost> = (0..).zip(costs).map(cost).collect();
        let mean = |value: fn(&ProcessCost) -> Option<f64>| mean_over_processes(&costs, shares_nothing, value).unwrap();
        [mean(|cost| Some(cost.ns)), mean(|cost| cost.cycles)]
    }

    /// Seven processes of pause, with two clocks: cycles over nanoseconds is the clock of those that count.
    #[test]
    fn nanoseconds_and_cycles_are_of_the_same_processes() {
        let ns = [15.45, 14.62, 14.37, 14.88, 16.08, 16.05, 15.44];
        let ghz = [2.60, 2.75, 2.79, 2.70, 2.50, 2.51, 2.61];
        let costs: Vec<(f64, f64)> = ns.iter().zip(ghz).map(|(ns, ghz)| (*ns, ns * ghz)).collect();
        let [mean_ns, cycles] = of(&costs, true);
        // The two lowest and the two highest of nanoseconds are left out.
        let kept = [0, 3, 6].map(|at: usize| costs[at]);
        let geometric = |of: [f64; 3]| of.map(f64::ln).iter().sum::<f64>() / 3.0;
        assert!((mean_ns.ln() - geometric(kept.map(|(ns, _)| ns))).abs() < 1e-12);
        assert!((cycles.ln() - geometric(kept.map(|(_, cycles)| cycles))).abs() < 1e-12);
        let all = of(&costs, false);
        assert!((all[0].ln() - ns.map(f64::ln).iter().sum::<f64>() / 7.0).abs() < 1e-12, "every process counts");
        assert_eq!(mean_over_processes(&[], true, |cost| Some(cost.ns)), None);
    }

    fn pair(block: u32, ns: f64) -> Observation {
        Observation { block, ns, ..Observation::example() }
    }

    fn cost(pairs: &[Observation]) -> Cost {
        Cost::of(&pairs.iter().collect::<Vec<_>>(), |pair| Some(pair.ns)).unwrap()
    }

    /// Three parts of 10 and three of 12: a deviation of 1.095, and Student's t with five degrees.
    #[test]
    fn parts_of_a_run_that_differ_widen_the_interval_if_each_has_two_blocks() {
        let of = |blocks: u32| {
            let level = |block: u32| if 2 * block <= blocks { 10.0 } else { 12.0 };
            let pairs = (1..=blocks).flat_map(|block| vec![pair(block, level(block)); 3]);
            cost(&pairs.collect::<Vec<_>>()).interval(Level::P95).unwrap()
        };
        let half_width = 2.5706 * (1.2_f64 / 6.0).sqrt();
        for blocks in [12, 18] {
            let found = of(blocks);
            assert!((found.low - (11.0 - half_width)).abs() < 1e-3, "{blocks}: {found:?}");
            assert!((found.high - (11.0 + half_width)).abs() < 1e-3, "{blocks}: {found:?}");
        }
        assert_eq!(of(10), Interval { low: 10.0, high: 12.0 }, "the medians of the blocks alone");
    }

    /// Pairs of eight blocks, every fourth pair with a neighbour, at the costs of each kind.
    fn mixed(alone: [f64; 2], beside: f64) -> Cost {
        let one = |number: u32| {
            let ns = if number.is_multiple_of(4) { beside } else { alone[number as usize / 4 % 2] };
            let strata = Some(Strata::of_whole(ns, f64::from(u8::from(number.is_multiple_of(4)))));
            Observation { strata, ..pair(1 + number / 8, ns) }
        };
        cost(&(0..64).map(one).collect::<Vec<_>>())
    }

    /// A quarter of the samples costs 20 and the rest 10: what is uncertain is the share.
    #[test]
    fn a_mixture_is_as_uncertain_as_its_share_and_its_parts_together() {
        let share = share_interval(&[0.25; 8], Level::P95);
        let is = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        let (dearer, cheaper) = (mixed([10.0; 2], 20.0), mixed([20.0; 2], 10.0));
        assert!(is(dearer.point(), 12.5) && is(cheaper.point(), 17.5));
        let [up, down] = [&dearer, &cheaper].map(|cost| cost.interval(Level::P95).unwrap());
        assert!(is(up.low, 10.0 + 10.0 * share.low) && is(up.high, 10.0 + 10.0 * share.high), "{up:?} {share:?}");
        assert!(is(down.low, 20.0 - 10.0 * share.high) && is(down.high, 20.0 - 10.0 * share.low), "{down:?}");
        // Pairs alone cost 9 or 11 in each block: a median of 10, which is as uncertain as the blocks' medians.
        let part = mixed([9.0, 11.0], 20.0);
        let within = part.parts[0].costs.interval_or_range(Level::P95);
        let of_parts = part.interval(Level::P95).unwrap();
        let below =
            (0.75 * (part.parts[0].median - within.low)).hypot((0.25 - share.low) * (20.0 - part.parts[0].median));
        let above =
            (0.75 * (within.high - part.parts[0].median)).hypot((share.high - 0.25) * (20.0 - part.parts[0].median));
        assert!(is(of_parts.low, part.point() - below) && is(of_parts.high, part.point() + above), "{of_parts:?}");
    }

    #[test]
    fn the_pairs_of_a_single_block_stand_for_themselves_and_six_of_them_are_enough() {
        let of = |count: u32| {
            let one = |number: u32| {
                let ns = if number < count / 2 { 10.0 } else { 20.0 };
                Observation { strata: Some(Strata::of_whole(ns, f64::from(u8::from(ns > 15.0)))), ..pair(1, ns) }
            };
            cost(&(0..count).map(one).collect::<Vec<_>>())
        };
        assert_eq!(of(4).interval(Level::P95), None);
        assert_eq!(of(6).shares, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        assert!(of(6).interval(Level::P95).is_some_and(|interval| interval.contains(15.0)));
        assert!(of(40).shares.len() == 40);
    }

    #[test]
    fn processes_have_costs_if_there_are_three_and_each_costs_something() {
        let of = |costs: &[f64]| {
            let one = |(process, ns): (u32, &f64)| vec![Observation { process, ..pair(1, *ns) }; 3];
            let pairs: Vec<Observation> = (0..).zip(costs).flat_map(one).collect();
            process_costs(&pairs).iter().map(|cost| cost.ns).collect::<Vec<_>>()
        };
        assert_eq!(of(&[1.0, 2.0, 4.0]), [1.0, 2.0, 4.0]);
        assert_eq!(of(&[1.0, 2.0, 4.0, 8.0]), [1.0, 2.0, 4.0, 8.0]);
        for unknown in [&[1.0, 2.0][..], &[1.0, 2.0, 4.0, -1.0], &[1.0, 2.0, 4.0, 0.0], &[1.0, 2.0, 4.0, f64::INFINITY]]
        {
            assert!(of(unknown).is_empty(), "{unknown:?}");
        }
    }

    #[test]
    fn a_course_is_relative_to_the_median_of_the_blocks() {
        let pairs = [(1, 5.0), (1, 7.0), (3, 12.0), (4, 24.0), (4, 24.0)].map(|(block, ns)| pair(block, ns));
        let course: Vec<(u32, f64)> = course(&pairs).into_iter().map(|stage| (stage.block, stage.relative)).collect();
        assert_eq!(course, [(1, 0.5), (3, 1.0), (4, 2.0)]);
    }

    #[test]
    fn blocks_at_the_usual_level_are_not_among_the_others() {
        let pairs = |dear: std::ops::Range<u32>| -> Vec<Observation> {
            (1..=24).map(|block| pair(block, if dear.contains(&block) { 15.0 } else { 10.0 })).collect()
        };
        assert!(levels_of(&pairs(0..0)).is_empty());
        assert_eq!(levels_of(&pairs(5..10)).into_keys().collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
    }
}
