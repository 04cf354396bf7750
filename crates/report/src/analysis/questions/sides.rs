//! CPU and GPU: how long an operation takes on one thread and on all threads of each side, and how many all of them complete
//! per second.

use syncscope_core::{Form, Space};

use super::atomics::{Total, is_apart, total_rate};
use super::families::used;
use super::prelude::*;
use crate::analysis::claim::Truth;
use crate::chart::Key;

pub(super) const SENTENCES: Sentences = &[super::condition::sentence(contended_on_both_sides, &[])];

/// Where an operation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    CpuThread,
    CpuThreads,
    Warp,
    Block,
    Gpu,
    Gpus,
}

/// The places with their headings; the places of one side have related colours.
const PLACES: [(Place, &str); 6] = [
    (Place::CpuThread, "One CPU thread"),
    (Place::CpuThreads, "All CPU threads"),
    (Place::Warp, "One warp"),
    (Place::Block, "One block"),
    (Place::Gpu, "Whole GPU"),
    (Place::Gpus, "All GPUs"),
];

const COLOURS: [usize; 6] = [5, 0, 4, 2, 1, 6];

impl Place {
    const fn is_cpu(self) -> bool {
        matches!(self, Self::CpuThread | Self::CpuThreads)
    }

    fn holds(self, case: &Case, machine: MachineSize) -> bool {
        let (threads, blocks) = (case.threads.unwrap_or(1), case.blocks.unwrap_or(1));
        let of_one_device = case.devices.unwrap_or(1) == 1;
        match self {
            Self::CpuThread => threads == 1,
            Self::CpuThreads => {
                threads > 1 && machine.holds(threads) && !matches!(case.placement, Some(Placement::List(_)))
            }
            Self::Warp => of_one_device && blocks == 1 && threads == 32,
            Self::Block => of_one_device && blocks == 1 && threads > 32,
            Self::Gpu => of_one_device && blocks > 1 && blocks >= machine.multiprocessors,
            Self::Gpus => !of_one_device,
        }
    }
}

/// How both sides are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// By the total rate of all threads of each side.
    Rate,
    /// By the time of one operation.
    Time,
    /// Not compared, because the two sides do different things.
    Nothing,
}

/// One operation on both sides: the same type, form and layout at every place.
struct Operation {
    name: &'static str,
    by: By,
    row: fn(&RunData, Place) -> Option<usize>,
}

const fn operation(name: &'static str, by: By, row: fn(&RunData, Place) -> Option<usize>) -> Operation {
    Operation { name, by, row }
}

const OPERATIONS: [Operation; 10] = [
    operation("Add, one variable", By::Rate, |data, place| atomic(data, place, "add", Layout::Shared, None)),
    operation("Add, one variable, no warp sums", By::Rate, |data, place| {
        atomic(data, place, "add", Layout::Shared, Some(Form::NotAggregated))
    }),
    operation("Add, own variables", By::Rate, |data, place| {
        atomic(data, place, "add", Layout::Private { stride: 1 }, None)
    }),
    operation("CAS, one variable", By::Rate, |data, place| atomic(data, place, "cas_pass", Layout::Shared, None)),
    operation("Exchange, one variable", By::Rate, |data, place| atomic(data, place, "exchange", Layout::Shared, None)),
    operation("Barrier", By::Rate, barrier),
    operation("Lock, best", By::Rate, lock),
    operation("Full fence", By::Rate, fence),
    operation("Hand-off", By::Nothing, hand_off),
    operation("Wake; launch and wait", By::Time, wake_or_launch),
];

/// The usual row among those that fit; on all threads of a side, the one with the most threads.
fn usual(data: &RunData, place: Place, fits: impl Fn(&Case) -> bool) -> Option<usize> {
    let machine = MachineSize::of(&data.run.machine);
    let is_one = |row: &Row| !is_absent(row) && place.holds(&row.case, machine) && fits(&row.case);
    let stride = |case: &Case| case.layout.and_then(Layout::stride);
    data.rows_where(is_one).min_by_key(|index| {
        let case = data.case(*index);
        // A grid with one block per multiprocessor is measured in all forms.
        let is_larger = place == Place::Gpu && case.blocks > Some(machine.multiprocessors.max(2));
        (unusualness(case), stride(case), is_larger, Size::Most.rank(case), case)
    })
}

