//! The section about block-asynchronous updates, for the page and the terminal.

use syncscope_core::stats::Proportion;
use syncscope_report::section::{Column, Part, Section};
use syncscope_report::{Axis, Chart, Finding, Rectangle, figure, grouped};

use super::arrival::{LaunchRow, NeighbourRow, OrderSummary, summary};
use super::claims::{ClaimRow, claims, percent};
use super::counted::{ClassRow, FOLD, PositionClass, PositionRow, proportion};
use super::{Asynchrony, Variant, WARP_THREADS};

/// The kernels with their headings.
const KERNELS: [(Variant, &str, &str); 4] = [
    (Variant::Global, "Figure 5: directly in global memory", "the kernel of figure 3, which reads the right \
                       neighbour first"),
    (Variant::Shared, "Figure 6: through shared memory", "the kernel of figure 4 with the intended indices"),
    (
        Variant::GlobalLeftFirst,
        "Control for figure 5: the left neighbour is read first",
        "otherwise like figure 3, but not in the paper",
    ),
    (
        Variant::SharedUniform,
        "Control for figure 6: all threads do the same work between the barriers",
        "reads neighbours in other blocks before the first barrier; not in the paper",
    ),
];

/// Pixels of the row of a list.
const LIST_ROW: u32 = 16;

/// The meaning of the bars' colours.
const PLACES: [(usize, &str); 3] = [(0, "first component that a warp or block updates"), (1, "last component"), (3, "in between")];

pub(super) fn section(found: &Asynchrony, device: &str) -> Section {
    let rows = claims(found, device);
    let together = || rows.iter().filter(|row| row.block_threads.is_none());
    let of_sizes = rows.iter().filter(|row| row.block_threads.is_some()).map(claim_cells).collect();
    let headings = ["Claim", "Kernel", "Threads", "Verdict", "Share", "95 % interval", "Found"];
    let claims: Vec<Finding> = together().map(ClaimRow::finding).collect();
    let claims = Part::about(&claims, "What became of the claims of the paper", "", |claims| {
        let of_sizes = vec![Part::table(&headings, of_sizes)];
        vec![Part::Claims(claims.to_vec()), Part::Folded("Each block size".to_owned(), of_sizes)]
    });
    let mut parts: Vec<Part> = claims.into_iter().collect();
    parts.extend(KERNELS.into_iter().filter_map(|(variant, title, note)| histograms(found, variant, title, note)));
    parts.extend(classes(&found.classes));
    parts.extend(neighbours(&found.neighbours));
    parts.extend(assignments(found));
    Section {
        name: super::NAME,
        title: "Asynchrony: components updated after a neighbour",
        lead: "Anzt, Chow and Dongarra, On block-asynchronous execution on GPUs, LAPACK Working Note 291, 2016, \
               figures 3 to 6. The vector starts as all ones, and each thread clears its component (array element) if both \
               neighbours are still 1. A component that still holds 1 at the end counts as an inconsistency: \
               a neighbour was cleared before it.",
        answers: Vec::new(),
        parts,
        claims: together().filter(|row| row.in_paper).map(ClaimRow::finding).collect(),
    }
}

fn claim_cells(row: &ClaimRow) -> Vec<String> {
    vec![
        row.claim.as_str().replace('_', " "),
        row.variant.map(|variant| variant.to_string()).unwrap_or_default(),
        row.block_threads.map(|threads| threads.to_string()).unwrap_or_default(),
        row.verdict.words().to_owned(),
        row.share.map(|known| percent(known.share)).unwrap_or_default(),
        row.share.map(interval).unwrap_or_default(),
        row.found.clone(),
    ]
}

fn interval(Proportion { interval, .. }: Proportion) -> String {
    format!("{} to {}", percent(interval.low), percent(interval.high))
}

