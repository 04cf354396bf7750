//! Several GPUs.

use super::Finding;
use super::field::{Basis, Known, field, rung};
use crate::RunData;
use crate::analysis::row_query::{DEVICE_BARRIERS, GRID_BARRIERS};

/// The rungs of barriers of several devices, the most devices first.
const RUNGS: [&str; 3] = ["Barrier, 8 devices, best", "Barrier, 4 devices, best", "Barrier, 2 devices, best"];

/// The cheapest barrier of several devices against the cheapest barrier of one grid. Other programs and other clocks measure
/// them, so the intervals for another run are compared.
pub(super) fn barrier_of_devices(data: &RunData) -> Option<Finding> {
    let selected = RUNGS.iter().find_map(|title| rung(data, "Several GPUs", title))?;
    let like = &data.rows.get(selected.row)?.case;
    let devices = like.devices?;
    let grid_like = &data.rows.get(rung(data, "Device", "Grid barrier, best")?.row)?.case;
    let best = |primitives, like| field(data, primitives, like, Basis::Machine).best();
    let (wide, narrow): (Known<'_>, Known<'_>) = (best(DEVICE_BARRIERS, like)?, best(GRID_BARRIERS, grid_like)?);
    if !narrow.is_below(&wide) || !narrow.has_figure() || !wide.has_figure() {
        return Some(Finding::Open(format!("what a barrier of {devices} GPUs costs beyond that of one grid")));
    }
    let text = format!(
        "A barrier of {devices} GPUs ({}, {}) takes {} as long as one of a grid ({}, {}).",
        wide.name(),
        wide.time(),
        wide.times(&narrow),
        narrow.name(),
        narrow.time()
    );
    Some(Finding::certain("decide-barrier", text, [wide.index, narrow.index]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{on_blocks, row, said};
    use super::*;
    use syncscope_core::{Case, Row};

    fn devices(count: u32, ns: f64, share: f64) -> Row {
        row(Case { devices: Some(count), ..on_blocks("gpu.multi.flags", 132, 32) }, ns, share)
    }

    #[test]
    fn the_most_devices_are_compared_with_one_grid() {
        let grid = row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.02);
        let rows = vec![grid.clone(), devices(1, 1790.0, 0.02), devices(2, 2900.0, 0.02), devices(4, 3660.0, 0.02)];
        let sentence =
            "A barrier of 4 GPUs (flags, 3.66 µs) takes 4.5 times as long as one of a grid (counter, 806 ns).";
        assert_eq!(said(barrier_of_devices, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(barrier_of_devices, rows[..2].to_vec()), None, "one device");
        assert_eq!(said(barrier_of_devices, rows[1..].to_vec()), None, "no grid");
        assert!(said(barrier_of_devices, vec![grid, devices(2, 900.0, 0.3)]).unwrap().is_err());
    }
}
