//! How the value of a query is written.
//!
//! `COLUMN.DECIMALS` of one line, such as `cycles.0`; `AGGREGATE COLUMN.DECIMALS` of several, where the aggregate is `min`, `max`,
//! `range` ("a to b"), `median`, `p95` or `count`. `us`, `ms` and `s` are `ns` in these units, `COLUMN@us` is a column of nanoseconds,
//! `COLUMN@percent` one of shares. `half.D` is the half-width of the interval to quote in percent. A column of text needs no decimals.
//! Of pairs: `ratio.D` and `percent.D` (by how much the first is more than the second), of `ns` or of `ratio(COLUMN).D`; `less.D` by how many percent of the
//! first the second is less; `difference.D`
//! the distance in percent of the second, without its sign. A figure of a row that is not resolved is written as `~1.2`.

use super::tables::Line;

pub(crate) type Pair = (Line, Line);

const AGGREGATES: [&str; 6] = ["min", "max", "range", "median", "p95", "count"];

/// A number, and whether its rows are resolved.
#[derive(Debug, Clone, Copy)]
struct Figure {
    value: f64,
    resolved: bool,
}

pub(crate) fn of_lines(lines: &[Line], format: &str) -> Result<String, String> {
    if lines.is_empty() {
        return Err("no row fits".to_owned());
    }
    let (aggregate, column) = split(format);
    if aggregate == Some("count") {
        return Ok(number(lines.len() as f64, 0));
    }
    if let (None, [line]) = (aggregate, lines)
        && let Some(text) = line.get(column).filter(|text| text.parse::<f64>().is_err())
    {
        return if text.is_empty() { Err(format!("`{column}` is empty")) } else { Ok(text.clone()) };
    }
    let (column, decimals) = with_decimals(column)?;
    let figures = lines.iter().map(|line| figure(line, column)).collect::<Result<Vec<_>, _>>()?;
    write(&figures, aggregate, decimals)
}

pub(crate) fn of_pairs(pairs: &[Pair], format: &str) -> Result<String, String> {
    if pairs.is_empty() {
        return Err("no pair of rows fits".to_owned());
    }
    let (aggregate, format) = split(format);
    if aggregate == Some("count") {
        return Ok(number(pairs.len() as f64, 0));
    }
    let (kind, decimals) = with_decimals(format)?;
    let (kind, column) = match kind.strip_suffix(')').and_then(|kind| kind.split_once('(')) {
        Some((kind, column)) => (kind, column),
        None => (kind, "ns"),
    };
    let of = |(one, other): &Pair| -> Result<Figure, String> {
        let (one, other) = (figure(one, column)?, figure(other, column)?);
        let ratio = one.value / other.value;
        let value = match kind {
            "ratio" => ratio,
            "percent" => 100.0 * (ratio - 1.0),
            "less" => 100.0 * (1.0 - 1.0 / ratio),
            "difference" => 100.0 * (ratio - 1.0).abs(),
            unknown => return Err(format!("`{unknown}` is no format of a pair")),
        };
        Ok(Figure { value, resolved: one.resolved && other.resolved })
    };
    write(&pairs.iter().map(of).collect::<Result<Vec<_>, _>>()?, aggregate, decimals)
}

/// The number of some rows in percent of the number of others.
pub(crate) fn share(some: usize, all: usize, format: &str) -> Result<String, String> {
    if all == 0 {
        return Err("no row fits".to_owned());
    }
    let (_, decimals) = with_decimals(format)?;
    Ok(number(100.0 * some as f64 / all as f64, decimals))
}

fn split(format: &str) -> (Option<&str>, &str) {
    if AGGREGATES.contains(&format) {
        return (Some(format), "");
    }
    match format.split_once(' ') {
        Some((aggregate, column)) if AGGREGATES.contains(&aggregate) => (Some(aggregate), column.trim()),
        _ => (None, format),
    }
}

fn with_decimals(format: &str) -> Result<(&str, usize), String> {
    let parts = format.rsplit_once('.').and_then(|(column, decimals)| Some((column, decimals.parse().ok()?)));
    parts.ok_or_else(|| format!("`{format}` has no decimals, such as `{format}.1`"))
}