/// A histogram for each block size.
fn histograms(found: &Asynchrony, variant: Variant, title: &str, note: &str) -> Option<Part> {
    let rows: Vec<&PositionRow> = found.positions.iter().filter(|row| row.variant == variant).collect();
    let of_sizes = rows.chunk_by(|one, next| one.block_threads == next.block_threads);
    let (inconsistent, consistent): (Vec<_>, Vec<_>) =
        of_sizes.partition(|rows| rows.iter().any(|row| row.inconsistencies > 0));
    let about = "Share of inconsistent updates at each position (modulo 256).";
    let mut content = vec![Part::paragraph(about)];
    if !inconsistent.is_empty() {
        content.push(Part::Charts(inconsistent.into_iter().map(histogram).collect()));
    }
    if !consistent.is_empty() {
        let sums: Vec<String> = consistent.into_iter().map(sum_of).collect();
        content.push(Part::paragraph(format!("{}.", sums.join("; "))));
    }
    (!rows.is_empty()).then(|| Part::card(title, note, content))
}

/// The histogram of one block size.
fn histogram(rows: &[&PositionRow]) -> Chart {
    let threads = rows[0].block_threads;
    let highest = rows.iter().map(|row| share(row)).fold(0.0, f64::max);
    let (unit, factor) = if highest < 1e-4 { ("per million", 1e6) } else { ("%", 100.0) };
    let axes = (
        Axis::count("position modulo 256", -1.0, f64::from(FOLD)).at((0..FOLD).step_by(32).map(f64::from).collect()),
        Axis::plain(unit, 0.0, if highest > 0.0 { 1.06 * highest * factor } else { 1.0 }),
    );
    let bar = |row: &&PositionRow| {
        let (at, tip) = (f64::from(row.position), format!("position {}", row.position));
        let tip = format!("{tip}: {} of {} updates", grouped(row.inconsistencies), grouped(updates(row)));
        Rectangle((at - 0.5, at + 0.5), (0.0, share(row) * factor), colour(row.position, threads), tip)
    };
    let bars: Vec<Rectangle> = rows.iter().filter(|row| row.inconsistencies > 0).map(bar).collect();
    let legend: Vec<_> = PLACES.into_iter().filter(|(colour, _)| bars.iter().any(|bar| bar.2 == *colour)).collect();
    Chart::rectangles(&sum_of(rows), axes, &legend, bars)
}

/// `64 threads: no inconsistencies in 100,000 executions`.
fn sum_of(rows: &[&PositionRow]) -> String {
    let found = match rows.iter().map(|row| row.inconsistencies).sum() {
        0 => "no inconsistencies".to_owned(),
        1 => "1 inconsistency".to_owned(),
        found => format!("{} inconsistencies", grouped(found)),
    };
    format!("{} threads: {found} in {} executions", rows[0].block_threads, grouped(rows[0].executions))
}

fn updates(row: &PositionRow) -> u64 {
    row.components.saturating_mul(row.executions)
}

fn share(row: &PositionRow) -> f64 {
    if updates(row) == 0 { 0.0 } else { row.inconsistencies as f64 / updates(row) as f64 }
}

/// The colour of a bar, by the place in the warp, or in the block if that is smaller: larger blocks fold onto the same
/// positions.
fn colour(position: u32, block_threads: u32) -> usize {
    match PositionClass::of(position, block_threads.min(WARP_THREADS)) {
        PositionClass::BlockFirst | PositionClass::WarpFirst => 0,
        PositionClass::BlockLast | PositionClass::WarpLast => 1,
        PositionClass::Inside => 3,
    }
}

/// A line for each kernel and block size.
fn classes(rows: &[ClassRow]) -> Option<Part> {
    let of_classes: Vec<String> = PositionClass::ALL.iter().map(|class| class.as_str().replace('_', " ")).collect();
    let fixed = ["Kernel", "Threads", "Blocks", "At once", "Executions", "Seconds"];
    let headings: Vec<&str> = fixed.into_iter().chain(of_classes.iter().map(String::as_str)).collect();
    let of_size = |rows: &[ClassRow]| {
        let first = &rows[0];
        let fixed = [
            first.variant.to_string(),
            first.block_threads.to_string(),
            first.blocks.to_string(),
            first.resident_blocks.min(first.blocks).to_string(),
            grouped(first.executions),
            format!("{:.2}", first.seconds),
        ];
        fixed.into_iter().chain(rows.iter().map(|row| row.share.map_or("–".to_owned(), percent))).collect()
    };
    let same = |one: &ClassRow, next: &ClassRow| (one.variant, one.block_threads) == (next.variant, next.block_threads);
    let note = "share of executions in which at least one component of the class was left at 1";
    Part::about(rows, "Executions with an inconsistency, by position", note, |rows| {
        vec![Part::table(&headings, rows.chunk_by(same).map(of_size).collect())]
    })
}

