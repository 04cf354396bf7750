//! Translates the PTX of a GPU operation, instruction by instruction, into C that the model can run. A few blocks of one or two
//! threads are the threads of the model. An order whose scope does not reach the other blocks orders nothing between them, and an
//! access with such a scope is not atomic for them: PTX calls it not morally strong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::floating::{bits_type, constant, floating};
use crate::ptx_types::c_type;

/// The threads of a GPU that wait for each other, by the widest scope that they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    /// The threads of a block.
    Block,
    /// The threads of a cluster.
    Cluster,
    /// The threads of a grid.
    Grid,
    /// The threads of several devices.
    System,
}

impl Span {
    fn of_scope(parts: &[&str]) -> Option<Self> {
        let of = |part: &&str| match *part {
            "cta" => Some(Self::Block),
            "cluster" => Some(Self::Cluster),
            "gpu" | "gl" => Some(Self::Grid),
            "sys" => Some(Self::System),
            _ => None,
        };
        parts.iter().find_map(of)
    }
}

/// The name of the user's file in the lines of the C code.
pub const MODELLED: &str = "modelled.c";

/// The name of all other files.
pub const HARNESS: &str = "harness";

/// Declarations in front of the functions.
const HEAD: &str = "#define SYNCSCOPE_TRIAL_PTX 1\n\
    void syncscope_model_meet_part(unsigned first, unsigned count);\n\
    void syncscope_model_narrow(unsigned first, unsigned count);\n\
    uint32_t __tsan_syncscope32(uint32_t *, uint32_t, char, int);\n\
    uint64_t __tsan_syncscope64(uint64_t *, uint64_t, char, int);\n\
    static uint64_t syncscope_arrived[32];\n\
    #define OF_BITS __attribute__((always_inline)) static inline\n\
    OF_BITS float f32(uint64_t bits) { union { uint32_t bits; float value; } both = {(uint32_t)bits}; return both.value; }\n\
    OF_BITS uint32_t f32_bits(float value) { union { float value; uint32_t bits; } both = {value}; return both.bits; }\n\
    OF_BITS double f64(uint64_t bits) { union { uint64_t bits; double value; } both = {bits}; return both.value; }\n\
    OF_BITS uint64_t f64_bits(double value) { union { double value; uint64_t bits; } both = {value}; return both.bits; }\n";

/// The size of `me.shared` in bytes: 1024 elements of the widest type.
const SHARED_BYTES: usize = 8 * 1024;

/// The variables of a program in shared memory with their offsets, and the size of that memory. `me.shared` is a parameter.
fn shared_variables(ptx: &str) -> (BTreeMap<&str, usize>, usize) {
    let mut found = BTreeMap::new();
    let mut end = if ptx.contains("_param_10]") { SHARED_BYTES } else { 0 };
    for line in ptx.lines().filter_map(|line| line.trim().strip_suffix(';')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| *word == ".shared") else { continue };
        let (Some(name), [.., kind, _]) = (words.last(), &words[at..]) else { continue };
        let (name, count) = name.split_once('[').unwrap_or((name, "1]"));
        let bits = kind.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<usize>();
        let (Ok(bits), Ok(count)) = (bits, count.trim_end_matches(']').parse::<usize>()) else { continue };
        found.insert(name, end);
        end += (bits / 8 * count).next_multiple_of(16);
    }
    (found, end)
}

/// The variables of a program in global memory with their declarations in C; each device has its own.
///
/// # Errors
/// The variable whose initial value is not made of numbers.
fn global_variables(ptx: &str) -> Result<BTreeMap<&str, String>, String> {
    let mut found = BTreeMap::new();
    for line in ptx.lines().filter_map(|line| line.trim().strip_suffix(';')) {
        let (declared, initial) = line.split_once('=').map_or((line, ""), |(declared, value)| (declared, value.trim()));
        let words: Vec<&str> = declared.split_whitespace().collect();
        if !words.iter().take_while(|word| word.starts_with('.')).any(|word| *word == ".global") {
            continue;
        }
        let [.., kind, name] = words[..] else { continue };
        let (name, count) =
            name.split_once('[').map_or((name, "1"), |(name, count)| (name, count.trim_end_matches(']')));
        let kind = kind.trim_start_matches('.');
        let bytes = kind.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().unwrap_or(8) / 8;
        let is_number = |value: &str| value.trim().parse::<i64>().is_ok() || value.trim().parse::<u64>().is_ok();
        let values = initial.trim_matches(['{', '}']);
        if !initial.is_empty() && (c_type(kind).is_none() || !values.split(',').all(is_number)) {
            return Err(format!("its variable `{name}` has an initial value that is no number"));
        }
        let element = c_type(kind).map_or(format!("struct {{ char bytes[{bytes}]; }}"), str::to_owned);
        let initial = if initial.is_empty() { String::new() } else { format!(" = {{[0 ... 3] = {{{values}}}}}") };
        let declaration = format!("static {element} {}[4][{count}]{initial};\n", global(name));
        found.insert(name, declaration);
    }
    Ok(found)
}

