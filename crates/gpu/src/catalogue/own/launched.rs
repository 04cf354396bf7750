//! The user's whole kernels, their regions, and sequences of launches: what PTX says of a kernel, and what a launch needs.

use syncscope_core::limits::MOST_BLOCKS;
use syncscope_core::{Case, Facts, Group, OperationsAtOnce, OwnLaunch, OwnOperation, Primitive, Role, RunEffect};

use super::options_of_user;
use crate::catalogue::families::FAMILIES;
use crate::catalogue::{HostWait, Launching, Method};
use crate::cuda::compile::{OF_USER, Program};

pub use crate::cuda::host_library::LIBRARY;

/// Marks the beginning or end of a region in a line of PTX; its name follows. In CUDA C++:
/// `asm volatile("// syncscope begin");`.
const MARK: &str = "// syncscope ";

/// The extension of PTX files.
pub const PTX: &str = "ptx";

/// The prefix of the ids whose last word is a way to wait.
const LAUNCH: &str = "gpu.launch.";

/// Maximum number of blocks of a grid and of threads of a block in each dimension, on every device.
const MOST: [[u32; 3]; 2] = [[i32::MAX as u32, 65_535, 65_535], [1024, 1024, 64]];

/// Maximum number of threads per block.
const MOST_THREADS: u64 = 1024;

/// A kernel in PTX text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kernel<'a> {
    name: &'a str,
    parameters: Vec<Parameter<'a>>,
    /// The text between the parameters and the body.
    directives: &'a str,
    body: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parameter<'a> {
    /// The type, such as `.u64` or `.b8`.
    kind: &'a str,
    bytes: usize,
}

/// The kernels in PTX text.
fn kernels(ptx: &str) -> Vec<Kernel<'_>> {
    let entries = ptx.match_indices(".entry ").filter(|(at, _)| {
        let line = ptx[..*at].rsplit('\n').next().unwrap_or_default();
        !line.contains("//")
    });
    entries.filter_map(|(at, word)| kernel(&ptx[at + word.len()..])).collect()
}

/// The kernel whose name is at the start of a text.
fn kernel(text: &str) -> Option<Kernel<'_>> {
    let (head, body) = text.split_at(text.find('{')?);
    let (name, parameters, directives) = if let Some((name, rest)) = head.split_once('(') {
        let (parameters, directives) = rest.split_once(')')?;
        (name, parameters, directives)
    } else {
        let (name, directives) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
        (name, "", directives)
    };
    let parameters = parameters.split(',').filter_map(parameter).collect();
    Some(Kernel { name: name.trim(), parameters, directives, body: &body[..length_of(body)] })
}

/// The length of a text in braces, up to the closing brace.
fn length_of(text: &str) -> usize {
    let (mut depth, mut length) = (0_i32, 0);
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        for (at, brace) in code.match_indices(['{', '}']) {
            depth += if brace == "{" { 1 } else { -1 };
            if depth == 0 {
                return length + at + 1;
            }
        }
        length += line.len();
    }
    length
}

/// Whether a line begins a region (`true`) or ends it, and the name of the region.
fn mark_of(line: &str) -> Option<(bool, &str)> {
    let mark = line.split_once(MARK)?.1.trim();
    let (word, name) = mark.split_once(char::is_whitespace).unwrap_or((mark, ""));
    ["begin", "end"].contains(&word).then(|| (word == "begin", name.trim()))
}

/// Parses a parameter such as `.param .u64 .ptr .global .align 16 name` or `.param .align 8 .b8 name[32]`.
fn parameter(text: &str) -> Option<Parameter<'_>> {
    let bits = |word: &str| word.trim_start_matches(['.', 'b', 'u', 's', 'f']).parse::<usize>().ok();
    let is_kind = |word: &&str| word.starts_with(['.']) && word.get(1..2).is_some_and(|c| "busf".contains(c));
    let kind = text.split_whitespace().filter(is_kind).find(|word| bits(word).is_some())?;
    let count =
        text.split_once('[').map_or(Some(1), |(_, count)| count.trim_end().trim_end_matches(']').parse().ok())?;
    Some(Parameter { kind, bytes: bits(kind)? / 8 * count })
}

