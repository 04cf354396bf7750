//! What another type or order of an atomic operation costs: two rows that differ in that alone.

use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Mode, Row};

use super::Said;
use crate::RunData;
use crate::analysis::contest::{Basis, Comparison, Known};
use crate::analysis::usual::MachineSize;
use crate::naming;

const GPU_ADD: &str = "gpu.atomic.add";
const CPU_STORE: &str = "cpu.atomic.write";

/// The row of this case against the row of the same case in another form; both with figures.
fn pair<'a>(data: &'a RunData, index: usize, changed: &Case) -> Option<Comparison<'a>> {
    let other = data.rows.iter().position(|row| row.case == *changed)?;
    let of = |index| Known::with_figure(data, index, Basis::Run);
    of(index)?.against(of(other)?)
}

/// Independent operations of a primitive on one variable, in their default form.
fn on_one_variable<'a>(data: &'a RunData, id: &'static str) -> impl Iterator<Item = (usize, &'a Row)> {
    data.rows.iter().enumerate().filter(move |(_, row)| {
        let case = &row.case;
        let is_usual = case.form.is_none() && case.group.is_none() && case.mode != Some(Mode::Latency);
        case.primitive == id && is_usual && case.layout == Some(Layout::Shared)
    })
}

/// `atomicAdd` of float against int on one variable of all threads of the device: compilers sum the ints of a warp first.
pub(super) fn float_against_int(data: &RunData) -> Option<Said> {
    let ints = on_one_variable(data, GPU_ADD).filter(|(_, row)| row.case.dtype == Some(Dtype::I32));
    let of = |(index, row): (usize, &Row)| pair(data, index, &Case { dtype: Some(Dtype::F32), ..row.case.clone() });
    let widest = ints.filter_map(of).filter(Comparison::is_certain).max_by_key(|both| both.less.row.case.actors())?;
    let text = format!(
        "atomicAdd of float on one variable takes {} as long as of int: {} against {} with {} GPU threads.",
        widest.times(),
        widest.more.time(),
        widest.less.time(),
        crate::figure::grouped(widest.less.row.case.actors()),
    );
    Some(Said::certain(text, [widest.less.index, widest.more.index]))
}

/// `store(SeqCst)` against `store(Relaxed)`, by one thread and by as many as fit the CPUs.
pub(super) fn sequential_store(data: &RunData) -> Option<Said> {
    let machine = MachineSize::of(&data.run.machine);
    let relaxed = on_one_variable(data, CPU_STORE)
        .filter(|(_, row)| row.case.order == Some(MemoryOrder::Relaxed) && !machine.is_oversubscribed_by(&row.case));
    let of =
        |(index, row): (usize, &Row)| pair(data, index, &Case { order: Some(MemoryOrder::SeqCst), ..row.case.clone() });
    let mut pairs: Vec<Comparison<'_>> = relaxed.filter_map(of).collect();
    pairs.sort_by_key(|both| both.less.row.case.actors());
    let alone = pairs.first().filter(|both| both.less.row.case.has_one_thread() && both.is_certain())?;
    let costs = |both: &Comparison<'_>| format!("{} against {}", both.more.time(), both.less.time());
    let together = pairs.last().filter(|both| !both.less.row.case.has_one_thread()).map(|both| {
        let threads = naming::size(&both.less.row.case);
        let more = match both.is_certain() {
            true => both.times(),
            false if both.more.ns < both.less.ns => "no longer".to_owned(),
            false => "about as long".to_owned(),
        };
        format!("; on one variable of {threads} {more} ({})", costs(both))
    });
    let text = format!(
        "store(SeqCst) takes {} as long as store(Relaxed) on one thread: {}{}.",
        alone.times(),
        costs(alone),
        together.unwrap_or_default()
    );
    let rows = [Some(alone), pairs.last()].into_iter().flatten().flat_map(|both| [both.less.index, both.more.index]);
    let mut rows: Vec<usize> = rows.collect();
    rows.dedup();
    Some(Said::certain(text, rows))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, on_blocks, row, said, within};
    use super::*;

    #[test]
    fn float_is_compared_with_int_where_most_threads_add() {
        let add = |threads, dtype, ns| {
            let case = on_blocks(GPU_ADD, 1, threads);
            row(Case { dtype: Some(dtype), layout: Some(Layout::Shared), ..case }, ns, 0.1)
        };
        let (int, float) = (Dtype::I32, Dtype::F32);
        let rows = vec![add(32, int, 3.0), add(32, float, 56.0), add(1024, int, 32.0), add(1024, float, 1792.0)];
        let sentence = "atomicAdd of float on one variable takes 56 times as long as of int: 1.79 µs against 32.0 ns with 1,024 \
                        GPU threads.";
        assert_eq!(said(float_against_int, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(float_against_int, rows[2..3].to_vec()), None);
        assert_eq!(said(float_against_int, vec![rows[2].clone(), within(rows[3].clone(), 20.0, 2000.0)]), None);
    }

    #[test]
    fn an_ordered_store_is_expensive_alone_and_not_in_contention() {
        let store = |threads, order, ns| {
            let case = case(CPU_STORE, threads);
            row(Case { order: Some(order), layout: Some(Layout::Shared), ..case }, ns, 0.1)
        };
        let (relaxed, ordered) = (MemoryOrder::Relaxed, MemoryOrder::SeqCst);
        let alone = vec![store(1, relaxed, 0.33), store(1, ordered, 5.61)];
        let one = "store(SeqCst) takes 17 times as long as store(Relaxed) on one thread: 5.61 ns against 0.330 ns";
        assert_eq!(said(sequential_store, alone.clone()), Some(Ok(format!("{one}."))));
        let both = [alone, vec![store(16, relaxed, 424.0), within(store(16, ordered, 430.0), 400.0, 450.0)]].concat();
        let end = "; on one variable of 16 threads about as long (430 ns against 424 ns).";
        assert_eq!(said(sequential_store, both.clone()), Some(Ok(format!("{one}{end}"))));
        assert_eq!(said(sequential_store, both[2..].to_vec()), None);
    }
}