/// A variable in global memory as a name of C.
fn global(name: &str) -> String {
    identifier(&format!("global_{name}"))
}

/// The kernels of a program in PTX as C functions of a thread, given as pairs of their names. Lines of the user's file, the
/// first of `files`, get the name [`MODELLED`]; the other files are the user's headers.
///
/// # Errors
/// The part that cannot be modelled.
pub fn ptx_as_c(ptx: &str, kernels: &[(String, String)], span: Span, files: &[String]) -> Result<String, String> {
    // The number of threads in a block: all threads, or the threads of one of two blocks.
    let block = match span {
        Span::Block => "me->threads",
        Span::Cluster | Span::Grid => "(me->threads > 3 ? me->threads / 2 : 1)",
        Span::System => "1",
    };
    let named = files
        .iter()
        .enumerate()
        .filter_map(|(at, file)| Some((number_of(ptx, file)?, if at == 0 { MODELLED } else { file.as_str() })));
    let files: BTreeMap<u32, &str> = named.collect();
    // For several devices, each thread is a device.
    let devices = if span == Span::System { "me->threads" } else { "1" };
    let (shared, bytes) = shared_variables(ptx);
    let globals = global_variables(ptx)?;
    let words = bytes.div_ceil(8).max(1);
    let mut text = format!(
        "{HEAD}static uint64_t syncscope_shared[4][{words}];\n#define OUR_BLOCK {block}\n#define OUR_DEVICES {devices}\n"
    );
    text.extend(globals.values().map(String::as_str));
    for (kernel, function) in kernels {
        let start = ptx.find(&format!(".entry {kernel}(")).ok_or("the compiler removed all of it")?;
        let (named, registers, code) = (BTreeSet::new(), BTreeSet::new(), String::new());
        let of = Function { span, files: &files, shared: &shared, globals: &globals, kernel, named, registers, code };
        text += &of.of(body_of(&ptx[start..]), function)?;
    }
    Ok(text)
}

/// The lines between the braces of a function.
fn body_of(function: &str) -> &str {
    let (_, body) = function.split_once('{').unwrap_or_default();
    let mut depth = 1;
    let end = body.find(|letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth == 0
    });
    &body[..end.unwrap_or(body.len())]
}

/// The beginning of the shared memory of a thread's block.
const OF_BLOCK: &str = "(uint64_t)syncscope_shared[me->number / block]";

/// The number of a file in the `.loc` directives of a program.
fn number_of(ptx: &str, file: &str) -> Option<u32> {
    let of = |line: &str| {
        let (number, name) = line.trim_start().strip_prefix(".file")?.trim_start().split_once(char::is_whitespace)?;
        let name = name.trim().trim_matches('"');
        (name == file || name.ends_with(&format!("/{file}"))).then(|| number.parse().ok())?
    };
    ptx.lines().find_map(of)
}

struct Function<'a> {
    span: Span,
    /// The user's files by their numbers.
    files: &'a BTreeMap<u32, &'a str>,
    /// The offsets of the variables in shared memory.
    shared: &'a BTreeMap<&'a str, usize>,
    /// The variables in global memory.
    globals: &'a BTreeMap<&'a str, String>,
    kernel: &'a str,
    /// The registers that an `asm` statement declares.
    named: BTreeSet<String>,
    registers: BTreeSet<String>,
    code: String,
}

