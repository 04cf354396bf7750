//! Many equal parts, such as cores and multiprocessors, as one small picture.

use std::fmt::Write;

/// The side of a square and the gap to the next one.
const SIDE: u32 = 10;
const GAP: u32 = 3;

/// More parts than this are only counted.
const MOST: u32 = 1024;

/// `count` squares in rows, each in `parts` strips: a core with its hardware threads; `scale` times
/// the smallest size. `None` without a part, and where there
/// are too many to see.
pub(super) fn cells(count: u32, parts: u32, columns: u32, scale: u32, class: &str) -> Option<String> {
    let (parts, columns) = (parts.clamp(1, 8), columns.clamp(1, count.max(1)));
    if count == 0 || count > MOST {
        return None;
    }
    let mut path = String::new();
    for cell in 0..count {
        let (x, y) = (cell % columns * (SIDE + GAP), cell / columns * (SIDE + GAP));
        for part in 0..parts {
            // Strips share the side of the square, a gap of one between them.
            let room = f64::from(SIDE - (parts - 1)) / f64::from(parts);
            let left = f64::from(x) + f64::from(part) * (room + 1.0);
            // Writing to a String cannot fail.
            let _ = write!(path, "M{} {y}h{}v{SIDE}h-{}z", round(left), round(room), round(room));
        }
    }
    let (width, height) = (columns * (SIDE + GAP) - GAP, count.div_ceil(columns) * (SIDE + GAP) - GAP);
    let (wide, high) = (width * scale, height * scale);
    Some(format!(
        "<svg class=\"cells-picture {class}\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {width} {height}\" \
         aria-hidden=\"true\"><path d=\"{path}\"/></svg>"
    ))
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// `total` in so many nearly equal parts, the larger ones first.
pub(super) fn split(total: u32, parts: u32) -> Vec<u32> {
    let parts = parts.max(1);
    (0..parts).map(|part| total / parts + u32::from(part < total % parts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(picture: &str) -> usize {
        picture.matches('M').count()
    }

    #[test]
    fn each_part_is_drawn_once() {
        assert_eq!(squares(&cells(132, 1, 22, 1, "gpu").unwrap()), 132);
        assert_eq!(squares(&cells(16, 2, 8, 1, "cpu").unwrap()), 32);
        assert_eq!(cells(0, 1, 8, 1, "cpu"), None);
        assert_eq!(cells(100_000, 1, 8, 1, "cpu"), None);
        assert!(cells(1, 1, 8, 1, "cpu").unwrap().contains("viewBox=\"0 0 10 10\""));
    }

    #[test]
    fn nothing_is_lost_where_parts_are_not_equal() {
        assert_eq!(split(10, 4), [3, 3, 2, 2]);
        assert_eq!(split(3, 0), [3]);
    }
}
