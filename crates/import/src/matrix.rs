//! Parses a matrix of CPU pairs from text. Line 1 has n fields, so n lines of n fields are due: a time for each pair below the
//! diagonal, above it, or on both sides. Cells are read by position only after the shape has been checked.

use std::collections::BTreeSet;

/// The most CPUs: a larger matrix has more pairs than a run may have rows.
const MOST_CPUS: usize = 1024;

/// The pairs of a matrix.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    /// The CPU of each line: its number if the file has numbers, otherwise its position.
    pub(super) cpus: Vec<u32>,
    /// Whether the file numbers its CPUs.
    pub(super) is_numbered: bool,
    /// The positions of two CPUs, the lower one first, and their time or why there is none.
    pub(super) pairs: Vec<([usize; 2], Result<f64, String>)>,
    /// What the reader skipped.
    pub(super) warnings: Vec<String>,
}

/// A line of the file: its number, from 1, and its fields.
type NumberedFields<'a> = (usize, Vec<&'a str>);

impl Matrix {
    /// Reads a matrix. Text before and after it, such as the tool's messages, is skipped with a warning.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_end();
        let lines = text.lines().map(|line| line.split(',').map(str::trim).collect());
        let lines: Vec<NumberedFields> = (1..).zip(lines).collect();
        let Some(start) = lines.iter().position(is_of_matrix) else {
            return Err("line 1: neither here nor below are comma-separated times".to_owned());
        };
        let (before, rest) = lines.split_at(start);
        let (matrix, after) = square(rest)?;
        let mut found = Self { is_numbered: is_numbered(matrix)?, ..Self::default() };
        let skipped: Vec<usize> = before.iter().chain(after).map(|(number, _)| *number).collect();
        if let [first, ..] = skipped[..] {
            found
                .warnings
                .push(format!("skipped {} lines that are not of the matrix, from line {first}", skipped.len()));
        }
        let from = usize::from(found.is_numbered);
        let cells: Vec<NumberedFields> =
            matrix[from..].iter().map(|(line, cells)| (*line, cells[from..].to_vec())).collect();
        if cells.len() > MOST_CPUS {
            return Err(format!("it has {} CPUs, and the most that are read are {MOST_CPUS}", cells.len()));
        }
        let numbers = numbers(&matrix[0].1[from..]).filter(|_| found.is_numbered);
        found.cpus = numbers.unwrap_or_else(|| (0..).take(cells.len()).collect());
        found.read_pairs(&cells)?;
        Ok(found)
    }

    fn read_pairs(&mut self, cells: &[NumberedFields]) -> Result<(), String> {
        let with_themselves = cells.iter().enumerate().filter(|(own, (_, cells))| time(cells[*own]).is_some());
        let with_themselves: Vec<String> =
            with_themselves.map(|(own, (line, cells))| format!("line {line}: `{}`", cells[own])).collect();
        if let [first, ..] = &with_themselves[..] {
            let count = with_themselves.len();
            self.warnings.push(format!(
                "times on the diagonal, where a CPU would hand over to itself, are left out ({count}; {first}); the columns may be \
                 shifted"
            ));
        }
        let mut differing = 0;
        for (second, (line, below)) in cells.iter().enumerate() {
            for (first, (upper_line, above)) in cells[..second].iter().enumerate() {
                let both = [(*line, below[first]), (*upper_line, above[second])];
                let time = match both.map(|(_, cell)| time(cell)) {
                    [Some(below), Some(above)] => {
                        differing += usize::from(below.total_cmp(&above).is_ne());
                        Ok(f64::midpoint(below, above))
                    }
                    [below, above] => below.or(above).ok_or_else(|| why_missing(both)),
                };
                self.pairs.push(([first, second], time));
            }
        }
        let missing: Vec<&str> =
            self.pairs.iter().filter_map(|(_, time)| time.as_ref().err().map(String::as_str)).collect();
        let (count, pairs) = (missing.len(), self.pairs.len());
        match missing[..] {
            [first, ..] if count == pairs => return Err(format!("{first}, and no other pair of CPUs has a time")),
            [first, ..] => self.warnings.push(format!("{count} of {pairs} pairs have no time: {first}")),
            [] => {}
        }
        if differing > 0 {
            self.warnings
                .push(format!("of pairs with two times, below and above the diagonal, the mean counts ({differing})"));
        }
        Ok(())
    }
}

/// A time in nanoseconds. 0 is not a time, because a clock may be so coarse that a pair has 0; no hand-off takes a
/// second.
fn time(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|ns: &f64| *ns > 0.0 && *ns < 1e9)
}

