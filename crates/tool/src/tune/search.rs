//! The search for the best variant: tries single settings on top of the given options, then on top
//! of the best of these, until nothing improves or the time is over.

use super::figures::Judgement;
use super::goal::{Goal, Score, judged};
use super::setting::{Setting, Variant};
use std::cmp::Reverse;

/// The most settings that are tried together, of those that help alone.
const TOGETHER: usize = 8;

/// The number of register limits that are tried together with settings that make room for them.
const LIMITS_WITH_ROOM: usize = 3;

/// A variant with its result.
pub struct Trial {
    /// The variant.
    pub variant: Variant,
    /// Its figures, or the error.
    pub result: Result<Judgement, String>,
}

/// A search for the best variant for one function or all.
pub struct Search {
    goal: Goal,
    /// Percentage by which code may grow.
    tolerance: f64,
    /// The function that counts; none: all.
    pub function: Option<String>,
    /// The figures of the given options.
    pub before: Judgement,
    /// All trials; the given options come first.
    pub trials: Vec<Trial>,
    /// The index of the best.
    best: usize,
}

impl Search {
    /// Starts a search from the figures of the given options.
    pub fn new(goal: Goal, tolerance: f64, function: Option<String>, before: Judgement) -> Self {
        let base = Trial {
            variant: Variant::default(),
            result: Ok(before.clone()),
        };
        Self {
            goal,
            tolerance,
            function,
            before,
            trials: vec![base],
            best: 0,
        }
    }

    /// Takes variants that have been tried already, with their results.
    pub fn take(&mut self, variants: &[Variant], results: &[Result<Judgement, String>]) {
        let trials = variants.iter().cloned().zip(results.iter().cloned());
        self.trials
            .extend(trials.map(|(variant, result)| Trial { variant, result }));
        self.best = self.index_of_best_for(self.function.as_deref());
    }

    /// Tries settings for a number of rounds; `judge_all` gets variants and returns their results.
    /// Those that it had no time for are errors.
    pub fn run(
        &mut self,
        settings: &[Setting],
        rounds: usize,
        mut judge_all: impl FnMut(&[Variant]) -> Vec<Result<Judgement, String>>,
    ) {
        for round in 0..rounds {
            let best = &self.best().variant;
            // If Oriel is off, none of its options has an effect.
            let has_effect = |setting: &Setting| !best.is_off() || setting.holds_without_oriel();
            let missing = settings
                .iter()
                .filter(|&setting| !best.has(setting) && has_effect(setting));
            let mut variants: Vec<Variant> = missing.map(|setting| best.with(setting)).collect();
            variants.extend(best.parts());
            if round > 0 {
                variants.extend(self.together(settings));
                variants.extend(self.limits_with_room(settings));
            }
            let mut untried: Vec<Variant> = Vec::new();
            for variant in variants {
                let is_known = self.trials.iter().any(|trial| trial.variant == variant);
                if !is_known && !untried.contains(&variant) {
                    untried.push(variant);
                }
            }
            let best = self.best;
            let results = judge_all(&untried);
            self.take(&untried, &results);
            // What fails alone may help together with something else.
            if best == self.best && round > 0 {
                break;
            }
        }
    }

    /// Judges the best variant again until the best is one that has been judged again: the shortest of
    /// many times is short by chance.
    pub fn confirm(&mut self, judge_again: impl Fn(&Variant) -> Result<Judgement, String>) {
        let mut is_confirmed = vec![false; self.trials.len()];
        is_confirmed[0] = true;
        while !std::mem::replace(&mut is_confirmed[self.best], true) {
            let best = &mut self.trials[self.best];
            best.result = judge_again(&best.variant);
            self.best = self.index_of_best_for(self.function.as_deref());
        }
    }

