//! Finds where a source reads or writes an atomic variable without a call: `v = 1`, `v++`, `while (v)`. Each such access is
//! sequentially consistent. Works by tokens alone: variables are known by the type in front of their names.

use std::collections::BTreeMap;

use crate::source::Source;
use crate::tokens::Kind;

/// The operators on atomic variables: the token of each variable, and the operation.
pub(crate) fn find(source: &Source<'_>) -> Vec<(usize, String)> {
    let declared = declared(source);
    let is_declaration = |token: usize| declared.values().any(|(tokens, _)| tokens.contains(&token));
    let used = (0..source.tokens.len()).filter(|token| !is_declaration(*token)).filter_map(|token| {
        let word = source.word(token);
        // Two members of the thread are pointers to atomic variables.
        let is_of_thread = token > 1 && source.is_behind(token, &["->", "."]) && source.word(token - 2) == "me";
        // Tokens alone cannot tell apart two variables or members with one name.
        if !is_of_thread && is_declared_plainly(source, word, &declared) {
            return None;
        }
        let is_pointer = if is_of_thread {
            ["x", "mine"].contains(&word).then_some(true)?
        } else {
            declared.get(word).map(|(_, is_pointer)| *is_pointer)?
        };
        Some((token, operator(source, token, is_pointer)?))
    });
    used.collect()
}

/// Variables of atomic types by name: the tokens of their declarations, and whether they are pointers.
fn declared<'a>(source: &'a Source<'_>) -> BTreeMap<&'a str, (Vec<usize>, bool)> {
    let mut found: BTreeMap<&str, (Vec<usize>, bool)> = BTreeMap::new();
    for token in (0..source.tokens.len()).filter(|token| source.tokens[*token].kind == Kind::Word) {
        let Some(mut at) = behind_type(source, token) else { continue };
        loop {
            let (mut name, mut is_pointer) = (None, false);
            while source.tokens.get(at).is_some_and(|one| one.kind == Kind::Word)
                || ["*", "&"].contains(&source.word(at))
            {
                is_pointer |= source.word(at) == "*";
                name = (source.tokens[at].kind == Kind::Word).then_some(at);
                at += 1;
            }
            let Some(name) = name.filter(|_| [",", ";", "=", "[", "{", ")", "("].contains(&source.word(at))) else {
                break;
            };
            let entry = found.entry(source.word(name)).or_default();
            entry.0.push(name);
            entry.1 |= is_pointer;
            let mut depth = 0;
            while at < source.tokens.len() && (depth > 0 || ![",", ";", ")"].contains(&source.word(at))) {
                depth += i32::from(["(", "[", "{"].contains(&source.word(at)));
                depth -= i32::from([")", "]", "}"].contains(&source.word(at)));
                at += 1;
            }
            if source.word(at) != "," {
                break;
            }
            at += 1;
        }
    }
    found
}

/// Whether a variable of another type has the same name.
fn is_declared_plainly(source: &Source<'_>, name: &str, declared: &BTreeMap<&str, (Vec<usize>, bool)>) -> bool {
    const STATEMENTS: [&str; 6] = ["return", "else", "do", "case", "goto", "throw"];
    let is_declaration = |token: &usize| declared.get(name).is_some_and(|(tokens, _)| tokens.contains(token));
    (2..source.tokens.len()).filter(|token| source.word(*token) == name && !is_declaration(token)).any(|token| {
        let is_word = |at: usize| source.tokens[at].kind == Kind::Word && !STATEMENTS.contains(&source.word(at));
        is_word(token - 1)
            || is_among_declared(source, token, &is_word)
            || (source.word(token - 1) == "*"
                && is_word(token - 2)
                && ["=", ";", ",", ")"].contains(&source.word(token + 1)))
    })
}

/// Whether a name behind a comma belongs to a declaration: `int a, *b[2], c;`.
fn is_among_declared(source: &Source<'_>, name: usize, is_word: &dyn Fn(usize) -> bool) -> bool {
    if (0..name).rev().find(|at| source.word(*at) != "*").is_none_or(|at| source.word(at) != ",") {
        return false;
    }
    let mut depth = 0;
    let first = (0..name).rev().take_while(|at| {
        depth += i32::from([")", "]", "}"].contains(&source.word(*at)))
            - i32::from(["(", "[", "{"].contains(&source.word(*at)));
        depth >= 0 && (depth > 0 || ![";", "}"].contains(&source.word(*at)))
    });
    let first = first.last().unwrap_or(name);
    let second = (first + 1..name).find(|at| source.word(*at) != "*").unwrap_or(first);
    second > first && is_word(first) && source.tokens[second].kind == Kind::Word
}

/// The token behind the name of an atomic type: `atomic_int`, `_Atomic int`, `_Atomic(int)`, `std::atomic<int>`.
fn behind_type(source: &Source<'_>, token: usize) -> Option<usize> {
    let word = source.word(token);
    let close = |open: &str, close: &str| {
        let mut depth = 0;
        (token + 1..source.tokens.len()).find(|at| {
            depth += i32::from(source.word(*at) == open) - i32::from(source.word(*at) == close);
            depth == 0
        })
    };
    match (word, source.word(token + 1)) {
        ("_Atomic", "(") => Some(close("(", ")")? + 1),
        ("_Atomic", _) => Some(token + 1),
        ("atomic" | "atomic_ref", "<") => Some(close("<", ">")? + 1),
        (_, "(" | "," | ")" | ";") => None,
        _ => (word.starts_with("atomic_") && word != "atomic_flag").then_some(token + 1),
    }
}

