//! `oriel`: the command line tool.

fn main() -> std::process::ExitCode {
    oriel_tool::main()
}
