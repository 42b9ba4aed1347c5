//! Options: the table for the host's command line, and settings for the shim.

use super::records::{Mode, StrengthReduction};
use super::text::{OrielSink, OrielText};
use crate::guard::guarded;
use crate::options::{self, Options};

/// `OrielOptionInfo`.
#[repr(C)]
pub struct OrielOptionInfo {
    name: OrielText,
    value: OrielText,
    help: OrielText,
}

/// `OrielSettings`.
#[repr(C)]
pub struct OrielSettings {
    mode: Mode,
    verify: u32,
}

#[unsafe(no_mangle)]
extern "C" fn oriel_option_count() -> usize {
    options::specs().count()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_option_info(index: usize) -> OrielOptionInfo {
    // An abort at load time would reveal the shim's mistake.
    let spec = options::specs()
        .nth(index)
        .expect("the shim asks for options that there are");
    OrielOptionInfo {
        name: OrielText::from_static(spec.name),
        value: OrielText::from_static(spec.value),
        help: OrielText::from_static(spec.help),
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_option_set(name: OrielText, value: OrielText, error: OrielSink) -> i32 {
    // SAFETY: the shim's texts live for the call.
    let (name, value) = unsafe { (name.as_str(), value.as_bytes()) };
    let set = || {
        let value = str::from_utf8(value).map_err(|_| "the value is not UTF-8".to_owned())?;
        options::set_on_command_line(&name, value).map_err(String::from)
    };
    match guarded(set) {
        Ok(Ok(())) => 1,
        Ok(Err(problem)) | Err(problem) => {
            error.send(&problem);
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_option_reset(name: OrielText) {
    // SAFETY: the shim's text lives for the call.
    let name = unsafe { name.as_str() };
    // Nothing is left to report it to.
    _ = guarded(|| options::reset_on_command_line(&name));
}

#[unsafe(no_mangle)]
extern "C" fn oriel_settings(settings: &mut OrielSettings, error: OrielSink) -> i32 {
    match guarded(options::options_in_force) {
        Ok(Ok(options)) => {
            *settings = settings_of(&options);
            1
        }
        Ok(Err(problem)) | Err(problem) => {
            error.send(&problem);
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_strength_reduction() -> StrengthReduction {
    // The passes for machine functions report invalid options.
    let Ok(Ok(options)) = guarded(options::options_in_force) else {
        return StrengthReduction::Everywhere;
    };
    match options.strength_reduction() {
        options::StrengthReduction::Everywhere => StrengthReduction::Everywhere,
        options::StrengthReduction::UnlessCostly => StrengthReduction::UnlessCostly,
        options::StrengthReduction::Nowhere => StrengthReduction::Nowhere,
    }
}

fn settings_of(options: &Options) -> OrielSettings {
    OrielSettings {
        mode: match options.mode {
            options::Mode::Off => Mode::Off,
            options::Mode::Analyze => Mode::Analyze,
            options::Mode::Optimize => Mode::Optimize,
        },
        verify: options.verify.into(),
    }
}
