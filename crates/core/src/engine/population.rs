//! Which moments a figure stands for: the costs of the pairs that count, by population.

use crate::model::case::Population;
use crate::model::estimate::{StrataEstimate, Stratum};
use crate::model::observation::{Observation, Strata};
use crate::units::Nanoseconds;
use crate::stats::{Clustered, Interval, Level, block_medians, error_of_mean};

/// The cost over a population, in one unit.
///
/// Where a population is made of moments with and without SMT interference, each kind has its own median, and the cost is
/// their mean by the shares of the two. The median of all pairs together would be the one or the other, and jump from the
/// one to the other as the share passes a half.
#[derive(Debug)]
pub(crate) struct Cost {
    parts: Vec<Part>,
    /// Standard error of the share of the second part.
    share_error: f64,
    count: usize,
}

#[derive(Debug)]
struct Part {
    weight: f64,
    costs: Clustered,
    median: f64,
}

impl Cost {
    /// Of the pairs that count, in the unit of `value`. `None` without a pair.
    pub(crate) fn of(counted: &[&Observation], value: impl Fn(&Observation) -> Option<f64>) -> Option<Self> {
        let values: Vec<(&&Observation, (u32, f64))> =
            counted.iter().filter_map(|o| Some((o, (o.block, value(o)?)))).collect();
        let (beside, alone): (Vec<_>, Vec<_>) = values.iter().partition(|(o, _)| is_beside(o));
        let count = values.len();
        let part = |of: Vec<&(&&Observation, (u32, f64))>| {
            let costs = Clustered::of(&of.iter().map(|(_, cost)| *cost).collect::<Vec<_>>())?;
            Some(Part { weight: of.len() as f64 / count as f64, median: costs.median()?, costs })
        };
        let parts: Vec<Part> = [alone, beside].into_iter().filter_map(part).collect();
        let share_error = if parts.len() == 2 { share_error(counted) } else { 0.0 };
        (!parts.is_empty()).then_some(Self { parts, share_error, count })
    }

    /// The pairs that it stands on.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The cost.
    pub(crate) fn point(&self) -> f64 {
        self.parts.iter().map(|part| part.weight * part.median).sum()
    }

    /// The interval of the cost within this run; `None` if there are too few pairs.
    pub(crate) fn interval(&self, level: Level) -> Option<Interval> {
        if let [part] = self.parts.as_slice() {
            return part.costs.interval(level);
        }
        /// Fewer pairs give no 95 % interval.
        const FEWEST: usize = 6;
        if self.count < FEWEST {
            return None;
        }
        let point = self.point();
        let gap = self.parts.iter().map(|part| part.median).reduce(|one, other| other - one).unwrap_or_default();
        let of_share = level.z() * self.share_error * gap;
        let side = |distance: fn(&Part, Interval) -> f64| {
            let of_parts = self.parts.iter().map(|part| part.weight * distance(part, part.costs.interval_or_range(level)));
            of_parts.fold(of_share.abs(), f64::hypot)
        };
        let below = side(|part, interval| part.median - interval.low);
        let above = side(|part, interval| interval.high - part.median);
        Some(Interval { low: point - below, high: point + above })
    }

    /// Half of the 95 % interval, relative to the cost.
    pub(crate) fn relative_half_width(&self) -> Option<f64> {
        let width = self.interval(Level::P95)?.half_width() / self.point().abs();
        width.is_finite().then_some(width)
    }

    /// Whether all costs are finite numbers.
    pub(crate) fn is_finite(&self) -> bool {
        self.parts.iter().all(|part| part.costs.is_finite())
    }
}

/// Whether a pair that counts for both populations belongs to the moments with SMT interference.
fn is_beside(observation: &Observation) -> bool {
    // A cost of the actors that were alone belongs to these, whatever the others did.
    observation.strata.is_some_and(|strata| strata.alone_ns.is_none())
}

/// The standard error of the share of pairs with SMT interference; the pairs of one block resemble each other.
fn share_error(counted: &[&Observation]) -> f64 {
    let shares: Vec<(u32, f64)> = counted.iter().map(|o| (o.block, f64::from(u8::from(is_beside(o))))).collect();
    let of_blocks: Vec<f64> = shares.chunk_by(|(one, _), (other, _)| one == other).map(mean_of).collect();
    let share = mean_of(&shares);
    // Of a single block the pairs are all there is.
    error_of_mean(&of_blocks).unwrap_or_else(|| (share * (1.0 - share) / shares.len().max(1) as f64).sqrt())
}

fn mean_of(values: &[(u32, f64)]) -> f64 {
    values.iter().map(|(_, value)| value).sum::<f64>() / values.len().max(1) as f64
}

/// What a pair says about the population that its row is about, given what it says about all actors; `None` if nothing.
pub(crate) fn of_population(population: Population, all_ns: f64, strata: Option<&Strata>) -> Option<f64> {
    match (population, strata) {
        (Population::Alone, Some(strata)) => strata.alone_ns,
        (Population::Beside, Some(strata)) => strata.beside_ns,
        (_, _) => Some(all_ns),
    }
}

/// Both populations, each with its own median, interval and count; `None` where SMT interference is not detected.
pub(crate) fn strata_of(observations: &[Observation]) -> Option<StrataEstimate> {
    let undisturbed = observations.iter().filter(|o| o.is_undisturbed());
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

/// The medians of the measurement blocks of a case, relative to its cost: how the machine changed in the course of a run.
pub(crate) fn course(counted: &[&Observation], cost: f64) -> Vec<(u32, f64)> {
    let values: Vec<(u32, f64)> = counted.iter().map(|o| (o.block, o.ns / cost)).collect();
    let mut blocks: Vec<u32> = values.iter().map(|(block, _)| *block).collect();
    blocks.dedup();
    blocks.into_iter().zip(block_medians(&values)).collect()
}
