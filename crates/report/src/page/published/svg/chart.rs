//! A picture with two axes.

use std::fmt::Write;

use super::super::super::html::escape;
use super::axis::Axis;

/// Colours of the page's lines: `--s0` to `--s7`. A chart has no more lines.
const COLOURS: usize = 8;

/// Space around the area of a chart, in pixels: for the labels of the axes.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;

/// Space of one line of the legend.
const LEGEND_LINE: f64 = 20.0;

/// The width of a character of the legend: an estimate for system fonts of 12 pixels, on the large side.
const CHARACTER: f64 = 6.8;

/// A point with its interval, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::page) struct Point {
    pub(in crate::page) x: f64,
    pub(in crate::page) y: f64,
    pub(in crate::page) interval: Option<(f64, f64)>,
}

/// A picture with two axes. See the folder's description.
#[derive(Debug, Clone)]
pub(in crate::page) struct Chart {
    label: String,
    width: f64,
    height: f64,
    left: f64,
    x: Axis,
    y: Axis,
    body: String,
    legend: Vec<(usize, String)>,
}

impl Chart {
    /// An empty chart; `label` says to those who do not see it what it shows. `height` is without the legend.
    pub(in crate::page) fn new(label: &str, (width, height): (u32, u32), x: Axis, y: Axis) -> Self {
        let longest = y.ticks().iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let left = LEFT.max(24.0 + longest as f64 * CHARACTER);
        let (width, height) = (f64::from(width), f64::from(height));
        Self { label: label.to_owned(), width, height, left, x, y, body: String::new(), legend: Vec::new() }
    }