impl Function<'_> {
    fn of(mut self, body: &str, name: &str) -> Result<String, String> {
        for line in body.lines().map(str::trim) {
            let line = line.split("//").next().unwrap_or_default().trim();
            if let Some(place) = line.strip_prefix(".loc") {
                let mut numbers = place.split_whitespace().map_while(|number| number.parse::<u32>().ok());
                if let (Some(file), Some(line @ 1..)) = (numbers.next(), numbers.next()) {
                    let name = self.files.get(&file).unwrap_or(&HARNESS);
                    // The following code stays on this one line.
                    let _ = write!(self.code, "\n#line {line} \"{name}\"\n");
                }
            } else if let Some(label) = line.strip_suffix(':') {
                let _ = write!(self.code, "{}: ; ", identifier(label));
            } else if !line.starts_with('.') || line.starts_with(".reg") {
                for part in line.split(';') {
                    // The braces of an `asm` statement limit the names of its registers.
                    let part = part.trim_start_matches(|letter: char| letter.is_whitespace() || "{}".contains(letter));
                    match part.trim().strip_prefix(".reg") {
                        Some(names) => {
                            let names = names.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
                            let names = names.split_once(char::is_whitespace).map_or("", |(_, names)| names);
                            self.named.extend(names.split(',').map(|name| name.trim().to_owned()));
                        }
                        None if !part.trim().is_empty() => self.instruction(part.trim())?,
                        None => {}
                    }
                }
            }
        }
        let registers: Vec<String> = self.registers.iter().map(|name| format!(", {name} = 0")).collect();
        Ok(format!(
            "void {name}(struct thread *me) {{\nstatic __thread uint64_t passed; uint64_t clock = 0{};\n\
             const uint64_t block = OUR_BLOCK, tid = me->number % block, blocks = me->threads / block / OUR_DEVICES;\n\
             const uint64_t device = me->number / block / blocks, ctaid = me->number / block % blocks;\n\
             (void)tid, (void)ctaid, (void)device, (void)clock, (void)passed;\n{}leave: passed++;\n}}\n",
            registers.concat(),
            self.code
        ))
    }

    fn instruction(&mut self, text: &str) -> Result<(), String> {
        let (guard, text) = match text.strip_prefix('@') {
            Some(rest) => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
            None => ("", text),
        };
        let (name, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let parts: Vec<&str> = name.split('.').collect();
        let operands: Vec<&str> = split_operands(rest);
        let statement = self.statement(&parts, &operands).ok_or_else(|| format!("it has `{name}`"))?;
        let guard = match (guard.strip_prefix('!'), guard.is_empty()) {
            (_, true) => String::new(),
            (Some(register), _) => format!("if (!{}) ", self.value(register)),
            (None, false) => format!("if ({}) ", self.value(guard)),
        };
        let _ = write!(self.code, "{guard}{{ {statement} }} ");
        Ok(())
    }

    /// An operand as C: a register, a number, a property of the thread, or a parameter.
    fn value(&mut self, operand: &str) -> String {
        let special = match operand {
            "%tid.x" | "%laneid" => "tid",
            "%ctaid.x" | "%clusterid.x" | "%cluster_ctarank" => "ctaid",
            "%ntid.x" => "block",
            "%nctaid.x" | "%cluster_nctarank" => "blocks",
            "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => "0",
            "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => "1",
            // The clock advances fast, so that pauses end soon.
            "%clock" | "%clock64" | "%globaltimer" | "%clock_hi" => "(clock += 1 << 20)",
            _ if operand.starts_with('%') || self.named.contains(operand) => {
                let name = identifier(operand);
                self.registers.insert(name.clone());
                return name;
            }
            _ if self.globals.contains_key(operand) => return format!("(uint64_t){}[device]", global(operand)),
            _ => {
                let offset = || self.shared.get(operand).map_or(operand.to_owned(), usize::to_string);
                return format!("(uint64_t)({})", constant(operand).unwrap_or_else(offset));
            }
        };
        special.to_owned()
    }

    /// An address in brackets as C.
    fn address(&mut self, operand: &str, is_shared: bool) -> Option<String> {
        let inner = operand.strip_prefix('[')?.strip_suffix(']')?;
        let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
        let is_variable = if is_shared { self.shared.contains_key(base) } else { self.globals.contains_key(base) };
        if !base.starts_with('%') && !is_variable && !self.named.contains(base) {
            return None;
        }
        let base = self.value(base);
        let memory = if is_shared { format!("{OF_BLOCK} + ") } else { String::new() };
        Some(format!("({memory}{base} + {offset})"))
    }

    /// A kernel's parameter, in the order of `own_model.cuh`.
    fn parameter(&self, operand: &str) -> Option<&'static str> {
        const PARAMETERS: [&str; 11] = [
            "(uint64_t)me->x",
            "(uint64_t)me->SYNCSCOPE_MINE",
            "(uint64_t)me->counter",
            "(uint64_t)me->memory + 256 * device",
            "passed",
            "me->sent",
            "me->number",
            "device",
            "OUR_DEVICES",
            "(uint64_t)me->memory + 2048",
            OF_BLOCK,
        ];
        let number =
            operand.strip_prefix('[')?.strip_suffix(']')?.strip_prefix(self.kernel)?.strip_prefix("_param_")?;
        PARAMETERS.get(number.parse::<usize>().ok()?).copied()
    }

    fn statement(&mut self, parts: &[&str], operands: &[&str]) -> Option<String> {
        let has = |part: &str| parts.contains(&part);
        match (parts[0], operands) {
            ("ret" | "exit", []) => Some("goto leave;".to_owned()),
            ("bra", [label]) => Some(format!("goto {};", identifier(label))),
            ("bar" | "barrier", [..]) if !has("cluster") && has("sync") && operands.len() == 1 => {
                Some("syncscope_model_meet_part(me->number - tid, block);".to_owned())
            }
            ("barrier", []) if has("cluster") && has("arrive") => {
                let order = if has("relaxed") { "RELAXED" } else { "RELEASE" };
                Some(format!("__atomic_fetch_add(syncscope_arrived, 1, __ATOMIC_{order});"))
            }
            ("barrier", []) if has("cluster") && has("wait") => Some(
                "while (__atomic_load_n(syncscope_arrived, __ATOMIC_ACQUIRE) < (passed + 1) * me->threads) {}"
                    .to_owned(),
            ),
            ("nanosleep" | "prefetch" | "prefetchu", _) => Some(String::new()),
            ("fence" | "membar", []) => self.fence(parts),
            ("ld", [to, from]) if has("param") => {
                let (parameter, to) = (self.parameter(from)?, self.value(to));
                Some(format!("{to} = {parameter};"))
            }
            ("ld" | "st" | "atom" | "red", _) => self.access(parts, operands),
            _ => self.computed(parts, operands),
        }
    }

    /// The C expression for a register that is computed from others.
    fn computed(&mut self, parts: &[&str], operands: &[&str]) -> Option<String> {
        let kind = parts.last().copied().unwrap_or_default();
        if let ["mov", "b32" | "b64"] = parts
            && let Some(halves) = self.of_halves(kind, operands)
        {
            return Some(halves);
        }
        let has = |part: &str| parts.contains(&part);
        let (to, of) = operands.split_first()?;
        let to = self.value(to);
        let values: Vec<String> = of.iter().map(|operand| self.value(operand)).collect();
        if let Some(assigned) = floating(parts, &values) {
            return Some(format!("{to} = {assigned};"));
        }
        let value = match (parts[0], &values[..]) {
            ("setp", [a, b]) if parts.len() == 3 => {
                let sign = match parts[1] {
                    "eq" => "==",
                    "ne" => "!=",
                    "lt" | "lo" => "<",
                    "le" | "ls" => "<=",
                    "gt" | "hi" => ">",
                    "ge" | "hs" => ">=",
                    _ => return None,
                };
                let kind = c_type(kind)?;
                return Some(format!("{to} = ({kind}){a} {sign} ({kind}){b};"));
            }
            ("selp", [a, b, which]) => format!("{which} ? {a} : {b}"),
            ("cvta", [a]) if has("shared") && has("to") => format!("{a} - {OF_BLOCK}"),
            ("cvta", [a]) if has("shared") => format!("{a} + {OF_BLOCK}"),
            ("mov" | "cvta", [a]) => a.clone(),
            ("cvt", [a]) => {
                let (of, to_kind) = (c_type(kind)?, c_type(parts.get(parts.len().checked_sub(2)?)?)?);
                return Some(format!("{to} = ({to_kind})({of}){a};"));
            }
            ("neg", [a]) => format!("-({}){a}", c_type(kind)?),
            ("not", [a]) if kind == "pred" => format!("!{a}"),
            ("not", [a]) => format!("~{a}"),
            ("add", [a, b]) if parts.len() == 2 => format!("{a} + {b}"),
            ("sub", [a, b]) if parts.len() == 2 => format!("{a} - {b}"),
            ("and", [a, b]) => format!("{a} & {b}"),
            ("or", [a, b]) => format!("{a} | {b}"),
            ("xor", [a, b]) => format!("{a} ^ {b}"),
            ("shl", [a, b]) => format!("{a} << ({b} & 63)"),
            ("shr", [a, b]) => format!("({}){a} >> ({b} & 63)", c_type(kind)?),
            ("min", [a, b]) => format!("({0}){a} < ({0}){b} ? {a} : {b}", c_type(kind)?),
            ("max", [a, b]) => format!("({0}){a} > ({0}){b} ? {a} : {b}", c_type(kind)?),
            ("rem", [a, b]) => format!("({0}){a} % ({0}){b}", c_type(kind)?),
            ("div", [a, b]) => format!("({0}){a} / ({0}){b}", c_type(kind)?),
            ("mul", [a, b]) if has("lo") => format!("{a} * {b}"),
            ("mad", [a, b, c]) if has("lo") => format!("{a} * {b} + {c}"),
            ("mul", [a, b]) if has("wide") => return Some(format!("{to} = {};", wide(kind, a, b)?)),
            ("mad", [a, b, c]) if has("wide") => return Some(format!("{to} = {} + {c};", wide(kind, a, b)?)),
            _ => return None,
        };
        let kind = if kind == "pred" { "_Bool" } else { bits_type(kind)? };
        Some(format!("{to} = ({})({value});", kind.replace("int", "uint").replace("uuint", "uint")))
    }

    /// `mov.b64 %rd1, {%r1, %r2}` and the reverse.
    fn of_halves(&mut self, kind: &str, operands: &[&str]) -> Option<String> {
        let pair = |operand: &str| {
            let (low, high) = operand.strip_prefix('{')?.strip_suffix('}')?.split_once(',')?;
            Some([low.trim().to_owned(), high.trim().to_owned()])
        };
        let (half, bits) = if kind == "b64" { ("uint32_t", 32) } else { ("uint16_t", 16) };
        let [to, from] = operands else { return None };
        if let Some(halves) = pair(to) {
            let from = self.value(from);
            let part = |(to, shift): (&String, i32)| {
                (to != "_").then(|| format!("{} = ({half})((uint64_t){from} >> {shift}); ", self.value(to)))
            };
            return Some(halves.iter().zip([0, bits]).filter_map(part).collect());
        }
        let [low, high] = pair(from)?.map(|one| self.value(&one));
        Some(format!("{} = (uint64_t)({half}){low} | (uint64_t)({half}){high} << {bits};", self.value(to)))
    }

    /// Whether a scope reaches all threads that take part. Updates without a scope have the device's, volatile accesses the
    /// system's.
    fn reaches(&self, parts: &[&str]) -> bool {
        let implied = if ["atom", "red"].contains(&parts[0]) { Span::Grid } else { Span::System };
        Span::of_scope(parts).unwrap_or(implied) >= self.span
    }

    fn fence(&self, parts: &[&str]) -> Option<String> {
        let has = |part: &str| parts.contains(&part);
        if has("proxy") || has("mbarrier_init") {
            return None;
        }
        let order = match () {
            () if !self.reaches(parts) => return Some(String::new()),
            () if parts[0] == "membar" || has("sc") => "SEQ_CST",
            () if has("acquire") => "ACQUIRE",
            () if has("release") => "RELEASE",
            () => "ACQ_REL",
        };
        Some(format!("__atomic_thread_fence(__ATOMIC_{order});"))
    }

    /// An access to memory as C: weak accesses are plain, others are atomic, with their order if their scope reaches the other
    /// threads.
    fn access(&mut self, parts: &[&str], operands: &[&str]) -> Option<String> {
        let has = |part: &str| parts.contains(&part);
        let is_strong = ["relaxed", "acquire", "release", "volatile", "mmio"].iter().any(|word| has(word));
        let is_narrow = (is_strong || ["atom", "red"].contains(&parts[0])) && !self.reaches(parts);
        let words = [("acq_rel", "ACQ_REL"), ("acquire", "ACQUIRE"), ("release", "RELEASE")];
        let order = words.iter().find(|(word, _)| has(word) && !is_narrow).map_or("RELAXED", |(_, order)| order);
        let access = self.ordered_access(parts, operands, is_strong, order)?;
        Some(if is_narrow { format!("syncscope_model_narrow(me->number - tid, block); {access}") } else { access })
    }

    /// PTX makes each element of a vector an access of its own, in no order.
    fn vector_access(
        &mut self,
        parts: &[&str],
        operands: &[&str],
        width: usize,
        (is_strong, order): (bool, &str),
    ) -> Option<String> {
        let bytes = parts.last()?.get(1..)?.parse::<usize>().ok()? / 8;
        let [first, second] = operands else { return None };
        let (list, at) = if parts[0] == "st" { (second, first) } else { (first, second) };
        let elements: Vec<&str> = list.strip_prefix('{')?.strip_suffix('}')?.split(',').map(str::trim).collect();
        let (base, offset) =
            at.strip_prefix('[')?.strip_suffix(']')?.split_once('+').unwrap_or((&at[1..at.len() - 1], "0"));
        let offset = offset.parse::<usize>().ok()?;
        let of_element: Vec<&str> = parts.iter().copied().filter(|part| !["v2", "v4"].contains(part)).collect();
        let access = |(number, element): (usize, &&str)| {
            let at = format!("[{base}+{}]", offset + number * bytes);
            let operands = if parts[0] == "st" { [&*at, *element] } else { [*element, &*at] };
            self.ordered_access(&of_element, &operands, is_strong, order)
        };
        (elements.len() == width).then(|| elements.iter().enumerate().map(access).collect())?
    }

    fn ordered_access(&mut self, parts: &[&str], operands: &[&str], is_strong: bool, order: &str) -> Option<String> {
        let has = |part: &str| parts.contains(&part);
        let kind = bits_type(parts.last()?)?;
        if has("local") || has("async") || has("const") {
            return None;
        }
        if let Some(width) = [2, 4].into_iter().find(|width| has(&format!("v{width}"))) {
            return self.vector_access(parts, operands, width, (is_strong, order));
        }
        let is_shared = parts.iter().any(|part| part.starts_with("shared"));
        let order = format!("__ATOMIC_{order}");
        let unsigned = kind.replace("uint", "int").replace("int", "uint");
        Some(match (parts[0], operands) {
            ("ld", [to, from]) => {
                let (to, from) = (self.value(to), self.address(from, is_shared)?);
                if is_strong {
                    format!("{to} = ({kind})__atomic_load_n(({unsigned} *){from}, {order});")
                } else {
                    format!("{to} = *({kind} *){from};")
                }
            }
            ("st", [to, value]) => {
                let (to, value) = (self.address(to, is_shared)?, self.value(value));
                if is_strong {
                    format!("__atomic_store_n(({unsigned} *){to}, ({unsigned}){value}, {order});")
                } else {
                    format!("*({kind} *){to} = ({kind}){value};")
                }
            }
            ("red", [at, value]) => {
                let (at, value) = (self.address(at, is_shared)?, self.value(value));
                let (function, letter) = update(parts)?;
                format!("{function}(({unsigned} *){at}, ({unsigned}){value}, {letter}{order});")
            }
            ("atom", [to, at, value]) => {
                let (to, at, value) = (self.value(to), self.address(at, is_shared)?, self.value(value));
                let (function, letter) = update(parts)?;
                format!("{to} = {function}(({unsigned} *){at}, ({unsigned}){value}, {letter}{order});")
            }
            ("atom", [to, at, expected, value]) if has("cas") => {
                let (to, at) = (self.value(to), self.address(at, is_shared)?);
                let (expected, value) = (self.value(expected), self.value(value));
                let failure =
                    if ["__ATOMIC_ACQ_REL", "__ATOMIC_ACQUIRE"].contains(&&*order) { "ACQUIRE" } else { "RELAXED" };
                format!(
                    "{unsigned} seen = ({unsigned}){expected}; __atomic_compare_exchange_n(({unsigned} *){at}, &seen, \
                     ({unsigned}){value}, 0, {order}, __ATOMIC_{failure}); {to} = seen;"
                )
            }
            _ => return None,
        })
    }
}