impl Kernel<'_> {
    /// Whether `name` means this kernel: its name in PTX or that of the function in C++.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.name.starts_with(&format!("_Z{}{name}", name.len()))
    }

    /// The name to show and to choose by, without the C++ mangling.
    fn short_name(&self) -> &str {
        let digits =
            self.name.strip_prefix("_Z").map_or(0, |rest| rest.len() - rest.trim_start_matches(char::is_numeric).len());
        let length = self.name.get(2..2 + digits).and_then(|digits| digits.parse::<usize>().ok());
        length.and_then(|length| self.name.get(2 + digits..2 + digits + length)).unwrap_or(self.name)
    }

    /// The numbers after a directive, such as `.reqntid 128, 1, 1`.
    fn numbers_after(&self, directive: &str) -> Option<[u32; 3]> {
        let text = self.directives.split_once(directive)?.1;
        let mut numbers = text.split('.').next()?.split(',').map(|number| number.trim().parse().ok());
        Some([numbers.next()??, numbers.next().flatten().unwrap_or(1), numbers.next().flatten().unwrap_or(1)])
    }

    /// The kernel's regions, in the order in which they begin.
    fn regions(&self) -> Result<Vec<&str>, String> {
        let marks: Vec<(bool, &str)> = self.body.lines().filter_map(mark_of).collect();
        let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let mut regions = Vec::new();
        for (begins, name) in &marks {
            if !is_word(name) {
                return Err(format!(
                    "`{name}` of `{}` is not a valid region name: use letters, digits and _",
                    self.short_name()
                ));
            }
            if !marks.contains(&(!begins, name)) {
                let [has, lacks] = if *begins { ["begin", "end"] } else { ["end", "begin"] };
                let of = format!("{MARK}{has} {name}");
                return Err(format!("`{}` has the mark `{}` without `{MARK}{lacks}`", self.short_name(), of.trim()));
            }
            if !regions.contains(name) {
                regions.push(*name);
            }
        }
        Ok(regions)
    }
}

/// The operations of a launch whose kernel is in this PTX: the whole kernel, and each region marked in it.
///
/// # Errors
/// What the kernel lacks.
pub fn operations(own: &OwnOperation, ptx: &str) -> Result<Vec<OwnOperation>, String> {
    let launch = own.launch.clone().unwrap_or_default();
    let (file, wanted) = (own.file.as_deref().unwrap_or_default(), launch.kernel.as_deref().unwrap_or_default());
    let kernels = kernels(ptx);
    let mut found = kernels.iter().filter(|kernel| kernel.is_called(wanted));
    let Some(kernel) = found.next() else {
        let mut names: Vec<&str> = kernels.iter().map(Kernel::short_name).collect();
        names.dedup();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(match wanted {
            "" => format!("{file}: name a kernel with --kernel; it has {names}"),
            _ => format!("{file} has no kernel `{wanted}`; it has {names}"),
        });
    };
    if let Some(other) = found.next() {
        return Err(format!(
            "{file} has several kernels `{wanted}`: name one as PTX does, {} or {}",
            kernel.name, other.name
        ));
    }
    check_shape(kernel, &launch)?;
    check_arguments(kernel, &launch.arguments)?;
    let of = |region: Option<&str>| {
        let id =
            region.map_or_else(|| own.id.clone(), |name| format!("{}_region_{}", own.id, name.to_ascii_lowercase()));
        let (kernel, region) = (Some(kernel.name.to_owned()), region.map(str::to_owned));
        let launch = Some(OwnLaunch { kernel, region, ..launch.clone() });
        OwnOperation { id: id.trim_end_matches('_').to_owned(), launch, ..own.clone() }
    };
    let regions = kernel.regions()?.into_iter().map(Some);
    Ok(std::iter::once(None).chain(regions).map(of).collect())
}

