//! The list of commands in the help: commands for users first, commands for developers of Oriel
//! last.

use clap::Command;
use std::fmt::Write;

/// The headings, each with its commands in order.
const GROUPS: [(&str, &[&str]); 3] = [
    (
        "Commands",
        &["report", "compile", "tune", "diff", "occupancy", "exec"],
    ),
    (
        "Options and set-up",
        &["phases", "knobs", "completions", "man", "help"],
    ),
    (
        "Laboratory, for work on Oriel itself",
        &[
            "live",
            "cfg",
            "ori",
            "snapshot",
            "passes",
            "validate",
            "differential",
            "generate",
            "features",
            "bench",
        ],
    ),
];

/// Returns the tool's command with its subcommands in groups. clap has headings only for options, so
/// the list is part of the template.
pub fn with_groups(tool: Command) -> Command {
    let tool = in_order(tool);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n{}Options:{}\n{{options}}{{after-help}}",
        list(&tool),
        tool.get_styles().get_header().render(),
        tool.get_styles().get_header().render_reset(),
    );
    tool.help_template(template)
}

/// Gives the commands the order of the groups, which manual pages and completions keep.
fn in_order(tool: Command) -> Command {
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    names.enumerate().fold(tool, |tool, (place, &name)| {
        // Without LLVM, some commands do not exist.
        match tool.find_subcommand(name) {
            None => tool,
            Some(_) => tool.mut_subcommand(name, |command| command.display_order(place)),
        }
    })
}

fn list(tool: &Command) -> String {
    const HELP: &str = "Print this help, or that of a command";
    let about = |name: &str| match tool.find_subcommand(name) {
        Some(command) => command.get_about().map(ToString::to_string),
        None => (name == "help").then(|| HELP.to_owned()),
    };
    let (header, literal) = (tool.get_styles().get_header(), tool.get_styles().get_literal());
    let widths = GROUPS
        .iter()
        .flat_map(|(_, names)| names.iter().map(|name| name.len()));
    let width = widths.max().unwrap_or(0);
    let mut text = String::new();
    for (title, names) in GROUPS {
        writeln!(text, "\n{header}{title}:{header:#}").expect("writing to a string does not fail");
        for name in names {
            let Some(about) = about(name) else { continue };
            writeln!(text, "  {literal}{name:width$}{literal:#}  {about}")
                .expect("writing to a string does not fail");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group() {
        let tool = crate::Arguments::command();
        let mut commands: Vec<&str> = tool.get_subcommands().map(Command::get_name).collect();
        commands.push("help");
        commands.sort_unstable();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        grouped.sort_unstable();
        assert_eq!(grouped, commands);
    }
}