/// Why the two cells of a pair have no time.
fn why_missing(both: [(usize, &str); 2]) -> String {
    match both.into_iter().find(|(_, cell)| !cell.is_empty()) {
        Some((line, cell)) => format!("line {line}: `{cell}` is not a time in nanoseconds above 0 and below a second"),
        None => format!("line {}: the cell is empty", both[0].0),
    }
}

/// Whether most fields of a line look like a matrix: numbers, or empty.
fn is_of_matrix((_, cells): &NumberedFields) -> bool {
    let usual = cells.iter().filter(|cell| cell.is_empty() || cell.parse::<f64>().is_ok()).count();
    cells.len() > 1 && 2 * usual > cells.len()
}

/// Splits the lines into the matrix that begins here and the lines after it.
fn square<'a, 'b>(
    lines: &'b [NumberedFields<'a>],
) -> Result<(&'b [NumberedFields<'a>], &'b [NumberedFields<'a>]), String> {
    let (first, width) = (lines[0].0, lines[0].1.len());
    let due = format!("line {first} has {width}, so {width} lines of {width} fields are due");
    if let Some((line, cells)) = lines.iter().take(width).find(|(_, cells)| cells.len() != width) {
        return Err(format!("line {line} has {} fields, but {due}", cells.len()));
    }
    let Some((matrix, after)) = lines.split_at_checked(width) else {
        return Err(format!("line {} is the last of {} lines, but {due}", first + lines.len() - 1, lines.len()));
    };
    match after.iter().find(|line| is_of_matrix(line)) {
        Some((line, _)) => Err(format!("line {line} is another line of a matrix, but {due}")),
        None => Ok((matrix, after)),
    }
}

/// CPU numbers: whole numbers, each once.
fn numbers(cells: &[&str]) -> Option<Vec<u32>> {
    let number = |cell: &&str| cell.parse().ok().filter(|number: &u32| *number < 1 << 20);
    let numbers: Vec<u32> = cells.iter().map(number).collect::<Option<_>>()?;
    (numbers.iter().collect::<BTreeSet<_>>().len() == numbers.len()).then_some(numbers)
}