fn check_shape(kernel: &Kernel<'_>, launch: &OwnLaunch) -> Result<(), String> {
    let name = kernel.short_name();
    let text = |numbers: [u32; 3]| numbers.map(|number| number.to_string()).join(",");
    for (option, shape, most) in [("--grid", launch.grid, MOST[0]), ("--block", launch.block, MOST[1])] {
        if shape.contains(&0) {
            return Err(format!("kernel `{name}` needs {option} X[,Y[,Z]]"));
        }
        if shape.iter().zip(most).any(|(number, most)| *number > most) {
            return Err(format!("{option} {}: a launch has at most {}", text(shape), text(most)));
        }
    }
    let product = |shape: [u32; 3]| shape.into_iter().map(u64::from).product::<u64>();
    let (blocks, threads) = (product(launch.grid), product(launch.block));
    if blocks > MOST_BLOCKS.into() {
        return Err(format!("--grid {} has {blocks} blocks: at most {MOST_BLOCKS} can be measured", text(launch.grid)));
    }
    if threads > MOST_THREADS {
        return Err(format!("--block {} has {threads} threads: at most {MOST_THREADS}", text(launch.block)));
    }
    match (kernel.numbers_after(".reqntid"), kernel.numbers_after(".maxntid")) {
        (Some(needed), _) if needed != launch.block => Err(format!(
            "kernel `{name}` is compiled for --block {} (.reqntid), not {}",
            text(needed),
            text(launch.block)
        )),
        (_, Some(most)) if product(most) < threads => {
            Err(format!("kernel `{name}` is compiled for at most {} threads (.maxntid), not {threads}", product(most)))
        }
        _ => Ok(()),
    }
}

fn check_arguments(kernel: &Kernel<'_>, given: &[String]) -> Result<(), String> {
    let (name, parameters) = (kernel.short_name(), &kernel.parameters);
    if given.len() != parameters.len() {
        let kinds: Vec<String> = parameters
            .iter()
            .map(|Parameter { kind, bytes }| if *kind == ".b8" { format!("{bytes} bytes") } else { (*kind).to_owned() })
            .collect();
        let (count, has) = (parameters.len(), given.len());
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        return Err(format!("kernel `{name}` takes {count} arguments{kinds}, and {has} are given with --arg"));
    }
    for (number, (given, Parameter { kind, bytes })) in given.iter().zip(parameters).enumerate() {
        let has = Argument::of(given)?.bytes.len();
        if has != *bytes {
            let number = number + 1;
            return Err(format!(
                "argument {number} of `{name}` has {bytes} bytes ({kind}), and --arg {given} has {has}"
            ));
        }
    }
    Ok(())
}

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Argument {
    bytes: Vec<u8>,
    /// Where the argument holds addresses of buffers, and the sizes of those buffers.
    buffers: Vec<(usize, usize)>,
}