    /// Returns the best trial.
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }

    /// Returns the best trial for one function.
    pub fn best_for(&self, function: &str) -> &Trial {
        &self.trials[self.index_of_best_for(Some(function))]
    }

    /// Returns variants with the best two, three and so on of the settings that help alone, up to
    /// [`TOGETHER`] of them.
    fn together(&self, settings: &[Setting]) -> Vec<Variant> {
        let function = self.function.as_deref();
        let start = self
            .score(&self.trials[0], function)
            .expect("it is its own measure");
        let alone = settings
            .iter()
            .filter(|&setting| *setting != Setting::Off)
            .filter_map(|setting| {
                let variant = Variant::default().with(setting);
                let trial = self.trials.iter().find(|trial| trial.variant == variant)?;
                Some((self.score(trial, function)?, setting))
            });
        let mut helping: Vec<(Score, &Setting)> = alone.filter(|&(score, _)| score < start).collect();
        // The worst first: of two exclusive settings, the later one stays.
        helping.sort_by_key(|&(score, _)| score);
        (2..=helping.len().min(TOGETHER))
            .map(|count| {
                let worst_first = helping[..count].iter().rev();
                worst_first.fold(Variant::default(), |variant, (_, setting)| variant.with(setting))
            })
            .collect()
    }

    /// Returns variants with the next register limits below what the best variant needs, each together
    /// with one setting that may keep ptxas from spilling then.
    fn limits_with_room(&self, settings: &[Setting]) -> Vec<Variant> {
        let best = self.best();
        let function = self.function.as_deref();
        let figures = best
            .result
            .iter()
            .flat_map(|judgement| judged(judgement, function));
        let registers = figures.map(|(_, figures)| figures.registers).max();
        let limit_of = |setting: &Setting| match setting {
            Setting::Limit(limit) => Some(*limit).filter(|&limit| Some(limit) < registers),
            _ => None,
        };
        let mut limits: Vec<u32> = settings.iter().filter_map(limit_of).collect();
        limits.sort_unstable_by_key(|&limit| Reverse(limit));
        limits.dedup();
        limits.truncate(LIMITS_WITH_ROOM);
        let limited = limits.into_iter().flat_map(|limit| {
            let limited = best.variant.with(&Setting::Limit(limit));
            let helpers = settings.iter().filter(|setting| setting.may_make_room());
            helpers.map(move |helper| limited.with(helper))
        });
        limited.collect()
    }

    /// Returns the value of a trial; none if it failed, or if something got worse that must not.
    fn score(&self, trial: &Trial, only: Option<&str>) -> Option<Score> {
        let judgement = trial.result.as_ref().ok()?;
        let mut functions = judged(&self.before, only);
        let is_allowed = functions.all(|(name, before)| {
            let after = judgement.get(name);
            after.is_some_and(|after| self.goal.allows(before, after, self.tolerance))
        });
        is_allowed.then(|| self.goal.sum(judged(judgement, only).map(|(_, figures)| figures)))
    }

    /// Returns the index of the best trial for one function or all; among equals the one with the
    /// fewest settings, then the first.
    fn index_of_best_for(&self, only: Option<&str>) -> usize {
        let scores = self
            .trials
            .iter()
            .enumerate()
            .filter_map(|(place, trial)| Some((self.score(trial, only)?, trial.variant.len(), place)));
        scores.min().map_or(0, |(.., place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figures;
    use super::*;
    use oriel::options::Options;

    fn figures_of(registers: u32) -> Figures {
        Figures {
            registers,
            spill_bytes: Some(0),
            code_size: 1000,
            ..Figures::default()
        }
    }

    /// Searches with registers that depend on the flags of a variant.
    fn search(registers: impl Fn(&str) -> Result<u32, String>) -> (String, usize) {
        search_with(&[], registers)
    }

    /// The same with more settings.
    fn search_with(more: &[Setting], registers: impl Fn(&str) -> Result<u32, String>) -> (String, usize) {
        let mut settings = vec![
            Setting::Off,
            Setting::Disable("GvnCse"),
            Setting::Budget(32),
            Setting::Order { number: 1, seed: 0 },
            Setting::Order { number: 2, seed: 0 },
        ];
        settings.extend_from_slice(more);
        let base = Options::default();
        let judge = |variant: &Variant| {
            let registers = registers(&variant.oriel_flags(&base))?;
            Ok(Judgement::from([("k".to_owned(), figures_of(registers))]))
        };
        let before = judge(&Variant::default()).unwrap();
        let mut search = Search::new(Goal::Registers, 2.0, None, before);
        search.run(&settings, 8, |variants| variants.iter().map(judge).collect());
        (search.best().variant.oriel_flags(&base), search.trials.len())
    }

    #[test]
    fn settings_that_help_only_together_with_another_are_found() {
        let (flags, _) = search(|flags| {
            let (budget, order) = (flags.contains("budget"), flags.contains("Order=2"));
            Ok(40 - if budget { 2 } else { 0 } - if budget && order { 6 } else { 0 })
        });
        assert_eq!(
            flags,
            "-oriel-register-budget=32 -oriel-knob=InstructionOrder=2 -oriel-enable-phases=ReorderInstructions"
        );
    }

    #[test]
    fn each_function_finds_its_own_best() {
        let settings = [
            Setting::Budget(32),
            Setting::Knob("A", "1"),
            Setting::Knob("B", "1"),
        ];
        let base = Options::default();
        let judge = |variant: &Variant| {
            let flags = variant.oriel_flags(&base);
            let has = |word: &str| flags.contains(word);
            let one = if has("A=1") { 30 } else { 40 };
            let other = match (has("B=1"), has("budget")) {
                (true, true) => 20,
                (true, false) => 30,
                _ => {
                    if has("A=1") {
                        50
                    } else {
                        40
                    }
                }
            };
            let figures = [("one", one), ("other", other)];
            Ok(figures
                .map(|(name, registers)| (name.to_owned(), figures_of(registers)))
                .into())
        };
        let before: Judgement = judge(&Variant::default()).unwrap();
        let best_of = |function: &str| {
            let mut search = Search::new(Goal::Registers, 2.0, Some(function.to_owned()), before.clone());
            search.run(&settings, 8, |variants| variants.iter().map(judge).collect());
            search.best().variant.oriel_flags(&base)
        };
        assert_eq!(
            ["one", "other"].map(best_of),
            ["-oriel-knob=A=1", "-oriel-knob=B=1 -oriel-register-budget=32"]
        );
    }

    #[test]
    fn a_limit_that_needs_another_setting_is_found() {
        let (flags, _) = search_with(&[Setting::Limit(30)], |flags| {
            let (limit, order) = (flags.contains("maxnreg=30"), flags.contains("Order=2"));
            match (limit, order) {
                (true, true) => Ok(30),
                (true, false) => Err("it spills".to_owned()),
                _ => Ok(40),
            }
        });
        assert_eq!(
            flags,
            "-oriel-maxnreg=30 -oriel-knob=InstructionOrder=2 -oriel-enable-phases=ReorderInstructions"
        );
    }

    #[test]
    fn a_variant_that_was_better_by_chance_is_not_chosen() {
        let base = Options::default();
        let judge_with = |variant: &Variant, lucky: u32, better: u32| {
            let flags = variant.oriel_flags(&base);
            let registers = match flags.as_str() {
                "-oriel-knob=A=1" => lucky,
                "-oriel-knob=B=1" => better,
                _ => 40,
            };
            Ok(Judgement::from([("k".to_owned(), figures_of(registers))]))
        };
        let best_of = |better| {
            let judge = |variant: &Variant| judge_with(variant, 30, better);
            let before = judge(&Variant::default()).unwrap();
            let mut search = Search::new(Goal::Registers, 2.0, None, before);
            let settings = [Setting::Knob("A", "1"), Setting::Knob("B", "1")];
            search.run(&settings, 1, |variants| variants.iter().map(judge).collect());
            assert_eq!(search.best().variant.oriel_flags(&base), "-oriel-knob=A=1");
            search.confirm(|variant| judge_with(variant, 41, better));
            search.best().variant.oriel_flags(&base)
        };
        assert_eq!([38, 42].map(best_of), ["-oriel-knob=B=1", ""]);
    }

    #[test]
    fn a_setting_that_no_longer_helps_is_left_out() {
        let (flags, _) = search(|flags| {
            let budget = flags.contains("budget");
            let both = flags.contains("GvnCse") && flags.contains("Order=1");
            Ok(match (budget, both) {
                (false, true) => 20,
                (true, true) => 22,
                (true, false) => 30 - u32::from(flags.contains("GvnCse")),
                (false, false) => 40,
            })
        });
        assert!(
            !flags.contains("budget") && flags.contains("GvnCse") && flags.contains("Order=1"),
            "{flags}"
        );
    }

    #[test]
    fn nothing_is_chosen_that_is_not_better() {
        assert_eq!(search(|_| Ok(40)), (String::new(), 6));
        let all_fail = |flags: &str| {
            if flags.is_empty() {
                Ok(40)
            } else {
                Err("no".to_owned())
            }
        };
        assert_eq!(search(all_fail), (String::new(), 6));
        assert_eq!(
            search(|flags| Ok(40 - u32::from(flags.contains("off")))).0,
            "-oriel=off"
        );
    }
}