/// The C function of an update, or the letter by which the model knows it.
fn update(parts: &[&str]) -> Option<(&'static str, &'static str)> {
    const UPDATES: [(&str, &str); 5] = [
        ("add", "__atomic_fetch_add"),
        ("exch", "__atomic_exchange_n"),
        ("and", "__atomic_fetch_and"),
        ("or", "__atomic_fetch_or"),
        ("xor", "__atomic_fetch_xor"),
    ];
    let kind = parts.last()?;
    match (*kind, parts.contains(&"add")) {
        ("f32", true) => return Some(("__tsan_syncscope32", "'f', ")),
        ("f64", true) => return Some(("__tsan_syncscope64", "'f', ")),
        ("f32" | "f64", false) => return None,
        _ => {}
    }
    if let Some((_, function)) = UPDATES.iter().find(|(word, _)| parts.contains(word)) {
        return Some((function, ""));
    }
    let has = |part: &str| parts.contains(&part);
    let letter = match (kind.starts_with('s'), ["inc", "dec", "min", "max"].into_iter().find(|word| has(word))?) {
        (_, "inc") => "'i', ",
        (_, "dec") => "'d', ",
        (true, "min") => "'s', ",
        (false, "min") => "'m', ",
        (true, _) => "'S', ",
        (false, _) => "'M', ",
    };
    match *kind {
        "u32" | "s32" => Some(("__tsan_syncscope32", letter)),
        "u64" | "s64" => Some(("__tsan_syncscope64", letter)),
        _ => None,
    }
}