impl Argument {
    /// Parses `buf:BYTES`, `i32:N`, or the fields of a structure, such as `buf:4096+i64:1024`.
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "--arg {text}: expected buf:BYTES, i8, u8, i16, u16, i32, u32, i64 or u64:N, f32 or f64:V, zero:BYTES, or fields of a structure joined with +"
            )
        };
        let mut argument = Self::default();
        let mut widest = 1;
        for field in text.split('+') {
            let (kind, value) = field.split_once(':').ok_or_else(expected)?;
            let (field, align) = argument.field(kind, value).ok_or_else(expected)?;
            argument.bytes.extend(field);
            widest = widest.max(align);
        }
        argument.align(widest);
        Ok(argument)
    }

    fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    /// The bytes of a field, and its alignment.
    fn field(&mut self, kind: &str, value: &str) -> Option<(Vec<u8>, usize)> {
        let bytes = match kind {
            "zero" => return Some((vec![0; bytes_of(value).filter(|bytes| *bytes <= 1 << 12)?], 1)),
            "buf" => vec![0; 8],
            "f32" => value.parse::<f32>().ok()?.to_le_bytes().to_vec(),
            "f64" => value.parse::<f64>().ok()?.to_le_bytes().to_vec(),
            _ => {
                let (sign, bits) = kind.split_at_checked(1)?;
                let bits: u32 = bits.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
                let number: i128 = value.parse().ok()?;
                let fits = match sign {
                    "u" => (0..1 << bits).contains(&number),
                    "i" => (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number),
                    _ => false,
                };
                fits.then(|| number.to_le_bytes()[..bits as usize / 8].to_vec())?
            }
        };
        self.align(bytes.len());
        if kind == "buf" {
            self.buffers.push((self.bytes.len(), bytes_of(value)?));
        }
        let align = bytes.len();
        Some((bytes, align))
    }

    /// The argument as words, with buffers from `allocate`.
    pub(crate) fn words<E>(&self, mut allocate: impl FnMut(usize) -> Result<u64, E>) -> Result<Vec<u64>, E> {
        let mut bytes = self.bytes.clone();
        for (at, size) in &self.buffers {
            bytes[*at..*at + 8].copy_from_slice(&allocate(*size)?.to_le_bytes());
        }
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        };
        Ok(bytes.chunks(8).map(word).collect())
    }
}

/// A number of bytes: `4096`, `64K`, `16M`, `2G`.
fn bytes_of(text: &str) -> Option<usize> {
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let (number, shift) =
        units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift))).unwrap_or((text, 0));
    number.parse::<usize>().ok().filter(|number| (1..=1 << (40 - shift)).contains(number)).map(|number| number << shift)
}

/// The prefix of the names that [`with_region`] adds.
const NAMES: &str = "%syncscope";

/// PTX in which the first lane of each warp sums the time it spends in a region of a kernel, counts its passes, and finds the
/// minimum time of reading the clock: code that is executed for the first time has to be fetched. The words begin as 0, and the
/// second is stored inverted; their address is an additional argument of the kernel.
pub(crate) fn with_region(ptx: &str, kernel: &str, region: &str) -> Option<String> {
    let found = kernels(ptx).into_iter().find(|found| found.name == kernel)?;
    let at = found.body.as_ptr() as usize - ptx.as_ptr() as usize;
    let name_at = found.name.as_ptr() as usize - ptx.as_ptr() as usize;
    let (head, rest) = ptx.split_at(at);
    let (before, head) = head.split_at(name_at + found.name.len());
    let parameter = ".param .u64 syncscope_region";
    let head = match head.split_once(')') {
        None => format!("({parameter})\n{head}"),
        Some((own, rest)) if found.parameters.is_empty() => format!("{own}{parameter}){rest}"),
        Some((own, rest)) => format!("{},\n{parameter}){rest}", own.trim_end()),
    };
    let kept =
        |how: &str, at: u32, what: &str| format!("@{NAMES}_first red.global.{how}.u64 [{NAMES}_at+{at}], {what};\n");
    let clock = |number: u32| format!("mov.u64 {NAMES}_{number}, %clock64;\n");
    let subtract = |from: u32, number: u32| format!("sub.u64 {NAMES}_{from}, {NAMES}_{from}, {NAMES}_{number};\n");
    let declared = format!(
        "{{\n.reg .b64 {NAMES}_at, {NAMES}_<4>;\n.reg .b32 {NAMES}_lane;\n.reg .pred {NAMES}_first, {NAMES}_never;\n\
         ld.param.u64 {NAMES}_at, [syncscope_region];\ncvta.to.global.u64 {NAMES}_at, {NAMES}_at;\n\
         mov.u32 {NAMES}_lane, %laneid;\nsetp.eq.u32 {NAMES}_first, {NAMES}_lane, 0;\n"
    );
    // Behind a block barrier, a warp waits before its next instruction unless that is a clock read (H200: 32 of them take 184
    // cycles, whenever the last warp comes). A branch waits. It is never taken, but the compiler does not know that.
    let waited = |number: u32| {
        clock(number) + &format!("setp.eq.u64 {NAMES}_never, {NAMES}_{number}, 0;\n@{NAMES}_never trap;\n")
    };
    let begin = waited(0) + &clock(0);
    let end = [waited(1), waited(2), clock(3)].concat()
        + &subtract(3, 2)
        + &subtract(2, 0)
        + &kept("add", 0, &format!("{NAMES}_2"))
        + &format!("not.b64 {NAMES}_3, {NAMES}_3;\n")
        + &kept("max", 8, &format!("{NAMES}_3"))
        + &kept("add", 16, "1");
    let mut body = String::new();
    for line in found.body.strip_prefix('{')?.lines() {
        body += match mark_of(line) {
            Some((true, name)) if name == region => &begin,
            Some((false, name)) if name == region => &end,
            _ => line,
        };
        body.push('\n');
    }
    Some(format!("{before}{head}{declared}{body}{}", &rest[found.body.len()..]))
}

