//! Everything the engine found out about one case.

use crate::engine::cost_formula::{self, Costs};
use crate::engine::judge::{self, Basis};
use crate::engine::population::{ProcessCost, StateCost, States, process_costs};
use crate::engine::stopping::Stop;
use crate::stats;
use crate::{Actor, Check, Detail, Estimate, Evidence, Experiment, Hertz, Observation, Receipt, Verdict};

/// Everything the engine found out about one case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measurement {
    /// The cost; `None` if no pair could be used.
    pub estimate: Option<Estimate>,
    /// The cost in each state of the machine, the longest state first; empty with a single state.
    pub(crate) states: Vec<StateCost>,
    /// The cost in each process that measured the case, if there were several.
    pub(crate) processes: Vec<ProcessCost>,
    /// Relative median absolute deviation of the observations.
    pub noise: Option<f64>,
    /// Number of pairs behind the estimate.
    pub pairs: u64,
    /// Number of pairs excluded.
    pub excluded: u64,
    /// Iterations of each sample.
    pub iterations: u64,
    /// Operations in one iteration of the baseline.
    pub unroll: u32,
    /// Whose cost the estimate is, unless the primitive's facts say so.
    pub actor: Option<Actor>,
    /// Whether the loops ran in a window.
    pub in_window: bool,
    /// What the figure is worth.
    pub verdict: Verdict,
    /// A remark that a reader of the figure must know.
    pub remark: Option<String>,
    /// Whether the primitive did its work.
    pub check: Check,
    /// The instructions that were executed.
    pub evidence: Evidence,
    /// Clock of the core or multiprocessor: cycles over nanoseconds of a resolved cost; otherwise the usual clock of the
    /// pairs that count, or of all pairs where none counts.
    pub clock: Option<Hertz>,
    /// Percentiles, fairness and whatever else was measured.
    pub details: Vec<Detail>,
    /// Every pair, the excluded ones too.
    pub observations: Vec<Observation>,
    /// The pairs in which every actor did equal work, if a window serves actors unequally.
    pub(crate) equal_work: Vec<Observation>,
    /// How many measurement blocks the pairs were taken in.
    pub blocks: u32,
    /// The basis that the figure is still to be computed from; `None` once it was computed from all pairs.
    pub(crate) basis: Option<Basis>,
    /// Why the last block ended; `None` if the case gave no figure and would give none another time.
    pub stop: Option<Stop>,
}

impl Measurement {
    /// The measurement of a case that gave no figure.
    pub(crate) fn without_figure(experiment: &dyn Experiment, verdict: Verdict, evidence: Evidence) -> Self {
        Self {
            unroll: experiment.protocol().unroll,
            actor: Some(experiment.protocol().actor).filter(|actor| *actor == Actor::Mean),
            in_window: experiment.protocol().in_window,
            verdict,
            remark: experiment.remark(),
            evidence,
            blocks: 1,
            ..Self::default()
        }
    }

    /// Computes figure and verdict from all pairs, unless that was done after the last block. Nobody asks for them after the
    /// blocks in between.
    pub fn settle(&mut self) {
        let Some(basis) = self.basis.take() else { return };
        judge::exclude_other_clocks(&mut self.observations, basis.clock_tolerance);
        self.states = basis.states.exclude_others(&mut self.observations);
        let costs = Costs::of(&self.observations, &States::default());
        // What the class has in common widens the interval within the run and says nothing about this case. Where the
        // interval is narrower with it, the case does not follow its class.
        let own = Costs::of(&self.observations, &basis.states);
        let judged = if own.width() < costs.width() { &own } else { &costs };
        self.verdict = judge::verdict(&self.check, &self.observations, judged, &basis);
        let is_figure = !matches!(self.verdict, Verdict::NotTogether(_));
        self.estimate = basis.formula.estimate(&self.observations, &costs).filter(|_| is_figure);
        self.processes = process_costs(&self.observations);
        let shares_nothing = basis.states.is_clock;
        self.estimate.iter_mut().for_each(|estimate| estimate.point_at_processes(&self.processes, shares_nothing));
        judge::exclude_other_clocks(&mut self.equal_work, basis.clock_tolerance);
        self.estimate
            .iter_mut()
            .for_each(|estimate| estimate.equal_work = cost_formula::of_equal_work(&self.equal_work));
        let of_code = self.evidence.receipt().and_then(Receipt::remark);
        let remarks = basis.remark.into_iter().chain(of_code).chain(judge::starved(&self.observations));
        let of_figure = self.estimate.as_ref().map(|estimate| {
            let served = basis.formula.window().and_then(|window| judge::unequal_service(estimate, window));
            let single = judge::single_operations(estimate, &self.details);
            [judge::states(&self.states, estimate.ns_within), served, judge::unequal(estimate), single]
        });
        let drift = judge::drift(basis.states.drift);
        let remarks: Vec<String> = remarks.chain(of_figure.into_iter().flatten().flatten()).chain(drift).collect();
        self.remark = (!remarks.is_empty()).then(|| remarks.join("; "));
        let counted: Vec<&Observation> = self.observations.iter().filter(|o| o.excluded.is_none()).collect();
        let of_figure = self.estimate.as_ref().filter(|_| self.verdict == Verdict::Resolved).and_then(Estimate::clock);
        let of_pairs =
            || judge::usual_clock(counted.iter().copied()).or_else(|| judge::usual_clock(self.observations.iter()));
        self.clock = of_figure.or_else(of_pairs);
        self.noise = stats::noise(&counted.iter().map(|o| o.ns).collect::<Vec<_>>());
        self.pairs = counted.len() as u64;
        self.excluded = (self.observations.len() - counted.len()) as u64;
        self.stop = self.stop.filter(|_| !self.verdict.is_failure());
    }

    /// Settles a case for now: more blocks follow, whose pairs decide which of these pairs count.
    pub(crate) fn settle_for_now(&mut self) {
        let kept = (self.basis.clone(), self.observations.clone(), self.equal_work.clone());
        self.settle();
        (self.basis, self.observations, self.equal_work) = kept;
    }
}
