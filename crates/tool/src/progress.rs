//! Progress on standard error: a bar with an estimate of the time left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Once;
use std::time::Duration;

/// Shorter work shows no bar.
const AFTER: Duration = Duration::from_secs(2);

/// A bar that appears if the work takes longer than two seconds and standard error is a terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    appears: Once,
}

impl Progress {
    /// Starts the progress of `total` pieces of work; `unit` says what they are, in the plural.
    pub fn new(total: u64, unit: &str) -> Self {
        let template = format!("{{bar:40}} {{pos}} of {{len}} {unit}, {{elapsed}}, {{eta}} left");
        let style = ProgressStyle::with_template(&template).expect("it is a template");
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        Self {
            bar: bar.with_style(style),
            appears: Once::new(),
        }
    }

    /// Adds pieces of work.
    #[cfg(feature = "llvm")]
    pub fn add(&self, more: u64) {
        self.bar.inc_length(more);
    }

    /// Notes that a piece of work is done.
    pub fn step(&self) {
        self.bar.inc(1);
        if self.bar.elapsed() >= AFTER {
            // Draws nothing unless it is a terminal.
            self.appears
                .call_once(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }

    /// Does something that prints, without a piece of the bar in what is printed.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    /// Removes the bar.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
