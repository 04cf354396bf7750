//! The cost of a memory order in an atomic operation of a GPU, by the threads that it reaches.

use syncscope_core::Scope;

use super::super::families::{cell, line, used, usual};
use super::super::prelude::*;
use crate::analysis::usual::is_one_block;

pub(in crate::analysis::questions) const SENTENCES: Sentences = &[sentence(dearest, &[])];

const ADD: &str = "gpu.atomic.add";

const ORDERS: [MemoryOrder; 5] =
    [MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcqRel, MemoryOrder::SeqCst];
const SCOPES: [(Scope, &str); 4] =
    [(Scope::Block, "block"), (Scope::Cluster, "cluster"), (Scope::Device, "device"), (Scope::System, "system")];

/// Additions of one warp to a variable of each thread, in this order and scope.
fn addition(data: &RunData, order: MemoryOrder, scope: Scope) -> Option<usize> {
    usual(data, |case| {
        let is_usual = case.dtype == Some(Dtype::I32) && case.space != Some(syncscope_core::Space::Shared);
        let is_private = case.layout == Some(Layout::Private { stride: 1 });
        let is_asked = case.order == Some(order) && case.scope == Some(scope);
        case.primitive == ADD && is_usual && is_private && is_asked && case.group.is_none() && is_one_block(case, 32)
    })
}

/// Says what an acquire-release addition costs compared with a relaxed one, for the device and for the system.
fn dearest(data: &RunData) -> Option<Outcome> {
    let known = |order, scope| Known::written(data, addition(data, order, scope)?, Basis::Run);
    let relaxed = known(MemoryOrder::Relaxed, Scope::Device)?;
    let of = |(scope, name): (Scope, &str)| {
        let both = relaxed.against(known(MemoryOrder::AcqRel, scope)?).filter(Comparison::is_certain)?;
        Some(([both.ratio.to_string(), format!("at {name} scope ({})", both.more)], both))
    };
    let scopes = SCOPES.into_iter().filter(|(scope, _)| matches!(scope, Scope::Device | Scope::System));
    let (words, all): (Vec<[String; 2]>, Vec<Comparison<'_>>) = scopes.filter_map(of).unzip();
    let words = enumerated(words.iter().map(|[times, at]| format!("{times} as long {at}")))?;
    let text = format!("For one warp, a relaxed atomicAdd takes {relaxed}; an acquire-release one takes {words}.");
    let rows: BTreeSet<usize> = all.iter().flat_map(Comparison::rows).collect();
    Some(Outcome::holds(text, rows).headed(all.first()?.ratio))
}

pub(in crate::analysis::questions) fn picture(data: &RunData) -> Option<Picture> {
    let of = |order: &MemoryOrder| {
        let cells = SCOPES.iter().map(|(scope, _)| addition(data, *order, *scope).map(|index| cell(data, index)));
        line(order.to_string(), cells)
    };
    let lines: Vec<Line> = ORDERS.iter().map(of).filter(|line| line.cells.iter().any(Option::is_some)).collect();
    // Relaxed operations alone pose no question of orders.
    if lines.len() < 2 {
        return None;
    }
    let names = SCOPES.map(|(_, name)| name.to_owned());
    let (columns, lines) = used(&names, &lines);
    let table = Spec::table("atomicAdd by order and scope, one warp", &columns, lines)?;
    let about = "Acquire holds back later accesses until the old value has arrived; release waits for earlier writes."
        .to_owned();
    Picture::of([Some(table)], "The run does not show what memory orders cost.", [Some(about)])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{data, decision, on_blocks, row, said};
    use super::*;

    fn add(order: MemoryOrder, scope: Scope, ns: f64) -> Row {
        let case = on_blocks(ADD, 1, 32);
        let layout = Some(Layout::Private { stride: 1 });
        row(Case { order: Some(order), scope: Some(scope), dtype: Some(Dtype::I32), layout, ..case }, ns, 0.02)
    }

    #[test]
    fn orders_cost_more_the_farther_they_reach() {
        let rows = vec![
            add(MemoryOrder::Relaxed, Scope::Device, 3.03),
            add(MemoryOrder::AcqRel, Scope::Device, 442.0),
            add(MemoryOrder::AcqRel, Scope::System, 714.0),
        ];
        let text = "For one warp, a relaxed atomicAdd takes 3.03 ns; an acquire-release one takes 146 times as long at \
                    device scope (442 ns) and 236 times as long at system scope (714 ns).";
        assert_eq!(said(dearest, rows.clone()), Some(Ok(text.into())));
        let found = decision("decide-orders", &data(rows.clone())).unwrap();
        let crate::chart::Spec::Table { columns, lines, .. } = &found.charts[0] else { panic!("a table") };
        assert_eq!((columns.as_slice(), lines.len()), (&["device".to_owned(), "system".to_owned()][..], 2));
        assert_eq!(decision("decide-orders", &data(rows[..1].to_vec())), None);
    }
}
