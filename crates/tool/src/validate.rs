//! `oriel validate`: proves that two functions do the same.

use crate::Failure;
use crate::snapshot::load;
use clap::Args;
use oriel::ori::{Function, parse_functions};
use oriel::snapshot::{OwnedSnapshot, damaged};
use oriel::validate::{Subject, Validator, validate_snapshots};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Options of `oriel validate`.
#[derive(Args)]
pub struct ValidateArguments {
    /// The function before: a snapshot (*.oriel), as written by -oriel-snapshot=DIR, or functions
    /// in Ori's text form
    before: PathBuf,

    /// The function after, of the same kind; functions in text are compared by name
    after: PathBuf,

    /// Also try this many damaged copies of the snapshot after: each must be refused, proved or
    /// not, without a crash
    #[arg(long, value_name = "COPIES", default_value_t = 0)]
    damage: u64,

    /// Seed of the damage
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Runs the command.
pub fn run(arguments: &ValidateArguments) -> Result<(), Failure> {
    let is_snapshot = |path: &Path| path.extension().is_some_and(|it| it == "oriel");
    match [&arguments.before, &arguments.after].map(|path| is_snapshot(path)) {
        [true, true] => validate_files(arguments),
        [false, false] if arguments.damage == 0 => validate_texts(&arguments.before, &arguments.after),
        [false, false] => Err("--damage goes with snapshots".to_owned().into()),
        _ => Err("one is a snapshot (*.oriel), and the other is not"
            .to_owned()
            .into()),
    }
}

/// Validates two snapshots. A snapshot that passes the file check may still be a function that LLVM
/// never makes.
fn answer(before: &OwnedSnapshot, after: &OwnedSnapshot) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| {
        validate_snapshots(before.view(), after.view())
    }))
    .unwrap_or_else(|_| Err("one of them is no function that LLVM makes".to_owned()))
}

fn validate_files(arguments: &ValidateArguments) -> Result<(), Failure> {
    let (before, after) = (load(&arguments.before)?, load(&arguments.after)?);
    if arguments.damage > 0 {
        let (mut refused, mut proved, mut doubted) = (0, 0, 0);
        let bytes = after.view().to_bytes();
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        for seed in arguments.seed..arguments.seed + arguments.damage {
            match OwnedSnapshot::from_bytes(&damaged(&bytes, seed)) {
                Err(_) => refused += 1,
                Ok(copy) if answer(&before, &copy).is_ok() => proved += 1,
                Ok(_) => doubted += 1,
            }
        }
        std::panic::set_hook(hook);
        say_line!(
            "{}: {} damaged copies: {refused} refused, {proved} proved, {doubted} not",
            arguments.after.display(),
            arguments.damage
        );
    }
    let name = before.view().name().into_owned();
    say(&name, answer(&before, &after))
}

fn say(name: &str, answer: Result<(), String>) -> Result<(), Failure> {
    match answer {
        Ok(()) => {
            say_line!("{name}: proved");
            Ok(())
        }
        Err(doubt) => Err(format!("{name}: not proved: {doubt}").into()),
    }
}

fn validate_texts(before: &Path, after: &Path) -> Result<(), Failure> {
    let load = |path: &Path| -> Result<Vec<Function>, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        parse_functions(&text).map_err(|error| format!("{}:{error}", path.display()))
    };
    let (first, second) = (load(before)?, load(after)?);
    let has = |functions: &[Function], name: &str| functions.iter().any(|it| it.info.name == name);
    if let Some(new) = second.iter().find(|it| !has(&first, &it.info.name)) {
        return Err(format!("{}: there is no function {}", before.display(), new.info.name).into());
    }
    if first.is_empty() {
        return Err(format!("{}: there is no function", before.display()).into());
    }
    let mut validator = Validator::default();
    for function in &first {
        let name = &function.info.name;
        let Some(other) = second.iter().find(|other| other.info.name == *name) else {
            return Err(format!("{}: there is no function {name}", after.display()).into());
        };
        if let Some(finding) = other.verify().first() {
            return Err(format!("{}: {}", after.display(), finding.display(other)).into());
        }
        let subject = |function| Subject {
            function,
            snapshot: None,
        };
        let proof = validator.validate(subject(function), subject(other));
        say(name, proof.map_err(|doubt| doubt.describe(function, other)))?;
    }
    Ok(())
}
