//! What follows from the times: the cost of barriers, what a paper states of its listing, and answers in one sentence
//! each, number first.

use std::fmt::Display;

use syncscope_core::Row;
use syncscope_core::units::plural;
use syncscope_report::{Finding, Outcome, Paper, Ratio, Truth, grouped, has_figure, rough_time, time};

use super::prediction::{Agreement, Decision, predicted};
use super::{Class, Measured, measured};
use crate::Claim;

/// What barriers cost at one size, by comparison with a variant that is launched in the same way and has one atomic
/// operation of each block. That variant needs no barrier, so what another one takes more is the cost of its barrier
/// and of what comes after it.
#[derive(Debug, Clone)]
pub(super) struct Boundary {
    pub(super) elements: u64,
    /// How the kernels of a chain are launched.
    pub(super) launched_by: &'static str,
    /// The cost of the end of a kernel and of the kernel that joins, with half of its interval.
    pub(super) kernel: Option<(f64, f64)>,
    /// The cost of the grid barrier (cooperative groups) and of the block that joins, with half of its interval.
    pub(super) grid: Option<(f64, f64)>,
}

/// The way to launch that does not depend on the host.
const ONE_GRAPH: &str = "one graph";

/// Ways to launch: the variants without a barrier, with the end of a kernel, and with the barrier of a grid.
const LAUNCHED_BY: [(&str, [&str; 3]); 3] = [
    ("stream, queued while kernels run", ["atomic", "kernel_boundary", "grid_cooperative"]),
    ("stream, queued first", ["atomic_queued", "kernel_boundary_queued", "grid_queued"]),
    (ONE_GRAPH, ["atomic_graph_chain", "graph_chain", "grid_graph_chain"]),
];

/// The costs of barriers, for each size and each way of launching that was measured.
pub(super) fn boundaries(rows: &[Row]) -> Vec<Boundary> {
    let all = measured(rows);
    let sizes = all.chunk_by(|one, other| one.problem() == other.problem()).filter(|of| of[0].class == Class::Device);
    let of_size = |of_size: &[Measured<'_>]| {
        LAUNCHED_BY.map(|(launched_by, names)| {
            let [without, kernel, grid] = names.map(|name| of_size.iter().find(|one| one.name == name));
            let more = |with: Option<&Measured<'_>>| {
                let (with, without) = (with?, without?);
                Some((with.ns - without.ns, f64::hypot(with.half_width_ns, without.half_width_ns)))
            };
            Boundary { elements: of_size[0].elements, launched_by, kernel: more(kernel), grid: more(grid) }
        })
    };
    sizes.flat_map(of_size).filter(|found| found.kernel.is_some() || found.grid.is_some()).collect()
}

/// How many times as fast as the second reduction the fifth is, and how far off a figure may be that still agrees.
const SPEEDUP: f64 = 2.5;
const TOLERANCE: f64 = 0.2;

/// The five reductions of listing 1 (Burtchell and Burtscher, section II), at the largest size at which all were measured.
fn listing<'a>(rows: &'a [Row]) -> Option<[Measured<'a>; 5]> {
    let all = measured(rows);
    let of_size = |of_size: &[Measured<'a>]| {
        let of = |number: usize| of_size.iter().find(|one| one.name == format!("listing_{number}")).copied();
        Some([of(1)?, of(2)?, of(3)?, of(4)?, of(5)?])
    };
    let complete = all.chunk_by(|one, other| one.problem() == other.problem()).filter_map(of_size);
    complete.max_by_key(|five| five[0].elements)
}