/// Independent relaxed operations on 32-bit integers: on one variable, or each thread on its own variable, which share no
/// line on the CPU.
fn atomic(data: &RunData, place: Place, name: &str, layout: Layout, form: Option<Form>) -> Option<usize> {
    let (domain, form) = if place.is_cpu() { ("cpu", None) } else { ("gpu", form) };
    let id = format!("{domain}.atomic.{name}");
    usual(data, place, |case| {
        case.primitive == id
            && case.form == form
            && case.group.is_none()
            && case.dtype == Some(Dtype::I32)
            && case.mode != Some(Mode::Latency)
            && case.space != Some(Space::Shared)
            && case.order.is_none_or(|order| order == MemoryOrder::Relaxed)
            && (case.layout == Some(Layout::Shared)) == (layout == Layout::Shared)
            && (place != Place::CpuThreads || is_apart(case))
    })
}

fn of_primitive(data: &RunData, place: Place, id: &str) -> Option<usize> {
    usual(data, place, |case| case.primitive == id && case.form.is_none())
}

fn on_rungs(data: &RunData, ids: &[&str]) -> Option<usize> {
    ids.iter().find_map(|id| rung(data, id)).map(|selected| selected.row)
}

fn barrier(data: &RunData, place: Place) -> Option<usize> {
    match place {
        Place::CpuThread => None,
        Place::CpuThreads => on_rungs(data, &["barrier.threads"]),
        Place::Warp => on_rungs(data, &["warp.divergent", "warp.converged"]),
        Place::Block => on_rungs(data, &["block.1024"]),
        Place::Gpu => on_rungs(data, &["grid"]),
        Place::Gpus => on_rungs(data, &["devices.8", "devices.4", "devices.2"]),
    }
}

fn lock(data: &RunData, place: Place) -> Option<usize> {
    match place {
        Place::CpuThread => on_rungs(data, &["core.lock"]),
        Place::CpuThreads => on_rungs(data, &["lock.threads"]),
        _ => {
            let machine = MachineSize::of(&data.run.machine);
            let peers = Peers::of(data, Role::GpuLock, |case| place.holds(case, machine), Size::Most)?;
            let contest = peers.contest(Basis::Run);
            contest.best().map(|(_, best)| best.index).or_else(|| contest.first_row())
        }
    }
}

fn fence(data: &RunData, place: Place) -> Option<usize> {
    of_primitive(data, place, if place.is_cpu() { "cpu.fence.seq_cst" } else { "gpu.fence.device" })
}

fn hand_off(data: &RunData, place: Place) -> Option<usize> {
    match place {
        Place::CpuThread => on_rungs(data, &["handoff.close", "handoff.l3", "handoff.near"]),
        Place::Warp => on_rungs(data, &["host.flag"]),
        _ => None,
    }
}

fn wake_or_launch(data: &RunData, place: Place) -> Option<usize> {
    match place {
        Place::CpuThread => on_rungs(data, &["wake"]),
        Place::CpuThreads | Place::Gpus => None,
        _ => of_primitive(data, place, "gpu.launch.stream_sync"),
    }
}

/// An operation with its row at each place.
struct Sided {
    operation: &'static Operation,
    rows: [Option<usize>; 6],
}

impl Sided {
    /// The rows at which the two sides are compared.
    fn compared(&self) -> [Option<usize>; 2] {
        let cpu = if self.operation.by == By::Time { self.rows[0] } else { self.rows[1] };
        [cpu, self.rows[4]]
    }

