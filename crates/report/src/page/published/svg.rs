//! Parts of pictures: axes, lines, points with intervals, bars and text, as SVG in the classes and colours of the page.
//!
//! A [`Chart`] has an area between two axes. What is added to it is given in the units of the axes; what has no place there
//! (not finite, or not positive on a logarithmic axis) is left out, and what lies outside is drawn at the border. Colours
//! are those of the page's lines, by number, so that they follow its light and dark theme.

use std::fmt::Write;

use super::super::html::escape;

/// Colours of the page's lines: `--s0` to `--s7`. A chart has no more lines.
pub(super) const COLOURS: usize = 8;

/// Space around the area of a chart, in pixels: for the labels of the axes.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;

/// Space of one line of the legend.
const LEGEND_LINE: f64 = 20.0;

/// The width of a character of the legend: an estimate for system fonts of 12 pixels, on the large side.
const CHARACTER: f64 = 6.8;

/// How values are placed along an axis.
#[derive(Debug, Clone, PartialEq)]
enum Scale {
    Linear,
    /// Linear, with a tick at each multiple of this, and nothing widened.
    Stepped(f64),
    Logarithmic,
    /// Names at 0, 1, 2 and so on.
    Names(Vec<String>),
}

/// An axis: the range of its values and its title.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::page) struct Axis {
    title: String,
    low: f64,
    high: f64,
    scale: Scale,
}

impl Axis {
    /// From `low` to `high`, each widened to a round number.
    pub(in crate::page) fn linear(title: &str, low: f64, high: f64) -> Self {
        let (low, high) = range(low, high, (0.0, 1.0));
        let step = step(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Self { title: title.to_owned(), low, high, scale: Scale::Linear }
    }

    /// From `low` to `high` exactly, with a tick at each multiple of `step`: for positions, which are counted in powers of two.
    pub(in crate::page) fn stepped(title: &str, low: f64, high: f64, step: f64) -> Self {
        let (low, high) = range(low, high, (0.0, 1.0));
        Self { title: title.to_owned(), low, high, scale: Scale::Stepped(step) }
    }

    /// From `low` to `high`, which are positive. Ticks are at powers of ten and, where few of them fit, at 2 and 5.
    pub(in crate::page) fn logarithmic(title: &str, low: f64, high: f64) -> Self {
        let low = if low > 0.0 { low } else { high / 1000.0 };
        let (low, high) = if low > 0.0 { range(low, high, (1.0, 10.0)) } else { (1.0, 10.0) };
        Self { title: title.to_owned(), low: low / 1.06, high: high * 1.06, scale: Scale::Logarithmic }
    }

    /// One place for each name, the first at 0.
    pub(in crate::page) fn names(title: &str, names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Self { title: title.to_owned(), low: -0.5, high: names.len().max(1) as f64 - 0.5, scale: Scale::Names(names) }
    }

    /// Where a value lies between 0 and 1; `None` if it has no place.
    fn share(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Logarithmic => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            Scale::Linear | Scale::Stepped(_) | Scale::Names(_) => (value - self.low) / (self.high - self.low),
        };
        let has_place = value.is_finite() && share.is_finite();
        has_place.then_some(share.clamp(0.0, 1.0))
    }

    /// Values with a label, and whether each has a line across the area.
    fn ticks(&self) -> Vec<(f64, String)> {
        match &self.scale {
            Scale::Linear => linear_ticks(self.low, self.high, step(self.high - self.low)),
            Scale::Stepped(step) => linear_ticks(self.low, self.high, *step),
            Scale::Logarithmic => logarithmic_ticks(self.low, self.high),
            Scale::Names(names) => names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect(),
        }
    }

    const fn has_grid(&self) -> bool {
        !matches!(self.scale, Scale::Names(_))
    }
}

/// A range that is not empty.
fn range(low: f64, high: f64, fallback: (f64, f64)) -> (f64, f64) {
    match (low.is_finite() && high.is_finite(), low < high) {
        (true, true) => (low, high),
        (true, false) if low > 0.0 => (low / 2.0, low * 2.0),
        _ => fallback,
    }
}