/// The paper's statements about its listing.
pub(super) fn listing_claims(rows: &[Row]) -> Vec<Finding> {
    let Some([first, second, third, fourth, fifth]) = listing(rows) else {
        return Vec::new();
    };
    let best = [first, second, third, fourth].iter().map(|one| one.ns).fold(f64::INFINITY, f64::min);
    let elements = grouped(first.elements);
    let [one, two, three, four] = [first, second, third, fourth].map(|one| time(one.ns));
    let claim = |statement, holds: Option<bool>, figures| Claim {
        statement,
        place: "listing 1, section II-C",
        truth: holds.into(),
        figures,
    };
    let claims = [
        claim(
            "Of the first four reductions, reduction 3 is the fastest, followed by 4, 1 and 2.",
            each_is_longer([(fourth, third), (first, fourth), (second, first)]),
            format!("{elements} elements: (1) {one}, (2) {two}, (3) {three}, (4) {four}"),
        ),
        claim(
            "Reduction 5, with several elements for each thread, outperforms the other four.",
            each_is_longer([first, second, third, fourth].map(|one| (one, fifth))),
            format!("{}, and the best of the four {}", time(fifth.ns), time(best)),
        ),
        claim(
            "Reduction 5 is about 2.5 times faster than reduction 2.",
            is_about(second, fifth, SPEEDUP),
            format!("{:.1} times", second.ns / fifth.ns),
        ),
    ];
    Claim::findings(Paper::Burtchell, "burtchell.listing1", claims)
}

/// Whether the first of each pair takes longer than the second; `None` where the intervals do not decide.
fn each_is_longer<const N: usize>(pairs: [(Measured<'_>, Measured<'_>); N]) -> Option<bool> {
    if pairs.iter().any(|(one, other)| is_longer(other, one)) {
        return Some(false);
    }
    pairs.iter().all(|(one, other)| is_longer(one, other)).then_some(true)
}

/// Whether one takes about `times` as long as the other; `None` where the intervals do not decide.
fn is_about(one: Measured<'_>, other: Measured<'_>, times: f64) -> Option<bool> {
    let least = (one.ns - one.half_width_ns) / (other.ns + other.half_width_ns);
    let most = (one.ns + one.half_width_ns) / (other.ns - other.half_width_ns).max(0.0);
    let (from, to) = (times * (1.0 - TOLERANCE), times * (1.0 + TOLERANCE));
    if most < from || to < least {
        return Some(false);
    }
    (from <= least && most <= to).then_some(true)
}

