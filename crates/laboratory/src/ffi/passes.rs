//! Runs machine passes by LLVM's new pass manager.

use oriel::{OrielSink, OrielText};
use std::path::Path;

unsafe extern "C" {
    fn oriel_run_machine_passes(
        path: OrielText,
        pipeline: OrielText,
        cpu: OrielText,
        out: OrielSink,
        error: OrielSink,
    ) -> i32;
}

/// Runs `pipeline`, written as for `llc -passes=`, on the machine IR in the file `path` and returns
/// the resulting machine IR. `cpu` is a name such as `sm_80`, or empty for LLVM's default. The
/// NVPTX target must be initialised.
///
/// # Errors
/// The file cannot be read, or the pipeline names a pass that does not exist.
pub fn run_machine_passes(path: &Path, pipeline: &str, cpu: &str) -> Result<String, String> {
    let path = path.to_str().ok_or("the file's name is not valid UTF-8")?;
    let (mut out, mut error) = (String::new(), String::new());
    // SAFETY: texts and sinks live until the call returns, and the call keeps none of them.
    let succeeded = unsafe {
        oriel_run_machine_passes(
            OrielText::borrowed(path),
            OrielText::borrowed(pipeline),
            OrielText::borrowed(cpu),
            OrielSink::into_string(&mut out),
            OrielSink::into_string(&mut error),
        )
    };
    if succeeded == 0 { Err(error) } else { Ok(out) }
}