/// The distance of about six ticks: 1, 2 or 5 times a power of ten.
fn step(span: f64) -> f64 {
    let rough = span / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough);
    factor.unwrap_or(10.0) * power
}

fn linear_ticks(low: f64, high: f64, step: f64) -> Vec<(f64, String)> {
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let first = (low / step).ceil();
    let count = ((high / step).floor() - first).clamp(0.0, 50.0) as usize;
    let value = |at: usize| (first + at as f64) * step;
    (0..=count).map(|at| (value(at), grouped(value(at), digits))).collect()
}

fn logarithmic_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let decades = high.log10() - low.log10();
    let factors: &[f64] = if decades <= 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    // A dozen labels at most, however many powers there are.
    let every = (decades / 12.0).ceil().max(1.0) as usize;
    let powers = ((low.log10().floor() as i32)..=(high.log10().ceil() as i32)).step_by(every);
    let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
    let digits = |value: f64| if value < 1.0 { (-value.log10().floor()).min(12.0) as usize } else { 0 };
    let inside = values.filter(|value| (low..=high).contains(value));
    inside.map(|value| (value, grouped(value, digits(value)))).collect()
}

/// A number with so many decimals, and commas between thousands.
fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 && text.contains(|digit: char| ('1'..='9').contains(&digit)) { "−" } else { "" };
    format!("{sign}{grouped}{fraction}")
}

/// A point with its interval, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::page) struct Point {
    pub(in crate::page) x: f64,
    pub(in crate::page) y: f64,
    pub(in crate::page) interval: Option<(f64, f64)>,
}

/// A picture with two axes. See the module's description.
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

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_numbers_within_the_axis() {
        assert_eq!(labels(&Axis::linear("", 0.0, 51_200.0))[..3], ["0", "10,000", "20,000"]);
        assert_eq!(labels(&Axis::linear("", 3.96, 4.04)), ["3.96", "3.98", "4.00", "4.02", "4.04"]);
        assert_eq!(labels(&Axis::linear("", -1.2, 1.2)), ["−1.5", "−1.0", "−0.5", "0.0", "0.5", "1.0", "1.5"]);
        assert_eq!(
            labels(&Axis::logarithmic("", 512.0, 51_200.0)),
            ["500", "1,000", "2,000", "5,000", "10,000", "20,000", "50,000"]
        );
        assert_eq!(
            labels(&Axis::logarithmic("", 0.01, 1e6)),
            ["0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000", "1,000,000"]
        );
        assert_eq!(labels(&Axis::stepped("", -0.5, 127.5, 32.0)), ["0", "32", "64", "96"]);
        assert_eq!(labels(&Axis::names("", &["a", "b"])), ["a", "b"]);
    }

    #[test]
    fn an_axis_without_a_range_is_still_an_axis() {
        for (low, high) in [(5.0, 5.0), (0.0, 0.0), (f64::NAN, 1.0), (f64::INFINITY, f64::NEG_INFINITY), (2.0, 1.0)] {
            for axis in [Axis::linear("", low, high), Axis::logarithmic("", low, high)] {
                assert!(axis.low < axis.high && axis.ticks().len() < 60, "{low} to {high}: {axis:?}");
            }
        }
        assert!(Axis::names("", &[]).low < Axis::names("", &[]).high);
    }

    #[test]
    fn values_lie_where_the_axis_says() {
        let axis = Axis::linear("", 0.0, 10.0);
        assert_eq!([0.0, 5.0, 10.0, 99.0].map(|value| axis.share(value)), [Some(0.0), Some(0.5), Some(1.0), Some(1.0)]);
        let axis = Axis { low: 1.0, high: 100.0, ..Axis::logarithmic("", 1.0, 100.0) };
        assert!((axis.share(10.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!([f64::NAN, f64::INFINITY, -1.0].map(|value| axis.share(value)), [None; 3]);
        let chart = chart(Axis::linear("", 0.0, 1.0), Axis::linear("", 0.0, 1.0));
        assert_eq!(chart.place(0.0, 0.0), Some((LEFT, 300.0 - BOTTOM)), "values grow upwards");
        assert_eq!(chart.place(1.0, 1.0), Some((400.0 - RIGHT, TOP)));
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
}
