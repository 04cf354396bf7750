//! The verdict over several block sizes, with the range of their shares.

use super::super::Variant;
use super::super::claim::{Claim, ClaimVerdict};
use super::row::ClaimRow;

/// The verdict over the sizes for which the paper makes the claim, or over all sizes of a control; `None` if there are none.
pub(super) fn together(claim: Claim, variant: Option<Variant>, rows: &[ClaimRow]) -> Option<ClaimRow> {
    let is_control = variant.is_some_and(Variant::is_control);
    let rows: Vec<&ClaimRow> = rows.iter().filter(|row| row.in_paper || is_control).collect();
    let of = |verdict| rows.iter().filter(move |row| row.verdict == verdict).filter_map(|row| row.block_threads);
    let named = |verdict| of(verdict).map(|size| size.to_string()).collect::<Vec<_>>().join(", ");
    let words = [
        (ClaimVerdict::Holds, "holds for blocks of"),
        (ClaimVerdict::DoesNotHold, "does not hold for blocks of"),
        (ClaimVerdict::CannotBeDecided, "cannot be decided for blocks of"),
    ];
    let mut parts: Vec<String> = words
        .iter()
        .filter(|(verdict, _)| of(*verdict).next().is_some())
        .map(|(verdict, text)| format!("{text} {}", named(*verdict)))
        .collect();
    parts.extend(shares(&rows));
    // The paper makes it for each of its sizes: one counterexample decides, and so does one that is not known.
    let verdict = if of(ClaimVerdict::DoesNotHold).next().is_some() {
        ClaimVerdict::DoesNotHold
    } else if of(ClaimVerdict::CannotBeDecided).next().is_some() {
        ClaimVerdict::CannotBeDecided
    } else {
        ClaimVerdict::Holds
    };
    (!rows.is_empty()).then(|| ClaimRow {
        variant,
        in_paper: !is_control,
        ..ClaimRow::without_share(claim, verdict, parts.join("; "))
    })
}

/// The range of the shares of several sizes, in words; `None` if no share is known.
fn shares(rows: &[&ClaimRow]) -> Option<String> {
    let of = |share: fn(&ClaimRow) -> Option<f64>| rows.iter().filter_map(move |row| share(row));
    let most = of(|row| row.share).reduce(f64::max)?;
    if most <= 0.0 {
        let bound = of(|row| row.share_high).reduce(f64::max)?;
        return Some(format!("never seen, in at most {} (95 %)", percent(bound)));
    }
    let least = of(|row| row.share).reduce(f64::min)?;
    Some(if least < most { format!("{} to {}", percent(least), percent(most)) } else { percent(most) })
}

/// `12.34 %`; what is too small for that in parts per million. Only nothing is `0`, and only all is `100 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    match share {
        ..=0.0 => "0".to_owned(),
        1.0.. => "100 %".to_owned(),
        ..1e-4 => format!("{:.2} ppm", share * 1e6),
        0.9999.. => "99.99 %".to_owned(),
        _ => format!("{:.2} %", share * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_are_parts_per_million() {
        let shares = [0.0, 3.84e-6, 0.1234, 0.999_996, 1.0].map(percent);
        assert_eq!(shares, ["0", "3.84 ppm", "12.34 %", "99.99 %", "100 %"]);
    }
}
