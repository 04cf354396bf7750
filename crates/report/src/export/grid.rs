//! A table of cells, and how it is written.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::findings::wrapped;

/// Words longer than this may be broken, so that one identifier does not turn a table into lists.
const LONGEST_WORD: usize = 16;

/// A table whose last columns may be wide text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    headings: Vec<Heading>,
    lines: Vec<Vec<String>>,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Heading {
    name: &'static str,
    is_number: bool,
}

/// A column of text.
pub(super) const fn text(name: &'static str) -> Heading {
    Heading { name, is_number: false }
}

/// A column of numbers, with or without units.
pub(super) const fn number(name: &'static str) -> Heading {
    Heading { name, is_number: true }
}

impl Grid {
    pub(super) fn new(headings: &[Heading]) -> Self {
        Self { headings: headings.to_vec(), lines: Vec::new() }
    }

    /// Adds a line; it has a cell for each heading.
    pub(super) fn add<const CELLS: usize>(&mut self, cells: [String; CELLS]) {
        debug_assert_eq!(CELLS, self.headings.len());
        self.lines.push(cells.into());
    }

    /// In aligned columns, broken within cells where the lines are longer than `width`. Where `width` is less than the words
    /// of the cells need, each line is a list of its cells.
    pub(super) fn for_terminal(&self, width: usize) -> String {
        if self.narrowest() > width {
            return self.as_lists(width);
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        let cell = |heading: &Heading, content: &str| {
            let cell = Cell::new(plain(content));
            if heading.is_number { cell.set_alignment(CellAlignment::Right) } else { cell }
        };
        table.set_header(self.headings.iter().map(|heading| cell(heading, heading.name)));
        for line in &self.lines {
            table.add_row(self.headings.iter().zip(line).map(|(heading, content)| cell(heading, content)));
        }
        if let Some(first) = table.column_mut(0) {
            first.set_padding((2, 1));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    /// The width at which no word of a cell is broken, except very long ones.
    fn narrowest(&self) -> usize {
        let longest_word = |text: &str| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let column = |(at, heading): (usize, &Heading)| {
            let cells = self.lines.iter().map(|line| longest_word(&line[at])).max().unwrap_or(0);
            cells.min(LONGEST_WORD).max(longest_word(heading.name))
        };
        // Two spaces in front of each column.
        self.headings.iter().enumerate().map(column).map(|width| width + 2).sum()
    }

    /// A list for each line: heading and cell, without empty cells.
    fn as_lists(&self, width: usize) -> String {
        let name_width = self.headings.iter().map(|heading| heading.name.chars().count()).max().unwrap_or(0);
        let indent = name_width + 4;
        let cell = |(heading, content): (&Heading, &String)| {
            let lines = wrapped(&plain(content), width.saturating_sub(indent));
            let named = |(at, line): (usize, String)| {
                let name = if at == 0 { heading.name } else { "" };
                format!("  {name:name_width$}  {line}")
            };
            lines.into_iter().enumerate().map(named).collect::<Vec<_>>().join("\n")
        };
        let list = |cells: &Vec<String>| {
            let filled = self.headings.iter().zip(cells).filter(|(_, content)| !content.is_empty());
            filled.map(cell).collect::<Vec<_>>().join("\n")
        };
        self.lines.iter().map(list).collect::<Vec<_>>().join("\n\n")
    }

    /// Its headings and lines, for a page.
    pub(crate) fn parts(&self) -> (Vec<&'static str>, &[Vec<String>]) {
        (self.headings.iter().map(|heading| heading.name).collect(), &self.lines)
    }

    pub(super) fn as_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let headings = self.headings.iter().map(|heading| heading.name.to_owned()).collect();
        let rule = self.headings.iter().map(|heading| if heading.is_number { "---:" } else { "---" }.to_owned());
        let mut lines = vec![line(headings), line(rule.collect())];
        lines.extend(self.lines.iter().map(|cells| line(cells.iter().map(|cell| markdown(cell)).collect())));
        lines.join("\n")
    }
}

/// The text without control characters, which a terminal would obey.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// The text so that Markdown shows it as it is.
pub(super) fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in plain(text).chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Lines of CSV. A text cell that a spreadsheet would take for a formula gets a leading apostrophe (OWASP, *CSV injection*).
pub(super) fn csv(headings: &[(&str, bool)], lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and all lines have as many cells.
    let _ = writer.write_record(headings.iter().map(|(name, _)| *name));
    for line in lines {
        let cells =
            headings.iter().zip(line).map(|((_, is_number), cell)| if *is_number { cell } else { harmless(cell) });
        let _ = writer.write_record(cells);
    }
    let text = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&text).trim_end().to_owned()
}

fn harmless(cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(&[number("cost"), text("case")]);
        grid.add(["2.03 ns".into(), "cpu.atomic.add".into()]);
        grid.add(["12.1 ns".into(), "<b>|\u{1b}[31m`x`".into()]);
        grid
    }

    #[test]
    fn columns_are_aligned_and_nothing_is_obeyed() {
        let text = grid().for_terminal(60);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "  2.03 ns  cpu.atomic.add");
        assert!(lines[2].contains("<b>|\u{fffd}[31m`x`"), "{text:?}");
        assert!(grid().for_terminal(24).lines().all(|line| line.chars().count() <= 24));
    }

    #[test]
    fn a_narrow_terminal_gets_lists_whose_words_are_whole() {
        let mut grid = Grid::new(&[text("need"), text("take"), number("cost"), text("interval")]);
        grid.add(["protect".into(), "pthread_mutex".into(), "1.29 µs".into(), String::new()]);
        grid.add(["phases".into(), "cannot be decided".into(), String::new(), "1.04 µs to 1.54 µs".into()]);
        assert_eq!(grid.for_terminal(70).lines().count(), 3, "a heading and two lines");
        assert_eq!(
            grid.for_terminal(29),
            "  need      protect\n  take      pthread_mutex\n  cost      1.29 µs\n\n  need      phases\n  take      cannot be \
             decided\n  interval  1.04 µs to 1.54\n            µs"
        );
    }

    #[test]
    fn markdown_shows_names_as_they_are() {
        let text = grid().as_markdown();
        assert!(text.starts_with("| cost | case |\n| ---: | --- |\n| 2.03 ns | cpu.atomic.add |\n"), "{text}");
        assert!(text.ends_with("| &lt;b&gt;\\|\u{fffd}\\[31m\\`x\\` |"), "{text}");
    }

    #[test]
    fn no_text_cell_of_csv_is_a_formula() {
        let lines = [vec!["-1.5".to_owned(), "=1+1,\"x\"".to_owned()], vec!["2".to_owned(), "plain".to_owned()]];
        let text = csv(&[("cost", true), ("name", false)], lines.into_iter());
        assert_eq!(text, "cost,name\n-1.5,\"'=1+1,\"\"x\"\"\"\n2,plain");
    }
}
