//! Maps and sentences that name the cheapest of several.

use syncscope_core::{Case, Group};

use super::{exact, grid, noisy, row, run, text};

#[test]
fn noisy_rivals_take_part_and_a_primitive_is_no_rival_of_itself() {
    let flags = |group, low, ns, high| {
        move |blocks, threads| {
            row(Case { group, devices: Some(1), ..grid("gpu.multi.flags", blocks, threads) }, low, ns, high)
        }
    };
    let mut rows = Vec::new();
    for (blocks, threads) in [(132, 32), (132, 64), (264, 32), (264, 64)] {
        let counter = Case { devices: Some(1), ..grid("gpu.multi.counter", blocks, threads) };
        rows.push(row(counter, 4140.0, 4190.0, 4200.0));
        rows.push(noisy(flags(None, 3360.0, 3660.0, 3910.0)(blocks, threads)));
        rows.push(exact(Case { devices: Some(1), ..grid("gpu.multi.host_barrier", blocks, threads) }, 12_650.0));
        // The same barrier, launched otherwise, costs the same.
        rows.push(noisy(flags(Some(Group::named("driver_launch")), 3360.0, 3670.0, 3920.0)(blocks, threads)));
    }
    let Some(dom) = text(&[run(rows)]) else { return };
    // An earlier page named "counter, 3.02 times" as the winner.
    assert!(dom.contains(">~1.1<") && !dom.contains(">3.02<"), "flags win by their interval");
    assert!(!dom.contains(">≈<"), "a tie of flags with flags");
    // Without a catalogue the colours follow the names: counter, flags, host_barrier.
    assert_eq!(dom.matches("fill=\"color-mix(in oklab, var(--s1) 45%").count(), 4, "the colour of flags");
}

#[test]
fn overlapping_intervals_are_no_winner() {
    let mut rows = Vec::new();
    for (blocks, threads) in [(132, 32), (132, 64), (264, 32), (264, 64)] {
        rows.push(row(grid("gpu.grid.counter", blocks, threads), 700.0, 800.0, 900.0));
        rows.push(row(grid("gpu.grid.lock_free", blocks, threads), 850.0, 950.0, 1050.0));
    }
    let Some(dom) = text(&[run(rows)]) else { return };
    assert_eq!(dom.matches(">≈<").count(), 4);
    assert!(dom.contains("≈ not distinguished"));
}
