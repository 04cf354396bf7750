//! Shared memory, global memory or the registers of a warp: bins that threads count in, and values that lanes exchange.

use syncscope_core::Space;

use super::super::families::{cell, line};
use super::super::prelude::*;

pub(in crate::analysis::questions) const SENTENCES: Sentences =
    &[sentence(float_bins, &[]), sentence(through_memory, &[])];

/// The group of a histogram.
const BINS: &str = "bins #";

/// Additions of a type to this many bins in this memory, by the largest grid that the run has.
fn bins(data: &RunData, dtype: Dtype, number: u32, space: Space) -> Option<usize> {
    let is_one =
        |case: &Case| case.group_number(BINS) == Some(number) && case.dtype == Some(dtype) && case.space == Some(space);
    let rows = data.rows_where(|row| is_one(&row.case) && row.case.form.is_none() && !is_absent(row));
    rows.max_by_key(|index| data.case(*index).actors())
}

fn numbers(data: &RunData) -> BTreeSet<u32> {
    data.rows.iter().filter_map(|row| row.case.group_number(BINS)).collect()
}

/// Says in which memory a histogram of floats with few bins is cheaper.
fn float_bins(data: &RunData) -> Option<Outcome> {
    let few = *numbers(data).first()?;
    let known = |space| Known::written(data, bins(data, Dtype::F32, few, space)?, Basis::Run);
    let (shared, global) = (known(Space::Shared)?, known(Space::Global)?);
    let [cheap, dear] = if shared.ns < global.ns { [shared, global] } else { [global, shared] };
    let Some(both) = cheap.below(dear) else {
        return Some(Outcome::open("whether a float histogram is cheaper in shared or in global memory".to_owned()));
    };
    let [less, more] = if shared.ns < global.ns { ["shared", "global"] } else { ["global", "shared"] };
    let text = format!(
        "A float atomicAdd to one of {few} bins in {more} memory takes {} as long as in {less} memory ({} against {}).",
        both.ratio, both.more, both.less
    );
    Some(Outcome::holds(text, both.rows()).headed(both.ratio))
}

/// The exchange of one warp, through its registers and through shared memory.
fn exchanges(data: &RunData) -> [Option<usize>; 2] {
    ["gpu.shuffle.idx", "gpu.shuffle.through_shared"].map(|id| {
        let is_one = |row: &Row| {
            let Case { primitive, dtype, mode, form, .. } = &row.case;
            primitive == id && *dtype == Some(Dtype::I32) && *mode == Some(Mode::Latency) && form.is_none()
        };
        data.rows_where(|row| is_one(row) && !is_absent(row)).min_by_key(|index| data.case(*index).actors())
    })
}

fn through_memory(data: &RunData) -> Option<Outcome> {
    let [shuffle, memory] = exchanges(data).map(|index| Known::written(data, index?, Basis::Run));
    let both = shuffle?.below(memory?)?;
    let Comparison { less, more, ratio } = both;
    let text = format!(
        "An exchange within a warp takes {ratio} as long through shared memory as by __shfl_sync() ({more} against {less})."
    );
    Some(Outcome::holds(text, both.rows()).headed(ratio))
}

pub(in crate::analysis::questions) fn picture(data: &RunData) -> Option<Picture> {
    let spaces = [Space::Shared, Space::Global];
    let of_bins = |number: u32| {
        [Dtype::I32, Dtype::F32].map(|dtype| {
            let cells = spaces.map(|space| bins(data, dtype, number, space).map(|index| cell(data, index)));
            line(format!("{dtype} atomicAdd to one of {number} bins"), cells)
        })
    };
    let [registers, memory] = exchanges(data).map(|index| index.map(|index| cell(data, index)));
    let name = "exchange within a warp; without shared memory: __shfl_sync()".to_owned();
    let exchange = memory.map(|memory| line(name, [Some(memory), registers]));
    let lines: Vec<Line> = numbers(data).into_iter().flat_map(of_bins).chain(exchange).collect();
    let lines: Vec<Line> = lines.into_iter().filter(|line| line.cells.iter().any(Option::is_some)).collect();
    let table = Spec::table("Cost of one operation", &["shared memory", "without"], lines)?;
    Picture::of([Some(table)], "The run does not show whether shared memory pays off.", [None::<String>])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{data, decision, on_blocks, row, said};
    use super::*;

    fn bin(dtype: Dtype, space: Space, ns: f64) -> Row {
        let case = on_blocks("gpu.atomic.add", 132, 1024);
        let group = Some(Group::numbered(BINS, 18));
        row(Case { group, dtype: Some(dtype), space: Some(space), ..case }, ns, 0.02)
    }

    #[test]
    fn float_bins_in_shared_memory_are_compared_with_those_in_global() {
        let rows = vec![
            bin(Dtype::F32, Space::Shared, 1361.0),
            bin(Dtype::F32, Space::Global, 937.0),
            bin(Dtype::I32, Space::Shared, 16.2),
        ];
        let text = "A float atomicAdd to one of 18 bins in shared memory takes 1.5 times as long as in global memory (1.36 \
                    µs against 937 ns).";
        assert_eq!(said(float_bins, rows.clone()), Some(Ok(text.into())));
        let alike = vec![bin(Dtype::F32, Space::Shared, 940.0), bin(Dtype::F32, Space::Global, 937.0)];
        assert!(said(float_bins, alike).unwrap().is_err());
        let Spec::Table { lines, .. } = &decision("decide-shared", &data(rows)).unwrap().charts[0] else {
            panic!("a table")
        };
        assert_eq!(lines.len(), 2, "the exchange is not measured");
        assert!(decision("decide-shared", &data(vec![])).is_none());
    }

    #[test]
    fn an_exchange_through_memory_is_compared_with_a_shuffle() {
        let exchange = |name: &str, ns: f64| {
            let case = on_blocks(&format!("gpu.shuffle.{name}"), 1, 32);
            row(Case { dtype: Some(Dtype::I32), mode: Some(Mode::Latency), ..case }, ns, 0.02)
        };
        let text =
            said(through_memory, vec![exchange("idx", 12.1), exchange("through_shared", 29.0)]).unwrap().unwrap();
        assert!(text.contains("2.4 times as long through shared memory"), "{text}");
    }
}