/// The program of a CUDA file with kernels.
pub(crate) fn program(own: &OwnOperation) -> Program {
    let file = own.file.clone().unwrap_or_default();
    let text = format!("{}#line 1 \"{file}\"\n{}\n", own.includes, own.text);
    let macros = own.options.iter().filter(|option| option.starts_with("-D")).cloned();
    let definitions = std::iter::once(OF_USER.to_owned()).chain(macros).chain(options_of_user(own)).collect();
    Program { file: file.leak(), text: text.leak(), definitions }
}

/// How the host waits after each call, by its word; `None` for any other word, with which it waits once behind all calls.
pub(crate) fn wait_of(word: &str) -> Option<HostWait> {
    let id = format!("{LAUNCH}{word}");
    FAMILIES.iter().flat_map(|family| family.iter()).find(|entry| entry.id == id).and_then(|entry| match entry.method {
        Method::Launch(Launching::Waiting(wait)) => Some(wait),
        _ => None,
    })
}

/// The word for no wait after each call.
pub const NO_WAIT: &str = "end";

/// The words for ways to wait.
pub fn waits() -> impl Iterator<Item = &'static str> {
    let words = FAMILIES.iter().flat_map(|family| family.iter()).filter_map(|entry| entry.id.strip_prefix(LAUNCH));
    std::iter::once(NO_WAIT).chain(words.filter(|word| wait_of(word).is_some()))
}

/// The cases of a launch: one, or one for each way to wait.
pub(super) fn cases(own: &OwnOperation, launch: &OwnLaunch) -> Vec<Case> {
    let product = |shape: [u32; 3]| shape.into_iter().try_fold(1, u32::checked_mul);
    let count = |shape| product(shape).filter(|count| *count > 0);
    let case = Case { threads: count(launch.block), blocks: count(launch.grid), ..Case::new(&own.id) };
    let waiting = |word: &String| Case { group: Some(Group::of_word(word)), ..case.clone() };
    if launch.waits.is_empty() { vec![case] } else { launch.waits.iter().map(waiting).collect() }
}

