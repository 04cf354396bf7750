//! The section of [`syncscope_core::published::asynchrony`].

use syncscope_core::published::asynchrony::arrival::{ArrivalRow, LaunchRow, NeighbourRow};
use syncscope_core::published::asynchrony::claim::ClaimVerdict;
use syncscope_core::published::asynchrony::claims::{ClaimRow, percent};
use syncscope_core::published::asynchrony::counted::{ClassRow, PositionRow};
use syncscope_core::published::asynchrony::position::{FOLD, PositionClass};
use syncscope_core::published::asynchrony::{Asynchrony, Variant, WARP_THREADS};

use super::svg::{Axis, Chart, Point};
use super::{Drawing, parts};
use crate::RunData;
use crate::figure::grouped;

pub(super) const DRAWING: Drawing = Drawing {
    id: "asynchrony",
    title: "Asynchrony: which components are updated one after the other",
    lead: "Anzt, Chow and Dongarra, On block-asynchronous execution on GPUs, LAPACK Working Note 291, 2016, figures 3 to 6. A \
           vector of ones; each thread clears its component if both neighbours are still one. A component that is still one \
           afterwards was updated after a neighbour: an inconsistency.",
    draw,
};

/// The size of a histogram.
const HISTOGRAM: (u32, u32) = (560, 190);

fn draw(data: &RunData) -> Option<String> {
    let found = data.published.asynchrony.as_ref()?;
    let mut html = claims(&found.claims);
    for (variant, title, note) in KERNELS {
        html.push_str(&histograms(found, variant, title, note));
    }
    html.push_str(&classes(&found.classes));
    html.push_str(&arrival(found));
    Some(html)
}

/// The kernels with their headings.
const KERNELS: [(Variant, &str, &str); 4] = [
    (Variant::Global, "Figure 5: directly in global memory", "kernel of figure 3; the right neighbour is read first"),
    (Variant::Shared, "Figure 6: through shared memory", "kernel of figure 4 with the intended indices"),
    (
        Variant::GlobalLeftFirst,
        "Control of figure 5: the left neighbour is read first",
        "otherwise as figure 3; not in the paper",
    ),
    (
        Variant::SharedUniform,
        "Control of figure 6: between the barriers all threads do the same",
        "the neighbours in other blocks are read before the first barrier; not in the paper",
    ),
];

fn claims(rows: &[ClaimRow]) -> String {
    let together: Vec<_> = rows.iter().filter(|row| row.block_threads.is_none()).map(claim).collect();
    if together.is_empty() {
        return String::new();
    }
    let headings = ["Claim", "Kernel", "Threads", "Verdict", "Share", "95 % interval", "Found"];
    let each: Vec<Vec<String>> = rows.iter().filter(|row| row.block_threads.is_some()).map(claim_cells).collect();
    let details = format!("<details><summary>Each block size</summary>{}</details>\n", parts::table(&headings, &each));
    parts::card("What becomes of the paper's claims", "", &(parts::claims(&together) + &details))
}

fn claim(row: &ClaimRow) -> (parts::Outcome, String, String) {
    let outcome = match row.verdict {
        ClaimVerdict::Holds => parts::Outcome::Holds,
        ClaimVerdict::DoesNotHold => parts::Outcome::Fails,
        ClaimVerdict::CannotBeDecided => parts::Outcome::Open,
    };
    let kernel = row.variant.map(|variant| format!(" Kernel {variant}.")).unwrap_or_default();
    let figures = format!("{}; {}", row.found, row.claim.source());
    (outcome, format!("{}{kernel}", row.claim.statement()), figures)
}

fn claim_cells(row: &ClaimRow) -> Vec<String> {
    let interval = row.share_low.zip(row.share_high);
    vec![
        row.claim.as_str().replace('_', " "),
        row.variant.map(|variant| variant.to_string()).unwrap_or_default(),
        row.block_threads.map(|threads| threads.to_string()).unwrap_or_default(),
        row.verdict.as_str().replace('_', " "),
        row.share.map(percent).unwrap_or_default(),
        interval.map(|(low, high)| format!("{} to {}", percent(low), percent(high))).unwrap_or_default(),
        row.found.clone(),
    ]
}

/// A histogram for each block size.
fn histograms(found: &Asynchrony, variant: Variant, title: &str, note: &str) -> String {
    let rows: Vec<&PositionRow> = found.positions.iter().filter(|row| row.variant == variant).collect();
    if rows.is_empty() {
        return String::new();
    }
    let charts: Vec<String> =
        rows.chunk_by(|one, next| one.block_threads == next.block_threads).map(histogram).collect();
    let figures = charts.concat();
    parts::card(title, note, &format!("{KEY}<div class=\"histograms\">{figures}</div>"))
}

/// What the colours mean.
const KEY: &str = "<p>Share of the updates that were inconsistent, at each position modulo 256. <span class=\"swatch\" \
                   style=\"--c: var(--s0)\"></span> first component of a warp or block, <span class=\"swatch\" \
                   style=\"--c: var(--s1)\"></span> last, <span class=\"swatch\" style=\"--c: var(--s3)\"></span> inside.</p>";

