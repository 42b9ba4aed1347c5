//! Converts the raw file to a [`LaunchDescription`], or reports the wrong key and the allowed
//! values.

use std::collections::HashSet;

use super::raw::{
    NamedComparison, RawArgument, RawBuffer, RawComparison, RawDescription, RawInitial, RawLaunch,
};
use super::{
    Argument, Buffer, BufferId, Comparison, Element, Initial, Launch, LaunchDescription, Number, Role,
};

/// Limits of every device from sm_50 on.
const GRID_LIMITS: [u32; 3] = [0x7fff_ffff, 65535, 65535];
const BLOCK_LIMITS: [u32; 3] = [1024, 1024, 64];
const THREADS_PER_BLOCK: u64 = 1024;
/// The most shared memory that a block can request on any device.
const SHARED_BYTES: u32 = 227 * 1024;
/// The size of the parameter space up to sm_60, and the limit that portable kernels keep to.
const PARAMETER_BYTES: usize = 4096;
/// Not a limit of devices: examples are small, and a typing error should not fill the memory.
const BUFFER_BYTES: u64 = 1 << 28;

/// The problem and its place.
#[derive(Debug)]
pub(super) struct InvalidKey {
    pub key: String,
    pub problem: String,
}

type Checked<T> = Result<T, InvalidKey>;

fn fail<T>(key: impl Into<String>, problem: impl Into<String>) -> Checked<T> {
    Err(InvalidKey {
        key: key.into(),
        problem: problem.into(),
    })
}

pub(super) fn description(raw: RawDescription) -> Checked<LaunchDescription> {
    if raw.launch.is_empty() {
        return fail("launch", "at least one launch is needed");
    }
    let mut names = HashSet::new();
    let mut buffers = Vec::new();
    for (index, raw_buffer) in raw.buffer.into_iter().enumerate() {
        let key = format!("buffer[{index}]");
        if !names.insert(raw_buffer.name.clone()) {
            return fail(
                format!("{key}.name"),
                format!("`{}` is the name of an earlier buffer", raw_buffer.name),
            );
        }
        buffers.push(buffer(&key, raw_buffer)?);
    }
    let launches = raw
        .launch
        .into_iter()
        .enumerate()
        .map(|(index, raw_launch)| launch(&format!("launch[{index}]"), raw_launch, &buffers))
        .collect::<Checked<_>>()?;
    Ok(LaunchDescription {
        description: raw.description,
        buffers,
        launches,
    })
}

fn buffer(key: &str, raw: RawBuffer) -> Checked<Buffer> {
    if raw.name.is_empty() {
        return fail(format!("{key}.name"), "a name is needed");
    }
    // From here on the name is more helpful than the position.
    let key = format!("buffer `{}`", raw.name);
    let most = BUFFER_BYTES / raw.element.size_bytes() as u64;
    if !(1..=most).contains(&raw.length) {
        let problem = format!(
            "{} elements of type {}: 1 to {most} are allowed",
            raw.length, raw.element
        );
        return fail(format!("{key}.length"), problem);
    }
    let length = usize::try_from(raw.length).expect("limited to 2^28");
    let initial = initial(&format!("{key}.initial"), raw.initial, raw.element, length)?;
    let comparison = comparison(&format!("{key}.compare"), raw.compare, raw.element, raw.role)?;
    Ok(Buffer {
        name: raw.name,
        element: raw.element,
        length,
        role: raw.role,
        initial,
        comparison,
    })
}

