//! Launches of the kernels of a generated module.

use std::fmt::Write;

use super::llvm_ir::{IN_BYTES, OUT_BYTES};
use super::options::Options;
use oriel_random::{Random, Stream};

/// Blocks of each launch, and threads of a block: two warps, so that a barrier is more than a
/// warp's.
const BLOCKS: usize = 2;
const THREADS: usize = 64;

/// Returns a launch description, as text, for the module that [`llvm_ir`](fn@super::llvm_ir)
/// generates from the same options.
///
/// Each kernel runs once, with its own output buffer. `seed` determines the contents of buffers and
/// parameters; kernels and inputs vary independently.
pub fn launch_description(options: &Options, seed: u64) -> String {
    let mut random = Random::new(seed, Stream::Inputs);
    let mut text = format!(
        "description = \"generated kernels from seed {}, inputs from seed {seed}\"\n\n\
         [[buffer]]\nname = \"in\"\nelement = \"u32\"\nlength = {}\nrole = \"in\"\n\
         initial = {{ random = {{ seed = {} }} }}\n",
        options.seed,
        IN_BYTES / 4,
        random.word()
    );
    let mut launches = String::new();
    for number in 0..options.functions {
        let kernel = options.seed.wrapping_add(number as u64);
        let push = |text: &mut String, lines: std::fmt::Arguments<'_>| {
            text.write_fmt(lines).expect("a string takes all text");
        };
        push(
            &mut text,
            format_args!(
                "\n[[buffer]]\nname = \"out{kernel}\"\nelement = \"u32\"\nlength = {}\nrole = \"inout\"\n\
                 initial = {{ random = {{ seed = {} }} }}\n",
                BLOCKS * THREADS * OUT_BYTES / 4,
                random.word()
            ),
        );
        // Floats of moderate size, so that most operations on them are exact or rounded instead of
        // infinite.
        let (high, low) = (random.word(), random.word());
        let (float, double) = (random.word() as i32, random.word() as i32);
        push(
            &mut launches,
            format_args!(
                "\n[[launch]]\nkernel = \"f{kernel}\"\ngrid = [{BLOCKS}, 1, 1]\nblock = [{THREADS}, 1, 1]\n\
                 arguments = [{{ buffer = \"in\" }}, {{ buffer = \"out{kernel}\" }}, {{ u32 = {} }}, {{ i64 = {} }}, \
                 {{ u16 = {} }}, {{ f32 = {:?} }}, {{ f64 = {:?} }}]\n",
                random.word(),
                i64::from(high as i32) << 32 | i64::from(low),
                random.word() >> 16,
                f64::from(float) / 65536.0,
                f64::from(double) / 65536.0,
            ),
        );
    }
    text + &launches
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_interpreter::launch::LaunchDescription;

    #[test]
    fn descriptions_are_well_formed() {
        for seed in 0..100 {
            let options = Options {
                seed,
                functions: 3,
                ..Options::default()
            };
            let text = launch_description(&options, seed);
            let description =
                LaunchDescription::parse(&text, "generated").unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(description.launches.len(), 3);
            assert_eq!(description.launches[0].kernel, format!("f{seed}"));
        }
    }
}
