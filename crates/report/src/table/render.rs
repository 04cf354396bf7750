//! From sections to lines of text, with as many columns as fit the width.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::sections::{Line, Section};
use super::{Painter, Tone};
use crate::export::grid::plain;
use crate::figure::Cost;

/// Which columns of the table are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Columns {
    /// The width of the names and variants in characters. Longer ones take several lines.
    label: usize,
    /// The most sizes. Of three sizes, the middle one is left out first.
    sizes: usize,
    intervals: bool,
    cycles: bool,
}

/// From the most columns to the fewest; the first that fits is used.
const COLUMNS: [Columns; 8] = [
    Columns { label: 48, sizes: 3, intervals: true, cycles: true },
    Columns { label: 40, sizes: 3, intervals: true, cycles: false },
    Columns { label: 32, sizes: 3, intervals: true, cycles: false },
    Columns { label: 48, sizes: 2, intervals: true, cycles: false },
    Columns { label: 40, sizes: 2, intervals: true, cycles: false },
    Columns { label: 32, sizes: 2, intervals: true, cycles: false },
    Columns { label: 28, sizes: 2, intervals: false, cycles: false },
    Columns { label: 24, sizes: 1, intervals: false, cycles: false },
];

/// The table in lines of at most `width` columns.
pub(super) fn lines(sections: &[Section], width: usize, painter: Painter) -> Vec<String> {
    let mut text = Vec::new();
    for columns in COLUMNS {
        text = table(sections, columns);
        if text.iter().all(|(_, line)| line.chars().count() <= width) {
            break;
        }
    }
    text.iter().map(|(is_title, line)| colour(*is_title, &clip(line, width), painter)).collect()
}

/// The lines, and whether each is a title.
fn table(sections: &[Section], columns: Columns) -> Vec<(bool, String)> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let mut titles = Vec::new();
    let mut add = |is_title, label: &str, cells: Vec<Cell>| {
        table.add_row(std::iter::once(Cell::new(label)).chain(cells));
        titles.push(is_title);
    };
    for (index, section) in sections.iter().enumerate() {
        if index > 0 {
            add(false, "", Vec::new());
        }
        for (at, part) in super::wrap(&section.title, columns.label, "  ").iter().enumerate() {
            let sizes = if at == 0 { sizes(section, columns) } else { Vec::new() };
            add(true, part, sizes);
        }
        let labels = Labels::of(section, columns.label);
        for line in &section.lines {
            let (parts, of_figures) = labels.parts(line);
            for (at, part) in parts.iter().enumerate() {
                let figures = if at == of_figures { figures(line, section, columns) } else { Vec::new() };
                add(false, part, figures);
            }
        }
    }
    // The columns of one size stand close together.
    let group = 1 + extras(columns).count();
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if at % group == 0 { 2 } else { 1 }));
    }
    titles.into_iter().zip(table.lines().map(|line| line.trim_end().to_owned())).collect()
}

/// Where the variants of a section stand: beside the names of the primitives, or below them if a word of theirs would not
/// fit there.
#[derive(Debug)]
struct Labels {
    label: usize,
    names: usize,
    is_beside: bool,
}

impl Labels {
    fn of(section: &Section, label: usize) -> Self {
        let width = |text: &str| text.chars().count();
        let names = section.lines.iter().map(|line| width(&line.name)).max().unwrap_or_default();
        let words = section.lines.iter().flat_map(|line| line.variant.split(' '));
        // Two columns in front, one behind the name, and two in front of what goes on in the next line.
        let is_beside = names + 5 + words.map(width).max().unwrap_or_default() <= label;
        Self { label, names, is_beside }
    }

    /// The lines of a label, and which of them has the figures.
    fn parts(&self, line: &Line) -> (Vec<String>, usize) {
        let names = self.names;
        if line.variant.is_empty() {
            return (vec![clip(&format!("  {}", line.name), self.label)], 0);
        }
        if self.is_beside {
            let parts = super::wrap(&line.variant, self.label - names - 3, "  ");
            let name = |at: usize| if at == 0 { line.name.as_str() } else { "" };
            return (parts.iter().enumerate().map(|(at, part)| format!("  {:names$} {part}", name(at))).collect(), 0);
        }
        let name = (!line.name.is_empty()).then(|| clip(&format!("  {}", line.name), self.label));
        let of_figures = usize::from(name.is_some());
        let parts = super::wrap(&line.variant, self.label - 4, "  ").into_iter().map(|part| format!("    {part}"));
        (name.into_iter().chain(parts).collect(), of_figures)
    }
}

/// The indices of the sizes of a section that are shown.
fn shown(section: &Section, columns: Columns) -> Vec<usize> {
    let count = section.sizes.len();
    match columns.sizes {
        sizes if sizes >= count => (0..count).collect(),
        1 => vec![count - 1],
        _ => vec![0, count - 1],
    }
}

fn sizes(section: &Section, columns: Columns) -> Vec<Cell> {
    let of_size = |at: usize| {
        let empty = extras(columns).map(|_| Cell::new(""));
        std::iter::once(right(&section.sizes[at])).chain(empty).collect::<Vec<_>>()
    };
    shown(section, columns).into_iter().flat_map(of_size).collect()
}

/// The columns that follow each figure.
fn extras(columns: Columns) -> impl Iterator<Item = fn(&Cost) -> Option<String>> {
    let interval: fn(&Cost) -> Option<String> = |cost| cost.interval.clone();
    let cycles: fn(&Cost) -> Option<String> = |cost| cost.cycles.clone();
    [(columns.intervals, interval), (columns.cycles, cycles)]
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, read)| read)
}

/// No cells where the line has no costs.
fn figures(line: &Line, section: &Section, columns: Columns) -> Vec<Cell> {
    if line.costs.is_empty() {
        return Vec::new();
    }
    let of_size = |at: usize| {
        let cost = line.costs[at].as_ref();
        let extras = extras(columns).map(move |read| right(&cost.and_then(read).unwrap_or_default()));
        std::iter::once(right(cost.map_or("–", |cost| cost.figure.as_str()))).chain(extras).collect::<Vec<_>>()
    };
    shown(section, columns).into_iter().flat_map(of_size).collect()
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The line, cut to `width` characters. Every line of the table comes through here before it is coloured, so that nothing that
/// stands in a file is obeyed by the terminal.
pub(super) fn clip(line: &str, width: usize) -> String {
    let line = plain(line);
    if line.chars().count() <= width {
        return line;
    }
    let start: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{start}…")
}

/// The words that stand in place of a figure, with their colours.
const WORDS: [(&str, Tone); 7] = [
    ("no number", Tone::Doubt),
    ("overlapped", Tone::Quiet),
    ("not additive", Tone::Doubt),
    ("elided", Tone::Doubt),
    ("skipped", Tone::Quiet),
    ("timed out", Tone::Bad),
    ("failed", Tone::Bad),
];

fn colour(is_title: bool, line: &str, painter: Painter) -> String {
    if is_title {
        return painter.text(line, Tone::Strong);
    }
    if !painter.colour {
        return line.to_owned();
    }
    let mut coloured = String::new();
    let mut rest = line;
    // The sign marks the intervals.
    while let Some((start, end)) = rest.find('±').and_then(|start| Some((start, start + rest[start..].find('%')? + 1)))
    {
        coloured.push_str(&rest[..start]);
        coloured.push_str(&painter.text(&rest[start..end], Tone::Quiet));
        rest = &rest[end..];
    }
    coloured.push_str(rest);
    WORDS.iter().fold(coloured, |text, (word, tone)| text.replace(word, &painter.text(word, *tone)))
}
