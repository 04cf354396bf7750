//! Atomic operations on one variable.
//!
//! This file holds what the read-modify-write operations share: the variables, the checks, the cases. Start with
//! [`update::ADD`]. `read.rs` and `write.rs` have loops of their own.

pub(super) mod publish;
mod read;
mod update;
mod write;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::primitives::entry::Cases;
use crate::primitives::lines::Elements;
use crate::primitives::number::{Number, by_dtype};
use crate::primitives::orders::{Access, Relaxed, StaticOrdering, by_order};
use crate::primitives::prelude::*;

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] = &[
    &update::ADD,
    &update::ADD_CAPTURE,
    &read::ENTRY,
    &write::ENTRY,
    &update::EXCHANGE,
    &update::CAS_PASS,
    &update::CAS_FAIL,
    &update::MAX,
];

const FACTS: Facts = Facts {
    orders_memory: false,
    mode: Mode::Throughput,
    actor: facts::CONTENDED_IN_A_LINE,
    run_effect: facts::on_variables,
    ..Facts::of(Role::Update)
};

/// The entry of a read-modify-write operation; `operation` says what one is, by each thread.
const fn entry(
    id: &'static str,
    summary: &'static str,
    operation: &'static str,
    source: &'static str,
    cases: Cases,
    workload: MakeWorkload,
) -> Entry {
    Entry::of(Primitive { id, summary, operation, source, facts: FACTS }, cases, workload)
}

/// A read-modify-write operation under study.
trait Update: Send + Sync + 'static {
    /// Its instructions for integers.
    const INSTRUCTIONS: Instructions;

    /// Its instructions for floating-point numbers.
    const FLOATING_INSTRUCTIONS: Instructions = COMPARE_AND_SWAP;

    /// The value of the variable before a shot.
    const INITIAL: u64 = 0;

    /// How the variable grows. It must stay in the range where numbers are exact.
    const GROWTH: Growth = Growth::None;

    /// The operation. `memory` is a number that the thread keeps; it begins with the value of the variable.
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, memory: &mut N);

    /// The same operation with an operand that depends on what the one before returned, which `memory` holds; only for operations
    /// with [`workload_and_chains`].
    fn execute_dependent<N: Number>(variable: &N::Atomic, order: Ordering, memory: &mut N) {
        Self::execute(variable, order, memory);
    }

    /// The value of a variable of `sharers` threads after what they executed.
    fn result(sharers: u32, executed: Executed) -> u64 {
        match Self::GROWTH {
            Growth::None => Self::INITIAL,
            Growth::ByThread | Growth::ByAll if sharers == 1 => executed.own,
            Growth::ByThread => executed.most,
            Growth::ByAll => executed.by_all(sharers),
        }
    }

    /// Whether the proof checks returned values, because the variable alone does not prove that every operation did its
    /// work. The proof executes [`Self::returned_value`] instead of [`Self::execute`].
    const CHECKS_RETURNED_VALUES: bool = false;

    /// One operation, and the value that it returned. `ticket` is a number from 1 up that no other operation on the
    /// variable gets.
    fn returned_value<N: Number>(variable: &N::Atomic, ticket: u64) -> u64 {
        let _ = (variable, ticket);
        0
    }

    /// The sum of all returned values, after `all` operations that left `last` in the variable.
    fn expected_sum(all: u64, last: u64) -> u64 {
        let _ = (all, last);
        0
    }
}

/// The instructions of an operation, of which each execution has one.
struct Instructions {
    x86_64: Beginnings,
    /// AArch64 has others where the operation orders memory.
    relaxed_aarch64: Beginnings,
    acquiring_and_releasing_aarch64: Beginnings,
}

/// In the loop around an exclusive load and store, the load counts: a comparison that fails leaves the store out.
const COMPARE_AND_SWAP: Instructions = Instructions {
    x86_64: &["lock cmpxchg"],
    relaxed_aarch64: &["cas", "outline cas", "ldxr"],
    acquiring_and_releasing_aarch64: &["casal", "outline casal", "ldaxr"],
};

impl Instructions {
    const fn expected(&self, order: MemoryOrder) -> Expected {
        let aarch64 = match order {
            MemoryOrder::Relaxed => self.relaxed_aarch64,
            _ => self.acquiring_and_releasing_aarch64,
        };
        Expected::once(self.x86_64, aarch64)
    }
}

/// How the count in a variable grows with the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// It does not grow.
    None,
    /// With the operations of each thread.
    ByThread,
    /// With the operations of all threads that share it.
    ByAll,
}

/// The cases of an operation other than addition.
fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.cases_on_variables(primitive, &axes.other_atomics, axes.orders(Access::ReadModifyWrite))
}

/// The cases of [`cases`], and those whose operations depend on each other.
fn cases_and_chains(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let chains = axes.chains(primitive, &axes.chain_dtypes, axes.orders(Access::ReadModifyWrite));
    cases(primitive, axes).into_iter().chain(chains).collect()
}

