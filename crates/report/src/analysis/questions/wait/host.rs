//! How the host waits for a kernel: how soon it continues, and how much of a CPU the wait takes.

use syncscope_core::Detail;

use super::super::families::{cell, line};
use super::super::prelude::*;

pub(in crate::analysis::questions) const SENTENCES: Sentences = &[sentence(spin_or_block, &[])];

/// The share of a CPU below which a wait leaves the CPU to others.
const LEAVES_THE_CPU: f64 = 0.7;

/// The waits for the longest kernels that the run has: behind short ones a host that blocks finds its kernel already ended.
fn waits(data: &RunData) -> Option<(u32, Contest<'_>)> {
    let rows = data.rows.iter().filter(|row| takes_part(data, row, Role::LaunchAndWait));
    let longest = rows.filter_map(|row| length_us(&row.case)).max()?;
    let peers = Peers::of(data, Role::LaunchAndWait, |case| length_us(case) == Some(longest), Size::Most)?;
    Some((longest, peers.contest(Basis::Run)))
}

fn length_us(case: &Case) -> Option<u32> {
    case.group_number("# us")
}

fn share(data: &RunData, index: usize) -> Option<f64> {
    data.detail(data.case(index), Detail::CPU_SHARE)
}

/// `(sync_spin, 100 % of a CPU)`.
fn way(data: &RunData, one: &Entrant<'_>) -> Option<String> {
    Some(format!("({}, {:.0} % of a CPU)", one.name, 100.0 * share(data, one.index)?))
}

/// Names the soonest wait, and the soonest that leaves the CPU to others.
fn spin_or_block(data: &RunData) -> Option<Outcome> {
    let (us, contest) = waits(data)?;
    let (soonest, least) = contest.best()?;
    let leaves = |one: &Entrant<'_>| share(data, one.index).is_some_and(|share| share < LEAVES_THE_CPU);
    let blocking = contest.clone().only(leaves);
    let (blocks, most) = blocking.best()?;
    let both = least.against(most).filter(Comparison::is_certain)?;
    let text = format!(
        "After a {} kernel, the host continues within {}; the fastest wait that uses less than {:.0} % of a CPU takes \
         {} as long{}{}.",
        figure::time(f64::from(us) * 1000.0),
        format_args!("{least} {}", way(data, soonest)?),
        100.0 * LEAVES_THE_CPU,
        both.ratio,
        if most.is_written() { format!(": {most} ") } else { " ".to_owned() },
        way(data, blocks)?
    );
    Some(Outcome::holds(text, both.rows()).headed(least))
}

pub(in crate::analysis::questions) fn picture(data: &RunData) -> Option<Picture> {
    let rows: Vec<usize> = data.rows_where(|row| takes_part(data, row, Role::LaunchAndWait)).collect();
    // What a wait leaves to others is half of the answer.
    rows.iter().find_map(|row| share(data, *row))?;
    let lengths: BTreeSet<u32> = rows.iter().filter_map(|row| length_us(data.case(*row))).collect();
    let names: BTreeSet<(usize, &str)> =
        rows.iter().map(|row| &*data.case(*row).primitive).map(|id| (data.catalogue.position(id), id)).collect();
    let busy = |index: usize| {
        let share = share(data, index)?;
        Some(Cell::note(format!("{:.0} %", 100.0 * share), index))
    };
    let of = |id: &str, us: u32| {
        let found = rows.iter().copied().filter(|row| data.case(*row).primitive == id);
        found.filter(|row| length_us(data.case(*row)) == Some(us)).min_by_key(|row| unusualness(data.case(*row)))
    };
    let line = |(_, id): &(usize, &str)| {
        let cells = lengths.iter().map(|us| of(id, *us));
        line(short_name(id).to_owned(), cells.flat_map(|row| [row.map(|row| cell(data, row)), row.and_then(busy)]))
    };
    let columns = lengths.iter().flat_map(|us| [format!("kernel of {us} µs"), "of a CPU".to_owned()]);
    let table =
        Spec::table("From the end of the kernel", &columns.collect::<Vec<_>>(), names.iter().map(line).collect());
    let otherwise = "The run does not show the best way to wait for a kernel.";
    Picture::of([table], otherwise, [unreliable(data, &rows)])
}

/// Answers with the soonest wait, and the soonest that leaves the CPU to others.
pub(in crate::analysis::questions) fn wait(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let data = inquiry.data;
    let Some((us, contest)) = waits(data) else { return Vec::new() };
    let leaves = |one: &Entrant<'_>| share(data, one.index).is_some_and(|share| share < LEAVES_THE_CPU);
    let of = |(words, contest): (&str, Contest<'_>)| {
        let busy = |choice: &mut Choice| {
            let percent =
                share(data, choice.row).map(|share| format!("uses {:.0} % of a CPU meanwhile", 100.0 * share));
            choice.warnings.extend(percent);
        };
        let situation = format!("the host after a kernel of {us} µs{words}");
        Some((Domain::Gpu, situation, decide(inquiry, &contest)?.taking(busy)))
    };
    [("", contest.clone()), (", leaving its CPU to others", contest.only(leaves))].into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::advice::{Asked, Need, advise};
    use super::super::super::testing::{data, decision, on_blocks, row, said_of};
    use super::*;

    fn run() -> RunData {
        let of = |name: &str, us: u32, ns: f64| {
            let group = Some(Group::numbered("# us", us));
            row(Case { group, ..on_blocks(&format!("gpu.launch.{name}"), 132, 32) }, ns, 0.02)
        };
        let rows = [of("sync_spin", 50, 9320.0), of("sync_block", 50, 44_800.0), of("event_block", 50, 50_000.0)];
        let mut run = data([rows.to_vec(), vec![of("sync_block", 5, 17_000.0)]].concat());
        for (index, share) in [1.0, 0.31, 0.35, 0.92].into_iter().enumerate() {
            run.details.insert(run.rows[index].case.id(), vec![Detail::of_case(Detail::CPU_SHARE, share)]);
        }
        run
    }

    #[test]
    fn a_host_that_blocks_goes_on_later_and_leaves_its_cpu() {
        let text = "After a 50.0 µs kernel, the host continues within 9.32 µs (sync_spin, 100 % of a CPU); the \
                    fastest wait that uses less than 70 % of a CPU takes 4.8 times as long: 44.8 µs (sync_block, 31 % of a CPU).";
        assert_eq!(said_of(spin_or_block, &run()), Some(Ok(text.into())));
        let found = decision("decide-host-wait", &run()).unwrap();
        let crate::chart::Spec::Table { columns, lines, .. } = &found.charts[0] else { panic!("a table") };
        assert_eq!((columns.len(), lines.len()), (4, 3));
        let of_share = |line: &crate::chart::Line| {
            line.cells.iter().flatten().find(|cell| cell.text.ends_with('%')).unwrap().value
        };
        assert!(lines.iter().all(|line| of_share(line).is_none()), "the colours are those of costs alone");
    }

    #[test]
    fn advice_names_a_wait_for_each_purpose() {
        let found = advise(&run(), Need::Wait, Asked { on: Some(Domain::Gpu), ..Asked::default() });
        let named: Vec<_> = found.into_iter().map(|one| one.decision.choice.unwrap().name).collect();
        assert_eq!(named, ["sync_spin", "sync_block"]);
    }
}
