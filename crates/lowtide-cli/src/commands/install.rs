//! `lowtide install`: manual pages and completion scripts, generated from the command line's own description.

use std::fs;
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use clap_mangen::Man;
use lowtide_tool::Failure;
use lowtide_tool::output::print;

use crate::command;

/// The arguments of `lowtide install`.
#[derive(clap::Args)]
pub(crate) struct InstallArgs {
    /// Write below this folder: manual pages into share/man/man1, completions where each shell looks for them
    #[arg(long, value_name = "FOLDER")]
    prefix: PathBuf,
}

pub(crate) fn run(args: &InstallArgs) -> Result<(), Failure> {
    let mut files = pages()?;
    for (shell, place) in [
        (Shell::Bash, "share/bash-completion/completions/lowtide"),
        (Shell::Zsh, "share/zsh/site-functions/_lowtide"),
        (Shell::Fish, "share/fish/vendor_completions.d/lowtide.fish"),
    ] {
        files.push((PathBuf::from(place), completions(shell)));
    }
    let mut written = Vec::new();
    for (place, content) in files {
        let file = args.prefix.join(place);
        write(&file, &content).map_err(|error| Failure::Write { file: file.display().to_string(), error })?;
        written.push(file.display().to_string());
    }
    print(&written.join("\n"))
}

fn write(file: &Path, content: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    fs::write(file, content)
}

/// Return the completion script of a shell.
pub(super) fn completions(shell: Shell) -> Vec<u8> {
    // In memory first, since the generator panics if its output cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "lowtide", &mut script);
    script
}

/// Return a manual page for the program, for each command and for each command below it.
fn pages() -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    let mut program = command();
    program.build();
    let mut pages = Vec::new();
    let mut open = vec![(program, "lowtide".to_string())];
    while let Some((command, name)) = open.pop() {
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        open.extend(below.map(|below| (below.clone(), format!("{name}-{}", below.get_name()))));
        let mut page = Vec::new();
        Man::new(command.display_name(name.clone()))
            .title(name.as_str())
            .render(&mut page)
            .map_err(|error| Failure::Message(format!("the manual page of {name}: {error}")))?;
        pages.push((PathBuf::from(format!("share/man/man1/{name}.1")), page));
    }
    pages.sort();
    Ok(pages)
}