/// The answers that the rows of a run give.
pub(super) fn answers(rows: &[Row]) -> Vec<Outcome> {
    let all = measured(rows);
    let of = |answer: fn(&[Measured<'_>]) -> Option<Outcome>| answer(&all);
    let five_and_two = listing(rows).as_ref().map(five_and_two);
    [recommendation(rows), of(fastest), boundary(rows), of(devices), five_and_two].into_iter().flatten().collect()
}

/// The loss with the variants that primitive costs recommend; `None` in a run without costs of primitives.
pub(super) fn recommendation(rows: &[Row]) -> Option<Outcome> {
    let (decisions, predictions) = predicted(rows);
    let problems = decisions.len();
    let right = |one: &&Decision<'_>| one.loss() <= 0.0 && is_longer(&one.runner_up, &one.fastest);
    let right = decisions.iter().filter(right).count();
    let losses: Vec<f64> =
        decisions.iter().filter(|one| is_longer(&one.recommended, &one.fastest)).map(Decision::loss).collect();
    let open = problems - right - losses.len();
    let known = predictions.iter().filter(|one| one.agreement() != Agreement::Missing).count();
    let within = predictions.iter().filter(|one| one.agreement() == Agreement::Within).count();
    let worst = losses.iter().copied().reduce(f64::max);
    let right_ones = (right > 0).then(|| format!("{right} right"));
    let wrong = worst
        .map(|worst| format!("{} wrong (the variant named takes up to {:.1} % longer)", losses.len(), worst * 100.0));
    let undecided = (open > 0).then(|| format!("{open} undecided"));
    let text = format!(
        "The costs of primitives alone predict the fastest variant (of those with all primitives measured) of {}: {}. \
         {within} of {known} predicted differences are within 20 % of the measured ones.",
        plural(problems, "reduction problem"),
        [right_ones, wrong, undecided].into_iter().flatten().collect::<Vec<_>>().join(", "),
    );
    (problems > 0).then(|| said(text, format!("{right} of {problems}")))
}

/// Whether one takes longer than another beyond both intervals.
fn is_longer(one: &Measured<'_>, than: &Measured<'_>) -> bool {
    one.bounds().low > than.bounds().high
}

/// Whether one takes longer than another, for two whose times may be written.
fn is_longer_in_figures(one: &Measured<'_>, than: &Measured<'_>) -> bool {
    is_longer(one, than) && has_figure(one.row) && has_figure(than.row)
}

/// The reductions of a class at the smallest size, the fastest first.
fn smallest<'m, 'a>(all: &'m [Measured<'a>], class: Class) -> Vec<&'m Measured<'a>> {
    let of_class = || all.iter().filter(|one| one.class == class);
    let least = of_class().map(Measured::problem).min();
    let mut found: Vec<&Measured<'_>> = of_class().filter(|one| Some(one.problem()) == least).collect();
    found.sort_by(|one, other| one.ns.total_cmp(&other.ns));
    found
}

/// The fastest reduction on one device next to the library's.
fn fastest(all: &[Measured<'_>]) -> Option<Outcome> {
    let found = smallest(all, Class::Device);
    let (first, library) = (found.first()?, found.iter().find(|one| one.name == "cub")?);
    let text = format!(
        "The shortest maximum of {} elements on one GPU takes {} (gpu.reduction.{}), and cub::DeviceReduce {}.",
        grouped(first.elements),
        first.time(),
        first.name,
        library.time()
    );
    is_longer_in_figures(library, first).then(|| said(text, first.time()))
}

/// What a barrier costs in one graph, where launches do not depend on the host.
fn boundary(rows: &[Row]) -> Option<Outcome> {
    let found = boundaries(rows).into_iter().find(|one| one.launched_by == ONE_GRAPH)?;
    let ((kernel, kernel_width), (grid, grid_width)) = found.kernel.zip(found.grid)?;
    let more = |ns: f64, width: f64| if width > 0.05 * ns.abs() { rough_time(ns) } else { time(ns) };
    let text = format!(
        "Merging partial results costs {} more in a second kernel and {} more after grid.sync() than with one \
         atomicMax per block ({} elements, kernels in one graph).",
        more(kernel, kernel_width),
        more(grid, grid_width),
        grouped(found.elements)
    );
    ((kernel - grid).abs() > kernel_width + grid_width).then(|| said(text, more(kernel, kernel_width)))
}

/// The fastest way to join the results of several devices next to the host's.
fn devices(all: &[Measured<'_>]) -> Option<Outcome> {
    let found = smallest(all, Class::Devices);
    let (first, host) = (found.first()?, found.iter().find(|one| one.name == "devices_host")?);
    let ratio = Ratio::of((host.ns, host.bounds()), (first.ns, first.bounds()));
    let text = format!(
        "A maximum over {} GPUs takes {ratio} as long if the host merges the results: {} against {} with \
         gpu.reduction.{}, {} elements.",
        first.problem().1,
        host.time(),
        first.time(),
        first.name,
        grouped(first.elements)
    );
    is_longer_in_figures(host, first).then(|| said(text, ratio))
}

fn five_and_two([_, second, .., fifth]: &[Measured<'_>; 5]) -> Outcome {
    let times = format!("{:.1} times", second.ns / fifth.ns);
    let text = format!(
        "Reduction 5 of listing 1, where each thread first reduces many elements, is {times} as fast as \
         reduction 2 (five __shfl_xor_sync and one atomicMax per warp): {} against {} for {} elements.",
        time(fifth.ns),
        time(second.ns),
        grouped(fifth.elements)
    );
    said(text, times)
}

fn said(text: String, headline: impl Display) -> Outcome {
    Outcome::of(Truth::Holds, text).headed(headline)
}

#[cfg(test)]
mod tests {
    use super::super::testing::reduction;
    use super::*;

    #[test]
    fn a_barrier_costs_what_its_variant_takes_more_than_one_launched_alike() {
        let rows = [
            reduction("atomic_queued", 1024, 2000.0),
            reduction("kernel_boundary_queued", 1024, 3500.0),
            reduction("atomic_graph_chain", 1024, 1300.0),
            reduction("graph_chain", 1024, 2500.0),
            reduction("grid_graph_chain", 1024, 2800.0),
            reduction("graph_chain", 4096, 2600.0),
        ];
        let found = boundaries(&rows);
        let short: Vec<_> = found
            .iter()
            .map(|found| (found.elements, found.launched_by, found.kernel.map(|it| it.0), found.grid.map(|it| it.0)))
            .collect();
        assert_eq!(
            short,
            [(1024, "stream, queued first", Some(1500.0), None), (1024, "one graph", Some(1200.0), Some(1500.0))],
            "nothing is compared with a variant that was launched otherwise, or at another size"
        );
        // 1 % of each, together.
        let half_width = found[0].kernel.unwrap().1;
        assert!((half_width - f64::hypot(20.0, 35.0)).abs() < 1e-9, "{half_width}");
    }

    fn listing(elements: u64, times: [f64; 5]) -> Vec<Row> {
        let of = |(ns, number): (&f64, i32)| reduction(&format!("listing_{number}"), elements, *ns);
        times.iter().zip(1..).map(of).collect()
    }

    #[test]
    fn the_papers_own_order_holds_and_the_largest_complete_size_counts() {
        use Truth::{Fails, Holds, Open};
        let holds =
            |rows: &[Row]| -> Vec<Truth> { listing_claims(rows).iter().map(|claim| claim.outcome.verdict).collect() };
        let mut rows = listing(1 << 24, [200.0, 250.0, 110.0, 120.0, 100.0]);
        assert_eq!(holds(&rows), [Holds; 3]);
        let close = listing(1 << 24, [249.0, 250.0, 110.0, 120.0, 109.0]);
        assert_eq!(holds(&close), [Open, Open, Holds], "1 % is within the intervals");
        rows.extend(listing(1 << 28, [300.0, 300.0, 310.0, 120.0, 130.0]));
        assert_eq!(holds(&rows), [Fails, Fails, Holds]);
        rows[9].check = Some(false);
        assert_eq!(holds(&rows), [Holds; 3], "the fifth is wrong at the largest size");
        assert!(holds(&rows[5..]).is_empty());
    }

    #[test]
    fn only_what_the_intervals_decide_is_an_answer() {
        let answers = |rows: &[Row]| answers(rows).into_iter().map(|one| one.sentence).collect::<Vec<_>>();
        let of_device = |library| [reduction("atomic", 1024, 1000.0), reduction("cub", 1024, library)];
        assert_eq!(answers(&of_device(1015.0)), Vec::<String>::new());
        let found = answers(&of_device(2000.0));
        assert!(found[0].contains("1.00 µs (gpu.reduction.atomic)") && found[0].contains("2.00 µs"), "{found:?}");
        let chain = |kernel| {
            let of = |name, ns| reduction(&format!("{name}graph_chain"), 1024, ns);
            [of("atomic_", 1300.0), of("", kernel), of("grid_", 2800.0)]
        };
        assert_eq!(answers(&chain(2790.0)), Vec::<String>::new());
        assert!(answers(&chain(2500.0))[0].contains("1.20 µs more"), "{:?}", answers(&chain(2500.0)));
    }

    #[test]
    fn the_smallest_size_counts() {
        let mut rows = Vec::new();
        for (elements, by_host) in [(4096, 900.0), (1024, 2000.0)] {
            rows.extend([reduction("devices_flags", elements, 800.0), reduction("devices_host", elements, by_host)]);
        }
        assert!(answers(&rows)[0].sentence.contains("2.5 times as long"), "{:?}", answers(&rows));
    }
}
