//! Turns rows into the lines of the table: a section per family, a line per primitive and variant, and at most three sizes
//! (the smallest, one between, the largest).

use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::{Case, Placement, Row, Verdict};

use crate::RunData;
use crate::analysis::placements;
use crate::analysis::usual::{MachineSize, short_name};
use crate::figure::{grouped, percent};
use crate::naming;
use crate::reading::{Reading, State, interval_within_run};
use syncscope_core::sets::in_groups;

/// A part of the table with its own sizes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Section {
    /// `cpu.atomic`, followed by the parameters that all lines share.
    pub(super) title: String,
    /// `1 thread`, `4 threads`, `16 threads`.
    pub(super) sizes: Vec<String>,
    pub(super) lines: Vec<TableLine>,
}

/// One variant of a primitive, or several variants of the same cost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TableLine {
    /// `add`, the name of the primitive; empty if the line above has it.
    pub(super) name: String,
    /// `i32, u64 shared`: how this variant differs from others of the section.
    pub(super) variant: String,
    /// The cost at each size of the section; `None` if there is no row. Of several variants, it is the first one's.
    pub(super) costs: Vec<Option<Reading>>,
    /// Whether another variant of the line has other figures.
    pub(super) has_other_figures: bool,
}

/// The most lines of a primitive; the page has all variants.
const MOST_VARIANTS: usize = 5;

/// Variants share a line if their costs differ by less than this share, or if their intervals within the run overlap.
const SAME_COST: f64 = 0.05;

/// The share for groups, which are designs of one barrier or lengths of a kernel: these differ by only a few percent.
const SAME_COST_OF_GROUPS: f64 = 0.02;

/// The sections of a run, CPU first.
pub(super) fn sections(data: &RunData, cheapest: &[&Row]) -> Vec<Section> {
    let mut families: BTreeMap<_, Vec<(Case, &Row)>> = BTreeMap::new();
    let (shown, machine) = (placements::shown(data), MachineSize::of(&data.run.machine));
    for row in without_repeated_lists(data) {
        let (domain, family) = row.case.domain_and_family();
        let mut identity = Case { threads: None, blocks: None, devices: None, ..row.case.clone() };
        // Placement means nothing to a single thread, so it begins the line of the usual placement.
        let is_named = identity.placement.as_ref().is_some_and(|own| placements::BY_RANK.contains(own));
        if domain == "cpu" && row.case.threads == Some(1) && is_named {
            identity.placement = Some(shown.clone());
        }
        families.entry((naming::family_order(domain, family), domain, family)).or_default().push((identity, row));
    }
    let of_family = |rows| {
        let variants = in_groups(rows).into_iter().map(|(identity, rows)| Variant { identity, rows });
        family_sections(variants.collect(), machine, cheapest)
    };
    families.into_values().flat_map(of_family).collect()
}

/// All rows, except that rows that differ only in their list of CPUs are represented by the one with the median cost.
fn without_repeated_lists(data: &RunData) -> impl Iterator<Item = &Row> {
    let has_list = |row: &Row| matches!(row.case.placement, Some(Placement::List(_)));
    let alike = data.sets(|row| has_list(row).then(|| Case { placement: None, ..row.case.clone() }));
    let medians: BTreeSet<usize> = alike.into_values().filter_map(|rows| data.median(rows)).collect();
    let shown = data.rows.iter().enumerate().filter(move |(index, row)| !has_list(row) || medians.contains(index));
    shown.map(|(_, row)| row)
}

/// Rows that differ only in their size.
struct Variant<'a> {
    identity: Case,
    rows: Vec<&'a Row>,
}

impl<'a> Variant<'a> {
    fn at(&self, like: &Case) -> Option<&'a Row> {
        self.rows.iter().copied().find(|row| size(&row.case) == size(like))
    }
}

fn size(case: &Case) -> [Option<u32>; 3] {
    [case.threads, case.blocks, case.devices]
}

/// The sections of a family. Variants without any of the common sizes follow in sections with their own sizes.
fn family_sections(mut variants: Vec<Variant<'_>>, machine: MachineSize, cheapest: &[&Row]) -> Vec<Section> {
    let mut sections = Vec::new();
    while !variants.is_empty() {
        let sizes = common_sizes(&variants, machine);
        let (fitting, rest): (Vec<_>, Vec<_>) =
            variants.into_iter().partition(|variant| sizes.iter().any(|size| variant.at(size).is_some()));
        sections.push(section(&fitting, &sizes, cheapest));
        variants = rest;
    }
    sections
}

