//! The program around a user's source: the harness comes first, so that no macro of the user reaches it; functions that call
//! the user's come last. Messages about the user's lines have the user's line numbers.

use syncscope_core::OwnOperation;

use crate::cuda::compiler_process::HEAD_ENDS;
use crate::launch::headers::flattened;

/// The declarations that a source may use, printed by `syncscope measure --header gpu`.
pub const HEADER: &str = include_str!("own.cuh");

const KERNELS: &str = include_str!("own_kernels.cuh");

const PROBE: &str = include_str!("own_probe.cuh");

/// The file name of a statement in the compiler's messages.
const STATEMENT: &str = "statement";

/// The file name of the lines behind the user's, in the compiler's messages.
pub(super) const BEHIND: &str = "syncscope";

const FUNCTION: &str = "__device__ __forceinline__ void";

/// The functions that statements become.
const STATEMENTS: [&str; 3] = ["syncscope_once", "syncscope_set_up", "syncscope_context"];

/// The whole program with the timed kernels.
pub(super) fn program(source: &OwnOperation) -> String {
    let call =
        |function: Option<String>| function.map_or_else(String::new, |function| format!("{function}(syncscope_me);"));
    let in_function =
        |name: &str, body: &str| format!("{FUNCTION} {name}(syncscope::Thread &syncscope_me) {{ {body} }}\n");
    let mut behind = String::new();
    if let Some(function) = &source.function {
        let body = if source.is("acquire") {
            let release = source.helper("release").unwrap_or_else(|| "release".to_owned());
            format!(
                "if (threadIdx.x % 32 == 0) {{ {function}(syncscope_me); *syncscope_me.counter = *syncscope_me.counter + 1; \
                 {release}(syncscope_me); }}"
            )
        } else {
            call(Some(function.clone()))
        };
        behind += &in_function("syncscope_once", &body);
    }
    if source.setup.is_none() {
        behind += &in_function("syncscope_set_up", &call(source.helper("setup")));
    }
    if source.baseline.is_none() {
        behind += &in_function("syncscope_context", "");
    }
    if source.is("send") {
        let receive = source.helper("receive").unwrap_or_else(|| "receive".to_owned());
        behind += &in_function("syncscope_receive", &call(Some(receive)));
    }
    let kernels = format!("{HEADER}\n{KERNELS}");
    format!("{}#line 1 \"{BEHIND}\"\n{behind}", of_user(&kernels, source))
}

/// A program with a pair of kernels for each of these functions, never run. Functions made of statements come first.
pub(super) fn probe(source: &OwnOperation, functions: &[String]) -> String {
    let header = format!("{HEADER}\n{PROBE}");
    let mut text = format!("{}#line 1 \"{BEHIND}\"\n", of_user(&header, source));
    for (number, function) in functions.iter().enumerate() {
        // One line number for all of a function's text, so that a message tells which function it is about.
        let line = format!("#line {} \"{BEHIND}\"\n", number + 1);
        let tried = format!("SYNCSCOPE_PROBE({number}, {function})\n");
        let any = format!("SYNCSCOPE_PROBE_ANY({number})\n");
        text.extend([&line, &format!("#ifndef {function}\n"), &line, &tried, "#endif\n", &line, &any]);
    }
    text
}

/// A program with a kernel for each of these functions, never run: its PTX is for a memory model.
pub(super) fn model(source: &OwnOperation, functions: &[String]) -> String {
    let head = format!("#define SYNCSCOPE_MODEL 1\n{HEADER}");
    let kernel = |(number, function): (usize, &String)| {
        format!(
            "extern \"C\" __global__ void {MODELLED}{number}(SYNCSCOPE_TYPE *x, SYNCSCOPE_TYPE *mine, unsigned *counter, void *memory, \
             unsigned passed, unsigned sent, unsigned number, unsigned device, unsigned devices, unsigned *flags, SYNCSCOPE_TYPE *shared) {{ \
             syncscope::Thread me{{*x, *mine, (SYNCSCOPE_TYPE)number, shared, number, counter, memory, passed, sent, device, \
             devices, flags}}; {function}(me); }}\n"
        )
    };
    let head = format!("{}#line 1 \"{BEHIND}\"\n", of_user(&head, source));
    std::iter::once(head).chain(functions.iter().enumerate().map(kernel)).collect()
}

