//! What the times of a run answer, each in one sentence, number first.

use syncscope_core::Row;
use syncscope_report::{grouped, time};

use super::findings::{Listing, ONE_GRAPH, boundaries, listing};
use super::prediction::{Agreement, Decision, predicted};
use super::{Class, Measured, measured};

/// The answers that the rows of a run give.
pub(super) fn answers(rows: &[Row]) -> Vec<String> {
    let all = measured(rows);
    let of = |answer: fn(&[Measured<'_>]) -> Option<String>| answer(&all);
    [recommendation(rows), of(fastest), boundary(rows), of(devices), listing(rows).as_ref().map(five_and_two)]
        .into_iter()
        .flatten()
        .collect()
}

/// What is lost by the variants that primitive costs recommend; `None` in a run without costs of primitives.
fn recommendation(rows: &[Row]) -> Option<String> {
    let (decisions, predictions) = predicted(rows);
    let loss = decisions.iter().map(Decision::loss).reduce(f64::max)?;
    let right = decisions.iter().filter(|one| one.loss() <= 0.0).count();
    let known = predictions.iter().filter(|one| one.agreement != Agreement::Missing).count();
    let within = predictions.iter().filter(|one| one.agreement == Agreement::Within).count();
    Some(format!(
        "The variant that primitive costs recommend takes at most {:.1} % longer than the fastest, and is the fastest in {right} \
         of {} problems; {within} of {known} predicted differences are within 20 %.",
        loss * 100.0,
        decisions.len()
    ))
}

/// Whether one takes longer than another beyond both intervals.
fn is_longer(one: &Measured<'_>, than: &Measured<'_>) -> bool {
    one.ns - one.half_width_ns > than.ns + than.half_width_ns
}

/// The reductions of a class at the smallest size, the fastest first.
fn smallest<'m, 'a>(all: &'m [Measured<'a>], class: Class) -> Vec<&'m Measured<'a>> {
    let of_class = || all.iter().filter(|one| one.class == class);
    let least = of_class().map(Measured::problem).min();
    let mut found: Vec<&Measured<'_>> = of_class().filter(|one| Some(one.problem()) == least).collect();
    found.sort_by(|one, other| one.ns.total_cmp(&other.ns));
    found
}

/// The fastest on one device beside the library's.
fn fastest(all: &[Measured<'_>]) -> Option<String> {
    let found = smallest(all, Class::Device);
    let (first, library) = (found.first()?, found.iter().find(|one| one.name == "cub")?);
    is_longer(library, first).then(|| {
        format!(
            "The shortest maximum of {} elements on one GPU takes {} (gpu.reduction.{}), and cub::DeviceReduce {}.",
            grouped(first.elements),
            time(first.ns),
            first.name,
            time(library.ns)
        )
    })
}

/// What a barrier costs in one graph, where launches do not depend on the host.
fn boundary(rows: &[Row]) -> Option<String> {
    let found = boundaries(rows).into_iter().find(|one| one.launched_by == ONE_GRAPH)?;
    let ((kernel, kernel_width), (grid, grid_width)) = found.kernel.zip(found.grid)?;
    ((kernel - grid).abs() > kernel_width + grid_width).then(|| {
        format!(
            "A second kernel that joins partial results costs {} more than one atomicMax of each block, and grid.sync() of \
             cooperative groups {} more: {} elements, kernels in one graph.",
            time(kernel),
            time(grid),
            grouped(found.elements)
        )
    })
}

/// The fastest way to join the results of several devices beside the host's.
fn devices(all: &[Measured<'_>]) -> Option<String> {
    let found = smallest(all, Class::Devices);
    let (first, host) = (found.first()?, found.iter().find(|one| one.name == "devices_host")?);
    is_longer(host, first).then(|| {
        format!(
            "A maximum over {} GPUs takes {:.2} times as long where the host joins the results: {} against {} with \
             gpu.reduction.{}, {} elements.",
            first.problem().1,
            host.ns / first.ns,
            time(host.ns),
            time(first.ns),
            first.name,
            grouped(first.elements)
        )
    })
}

fn five_and_two(Listing { elements, times: [_, second, .., fifth] }: &Listing) -> String {
    format!(
        "Reduction 5 of listing 1, whose threads first reduce many elements, is {:.1} times as fast as reduction 2, with five \
         __shfl_xor_sync and one atomicMax of each warp: {} against {}, {} elements.",
        second / fifth,
        time(*fifth),
        time(*second),
        grouped(*elements)
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::reduction;
    use super::*;

    #[test]
    fn only_what_the_intervals_decide_is_an_answer() {
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
        assert!(answers(&rows)[0].contains("2.50 times as long"), "{:?}", answers(&rows));
    }
}
