//! A host that has its kernels' PTX in it. A real one hands it to the driver, with the crate `cudarc`
//! or `cust`; this one prints the kernels' names.

/// The kernels, as `build.rs` compiled them.
const PTX: &str = include_str!(env!("KERNELS_PTX"));

fn main() {
    for line in PTX.lines().filter(|line| line.contains(".entry ")) {
        println!("{}", line.trim_end_matches('('));
    }
}
