//! Tables for the terminal, the page, CSV, Markdown and LaTeX.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::harmless::{self, plain};
use crate::section;
use crate::wrap::wrap_all;

/// Words longer than this may be broken, so that one identifier does not turn a table into lists.
const LONGEST_WORD: usize = 16;

/// A table whose last columns may be wide text.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid(Vec<Column>);

/// A column: its name, whether it holds numbers, and one cell for each line.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    name: &'static str,
    is_number: bool,
    cells: Vec<String>,
}

/// Builds a [`Grid`] column by column, with a line for each item.
pub struct Columns<T> {
    items: Vec<T>,
    columns: Vec<Column>,
}

impl<T> Columns<T> {
    /// Adds a column of text.
    pub fn text(self, name: &'static str, cell: impl Fn(&T) -> String) -> Self {
        self.column(name, false, cell)
    }

    /// Adds a column of numbers, with or without units.
    pub fn number(self, name: &'static str, cell: impl Fn(&T) -> String) -> Self {
        self.column(name, true, cell)
    }

    /// Adds a column of text or of numbers.
    pub fn column(mut self, name: &'static str, is_number: bool, cell: impl Fn(&T) -> String) -> Self {
        self.columns.push(Column { name, is_number, cells: self.items.iter().map(cell).collect() });
        self
    }

    /// Returns the finished table.
    pub fn grid(self) -> Grid {
        Grid(self.columns)
    }
}

