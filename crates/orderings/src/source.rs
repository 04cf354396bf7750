//! The structure of a source by its tokens: the call around each token, and the functions that an operation uses.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::tokens::{Kind, Token, tokens};

/// A call, or text that looks like one: `name(...)`. The name of `asm volatile (...)` is `asm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The token of the name.
    pub(crate) name: usize,
    pub(crate) open: usize,
    pub(crate) close: usize,
}

/// Words in front of brackets that call nothing.
pub(crate) const CONTROLS: [&str; 5] = ["if", "for", "while", "switch", "catch"];

/// A source text in tokens.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: Vec<Token>,
    /// In the order of their opening brackets.
    pub(crate) calls: Vec<Call>,
    /// The innermost call around each token.
    pub(crate) call_of: Vec<Option<usize>>,
    /// The marks by `#line`: the start of the next line, its number, and its file.
    marks: Vec<(usize, u32, Option<String>)>,
    /// Functions and macros by their name, with the tokens of their bodies.
    definitions: Vec<(usize, Range<usize>)>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let tokens = tokens(text);
        let (call_of, calls, definitions, marks) = (vec![None; tokens.len()], Vec::new(), Vec::new(), Vec::new());
        let mut source = Self { text, tokens, calls, call_of, marks, definitions };
        source.find_calls();
        source.find_definitions();
        source.marks = source.directives("line").filter_map(|at| source.mark(at)).collect();
        source
    }

    pub(crate) fn word(&self, token: usize) -> &'a str {
        self.tokens.get(token).map_or("", |token| &self.text[token.range.clone()])
    }

    /// Whether the previous token is one of these signs.
    pub(crate) fn is_behind(&self, token: usize, signs: &[&str]) -> bool {
        token > 0 && signs.contains(&self.word(token - 1))
    }

    /// The name of the variable whose method has this name: `v` of `v.store()` and of `v[i]->store()`.
    pub(crate) fn variable_before(&self, method: usize) -> usize {
        let end = method.saturating_sub(2);
        let mut depth = 0;
        let opening = (0..=end).rev().find(|at| {
            depth += i32::from(self.word(*at) == "]") - i32::from(self.word(*at) == "[");
            depth == 0
        });
        let first = opening.filter(|_| self.word(end) == "]").and_then(|at| at.checked_sub(1));
        first.unwrap_or(end)
    }

    /// The line of a position, and its file if `#line` names one.
    pub(crate) fn place_of(&self, at: usize) -> (u32, Option<String>) {
        let (behind, line, file) = self.marks.iter().rfind(|mark| mark.0 <= at).cloned().unwrap_or((0, 1, None));
        (line + self.text[behind..at].matches('\n').count() as u32, file)
    }

    /// The directives of this name, by the token of their `#`.
    pub(crate) fn directives(&self, name: &str) -> impl Iterator<Item = usize> {
        (0..self.tokens.len()).filter(move |at| self.tokens[*at].kind == Kind::Directive && self.word(at + 1) == name)
    }

    /// The end of the line with this token.
    pub(crate) fn end_of_line(&self, token: usize) -> usize {
        let start = self.tokens[token].range.start;
        start + end_of_line(&self.text[start..])
    }

    fn mark(&self, at: usize) -> Option<(usize, u32, Option<String>)> {
        let end = self.end_of_line(at);
        let is_in_line = self.tokens.get(at + 3).is_some_and(|token| token.range.start < end);
        let file = is_in_line.then(|| self.word(at + 3).trim_matches('"').to_owned());
        Some((end, self.word(at + 2).parse().ok()?, file))
    }

    /// The tokens inside a call's brackets but not inside inner calls.
    pub(crate) fn arguments(&self, call: usize) -> impl Iterator<Item = usize> + '_ {
        let Call { open, close, .. } = self.calls[call];
        (open + 1..close).filter(move |token| self.call_of[*token] == Some(call))
    }

    /// The name of the template that has this token among its arguments: `load` of `load<std::memory_order_acquire>()`.
    pub(crate) fn template_around(&self, token: usize) -> Option<usize> {
        let is_of_name = |at: usize| self.tokens[at].kind == Kind::Word || ["::", ","].contains(&self.word(at));
        let open = (0..token).rev().find(|at| !is_of_name(*at)).filter(|at| self.word(*at) == "<")?;
        let name = open.checked_sub(1).filter(|name| self.tokens[*name].kind == Kind::Word)?;
        let close = (token + 1..self.tokens.len()).find(|at| !is_of_name(*at))?;
        (self.word(close) == ">").then_some(name)
    }

    /// The number of arguments of a call.
    pub(crate) fn count_arguments(&self, call: usize) -> usize {
        let Call { open, close, .. } = self.calls[call];
        let commas = self.arguments(call).filter(|token| self.word(*token) == ",").count();
        if open + 1 == close { 0 } else { commas + 1 }
    }

    /// Finds the calls. Brackets without a name before them belong to the call around them, except for their commas.
    fn find_calls(&mut self) {
        let mut open: Vec<(Option<usize>, usize)> = Vec::new();
        for at in 0..self.tokens.len() {
            let is_sign = self.tokens[at].kind == Kind::Sign;
            match self.word(at) {
                ")" | "]" | "}" if is_sign => {
                    if let Some((Some(call), _)) = open.pop() {
                        self.calls[call].close = at;
                    }
                    self.call_of[at] = open.last().and_then(|(call, _)| *call);
                }
                sign @ ("(" | "[" | "{") if is_sign => {
                    let around = open.last().and_then(|(call, _)| *call);
                    self.call_of[at] = around;
                    let name = if sign == "(" { self.callee(at) } else { None };
                    let call = name.map(|name| {
                        self.calls.push(Call { name, open: at, close: self.tokens.len() });
                        self.calls.len() - 1
                    });
                    open.push((call, at));
                }
                _ => self.call_of[at] = open.last().and_then(|(call, _)| *call),
            }
        }
    }

    /// The name that an opening bracket calls.
    fn callee(&self, open: usize) -> Option<usize> {
        let mut name = open.checked_sub(1)?;
        while ["volatile", "__volatile__", "__volatile", "goto", "inline"].contains(&self.word(name)) {
            name = name.checked_sub(1)?;
        }
        (self.tokens[name].kind == Kind::Word).then_some(name)
    }

    /// Finds `name(...) {`, with a few words between, and `#define name`.
    fn find_definitions(&mut self) {
        const QUALIFIERS: [&str; 5] = ["const", "noexcept", "override", "final", "mutable"];
        for Call { name, close, .. } in self.calls.clone() {
            let is_between = |token: usize| {
                let is_of_type = self.tokens.get(token).is_some_and(|token| token.kind == Kind::Word)
                    || ["::", "&", "*", "->"].contains(&self.word(token));
                QUALIFIERS.contains(&self.word(token))
                    || (is_of_type && (close + 1..=token).any(|at| self.word(at) == "->"))
            };
            let Some(brace) = (close + 1..self.tokens.len()).find(|token| !is_between(*token)) else { continue };
            if self.word(brace) == "{" && !CONTROLS.contains(&self.word(name)) {
                self.definitions.push((name, brace..self.closing(brace)));
            }
        }
        for at in self.directives("define").collect::<Vec<_>>() {
            let end = self.end_of_line(at);
            let behind = (at + 2..self.tokens.len()).find(|token| self.tokens[*token].range.start >= end);
            self.definitions.push((at + 2, at + 3..behind.unwrap_or(self.tokens.len())));
        }
    }

    fn closing(&self, brace: usize) -> usize {
        let mut depth = 0;
        for at in brace..self.tokens.len() {
            match self.word(at) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    /// The words in front of the last of these tokens, back to the end of what precedes it. Also whether all braces around it
    /// are those of a namespace or of `extern "C"`.
    fn head(&self, tokens: &[usize]) -> (Vec<&'a str>, bool) {
        let mut words = tokens.iter().rev().map(|token| self.word(*token));
        let head: Vec<&str> = words.by_ref().take_while(|word| ![";", "{", "}"].contains(word)).collect();
        let mut closed = 0;
        let is_of_file = (0..tokens.len()).rev().all(|at| {
            match self.word(tokens[at]) {
                "}" => closed += 1,
                "{" if closed > 0 => closed -= 1,
                "{" => return self.head(&tokens[..at]).0.iter().any(|word| ["namespace", "extern"].contains(word)),
                _ => {}
            }
            true
        });
        (head, is_of_file)
    }

    /// Which tokens are reachable: the bodies of functions with these names and of functions that these name, and all tokens
    /// outside functions.
    pub(crate) fn reachable(&self, roots: &[&str]) -> Vec<bool> {
        let mut is_reached = vec![roots.is_empty(); self.tokens.len()];
        if roots.is_empty() {
            return is_reached;
        }
        let inside = |token: usize| self.definitions.iter().any(|(_, body)| body.contains(&token));
        let (mut known, mut left): (BTreeSet<&str>, Vec<&str>) = (roots.iter().copied().collect(), roots.to_vec());
        // Tokens between a function's name and its body hide the name.
        left.push("__attribute__");
        for token in (0..self.tokens.len()).filter(|token| !inside(*token)) {
            is_reached[token] = true;
        }
        while let Some(name) = left.pop() {
            for (_, body) in self.definitions.iter().filter(|(defined, _)| self.word(*defined) == name) {
                for token in body.clone() {
                    is_reached[token] = true;
                    if self.tokens[token].kind == Kind::Word && known.insert(self.word(token)) {
                        left.push(self.word(token));
                    }
                }
            }
        }
        is_reached
    }
}

/// The functions with accepted names that a source defines outside of classes: the name, and the words in front of it.
pub fn functions(text: &str, is_meant: impl Fn(&str) -> bool) -> Vec<(&str, Vec<&str>)> {
    let source = Source::new(text);
    let mut end = 0;
    // The tokens of directives are part of no definition.
    let code = (0..source.tokens.len()).filter(|at| {
        let Token { kind, range } = &source.tokens[*at];
        if *kind == Kind::Directive {
            end = source.end_of_line(*at);
        }
        range.start >= end
    });
    let code: Vec<usize> = code.collect();
    let is_named = |name: &usize| is_meant(source.word(*name)) && !source.is_behind(*name, &["::"]);
    let names = source.definitions.iter().map(|(name, _)| *name).filter(is_named);
    let headed = names.filter_map(|name| Some((name, source.head(&code[..code.binary_search(&name).ok()?]))));
    headed.filter(|(_, (_, is_of_file))| *is_of_file).map(|(name, (head, _))| (source.word(name), head)).collect()
}

/// The length of a line, which continues behind each backslash at its end.
fn end_of_line(text: &str) -> usize {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_what_a_file_defines() {
        let text = "#define launch(x) {\n// void a() {}\n#include \"x.h\"\nextern \"C\" {\n__device__\nint b(T &t) noexcept { c(1); }\n}\n\
                    struct S { int d() { return 0; } };\nnamespace n { inline auto e() -> int { auto l = [&]() { f(); }; } }\n\
                    int g();\nint S::h() { return launch(1); }\n#define X __device__\n__launch_bounds__(8) void i(int (*f)(int)) {}";
        let found: Vec<(&str, bool)> =
            functions(text, |_| true).into_iter().map(|(name, head)| (name, head.contains(&"__device__"))).collect();
        assert_eq!(found, [("b", true), ("e", false), ("i", false)]);
    }
}