/// The order in which blocks arrive.
fn neighbours(rows: &[NeighbourRow]) -> Option<Part> {
    let columns: [Column<NeighbourRow>; 8] = [
        ("Threads", |row| row.block_threads.to_string()),
        ("Blocks", |row| row.blocks.to_string()),
        ("Launches", |row| row.launches.to_string()),
        ("Lower first", |row| row.share.map(percent).unwrap_or_default()),
        ("95 % interval", |row| proportion(row.share, row.share_low, row.share_high).map(interval).unwrap_or_default()),
        ("Rank correlation", |row| row.rank_correlation.map(|found| format!("{found:.2}")).unwrap_or_default()),
        ("First to last", |row| row.span_ns.map(|ns| format!("{ns:.0} ns")).unwrap_or_default()),
        ("Neighbour gap", |row| row.apart_ns.map(apart).unwrap_or_default()),
    ];
    let note = "share of successive block pairs in which the lower-numbered block reached a counter in global memory \
                first";
    Part::about(rows, "The order in which blocks arrive", note, |rows| vec![Part::columns(rows, columns)])
}

fn apart(ns: f64) -> String {
    if ns == 0.0 { "below one timer step".to_owned() } else { format!("{ns:.0} ns") }
}

/// Assignment of blocks to multiprocessors.
fn assignments(found: &Asynchrony) -> Option<Part> {
    let OrderSummary { launches, assignments, draws, alternating_draws, .. } = summary(&found.launches)?;
    let text = format!(
        "In {} launches, blocks were assigned to multiprocessors in {assignments} different ways. A draw is one launch \
         of a grid that oversubscribes the device, followed by several launches of the observed grid. In {}, two \
         assignments alternate from launch to launch.",
        grouped(launches),
        figure::share(alternating_draws as usize, draws as usize, "draw").0,
    );
    let charts: Vec<Part> = [sequence(&found.launches), multiprocessors(found)].into_iter().flatten().collect();
    let content = [vec![Part::paragraph(text)], charts].concat();
    Some(Part::card("Assignment of blocks to multiprocessors", "one block for each multiprocessor", content))
}

/// The most lists that are drawn, each in a row of its own.
const MOST_LISTS: usize = 256;

/// The list of multiprocessors of each launch, in the order of the launches.
fn sequence(rows: &[LaunchRow]) -> Option<Part> {
    // Assignments are numbered in order of first appearance.
    let most = rows.iter().map(|row| row.assignment).max().filter(|most| *most as usize <= rows.len().min(MOST_LISTS))?;
    let mark = |(number, row): (usize, &LaunchRow)| {
        let (at, assignment) = (number as f64, f64::from(row.assignment));
        let tip = format!("draw {}, launch {}: list {}", row.draw, row.launch + 1, row.assignment);
        Rectangle((at, at + 1.0), (assignment - 0.4, assignment + 0.4), 0, tip)
    };
    let axes = (
        Axis::count("launch", 0.0, rows.len() as f64),
        Axis::count("list, in order of first appearance", 0.0, f64::from(most) + 1.0)
            .at((1..=most).map(f64::from).collect()),
    );
    let marks = rows.iter().enumerate().map(mark).collect();
    let chart = Chart::rectangles("Multiprocessor list of each launch", axes, &[], marks);
    Some(Part::Charts(vec![chart.high(90 + LIST_ROW * most)]))
}

/// The multiprocessors of the blocks of the first two launches.
fn multiprocessors(found: &Asynchrony) -> Option<Part> {
    let rows = || found.arrivals.iter().filter(|row| row.draw == 0 && row.launch < 2);
    let most = f64::from(rows().map(|row| row.multiprocessor).max()?);
    let blocks = f64::from(rows().map(|row| row.block).max()?);
    let mark = |row: &super::ArrivalRow| {
        let (x, y) = (f64::from(row.block), f64::from(row.multiprocessor));
        let tip = format!("block {}, launch {}: multiprocessor {}", row.block, row.launch + 1, row.multiprocessor);
        Rectangle((x, x + 1.0), (y, y + 1.0), row.launch as usize, tip)
    };
    let axes = (Axis::count("block", 0.0, blocks + 1.0), Axis::count("multiprocessor", 0.0, most + 1.0));
    let legend = [(0, "launch 1"), (1, "launch 2")];
    let chart = Chart::rectangles("Multiprocessor on which each block ran", axes, &legend, rows().map(mark).collect());
    Some(Part::Charts(vec![chart.high(320)]))
}