fn figure(line: &Line, column: &str) -> Result<Figure, String> {
    let cell = |name: &str| -> Result<f64, String> {
        let text = line.get(name).ok_or_else(|| format!("no column `{name}`"))?;
        text.parse().map_err(|_| format!("`{name}` holds `{text}` where a number is needed"))
    };
    let in_unit = |ns: f64, unit: &str| match unit {
        "us" => Ok(ns / 1e3),
        "ms" => Ok(ns / 1e6),
        "s" => Ok(ns / 1e9),
        "percent" => Ok(100.0 * ns),
        unknown => Err(format!("unknown unit `{unknown}`")),
    };
    let value = match column {
        "us" | "ms" | "s" => in_unit(cell("ns")?, column)?,
        "half" => 50.0 * (cell("ns_high")? - cell("ns_low")?) / cell("ns")?,
        _ => match column.split_once('@') {
            Some((column, unit)) => in_unit(cell(column)?, unit)?,
            None => cell(column)?,
        },
    };
    // A detail, such as a fairness index, has no verdict of its own.
    let is_cost = ["ns", "us", "ms", "s", "half", "cycles"].contains(&column) || column.starts_with("ns@");
    let resolved = !is_cost || line.get("verdict").is_none_or(|verdict| verdict == "Resolved");
    Ok(Figure { value, resolved })
}

fn write(figures: &[Figure], aggregate: Option<&str>, decimals: usize) -> Result<String, String> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    let text = |figure: Figure| format!("{}{}", if figure.resolved { "" } else { "~" }, number(figure.value, decimals));
    Ok(match aggregate {
        None if figures.len() > 1 => return Err(format!("{} rows fit; one is needed, or an aggregate", figures.len())),
        None | Some("min") => text(least),
        Some("max") => text(most),
        Some("median") => number(sorted[sorted.len() / 2].value, decimals),
        Some("p95") => number(sorted[(sorted.len() * 95).div_ceil(100) - 1].value, decimals),
        _ => match (text(least), text(most)) {
            (least, most) if least == most => least,
            (least, most) => format!("{least} to {most}"),
        },
    })
}

/// With commas between thousands.
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |text| ("-", text));
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut grouped = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let is_zero = text.chars().all(|letter| matches!(letter, '0' | '.'));
    let sign = if is_zero { "" } else { sign };
    fraction.map_or_else(|| format!("{sign}{grouped}"), |fraction| format!("{sign}{grouped}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ns: &str, verdict: &str) -> Line {
        [("ns", ns), ("verdict", verdict), ("ns_low", "90"), ("ns_high", "110"), ("cycles", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    #[test]
    fn numbers_have_decimals_and_commas() {
        assert_eq!(number(1234.56, 1), "1,234.6");
        assert_eq!(number(195_955.3, 0), "195,955");
        assert_eq!(number(-0.04, 1), "0.0");
        assert_eq!(number(-1234.0, 0), "-1,234");
    }

    #[test]
    fn a_line_gives_its_columns_and_says_what_is_not_resolved() {
        let resolved = [line("100", "Resolved")];
        assert_eq!(of_lines(&resolved, "ns.1"), Ok("100.0".into()));
        assert_eq!(of_lines(&resolved, "us.2"), Ok("0.10".into()));
        assert_eq!(of_lines(&resolved, "half.0"), Ok("10".into()));
        assert_eq!(of_lines(&resolved, "verdict"), Ok("Resolved".into()));
        assert_eq!(of_lines(&[line("100", "Noisy")], "ns.0"), Ok("~100".into()));
        assert!(of_lines(&resolved, "cycles").unwrap_err().contains("empty"));
        assert!(of_lines(&resolved, "cycles.1").unwrap_err().contains("cycles"));
        assert!(of_lines(&[], "ns.1").is_err());
    }

    #[test]
    fn several_lines_need_an_aggregate() {
        let lines = [line("100", "Resolved"), line("300", "Resolved"), line("200", "Noisy")];
        assert!(of_lines(&lines, "ns.1").unwrap_err().contains("3 rows"));
        for (format, text) in [
            ("min ns.0", "100"),
            ("max ns.0", "300"),
            ("range ns.0", "100 to 300"),
            ("median ns.0", "200"),
            ("p95 ns.0", "300"),
            ("count", "3"),
        ] {
            assert_eq!(of_lines(&lines, format), Ok(text.into()));
        }
        assert_eq!(of_lines(&lines[..1], "range ns.0"), Ok("100".into()));
    }

    #[test]
    fn pairs_give_ratios_and_percentages() {
        let pairs =
            [(line("150", "Resolved"), line("100", "Resolved")), (line("90", "Resolved"), line("100", "Resolved"))];
        assert_eq!(of_pairs(&pairs[..1], "ratio.1"), Ok("1.5".into()));
        assert_eq!(of_pairs(&pairs, "range percent.0"), Ok("-10 to 50".into()));
        assert_eq!(of_pairs(&pairs, "max difference.0"), Ok("50".into()));
        assert!(of_pairs(&pairs, "ratio.1").is_err() && of_pairs(&pairs[..1], "sum.1").is_err());
        assert_eq!(share(1, 4, ".0"), Ok("25".into()));
    }
}