/// The prefix of the kernel names in [`model`].
pub(super) const MODELLED: &str = "syncscope_model_";

/// The functions that a source's statements become.
pub(super) fn statements(source: &OwnOperation) -> Vec<String> {
    let is_there = [source.file.is_none(), source.setup.is_some(), source.baseline.is_some()];
    STATEMENTS.into_iter().zip(is_there).filter(|(_, is_there)| *is_there).map(|(name, _)| name.to_owned()).collect()
}

/// Our header, and the user's macros, headers and lines. The head also includes toolkit headers: they take most of the time,
/// and do nothing when they are included again.
fn of_user(header: &str, source: &OwnOperation) -> String {
    // Angle brackets make the compiler search the toolkit's folders too.
    let includes = source.includes.replace("#include \"", "#include <").replace("\"\n", ">\n");
    let includes = if includes.is_empty() { includes } else { format!("#line 1 \"--include\"\n{includes}") };
    let macros = source.options.iter().filter_map(|option| option.strip_prefix("-D"));
    let head = source
        .file
        .as_ref()
        .filter(|_| includes.is_empty())
        .map_or_else(String::new, |_| toolkit_headers(&source.text));
    let mut text: String = [flattened(header)].into_iter().chain(macros.map(define)).chain([head, includes]).collect();
    if let Some(file) = &source.file {
        text.extend(["#line 1 \"", file, "\"\n", &source.text, "\n"]);
    }
    let written = [source.file.is_none().then_some(&source.text), source.setup.as_ref(), source.baseline.as_ref()];
    for (function, statement) in STATEMENTS.into_iter().zip(written) {
        text += &statement.map_or_else(String::new, |statement| in_scope(function, statement));
    }
    text
}

/// The head that a text shares with its variants: the toolkit headers that it includes before anything could change them. A
/// missing header remains an error in the user's line.
fn toolkit_headers(text: &str) -> String {
    // Macros decide what a header contains, and a user's header may define some.
    let changes_nothing = |line: &&str| {
        let is_one_of = |begin: &&str| line.starts_with(begin);
        !line.starts_with('#') || ["#pragma", "#line"].iter().any(is_one_of) || header_of_toolkit(line).is_some()
    };
    let names = text.lines().take_while(changes_nothing).filter_map(header_of_toolkit);
    let head: String =
        names.flat_map(|name| ["#if __has_include(<", name, ">)\n#include <", name, ">\n#endif\n"]).collect();
    if head.is_empty() { head } else { head + HEAD_ENDS }
}

fn header_of_toolkit(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("#include <")?.split_once('>')?;
    ["cuda", "cub/", "cooperative_groups"].iter().any(|begin| name.starts_with(begin)).then_some(name)
}

/// A macro of the user; the harness in front of it does not see it.
fn define(definition: &str) -> String {
    let (name, value) = definition.split_once('=').unwrap_or((definition, "1"));
    format!("#define {name} {value}\n")
}

/// A function that contains a statement, with the statement's names in scope.
fn in_scope(function: &str, statement: &str) -> String {
    format!(
        "{FUNCTION} {function}(syncscope::Thread &me) {{ [[maybe_unused]] SYNCSCOPE_TYPE &x = me.x, &mine = me.mine, \
         &value = me.value, *const shared = me.shared;\n#line 1 \"{STATEMENT}\"\n{statement}\n;\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_has_headers_of_the_toolkit_that_nothing_changes() {
        let head = |text: &str| {
            let own = OwnOperation { file: Some("a.cuh".to_owned()), text: text.to_owned(), ..OwnOperation::default() };
            let program = program(&own);
            program.split_once(HEAD_ENDS).map(|(head, _)| head.matches("#include <").count())
        };
        assert_eq!(head("// a\n#include <cuda/atomic> // b\n#include <cub/cub.cuh>\n"), Some(2));
        assert_eq!(head("#include <cuda/atomic>\n#include <mine.cuh>\n#include <cub/cub.cuh>\n"), Some(1));
        assert_eq!(head("#define X\n#include <cuda/atomic>\n"), None);
        assert_eq!(head("#include <mine.cuh>\n"), None);
    }
}
