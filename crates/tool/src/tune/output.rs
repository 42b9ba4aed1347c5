//! The output of `oriel tune`.

use super::figures::{Figures, Judgement};
use super::goal::{Goal, judged};
use super::judge::Judge;
use super::search::{Search, Trial};
use super::setting::Flags;
use super::workshop::{NO_TIME, Workshop};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The result of tuning a module.
#[derive(Debug, Serialize)]
pub struct Outcome {
    goal: Goal,
    judge: String,
    sm: String,
    /// The best options for all functions together.
    #[serde(flatten)]
    flags: Flags,
    /// Number of variants tried.
    variants: usize,
    /// Number of different PTX texts, or limits for ptxas, among them.
    different: usize,
    /// Number of variants that there was no time for.
    untried: usize,
    /// Number of variants that could not be compiled or judged.
    failed: usize,
    /// The first error of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_failure: Option<String>,
    /// Runs of ptxas.
    ptxas_runs: usize,
    /// Cache hits.
    known_answers: usize,
    functions: Vec<FunctionOutcome>,
}

/// The result for one function.
#[derive(Debug, Serialize)]
struct FunctionOutcome {
    function: String,
    /// With the given options.
    before: Figures,
    /// With the best for all.
    after: Figures,
    /// The best options for this function, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    alone: Option<Alone>,
}

/// The best options for one function.
#[derive(Debug, Serialize)]
struct Alone {
    #[serde(flatten)]
    flags: Flags,
    figures: Figures,
}

/// Returns the figures of a trial that is the best for something.
fn judgement_of(trial: &Trial) -> &Judgement {
    trial.result.as_ref().expect("the best have been judged")
}

impl Outcome {
    /// The result of a search for the options that are best for all functions together, or for one.
    pub fn of_module(goal: Goal, search: &Search, workshop: &Workshop) -> Self {
        let best = search.best();
        let after = judgement_of(best);
        let functions = judged(&search.before, search.function.as_deref()).map(|(name, &before)| {
            let alone = search.best_for(name);
            let figures = judgement_of(alone)[name];
            let is_better = goal.score(&figures)[0] < goal.score(&after[name])[0];
            FunctionOutcome {
                function: name.to_owned(),
                before,
                after: after[name],
                alone: is_better.then(|| Alone {
                    flags: alone.variant.flags(&workshop.base),
                    figures,
                }),
            }
        });
        let flags = best.variant.flags(&workshop.base);
        Self::new(
            goal,
            std::slice::from_ref(search),
            workshop,
            flags,
            functions.collect(),
        )
    }

    /// The result of searches for the options that are best for each function, which are in a file;
    /// `after` are the figures with that file.
    pub fn of_functions(
        goal: Goal,
        searches: &[Search],
        workshop: &Workshop,
        file: &Path,
        after: &Judgement,
    ) -> Self {
        let functions = searches.iter().map(|search| {
            let name = search.function.as_ref().expect("each search is for a function");
            let best = search.best();
            let flags = best.variant.flags(&workshop.base);
            FunctionOutcome {
                function: name.clone(),
                before: search.before[name],
                after: after[name],
                alone: (flags != Flags::default()).then(|| Alone {
                    flags,
                    figures: judgement_of(best)[name],
                }),
            }
        });
        let path = file.display().to_string();
        let path = shlex::try_quote(&path).unwrap_or_else(|_| path.as_str().into());
        let flags = Flags {
            oriel: format!("-oriel-tuned={path}"),
            ..Flags::default()
        };
        Self::new(goal, searches, workshop, flags, functions.collect())
    }

    fn new(
        goal: Goal,
        searches: &[Search],
        workshop: &Workshop,
        flags: Flags,
        functions: Vec<FunctionOutcome>,
    ) -> Self {
        let trials = || searches.iter().flat_map(|search| &search.trials);
        let problems = trials().filter_map(|trial| trial.result.as_ref().err());
        let (untried, failures): (Vec<_>, Vec<_>) = problems.partition(|problem| *problem == NO_TIME);
        let (runs, hits) = match &workshop.judge {
            Judge::Ptxas(ptxas) => (
                ptxas.runs.load(Ordering::Relaxed),
                ptxas.hits.load(Ordering::Relaxed),
            ),
            Judge::Estimate => (0, 0),
        };
        Self {
            goal,
            judge: workshop.judge.name(),
            sm: workshop.sm(),
            flags,
            variants: trials().count() - untried.len(),
            different: workshop.different(),
            untried: untried.len(),
            failed: failures.len(),
            first_failure: failures.first().map(|&failure| failure.clone()),
            ptxas_runs: runs,
            known_answers: hits,
            functions,
        }
    }