/// The smallest size, the one nearest the logarithmic middle, and the largest. Only sizes with at least half as many
/// variants as the most common size count.
fn common_sizes(variants: &[Variant<'_>], machine: MachineSize) -> Vec<Case> {
    let rows = || variants.iter().flat_map(|variant| &variant.rows);
    // A size whose rows were all skipped, or that has more threads than CPUs, is shown only if there is no other.
    let exists = |row: &Row| !matches!(row.verdict, Verdict::Skipped(_)) && !machine.is_oversubscribed_by(&row.case);
    let any_exists = rows().any(|row| exists(row));
    let counted = rows().filter(|row| exists(row) || !any_exists).map(|row| (size(&row.case), &row.case));
    let groups = in_groups(counted);
    let most = groups.iter().map(|(_, cases)| cases.len()).max().unwrap_or_default();
    let mut sizes: Vec<&Case> =
        groups.iter().filter(|(_, cases)| 2 * cases.len() >= most).map(|(_, cases)| cases[0]).collect();
    sizes.sort_by_key(|size| (size.actors(), size.blocks));
    let [first, between @ .., last] = sizes.as_slice() else { return sizes.into_iter().cloned().collect() };
    let middle = (first.actors() as f64 * last.actors() as f64).sqrt().ln();
    let distance = |size: &&&Case| ((size.actors() as f64).ln() - middle).abs();
    let middle_size = between.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    [Some(first), middle_size, Some(last)].into_iter().flatten().map(|size| (*size).clone()).collect()
}

/// A line under construction. Each parameter of its variant may have several values.
struct Draft<'a> {
    primitive: &'a str,
    words: Vec<Vec<String>>,
    rows: Vec<Option<&'a Row>>,
    has_other_figures: bool,
}

