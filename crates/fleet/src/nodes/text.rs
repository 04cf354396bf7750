//! Fleet reports as text.

use serde_json::{Value, json};
use syncscope_core::stats::median;
use syncscope_core::units::{plural, significant};

use syncscope_report::figure::{self, percent};
use syncscope_report::grid::{Grid, and_more};
use syncscope_report::{json as json_text, sets};

use super::{ExaminedFleet, FleetCell, FleetNode};

/// The most lines of outliers that the terminal shows; the other formats have all of them.
const MOST_OUTLIERS: usize = 40;

/// Text for the terminal: the families, the nodes that differ, and the summary at the end.
pub fn for_terminal(fleet: &ExaminedFleet, width: usize) -> String {
    let mut parts = vec![format!("Families\n{}", families(fleet).for_terminal(width))];
    if fleet.outliers().next().is_some() {
        let (table, left_out) = outliers(fleet, MOST_OUTLIERS);
        parts.push(format!("Nodes that differ\n{}{}", table.for_terminal(width), and_more(left_out)));
        parts.push(about_intervals(fleet));
    }
    parts.push(summary(fleet));
    parts.join("\n\n")
}

/// Explains the printed intervals, which decide the verdicts.
pub fn about_intervals(fleet: &ExaminedFleet) -> String {
    let limit = 1.0 + fleet.threshold;
    let cells = cells(fleet).count();
    format!(
        "A primitive of a node differs if its whole interval is above {} or below {}. The intervals are corrected for {cells} \
         comparisons (nodes times primitives).",
        figure::ratio(limit),
        figure::ratio(limit.recip())
    )
}

/// Markdown, with all nodes that differ.
pub fn as_markdown(fleet: &ExaminedFleet) -> String {
    let mut parts = vec![format!("**{}**", summary(fleet)), families(fleet).as_markdown()];
    if fleet.outliers().next().is_some() {
        parts.push(outliers(fleet, usize::MAX).0.as_markdown());
        parts.push(about_intervals(fleet));
    }
    parts.join("\n\n")
}

/// CSV, one line for each primitive of each node.
pub fn as_csv(fleet: &ExaminedFleet) -> String {
    let causes = |node: &FleetNode, cell: &FleetCell| cell.differs().then(|| node.causes.join("; "));
    Grid::of(cells(fleet))
        .text("node", |(node, ..)| node.name.clone())
        .text("primitive", |(_, primitive, _)| (*primitive).to_owned())
        .number("ratio", |(.., cell)| significant(cell.ratio))
        .number("ratio_low", |(.., cell)| significant(cell.low))
        .number("ratio_high", |(.., cell)| significant(cell.high))
        .number("cycles_ratio", |(.., cell)| cell.cycles_ratio.map(significant).unwrap_or_default())
        .number("cases", |(.., cell)| cell.cases.to_string())
        .text("change", |(.., cell)| cell.change.as_str().to_owned())
        .text("causes", |(node, _, cell)| causes(node, cell).unwrap_or_default())
        .grid()
        .as_csv()
}

/// JSON, all nodes with their primitives.
pub fn as_json(fleet: &ExaminedFleet) -> String {
    let spread = |(primitive, spread)| json!({ "primitive": primitive, "spread": spread });
    let node = |node: &FleetNode| {
        json!({
            "node": node.name,
            "differs": node.is_outlier(),
            "missing_cases": node.missing,
            "causes": node.causes,
            "primitives": cells_of(fleet, node).map(named).collect::<Vec<_>>(),
        })
    };
    let value = json!({
        "threshold": fleet.threshold,
        "primitives": fleet.primitives.iter().zip(&fleet.spreads).map(spread).collect::<Vec<_>>(),
        "nodes": fleet.nodes.iter().map(node).collect::<Vec<_>>(),
        "copies": fleet.copies,
    });
    json_text(&value)
}

/// A cell as JSON, with the name of its primitive.
fn named((primitive, cell): (&str, &FleetCell)) -> Value {
    let mut value = json!(cell);
    value["primitive"] = json!(primitive);
    value
}