/// The workload of `U` for the type and the ordering of the case.
fn workload<U: Update>(case: &Case) -> Option<Workload> {
    case.mode.is_none().then(|| of_mode::<U, false>(case))?
}

/// Like [`workload`], and also with operations that depend on each other.
fn workload_and_chains<U: Update>(case: &Case) -> Option<Workload> {
    if case.mode == Some(Mode::Latency) { of_mode::<U, true>(case) } else { workload::<U>(case) }
}

fn of_mode<U: Update, const DEPENDENT: bool>(case: &Case) -> Option<Workload> {
    let order = case.order.filter(|order| Access::ReadModifyWrite.has(*order))?;
    by_dtype!(case.dtype?, N => by_order!(order, O => workload_of::<N, U, O, DEPENDENT>(case, order)))
}

fn workload_of<N: Number, U: Update, O: StaticOrdering, const DEPENDENT: bool>(
    case: &Case,
    order: MemoryOrder,
) -> Option<Workload> {
    let elements = Arc::new(Elements::of(case)?);
    let most = match U::GROWTH {
        Growth::None => u64::MAX,
        Growth::ByThread => N::LARGEST_COUNT,
        Growth::ByAll => N::LARGEST_COUNT / u64::from(elements.sharers()),
    };
    let instructions = if N::FLOATING { U::FLOATING_INSTRUCTIONS } else { U::INSTRUCTIONS };
    let returned = ReturnedValues::<N, U>::new(Arc::clone(&elements), case.threads?);
    let extent = elements.extent();
    let variables: Variables<N, U, O, DEPENDENT> = Variables { elements, kind: PhantomData };
    let workload = Workload::contended(Arc::new(variables), case)?.with_most_operations(most, 1);
    let workload = Workload { extents: vec![extent], ..workload.expecting(instructions.expected(order)) };
    Some(if U::CHECKS_RETURNED_VALUES { workload.with_proof(Arc::new(returned) as Proof) } else { workload })
}

/// Additions by processes to a variable that all of them map.
pub(super) fn addition_between_processes(case: &Case) -> Option<Workload> {
    let elements = Arc::new(Elements::between_processes(case)?);
    let variables: Variables<u64, update::Add, Relaxed, false> = Variables { elements, kind: PhantomData };
    Some(
        Workload::contended(Arc::new(variables), case)?
            .expecting(update::Add::INSTRUCTIONS.expected(MemoryOrder::Relaxed))
            .in_processes(),
    )
}

/// The variables that `U` works on, each operation independent of the one before, or dependent on its result.
struct Variables<N: Number, U, O, const DEPENDENT: bool> {
    elements: Arc<Elements<N::Atomic>>,
    kind: PhantomData<(U, O)>,
}

impl<N: Number, U: Update, O: StaticOrdering, const DEPENDENT: bool> Operation for Variables<N, U, O, DEPENDENT> {
    type Local<'a> = (&'a N::Atomic, N);

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        (self.elements.get(slot, thread), N::of(U::INITIAL))
    }

    #[inline(always)]
    fn execute((variable, memory): &mut Self::Local<'_>) {
        if DEPENDENT {
            U::execute_dependent::<N>(variable, O::READ_MODIFY_WRITE, memory);
        } else {
            U::execute::<N>(variable, O::READ_MODIFY_WRITE, memory);
        }
    }

    fn prepare(&self, slot: usize, thread: usize) {
        if let Some(variable) = self.elements.owned(slot, thread) {
            N::store(variable, N::of(U::INITIAL), Ordering::Relaxed);
        }
    }

    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        let Some(variable) = self.elements.owned(slot, thread) else { return Ok(()) };
        let expected = N::after_additions(U::result(self.elements.sharers(), executed));
        let found = N::load(variable, Ordering::Relaxed).count();
        if expected == found { Ok(()) } else { Err(format!("expected {expected} in the variable, found {found}")) }
    }
}

/// Checks that every operation did its work, by the values that they returned.
struct ReturnedValues<N: Number, U> {
    elements: Arc<Elements<N::Atomic>>,
    /// The sum of the values returned to each thread.
    sums: Vec<CachePadded<AtomicU64>>,
    kind: PhantomData<U>,
}

impl<N: Number, U> ReturnedValues<N, U> {
    fn new(elements: Arc<Elements<N::Atomic>>, threads: u32) -> Self {
        Self { elements, sums: (0..threads).map(|_| CachePadded::default()).collect(), kind: PhantomData }
    }
}

impl<N: Number, U: Update> Body for ReturnedValues<N, U> {
    fn prepare(&self, shot: &Shot, thread: usize) {
        if let Some(variable) = self.elements.owned(slot_of(shot.pair), thread) {
            N::store(variable, N::of(U::INITIAL), Ordering::Relaxed);
        }
    }