/// The histogram of one block size.
fn histogram(rows: &[&PositionRow]) -> String {
    let threads = rows[0].block_threads;
    let highest = rows.iter().map(|row| share(row)).fold(0.0, f64::max);
    let (unit, factor) = if highest < 1e-4 { ("per million", 1e6) } else { ("%", 100.0) };
    let x = Axis::stepped("position modulo 256", -1.0, f64::from(FOLD), 32.0);
    let y = Axis::linear(unit, 0.0, if highest > 0.0 { highest * factor } else { 1.0 });
    let mut chart = Chart::new(&format!("inconsistencies by position, blocks of {threads} threads"), HISTOGRAM, x, y);
    for row in rows.iter().filter(|row| row.inconsistencies > 0) {
        let at = f64::from(row.position);
        let tip =
            format!("position {}: {} of {} updates", row.position, grouped(row.inconsistencies), grouped(updates(row)));
        chart.bar((at - 0.5, 0.0), (at + 0.5, share(row) * factor), colour(row.position, threads), &tip);
    }
    let found = match rows.iter().map(|row| row.inconsistencies).sum() {
        0 => "none".to_owned(),
        found => grouped(found),
    };
    let caption = format!("{threads} threads: {found} in {} executions", grouped(rows[0].executions));
    format!("<figure>{}<figcaption>{caption}</figcaption></figure>", chart.finish())
}

fn updates(row: &PositionRow) -> u64 {
    row.components * row.executions
}

fn share(row: &PositionRow) -> f64 {
    if updates(row) == 0 { 0.0 } else { row.inconsistencies as f64 / updates(row) as f64 }
}

/// By the place in the warp, or in the block where that is smaller: larger blocks fold onto the same positions.
fn colour(position: u32, block_threads: u32) -> usize {
    match PositionClass::of(position, block_threads.min(WARP_THREADS)) {
        PositionClass::BlockFirst | PositionClass::WarpFirst => 0,
        PositionClass::BlockLast | PositionClass::WarpLast => 1,
        PositionClass::Inside => 3,
    }
}

/// A line for each kernel and block size.
fn classes(rows: &[ClassRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let headings: Vec<String> = PositionClass::ALL.iter().map(|class| class.as_str().replace('_', " ")).collect();
    let fixed = ["Kernel", "Threads", "Blocks", "At once", "Executions", "Seconds"];
    let headings: Vec<&str> = fixed.into_iter().chain(headings.iter().map(String::as_str)).collect();
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
        fixed.into_iter().chain(rows.iter().map(|row| row.share.map_or("-".to_owned(), percent))).collect()
    };
    let same = |one: &ClassRow, next: &ClassRow| (one.variant, one.block_threads) == (next.variant, next.block_threads);
    let lines: Vec<Vec<String>> = rows.chunk_by(same).map(of_size).collect();
    parts::card(
        "Executions with an inconsistency, by where it is",
        "share of the executions in which at least one component of the class kept its one",
        &parts::table(&headings, &lines),
    )
}

/// In which order blocks arrive, and on which multiprocessors.
fn arrival(found: &Asynchrony) -> String {
    let mut cards = String::new();
    if !found.neighbours.is_empty() {
        let headings = [
            "Threads",
            "Blocks",
            "Launches",
            "Lower first",
            "95 % interval",
            "Rank correlation",
            "First to last",
            "Apart",
        ];
        let rows: Vec<Vec<String>> = found.neighbours.iter().map(neighbour_cells).collect();
        let note =
            "blocks with successive numbers: how often the lower one arrived first at a counter in global memory";
        cards.push_str(&parts::card("The order in which blocks arrive", note, &parts::table(&headings, &rows)));
    }
    if !found.launches.is_empty() {
        let note = "one block for each multiprocessor; the list of their multiprocessors is the assignment";
        let text = parts::paragraph(
            "A grid that does not fit on the device precedes each draw. The same grid is then launched several times.",
        );
        let content = format!("{text}{}{}", sequence(&found.launches), assignments(found));
        cards.push_str(&parts::card("On which multiprocessors blocks run", note, &content));
    }
    cards
}

fn neighbour_cells(row: &NeighbourRow) -> Vec<String> {
    let interval = row.share_low.zip(row.share_high);
    let ns = |value: Option<f64>| value.map(|value| format!("{value:.0} ns")).unwrap_or_default();
    vec![
        row.block_threads.to_string(),
        row.blocks.to_string(),
        row.launches.to_string(),
        row.share.map(percent).unwrap_or_default(),
        interval.map(|(low, high)| format!("{} to {}", percent(low), percent(high))).unwrap_or_default(),
        row.rank_correlation.map(|correlation| format!("{correlation:.2}")).unwrap_or_default(),
        ns(row.span_ns),
        ns(row.apart_ns),
    ]
}