fn initial(key: &str, raw: RawInitial, element: Element, length: usize) -> Checked<Initial> {
    let fits = |name: &str, number: Number| match element.encode(number) {
        Ok(_) => Ok(()),
        Err(problem) => fail(format!("{key}.{name}"), problem),
    };
    match raw {
        RawInitial::Zero => Ok(Initial::Zero),
        RawInitial::Constant(value) => {
            fits("constant", value)?;
            Ok(Initial::Constant(value))
        }
        RawInitial::Sequence { start, step } => {
            // The values in between are between the first and the last, and are integers if both
            // are.
            fits("sequence.start", start)?;
            fits("sequence (last element)", start.plus_multiple(step, length - 1))?;
            if length == 1 && !element.is_float() && matches!(step, Number::Float(_)) {
                return fail(
                    format!("{key}.sequence.step"),
                    format!("{step}: an integer is needed"),
                );
            }
            Ok(Initial::Sequence { start, step })
        }
        RawInitial::Uniform { seed, low, high } => {
            fits("uniform.low", low)?;
            fits("uniform.high", high)?;
            if low.to_f64() > high.to_f64() || !(high.to_f64() - low.to_f64()).is_finite() {
                return fail(
                    format!("{key}.uniform"),
                    format!("low {low} to high {high} is not a range"),
                );
            }
            Ok(Initial::Uniform { seed, low, high })
        }
        RawInitial::Random { seed } => Ok(Initial::Random { seed }),
        RawInitial::Values(values) => {
            if values.len() != length {
                let problem = format!("{} values for a buffer of {length} elements", values.len());
                return fail(format!("{key}.values"), problem);
            }
            for (index, value) in values.iter().enumerate() {
                fits(&format!("values[{index}]"), *value)?;
            }
            Ok(Initial::Values(values))
        }
    }
}

fn comparison(key: &str, raw: Option<RawComparison>, element: Element, role: Role) -> Checked<Comparison> {
    if role == Role::In && raw.is_some() {
        return fail(
            key,
            "a buffer of role `in` is not written, and so has no comparison",
        );
    }
    match raw {
        None | Some(RawComparison::Named(NamedComparison::Exact)) => Ok(Comparison::Exact),
        Some(RawComparison::Named(NamedComparison::Unordered)) => Ok(Comparison::Unordered),
        Some(RawComparison::Tolerance(tolerance)) => {
            if !element.is_float() {
                return fail(
                    key,
                    format!("a tolerance is for floating point, not for {element}"),
                );
            }
            let (absolute, relative) = (tolerance.absolute.to_f64(), tolerance.relative.to_f64());
            for (name, value) in [("absolute", absolute), ("relative", relative)] {
                if !(value >= 0.0 && value.is_finite()) {
                    return fail(
                        format!("{key}.{name}"),
                        format!("{value:?}: a finite number from 0 on is needed"),
                    );
                }
            }
            Ok(Comparison::Tolerance { absolute, relative })
        }
    }
}

fn launch(key: &str, raw: RawLaunch, buffers: &[Buffer]) -> Checked<Launch> {
    let mut characters = raw.kernel.chars();
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !(characters.next().is_some_and(is_start)
        && characters.all(|c| is_start(c) || c.is_ascii_digit() || c == '$'))
    {
        return fail(
            format!("{key}.kernel"),
            format!("`{}` is not the name of a kernel", raw.kernel),
        );
    }
    for (name, extents, limits) in [
        ("grid", raw.grid, GRID_LIMITS),
        ("block", raw.block, BLOCK_LIMITS),
    ] {
        for ((axis, extent), limit) in ["x", "y", "z"].into_iter().zip(extents).zip(limits) {
            if !(1..=limit).contains(&extent) {
                return fail(
                    format!("{key}.{name}"),
                    format!("{extent} in {axis}: 1 to {limit} are allowed"),
                );
            }
        }
    }
    let threads: u64 = raw.block.iter().map(|&extent| u64::from(extent)).product();
    if threads > THREADS_PER_BLOCK {
        return fail(
            format!("{key}.block"),
            format!("{threads} threads: at most {THREADS_PER_BLOCK} are allowed"),
        );
    }
    if raw.dynamic_shared_bytes > SHARED_BYTES {
        let problem = format!("{}: at most {SHARED_BYTES} are allowed", raw.dynamic_shared_bytes);
        return fail(format!("{key}.dynamic_shared_bytes"), problem);
    }
    let arguments = arguments(&format!("{key}.arguments"), &raw.arguments, buffers, true)?;
    let size: usize = arguments
        .iter()
        .map(|argument| argument.to_bytes(&|_| 0).len())
        .sum();
    if size > PARAMETER_BYTES {
        return fail(
            format!("{key}.arguments"),
            format!("{size} bytes: at most {PARAMETER_BYTES} are allowed"),
        );
    }
    Ok(Launch {
        kernel: raw.kernel,
        grid: raw.grid,
        block: raw.block,
        dynamic_shared_bytes: raw.dynamic_shared_bytes,
        arguments,
    })
}