    /// Which side is better, and by what factor: `GPU 31 times`, if the intervals decide.
    fn ratio(&self, data: &RunData) -> Option<String> {
        let [cpu, gpu] = self.compared();
        let (gpu_wins, cpu_wins, gpu_over, cpu_over) = match self.operation.by {
            By::Nothing => return None,
            By::Rate => {
                let (cpu, gpu) = (Total::written(data, cpu?)?, Total::written(data, gpu?)?);
                (gpu.is_above(&cpu), cpu.is_above(&gpu), gpu.over(&cpu), cpu.over(&gpu))
            }
            By::Time => {
                let of = |index| Known::written(data, index, Basis::Machine);
                let (cpu, gpu) = (of(cpu?)?, of(gpu?)?);
                (gpu.is_below(&cpu), cpu.is_below(&gpu), cpu.over(&gpu), gpu.over(&cpu))
            }
        };
        Some(match (gpu_wins, cpu_wins) {
            (true, _) => format!("GPU {gpu_over}"),
            (_, true) => format!("CPU {cpu_over}"),
            _ => "undecided".to_owned(),
        })
    }
}

/// The operations that a run has on both sides.
fn operations(data: &RunData) -> Vec<Sided> {
    let of = |operation| Sided { operation, rows: PLACES.map(|(place, _)| (operation.row)(data, place)) };
    let is_on_both =
        |one: &Sided| one.rows[..2].iter().any(Option::is_some) && one.rows[2..].iter().any(Option::is_some);
    OPERATIONS.iter().map(of).filter(is_on_both).collect()
}

/// `43.7 G/s`.
fn rate(number: f64, significant: i32) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (divisor, unit) = units.into_iter().find(|(least, _)| number >= *least).unwrap_or((1.0, ""));
    format!("{} {unit}/s", figure::digits(number / divisor, significant))
}

/// The total rate per second, if the sides are compared by it.
fn total(data: &RunData, index: usize, by: By) -> Option<String> {
    let total = Total::written(data, index).filter(|_| by == By::Rate)?;
    if let Some([low, high]) = total.range() {
        return Some(format!("{} to {}", rate(low, 2), rate(high, 2)));
    }
    let row = total.known.row;
    let (rough, significant) = if total.is_rough() { (figure::ROUGHLY, 2) } else { ("", 3) };
    Some(format!("{rough}{}", rate(total_rate(data, row)?, significant)))
}

/// The primitive, form and size of the row, and the total rate.
fn conditions(data: &RunData, index: usize, by: By) -> String {
    let case = data.case(index);
    let name = match data.catalogue.facts(&case.primitive).map(|facts| facts.role) {
        Some(Role::Update | Role::Access | Role::Fence) => case.bytes_apart().map(|bytes| format!("{bytes} B apart")),
        _ => Some(short_design(&data.catalogue, case)),
    };
    let group = case.group.as_ref().filter(|group| group.number().is_none()).map(naming::group);
    let is_said = |text: &String| name.as_ref().is_some_and(|name| name.contains(text.as_str()));
    let group = group.filter(|text| !text.is_empty() && !is_said(text));
    joined([total(data, index, by), Some(naming::size(case)), name.clone(), group], ", ").unwrap_or_default()
}

/// A cell of the table in other formats: the operation, the place, the row, and how both sides compare.
pub(crate) struct SideCell<'a> {
    pub(crate) operation: &'static str,
    pub(crate) place: &'static str,
    pub(crate) row: &'a Row,
    pub(crate) figure: String,
    /// The total rate of all threads.
    pub(crate) rate: Option<String>,
    pub(crate) ratio: Option<String>,
}

/// All cells, one operation after the other.
pub(crate) fn cells(data: &RunData) -> Vec<SideCell<'_>> {
    let of = |one: Sided| {
        let (ratio, operation) = (one.ratio(data), one.operation);
        let named = PLACES.into_iter().zip(one.rows);
        named.filter_map(move |((_, place), index)| {
            let row = data.rows.get(index?)?;
            let (figure, rate) = (Reading::of(row).figure, total(data, index?, operation.by));
            Some(SideCell { operation: operation.name, place, row, figure, rate, ratio: ratio.clone() })
        })
    };
    operations(data).into_iter().flat_map(of).collect()
}

/// Says in one sentence what the intervals establish.
pub(crate) fn sentence(data: &RunData) -> Option<String> {
    let found = contended_on_both_sides(data).filter(|found| found.verdict == Truth::Holds);
    found.map(|found| found.sentence)
}