/// The operation on the variable at this token, unless it is a call.
fn operator(source: &Source<'_>, token: usize, is_pointer: bool) -> Option<String> {
    let mut first = token;
    while first > 1 && source.is_behind(first, &["->", ".", "::"]) {
        first -= 2;
        while first > 0 && ["]", ")"].contains(&source.word(first)) {
            first = opening(source, first)?;
        }
        if source.tokens[first].kind == Kind::Sign && first > 0 && source.tokens[first - 1].kind == Kind::Word {
            first -= 1;
        }
    }
    let mut last = token + 1;
    let is_indexed = source.word(last) == "[";
    while source.word(last) == "[" {
        last = (last..source.tokens.len()).find(|at| source.word(*at) == "]")? + 1;
    }
    let before = |at: usize| first.checked_sub(at).map_or("", |at| source.word(at));
    let is_value = |at: usize| {
        let kind = first.checked_sub(at).map(|at| source.tokens[at].kind);
        matches!(kind, Some(Kind::Word | Kind::Number)) && before(at) != "return" || [")", "]"].contains(&before(at))
    };
    let is_dereferenced = before(1) == "*" && !is_value(2);
    if (is_pointer && !is_dereferenced && !is_indexed)
        || (before(1) == "&" && !is_value(2))
        || [".", "->", "::", "("].contains(&source.word(last))
        || ([".", "->"].contains(&before(1)))
        || source.is_behind(token, &["."]) && ["{", ","].contains(&source.word(token.saturating_sub(2)))
    {
        return None;
    }
    // A function may take the variable by reference.
    let is_alone =
        ["(", ","].contains(&before(1 + usize::from(is_dereferenced))) && [")", ","].contains(&source.word(last));
    let call = source.call_of[token].map(|call| source.word(source.calls[call].name));
    if (is_alone && !["if", "while", "for", "switch"].contains(&call.unwrap_or_default()))
        || ["sizeof", "decltype", "alignof", "_Alignof"].contains(&call.unwrap_or_default())
    {
        return None;
    }
    let word = source.word(token);
    let signs = [source.word(last), source.word(last + 1), source.word(last + 2)];
    Some(match signs {
        ["=", second, _] if second != "=" => format!("{word} ="),
        [sign @ ("+" | "-"), second, _] if sign == second => format!("{word}{sign}{sign}"),
        [sign @ ("+" | "-" | "*" | "/" | "%" | "&" | "|" | "^"), "=", _] => format!("{word} {sign}="),
        [sign @ ("<" | ">"), second, "="] if sign == second => format!("{word} {sign}{sign}="),
        _ if ["+", "-"].contains(&before(1)) && before(1) == before(2) => format!("{0}{0}{word}", before(1)),
        _ => format!("{word}, read"),
    })
}

/// The opening bracket of a closing one.
fn opening(source: &Source<'_>, close: usize) -> Option<usize> {
    let mut depth = 0;
    (0..=close).rev().find(|at| {
        depth += i32::from([")", "]"].contains(&source.word(*at))) - i32::from(["(", "["].contains(&source.word(*at)));
        depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        find(&Source::new(text)).into_iter().map(|(_, operator)| operator).collect()
    }

    #[test]
    fn operators_on_atomic_variables_are_found() {
        let declared = "struct s { atomic_int a, b[2]; _Atomic(long) c; _Atomic unsigned d; atomic_uint *p; int e; };\nstd::atomic<int> v{0}, w;\n";
        for (text, expected) in [
            ("s->a = 1;", "a ="),
            ("while (s->a != 1) {}", "a, read"),
            ("s->b[i] += 2;", "b +="),
            ("if (s->c) {}", "c, read"),
            ("s.d <<= 1;", "d <<="),
            ("v++;", "v++"),
            ("--w;", "--w"),
            ("return v;", "v, read"),
            ("x = f(v + 1) & w;", "v, read w, read"),
            ("*s->p = 3;", "p ="),
            ("*me->x = me->sent;", "x ="),
            ("while (*me->mine != 1) {}", "mine, read"),
        ] {
            assert_eq!(found(&format!("{declared}void f() {{ {text} }}")).join(" "), expected, "{text}");
        }
        for text in [
            "atomic_store(&s->a, 1);",
            "atomic_load_explicit(&s->b[i], memory_order_acquire);",
            "v.store(1);",
            "w.fetch_add(1, std::memory_order_relaxed);",
            "atomic_int *p = &s->a;",
            "s->e = 1;",
            "atomic_uint *const q = s->p;",
            "atomic_load(s->p);",
            "use(v);",
            "atomic_fetch_add(me->x, 1);",
            "sizeof(v);",
            "struct s t = {.a = 0, .c = 1};",
            "struct thread *x; x = 0;",
            "const unsigned i = me->a;",
            "struct s *const a = f(); a = 0; if (a) {}",
            "int c = 1; c++;",
            "struct { bool d; } t; t.d = 1;",
            "int e, a; unsigned *q, c[2], d = 1; a = b2; if (a != e) d = c[0];",
            "put(*me->x, 0);",
            "struct s *n = f(1, 2), *p = n; p = 0;",
            "auto &w2 = g(); g().store(1); } std::atomic<int> &g() { u();",
        ] {
            assert!(
                found(&format!("{declared}void f() {{ {text} }}")).is_empty(),
                "{text}: {:?}",
                found(&format!("{declared}void f() {{ {text} }}"))
            );
        }
    }

    #[test]
    fn no_text_is_too_strange() {
        for text in [
            "atomic_int",
            "_Atomic(",
            "std::atomic<",
            "atomic_int a[",
            "atomic_int a; a",
            "atomic_int a; ->a[",
            ")->a; atomic_int a",
            "_Atomic",
        ] {
            let _ = found(text);
        }
    }
}
