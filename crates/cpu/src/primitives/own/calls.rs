//! What the code of an operation calls outside its source, by the assembly of its compiler.

use std::collections::{BTreeSet, HashMap, HashSet};

/// The functions and variables outside the source to which these functions refer, with the functions that they call.
pub(super) fn outside<'a>(assembly: &'a str, is_first: impl Fn(&str) -> bool) -> BTreeSet<&'a str> {
    // Functions that the compiler itself adds.
    const OF_COMPILER: [&str; 3] = ["__stack_chk_fail", "_Unwind_Resume", "__tls_get_addr"];
    let is_word = |c: char| c.is_alphanumeric() || "_.$".contains(c);
    let label = |line: &'a str| line.trim_end().strip_suffix(':').filter(|name| !name.starts_with('.'));
    let mut bodies: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut current = "";
    for line in assembly.lines() {
        current = label(line).unwrap_or(current);
        if !line.trim_start().starts_with('.') {
            bodies.entry(current).or_default().push(line);
        }
    }
    // On x86-64 `call name@PLT` and `name@GOTPCREL(%rip)`, on AArch64 `bl name` and `:got:name`.
    let named = |line: &'a str| {
        let marked = ["@PLT", "@GOTPCREL"].iter().find_map(|mark| line.split_once(mark)).map(|(before, _)| before);
        let before = marked.and_then(|before| before.rsplit(|c| !is_word(c)).next());
        let behind = ["\tbl\t", ":got:"].iter().find_map(|mark| line.split_once(mark)).map(|(_, behind)| behind);
        before.or_else(|| behind.and_then(|behind| behind.split(|c| !is_word(c)).next()))
    };
    let mut found = BTreeSet::new();
    let (mut open, mut seen): (Vec<&str>, _) =
        (bodies.keys().copied().filter(|name| is_first(name)).collect(), HashSet::new());
    while let Some(function) = open.pop() {
        let body = bodies.get(function).filter(|_| seen.insert(function)).map_or(&[][..], Vec::as_slice);
        let foreign = body.iter().filter_map(|line| named(line));
        found.extend(foreign.filter(|name| !bodies.contains_key(name) && !OF_COMPILER.contains(name)));
        open.extend(body.iter().flat_map(|line| line.split(|c| !is_word(c))).filter(|word| bodies.contains_key(*word)));
    }
    found
}

/// Whether a function of a library starts threads or processes.
pub(super) fn starts_others(function: &str) -> bool {
    const NAMES: [&str; 6] = ["fork", "vfork", "posix_spawn", "posix_spawnp", "popen", "system"];
    // Versions, forms of a directive and mangled arguments follow.
    const BEGINNINGS: [&str; 6] = [
        "pthread_create",
        "thrd_create",
        "_ZNSt6thread15_M_start_thread",
        "_ZN3tbb",
        "GOMP_parallel",
        "__kmpc_fork_call",
    ];
    NAMES.contains(&function) || BEGINNINGS.iter().any(|begin| function.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use syncscope_core::{OwnOperation, OwnUse};

    use super::super::inspection::inspect;

    /// Whatever starts a thread, and wherever: it inherits the CPU of the thread that starts it.
    #[test]
    fn code_that_starts_threads_or_processes_is_known() {
        let uses = |file: &str, text: &str| {
            let source = OwnOperation { text: text.to_owned(), file: Some(file.to_owned()), ..OwnOperation::default() };
            let found = inspect(&source, &OwnOperation::candidates(text), None);
            let found = found.unwrap_or_else(|error| panic!("{text}: {error}"));
            let starts = found.functions.iter().filter(|(_, uses)| uses.contains(&OwnUse::Starts));
            starts.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let thread = "#include <thread>\nstatic void work() {}\n";
        let plain = "void operation_plain(thread *me) { me->value++; }\n";
        let joins = "void operation(thread *me) { std::thread other(work); other.join(); me->value++; }\n";
        let pool = "static std::thread pool(work);\nvoid operation(thread *me) { me->value++; }\n";
        let setup = "void setup(thread *) { std::thread(work).join(); }\nvoid operation(thread *me) { me->value++; }\n";
        assert_eq!(uses("a.cpp", &format!("{thread}{plain}{joins}")), ["operation"]);
        assert_eq!(uses("a.cpp", &format!("{thread}{pool}")), ["operation"]);
        assert_eq!(uses("a.cpp", &format!("{thread}{setup}")), ["operation"]);
        let process =
            "#include <unistd.h>\nvoid operation(struct thread *me) { if (!fork()) _exit(0); me->value++; }\n";
        assert_eq!(uses("a.c", process), ["operation"]);
        // Names that only begin like one of these.
        let others = "int forklift(void), system_call(void);\n\
                      void operation(struct thread *me) { me->value = (T)(forklift() + system_call()); }\n";
        assert_eq!(uses("a.c", others), Vec::<String>::new());
    }
}