    /// Prints it, as text or as JSON.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn print(&self, json: bool, to_stderr: bool) -> Result<(), String> {
        let text = match json {
            true => serde_json::to_string(self).map_err(|error| error.to_string())? + "\n",
            false => self.text(),
        };
        let written = match to_stderr {
            true => std::io::stderr().write_all(text.as_bytes()),
            false => std::io::stdout().write_all(text.as_bytes()),
        };
        written.map_err(|error| error.to_string())
    }

    fn text(&self) -> String {
        let mut text = format!(
            "sm_{}, goal {}, judged by {}: {} variants, {} different\n",
            self.sm, self.goal, self.judge, self.variants, self.different
        );
        if let Some(first) = &self.first_failure {
            _ = writeln!(text, "{} variants failed; the first: {first}", self.failed);
        }
        if self.untried > 0 {
            _ = writeln!(text, "no time was left for {} variants", self.untried);
        }
        let size = if self.judge == "estimate" {
            "instructions"
        } else {
            "bytes of SASS"
        };
        let widest = self
            .functions
            .iter()
            .map(|it| it.function.chars().count())
            .max()
            .unwrap_or(0)
            // The widest column that Rust's formatting takes; longer names stand out.
            .clamp(8, u16::MAX.into());
        let is_timed = self.functions.iter().any(|it| it.before.time_ns.is_some());
        _ = write!(
            text,
            "{:widest$}  {:>12}  {:>14}  {:>16}  {:>10}",
            "function", "registers", "spilled bytes", size, "warps"
        );
        text += if is_timed { "  microseconds\n" } else { "\n" };
        for it in &self.functions {
            let (before, after) = (&it.before, &it.after);
            _ = write!(
                text,
                "{:widest$}  {:>12}  {:>14}  {:>16}  {:>10}",
                it.function,
                change(Some(before.registers), Some(after.registers)),
                change(before.spill_bytes, after.spill_bytes),
                change(Some(before.code_size), Some(after.code_size)),
                change(before.warps, after.warps),
            );
            if is_timed {
                let times = [before, after].map(|it| it.time_ns.map(microseconds));
                _ = write!(text, "  {:>12}", change(times[0].as_ref(), times[1].as_ref()));
            }
            text.push('\n');
        }
        if self.flags == Flags::default() {
            text.push_str("nothing is better than the options given\n");
        }
        for (name, flags) in self.flags.given() {
            _ = writeln!(text, "{name}: {flags}");
        }
        for it in &self.functions {
            if let Some(alone) = &it.alone {
                let figure = match self.goal {
                    Goal::Spills => format!("{} spilled bytes", alone.figures.spill_bytes.unwrap_or(0)),
                    Goal::Occupancy => format!("{} warps", alone.figures.warps.unwrap_or(0)),
                    Goal::Sass => format!("{} bytes of SASS", alone.figures.code_size),
                    Goal::Registers => format!("{} registers", alone.figures.registers),
                    Goal::Time => {
                        format!(
                            "{} microseconds",
                            microseconds(alone.figures.time_ns.unwrap_or(0))
                        )
                    }
                };
                let flags: Vec<String> = alone
                    .flags
                    .given()
                    .map(|(name, flags)| format!("{name}: {flags}"))
                    .collect();
                let flags = match flags.is_empty() {
                    true => "the options given".to_owned(),
                    false => flags.join("; "),
                };
                _ = writeln!(text, "{} alone: {figure} with {flags}", it.function);
            }
        }
        text
    }
}

fn microseconds(nanoseconds: u64) -> String {
    format!("{:.2}", nanoseconds as f64 / 1e3)
}

/// Formats a figure before and after; one number if it is unchanged.
fn change<T: PartialEq + ToString>(before: Option<T>, after: Option<T>) -> String {
    match (before, after) {
        (Some(before), Some(after)) if before == after => after.to_string(),
        (Some(before), Some(after)) => format!("{} -> {}", before.to_string(), after.to_string()),
        _ => "-".to_owned(),
    }
}