fn section(variants: &[Variant<'_>], sizes: &[Case], cheapest: &[&Row]) -> Section {
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for variant in variants {
        let draft = Draft {
            primitive: &variant.rows[0].case.primitive,
            words: words(&variant.identity).map(|word| vec![word]).to_vec(),
            rows: sizes.iter().map(|size| variant.at(size)).collect(),
            has_other_figures: false,
        };
        if !drafts.iter_mut().any(|known| known.merge(&draft)) {
            drafts.push(draft);
        }
    }
    let titled: Vec<Option<&[String]>> = (0..WORDS).map(|at| titled_values(&drafts, at)).collect();
    let (domain, family) = variants[0].identity.domain_and_family();
    let mut title = vec![format!("{domain}.{family}")];
    title.extend(titled.iter().flatten().map(|values| joined(values)).filter(|word| !word.is_empty()));
    let of_primitives = in_groups(drafts.iter().map(|draft| (draft.primitive, draft))).into_iter();
    let lines = of_primitives.flat_map(|(primitive, own)| primitive_lines(primitive, own, &titled, cheapest)).collect();
    Section { title: title.join(" · "), sizes: titles(sizes), lines }
}

/// The titles of the columns. One device is named where other sizes have several.
fn titles(sizes: &[Case]) -> Vec<String> {
    let has_several = sizes.iter().any(|size| size.devices > Some(1));
    let title = |size: &Case| {
        let on_device = naming::size(size);
        if has_several && size.devices == Some(1) { format!("1 device × {on_device}") } else { on_device }
    };
    sizes.iter().map(title).collect()
}

/// The values of a parameter that the title gives for all lines without their own: the values that all lines share, or the
/// order or mode of most lines if the others have one, too.
fn titled_values<'a>(drafts: &'a [Draft<'_>], at: usize) -> Option<&'a [String]> {
    let values = || drafts.iter().map(|draft| draft.words[at].as_slice());
    let count = |of: &[String]| values().filter(|other| *other == of).count();
    let usual = values().max_by_key(|values| count(values))?;
    let is_of_all = count(usual) == drafts.len();
    let is_of_most = [ORDER, MODE].contains(&at)
        && 3 * count(usual) >= 2 * drafts.len()
        && values().all(|of| !joined(of).is_empty());
    (is_of_all || is_of_most).then_some(usual)
}

/// Joins values: `i32, u64`, or the first of many. An empty value among several is the default.
fn joined(values: &[String]) -> String {
    let named =
        |value: &String| if value.is_empty() && values.len() > 1 { "default".to_owned() } else { value.clone() };
    match values {
        [first, others @ ..] if others.len() > 2 => format!("{}, {} more", named(first), others.len()),
        few => few.iter().map(named).collect::<Vec<_>>().join(", "),
    }
}

/// Explains lines of several variants with different figures.
pub(super) fn joined_lines() -> String {
    format!(
        "a, b: several variants, with the figures of the first; the others' differ by less than {}, or the intervals overlap",
        percent(SAME_COST)
    )
}

/// The mark before the cheapest figure of a column.
pub(super) const CHEAPEST: &str = "*";

fn cost(row: &Row, cheapest: &[&Row]) -> Reading {
    let mut cost = Reading::of(row);
    let is_cheapest = cheapest.iter().any(|one| std::ptr::eq(*one, row));
    if is_cheapest {
        cost.figure.insert_str(0, CHEAPEST);
    }
    cost
}

fn primitive_lines(
    primitive: &str,
    mut own: Vec<&Draft<'_>>,
    titled: &[Option<&[String]>],
    cheapest: &[&Row],
) -> Vec<TableLine> {
    // The default form comes first, so that it is among the lines shown.
    own.sort_by_key(|draft| !draft.words[FORM][0].is_empty());
    let line = |(index, draft): (usize, &&Draft<'_>)| {
        let name = if index == 0 { short_name(primitive).to_owned() } else { String::new() };
        let mut variant = draft.variant(titled);
        if variant.is_empty() && name.is_empty() {
            // A line without words would seem to belong to the line above.
            variant = [joined(&draft.words[ORDER]), joined(&draft.words[MODE])].join(" ");
        }
        let costs = draft.rows.iter().map(|row| row.map(|row| cost(row, cheapest))).collect();
        TableLine { name, variant, costs, has_other_figures: draft.has_other_figures }
    };
    let more = own.len().saturating_sub(MOST_VARIANTS);
    let variant = format!("{more} more on the page");
    let more = (more > 0).then(|| TableLine { name: String::new(), variant, costs: vec![], has_other_figures: false });
    own.iter().take(MOST_VARIANTS).enumerate().map(line).chain(more).collect()
}

/// The number of parameters that distinguish the variants of a primitive.
const WORDS: usize = 10;

/// The index of the order.
const ORDER: usize = 5;

/// The index of the mode.
const MODE: usize = 6;

/// The index of the group.
const GROUP: usize = 7;

/// The index of the form.
const FORM: usize = 8;

/// The index of the work inside and outside a critical section, or of the length of a vector.
const WORK: usize = 9;

/// The parameters that distinguish a variant from the others of its primitive, as words.
fn words(case: &Case) -> [String; WORDS] {
    fn text<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    [
        text(case.dtype),
        case.layout.map(naming::layout).unwrap_or_default(),
        text(case.placement.as_ref().map(naming::placement)),
        text(case.scope),
        case.space.map(|space| format!("{space} mem")).unwrap_or_default(),
        text(case.order),
        text(case.mode),
        case.group.as_ref().map(naming::group).unwrap_or_default(),
        text(case.form),
        case.elements.map_or_else(|| text(case.work_in_words()), |elements| format!("{} elements", grouped(elements))),
    ]
}

impl Draft<'_> {
    /// Merges `other` into this line if they differ in one word only and cost the same at every size. Forms keep their own
    /// lines.
    fn merge(&mut self, other: &Self) -> bool {
        let different: Vec<usize> = (0..WORDS).filter(|at| self.words[*at] != other.words[*at]).collect();
        let [at] = different.as_slice() else { return false };
        let share = if *at == GROUP { SAME_COST_OF_GROUPS } else { SAME_COST };
        let same = ![FORM, WORK].contains(at)
            && self.primitive == other.primitive
            && self.rows.iter().zip(&other.rows).all(|(a, b)| cost_the_same(*a, *b, share));
        if same {
            self.words[*at].extend(other.words[*at].iter().cloned());
            let figures = |row: Option<&Row>| row.map(|row| Reading::of(row).cells());
            let own = self.rows.iter().copied().map(figures);
            self.has_other_figures |= own.ne(other.rows.iter().copied().map(figures));
        }
        same
    }

    /// The words that the title lacks. Lines do not break within a word such as `shared mem`.
    fn variant(&self, titled: &[Option<&[String]>]) -> String {
        let own = self.words.iter().zip(titled).filter(|(values, titled)| **titled != Some(values.as_slice()));
        let unbroken = |word: String| word.replace(' ', "\u{a0}").replace(",\u{a0}", ", ");
        own.map(|(values, _)| unbroken(joined(values))).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Whether two costs differ by at most this share or overlap, or are missing for the same reason.
fn cost_the_same(a: Option<&Row>, b: Option<&Row>, share: f64) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let (x, y) = (Reading::of(a), Reading::of(b));
    if [x.state, y.state] != [State::Resolved; 2] {
        return (x.figure, x.interval) == (y.figure, y.interval);
    }
    let close = a.ns.zip(b.ns).is_some_and(|(a, b)| (a.value() - b.value()).abs() <= share * a.value().abs());
    let overlap =
        interval_within_run(a).zip(interval_within_run(b)).is_some_and(|(a, b)| a.low <= b.high && b.low <= a.high);
    close || overlap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_written_has_a_name_beside_others() {
        let of = |values: &[&str]| joined(&values.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!((of(&[""]), of(&["", "driver_launch"])), (String::new(), "default, driver_launch".into()));
        assert_eq!(of(&["", "a", "b", "c"]), "default, 3 more");
    }
}
