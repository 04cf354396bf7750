//! Asks a compiler about a source: which of its words are functions that can be called with a thread, and what each function
//! uses. Messages about a line for each word answer the first question. The assembly of `probe.h` answers the second: it marks
//! everything that the thread gives to an operation, and the marks that are left are used.

use std::collections::BTreeSet;

use syncscope_core::{Dtype, Inspected, OwnOperation, OwnUse};

use super::calls;
use super::source::{LIMIT, USUAL_LEVEL, compiler_of, explained, functions, is_cancelled, lines, with_compiler};
use syncscope_machine::c_compiler;

const PROBE: &str = include_str!("probe.h");

/// The file name of the lines that try words.
const TRIED: &str = "tried";

/// Inspects a source. `candidates` are words of it that may be functions.
///
/// # Errors
/// Returns the compiler's error, or that there is no compiler.
pub fn inspect(source: &OwnOperation, candidates: &[String], dtype: Option<Dtype>) -> Result<Inspected, String> {
    let dtype = dtype.unwrap_or(Dtype::I32);
    let found = if source.file.is_some() {
        let pasted = pasted(source, candidates, dtype).into_iter().filter(|name| !candidates.contains(name));
        callable(source, &[candidates, &pasted.collect::<Vec<_>>()].concat(), dtype)?
    } else {
        Vec::new()
    };
    let (operations, helpers) = OwnOperation::of_functions(&found);
    let names: Vec<String> = if source.file.is_some() {
        operations.into_iter().map(|(function, _)| function).collect()
    } else {
        vec![String::new()]
    };
    let mut inspected = Inspected::default();
    for name in names {
        let function = Some(name.clone()).filter(|_| source.file.is_some());
        let own = OwnOperation { function, helpers: helpers.clone(), ..source.clone() };
        inspected.functions.push((name, uses_of(&own, dtype)?));
    }
    // Helpers use what their operations use.
    inspected.functions.extend(helpers.into_iter().map(|name| (name, Vec::new())));
    Ok(inspected)
}

/// Makes clang refuse pragmas that it ignores; gcc has an option for this.
const NO_IGNORED_OPENMP: &str = "#ifdef __clang__\n#pragma clang diagnostic error \"-Wsource-uses-openmp\"\n#endif\n";

/// The compiler's message about the first pragma that it ignores, such as pragmas of OpenMP without `-fopenmp`.
pub fn ignored_pragma(source: &OwnOperation, dtype: Option<Dtype>) -> Option<String> {
    let texts = [Some(&source.text), source.setup.as_ref(), source.baseline.as_ref()];
    if !texts.into_iter().flatten().any(|text| text.to_lowercase().contains("pragma")) {
        return None;
    }
    let compiler = compiler_of(source, dtype.unwrap_or(Dtype::I32), false).ok()?;
    let text = if source.file.is_some() { lines(source) } else { functions(source) };
    let text = format!("{NO_IGNORED_OPENMP}{text}");
    let command = compiler.command(&["-Werror=unknown-pragmas"]);
    let messages = c_compiler::refusal(command, (compiler.ending, &text), LIMIT, is_cancelled).ok()??;
    let error = c_compiler::first_error(&messages);
    let (place, what) = error.split_once(" error: ")?;
    let what = what.split(" [-W").next().filter(|what| what.contains("pragma"))?;
    let remedy = if what.contains("omp") { "; a compiler with -fopenmp in CC or CXX heeds it" } else { "" };
    Some(format!("{place} {what}{remedy}"))
}

/// The words that may be functions after macros have pasted names: `void operation_##name(...)`. Other names stand in the source.
/// A macro of a header is looked for where the source has no operation otherwise.
fn pasted(source: &OwnOperation, candidates: &[String], dtype: Dtype) -> Vec<String> {
    if !source.text.contains("##") && !OwnOperation::of_functions(candidates).0.is_empty() {
        return Vec::new();
    }
    let preprocessed = compiler_of(source, dtype, false).ok().and_then(|compiler| {
        let text = lines(source);
        c_compiler::preprocessed(compiler.command(&[]), (compiler.ending, &text), LIMIT, is_cancelled)
    });
    preprocessed.map_or_else(Vec::new, |text| OwnOperation::candidates(&text))
}

/// The words that are functions of a thread: the compiler has no error about their lines.
fn callable(source: &OwnOperation, candidates: &[String], dtype: Dtype) -> Result<Vec<String>, String> {
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let compiler = compiler_of(source, dtype, false)?;
    let is_c = compiler.ending == "c";
    let strict: &[&str] = if is_c { &["-Werror=incompatible-pointer-types", "-Werror=int-conversion"] } else { &[] };
    let mut text = lines(source);
    for (at, name) in candidates.iter().enumerate() {
        let result = if name.starts_with("check") { "int" } else { "void" };
        text.extend([format!(
            "#line {} \"{TRIED}\"\n{result} (*const syncscope_tried_{at})(struct thread *) __attribute__((unused)) = {name};\n",
            at + 1
        )]);
    }
    let command = compiler.command(strict);
    let Some(messages) = c_compiler::refusal(command, (compiler.ending, &text), LIMIT, is_cancelled)? else {
        return Ok(candidates.to_vec());
    };
    let is_error = |line: &&str| line.contains("error:");
    let line_of = |line: &str| line.strip_prefix(TRIED)?.strip_prefix(':')?.split(':').next()?.parse::<usize>().ok();
    let refused: Vec<Option<usize>> = messages.lines().filter(is_error).map(line_of).collect();
    if refused.is_empty() || refused.contains(&None) {
        let of_user: Vec<&str> = messages.lines().filter(|line| !line.starts_with(TRIED)).collect();
        return Err(with_compiler(source, &c_compiler::first_error(&of_user.join("\n"))));
    }
    let refused: BTreeSet<usize> = refused.into_iter().flatten().collect();
    let is_left = |at: usize| !refused.contains(&(at + 1));
    Ok(candidates.iter().enumerate().filter(|(at, _)| is_left(*at)).map(|(_, name)| name.clone()).collect())
}

