//! Charts for those who fill a section.

use crate::spec::{Axis, Key, Rectangle, Rule, Series, Spec};

/// A chart that the page's script draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart(pub(crate) Spec);

impl Chart {
    /// Lines over a number.
    #[must_use]
    pub fn lines(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self(Spec::Lines { title: Some(title.to_owned()), x, y, series, rules: Vec::new() })
    }

    /// Bars, or what lasts for a time. `legend` has the numbers of colours and what they mean.
    #[must_use]
    pub fn rectangles(
        title: &str,
        (x, y): (Axis, Axis),
        legend: &[(usize, &'static str)],
        rectangles: Vec<Rectangle>,
    ) -> Self {
        let legend = legend.iter().map(|(colour, label)| Key { colour: *colour, label }).collect();
        let (names, rules) = (Vec::new(), Vec::new());
        Self(Spec::Rectangles { title: Some(title.to_owned()), x, y, names, height: None, legend, rectangles, rules })
    }

    /// With a named line for each whole number of the vertical axis, from the top.
    #[must_use]
    pub fn named(mut self, lines: Vec<String>) -> Self {
        if let Spec::Rectangles { names, .. } = &mut self.0 {
            *names = lines;
        }
        self
    }

    /// So many pixels high.
    #[must_use]
    pub fn high(mut self, pixels: u32) -> Self {
        if let Spec::Rectangles { height, .. } = &mut self.0 {
            *height = Some(pixels);
        }
        self
    }

    /// With a vertical line.
    #[must_use]
    pub fn ruled(self, x: f64, label: &str) -> Self {
        Self(self.0.ruled(vec![Rule { x, label: label.to_owned() }]))
    }
}
