//! `syncscope measure --instructions`: machine code is compared, and nothing runs.

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::common::{program, stderr};

/// Compares `code` with `other`, both files in C.
fn compared(code: &str, other: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.c"), code).unwrap();
    fs::write(folder.path().join("b.c"), other).unwrap();
    measure(&["--cpu", "a.c", "--against", "b.c"], folder.path())
}

fn measure(words: &[&str], folder: &std::path::Path) -> Output {
    measure_by("", words, folder)
}

/// Measures with a compiler and its options; with an empty text, by the usual compiler.
fn measure_by(compiler: &str, words: &[&str], folder: &std::path::Path) -> Output {
    let mut command = Command::new(program());
    if !compiler.is_empty() {
        command.env("CC", compiler);
    }
    command.args(["measure", "--instructions"]).args(words).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn add(function: &str, operand: u32) -> String {
    format!(
        "__attribute__((noinline)) static void {function}(_Atomic int *shared) {{ __atomic_fetch_add(shared, {operand}, 3); }}\n\
         void operation(struct thread *me) {{ {function}(me->x); }}\n"
    )
}

/// Names, comments and functions that the operation does not call are not instructions.
#[test]
fn equal_instructions_pass_whatever_surrounds_them() {
    let neighbour = "int table[99];\nint untimed(int i) { for (int k = 0; k < i; k++) table[k % 99] += i; return table[i % 99]; }\n";
    for other in [add("renamed", 1), format!("{neighbour}{}// a comment\n", add("count", 1))] {
        let output = compared(&add("count", 1), &other);
        assert_eq!(output.status.code(), Some(0), "{}{}", stderr(&output), String::from_utf8_lossy(&output.stdout));
    }
}

/// A difference counts wherever it is: in the operation, in functions that it calls, in calls of a library, and in the order.
#[test]
fn other_instructions_end_with_their_own_code() {
    let twice = "void operation(struct thread *me) { me->x[0] = 1; __atomic_thread_fence(5); me->x[1] = 1; }\n";
    let before = "void operation(struct thread *me) { __atomic_thread_fence(5); me->x[0] = 1; me->x[1] = 1; }\n";
    let random = "#include <stdlib.h>\nvoid operation(struct thread *me) { me->x[0] = rand(); }\n";
    let absolute = "#include <unistd.h>\nvoid operation(struct thread *me) { me->x[0] = getppid(); }\n";
    let (one, two) = (add("count", 1), add("count", 2));
    for (code, other) in [(one.as_str(), two.as_str()), (twice, before), (random, absolute)] {
        let output = compared(code, other);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(3), "{}{said}", stderr(&output));
        assert!(said.contains("cpu.own.a differs from cpu.own.b: "), "{said}");
    }
}

/// Equal instructions do something else with other data, another pointer or another setup.
#[test]
fn what_instructions_use_is_compared_with_them() {
    let pointer = "static int f(int i) { return i # 3; }\nstatic int (*volatile called)(int) = f;\n\
                   void operation(struct thread *me) { me->value = called(me->value); }\n";
    let table = "static const int table[4] = {1, 2, 3 # 1, 4};\n\
                 void operation(struct thread *me) { me->value += table[me->value & 3]; }\n";
    let setup = "static int n;\nvoid setup(struct thread *me) { n = 30 # me->threads; }\n\
                 void operation(struct thread *me) { for (int i = 0; i < n; i++) syncscope_pause(); }\n";
    let initializer = "static int n;\n__attribute__((constructor)) void begin(void) { n = 30 # (n + 2); }\n\
                       void operation(struct thread *me) { for (int i = 0; i < n; i++) syncscope_pause(); }\n";
    for code in [pointer, table, setup, initializer] {
        let [plus, times] = ["+", "*"].map(|operator| code.replace('#', operator));
        for (other, expected) in [(&plus, 0), (&times, 3)] {
            let output = compared(&plus, other);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.code(), Some(expected), "{}{said}{other}", stderr(&output));
        }
    }
}

/// A compiler's comments are not instructions, and a text without instructions equals no other.
#[test]
fn what_a_compiler_writes_is_compared_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let code = |name: &str| {
        format!("void operation(struct thread *me) {{ int {name} = me->value; me->value = {name} * {name} + 1; }}\n")
    };
    fs::write(folder.path().join("a.c"), code("one")).unwrap();
    fs::write(folder.path().join("b.c"), code("other")).unwrap();
    let compared = |compiler| measure_by(compiler, &["--cpu", "a.c", "--against", "b.c"], folder.path());
    let commented = compared("cc -fverbose-asm");
    assert_eq!(commented.status.code(), Some(0), "{}", String::from_utf8_lossy(&commented.stdout));
    let empty = compared("cc -E");
    assert_eq!(empty.status.code(), Some(1), "{}", String::from_utf8_lossy(&empty.stdout));
    assert!(stderr(&empty).contains("cpu.own.a has no instructions"), "{}", stderr(&empty));
}

/// The output says what is not compared. Needs NVRTC, but no GPU.
#[test]
fn on_gpus_names_of_instructions_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let against = |other: &str| {
        let output = measure(&["--gpu", "atomicAdd(&x, 3)", "--sass", "sm_90", "--against", other], folder.path());
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = against("atomicAdd(&x, 5)");
    assert!(code == Some(0) && said.contains("by name; registers and constants are not compared"), "{said}");
    let (code, said) = against("atomicExch(&x, 5)");
    assert!(code == Some(3) && said.contains("gpu.own.line differs from gpu.own.line2: "), "{said}");
}

#[test]
fn what_cannot_be_compared_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(compared(&add("count", 1), "void operation(struct thread *me) { missing(); }\n").status.code(), Some(1));
    let words: [&[&str]; 3] = [
        &["--cpu", "x++"],
        &["--cpu", "x++", "--against", "cpu.lock.mcs"],
        &["--cpu", "x++", "--gpu", "x++", "--against", "x++"],
    ];
    for words in words {
        assert_eq!(measure(words, folder.path()).status.code(), Some(2), "{words:?}");
    }
}
