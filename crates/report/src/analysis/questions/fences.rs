//! Which fence? Cost by memory order and by the threads that the fence reaches.

use syncscope_core::Scope;

use super::families;
use super::families::used;
use super::prelude::*;
use crate::analysis::usual::is_one_block;
use crate::figure::grouped;

pub(super) const SENTENCES: Sentences = &[sentence(fence_scopes, &[]), sentence(by_context, &[])];

/// Says what a wider scope of a GPU fence costs. One instrument measures all, so rows are compared within the run.
fn fence_scopes(data: &RunData) -> Option<Outcome> {
    let scopes = [
        ("__threadfence_block()", "fence.block"),
        ("__threadfence()", "fence.device"),
        ("__threadfence_system()", "fence.system"),
    ];
    let known: Vec<(&str, Known<'_>)> =
        scopes.into_iter().filter_map(|(scope, id)| Some((scope, on_rung(data, id, Basis::Run)?))).collect();
    let [(narrow, first), .., (widest, last)] = known.as_slice() else { return None };
    if !each_costs_more(&known) {
        return Some(Outcome::open(
            "whether a GPU fence costs more for a wider scope (the intervals \
                                   overlap)"
                .to_owned(),
        ));
    }
    let stores = first.row.case.dtype.map(|dtype| format!(" that stores {dtype}")).unwrap_or_default();
    let warp = format!("one warp{stores}");
    let mut rows: Vec<usize> = known.iter().map(|(_, one)| one.index).collect();
    if known[0].0 != scopes[0].0 {
        let costs: Vec<String> = known.iter().map(|(name, one)| format!("{name} costs {one}")).collect();
        return Some(Outcome::holds(format!("For {warp}, {}.", enumeration(&costs)), rows).headed(first));
    }
    let times = first.against(*last)?.ratio;
    let full = full_block(data, first, last).map(|both @ Comparison { less, more, ratio }| {
        rows.extend(both.rows());
        format!(
            " In a block of {} threads, {widest} costs {ratio} as much as {narrow} ({more} against {less}).",
            grouped(FULL_BLOCK)
        )
    });
    let between: Vec<String> =
        known[1..known.len() - 1].iter().map(|(name, one)| format!("; {name} costs {one}")).collect();
    let text = format!(
        "For {warp}, {widest} ({last}) costs {times} as much as {narrow} ({first}){}.{}",
        between.concat(),
        full.unwrap_or_default()
    );
    Some(Outcome::holds(text, rows).headed(times))
}

/// The threads of a full block.
const FULL_BLOCK: u32 = 1024;

/// Compares the same two fences by a full block, if the wider one certainly costs more.
fn full_block<'a>(data: &'a RunData, narrow: &Known<'_>, wide: &Known<'_>) -> Option<Comparison<'a>> {
    let of = |known: &Known<'_>| {
        let case = Case { threads: Some(FULL_BLOCK), ..known.row.case.clone() };
        Known::written(data, data.rows.iter().position(|row| row.case == case)?, Basis::Run)
    };
    of(narrow)?.below(of(wide)?)
}

/// The surroundings of a GPU fence: the group, whether the whole device stores, and the column.
const CONTEXTS: [(&str, bool, &str); 4] = [
    ("nothing_written", false, "nothing written"),
    ("", false, "after a store"),
    ("", true, "while the whole GPU stores"),
    ("by_one", true, "by one thread of each block, behind a barrier"),
];

/// The fence of an `id` in one of these contexts: of one warp, or of full blocks on the whole device.
fn in_context(data: &RunData, id: &str, (group, is_whole, _): (&str, bool, &str)) -> Option<usize> {
    let rows = data.rows_where(|row| {
        let case = &row.case;
        let fits =
            if is_whole { case.threads == Some(FULL_BLOCK) && case.blocks > Some(1) } else { is_one_block(case, 32) };
        case.primitive == id && case.group_word() == group && fits && case.form.is_none() && !is_absent(row)
    });
    let is_usual = |case: &Case| case.dtype == Some(Dtype::I32) && case.layout == Some(Layout::Private { stride: 1 });
    rows.into_iter().find(|index| is_usual(data.case(*index)))
}

/// The fences that have contexts, the narrowest first.
const IN_CONTEXTS: [&str; 6] = [
    "gpu.fence.block",
    "gpu.fence.device",
    "gpu.fence.system",
    "gpu.fence.proxy_async_shared",
    "gpu.fence.proxy_async_global",
    "gpu.fence.proxy_async",
];

/// Says what other threads' stores add to a device fence.
fn by_context(data: &RunData) -> Option<Outcome> {
    let known = |context| Known::written(data, in_context(data, "gpu.fence.device", context)?, Basis::Run);
    let [alone, _, among, _] = CONTEXTS.map(known);
    let both = alone?.below(among?)?;
    let Comparison { less, more, ratio } = both;
    let text = format!(
        "__threadfence() takes {ratio} as long while the whole GPU stores as with nothing to wait for ({more} against {less})."
    );
    Some(Outcome::holds(text, both.rows()).headed(ratio))
}

