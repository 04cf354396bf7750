//! A laboratory of fakes: the command, the journal and the reports run on it where hardware is not the question.

use std::time::Duration;

use super::{FakeExperiment, Fault, Noise};
use crate::engine::experiment::Experiment;
use crate::model::case::{Case, Dtype};
use crate::model::facts::{Facts, Role};
use crate::model::primitive::Primitive;
use crate::model::sweep::Sweep;
use crate::session::laboratory::{Laboratory, Listing, Refusal};
use crate::session::preset::Preset;

const fn fake(id: &'static str, summary: &'static str, role: Role) -> Primitive {
    let facts = Facts::of(role);
    Primitive { id, summary, operation: "one operation that is only a number", source: "nowhere", facts }
}

/// One primitive for each way a case can end.
static CATALOGUE: [Primitive; 5] = [
    fake("cpu.atomic.add", "A cost that grows with the threads and is resolved", Role::Update),
    fake("cpu.atomic.read", "A cost of zero", Role::Access),
    fake("cpu.barrier.std", "A cost that drowns in noise", Role::ThreadBarrier),
    fake("cpu.fence.flush", "A primitive that does not exist here", Role::Fence),
    fake("cpu.lock.std_mutex", "A primitive that fails on request", Role::ThreadLock),
];

/// Makes fakes.
#[derive(Debug, Clone, Default)]
pub struct FakeLaboratory {
    /// Time every sample takes for real.
    pub dwell: Duration,
    /// Each primitive is planned with 1 to so many threads; 0 leaves that to the preset.
    pub most_threads: u32,
    /// What goes wrong with `cpu.lock.std_mutex`.
    pub fault: Fault,
    /// A case has broken it.
    is_broken: bool,
}

impl Laboratory for FakeLaboratory {
    fn listing(&self) -> Vec<Listing> {
        let reason = |primitive: &Primitive| (primitive.name() == "flush").then(|| "no such fake".to_owned());
        CATALOGUE.iter().map(|primitive| Listing { primitive, unavailable: reason(primitive) }).collect()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        let threads: Vec<u32> = match preset {
            _ if self.most_threads > 0 => (1..=self.most_threads).collect(),
            Preset::Quick => vec![1, 2],
            Preset::Standard | Preset::Paper => vec![1, 2, 4, 8],
        };
        let sweep = |id: &str| Sweep::of(id).threads(&threads);
        let mut cases = sweep("cpu.atomic.add").dtypes(&[Dtype::I32, Dtype::F64]).cases();
        for primitive in &CATALOGUE[1..] {
            cases.extend(sweep(primitive.id).cases());
        }
        cases
    }

    fn prepare(&mut self, cases: &[Case], progress: &mut dyn FnMut(usize, usize)) {
        progress(cases.len(), cases.len());
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        if self.is_broken {
            return Err(Refusal::Lost("an earlier case broke the laboratory of fakes".to_owned()));
        }
        self.is_broken = self.fault == Fault::BreaksLaboratory && case.primitive == "cpu.lock.std_mutex";
        let threads = f64::from(case.threads.unwrap_or(1));
        let cost = |ns: f64| FakeExperiment::new(ns, case.id().number()).with_dwell(self.dwell);
        Ok(Box::new(match case.primitive.as_str() {
            "cpu.atomic.add" => cost(5.0 * threads).with_noise(Noise::Normal(50.0)),
            "cpu.atomic.read" => cost(0.0).with_noise(Noise::Normal(50.0)),
            "cpu.barrier.std" => cost(100.0 * threads).with_noise(Noise::Proportional(1.0)),
            "cpu.lock.std_mutex" if self.fault == Fault::LosesLaboratory => {
                return Err(Refusal::Lost("the fake broke its laboratory".to_owned()));
            }
            "cpu.lock.std_mutex" => cost(20.0 * threads).with_fault(self.fault.clone()),
            other => return Err(Refusal::Skipped(format!("there is no fake of {other}"))),
        }))
    }
}