    fn run(&self, shot: &Shot, thread: usize) {
        let variable = self.elements.get(slot_of(shot.pair), thread);
        let before = thread - self.elements.users(thread).start;
        let first = before as u64 * shot.iterations + 1;
        let sum = (first..first + shot.iterations).map(|ticket| U::returned_value::<N>(variable, ticket)).sum();
        self.sums[thread].store(sum, Ordering::Relaxed);
    }

    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        let Some(variable) = self.elements.owned(slot_of(shot.pair), thread) else { return Ok(()) };
        let all = shot.iterations * u64::from(self.elements.sharers());
        let last = N::load(variable, Ordering::Relaxed).count();
        let expected = U::expected_sum(all, last);
        let found: u64 = self.elements.users(thread).map(|user| self.sums[user].load(Ordering::Relaxed)).sum();
        if expected == found {
            return Ok(());
        }
        Err(format!("the values returned by {all} operations add up to {found} instead of {expected}"))
    }
}

#[cfg(test)]
mod tests {
    use super::update::Max;
    #[cfg(target_arch = "x86_64")]
    use super::update::{AddCapture, Exchange, Pass};
    use super::*;
    use crate::team::{Executor as _, Team};
    use crate::timing::clock::Clock;
    use std::time::Duration;
    use syncscope_core::{Dtype, Layout, Side};

    /// An exchange that does not return the old value.
    struct Forgetful;

    impl Update for Forgetful {
        const INSTRUCTIONS: Instructions = COMPARE_AND_SWAP;
        const CHECKS_RETURNED_VALUES: bool = true;

        fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
            N::store(variable, N::of(1), order);
        }

        fn result(_: u32, executed: Executed) -> u64 {
            executed.own
        }

        fn returned_value<N: Number>(variable: &N::Atomic, ticket: u64) -> u64 {
            N::store(variable, N::of(ticket), Ordering::Relaxed);
            0
        }

        fn expected_sum(all: u64, last: u64) -> u64 {
            all * (all + 1) / 2 - last
        }
    }

    #[test]
    fn an_operation_that_does_nothing_is_a_defect() {
        let case = Case {
            dtype: Some(Dtype::F64),
            layout: Some(Layout::Shared),
            threads: Some(2),
            order: Some(MemoryOrder::Relaxed),
            ..Case::new("cpu.atomic.exchange")
        };
        let workload = workload::<Forgetful>(&case).unwrap();
        let mut team = Team::assemble(&[None, None], &Clock::calibrate()).unwrap();
        let shot = Shot { side: Side::Test, iterations: 100, pair: 0 };
        for (body, complaint) in [(&workload.body, "expected 3200"), (&workload.proof.unwrap(), "add up to 0")] {
            let records = team.run(body, &[shot], Duration::from_secs(20)).unwrap();
            let defect = records[0][0].defect.clone().unwrap();
            assert!(defect.contains(complaint), "{defect}");
        }
    }

    #[test]
    fn an_ordering_that_is_not_measured_is_refused() {
        let case = Case {
            dtype: Some(Dtype::I32),
            layout: Some(Layout::Shared),
            threads: Some(1),
            order: Some(MemoryOrder::Acquire),
            ..Case::new("cpu.atomic.exchange")
        };
        assert!(workload::<Forgetful>(&case).is_none());
        for order in Access::ReadModifyWrite.orders(std::env::consts::ARCH) {
            assert!(workload::<Forgetful>(&Case { order: Some(*order), ..case.clone() }).is_some());
        }
    }

    /// How many lines of both loops of a chain begin with the words, for a shared `u64`.
    #[cfg(target_arch = "x86_64")]
    fn in_chain(make: MakeWorkload, words: &[&str]) -> (u32, u32) {
        let case = Case {
            dtype: Some(Dtype::U64),
            layout: Some(Layout::Shared),
            threads: Some(1),
            order: Some(MemoryOrder::Relaxed),
            mode: Some(Mode::Latency),
            ..Case::default()
        };
        let functions = make(&case).unwrap().functions;
        let count = |entry| crate::evidence::timed_loop(entry).unwrap().count(words);
        (count(functions.baseline), count(functions.test))
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn operands_of_a_chain_are_made_of_the_result_before() {
        let makers: [(MakeWorkload, _); 2] =
            [(workload_and_chains::<AddCapture>, "lock xadd"), (workload_and_chains::<Exchange>, "xchg")];
        for (make, operation) in makers {
            for words in [operation, "and", "or"] {
                assert_eq!(in_chain(make, &[words]), (16, 32), "{operation}: {words}");
            }
        }
        // The expected value is in the register that the comparison before left it in.
        assert_eq!(in_chain(workload_and_chains::<Pass>, &["lock cmpxchg"]), (16, 32));
        assert_eq!(in_chain(workload_and_chains::<Pass>, &["mov"]), (0, 0));
        assert_eq!(in_chain(read::workload, &["mov"]), (16, 32));
    }

    #[test]
    fn operations_without_a_chain_have_no_latency() {
        let case = Case {
            dtype: Some(Dtype::U64),
            layout: Some(Layout::Shared),
            threads: Some(1),
            order: Some(MemoryOrder::Relaxed),
            mode: Some(Mode::Latency),
            ..Case::new("cpu.atomic.max")
        };
        assert!(workload::<Max>(&case).is_none());
        assert!(workload::<Max>(&Case { mode: None, ..case }).is_some());
    }
}
