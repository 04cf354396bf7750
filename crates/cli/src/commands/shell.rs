//! `syncscope completions SHELL` and `syncscope man`: the files that a package installs next to the command, made from its
//! arguments.

use std::io;
use std::path::Path;

use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_mangen::Man;

use crate::args::Arguments;
use crate::failure::{Failure, Outcome};
use crate::terminal;

const NAME: &str = "syncscope";

/// The version, with the date of its commit if it is known: `0.1.0 (01b354531b11 2026-11-30)`.
const VERSION: &str = env!("SYNCSCOPE_VERSION");

/// Prints the script that completes the arguments in a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_hints(Arguments::command()), NAME, &mut script);
    terminal::show_as_is(&String::from_utf8_lossy(&script).trim_end())
}

/// Shells offer files for arguments of unknown kind; the hints limit this to arguments that name a file.
fn with_hints(command: Command) -> Command {
    /// The value of `CODE` may be a file.
    const IN_FILES: [&str; 1] = ["CODE"];
    let is_no_file = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        let is_unknown = arg.get_action().takes_values() && arg.get_value_hint() == ValueHint::Unknown;
        is_unknown && !names.iter().any(|name| IN_FILES.contains(&name.as_str()))
    };
    let hinted = |arg: Arg| if is_no_file(&arg) { arg.value_hint(ValueHint::Other) } else { arg };
    command.mut_args(hinted).mut_subcommands(with_hints)
}

/// Prints the manual page of the command, or writes it and those of its subcommands into a folder.
pub(crate) fn man(out: Option<&Path>) -> Result<Outcome, Failure> {
    let mut command = Arguments::command().mut_subcommands(|command| command.hide(false)).disable_help_subcommand(true);
    command.build();
    if let Some(folder) = out {
        let written = std::fs::create_dir_all(folder).and_then(|()| write_pages(&command, folder));
        written.map_err(|error| {
            Failure::CouldNot(format!("{}: {error}; name another folder with --out", folder.display()))
        })?;
        terminal::note(&format!("wrote the manual pages to {}", folder.display()));
        return Ok(Outcome::Done);
    }
    let mut text = Vec::new();
    page(&command).render(&mut text).map_err(|error| Failure::CouldNot(format!("the manual page: {error}")))?;
    terminal::show_as_is(&String::from_utf8_lossy(&text).trim_end())
}

fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    page(command).generate_to(folder)?;
    command.get_subcommands().try_for_each(|command| write_pages(command, folder))
}

/// The manual page. If the date were empty, the fields behind it would move forward.
fn page(command: &Command) -> Man {
    let date = VERSION.split([' ', ')']).find(|word| word.len() == 10 && word.contains('-')).unwrap_or(VERSION);
    Man::new(command.clone()).date(date).source(format!("{NAME} {}", env!("CARGO_PKG_VERSION"))).manual(NAME)
}