/// `200 nodes, 7 primitives: 5 nodes differ from the median node by more than 5 % (median over a primitive's cases)`,
/// with `7 of 9 primitives` if two are on too few nodes. A fleet without comparable cases gets another sentence.
pub fn summary(fleet: &ExaminedFleet) -> String {
    let (compared, nodes) = (fleet.compared(), fleet.nodes.len());
    if compared == 0 {
        return format!(
            "{nodes} nodes, nothing is compared: no case has a figure on {} nodes or more, which a median node needs; name runs \
             of the same primitives and sizes, or leave out the nodes without them: --only 'gpu.*'",
            fleet.nodes_for_a_comparison()
        );
    }
    let nodes_that = |count: usize, verb: &str| match count {
        1 => format!("1 node {verb}s"),
        _ => format!("{count} nodes {verb}"),
    };
    let differ = Some(fleet.outliers().count()).filter(|count| *count > 0);
    let differ = differ.map_or_else(|| "no node differs".to_owned(), |count| nodes_that(count, "differ"));
    let lacking = Some(fleet.nodes.iter().filter(|node| node.missing > 0).count()).filter(|count| *count > 0);
    let lacking =
        lacking.map(|count| format!("; {} cases that most have", nodes_that(count, "lack"))).unwrap_or_default();
    let copies: Vec<String> = fleet.copies.iter().map(|(one, other)| format!("{one} and {other}")).collect();
    let copies = if copies.is_empty() { String::new() } else { format!("; copies of one run: {}", copies.join(", ")) };
    let all = fleet.primitives.len();
    format!(
        "{nodes} nodes, {} primitives: {differ} from the median node by more than {} (median over a primitive's \
         cases){lacking}{}",
        if compared == all { all.to_string() } else { format!("{compared} of {all}") },
        percent(fleet.threshold),
        copies
    )
}

fn cells(fleet: &ExaminedFleet) -> impl Iterator<Item = (&FleetNode, &str, &FleetCell)> {
    fleet.nodes.iter().flat_map(|node| cells_of(fleet, node).map(move |(primitive, cell)| (node, primitive, cell)))
}

/// The compared primitives of a node.
fn cells_of<'a>(fleet: &'a ExaminedFleet, node: &'a FleetNode) -> impl Iterator<Item = (&'a str, &'a FleetCell)> {
    let named = fleet.primitives.iter().zip(&node.cells);
    named.filter_map(|(primitive, cell)| Some((primitive.as_str(), cell.as_ref()?)))
}

/// One line per family: how many of its primitives are compared, the median spread of the nodes, and the extremes of
/// all nodes.
fn families(fleet: &ExaminedFleet) -> Grid {
    let family_of = |primitive: &str| primitive.rsplit_once('.').map_or(primitive, |(family, _)| family).to_owned();
    let named = fleet.primitives.iter().enumerate().map(|(at, primitive)| (family_of(primitive), at));
    let cells = |primitives: &[usize]| -> Vec<&FleetCell> {
        fleet.nodes.iter().flat_map(|node| primitives.iter().filter_map(|at| node.cells[*at].as_ref())).collect()
    };
    let end = |primitives: &[usize], pick: fn(f64, f64) -> f64| {
        let end = cells(primitives).iter().map(|cell| cell.ratio).reduce(pick);
        end.map(|ratio| format!("{ratio:.3}")).unwrap_or_default()
    };
    let compared = |primitives: &[usize]| primitives.iter().filter(|at| fleet.is_compared(**at)).count();
    let spread = |primitives: &[usize]| {
        let spreads: Vec<f64> = primitives.iter().filter_map(|at| fleet.spreads[*at]).collect();
        median(&spreads).map(|spread| format!("{:.2} %", 100.0 * spread)).unwrap_or_default()
    };
    Grid::of(sets(named))
        .text("family", |(family, _)| family.clone())
        .number("compared", |(_, of)| format!("{} of {}", compared(of), of.len()))
        .number("spread", |(_, of)| spread(of))
        .number("smallest", |(_, of)| end(of, f64::min))
        .number("largest", |(_, of)| end(of, f64::max))
        .number("differ", |(_, of)| cells(of).iter().filter(|cell| cell.differs()).count().to_string())
        .grid()
}

