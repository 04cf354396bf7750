//! Parts of pictures: axes, lines, points with intervals, bars and text, as SVG in the classes and colours of the page.
//!
//! A [`Chart`] has an area between two [axes](Axis). What is added to it is given in the units of the axes; what has no place
//! there (not finite, or not positive on a logarithmic axis) is left out, and what lies outside is drawn at the border.
//! Colours are those of the page's lines, by number, so that they follow its light and dark theme.

mod axis;
mod chart;

pub(in crate::page) use axis::Axis;
pub(in crate::page) use chart::{Chart, Point};
