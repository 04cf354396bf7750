//! What the text about listing 1 states, tested on this machine (Burtchell and Burtscher, section II).

use super::row::ReductionRow;
use super::variants::Class;

/// A statement, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The statement.
    pub statement: String,
    /// Whether it is true here; `None` if a figure is missing.
    pub holds: Option<bool>,
    /// The figures that decide it.
    pub figures: String,
}

/// The reductions of the listing that the text orders, the fastest first.
const ORDER: [&str; 4] = ["listing.3", "listing.4", "listing.1", "listing.2"];

/// How often faster the fifth is than the second, and how far off a figure may be that still agrees.
const SPEEDUP: f64 = 2.5;
const TOLERANCE: f64 = 0.2;

/// The statements about the five reductions, at the largest size at which all five were measured.
#[must_use]
pub fn listing_claims(rows: &[ReductionRow]) -> Vec<Claim> {
    let of_listing: Vec<&ReductionRow> = rows.iter().filter(|row| row.class == Class::Listing).collect();
    let time = |id: &str, elements: u64| {
        of_listing.iter().find(|row| row.variant == id && row.elements == elements)?.usable_ns()
    };
    let all = |elements: u64| {
        let [third, fourth, first, second] = ORDER.map(|id| time(id, elements));
        Some(Times {
            first: first?,
            second: second?,
            third: third?,
            fourth: fourth?,
            fifth: time("listing.5", elements)?,
        })
    };
    let measured = of_listing.iter().filter_map(|row| Some((row.elements, all(row.elements)?)));
    match measured.max_by_key(|(elements, _)| *elements) {
        Some((elements, times)) => times.claims(elements),
        None => Vec::new(),
    }
}

/// Nanoseconds of each reduction.
struct Times {
    first: f64,
    second: f64,
    third: f64,
    fourth: f64,
    fifth: f64,
}

impl Times {
    fn claims(&self, elements: u64) -> Vec<Claim> {
        let Self { first, second, third, fourth, fifth } = *self;
        let us = |ns: f64| format!("{:.1} us", ns / 1000.0);
        let best = [first, second, third, fourth].into_iter().fold(f64::INFINITY, f64::min);
        let speedup = second / fifth;
        let order =
            format!("{elements} elements: 1 {}, 2 {}, 3 {}, 4 {}", us(first), us(second), us(third), us(fourth));
        vec![
            Claim {
                statement:
                    "Of the first four, reduction 3 is the fastest, followed by 4, then 1, and 2 is the slowest."
                        .to_owned(),
                holds: Some(third < fourth && fourth < first && first < second),
                figures: order,
            },
            Claim {
                statement: "Reduction 5, with several elements for each thread, outperforms all four.".to_owned(),
                holds: Some(fifth < best),
                figures: format!("{}, and the best of the four {}", us(fifth), us(best)),
            },
            Claim {
                statement: "Reduction 5 is about 2.5 times faster than reduction 2.".to_owned(),
                holds: Some((speedup - SPEEDUP).abs() <= TOLERANCE * SPEEDUP),
                figures: format!("{speedup:.1} times"),
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::reductions::row::tests::row;

    fn rows(elements: u64, times: [f64; 5]) -> Vec<ReductionRow> {
        times.iter().zip(1..).map(|(ns, number)| row(&format!("listing.{number}"), elements, *ns)).collect()
    }

    #[test]
    fn the_papers_own_order_holds() {
        let claims = listing_claims(&rows(1 << 24, [200.0, 250.0, 110.0, 120.0, 100.0]));
        assert_eq!(claims.iter().map(|claim| claim.holds).collect::<Vec<_>>(), [Some(true); 3]);
        assert!(claims[2].figures.contains("2.5 times"), "{claims:?}");
    }

    #[test]
    fn another_order_does_not_and_the_largest_complete_size_counts() {
        let mut rows = rows(1 << 20, [200.0, 250.0, 110.0, 120.0, 100.0]);
        rows.extend(self::rows(1 << 28, [300.0, 300.0, 310.0, 120.0, 130.0]));
        let holds = |rows: &[ReductionRow]| listing_claims(rows).iter().map(|claim| claim.holds).collect::<Vec<_>>();
        assert_eq!(holds(&rows), [Some(false), Some(false), Some(true)]);
        rows[9].check = Some(false);
        assert_eq!(holds(&rows), [Some(true); 3], "the fifth is wrong at the largest size");
        assert!(listing_claims(&rows[5..]).is_empty());
    }
}
