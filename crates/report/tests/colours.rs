//! The colours of the page's lines: any two are distinct, also for readers with a colour vision deficiency.

#![allow(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

const STYLE: &str = include_str!("../assets/css/colours.css");

/// Lines of charts have this many colours.
const COLOURS: usize = 8;

type Triple = [f64; 3];

/// How dichromats see a colour in linear RGB (Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009, severity 1).
const DEUTERANOPIA: [Triple; 3] =
    [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]];
const PROTANOPIA: [Triple; 3] =
    [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]];
const EVERYONE: [Triple; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// From linear RGB to OKLab (Ottosson, 2020).
const TO_CONES: [Triple; 3] = [
    [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
    [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
    [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
];
const TO_LAB: [Triple; 3] = [
    [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
    [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
    [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
];

fn times(matrix: &[Triple; 3], v: Triple) -> Triple {
    matrix.map(|line| line.iter().zip(v).map(|(factor, value)| factor * value).sum())
}

/// The colours named `NAME` of the light or the dark theme, in linear RGB.
fn colour(name: &str, dark: bool) -> Triple {
    let start = STYLE.find(&format!("--{name}: light-dark(")).unwrap();
    let pair = STYLE[start..].split(['(', ')']).nth(1).unwrap();
    let hex = pair.split(", ").nth(usize::from(dark)).unwrap().trim_start_matches('#');
    [0, 2, 4].map(|at| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

fn oklab(rgb: Triple) -> Triple {
    times(&TO_LAB, times(&TO_CONES, rgb).map(|cone| cone.max(0.0).cbrt()))
}

fn distance(a: Triple, b: Triple) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn each_two_lines_have_distinct_colours_for_every_reader() {
    for dark in [false, true] {
        let colours: Vec<Triple> = (0..COLOURS).map(|at| colour(&format!("s{at}"), dark)).collect();
        for (eyes, least) in [(EVERYONE, 0.14), (DEUTERANOPIA, 0.095), (PROTANOPIA, 0.095)] {
            let seen: Vec<Triple> =
                colours.iter().map(|rgb| oklab(times(&eyes, *rgb).map(|value| value.clamp(0.0, 1.0)))).collect();
            for (at, a) in seen.iter().enumerate() {
                for (before, b) in seen[..at].iter().enumerate() {
                    let found = distance(*a, *b);
                    assert!(found >= least, "dark {dark}: s{before} and s{at} are {found:.3} apart");
                }
            }
        }
    }
}

#[test]
fn lines_have_contrast_on_their_background() {
    let luminance = |rgb: Triple| 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
    for dark in [false, true] {
        let ground = luminance(colour("surface", dark));
        for at in 0..COLOURS {
            let line = luminance(colour(&format!("s{at}"), dark));
            let contrast = (line.max(ground) + 0.05) / (line.min(ground) + 0.05);
            assert!(contrast >= 3.0, "dark {dark}: s{at} has a contrast of {contrast:.2}");
        }
    }
}
