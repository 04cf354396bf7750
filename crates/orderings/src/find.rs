//! Finds the orderings of C, C++ and CUDA in a source.

use std::fmt::Write as _;
use std::ops::Range;

use crate::operators;
use crate::source::{CONTROLS, Source};
use crate::tokens::Kind;
use crate::{Change, Found, NotTried, Ordering, Step, ptx};

/// A memory order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Relaxed,
    Consume,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

use Order::{AcqRel, Acquire, Consume, Relaxed, Release, SeqCst};

impl Order {
    const ALL: [(Self, &str); 6] = [
        (Relaxed, "relaxed"),
        (Consume, "consume"),
        (Acquire, "acquire"),
        (Release, "release"),
        (AcqRel, "acq_rel"),
        (SeqCst, "seq_cst"),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(order, _)| *order == self).map_or("", |(_, word)| word)
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(order, _)| *order)
    }
}

/// The access that an order belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Load,
    Store,
    /// A read and a write in one step.
    Update,
    Fence,
    /// A fence against a signal handler that interrupts the thread.
    Signal,
    /// A function or a variable of the user.
    Unknown,
}

impl Access {
    /// The access by the name of a function or, behind a variable, of a method.
    fn of(name: &str, is_method: bool) -> Self {
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if has(&["signal_fence"]) {
            Self::Signal
        } else if has(&["thread_fence"]) {
            Self::Fence
        } else if !is_method
            && !["atomic_", "__atomic_", "__c11_atomic_", "__nv_atomic_"].iter().any(|begin| name.starts_with(begin))
        {
            Self::Unknown
        } else if has(&["exchange", "fetch", "test_and_set"]) {
            Self::Update
        } else if has(&["store", "clear"]) {
            Self::Store
        } else if has(&["load", "test", "wait"]) {
            Self::Load
        } else {
            Self::Unknown
        }
    }

    /// The orders that are weaker by one step, and the order that orders nothing, if it is none of these.
    fn weaker(self, order: Order) -> Vec<(Step, Order)> {
        let one: &[Order] = match (self, order) {
            (_, Relaxed) | (Self::Signal, _) => return Vec::new(),
            (Self::Load, SeqCst) => &[Acquire],
            (Self::Store, SeqCst) => &[Release],
            (Self::Update | Self::Fence, SeqCst) => &[AcqRel],
            (_, AcqRel) => &[Acquire, Release],
            (Self::Fence, _) => &[],
            _ => &[Relaxed],
        };
        let none = (self != Self::Fence && !one.contains(&Relaxed)).then_some((Step::LeftOut, Relaxed));
        one.iter().map(|order| (Step::Weaker, *order)).chain(none).collect()
    }
}

/// Fences without arguments, each with the weaker or narrower one; the parentheses stay behind the name.
const FENCES: [(&str, Option<(Step, &str)>); 9] = [
    ("__threadfence_system", Some((Step::Narrower, "__threadfence"))),
    ("__threadfence", Some((Step::Narrower, "__threadfence_block"))),
    ("__threadfence_block", None),
    ("__syncthreads", Some((Step::Narrower, "__syncwarp"))),
    ("__syncwarp", None),
    ("__sync_synchronize", Some((Step::Weaker, "__atomic_thread_fence(__ATOMIC_ACQ_REL), (void)__builtin_LINE"))),
    ("_mm_mfence", None),
    ("_mm_sfence", None),
    ("_mm_lfence", None),
];

/// Calls that imply `seq_cst` if they name no order, with the number of arguments in that case.
const IMPLIED: [(&str, usize); 13] = [
    ("load", 0),
    ("store", 1),
    ("exchange", 1),
    ("fetch_add", 1),
    ("fetch_sub", 1),
    ("fetch_and", 1),
    ("fetch_or", 1),
    ("fetch_xor", 1),
    ("compare_exchange_strong", 2),
    ("compare_exchange_weak", 2),
    ("flag_test_and_set", 0),
    ("flag_clear", 0),
    ("flag_test", 0),
];

/// The scopes of `cuda::atomic_ref` and those of the compiler's functions, the narrowest first. The scope of one thread is left
/// out: it orders nothing between threads, and no instruction differs from those of the block.
const SCOPES: [&[&str]; 2] = [
    &["thread_scope_block", "thread_scope_device", "thread_scope_system"],
    &["__NV_THREAD_SCOPE_BLOCK", "__NV_THREAD_SCOPE_CLUSTER", "__NV_THREAD_SCOPE_DEVICE", "__NV_THREAD_SCOPE_SYSTEM"],
];