/// The table of GPU fences by surrounding stores.
fn contexts(data: &RunData) -> Option<Spec> {
    let of = |id: &&str| {
        let cells = CONTEXTS.map(|context| in_context(data, id, context).map(|index| families::cell(data, index)));
        families::line(short_name(id).to_owned(), cells)
    };
    let lines: Vec<Line> = IN_CONTEXTS.iter().map(of).filter(|line| line.cells.iter().any(Option::is_some)).collect();
    // Fences only between stores are in the first table already.
    let has_contexts = data.rows.iter().any(|row| row.case.in_group(CONTEXTS[0].0));
    let columns = CONTEXTS.map(|(_, _, column)| column.to_owned());
    let (columns, lines) = used(&columns, &lines);
    Spec::table("GPU fences by surrounding stores", &columns, lines).filter(|_| has_contexts)
}

/// The orders, the weakest first, with the CPU primitive for each.
const ORDERS: [(MemoryOrder, &str); 4] = [
    (MemoryOrder::Acquire, "cpu.fence.acquire"),
    (MemoryOrder::Release, "cpu.fence.release"),
    (MemoryOrder::AcqRel, "cpu.fence.acq_rel"),
    (MemoryOrder::SeqCst, "cpu.fence.seq_cst"),
];

/// The threads that a fence reaches, and its primitive on the GPU.
const REACHES: [(&str, &str, Scope); 3] = [
    ("GPU: block", "gpu.fence.block", Scope::Block),
    ("GPU: device", "gpu.fence.device", Scope::Device),
    ("GPU: system", "gpu.fence.system", Scope::System),
];

const CPU_COLUMN: &str = "CPU";

/// The most letters of an instruction in a cell.
const MOST_LETTERS: usize = 24;

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let lines: Vec<Line> = ORDERS.iter().map(|(order, id)| line(data, *order, id)).collect();
    let names = std::iter::once(CPU_COLUMN).chain(REACHES.iter().map(|(column, ..)| *column));
    let names: Vec<String> = names.map(str::to_owned).collect();
    let (shown, lines) = used(&names, &lines);
    shown.first()?;
    let chart = Spec::Table { title: None, lines, columns: shown.iter().map(ToString::to_string).collect() };
    let has = |on_cpu: bool| shown.iter().any(|name| (*name == CPU_COLUMN) == on_cpu);
    let cpu = has(true).then(|| "In the table, CPU fences are timed on one thread.".to_owned());
    let gpu = has(false).then(|| {
        "In the table, GPU fences are timed on one warp; __threadfence(), __threadfence_block() and \
                  __threadfence_system() are sequentially consistent fences."
            .to_owned()
    });
    let stores = Some("A fence that waits for more stores costs more.".to_owned());
    let published: Vec<usize> = data.rows_where(|row| takes_part(data, row, Role::Publication)).collect();
    let behind = |case: &Case| case.group.as_ref().and_then(Group::number).map_or(1, |stores| 1 + u64::from(stores));
    let name = |case: &Case| short_name(&case.primitive).to_owned();
    let publishing = Spec::lines(
        Axis::log("stores, counting those to other lines before it", Unit::Count),
        Axis::log("time of the publishing store", Unit::Time),
        series(data, &published, name, behind, Point::cost),
    );
    let picture = Picture::of(
        [Some(chart), contexts(data), publishing],
        "Too few fences have a figure in this run.",
        [cpu, gpu, stores],
    )?;
    Some(picture.finding([cpu_sentence(data).map(|text| Outcome::holds(text, []))]))
}

/// The cells of one order, on the CPU and by reach on the GPU.
fn line(data: &RunData, order: MemoryOrder, cpu: &str) -> Line {
    let on_cpu = usual(data, |case| case.primitive == cpu && case.actors() == 1);
    let gpu = REACHES.iter().map(|(_, id, scope)| {
        usual(data, |case| {
            let same_scope = case.scope.is_none_or(|known| known == *scope);
            let same_order = case.order.unwrap_or(MemoryOrder::SeqCst) == order;
            case.primitive == *id && same_scope && same_order && is_one_block(case, 32)
        })
    });
    let cells = std::iter::once(on_cpu).chain(gpu).map(|index| Some(cell(data, index?)));
    families::line(order.to_string(), cells)
}

fn cell(data: &RunData, index: usize) -> Cell {
    let cost = families::cell(data, index);
    match &data.rows[index] {
        Row { verdict: Verdict::Elided(_), .. } => Cell { text: "no instruction".to_owned(), ..cost },
        row => Cell { detail: instruction(row), ..cost },
    }
}