/// The primitive of a launch.
pub(super) fn primitive(own: &OwnOperation, launch: &OwnLaunch) -> Primitive {
    let operation = match (&launch.kernel, &launch.region) {
        (None, _) => "one call of `launch`, in a chain of calls",
        (_, None) => "one launch of the kernel, in a graph of launches one after the other",
        (_, Some(_)) => "one pass of a warp through the region, on average",
    };
    // Contexts show most of the effect, and the passes change them; a host that launches varies as in the catalogue.
    let run_effect = |case: &Case| RunEffect::of_both(if case.threads.is_some() { 0.01 } else { 0.05 });
    let facts = Facts { at_once: OperationsAtOnce::One, run_effect, ..Facts::of(Role::Own) };
    Primitive {
        id: own.id.clone().leak(),
        summary: "A kernel or a sequence of launches that a user wrote; run.json has its source",
        operation,
        source: "the user",
        facts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PTX as Triton, Julia and nvcc write it.
    const PTX: &str = "//\n// .entry not_this(\n.version 8.4\n.target sm_90a\n.address_size 64\n\n\
        .visible .entry add_kernel(\n\t.param .u64 .ptr .global .align 16 add_kernel_param_0,\n\t.param .u32 add_kernel_param_1\n)\n\
        .reqntid 128, 1, 1\n.minnctapersm 1\n{\n\t.reg .b32 %r<4>;\n\t// syncscope begin load\n\t{ // a scope }\n\t}\n\t\
        // syncscope end load\n\tret;\n}\n\
        .entry _Z4copyPKfS0_(\n .param .align 16 .b8 _Z4copy_param_0[16],\n .param .align 8 .b8 _Z4copy_param_1[32],\n .param .f64 c\n) .maxntid 256\n{\n ret;\n}\n\
        .visible .entry empty()\n{\n\tret;\n}\n";

    fn own(kernel: &str, [grid, block]: [[u32; 3]; 2], arguments: &[&str]) -> OwnOperation {
        let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        let launch =
            Some(OwnLaunch { kernel: Some(kernel.to_owned()), grid, block, arguments, ..OwnLaunch::default() });
        OwnOperation { id: "gpu.own.k".to_owned(), file: Some("k.ptx".to_owned()), launch, ..OwnOperation::default() }
    }

    fn wrong(kernel: &str, shape: [[u32; 3]; 2], arguments: &[&str]) -> String {
        operations(&own(kernel, shape, arguments), PTX).unwrap_err()
    }

    const SHAPE: [[u32; 3]; 2] = [[7, 2, 1], [128, 1, 1]];

    #[test]
    fn ptx_tells_what_a_kernel_takes() {
        let found = kernels(PTX);
        let told: Vec<_> = found
            .iter()
            .map(|kernel| (kernel.short_name(), kernel.parameters.iter().map(|one| one.bytes).collect::<Vec<_>>()))
            .collect();
        assert_eq!(told, [("add_kernel", vec![8, 4]), ("copy", vec![16, 32, 8]), ("empty", vec![])]);
        assert_eq!(found[0].numbers_after(".reqntid"), Some([128, 1, 1]));
        assert_eq!((found[1].numbers_after(".maxntid"), found[1].numbers_after(".reqntid")), (Some([256, 1, 1]), None));
        assert!(
            found.iter().all(|kernel| kernel.body.starts_with('{') && kernel.body.ends_with("ret;\n}")),
            "{found:?}"
        );
    }

    #[test]
    fn a_kernel_and_its_regions_are_operations() {
        let known = operations(&own("add_kernel", SHAPE, &["buf:4K", "i32:-7"]), PTX).unwrap();
        let ids: Vec<&str> = known.iter().map(|own| own.id.as_str()).collect();
        assert_eq!(ids, ["gpu.own.k", "gpu.own.k_region_load"]);
        let words: Vec<String> = known
            .iter()
            .flat_map(|own| cases(own, own.launch.as_ref().unwrap()))
            .map(|case| case.to_string())
            .collect();
        assert_eq!(words[0], "gpu.own.k 128 threads 14 blocks");
        let copy = operations(&own("copy", SHAPE, &["zero:16", "buf:64+i64:64+i64:8+i64:8", "f64:1"]), PTX).unwrap();
        assert_eq!(copy[0].launch.as_ref().unwrap().kernel.as_deref(), Some("_Z4copyPKfS0_"));
        let waits = OwnLaunch { waits: waits().map(str::to_owned).collect(), ..OwnLaunch::default() };
        let groups: Vec<String> = cases(&known[0], &waits).iter().map(|case| case.group_word().to_owned()).collect();
        assert!(groups[0] == NO_WAIT && groups.contains(&"sync_block".to_owned()) && groups.len() > 7, "{groups:?}");
    }

    #[test]
    fn what_does_not_fit_is_said_in_one_line() {
        let arguments = ["buf:64", "i32:1"];
        let [grid, block] = SHAPE;
        for (said, expected) in [
            (wrong("add", SHAPE, &arguments), "k.ptx has no kernel `add`; it has add_kernel, copy, empty"),
            (wrong("", SHAPE, &arguments), "k.ptx: name a kernel with --kernel; it has add_kernel, copy, empty"),
            (wrong("add_kernel", SHAPE, &[]), "takes 2 arguments (.u64, .u32), and 0 are given"),
            (wrong("copy", SHAPE, &[]), "takes 3 arguments (16 bytes, 32 bytes, .f64)"),
            (
                wrong("add_kernel", SHAPE, &["i32:1", "i32:1"]),
                "argument 1 of `add_kernel` has 8 bytes (.u64), and --arg i32:1 has 4",
            ),
            (wrong("add_kernel", SHAPE, &["buf:64", "u32:-1"]), "--arg u32:-1: expected buf:BYTES"),
            (wrong("add_kernel", [[0; 3], block], &arguments), "needs --grid"),
            (
                wrong("add_kernel", [grid, [64, 1, 1]], &arguments),
                "compiled for --block 128,1,1 (.reqntid), not 64,1,1",
            ),
            (wrong("copy", [grid, [512, 1, 1]], &arguments), "compiled for at most 256 threads (.maxntid), not 512"),
            (wrong("empty", [grid, [512, 4, 1]], &[]), "--block 512,4,1 has 2048 threads"),
            (
                wrong("empty", [[1, 1, 65_536], block], &[]),
                "--grid 1,1,65536: a launch has at most 2147483647,65535,65535",
            ),
            (wrong("empty", [[1 << 25, 1, 1], block], &[]), "33554432 blocks: at most"),
        ] {
            assert!(said.contains(expected) && !said.contains('\n'), "{said}");
        }
        let open = PTX.replace("// syncscope end load", "");
        let said = operations(&own("add_kernel", SHAPE, &arguments), &open).unwrap_err();
        assert!(said.contains("has the mark `// syncscope begin load` without `// syncscope end`"), "{said}");
    }

    #[test]
    fn arguments_are_laid_out_as_in_c() {
        let words = |text: &str| Argument::of(text).unwrap().words(|bytes| Ok::<u64, ()>(bytes as u64)).unwrap();
        assert_eq!(words("buf:3K"), [3072]);
        assert_eq!(words("i8:-1+i32:2+buf:1G+u16:3"), [0xff | 2 << 32, 1 << 30, 3]);
        assert_eq!((words("f32:1"), words("zero:12").len()), (vec![u64::from(1_f32.to_bits())], 2));
        assert_eq!(Argument::of("i8:1+i32:2+u16:3").unwrap().bytes.len(), 12);
        for wrong in ["", "buf", "buf:0", "buf:9999G", "i32:x", "i33:1", "u8:256", "i8:-129", "é:1", "f32:", "zero:1G"]
        {
            assert!(Argument::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_region_is_timed_where_it_is_marked() {
        let timed = with_region(PTX, "add_kernel", "load").unwrap();
        let of = |text: &str| timed.rfind(text).unwrap_or_else(|| panic!("{text} in {timed}"));
        let order = [
            "add_kernel_param_1,\n.param .u64 syncscope_region)",
            ".reqntid 128",
            "ld.param.u64",
            "mov.u64 %syncscope_0, %clock64;",
            "// a scope }",
            "\nmov.u64 %syncscope_1, %clock64;",
            "setp.eq.u64 %syncscope_never, %syncscope_1, 0;\n@%syncscope_never trap;\nmov.u64 %syncscope_2, %clock64;",
            "\nmov.u64 %syncscope_3, %clock64;",
            "red.global",
            "ret;",
        ]
        .map(of);
        assert!(order.is_sorted(), "{order:?}");
        let end = PTX.find(".entry _Z4copy").unwrap();
        assert!(timed.ends_with(&PTX[end..]) && !timed.contains("syncscope end"));
        assert!(with_region(PTX, "empty", "x").unwrap().contains(".entry empty(.param .u64 syncscope_region)"));
    }
}