/// The orderings that functions of these names reach, or all orderings of the source if no name is given.
pub fn find(source: &str, functions: &[&str], is_gpu: bool) -> Found {
    let source = Source::new(source);
    let (aliases, flags) = (aliases(&source), flags(&source));
    let mut finder = Finder { source: &source, is_gpu, aliases, flags, found: Found::default() };
    let is_reached = source.reachable(functions);
    let mut is_using = false;
    for token in (0..source.tokens.len()).filter(|token| is_reached[*token]) {
        match (source.tokens[token].kind, source.word(token)) {
            (Kind::Word, "using") => is_using = true,
            // A type follows, whose arguments may be orders.
            (Kind::Sign, ";" | "=") => is_using = false,
            (Kind::Word, _) if !is_using => finder.word(token),
            (Kind::Text, _) => finder.assembly(token),
            _ => {}
        }
    }
    for call in (0..source.calls.len()).filter(|call| is_reached[source.calls[*call].name]) {
        finder.implied(call);
    }
    for (token, name) in operators::find(&source).into_iter().filter(|(token, _)| is_reached[*token]) {
        finder.leave_out(token, &name, "seq_cst by an operator: write it as a call to have it tried");
    }
    finder.found.orderings.sort_by_key(|ordering| ordering.token.start);
    number(&mut finder.found.orderings);
    finder.found.not_tried.sort_by_key(|not_tried| not_tried.line);
    finder.found
}

/// Tells apart orderings of one line that have one name: `load acquire (2nd)`.
fn number(orderings: &mut [Ordering]) {
    const NUMBERS: [&str; 9] = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th"];
    let keys: Vec<_> = orderings.iter().map(|one| (one.line, one.file.clone(), one.name.clone())).collect();
    for (at, ordering) in orderings.iter_mut().enumerate() {
        let before = keys[..at].iter().filter(|key| **key == keys[at]).count();
        if before > 0 || keys[at + 1..].contains(&keys[at]) {
            let _ = write!(ordering.name, " ({})", NUMBERS.get(before).unwrap_or(&"later"));
        }
    }
}

struct Finder<'a> {
    source: &'a Source<'a>,
    is_gpu: bool,
    /// Other names of `memory_order`.
    aliases: Vec<&'a str>,
    /// Variables of the type `atomic_flag`.
    flags: Vec<&'a str>,
    found: Found,
}

/// Finds `using mo = std::memory_order;` and `typedef std::memory_order mo;`.
fn aliases<'a>(source: &'a Source<'_>) -> Vec<&'a str> {
    let of = |token: usize| match (source.word(token + 1), source.word(token + 2)) {
        (";", _) => {
            let equals = (0..token).rev().take(3).find(|at| source.word(*at) == "=")?;
            (source.word(equals.checked_sub(2)?) == "using").then(|| source.word(equals - 1))
        }
        (name, ";") => (0..token).rev().take(3).any(|at| source.word(at) == "typedef").then_some(name),
        _ => None,
    };
    (0..source.tokens.len()).filter(|token| source.word(*token) == "memory_order").filter_map(of).collect()
}

/// The variables in declarations such as `std::atomic_flag a, *b;`.
fn flags<'a>(source: &'a Source<'_>) -> Vec<&'a str> {
    let declared = (0..source.tokens.len()).filter(|token| source.word(*token) == "atomic_flag");
    let behind = |token: usize| {
        (token + 1..source.tokens.len()).take_while(|at| ![";", ")", "(", "{", "="].contains(&source.word(*at)))
    };
    declared.flat_map(behind).filter(|at| source.tokens[*at].kind == Kind::Word).map(|at| source.word(at)).collect()
}