/// The headings of the places, and of the comparison.
pub(crate) fn headings() -> impl Iterator<Item = &'static str> {
    PLACES.into_iter().map(|(_, heading)| heading).chain([COMPARED])
}

const COMPARED: &str = "Higher rate";

pub(crate) const NOTE: &str = "Each cell shows one thread's time per operation and, below it, all threads' combined operations per \
                               second (for barriers, how often per second all threads meet). Atomics act on i32 in global \
                               memory, relaxed and independent; per-thread variables have their own cache lines \
                               on the CPU and are adjacent on the GPU. The fences are fence(SeqCst) and \
                               __threadfence(). A GPU hand-off is a round trip. “Higher rate” compares the \
                               total rate of the CPU threads with that of the whole GPU; for waking and launching, \
                               times are compared instead.";

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let all = operations(data);
    let cell = |one: &Sided, index: usize| {
        let detail = Some(conditions(data, index, one.operation.by));
        Cell { detail, ..Cell::of(&data.rows[index], index) }
    };
    let line = |one: &Sided| {
        let ratio = one
            .ratio(data)
            .zip(one.compared()[1])
            .map(|(text, row)| Cell { also: one.compared()[0], ..Cell::note(text, row) });
        let cells = one.rows.iter().map(|index| index.map(|index| cell(one, index))).chain([ratio]);
        Line { label: one.operation.name.to_owned(), cells: cells.collect() }
    };
    let lines: Vec<Line> = all.iter().map(line).collect();
    let columns: Vec<String> = headings().map(str::to_owned).collect();
    let (columns, lines) = used(&columns, &lines);
    let table = Spec::table("One thread, and all together", &columns, lines);
    let row = |one: &Sided| {
        let point = |(colour, index): (usize, Option<usize>)| {
            let index = index?;
            let row = &data.rows[index];
            let row = Row { ops_per_s_total: total_rate(data, row), ..row.clone() };
            let point = Point::total_rate(&row, index, 0.0);
            Some(Point { colour: Some(colour), text: None, ..point })
        };
        let points = COLOURS.into_iter().zip(one.rows).filter_map(point).collect();
        Series { label: one.operation.name.to_owned(), primitive: None, colour: None, points }
    };
    let rates = all.iter().filter(|one| one.operation.by == By::Rate).map(row).collect();
    let is_used = |at: usize| all.iter().any(|one| one.rows[at].is_some());
    let keys = COLOURS.into_iter().zip(PLACES).map(|(colour, (_, label))| Key { colour, label }).enumerate();
    let legend = keys.filter(|(at, _)| is_used(*at)).map(|(_, key)| key).collect();
    let axis = Axis::log("operations per second, all threads together", Unit::Rate);
    let dots = Spec::dots(axis, rates).map(|chart| chart.with_legend(legend));
    Picture::of([table, dots], "Undecided in this run.", [Some(NOTE.to_owned())])
}

