//! Judges variants: ptxas, or the register estimate.

use super::cache::{Cache, Key};
use super::figures::{Figures, Judgement};
use super::timer::{Image, Timer};
use crate::ptxas::Ptxas;
use object::{Object, ObjectSection};
use oriel::compile::Compilation;
use oriel::report::occupancy::{SmLimits, Usage};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The resources of a kernel besides registers, which determine its occupancy.
pub type Usages = BTreeMap<String, (u32, Usage)>;

/// A judge.
pub enum Judge {
    /// ptxas.
    Ptxas(PtxasJudge),
    /// The estimate.
    Estimate,
}

/// ptxas, for a compute capability.
pub struct PtxasJudge {
    /// The program.
    pub program: Ptxas,
    /// Its version.
    pub version: String,
    /// Such as 80 or 90a.
    pub sm: String,
    /// The most registers a thread.
    pub limit: Option<u32>,
    /// Its earlier results.
    pub cache: Option<Cache>,
    /// Number of cache hits.
    pub hits: AtomicUsize,
    /// Number of runs of ptxas.
    pub runs: AtomicUsize,
    /// The GPU that times its code.
    pub timer: Option<Timer>,
}

impl Judge {
    /// Returns the name for output.
    pub fn name(&self) -> String {
        match self {
            Self::Ptxas(ptxas) => match &ptxas.timer {
                Some(timer) => format!("ptxas {} and {}", ptxas.version, timer.device),
                None => format!("ptxas {}", ptxas.version),
            },
            Self::Estimate => "estimate".to_owned(),
        }
    }

    /// Returns the GPU's error after which it times nothing more.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Ptxas(ptxas) => ptxas.timer.as_ref()?.problem(),
            Self::Estimate => None,
        }
    }

    /// True if it needs more of a compilation than the PTX.
    pub fn wants_functions(&self) -> bool {
        matches!(self, Self::Estimate)
    }

    /// Judges a compilation; the estimate ignores limits. Times come from `timed_runs` runs.
    ///
    /// # Errors
    /// If ptxas refuses the code, or it fails on the GPU.
    pub fn judge(
        &self,
        compilation: &Compilation,
        usages: &Usages,
        timed_runs: usize,
    ) -> Result<Judgement, String> {
        let mut judgement = match self {
            Self::Ptxas(ptxas) => ptxas.judge(&compilation.ptx, timed_runs)?,
            Self::Estimate => estimate(compilation),
        };
        for (name, figures) in &mut judgement {
            figures.warps = warps_of(usages, name, figures);
        }
        Ok(judgement)
    }
}

impl PtxasJudge {
    fn judge(&self, ptx: &[u8], timed_runs: usize) -> Result<Judgement, String> {
        let limit = self.limit.map_or_else(String::new, |limit| limit.to_string());
        let key = Key::new(ptx, &[&self.version, &self.sm, &limit]);
        if let Some(known) = self.cache.as_ref().and_then(|cache| cache.get(key)) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(known);
        }
        self.runs.fetch_add(1, Ordering::Relaxed);
        let (functions, cubin) = self.program.assemble(ptx, &self.sm, self.limit)?;
        let sizes = code_sizes(&cubin).map_err(|error| format!("ptxas' machine code: {error}"))?;
        let figures = functions.into_iter().filter_map(|(name, figures)| {
            let found = Figures {
                // Device functions have no registers of their own.
                registers: figures.ptxas_registers?,
                spill_bytes: Some(figures.ptxas_spill_store_bytes + figures.ptxas_spill_load_bytes),
                shared_bytes: Some(figures.ptxas_shared_bytes),
                code_size: sizes.get(&name).copied().unwrap_or(0),
                ..Figures::default()
            };
            Some((name, found))
        });
        let mut judgement: Judgement = figures.collect();
        if let Some(cache) = &self.cache {
            cache.put(key, &judgement);
        }
        if let Some(timer) = &self.timer {
            let image = Image {
                ptx: ptx.to_vec(),
                code: cubin,
            };
            for (name, time) in timer.time(image, timed_runs)? {
                judgement.entry(name).and_modify(|it| it.time_ns = Some(time));
            }
        }
        Ok(judgement)
    }
}

/// Returns the warps that a multiprocessor holds of a kernel with these figures; none if it is no
/// kernel, or the multiprocessor is not known.
pub fn warps_of(usages: &Usages, kernel: &str, figures: &Figures) -> Option<u32> {
    let &(sm, mut usage) = usages.get(kernel)?;
    usage.registers_per_thread = figures.registers;
    if let Some(shared) = figures.shared_bytes {
        // ptxas counts what it spills there.
        usage.shared_bytes_per_block = usage.shared_bytes_per_block.max(shared.into());
    }
    Some(SmLimits::of(sm)?.occupancy(usage).warps_per_sm)
}

/// Returns the version of ptxas, such as 13.0.88.
///
/// # Errors
/// If there is no ptxas, or another program answers.
pub fn version_of(program: &Ptxas) -> Result<String, String> {
    let mut command = program.command();
    let output = command.arg("--version").output();
    let text = output.map_err(|error| program.unavailable(&error))?.stdout;
    let text = String::from_utf8_lossy(&text);
    let version = text
        .split(", V")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let name = command.get_program().display();
    version
        .map(str::to_owned)
        .ok_or_else(|| format!("{name} tells no version of ptxas"))
}

/// Returns the size of each function's section in a cubin.
fn code_sizes(cubin: &[u8]) -> object::Result<BTreeMap<String, u64>> {
    let mut sizes = BTreeMap::new();
    for section in object::File::parse(cubin)?.sections() {
        if let Some(function) = section.name()?.strip_prefix(".text.") {
            sizes.insert(function.to_owned(), section.size());
        }
    }
    Ok(sizes)
}

/// Returns the estimates for the kernels of a compilation.
fn estimate(compilation: &Compilation) -> Judgement {
    let reports = compilation
        .reports()
        .into_iter()
        .filter(|report| report.is_kernel);
    let figures = reports.filter_map(|report| {
        let found = Figures {
            registers: report.figures.registers_estimate?,
            code_size: report.instructions_out as u64,
            ..Figures::default()
        };
        Some((report.function, found))
    });
    figures.collect()
}