    /// Where a pair of values is drawn, in pixels.
    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (right, bottom) = (self.width - RIGHT, self.height - BOTTOM);
        Some((self.left + self.x.share(x)? * (right - self.left), bottom - self.y.share(y)? * (bottom - TOP)))
    }

    /// A line through these points. A point without a place interrupts it.
    pub(in crate::page) fn line(&mut self, points: &[(f64, f64)], colour: usize) {
        let mut path = String::new();
        let mut pen = 'M';
        for (x, y) in points {
            match self.place(*x, *y) {
                Some((x, y)) => {
                    // Writing to a String cannot fail.
                    let _ = write!(path, "{pen}{x:.1},{y:.1}");
                    pen = 'L';
                }
                None => pen = 'M',
            }
        }
        self.add(colour, &format!("<path class=\"line\" stroke-width=\"2\" d=\"{path}\"/>"));
    }

    /// Points, each with its interval.
    pub(in crate::page) fn points(&mut self, points: &[Point], colour: usize) {
        let mut marks = String::new();
        for Point { x, y, interval } in points {
            if let Some((low, high)) = interval
                && let (Some((at, low)), Some((_, high))) = (self.place(*x, *low), self.place(*x, *high))
            {
                let _ = write!(marks, "<path class=\"whisker\" d=\"M{at:.1},{low:.1}V{high:.1}\"/>");
            }
            if let Some((x, y)) = self.place(*x, *y) {
                let _ = write!(marks, "<circle class=\"mark resolved\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"/>");
            }
        }
        self.add(colour, &marks);
    }

    /// A filled rectangle between two corners, such as a bar or the span of a timeline; `tip` is shown under the pointer.
    pub(in crate::page) fn bar(&mut self, from: (f64, f64), to: (f64, f64), colour: usize, tip: &str) {
        let (Some((x0, y0)), Some((x1, y1))) = (self.place(from.0, from.1), self.place(to.0, to.1)) else { return };
        let (x, y, width, height) = (x0.min(x1), y0.min(y1), (x1 - x0).abs().max(0.5), (y1 - y0).abs().max(0.5));
        let title = if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) };
        let shape = format!(
            "<rect class=\"block\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\">{title}</rect>"
        );
        self.add(colour, &shape);
    }

    /// A vertical line at `x` over the whole area, with a text at its top.
    pub(in crate::page) fn rule(&mut self, x: f64, text: &str) {
        let Some((x, _)) = self.place(x, self.y.high) else { return };
        let anchor = if x > self.width / 2.0 { "end" } else { "start" };
        let beside = if anchor == "end" { x - 5.0 } else { x + 5.0 };
        let bottom = self.height - BOTTOM;
        let _ = write!(
            self.body,
            "<path class=\"rule\" d=\"M{x:.1},{TOP}V{bottom:.1}\"/>\
             <text class=\"label\" x=\"{beside:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            TOP + 12.0,
            escape(text)
        );
    }

    /// A horizontal line at `y` over the whole area, with a text above its right end.
    pub(in crate::page) fn level(&mut self, y: f64, text: &str) {
        let Some((_, y)) = self.place(self.x.high, y) else { return };
        let right = self.width - RIGHT;
        let _ = write!(
            self.body,
            "<path class=\"rule\" d=\"M{:.1},{y:.1}H{right:.1}\"/>\
             <text class=\"label\" x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            self.left,
            y - 4.0,
            escape(text)
        );
    }

    /// An entry of the legend below the chart.
    pub(in crate::page) fn legend(&mut self, colour: usize, text: &str) {
        self.legend.push((colour, text.to_owned()));
    }

    fn add(&mut self, colour: usize, shapes: &str) {
        let _ = write!(self.body, "<g style=\"--c: var(--s{})\">{shapes}</g>", colour % COLOURS);
    }

    /// The `svg` element.
    pub(in crate::page) fn finish(self) -> String {
        let (legend, legend_height) = self.legend_lines();
        let (width, height) = (self.width, self.height + legend_height);
        format!(
            "<svg class=\"chart still\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             aria-label=\"{}\">{}{}{legend}</svg>\n",
            escape(&self.label),
            self.axes(),
            self.body
        )
    }

    fn axes(&self) -> String {
        let (left, right, bottom) = (self.left, self.width - RIGHT, self.height - BOTTOM);
        let mut svg = String::new();
        for (value, text) in self.y.ticks() {
            let Some((_, y)) = self.place(self.x.high, value) else { continue };
            if self.y.has_grid() {
                let _ = write!(svg, "<path class=\"grid\" d=\"M{left:.1},{y:.1}H{right:.1}\"/>");
            }
            let (x, y) = (left - 8.0, y + 4.0);
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", escape(&text));
        }
        let mut free_from = f64::MIN;
        for (value, text) in self.x.ticks() {
            let Some((x, _)) = self.place(value, self.y.high) else { continue };
            let _ = write!(svg, "<path class=\"tick\" d=\"M{x:.1},{bottom:.1}v4\"/>");
            // Labels that would overlap are left out.
            let half = text.chars().count() as f64 * CHARACTER / 2.0;
            if x - half < free_from {
                continue;
            }
            free_from = x + half + CHARACTER;
            let y = bottom + 18.0;
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", escape(&text));
        }
        let _ = write!(svg, "<path class=\"base\" d=\"M{left:.1},{bottom:.1}H{right:.1}\"/>");
        let (middle, below) = (f64::midpoint(left, right), self.height - 6.0);
        let (x_title, y_title) = (escape(&self.x.title), escape(&self.y.title));
        let _ = write!(
            svg,
            "<text class=\"axis-title\" x=\"{middle:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{x_title}</text>"
        );
        let centre = f64::midpoint(TOP, bottom);
        let _ = write!(
            svg,
            "<text class=\"axis-title\" transform=\"translate(12 {centre:.1}) rotate(-90)\" text-anchor=\"middle\">{y_title}</text>"
        );
        svg
    }

    /// The entries of the legend, in as many lines as they need, and the height of them.
    fn legend_lines(&self) -> (String, f64) {
        let mut svg = String::new();
        let (mut x, mut y) = (self.left, self.height + LEGEND_LINE / 2.0);
        for (colour, text) in &self.legend {
            let width = 30.0 + text.chars().count() as f64 * CHARACTER;
            if x + width > self.width && x > self.left {
                (x, y) = (self.left, y + LEGEND_LINE);
            }
            let _ = write!(
                svg,
                "<g style=\"--c: var(--s{})\"><path class=\"line\" stroke-width=\"4\" d=\"M{x:.1},{y:.1}h14\"/></g>\
                 <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                colour % COLOURS,
                x + 20.0,
                y + 4.0,
                escape(text)
            );
            x += width + 8.0;
        }
        (svg, if self.legend.is_empty() { 0.0 } else { y + LEGEND_LINE / 2.0 - self.height })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(x: Axis, y: Axis) -> Chart {
        Chart::new("what", (400, 300), x, y)
    }

    #[test]
    fn nothing_drawn_is_not_a_number() {
        let mut chart = chart(Axis::logarithmic("x", 1.0, 8.0), Axis::linear("y", 0.0, 1.0));
        chart.line(&[(1.0, 0.1), (f64::NAN, 0.2), (2.0, 0.3), (4.0, 0.4), (-1.0, 0.5)], 0);
        let point = |y| Point { x: 2.0, y, interval: Some((y - 0.1, f64::NAN)) };
        chart.points(&[point(0.5), point(f64::NAN)], 1);
        chart.bar((1.0, f64::INFINITY), (2.0, 1.0), 2, "");
        chart.rule(f64::NAN, "nowhere");
        chart.level(f64::NAN, "nowhere");
        let svg = chart.finish();
        for word in ["NaN", "inf", "nowhere", "whisker", "rect"] {
            assert!(!svg.contains(word), "{word}: {svg}");
        }
        let path = svg.split("stroke-width=\"2\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "a gap, not a bridge: {path}");
        assert_eq!(svg.matches("<circle").count(), 1);
    }

    #[test]
    fn text_is_no_markup_and_colours_follow_the_page() {
        let mut chart = Chart::new("<a> \"b\"", (400, 300), Axis::names("<x>", &["<n>"]), Axis::linear("&", 0.0, 1.0));
        chart.bar((-0.4, 0.0), (0.4, 0.5), 9, "<tip>");
        chart.rule(0.0, "<r>");
        chart.level(0.5, "<l>");
        chart.legend(8, "<script></svg>");
        let svg = chart.finish();
        for markup in ["<a>", "<n>", "<x>", "<tip>", "</svg></", "<script>", "<r>", "<l>"] {
            assert!(!svg.contains(markup), "{markup}");
        }
        assert_eq!(svg.matches("</svg>").count(), 1);
        assert!(svg.contains("var(--s1)") && svg.contains("var(--s0)"), "colours repeat: {svg}");
        assert!(!svg.contains('#'), "no colour of its own: {svg}");
    }

    #[test]
    fn the_legend_has_room() {
        let mut chart = chart(Axis::linear("", 0.0, 1.0), Axis::linear("", 0.0, 1.0));
        for number in 0..4 {
            chart.legend(number, "an entry of thirty characters.");
        }
        let svg = chart.finish();
        assert!(svg.contains("viewBox=\"0 0 400 380\""), "four lines below the chart: {svg}");
    }

    #[test]
    fn long_names_of_rows_get_room_and_labels_do_not_overlap() {
        let names = ["a name of a row that is long", "b"];
        let chart = chart(Axis::linear("", 0.0, 1.0), Axis::names("", &names));
        assert!(chart.left > 28.0 * CHARACTER);
        let many: Vec<String> = (0..200).map(|number| format!("name {number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let svg = Chart::new("", (400, 300), Axis::names("", &many), Axis::linear("", 0.0, 1.0)).finish();
        assert!(svg.matches(">name ").count() < 10, "{svg}");
    }

    #[test]
    fn places_follow_the_axes() {
        let chart = chart(Axis::linear("", 0.0, 1.0), Axis::linear("", 0.0, 1.0));
        assert_eq!(chart.place(0.0, 0.0), Some((LEFT, 300.0 - BOTTOM)), "values grow upwards");
        assert_eq!(chart.place(1.0, 1.0), Some((400.0 - RIGHT, TOP)));
    }
}