/// The nodes that differ, each with its largest deviation and in that order, and the number of nodes left out.
fn outliers(fleet: &ExaminedFleet, most: usize) -> (Grid, usize) {
    let size = |cell: &FleetCell| cell.ratio.ln().abs();
    let largest = |node: &FleetNode| {
        node.outlying().map(|(primitive, cell)| (primitive, *cell)).max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)))
    };
    let mut lines: Vec<(&FleetNode, usize, FleetCell)> =
        fleet.nodes.iter().filter_map(|node| largest(node).map(|(primitive, cell)| (node, primitive, cell))).collect();
    lines.sort_by(|(.., a), (.., b)| size(b).total_cmp(&size(a)));
    let left_out = lines.len().saturating_sub(most);
    let causes =
        |node: &FleetNode| if node.causes.is_empty() { "none recorded".to_owned() } else { node.causes.join("; ") };
    let grid = Grid::of(lines.into_iter().take(most))
        .text("node", |(node, ..)| node.name.clone())
        .number("differs in", |(node, ..)| plural(node.outlying().count(), "primitive"))
        .number("ratio", |(.., cell)| format!("{:.3}", cell.ratio))
        .text("corrected interval", |(.., cell)| format!("{:.3} to {:.3}", cell.low, cell.high))
        .text("most in", |(_, primitive, _)| fleet.primitives[*primitive].clone())
        .text("possible cause", |(node, ..)| causes(node));
    (grid.grid(), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use syncscope_report::Change;

    fn fleet() -> ExaminedFleet {
        let cell = |ratio: f64, change| {
            Some(FleetCell { ratio, low: ratio * 0.99, high: ratio * 1.01, cycles_ratio: None, cases: 4, change })
        };
        let node = |name: &str, cells: Vec<Option<FleetCell>>| FleetNode {
            name: name.to_owned(),
            cells,
            missing: 0,
            causes: Vec::new(),
        };
        ExaminedFleet {
            primitives: ["cpu.lock.mcs", "gpu.grid.counter", "gpu.grid.lock_free"].map(str::to_owned).to_vec(),
            spreads: vec![Some(0.01), Some(0.002), Some(0.004)],
            nodes: vec![
                node("cn1", vec![cell(1.0, Change::Same), cell(1.0, Change::Same), None]),
                FleetNode {
                    causes: vec!["clock, <b>|".to_owned()],
                    ..node("=cn2", vec![cell(1.02, Change::Undecided), cell(1.3, Change::Slower), None])
                },
                FleetNode { missing: 2, ..node("cn3", vec![None, cell(0.5, Change::Faster), cell(1.0, Change::Same)]) },
            ],
            threshold: 0.05,
            copies: vec![("cn1".to_owned(), "cn4".to_owned())],
        }
    }

    #[test]
    fn the_largest_deviation_stands_first_and_the_summary_last() {
        let text = for_terminal(&fleet(), 120);
        let lines: Vec<&str> = text.lines().collect();
        let at = |start: &str| lines.iter().position(|line| line.trim_start().starts_with(start)).unwrap();
        assert!(at("cn3") < at("=cn2") && lines[at("cn3")].contains("0.500"), "{text}");
        assert!(lines[at("gpu.grid")].ends_with("2 of 2  0.30 %     0.500    1.300       2"), "{text}");
        assert_eq!(
            *lines.last().unwrap(),
            "3 nodes, 3 primitives: 2 nodes differ from the median node by more than 5 % (median over a primitive's \
             cases); 1 node lacks cases that most have; copies of one run: cn1 and cn4"
        );
    }

    #[test]
    fn what_is_not_compared_is_not_counted_as_compared() {
        let mut fleet = fleet();
        for node in &mut fleet.nodes {
            node.cells[1] = None;
        }
        let text = for_terminal(&fleet, 120);
        assert!(text.lines().any(|line| line.contains("gpu.grid") && line.contains("1 of 2")), "{text}");
        assert!(summary(&fleet).starts_with("3 nodes, 2 of 3 primitives: no node differs"), "{text}");
        for node in &mut fleet.nodes {
            node.cells = vec![None; 3];
        }
        let text = summary(&fleet);
        assert!(text.starts_with("3 nodes, nothing is compared: no case has a figure on 2 nodes or more"), "{text}");
    }

    #[test]
    fn names_are_harmless_in_every_format() {
        let csv = as_csv(&fleet());
        assert!(csv.lines().any(|line| line.starts_with("'=cn2,gpu.grid.counter,1.3,")), "{csv}");
        assert_eq!(csv.lines().count(), 1 + 6);
        assert!(as_markdown(&fleet()).contains("clock, &lt;b&gt;\\|"), "{}", as_markdown(&fleet()));
        let json: Value = serde_json::from_str(&as_json(&fleet())).unwrap();
        assert_eq!(json["nodes"][1]["primitives"].as_array().unwrap().len(), 2);
        assert_eq!(json["copies"], json!([["cn1", "cn4"]]), "what the text warns of");
    }
}