fn wide(kind: &str, a: &str, b: &str) -> Option<String> {
    let (narrow, wide) = match kind {
        "u32" => ("uint32_t", "uint64_t"),
        "s32" => ("int32_t", "int64_t"),
        "u16" => ("uint16_t", "uint32_t"),
        "s16" => ("int16_t", "int32_t"),
        _ => return None,
    };
    Some(format!("(uint64_t)(({wide})({narrow}){a} * ({wide})({narrow}){b})"))
}

/// `%rd1` and `$L__BB0_2` as names of C.
fn identifier(name: &str) -> String {
    format!("ptx_{}", name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect::<String>())
}

/// The operands of an instruction, by the commas outside of braces.
fn split_operands(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_between = |letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    };
    text.split(is_between).map(str::trim).filter(|operand| !operand.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(instructions: &str, span: Span) -> Result<String, String> {
        let ptx = format!(
            ".visible .entry k(\n.param .u64 k_param_0\n)\n{{\n\t.reg .b32 %r<3>;\n{instructions}\n}}\n.file 1 \"a/bar.cuh\"\n"
        );
        ptx_as_c(&ptx, &[("k".to_owned(), "wait".to_owned())], span, &["bar.cuh".to_owned()])
    }

    #[test]
    fn an_order_counts_where_its_scope_reaches_the_others() {
        for (instruction, of_block, of_grid) in [
            (
                "red.release.cluster.global.add.u32 [%rd1], 1;",
                "{ __atomic_fetch_add((uint32_t *)(ptx__rd1 + 0), (uint32_t)(uint64_t)(1), __ATOMIC_RELEASE)",
                "{ syncscope_model_narrow(me->number - tid, block); __atomic_fetch_add((uint32_t *)(ptx__rd1 + 0), \
                 (uint32_t)(uint64_t)(1), __ATOMIC_RELAXED)",
            ),
            ("atom.global.inc.u32 %r1, [%rd1], 7;", ", 'i', __ATOMIC_RELAXED)", ", 'i', __ATOMIC_RELAXED)"),
            ("red.global.max.s32 [%rd1], 7;", "{ __tsan_syncscope32(", "(uint64_t)(7), 'S', __ATOMIC_RELAXED)"),
            ("ld.acquire.sys.global.u32 %r1, [%rd1+4];", "__ATOMIC_ACQUIRE", "__ATOMIC_ACQUIRE"),
            ("ld.volatile.global.u32 %r1, [%rd1];", "__ATOMIC_RELAXED", "__ATOMIC_RELAXED"),
            ("membar.cta;", "__ATOMIC_SEQ_CST", "{  }"),
            ("fence.acq_rel.gpu;", "__ATOMIC_ACQ_REL", "__ATOMIC_ACQ_REL"),
            ("atom.global.cas.b32 %r1, [%rd1], %r2, %r1;", "__ATOMIC_RELAXED", "__ATOMIC_RELAXED"),
            ("ld.global.u32 %r1, [%rd1];", "= *(uint32_t *)", "= *(uint32_t *)"),
        ] {
            for (span, expected) in [(Span::Block, of_block), (Span::Grid, of_grid)] {
                let text = body(instruction, span).unwrap();
                assert!(text.contains(expected), "{instruction} in {span:?}: {text}");
            }
        }
    }

    /// An update in the scope of one device is not atomic for another device.
    #[test]
    fn an_access_whose_scope_is_too_narrow_is_not_atomic() {
        let is_narrow = |instruction, span| body(instruction, span).unwrap().contains("syncscope_model_narrow(me");
        for (instruction, widest) in [
            ("ld.relaxed.cta.global.u32 %r1, [%rd1];", Some(Span::Block)),
            ("st.release.cluster.global.u32 [%rd1], 1;", Some(Span::Cluster)),
            ("atom.global.cas.b32 %r1, [%rd1], %r2, %r1;", Some(Span::Grid)),
            ("red.relaxed.gpu.global.add.u32 [%rd1], 1;", Some(Span::Grid)),
            ("st.volatile.global.u32 [%rd1], 1;", None),
            ("st.release.sys.global.u32 [%rd1], 1;", None),
            ("st.global.u32 [%rd1], 1;", None),
        ] {
            for span in [Span::Block, Span::Cluster, Span::Grid, Span::System] {
                assert_eq!(
                    is_narrow(instruction, span),
                    widest.is_some_and(|widest| span > widest),
                    "{instruction} in {span:?}"
                );
            }
        }
    }

    /// Each variable has a place of its own, behind `me.shared` if that is used, and an address means the same in both spaces.
    #[test]
    fn variables_in_shared_memory_have_places() {
        let variables = ".shared .align 4 .u32 _ZZ1fE1s;\n.shared .align 8 .b8 _ZZ1fE1t[24];\n";
        let code = |instructions: &str| body(&format!("{variables}{instructions}"), Span::Block).unwrap();
        let own = code(
            "ld.shared.u32 %r1, [_ZZ1fE1t+4];\nmov.u32 %r2, _ZZ1fE1t;\ncvta.shared.u64 %rd1, %rd2;\ncvta.to.shared.u64 %rd3, %rd1;",
        );
        for expected in [
            "syncscope_shared[4][6];",
            "ptx__r1 = *(uint32_t *)((uint64_t)syncscope_shared[me->number / block] + (uint64_t)(16) + 4);",
            "ptx__r2 = (uint32_t)((uint64_t)(16));",
            "ptx__rd1 = (uint64_t)(ptx__rd2 + (uint64_t)syncscope_shared[me->number / block]);",
            "ptx__rd3 = (uint64_t)(ptx__rd1 - (uint64_t)syncscope_shared[me->number / block]);",
        ] {
            assert!(own.contains(expected), "{expected}: {own}");
        }
        let both = code("ld.param.u64 %rd1, [k_param_10];\nst.shared.u32 [_ZZ1fE1s], %r1;");
        assert!(both.contains("[4][1030]") && both.contains("block] + (uint64_t)(8192) + 0)"), "{both}");
        assert!(body(".extern .shared .align 4 .b8 d[];\nst.shared.u32 [d], %r1;", Span::Block).is_err());
    }

    /// Each device has its own variables. An initial value may be an address, which nobody knows here.
    #[test]
    fn variables_in_global_memory_have_names_of_their_own() {
        let code = |variable: &str, instructions: &str| {
            let ptx = format!(".visible .entry k(\n)\n{{\n{instructions}\n}}\n{variable}\n");
            ptx_as_c(&ptx, &[("k".to_owned(), "wait".to_owned())], Span::Grid, &[])
        };
        let one = "mov.u64 %rd1, in;\nld.global.u32 %r1, [in+4];";
        for (variable, declared) in [
            (
                ".visible .global .align 4 .u32 in[2] = {1, -2};",
                "static uint32_t ptx_global_in[4][2] = {[0 ... 3] = {1, -2}};",
            ),
            (".global .align 4 .u32 in;", "static uint32_t ptx_global_in[4][1];"),
            (".visible .global .align 4 .f32 in[8];", "static struct { char bytes[4]; } ptx_global_in[4][8];"),
        ] {
            let text = code(variable, one).unwrap();
            assert!(text.contains(declared), "{text}");
            assert!(text.contains("ptx__rd1 = (uint64_t)((uint64_t)ptx_global_in[device]);"), "{text}");
            assert!(text.contains("*(uint32_t *)((uint64_t)ptx_global_in[device] + 4)"), "{text}");
        }
        assert!(code(".global .align 8 .u64 p = generic(q);", "ret;").unwrap_err().contains("`p`"));
    }

    /// The registers and braces of an `asm` statement, on one line or several.
    #[test]
    fn registers_of_asm_statements_have_names() {
        let text = "{ .reg .b64 t; mov.b64 t, {%r1, %r2}; st.relaxed.gpu.global.b64 [%rd1], t; }\n{\n.reg .pred p, q;\n\
                    setp.eq.u32 p, %r1, 1;\n@!p bra $L1;\nmov.b64 {_, %r2}, %rd1;\n}\n$L1:\nnanosleep.u32 20;";
        let code = body(text, Span::Grid).unwrap();
        for expected in [
            "ptx_t = (uint64_t)(uint32_t)ptx__r1 | (uint64_t)(uint32_t)ptx__r2 << 32;",
            "(uint64_t)ptx_t, __ATOMIC_RELAXED)",
            "if (!ptx_p) { goto ptx__L1; }",
            "{ ptx__r2 = (uint32_t)((uint64_t)ptx__rd1 >> 32);  }",
        ] {
            assert!(code.contains(expected), "{expected}: {code}");
        }
    }

    /// Registers have the bits of floating-point numbers; each element of a vector is an access.
    #[test]
    fn floating_point_numbers_are_bits() {
        let in_c = |instruction: &str| body(instruction, Span::Grid);
        for (instruction, expected) in [
            ("mov.f32 %f1, 0f3F800000;", "ptx__f1 = (uint32_t)((uint64_t)(0x3F800000));"),
            ("add.f32 %f1, %f2, %f3;", "ptx__f1 = f32_bits(f32(ptx__f2) + f32(ptx__f3));"),
            ("fma.rn.f64 %fd1, %fd2, %fd3, %fd1;", "= f64_bits(f64(ptx__fd2) * f64(ptx__fd3) + f64(ptx__fd1));"),
            ("setp.gt.ftz.f32 %p1, %f1, %f2;", "ptx__p1 = f32(ptx__f1) > f32(ptx__f2);"),
            ("cvt.rn.f32.u32 %f1, %r1;", "ptx__f1 = f32_bits((uint32_t)ptx__r1);"),
            ("cvt.rzi.s32.f32 %r1, %f1;", "ptx__r1 = (int32_t)(f32(ptx__f1));"),
            ("cvt.f64.f32 %fd1, %f1;", "ptx__fd1 = f64_bits(f32(ptx__f1));"),
            ("ld.volatile.global.f32 %f1, [%rd1];", "__atomic_load_n((uint32_t *)(ptx__rd1 + 0), __ATOMIC_RELAXED)"),
            ("st.global.f64 [%rd1], %fd1;", "*(uint64_t *)(ptx__rd1 + 0) = (uint64_t)ptx__fd1;"),
            (
                "red.global.add.f32 [%rd1], %f1;",
                "__tsan_syncscope32((uint32_t *)(ptx__rd1 + 0), (uint32_t)ptx__f1, 'f', ",
            ),
            ("ld.global.v2.f32 {%f1, %f2}, [%rd1+8];", "ptx__f2 = *(uint32_t *)(ptx__rd1 + 12);"),
            ("st.global.v4.u32 [%rd1], {%r1, %r1, %r1, %r2};", "*(uint32_t *)(ptx__rd1 + 12) = (uint32_t)ptx__r2;"),
        ] {
            let text = in_c(instruction).unwrap();
            assert!(text.contains(expected), "{instruction}: {text}");
        }
        for unknown in [
            "add.sat.f32 %f1, %f2, %f3;",
            "cvt.rni.s32.f32 %r1, %f1;",
            "cvt.rzi.f32.f32 %f1, %f2;",
            "atom.global.exch.f32 %f1, [%rd1], %f2;",
            "add.f16x2 %r1, %r2, %r3;",
        ] {
            assert!(in_c(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn lines_are_those_of_the_user_and_what_is_unknown_is_named() {
        let text =
            body("\t.loc 1 7 5, function_name $L1, inlined_at 1 9 1\n\tbar.sync 0;\n\t.loc 2 8 1\n\tret;", Span::Block);
        let text = text.unwrap();
        assert!(text.contains("#line 7 \"modelled.c\"") && text.contains("#line 8 \"harness\""), "{text}");
        let several =
            body("\t.loc 1 7 5\n\tmembar.gl;\n$L2:\n\tmembar.gl;\n\tmembar.gl;\n\t.loc 1 8 1\n\tret;", Span::Grid);
        let several = several.unwrap();
        let of_seven = several.split("modelled.c\"\n").nth(1).unwrap().split("#line").next().unwrap();
        assert!(
            of_seven.matches("__atomic_thread_fence").count() == 3 && of_seven.trim().lines().count() == 1,
            "{several}"
        );
        for unknown in [
            "shfl.sync.down.b32 %r1, %r2, 1, 31, -1;",
            "ld.global.v4.u32 {%r1, %r2}, [%rd1];",
            "{ call.uni f; }",
            "frob;",
        ] {
            assert!(body(unknown, Span::Grid).unwrap_err().starts_with("it has `"), "{unknown}");
        }
        assert!(ptx_as_c("", &[("k".to_owned(), "wait".to_owned())], Span::Grid, &[]).is_err());
    }
}
