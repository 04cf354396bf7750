//! From sections to lines of text, with as many columns as fit the width.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::paint::{Painter, Tone};
use super::sections::{Line, Section};
use crate::figure::Cost;

/// Which columns of the table are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Columns {
    /// The width of the longest label in characters.
    label: usize,
    /// The most sizes. Of three sizes, the middle one is left out first.
    sizes: usize,
    intervals: bool,
    cycles: bool,
}

/// From the most columns to the fewest; the first that fits is used.
const COLUMNS: [Columns; 6] = [
    Columns { label: 48, sizes: 3, intervals: true, cycles: true },
    Columns { label: 40, sizes: 3, intervals: true, cycles: false },
    Columns { label: 32, sizes: 3, intervals: true, cycles: false },
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
    text.iter().map(|(kind, line)| colour(*kind, &clip(line, width), painter)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Title,
    Figures,
}

fn table(sections: &[Section], columns: Columns) -> Vec<(LineKind, String)> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let mut kinds = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        if index > 0 {
            table.add_row([""]);
            kinds.push(LineKind::Figures);
        }
        table.add_row(title(section, columns));
        kinds.push(LineKind::Title);
        for line in &section.lines {
            table.add_row(figures(line, section, columns));
            kinds.push(LineKind::Figures);
        }
    }
    // The columns of one size stand close together.
    let group = 1 + extras(columns).count();
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if at % group == 0 { 2 } else { 1 }));
    }
    kinds.into_iter().zip(table.lines().map(|line| line.trim_end().to_owned())).collect()
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

fn title(section: &Section, columns: Columns) -> Vec<Cell> {
    let mut cells = vec![Cell::new(clip(&section.title, columns.label))];
    for at in shown(section, columns) {
        cells.push(right(&section.sizes[at]));
        cells.extend(extras(columns).map(|_| Cell::new("")));
    }
    cells
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

fn figures(line: &Line, section: &Section, columns: Columns) -> Vec<Cell> {
    let mut cells = vec![Cell::new(clip(&format!("  {}", line.label), columns.label))];
    if line.costs.is_empty() {
        return cells;
    }
    for at in shown(section, columns) {
        let cost = line.costs[at].as_ref();
        cells.push(right(cost.map_or("–", |cost| cost.figure.as_str())));
        cells.extend(extras(columns).map(|read| right(&cost.and_then(read).unwrap_or_default())));
    }
    cells
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The line, cut to `width` characters.
pub(super) fn clip(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let start: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{start}…")
}

/// The words that stand in place of a figure, with their colours.
const WORDS: [(&str, Tone); 7] = [
    ("not resolved", Tone::Doubt),
    ("overlapped", Tone::Quiet),
    ("not additive", Tone::Doubt),
    ("elided", Tone::Doubt),
    ("skipped", Tone::Quiet),
    ("timed out", Tone::Bad),
    ("failed", Tone::Bad),
];

fn colour(kind: LineKind, line: &str, painter: Painter) -> String {
    if kind == LineKind::Title {
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