/// What an operation uses. Code that is not optimized contains everything that a thread gives, used or not.
fn uses_of(own: &OwnOperation, dtype: Dtype) -> Result<Vec<OwnUse>, String> {
    let compiler = compiler_of(own, dtype, false)?;
    let probed = |own: &OwnOperation, options: &[&str]| {
        let probe = format!("{}{PROBE}", functions(own));
        let mut command = compiler.command(options);
        command.arg(USUAL_LEVEL);
        c_compiler::assembly(command, (compiler.ending, &probe), LIMIT, is_cancelled)
    };
    // Our declaration in front of the function would make `noinline` a warning.
    let mut own = own.clone();
    let mut assembly = probed(&own, &["-Werror=attributes"])?;
    if assembly.is_err() {
        let behind = OwnOperation { uses: vec![OwnUse::OwnDeclaration], ..own.clone() };
        let found = probed(&behind, &[])?;
        if found.is_ok() {
            (own, assembly) = (behind, found);
        }
    }
    let assembly = assembly.map_err(|messages| explained(&own, &messages))?;
    let functions = functions(&own);
    let [keep, drop] = ["keep", "drop"].map(|kind| body_of(&assembly, &format!("syncscope_{kind}")));
    // C++ adds to the names of functions. Constructors of variables begin with `_GLOBAL__`.
    let roots: Vec<String> = ["syncscope_keep".to_owned()].into_iter().chain(own.helper("setup")).collect();
    let is_root = |name: &str, root: &String| name == root || name.contains(&format!("{}{root}", root.len()));
    let may_start = |name: &str| name.starts_with("_GLOBAL__") || roots.iter().any(|root| is_root(name, root));
    let starts_others = calls::outside(&assembly, may_start).into_iter().any(calls::starts_others);
    // A function that is called and not inlined gets the whole thread.
    let compiles_without = |option: &str| {
        let command = compiler.command(&[option]);
        c_compiler::refusal(command, (compiler.ending, &functions), LIMIT, is_cancelled)
            .is_ok_and(|refused| refused.is_none())
    };
    let is_used = |what: &OwnUse| match what {
        OwnUse::Variable => keep.contains("syncscope_marked_x"),
        OwnUse::Element => keep.contains("syncscope_marked_mine") && !compiles_without("-DSYNCSCOPE_WITHOUT_MINE"),
        OwnUse::Value => drop.contains("syncscope_marked_value") || changes_value(keep),
        OwnUse::Meeting => keep.contains("syncscope_marked_meeting"),
        OwnUse::OwnDeclaration => own.uses(OwnUse::OwnDeclaration),
        OwnUse::Starts => starts_others,
        _ => false,
    };
    Ok(OwnUse::ALL.iter().copied().filter(is_used).collect())
}

/// The assembly of a function.
pub(super) fn body_of<'a>(assembly: &'a str, name: &str) -> &'a str {
    let start =
        assembly.find(&format!("{name}:")).or_else(|| assembly.find(&format!("{name}v:"))).unwrap_or(assembly.len());
    let text = &assembly[start..];
    &text[..text.find(".cfi_endproc").unwrap_or(text.len())]
}

/// Whether the operation changes the value, by the names of the registers before and after it.
fn changes_value(keep: &str) -> bool {
    let kept = keep.lines().filter_map(|line| line.trim().strip_prefix("# syncscope kept "));
    kept.into_iter().any(|names| names.split_once(' ').is_some_and(|(before, after)| before != after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_host::guard::temporary_folder;

    fn found(text: &str, file: &str) -> Vec<String> {
        let source = OwnOperation { text: text.to_owned(), file: Some(file.to_owned()), ..OwnOperation::default() };
        let inspected = inspect(&source, &OwnOperation::candidates(text), None).unwrap();
        inspected.functions.into_iter().map(|(name, _)| name).collect()
    }

    /// A macro may name a function, or paste its name, in the source or in a header; names of the system are none.
    #[test]
    fn functions_that_macros_make_are_found() {
        let body = "(struct thread *me) { me->value += 1; }";
        let whole = format!("#define MAKE(name) void name{body}\nMAKE(operation)\n");
        assert_eq!(found(&whole, "mine.c"), ["operation"]);
        let paste = format!("#define MAKE(name) void operation_##name{body}\n");
        let pasted = format!("#include <sys/wait.h>\n{paste}MAKE(fast)\nMAKE(other)\n");
        assert_eq!(found(&pasted, "mine.c"), ["operation_fast", "operation_other"]);
        let both = format!("{paste}void operation{body}\n  MAKE(fast)\n");
        assert_eq!(found(&both, "mine.c"), ["operation", "operation_fast"]);
        let cpp = both.replace("struct thread *me", "struct thread *const me");
        assert_eq!(found(&cpp, "mine.cpp"), ["operation", "operation_fast"]);
        let place = temporary_folder().unwrap();
        std::fs::write(place.path().join("make.h"), paste).unwrap();
        let file = place.path().join("mine.c").display().to_string();
        assert_eq!(found("#include \"make.h\"\nMAKE(fast)\n", &file), ["operation_fast"]);
        assert_eq!(found("int nothing;\n", "mine.c"), [""; 0]);
    }
}