/// Whether the first line and the first field of each line are CPU numbers.
fn is_numbered(matrix: &[NumberedFields]) -> Result<bool, String> {
    let (line, header) = (matrix[0].0, &matrix[0].1);
    let column: Vec<&str> = matrix[1..].iter().map(|(_, cells)| cells[0]).collect();
    let corner = header[0];
    let has_label = corner.parse::<f64>().is_err() && !corner.is_empty() && corner != matrix[1].1[1];
    let are_numbers = header[1..] == column && numbers(&column).is_some_and(|numbers| numbers.len() > 1);
    if has_label && !are_numbers {
        return Err(format!(
            "line {line} begins with `{corner}`, but it and the first field of each line are not the same numbers of CPUs"
        ));
    }
    if has_label || !are_numbers || !corner.is_empty() {
        return Ok(has_label);
    }
    // Times are not 0, and a full matrix has times on both sides of its diagonal.
    let inner = |is_below: bool| {
        let side = move |at: usize| {
            matrix[at].1.iter().enumerate().skip(1).filter(move |(other, _)| *other != at && (*other < at) == is_below)
        };
        (1..matrix.len()).flat_map(side).all(|(_, cell)| cell.is_empty())
    };
    if header.contains(&"0") || inner(true) || inner(false) {
        return Ok(true);
    }
    Err(format!(
        "line {line} may have times or the numbers of CPUs: begin it with `cpu` if it has numbers, write times with a point"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of a matrix, ordered by the second CPU of each pair, then by the first.
    fn times(text: &str) -> Vec<f64> {
        let found = Matrix::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        found.pairs.into_iter().map(|(_, time)| time.unwrap_or(0.0)).collect()
    }

    #[test]
    fn every_way_to_write_a_matrix_gives_the_same_pairs() {
        const LOWER: &str = ",,\n31.5,,\n41.5,42.5,\n";
        for text in [
            LOWER.to_owned(),
            format!("\u{feff}{LOWER}"),
            LOWER.replace('\n', "\r\n"),
            LOWER.trim_end().to_owned(),
            format!("{LOWER}\n \n"),
            ",31.5,41.5\n,,42.5\n,,".to_owned(),
            "0,31.5,41.5\n31.5,0,42.5\n41.5,42.5,0".to_owned(),
            "-,31.5,41.5\n31.5,-,42.5\n41.5,42.5,-".to_owned(),
            ",31.5,41.5\n0,,42.5\n0,0,".to_owned(),
            format!(
                "Num cores: 3\n\n   0   1\n  1  31±0\nMin  latency: 31.5ns ±0 cores: (1,0)\n{LOWER}Mean latency: 38ns\n"
            ),
            "cpu,0,2,4\n0,,,\n2,31.5,,\n4,41.5,42.5,".to_owned(),
            ",0,2,4\n0,,,\n2,31.5,,\n4,41.5,42.5,".to_owned(),
            ",8,2,4\n8,,,\n2,31.5,,\n4,41.5,42.5,".to_owned(),
            ",8,2,4\n8,,31.5,41.5\n2,,,42.5\n4,,,".to_owned(),
            "CPU,8,2,4\n8,,31.5,41.5\n2,31.5,,42.5\n4,41.5,42.5,".to_owned(),
        ] {
            assert_eq!(times(&text), [31.5, 41.5, 42.5], "{text:?}");
        }
        let numbered = Matrix::parse(",8,2,4\n8,,,\n2,31.5,,\n4,41.5,42.5,").unwrap();
        assert_eq!((numbered.is_numbered, numbered.cpus), (true, vec![8, 2, 4]));
        let whole = Matrix::parse(",50,60,70\n50,,71,72\n60,71,,73\n70,72,73.5,").unwrap_err();
        assert!(whole.contains("line 1 may have times or the numbers of CPUs"), "{whole}");
        assert_eq!(times(",50,50\n50,,50\n50,50,"), [50.0, 50.0, 50.0], "no two CPUs have one number");
        assert_eq!(times(",30.0\n32.0,"), [31.0]);
        let warnings = Matrix::parse("Num cores: 2\n,30.0\n32.0,").unwrap().warnings.join("\n");
        assert!(warnings.contains("from line 1") && warnings.contains("of pairs with two times"), "{warnings}");
    }

    #[test]
    fn a_cell_without_a_time_costs_its_pair_alone() {
        for cell in ["0", "0.0", "-1", "nan", "inf", "fast", "", "1e999", "1e308", "99999999999", "1:2"] {
            let text = format!(",,\n31.5,,\n41.5,{cell},\n");
            assert_eq!(times(&text), [31.5, 41.5, 0.0], "{text:?}");
            let found = Matrix::parse(&text).unwrap();
            let warning = &found.warnings[0];
            assert!(warning.starts_with("1 of 3 pairs have no time: line 3") && warning.contains(cell), "{warning}");
        }
    }

    #[test]
    fn a_time_on_the_diagonal_is_told() {
        let warnings = |text: &str| Matrix::parse(text).unwrap().warnings.join("\n");
        let told = warnings("5,,\n31.5,,\n41.5,42.5,6\n");
        assert!(told.contains("are left out (2; line 1: `5`)"), "{told}");
        let numbered = warnings("cpu,0,2\n0,,\n2,46.4,7\n");
        assert!(numbered.contains("are left out (1; line 3: `7`)"), "{numbered}");
        assert_eq!(warnings("0,31.5\n31.5,-\n"), "");
    }

    #[test]
    fn another_shape_is_refused_with_its_line() {
        for (text, words) in [
            ("", "line 1: "),
            (" CPU 0 1\n   0 0 92\n   1 92 0\n", "line 1: "),
            (",\nfast,\n", "line 2: `fast`"),
            (",,,\n1,,,\n2,3,,4,5,6,\n", "line 3 has 7 fields, but line 1 has 4"),
            (",,,\n1,,,\n2,3,,\n4,5,6\n", "line 4 has 3 fields"),
            (",,,\n1,,,\n2,3,,\n", "line 3 is the last of 3 lines"),
            (",,,\n1,,,\n\n2,3,,\n4,5,6,\n", "line 3 has 1 fields"),
            (",,\n1,,\n2,3,\n4,5,\n", "line 4 is another line"),
            (",,\n1,,\n2,3,\nagain\n,,\n1,,\n2,3,\n", "line 5 is another line"),
            ("1,,\n2,3,\n", "line 2 is the last of 2 lines"),
            ("text\n,,\n1,,\n", "line 3 is the last of 2 lines"),
            ("0,,,\n1,5,,\n2,6,7,\n", "line 3 is the last of 3 lines"),
            ("cpu,0,1\n0,,\n2,5,\n", "line 1 begins with `cpu`"),
            ("cpu,0,0\n0,,\n0,5,\n", "line 1 begins with `cpu`"),
            (",,\n,,\n,,\n", "line 2: the cell is empty, and no other pair"),
        ] {
            let error = Matrix::parse(text).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }
}