/// Compares additions to one variable by all CPUs and by all threads of a GPU, as total rates: the cost of one addition
/// grows with the threads that wait. Two instruments measured them, so the intervals for another run are compared.
fn contended_on_both_sides(data: &RunData) -> Option<Outcome> {
    let cpu = Total::written(data, atomic(data, Place::CpuThreads, "add", Layout::Shared, None)?)?;
    // A CPU's compiler never sums over a warp first, so the GPU row is one without it, too, if the run has such a row.
    let on_gpu = |form| atomic(data, Place::Gpu, "add", Layout::Shared, form);
    let index = on_gpu(Some(Form::NotAggregated)).or_else(|| on_gpu(None))?;
    let same = Case { form: None, ..data.case(index).clone() };
    let default = data.rows.iter().position(|row| row.case == same).unwrap_or(index);
    let gpu = Total::written(data, index)?;
    let is_gpu = gpu.is_above(&cpu);
    let ratio = if is_gpu { gpu.over(&cpu) } else { cpu.over(&gpu) };
    if !is_gpu && !cpu.is_above(&gpu) {
        let question = "whether CPU or GPU threads add more often to one variable";
        return Some(Outcome::open(format!("{question} ({cpu} and {gpu} per second)")));
    }
    let summed = Total::written(data, default).filter(|_| default != index);
    let summed = summed.map_or_else(String::new, |total| {
        let times = total.over(&cpu);
        let times = if is_gpu && total.is_above(&cpu) { format!(", {times} the CPU's rate") } else { String::new() };
        format!(
            " Where the compiler sums each warp's values first, the GPU performs {total} additions per second{times}."
        )
    });
    let (winner, loser) = if is_gpu {
        ("the whole GPU performs", "all CPU threads")
    } else {
        ("all CPU threads perform", "the whole GPU")
    };
    let (many, few) = (figure::grouped(gpu.known.row.case.actors()), cpu.known.row.case.actors());
    let text = format!(
        "On one variable, {winner} {ratio} as many atomic adds per second as {loser}: {many} GPU threads perform {gpu}; \
         {few} CPU threads perform {cpu}.{summed}"
    );
    let rows = [cpu.known.index, gpu.known.index].into_iter().chain((default != index).then_some(default));
    Some(Outcome::holds(text, rows).headed(ratio))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, decision, on_blocks, row, said, within};
    use super::*;

    fn with_rate(row: Row, rate: f64) -> Row {
        Row { ops_per_s_total: Some(rate), ..row }
    }

    #[test]
    fn rates_of_both_sides_are_compared() {
        let of = |case: Case, ns, share| {
            row(Case { layout: Some(Layout::Shared), dtype: Some(Dtype::I32), ..case }, ns, share)
        };
        let cpu = with_rate(of(case("cpu.atomic.add", 16), 366.0, 0.17), 43.8e6);
        let published = |row: &Row, rate| {
            let bare = Row { verdict: Verdict::Imported(String::new()), ..row.clone() };
            Row { ns_within: None, ns_interval: None, ..with_rate(bare, rate) }
        };
        let gpu = with_rate(of(on_blocks("gpu.atomic.add", 132, 1024), 99_000.0, 0.02), 1.37e9);
        let sentence = "On one variable, the whole GPU performs 31 times as many atomic adds per second as all CPU threads: \
                        135,168 GPU threads perform 1.37 billion; 16 CPU threads perform 43.8 million.";
        assert_eq!(said(contended_on_both_sides, vec![cpu.clone(), gpu.clone()]), Some(Ok(sentence.into())));
        let case = Case { form: Some(Form::NotAggregated), ..gpu.case.clone() };
        let form = Row { case, ..with_rate(gpu.clone(), 0.4e9) };
        let run = crate::testing::data(vec![cpu.clone(), gpu.clone(), form]);
        let Some(Outcome { sentence: text, rows, .. }) = contended_on_both_sides(&run) else { panic!("no answer") };
        assert!(text.starts_with("On one variable, the whole GPU performs 9.1 times as many atomic adds"), "{text}");
        assert!(
            text.ends_with(
                "Where the compiler sums each warp's values first, the GPU performs 1.37 billion additions per second, 31 times the CPU's rate."
            ),
            "{text}"
        );
        assert_eq!(rows, [0, 2, 1], "a row for each figure");
        assert_eq!(said(contended_on_both_sides, vec![cpu.clone()]), None);
        assert_eq!(said(contended_on_both_sides, vec![gpu.clone()]), None);
        let close = with_rate(row(gpu.case.clone(), 99_000.0, 0.02), 50e6);
        assert!(said(contended_on_both_sides, vec![cpu.clone(), close]).unwrap().is_err(), "17 % may swap them");
        let imports = |rate| vec![published(&cpu, 43.8e6), published(&gpu, rate)];
        assert!(said(contended_on_both_sides, imports(80e6)).unwrap().is_err(), "points differ by less than a factor");
        let sentence = said(contended_on_both_sides, imports(1.37e9)).unwrap().unwrap();
        assert!(
            sentence.starts_with("On one variable, the whole GPU performs 31 times as many atomic adds"),
            "{sentence}"
        );
        let noisy = |half: f64| {
            let row = within(cpu.clone(), 366.0 - half, 366.0 + half);
            vec![Row { verdict: Verdict::Noisy("wide".into()), ..row }, gpu.clone()]
        };
        let sentence = said(contended_on_both_sides, noisy(80.0)).unwrap().unwrap();
        assert!(sentence.ends_with("16 CPU threads perform ~44 million."), "{sentence}");
        let sentence = said(contended_on_both_sides, noisy(150.0)).unwrap().unwrap();
        assert!(
            sentence.starts_with("On one variable, the whole GPU performs at least 18 times as many atomic adds"),
            "{sentence}"
        );
        assert!(sentence.ends_with("16 CPU threads perform 31 million to 74 million."), "a range: {sentence}");
        assert_eq!(said(contended_on_both_sides, noisy(250.0)), None, "the table has no figure");
    }

    fn add(id: &str, blocks: Option<u32>, threads: u32, ns: f64, rate: f64) -> Row {
        let case = Case { blocks, layout: Some(Layout::Shared), dtype: Some(Dtype::I32), ..case(id, threads) };
        with_rate(row(case, ns, 0.02), rate)
    }

    #[test]
    fn each_place_has_its_row_and_ratios_are_of_one_form() {
        let gpu = |blocks, threads, ns, rate| add("gpu.atomic.add", Some(blocks), threads, ns, rate);
        let form = |one: Row| Row { case: Case { form: Some(Form::NotAggregated), ..one.case.clone() }, ..one };
        let wide = |one: Row| Row { case: Case { dtype: Some(Dtype::F64), ..one.case.clone() }, ..one };
        let cpu = |threads, ns, rate| add("cpu.atomic.add", None, threads, ns, rate);
        let rows = vec![
            cpu(1, 6.0, 160e6),
            cpu(16, 400.0, 40e6),
            cpu(32, 900.0, 35e6),
            gpu(1, 32, 3.0, 10e9),
            gpu(1, 1024, 32.0, 32e9),
            gpu(132, 1024, 3000.0, 44e9),
            form(gpu(132, 1024, 99_000.0, 1.36e9)),
            wide(gpu(132, 1024, 1.0, 1e15)),
        ];
        let run = data(rows);
        let cells = cells(&run);
        let of = |name: &str| {
            let own = cells.iter().filter(|cell| cell.operation == name);
            own.map(|cell| (cell.place, cell.row.ns.map(syncscope_core::Nanoseconds::value).unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        let (one, all) = (("One CPU thread", 6.0), ("All CPU threads", 400.0));
        let places = [one, all, ("One warp", 3.0), ("One block", 32.0), ("Whole GPU", 3000.0)];
        assert_eq!(of("Add, one variable"), places, "the largest team that fits, and one type");
        assert_eq!(of("Add, one variable, no warp sums"), [one, all, ("Whole GPU", 99_000.0)]);
        let ratio = |name: &str| cells.iter().find(|cell| cell.operation == name).and_then(|cell| cell.ratio.clone());
        assert_eq!(ratio("Add, one variable").as_deref(), Some("GPU 1,100 times"));
        assert_eq!(ratio("Add, one variable, no warp sums").as_deref(), Some("GPU 34 times"));
        assert_eq!(cells[0].rate.as_deref(), Some("160 M/s"));
        let card = decision("decide-sides", &run).unwrap();
        let [Spec::Table { columns, lines, .. }, Spec::Dots { rows, .. }] = card.charts.as_slice() else { panic!() };
        assert_eq!((columns.len(), lines.len(), rows.len()), (6, 2, 2), "no column without a cell");
        let compared = lines[1].cells[5].as_ref().unwrap();
        assert_eq!((compared.row, compared.also), (6, Some(1)), "the rows of both sides");
    }

    #[test]
    fn one_side_alone_is_not_compared() {
        assert_eq!(decision("decide-sides", &data(vec![add("cpu.atomic.add", None, 1, 6.0, 160e6)])), None);
        assert_eq!(decision("decide-sides", &data(vec![add("gpu.atomic.add", Some(1), 32, 6.0, 160e6)])), None);
    }
}