impl Grid {
    /// Starts a table with a line for each item.
    pub fn of<T>(items: impl IntoIterator<Item = T>) -> Columns<T> {
        Columns { items: items.into_iter().collect(), columns: Vec::new() }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|column| column.name)
    }

    /// The lines of the table: each cell with its column.
    fn lines(&self) -> impl Iterator<Item = impl Iterator<Item = (&Column, &String)>> {
        let count = self.0.first().map_or(0, |column| column.cells.len());
        (0..count).map(|at| self.0.iter().map(move |column| (column, &column.cells[at])))
    }

    /// Writes aligned columns, and breaks lines within cells where a line exceeds `width`. Where `width` is too narrow for
    /// the words of the cells, each line becomes a list of its cells.
    pub fn for_terminal(&self, width: usize) -> String {
        if self.narrowest() > width {
            return self.as_lists(width);
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        let cell = |column: &Column, content: &str| {
            let cell = Cell::new(plain(content));
            if column.is_number { cell.set_alignment(CellAlignment::Right) } else { cell }
        };
        table.set_header(self.0.iter().map(|column| cell(column, column.name)));
        table.add_rows(self.lines().map(|line| line.map(|(column, content)| cell(column, content))));
        if let Some(first) = table.column_mut(0) {
            first.set_padding((2, 1));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    /// The width at which no word of a cell is broken, except very long ones.
    fn narrowest(&self) -> usize {
        let longest_word = |text: &str| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let column = |Column { name, cells, .. }: &Column| {
            let cells = cells.iter().map(|cell| longest_word(cell)).max().unwrap_or(0);
            // Two spaces in front of each column.
            2 + cells.min(LONGEST_WORD).max(longest_word(name))
        };
        self.0.iter().map(column).sum()
    }

    /// Writes each line as a list of headings and cells, without empty cells.
    fn as_lists(&self, width: usize) -> String {
        let name_width = self.names().map(|name| name.chars().count()).max().unwrap_or(0);
        let indent = name_width + 4;
        let cell = |(column, content): (&Column, &String)| {
            let lines = wrap_all(&plain(content), width.saturating_sub(indent));
            let named = |(at, line): (usize, String)| {
                let name = if at == 0 { column.name } else { "" };
                format!("  {name:name_width$}  {line}")
            };
            lines.into_iter().enumerate().map(named).collect::<Vec<_>>().join("\n")
        };
        let filled = self.lines().map(|line| line.filter(|(_, content)| !content.is_empty()));
        filled.map(|line| line.map(cell).collect::<Vec<_>>().join("\n")).collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the table for the page.
    pub(crate) fn table(&self) -> section::Table {
        let rows = self.lines().map(|line| line.map(|(_, cell)| cell.clone()).collect()).collect();
        section::Table { headings: self.names().map(str::to_owned).collect(), rows }
    }

    /// Writes CSV with a header, in which no cell is a formula.
    pub fn as_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // Writing to memory cannot fail, and all lines have as many cells.
        let _ = writer.write_record(self.names());
        for line in self.lines() {
            let is_number = |column: &Column, cell: &String| column.is_number && cell.parse::<f64>().is_ok();
            let cell = |(column, cell)| if is_number(column, cell) { cell.clone() } else { harmless::cell(cell) };
            let _ = writer.write_record(line.map(cell));
        }
        let text = writer.into_inner().unwrap_or_default();
        String::from_utf8_lossy(&text).trim_end().to_owned()
    }

    /// Writes a LaTeX table with the rules of the package booktabs.
    pub(crate) fn as_latex(&self, caption: &str) -> String {
        let line = |cells: Vec<String>| format!("{} \\\\", cells.join(" & "));
        let columns: String = self.0.iter().map(|column| if column.is_number { 'r' } else { 'l' }).collect();
        let body = self.lines().map(|cells| line(cells.map(|(_, cell)| latex(cell)).collect()));
        let head = line(self.names().map(latex).collect());
        let body: Vec<String> = body.collect();
        format!(
            "\\begin{{table}}\n\\caption{{{}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n\\midrule\n{}\n\\bottomrule\n\
             \\end{{tabular}}\n\\end{{table}}",
            latex(caption),
            body.join("\n")
        )
    }

    /// Writes a Markdown table.
    pub fn as_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let rule = self.0.iter().map(|column| if column.is_number { "---:" } else { "---" }.to_owned());
        let mut lines = vec![line(self.names().map(str::to_owned).collect()), line(rule.collect())];
        lines.extend(self.lines().map(|cells| line(cells.map(|(_, cell)| markdown(cell)).collect())));
        lines.join("\n")
    }
}

/// Escapes text for LaTeX.
fn latex(text: &str) -> String {
    let escaped = |letter: char| match letter {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{letter}"),
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '<' | '>' | '±' | '×' | '−' => format!(
            "\\ensuremath{{{}}}",
            match letter {
                '±' => "\\pm",
                '×' => "\\times",
                '−' => "-",
                '<' => "<",
                _ => ">",
            }
        ),
        'µ' => "\\textmu{}".to_owned(),
        '–' => "--".to_owned(),
        _ => letter.to_string(),
    };
    plain(text).chars().map(escaped).collect()
}

/// Escapes text for Markdown.
pub(crate) fn markdown(text: &str) -> String {
    let escaped = |letter: char| match letter {
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '&' => "&amp;".to_owned(),
        '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '~' => format!("\\{letter}"),
        _ => letter.to_string(),
    };
    plain(text).chars().map(escaped).collect()
}

/// The line below a table that says how many lines the terminal leaves out.
pub fn and_more(left_out: usize) -> String {
    if left_out > 0 { format!("\n  and {left_out} more; --format csv lists them all") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const COLUMNS: usize>(columns: [(&'static str, bool); COLUMNS], lines: &[[&str; COLUMNS]]) -> Grid {
        let columns = columns.into_iter().enumerate();
        let all = columns.fold(Grid::of(lines), |all, (at, (name, is_number))| {
            all.column(name, is_number, |line| line[at].to_owned())
        });
        all.grid()
    }

    fn grid() -> Grid {
        of([("cost", true), ("case", false)], &[["2.03 ns", "cpu.atomic.add"], ["12.1 ns", "<b>|\u{1b}[31m`x`"]])
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
        let grid = of(
            [("need", false), ("take", false), ("cost", true), ("interval", false)],
            &[["protect", "pthread_mutex", "1.29 µs", ""], ["phases", "cannot be decided", "", "1.04 µs to 1.54 µs"]],
        );
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
    fn latex_shows_names_as_they_are() {
        let text = of([("a_b", false), ("cost", true)], &[["x\\y{1}", "~2 % ±1 µs"]]).as_latex("50 % & more");
        assert!(text.contains("\\caption{50 \\% \\& more}") && text.contains("{lr}"), "{text}");
        let line = "x\\textbackslash{}y\\{1\\} & \\textasciitilde{}2 \\% \\ensuremath{\\pm}1 \\textmu{}s \\\\";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn no_text_cell_of_csv_is_a_formula() {
        let text = of([("cost", true), ("name", false)], &[["-1.5", "=1+1,\"x\""], ["2", "plain"]]).as_csv();
        assert_eq!(text, "cost,name\n-1.5,\"'=1+1,\"\"x\"\"\"\n2,plain");
    }
}
