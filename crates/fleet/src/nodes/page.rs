//! The fleet page: the nodes that differ, and a heat map of primitives and nodes. One file without scripts.

use syncscope_report::page::{document, escape};

use super::text;
use super::{ExaminedFleet, FleetCell, FleetNode};

const TEMPLATE: &str = include_str!("../../assets/fleet.html");
const STYLE: &str = include_str!("../../assets/fleet.css");

/// Renders the page. `pages` are the addresses of the nodes' own pages, relative to this one, in the order of the
/// nodes; `None` for a node without a page.
pub fn render(fleet: &ExaminedFleet, pages: &[Option<String>]) -> String {
    let title = format!("A fleet of {} nodes", fleet.nodes.len());
    document(TEMPLATE, &title, STYLE, |placeholder| match placeholder {
        "summary" => Some(escape(&text::summary(fleet))),
        "differ" => Some(differ(fleet, pages)),
        "map" => Some(map(fleet, pages)),
        "intervals" => Some(escape(&text::about_intervals(fleet))),
        _ => None,
    })
}

/// The name of a node, linked to its page.
fn name(node: &FleetNode, at: usize, pages: &[Option<String>]) -> String {
    let name = escape(&node.name);
    match pages.get(at) {
        Some(Some(page)) => format!("<a href=\"{}\">{name}</a>", escape(page)),
        _ => name,
    }
}

/// The nodes that differ, each with its primitives and the possible causes.
fn differ(fleet: &ExaminedFleet, pages: &[Option<String>]) -> String {
    let line = |(at, node): (usize, &FleetNode)| {
        let mut outlying: Vec<(usize, &FleetCell)> = node.outlying().collect();
        outlying.sort_by(|(_, a), (_, b)| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        let primitive = |(primitive, cell): &(usize, &FleetCell)| {
            let name = &fleet.primitives[*primitive];
            format!("{name} {:.2} times ({:.2} to {:.2})", cell.ratio, cell.low, cell.high)
        };
        let causes =
            if node.causes.is_empty() { "none recorded".to_owned() } else { list(node.causes.iter().cloned()) };
        let (name, outlying) = (name(node, at, pages), list(outlying.iter().map(primitive)));
        format!("<tr><th scope=\"row\">{name}</th><td>{outlying}</td><td>{causes}</td></tr>\n")
    };
    if fleet.compared() == 0 {
        return "<p>Nothing is compared.</p>".to_owned();
    }
    let outliers = fleet.nodes.iter().enumerate().filter(|(_, node)| node.is_outlier());
    let lines: String = outliers.map(line).collect();
    if lines.is_empty() {
        return "<p>No node differs from the median node beyond the intervals.</p>".to_owned();
    }
    format!(
        "<table class=\"fleet-list\"><thead><tr><th>node</th><th>cost relative to the median node</th><th>possible \
         cause</th></tr></thead><tbody>{lines}</tbody></table>"
    )
}

/// A list of texts.
fn list(texts: impl Iterator<Item = String>) -> String {
    let item = |text: String| format!("<li>{}</li>", escape(&text));
    format!("<ul>{}</ul>", texts.map(item).collect::<String>())
}

/// The heat map: a line per primitive and a column per node, those that certainly differ first, because a window shows
/// only a part of a hundred primitives and a thousand nodes.
fn map(fleet: &ExaminedFleet, pages: &[Option<String>]) -> String {
    let differs = |primitive: usize| fleet.nodes.iter().any(|node| node.outlying().any(|(at, _)| at == primitive));
    let nodes = first_where(fleet.nodes.len(), |at| fleet.nodes[at].is_outlier());
    let heading = |at: &usize| format!("<th scope=\"col\"><span>{}</span></th>", name(&fleet.nodes[*at], *at, pages));
    let line = |primitive: usize| {
        let cells: String = nodes.iter().map(|at| cell(fleet, &fleet.nodes[*at], primitive)).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(&fleet.primitives[primitive]))
    };
    format!(
        "<table style=\"--nodes: {}\"><thead><tr><td class=\"corner\"></td>{}</tr></thead><tbody>{}</tbody></table>",
        nodes.len(),
        nodes.iter().map(heading).collect::<String>(),
        first_where(fleet.primitives.len(), differs).into_iter().map(line).collect::<String>()
    )
}

/// The indices below `count`, first those for which `is_first` holds.
fn first_where(count: usize, is_first: impl Fn(usize) -> bool) -> Vec<usize> {
    let (first, others): (Vec<usize>, Vec<usize>) = (0..count).partition(|at| is_first(*at));
    [first, others].concat()
}

