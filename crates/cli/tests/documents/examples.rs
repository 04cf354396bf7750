//! The Python module and its notebook, where Python is available.

use std::path::Path;
use std::process::Command;

#[test]
fn the_python_module_reads_runs_and_measures() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tests.py");
    let Ok(output) = Command::new("python3").arg(tests).env("SYNCSCOPE", env!("CARGO_BIN_EXE_syncscope")).output()
    else {
        eprintln!("skipped: there is no python3, so python/syncscope was not tried");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// In a repository whose last commits changed a comment and an ordering, the first is recognized without measuring. A script
/// replaces the command where it measures, and says that the file is slower.
#[test]
fn the_script_for_runners_compares_a_file_with_another_commit() {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci/compare");
    let stub = "#!/bin/sh\ncase \"$*\" in *--instructions*) exec \"$PROGRAM\" \"$@\" ;; esac\necho \"$*\" >arguments\n\
        while [ \"$1\" != --export-markdown ]; do shift; done; echo table >\"$2\"; exit 3\n";
    std::fs::write(folder.path().join("syncscope"), stub).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let shell = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(folder.path()).env("PATH", &path).env("SCRIPT", &script);
        command.env("PROGRAM", env!("CARGO_BIN_EXE_syncscope")).env("GITHUB_STEP_SUMMARY", "summary.md");
        let output = command.output().unwrap();
        let [said, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), format!("{said}{errors}"))
    };
    let commit = |text: &str| {
        std::fs::write(folder.path().join("add.c"), text).unwrap();
        let line = "chmod +x syncscope; git init -q; git add add.c; git -c user.name=a -c user.email=a@b commit -qm a";
        assert_eq!(shell(line).0, Some(0));
    };
    let operation = |order: &str| {
        format!("void operation(struct thread *me) {{ atomic_store_explicit(me->x, 1, memory_order_{order}); }}\n")
    };
    commit(&operation("relaxed"));
    commit(&format!("// a comment\n{}", operation("relaxed")));
    let (code, said) = shell("\"$SCRIPT\" HEAD~1 add.c");
    assert!(code == Some(0) && said.contains("the timed machine code is that of HEAD~1"), "{said}");
    commit(&operation("seq_cst"));
    let (code, said) = shell("\"$SCRIPT\" HEAD~1 add.c --threads 1,2 && true; echo code $?; cat arguments summary.md");
    assert!(code == Some(0) && said.contains("code 3") && said.contains("--fail-if-slower 5%"), "{said}");
    assert!(said.contains("--threads 1,2\ntable"), "{said}");
    // The options choose the code that is compared, and headers are the commit's.
    commit("#include \"header.h\"\nvoid operation(struct thread *me) { me->value = SUM; }\n");
    std::fs::write(folder.path().join("header.h"), "#define SUM me->value + N\n").unwrap();
    assert_eq!(shell("git add header.h; git -c user.name=a -c user.email=a@b commit -qm a").0, Some(0));
    assert_eq!(shell("\"$SCRIPT\" HEAD add.c -D N=3").0, Some(0));
    std::fs::write(folder.path().join("header.h"), "#define SUM me->value * N\n").unwrap();
    assert_eq!(shell("\"$SCRIPT\" HEAD add.c -D N=3").0, Some(3));
    assert_eq!(shell("\"$SCRIPT\" HEAD add.c -D N=1").0, Some(3), "a comparison of sums with products");
    // On a GPU, instructions with equal names may do something else.
    std::fs::write(folder.path().join("add.cu"), "__device__ void operation(Thread &me) { me.value += 1; }\n").unwrap();
    assert_eq!(shell("git add add.cu; git -c user.name=a -c user.email=a@b commit -qm a").0, Some(0));
    let (code, said) = shell("\"$SCRIPT\" HEAD add.cu; code=$?; cat arguments; exit $code");
    assert!(code == Some(3) && said.contains("--gpu add.cu"), "{said}");
    assert_eq!(shell("\"$SCRIPT\"").0, Some(2));
    let (code, said) = shell("\"$SCRIPT\" HEAD~9 add.c");
    assert!(code == Some(1) && said.contains("no add.c in HEAD~9"), "{said}");
}