impl Finder<'_> {
    fn add(&mut self, token: usize, name: String, changes: Vec<Change>) {
        let token = self.source.tokens[token].range.clone();
        let (line, file) = self.source.place_of(token.start);
        let meeting = ["__syncthreads", "__syncwarp", "bar.", "barrier.sync", "barrier.cta"];
        let is_meeting = meeting.iter().any(|begin| name.starts_with(begin));
        self.found.orderings.push(Ordering { line, file, name, is_meeting, token, changes });
    }

    fn leave_out(&mut self, token: usize, name: &str, reason: &str) {
        let (line, file) = self.source.place_of(self.source.tokens[token].range.start);
        let not_tried = NotTried { line, file, name: name.to_owned(), reason: reason.to_owned() };
        if !self.found.not_tried.contains(&not_tried) {
            self.found.not_tried.push(not_tried);
        }
    }

    fn word(&mut self, token: usize) {
        let source = self.source;
        let word = source.word(token);
        let is_called = source.word(token + 1) == "(";
        if let Some((order, prefix)) = self.order(token) {
            return self.named(token, order, prefix);
        }
        if let Some((name, weaker)) = FENCES.iter().find(|(name, _)| *name == word && is_called) {
            let change = |(step, to): (Step, &str)| {
                let words = to.split_once([',']).map_or(to, |(first, _)| first).to_owned();
                Change { step, words, edits: vec![(source.tokens[token].range.clone(), to.to_owned())] }
            };
            let left_out =
                source.calls.iter().find(|call| call.name == token).map(|call| self.left_out(call.name, call.close));
            return self.add(token, format!("{name}()"), weaker.map(change).into_iter().chain(left_out).collect());
        }
        if let Some(pair) = SCOPES.iter().flat_map(|scopes| scopes.windows(2)).find(|pair| pair[1] == word) {
            let edits = vec![(source.tokens[token].range.clone(), pair[0].to_owned())];
            return self.add(
                token,
                word.to_owned(),
                vec![Change { step: Step::Narrower, words: pair[0].to_owned(), edits }],
            );
        }
        let reason = match word {
            "memory_order_" | "__ATOMIC_" | "__NV_ATOMIC_" => {
                "a macro pastes its order: write the whole name to have it tried"
            }
            "volatile" if source.calls.iter().all(|call| call.name + 1 != token) => {
                if self.is_gpu {
                    "it names no ordering"
                } else {
                    "it names no ordering, and to C, threads that share it race: use `__atomic_` functions"
                }
            }
            _ if is_called && word.starts_with("__syncthreads_") => "its result is used",
            "sync" | "arrive_and_wait" if is_called && self.is_gpu => "a method of a library",
            _ if is_called && word.starts_with("__sync_") => {
                "a function without an order: write it as an `__atomic_` function to have it tried"
            }
            _ => return,
        };
        self.leave_out(token, word, reason);
    }

    /// The order that a word names, and the prefix of the word.
    fn order(&self, token: usize) -> Option<(Order, &'static str)> {
        let word = self.source.word(token);
        if let Some(order) = word.strip_prefix("memory_order_") {
            return Some((Order::of(order)?, "memory_order_"));
        }
        for prefix in ["__ATOMIC_", "__NV_ATOMIC_"] {
            if let Some(order) = word.strip_prefix(prefix) {
                return Some((Order::of(&order.to_ascii_lowercase())?, prefix));
            }
        }
        let is_of_type =
            |at: usize| self.source.is_behind(at, &["memory_order"]) || self.source.is_behind(at, &self.aliases);
        let is_enumerator = self.source.is_behind(token, &["::"]) && is_of_type(token - 1);
        Some((Order::of(word).filter(|_| is_enumerator)?, ""))
    }

    /// Adds an order that the source names.
    fn named(&mut self, token: usize, order: Order, prefix: &str) {
        let source = self.source;
        let call = source.call_of[token].filter(|call| !CONTROLS.contains(&source.word(source.calls[*call].name)));
        let (mut access, mut name, orders) = call.map_or((Access::Unknown, "", Vec::new()), |call| {
            let name = source.calls[call].name;
            let orders: Vec<usize> = source.arguments(call).filter(|token| self.order(*token).is_some()).collect();
            (Access::of(source.word(name), source.is_behind(name, &[".", "->"])), source.word(name), orders)
        });
        if let Some(template) = source.template_around(token) {
            (access, name) = (Access::Unknown, source.word(template));
        }
        // The second order of a compare-and-swap is for the failed attempt, a load.
        let is_failure = orders.len() == 2 && orders[1] == token;
        if is_failure {
            access = Access::Load;
        }
        if access == Access::Signal {
            return self.leave_out(token, name, "it orders nothing between threads");
        }
        let spelled = |order: Order| {
            let word =
                if prefix.starts_with("__") { order.word().to_ascii_uppercase() } else { order.word().to_owned() };
            format!("{prefix}{word}")
        };
        let range = &source.tokens[token].range;
        let mut changes: Vec<Change> = (access.weaker(order).into_iter())
            .map(|(step, to)| Change { step, words: to.word().to_owned(), edits: vec![(range.clone(), spelled(to))] })
            .collect();
        if let (Access::Fence, Some(call)) = (access, call.map(|call| &source.calls[call])) {
            changes.push(self.left_out(call.name, call.close));
        }
        if !changes.is_empty() {
            let in_vain = if is_failure { " (in vain)" } else { "" };
            self.add(token, format!("{name} {}{in_vain}", order.word()).trim().to_owned(), changes);
        }
    }

    /// Adds a call without an order.
    fn implied(&mut self, call: usize) {
        let source = self.source;
        let (name, close) = (source.calls[call].name, source.calls[call].close);
        let word = source.word(name);
        let is_method = source.is_behind(name, &[".", "->"]);
        let (function, first) =
            if is_method { (word, 0) } else { (word.strip_prefix("atomic_").unwrap_or_default(), 1) };
        // Other classes have methods `clear` and `test` with other meanings.
        let is_of_flag = is_method
            && (word == "test_and_set"
                || (["clear", "test"].contains(&word)
                    && self.flags.contains(&source.word(source.variable_before(name)))));
        let of_flag = format!("flag_{word}");
        let function = if is_of_flag { &of_flag } else { function };
        let fits =
            |(known, count): &&(&str, usize)| *known == function && count + first == source.count_arguments(call);
        if !IMPLIED.iter().any(|known| fits(&known)) || close >= source.tokens.len() {
            return;
        }
        let access = Access::of(word, is_method);
        let is_swap = word.contains("compare_exchange");
        let space = if self.is_gpu {
            "cuda::"
        } else if is_method {
            "std::"
        } else {
            ""
        };
        let behind = source.tokens[close].range.start;
        let change = |(step, to): (Step, Order)| {
            let orders = [Some(to), is_swap.then_some(if matches!(to, AcqRel | SeqCst) { Acquire } else { Relaxed })];
            let separated = source.count_arguments(call) > 0;
            let orders: Vec<String> =
                orders.into_iter().flatten().map(|order| format!("{space}memory_order_{}", order.word())).collect();
            let orders = format!("{}{}", if separated { ", " } else { "" }, orders.join(", "));
            let mut edits = vec![(behind..behind, orders)];
            if !is_method {
                let end = source.tokens[name].range.end;
                edits.insert(0, (end..end, "_explicit".to_owned()));
            }
            Change { step, words: to.word().to_owned(), edits }
        };
        let changes = access.weaker(SeqCst).into_iter().map(change).collect();
        self.add(name, format!("{word} (seq_cst)"), changes);
    }

    /// The change that replaces a call, with the namespace before it, by nothing.
    fn left_out(&self, name: usize, close: usize) -> Change {
        let source = self.source;
        let mut first = name;
        while first > 1 && source.is_behind(first, &["::"]) {
            first -= if source.tokens[first - 2].kind == Kind::Word { 2 } else { 1 };
        }
        let end = source.tokens.get(close).map_or(source.text.len(), |token| token.range.end);
        let edits = vec![(source.tokens[first].range.start..end, "((void)0)".to_owned())];
        Change { step: Step::LeftOut, words: "left out".to_owned(), edits }
    }

    /// Adds the orderings in the text of an `asm` statement.
    fn assembly(&mut self, token: usize) {
        let source = self.source;
        let Some(call) = source.call_of[token] else { return };
        if !["asm", "__asm__", "__asm"].contains(&source.word(source.calls[call].name)) {
            return;
        }
        let range = source.tokens[token].range.clone();
        // Operands follow the first colon.
        let is_operand = source.arguments(call).any(|other| other < token && source.word(other).starts_with(':'));
        if is_operand {
            return;
        }
        let text = &source.text[range.clone()];
        let of_source = |place: &Range<usize>| range.start + place.start..range.start + place.end;
        for (place, changes) in ptx::find(text, self.is_gpu) {
            let name = &text[place.clone()];
            match changes {
                Ok(mut changes) => {
                    for (place, _) in changes.iter_mut().flat_map(|change| &mut change.edits) {
                        *place = of_source(place);
                    }
                    self.add(token, name.to_owned(), changes);
                }
                Err(reason) => self.leave_out(token, name, reason),
            }
        }
    }
}