/// A cell of the map. A thousand nodes have a hundred thousand cells, so only cells beyond the threshold have text.
fn cell(fleet: &ExaminedFleet, node: &FleetNode, primitive: usize) -> String {
    let Some(cell) = node.cells[primitive].as_ref() else { return "<td class=none>".to_owned() };
    let FleetCell { ratio, low, high, .. } = cell;
    if ratio.ln().abs() <= fleet.threshold.ln_1p() {
        return "<td>".to_owned();
    }
    let side = if *ratio > 1.0 { 's' } else { 'f' };
    let step = match ratio.max(ratio.recip()) {
        factor if factor >= 2.0 => 3,
        factor if factor >= 1.25 => 2,
        _ => 1,
    };
    let (uncertain, text) = if cell.differs() { ("", format!("{ratio:.2}")) } else { (" u", String::new()) };
    let [primitive, node] = [&fleet.primitives[primitive], &node.name].map(|name| escape(name));
    format!(
        "<td class=\"{side}{step}{uncertain}\" title=\"{primitive}, {node}: {ratio:.3} ({low:.3} to {high:.3})\">{text}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_report::Change;

    fn fleet(nodes: usize, primitives: usize) -> ExaminedFleet {
        let typical =
            FleetCell { ratio: 1.01, low: 0.99, high: 1.03, cycles_ratio: Some(1.0), cases: 5, change: Change::Same };
        let node = |at: usize| FleetNode {
            name: format!("cn{at}"),
            cells: vec![Some(typical); primitives],
            missing: 0,
            causes: Vec::new(),
        };
        ExaminedFleet {
            primitives: (0..primitives).map(|at| format!("cpu.family.primitive{at}")).collect(),
            spreads: vec![Some(0.01); primitives],
            nodes: (0..nodes).map(node).collect(),
            threshold: 0.05,
            copies: Vec::new(),
        }
    }

    #[test]
    fn a_thousand_nodes_stay_below_five_megabytes() {
        let html = render(&fleet(1000, 110), &[]);
        assert!(html.len() < 5_000_000, "{} bytes", html.len());
        assert_eq!(html.matches("<td>").count(), 110_000);
        assert!(!html.contains("unknown placeholder") && html.contains("No node differs"));
    }

    /// With 101 columns about 50 fitted in a window, and the only differing cell lay outside it.
    #[test]
    fn the_cell_that_differs_stands_in_the_first_line_and_column() {
        let mut fleet = fleet(40, 101);
        let slower =
            FleetCell { ratio: 1.5, low: 1.4, high: 1.6, change: Change::Slower, ..fleet.nodes[0].cells[0].unwrap() };
        fleet.nodes[38].cells[97] = Some(slower);
        let html = render(&fleet, &[]);
        let map = html.split("id=\"map\"").nth(1).unwrap();
        let texts = |tag: &str| -> Vec<String> {
            let cells = map.split(tag).skip(1).map(|rest| rest.split('<').next().unwrap_or_default().to_owned());
            cells.collect()
        };
        let (nodes, primitives) = (texts("<th scope=\"col\"><span>"), texts("<th scope=\"row\">"));
        assert_eq!((nodes.len(), primitives.len()), (40, 101), "nodes are columns");
        assert_eq!((nodes[0].as_str(), nodes[1].as_str()), ("cn38", "cn0"));
        assert_eq!(
            (primitives[0].as_str(), primitives[1].as_str()),
            ("cpu.family.primitive97", "cpu.family.primitive0")
        );
        let first = map.split("</th><td").nth(1).unwrap();
        assert!(first.starts_with(" class=\"s2\" title=\"cpu.family.primitive97, cn38: 1.500"), "{}", &first[..90]);
    }

    #[test]
    fn a_fleet_without_comparable_cases_has_no_all_clear() {
        let mut fleet = fleet(3, 2);
        for node in &mut fleet.nodes {
            node.cells = vec![None; 2];
        }
        let html = render(&fleet, &[]);
        assert!(html.contains("Nothing is compared") && !html.contains("No node differs"));
    }

    #[test]
    fn what_differs_is_named_and_names_do_no_harm() {
        let mut fleet = fleet(3, 2);
        fleet.nodes[1].name = "<b>\"cn\"".to_owned();
        fleet.nodes[1].causes = vec!["<script>".to_owned()];
        let slower =
            FleetCell { ratio: 2.5, low: 2.4, high: 2.6, change: Change::Slower, ..fleet.nodes[1].cells[0].unwrap() };
        fleet.nodes[1].cells[0] = Some(slower);
        fleet.nodes[2].cells[1] = Some(FleetCell { ratio: 0.7, change: Change::Undecided, ..slower });
        fleet.nodes[2].cells[0] = None;
        let html = render(&fleet, &[None, Some("a\"b/report.html".to_owned()), None]);
        let body = html.split("</style>").nth(1).unwrap().replace('\u{a0}', " ");
        assert!(body.contains("cpu.family.primitive0 2.50 times (2.40 to 2.60)"));
        assert!(body.contains(
            "<td class=\"s3\" title=\"cpu.family.primitive0, &lt;b&gt;&quot;cn&quot;: 2.500 (2.400 to 2.600)\">2.50"
        ));
        assert!(body.contains("<td class=\"f2 u\"") && body.matches("<td class=none>").count() == 1);
        assert!(!body.contains("<b>") && !body.contains("<script>") && body.contains("href=\"a&quot;b/report.html\""));
    }
}