/// The assignment of each launch, in the order of the launches.
fn sequence(rows: &[LaunchRow]) -> String {
    let most = rows.iter().map(|row| row.assignment).max().unwrap_or(1);
    let x = Axis::linear("launch", 0.0, rows.len() as f64);
    let y = Axis::linear("assignment", 0.0, f64::from(most) + 1.0);
    let mut chart = Chart::new("number of the assignment of each launch", (960, 240), x, y);
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    for (number, row) in rows.iter().enumerate() {
        let points = if row.draw % 2 == 0 { &mut even } else { &mut odd };
        points.push(Point { x: number as f64, y: f64::from(row.assignment), interval: None });
    }
    chart.points(&even, 0);
    chart.points(&odd, 1);
    chart.legend(0, "launches of draws with even numbers");
    chart.legend(1, "with odd numbers");
    chart.finish()
}

/// The multiprocessors of the blocks of the first two launches.
fn assignments(found: &Asynchrony) -> String {
    let of_launch = |launch| found.arrivals.iter().filter(move |row| row.draw == 0 && row.launch == launch);
    let most = found.arrivals.iter().map(|row| row.multiprocessor).max().unwrap_or(0);
    let blocks = of_launch(0).count();
    if blocks == 0 {
        return String::new();
    }
    let x = Axis::linear("block", 0.0, blocks as f64);
    let y = Axis::linear("multiprocessor", 0.0, f64::from(most));
    let mut chart = Chart::new("multiprocessor of each block", (960, 300), x, y);
    for launch in 0..2 {
        let point =
            |row: &ArrivalRow| Point { x: f64::from(row.block), y: f64::from(row.multiprocessor), interval: None };
        chart.points(&of_launch(launch).map(point).collect::<Vec<_>>(), launch as usize);
        chart.legend(launch as usize, &format!("launch {}", launch + 1));
    }
    chart.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::testing;
    use syncscope_core::Published;
    use syncscope_core::published::asynchrony::arrival::{self, Arrival, LaunchArrivals};
    use syncscope_core::published::asynchrony::claims;
    use syncscope_core::published::asynchrony::counted::{Batch, Counted};

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
        let classes: Vec<ClassRow> = counted.iter().flat_map(Counted::classes).collect();
        let block = |place: u32| Arrival { multiprocessor: 2 * place, place, time_ns: 32 * u64::from(place) };
        let launches: Vec<LaunchArrivals> =
            (0..3).map(|launch| LaunchArrivals { draw: 0, launch, blocks: (0..4).map(block).collect() }).collect();
        Asynchrony {
            positions: counted.iter().flat_map(Counted::positions).collect(),
            claims: claims::claims_of_kernels(&classes),
            classes,
            neighbours: vec![arrival::neighbour_row(64, &launches)],
            launches: arrival::launch_rows(&launches),
            arrivals: arrival::arrival_rows(&launches),
        }
    }

    fn page(asynchrony: Option<Asynchrony>) -> Option<String> {
        let (run, rows, details) = (testing::run(), Vec::new(), HashMap::new());
        let published = Published { asynchrony, ..Published::default() };
        draw(&RunData {
            name: "run".to_owned(),
            run,
            rows,
            details,
            published,
            damage: crate::Damage::default(),
            catalogue: crate::testing::catalogue(),
        })
    }

    #[test]
    fn a_histogram_has_a_bar_where_something_was_found_and_says_where_nothing_was() {
        let html = page(Some(found())).unwrap();
        assert_eq!(html.matches("<rect").count(), 2, "positions 64 and 32");
        assert!(html.contains("position 64: 30 of 4,000,000 updates") && html.contains("position 32: 7 of"), "{html}");
        assert!(html.contains("64 threads: none in 1,000,000 executions"), "the kernel with shared memory");
        assert!(html.contains("Figure 5") && html.contains("Figure 6") && !html.contains("Control"), "no empty card");
        for word in ["NaN", "inf\"", "None"] {
            assert!(!html.contains(word), "{word}");
        }
    }

    #[test]
    fn every_claim_has_its_verdict() {
        let html = page(Some(found())).unwrap();
        assert!(
            html.contains("holds</span> No inconsistency between components of one warp. Kernel global."),
            "{html}"
        );
        assert!(html.contains("0 to 3.84 ppm"), "the bound of what was not seen: {html}");
    }

    #[test]
    fn a_directory_with_the_histogram_alone_is_drawn() {
        let html = page(Some(Asynchrony { positions: found().positions, ..Asynchrony::default() })).unwrap();
        assert!(html.contains("Figure 5") && !html.contains("claims") && !html.contains("multiprocessor"), "{html}");
        assert_eq!(page(None), None);
    }

    #[test]
    fn colours_are_those_of_the_place_in_the_warp() {
        assert_eq!([0, 32, 31, 63, 5].map(|position| colour(position, 1024)), [0, 0, 1, 1, 3]);
        assert_eq!([0, 8, 7, 3].map(|position| colour(position, 8)), [0, 0, 1, 3]);
    }
}
