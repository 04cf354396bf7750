//! Places the code and the data of an operation in its library, by pads in the assembly of its compiler. Instructions stay as
//! they are. `syncscope_core::stats::layouts` says why there are several layouts, and how their results are combined.
//!
//! In a layout, the name of a function decides its place in a page: the timed loops of two files with the same code lie at the
//! same places, whatever else is in the files.

use std::fmt::Write as _;

use syncscope_core::stats::layouts::PLACES;

/// The alignment in bytes that compilers give to functions and to larger variables.
const STEP: u32 = 16;

/// The bytes that the front end of a core fetches at once, and that caches hold as a unit.
const LINE: u32 = STEP * PLACES;

/// Lines of a page.
const LINES: u32 = 4096 / LINE;

/// The most functions of a source that each get a place in a page. In a source with more, such as one with templates, only the
/// timed loops do; the others get a place in a line, or the library would be large.
const MOST_WITH_PAGES: usize = 64;

/// The beginning of the names of the timed loops in `loops.h`.
const LOOPS: &str = "syncscope_";

/// Applies a layout to assembly: a pad in front of every function, and in front of the data.
pub(super) fn padded(assembly: &str, layout: u32) -> String {
    let lines: Vec<&str> = assembly.lines().collect();
    let functions = functions(&lines);
    let has_pages = |name: &str| functions.len() <= MOST_WITH_PAGES || name.starts_with(LOOPS);
    let mut text = String::with_capacity(assembly.len() * 2);
    for section in [".data", ".bss"] {
        let _ = writeln!(text, "\t{section}\n\t.skip {}", STEP * place(section, layout));
    }
    text.push_str("\t.text\n");
    let mut next = functions.iter().peekable();
    for (number, line) in lines.iter().enumerate() {
        while let Some((_, name)) = next.next_if(|(at, _)| *at == number) {
            let pad = STEP * place(name, layout);
            let _ = if has_pages(name) {
                let line = fastrand::Rng::with_seed(seed(name, layout)).u32(..LINES);
                writeln!(text, "\t.p2align 12\n\t.skip {}", LINE * line + pad)
            } else {
                writeln!(text, "\t.p2align 6\n\t.skip {pad}")
            };
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The place of a function in a line. Each place comes once in a group of layouts, in an order that the function's name decides.
fn place(name: &str, layout: u32) -> u32 {
    let mut order: [u32; PLACES as usize] = std::array::from_fn(|place| place as u32);
    fastrand::Rng::with_seed(seed(name, u32::MAX - layout / PLACES)).shuffle(&mut order);
    order[(layout % PLACES) as usize]
}

/// A seed from a name and a number (Fowler, Noll and Vo, FNV-1a).
pub(super) fn seed(name: &str, number: u32) -> u64 {
    let bytes = name.bytes().chain(number.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The functions, each with its first line: the first of the directives in front of the label.
fn functions<'a>(lines: &[&'a str]) -> Vec<(usize, &'a str)> {
    const HEAD: [&str; 10] =
        [".p2align", ".align", ".balign", ".globl", ".global", ".weak", ".hidden", ".protected", ".internal", ".type"];
    let is_head = |line: &&&str| line.split_whitespace().next().is_some_and(|word| HEAD.contains(&word));
    let name = |line: &'a str| {
        let (name, what) = line.trim().strip_prefix(".type")?.split_once(',')?;
        // A comment may follow.
        ["@function", "%function"].contains(&what.split_whitespace().next()?).then(|| name.trim())
    };
    let first = |number: usize| number - lines[..number].iter().rev().take_while(is_head).count();
    (0..lines.len()).filter_map(|number| Some((first(number), name(lines[number])?))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use syncscope_core::stats::layouts::LAYOUTS;

    use super::*;

    const GCC: &str = "\t.file\t\"own.c\"\n\t.text\n\t.p2align 4\n\t.globl\tone\n\t.type\tone, @function\none:\n\tret\n\t.size\tone, .-one\n\
        \t.section\t.text.two,\"axG\",@progbits,two,comdat\n\t.p2align 4\n\t.weak\ttwo\n\t.type\ttwo, @function\ntwo:\n\tret\n\
        \t.text\n\t.p2align 4\n\t.type\tthree, @function\nthree:\n\tret\n\t.type\tloops, @object\n";
    const CLANG: &str = "\t.text\n\t.globl\tone                # -- Begin function one\n\t.p2align\t4, 0x90\n\t.type\tone,@function\none:\n\tretq\n";

    /// The pads in front of functions, in the order of the text.
    fn pads(text: &str) -> Vec<u32> {
        let code = text.split_once("\t.text\n").unwrap().1;
        code.lines().filter_map(|line| line.trim().strip_prefix(".skip")?.trim().parse().ok()).collect()
    }

    #[test]
    fn a_group_has_every_function_at_every_place_of_a_line() {
        for (assembly, functions) in [(GCC, 3), (CLANG, 1)] {
            for group in 0..LAYOUTS / PLACES {
                let layouts = group * PLACES..(group + 1) * PLACES;
                let found: Vec<Vec<u32>> = layouts.map(|layout| pads(&padded(assembly, layout))).collect();
                for function in 0..functions {
                    let places: BTreeSet<u32> = found.iter().map(|of| of[function] % LINE).collect();
                    assert_eq!(places, BTreeSet::from([0, 16, 32, 48]), "{found:?}");
                }
            }
        }
        let lines: BTreeSet<u32> = (0..LAYOUTS).map(|layout| pads(&padded(CLANG, layout))[0] / LINE).collect();
        assert!(lines.len() > LAYOUTS as usize / 2, "{lines:?}");
    }

    /// A function keeps its place whatever is before it, behind it or between two functions.
    #[test]
    fn neighbours_do_not_move_a_function() {
        let neighbour = "\t.p2align 4\n\t.type\tuntimed, @function\nuntimed:\n\tnop\n\tret\n";
        for layout in 0..LAYOUTS {
            let alone = padded(CLANG, layout);
            let pad = alone.split_once("\t.p2align 12\n").unwrap().1;
            for other in [format!("\t.text\n{neighbour}{CLANG}"), format!("{CLANG}{neighbour}")] {
                assert!(padded(&other, layout).contains(pad), "{other}");
            }
        }
    }

    #[test]
    fn a_source_of_many_functions_stays_small() {
        let many: String = (0..200)
            .map(|n| format!("\t.p2align 4\n\t.type\tf{n}, @function\nf{n}:\n\tret\n"))
            .collect::<Vec<_>>()
            .concat();
        let text = padded(&format!("{many}\t.p2align 4\n\t.type\tsyncscope_repeat_1, @function\n"), 0);
        assert_eq!(text.matches(".p2align 12").count(), 1);
        assert!(pads(&text)[..200].iter().all(|pad| *pad < LINE));
    }

    #[test]
    fn nothing_else_is_changed() {
        let text = padded(GCC, 5);
        let rest = text.split_once("\t.text\n").unwrap().1;
        let rest: Vec<&str> =
            rest.lines().filter(|line| !line.contains(".skip") && !line.contains(".p2align 12")).collect();
        assert_eq!(rest, GCC.lines().collect::<Vec<_>>());
    }
}