/// The main instruction of the evidence, without its counts: `MEMBAR.SC.GPU` of `MEMBAR.SC.GPU 0/32`.
fn instruction(row: &Row) -> Option<String> {
    let evidence = row.evidence.as_deref()?;
    let words: Vec<&str> = evidence.split_whitespace().take_while(|word| !word.contains('/')).collect();
    let text: String = words.join(" ").chars().take(MOST_LETTERS).collect();
    (!text.is_empty() && words.len() <= 3).then_some(text)
}

/// The usual row that fits, in its default form.
fn usual(data: &RunData, fits: impl Fn(&Case) -> bool) -> Option<usize> {
    let is_default = |case: &Case| case.form.is_none() && case.mode != Some(Mode::Latency);
    let exists = |row: &Row| !matches!(row.verdict, Verdict::Skipped(_));
    most_usual(data, data.rows_where(|row| is_default(&row.case) && exists(row) && fits(&row.case)))
}

/// Says which orders are free on the CPU and what the full fence costs, without a comparison.
fn cpu_sentence(data: &RunData) -> Option<String> {
    let of = |id: &str| usual(data, |case| case.primitive == id && case.actors() == 1);
    let is_free = |id: &str| of(id).is_some_and(|index| matches!(data.rows[index].verdict, Verdict::Elided(_)));
    let free: Vec<&str> = ORDERS.iter().map(|(_, id)| *id).filter(|id| is_free(id)).collect();
    let full = of("cpu.fence.seq_cst").and_then(|index| Known::written(data, index, Basis::Machine));
    let full = full.map(|known| {
        let by = instruction(known.row).map(|text| format!(" (instruction: {text})")).unwrap_or_default();
        format!("a full fence costs {known}{by}")
    });

    let none = enumerated(free.into_iter().map(|id| short_name(id).to_owned()));
    let none = none.map(|orders| format!("{orders} fences need no instruction on this CPU"));
    joined([none, full], "; ").map(|text| format!("{}.", capitalized(&text)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, on_blocks, row, said, within};
    use super::super::testing::{decision, text};
    use super::*;

    #[test]
    fn a_fence_without_an_instruction_has_no_cost() {
        let fence = |name: &str| case(&format!("cpu.fence.{name}"), 1);
        let free = Row::unmeasured(fence("acquire"), Verdict::Elided("no instruction".into()));
        let full = Row { evidence: Some("lock or 16/32".into()), ..row(fence("seq_cst"), 6.44, 0.1) };
        let found = decision("decide-fences", &data(vec![free, full])).unwrap();
        assert_eq!(
            text(&found),
            "Acquire fences need no instruction on this CPU; a full fence costs 6.44 ns (instruction: lock or)."
        );
        let Spec::Table { columns, lines, .. } = &found.charts[0] else { panic!("a table") };
        assert_eq!(columns, &["CPU"], "no column without a cell");
        let cell = |line: usize| lines[line].cells[0].clone();
        assert_eq!(cell(0).map(|cell| (cell.value, cell.text)), Some((None, "no instruction".to_owned())));
        let expected = Cell { value: Some(6.44), detail: Some("lock or".into()), ..Cell::note("6.44 ns".into(), 1) };
        assert_eq!((cell(1), cell(3)), (None, Some(expected)));
    }

    #[test]
    fn a_wider_scope_costs_more() {
        let case = |scope: &str, threads| Case {
            dtype: Some(Dtype::I32),
            ..on_blocks(&format!("gpu.fence.{scope}"), 1, threads)
        };
        let fence = |scope: &str, ns| row(case(scope, 32), ns, 0.3);
        let mut rows = vec![fence("block", 4.04), fence("device", 215.0), fence("system", 514.0)];
        let sentence = "For one warp that stores i32, __threadfence_system() (514 ns) costs 127 times as much as \
                        __threadfence_block() (4.04 ns); __threadfence() costs 215 ns.";
        assert_eq!(said(fence_scopes, rows.clone()), Some(Ok(sentence.into())));
        let two = said(fence_scopes, rows[..2].to_vec()).unwrap().unwrap();
        assert!(
            two.contains("__threadfence() (215 ns) costs 53 times as much as __threadfence_block() (4.04 ns)."),
            "{two}"
        );
        assert_eq!(
            said(fence_scopes, rows[1..].to_vec()),
            Some(Ok(
                "For one warp that stores i32, __threadfence() costs 215 ns and __threadfence_system() costs 514 ns."
                    .into()
            ))
        );
        assert_eq!(said(fence_scopes, rows[..1].to_vec()), None);
        let full = |scope: &str, ns| row(case(scope, 1024), ns, 0.3);
        let both = [rows.clone(), vec![full("block", 60.0), full("system", 1020.0)]].concat();
        let end = "__threadfence() costs 215 ns. In a block of 1,024 threads, __threadfence_system() costs 17 times as much as __threadfence_block() (1.02 µs against 60.0 ns).";
        assert!(said(fence_scopes, both).unwrap().unwrap().ends_with(end));
        rows[1] = within(rows[1].clone(), 200.0, 600.0);
        assert!(said(fence_scopes, rows).unwrap().is_err(), "overlap");
    }
}
