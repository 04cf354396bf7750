//! `syncscope completions SHELL` and `syncscope man`: what a package installs beside the command, made from its arguments.

use std::path::Path;

use clap::{Command, CommandFactory};

use crate::args::Arguments;
use crate::failure::{Failure, Outcome};
use crate::terminal;

const NAME: &str = "syncscope";

/// Prints the script that completes the arguments in a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut script);
    terminal::show_as_is(&String::from_utf8_lossy(&script).trim_end())
}

/// Prints the manual page of the command, or writes it and those of its subcommands into a folder.
pub(crate) fn man(out: Option<&Path>) -> Result<Outcome, Failure> {
    let command = Arguments::command().mut_subcommands(|command| command.hide(false));
    if let Some(folder) = out {
        return write_pages(command, folder);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::CouldNot(format!("the manual page: {error}")))?;
    terminal::show_as_is(&String::from_utf8_lossy(&page).trim_end())
}

fn write_pages(command: Command, folder: &Path) -> Result<Outcome, Failure> {
    let could_not = |error: std::io::Error| {
        Failure::CouldNot(format!("{}: {error}; name another folder with --out", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(could_not)?;
    clap_mangen::generate_to(command, folder).map_err(could_not)?;
    terminal::note(&format!("wrote the manual pages to {}", folder.display()));
    Ok(Outcome::Done)
}