fn arguments(key: &str, raw: &[RawArgument], buffers: &[Buffer], may_nest: bool) -> Checked<Vec<Argument>> {
    let one = |(index, raw_argument)| argument(&format!("{key}[{index}]"), raw_argument, buffers, may_nest);
    raw.iter().enumerate().map(one).collect()
}

fn argument(key: &str, raw: &RawArgument, buffers: &[Buffer], may_nest: bool) -> Checked<Argument> {
    let present = raw.scalars().count()
        + usize::from(raw.buffer.is_some())
        + usize::from(raw.bytes.is_some())
        + usize::from(raw.fields.is_some());
    if present != 1 {
        let kinds: Vec<String> = Element::ALL.iter().map(Element::to_string).collect();
        let problem = format!(
            "{present} values: one of `buffer`, `bytes`, `struct`, `{}` is needed",
            kinds.join("`, `")
        );
        return fail(key, problem);
    }
    if raw.offset_bytes.is_some() && raw.buffer.is_none() {
        return fail(format!("{key}.offset_bytes"), "goes with `buffer` only");
    }
    if let Some(name) = &raw.buffer {
        return buffer_argument(key, name, raw.offset_bytes.unwrap_or(0), buffers);
    }
    if let Some(text) = &raw.bytes {
        return match bytes_of_hex(text) {
            Some(bytes) if !bytes.is_empty() => Ok(Argument::Bytes(bytes)),
            _ => fail(
                format!("{key}.bytes"),
                format!("\"{text}\": pairs of hexadecimal digits are needed"),
            ),
        };
    }
    if let Some(fields) = &raw.fields {
        if fields.is_empty() || !may_nest {
            return fail(
                format!("{key}.struct"),
                "a struct has at least one field, and none that is a struct",
            );
        }
        return Ok(Argument::Struct(arguments(
            &format!("{key}.struct"),
            fields,
            buffers,
            false,
        )?));
    }
    let (element, number) = raw
        .scalars()
        .next()
        .expect("one value is there, and it is none of the other kinds");
    match element.encode(number) {
        Ok(bytes) => Ok(Argument::Scalar {
            element,
            bytes: bytes.to_vec(),
        }),
        Err(problem) => fail(format!("{key}.{element}"), problem),
    }
}

fn buffer_argument(key: &str, name: &str, offset_bytes: u64, buffers: &[Buffer]) -> Checked<Argument> {
    let Some(index) = buffers.iter().position(|buffer| buffer.name == name) else {
        let names: Vec<&str> = buffers.iter().map(|buffer| buffer.name.as_str()).collect();
        return fail(
            format!("{key}.buffer"),
            format!("no buffer is named `{name}`: there are `{}`", names.join("`, `")),
        );
    };
    let (size, step) = (
        buffers[index].size_bytes() as u64,
        buffers[index].element.size_bytes() as u64,
    );
    if offset_bytes >= size || !offset_bytes.is_multiple_of(step) {
        let problem = format!("{offset_bytes}: a multiple of {step} below {size} is needed");
        return fail(format!("{key}.offset_bytes"), problem);
    }
    let buffer = BufferId(u32::try_from(index).expect("a file has fewer than 2^32 buffers"));
    Ok(Argument::Buffer { buffer, offset_bytes })
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits?;
    digits
        .len()
        .is_multiple_of(2)
        .then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
