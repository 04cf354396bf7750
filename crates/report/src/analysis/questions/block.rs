//! Within a block: what divergence costs in a warp's barrier, and what `__syncthreads` costs compared with other barriers.

use super::prelude::*;

pub(super) const OF_WARPS: Sentences = &[sentence(divergent_warp, &[])];

pub(super) const OF_BLOCKS: Sentences = &[sentence(block_barriers, &[])];

/// Compares the barrier of a warp whose halves have diverged with that of a converged warp.
fn divergent_warp(data: &RunData) -> Option<Outcome> {
    let barrier = |id| on_rung(data, id, Basis::Run);
    let (converged, divergent) = (barrier("warp.converged")?, barrier("warp.divergent")?);
    let both @ Comparison { less, more, ratio } = converged.below(divergent)?;
    let text = format!(
        "__syncwarp costs {less} on a converged warp and {more} on one split into two halves, {ratio} as much."
    );
    Some(Outcome::holds(text, both.rows()).headed(less))
}

/// Block barriers that a program can use instead of `__syncthreads`: their names in a sentence, and their ids.
const BLOCK_BARRIERS: [(&str, &str); 2] =
    [("an mbarrier", "gpu.block.mbarrier"), ("__syncthreads_count", "gpu.block.syncthreads_count")];

/// Compares `__syncthreads` with the other barriers of a full block.
fn block_barriers(data: &RunData) -> Option<Outcome> {
    let plain = on_rung(data, "block.1024", Basis::Run)?;
    let same = |case: &Case| {
        case.threads == plain.row.case.threads
            && case.blocks == plain.row.case.blocks
            && case.form.is_none()
            && !matches!(case.placement, Some(Placement::List(_)))
    };
    let of = |id: &str| {
        let index = data.rows.iter().position(|row| row.case.primitive == id && same(&row.case))?;
        plain.below(Known::written(data, index, Basis::Run)?)
    };
    let in_words = |(name, id): (&str, &str)| {
        let Comparison { more, ratio, .. } = of(id)?;
        Some((format!("{name} ({more}) {ratio} as much"), more.index))
    };
    let (texts, rows): (Vec<String>, Vec<usize>) = BLOCK_BARRIERS.into_iter().filter_map(in_words).unzip();
    let text = format!("In a block of 1,024 threads, __syncthreads costs {plain}, {}.", enumerated(texts)?);
    Some(Outcome::holds(text, std::iter::once(plain.index).chain(rows)).headed(plain))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{on_blocks, row, said, within};
    use super::*;
    use syncscope_core::{Group, Row};

    #[test]
    fn divergence_has_its_price() {
        let warp = |group, ns| {
            let row = row(on_blocks("gpu.warp.syncwarp", 1, 32), ns, 0.3);
            Row { case: Case { group: Some(group), ..row.case.clone() }, ..row }
        };
        let rows = vec![warp(Group::named("converged"), 0.505), warp(Group::named("divergent"), 83.3)];
        let sentence = "__syncwarp costs 0.505 ns on a converged warp and 83.3 ns on one split into two halves, 165 \
                        times as much.";
        assert_eq!(said(divergent_warp, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(divergent_warp, rows[..1].to_vec()), None);
        let overlapping = vec![rows[0].clone(), within(rows[1].clone(), 0.4, 100.0)];
        assert_eq!(said(divergent_warp, overlapping), None);
    }

    #[test]
    fn syncthreads_is_compared_with_the_other_barriers_of_a_block() {
        let block = |name: &str, ns| row(on_blocks(&format!("gpu.block.{name}"), 1, 1024), ns, 0.3);
        let rows = vec![block("syncthreads", 38.4), block("mbarrier", 100.0), block("syncthreads_count", 75.8)];
        let sentence = "In a block of 1,024 threads, __syncthreads costs 38.4 ns, an mbarrier (100 ns) 2.6 times as much and \
                        __syncthreads_count (75.8 ns) 2.0 times as much.";
        assert_eq!(said(block_barriers, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(block_barriers, rows[..1].to_vec()), None);
        assert_eq!(said(block_barriers, vec![rows[0].clone(), within(rows[1].clone(), 30.0, 200.0)]), None, "overlap");
    }
}