#[cfg(test)]
mod tests {
    use super::super::arrival::{self, ArrivalRow};
    use super::super::counted::{Batch, Counted};
    use super::*;

    /// Two kernels with blocks of 64 threads: one with inconsistencies at the first components, one without any.
    fn found() -> Asynchrony {
        let counted = |variant, by_position: Vec<u64>, with| Counted {
            variant,
            block_threads: 64,
            components: 1024,
            resident_blocks: 8,
            by_position,
            batches: vec![Batch { executions: 1_000_000, with }],
            seconds: 1.5,
        };
        let mut by_position = vec![0; 1024];
        (by_position[64], by_position[32]) = (30, 7);
        let counted =
            [counted(Variant::Global, by_position, [0, 7, 0, 30, 0]), counted(Variant::Shared, vec![0; 1024], [0; 5])];
        let block = |launch: u32, place: u32| ArrivalRow {
            draw: 0,
            launch,
            block: place,
            multiprocessor: 2 * place,
            place,
            after_first_ns: 32 * u64::from(place),
        };
        let launches: Vec<Vec<ArrivalRow>> =
            (0..3).map(|launch| (0..4).map(|place| block(launch, place)).collect()).collect();
        Asynchrony {
            positions: counted.iter().flat_map(Counted::positions).collect(),
            classes: counted.iter().flat_map(Counted::classes).collect(),
            neighbours: vec![arrival::neighbour_row(64, &launches)],
            launches: arrival::launch_rows(&launches),
            arrivals: arrival::kept(&launches),
        }
    }

    #[test]
    fn a_histogram_has_a_bar_where_something_was_found_and_says_where_nothing_was() {
        let drawn = format!("{:?}", section(&found(), "NVIDIA H200").parts);
        assert_eq!(drawn.matches("of 4,000,000 updates").count(), 2, "positions 64 and 32: {drawn}");
        assert!(drawn.contains("position 64: 30 of 4,000,000 updates") && drawn.contains("position 32: 7 of"));
        assert!(drawn.contains("64 threads: 37 inconsistencies in 1,000,000 executions"), "{drawn}");
        assert!(drawn.contains("64 threads: no inconsistencies in 1,000,000 executions"), "the kernel with shared memory");
        assert!(
            drawn.contains("Figure 5") && drawn.contains("Figure 6") && !drawn.contains("Control"),
            "no empty card"
        );
        assert!(!drawn.contains("NaN") && !drawn.contains("inf,"), "{drawn}");
        assert!(drawn.contains("A draw is one launch of a grid that oversubscribes the device"), "{drawn}");
    }

    #[test]
    fn every_claim_has_its_verdict() {
        let section = section(&found(), "NVIDIA H200");
        let text = section.to_string();
        assert!(text.contains("\nholds: Components updated by the same warp show no inconsistencies (kernel `global`)."), "{text}");
        assert!(text.contains("0 to 3.84 ppm") || text.contains("3.84 ppm"), "the bound of what was not seen: {text}");
        assert!(section.claims.iter().all(|claim| claim.id.starts_with("anzt.")), "{:?}", section.claims);
        assert!(text.contains("0.00 %") || text.contains("ppm"), "{text}");
    }

    #[test]
    fn a_directory_with_the_histogram_alone_is_drawn() {
        let drawn = section(&Asynchrony { positions: found().positions, ..Asynchrony::default() }, "");
        let parts = format!("{:?}", drawn.parts);
        assert!(parts.contains("Figure 5") && !parts.contains("multiprocessor"), "{parts}");
        assert_eq!(drawn.claims, []);
    }

    #[test]
    fn colours_are_those_of_the_place_in_the_warp() {
        assert_eq!([0, 32, 31, 63, 5].map(|position| colour(position, 1024)), [0, 0, 1, 1, 3]);
        assert_eq!([0, 8, 7, 3].map(|position| colour(position, 8)), [0, 0, 1, 3]);
    }
}
