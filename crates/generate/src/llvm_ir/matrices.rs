//! Products of matrices that a warp group computes in the background.
//!
//! ```text
//! start: %fragment.0 = add i32 %p_i32, 1 …                      // cheap, and alive until the products
//! later: call asm "wgmma.fence…"
//!        %t1 = call { float, … } asm "wgmma.mma_async… {$0,…}, {$4,…}, $8, …"(%fragment.0, …)
//!        call asm "wgmma.commit_group…"
//!        …                                                      // sometimes other work
//!        %t2 = call { float, … } asm "wgmma.wait_group… 0;", "=f,…,0,…"(…)   // or without operands
//!        store %t2
//! ```
//!
//! From the fence to the wait nothing else may touch the registers of the product. A phase that
//! recomputes a fragment where registers are short would write to one of these registers.

use std::io::{self, Write};

use super::Writer;
use super::statements::Kind;

/// The registers of matrix A, and the accumulators, of `m64n8k16`.
const REGISTERS: usize = 4;

const RESULTS: &str = "{ float, float, float, float }";

impl<W: Write> Writer<'_, W> {
    /// True if the processor has the instructions: sm_90a alone does.
    pub(super) fn multiplies_in_background(&self) -> bool {
        self.processor == (90, true)
    }

    /// Computes the fragments of matrix A, at the start.
    pub(super) fn fragments(&mut self) -> io::Result<()> {
        for number in 0..REGISTERS {
            self.line(format_args!(
                "%fragment.{number} = add i32 %p_i32, {}",
                number + 1
            ))?;
        }
        Ok(())
    }

    /// Multiplies the fragments, waits, and stores the product.
    pub(super) fn product(&mut self) -> io::Result<()> {
        let accumulators = (0..REGISTERS).map(|_| self.operand(Kind::F32));
        let accumulators = accumulators.collect::<io::Result<Vec<String>>>()?.join(", ");
        let descriptor = self.operand(Kind::I64)?;
        let fragments = (0..REGISTERS).map(|number| format!("i32 %fragment.{number}"));
        let fragments = fragments.collect::<Vec<_>>().join(", ");
        self.line(format_args!(
            "call void asm sideeffect \"wgmma.fence.sync.aligned;\", \"~{{memory}}\"()"
        ))?;
        let product = self.value(format_args!(
            "call {RESULTS} asm sideeffect \"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 \
             {{$0,$1,$2,$3}}, {{$4,$5,$6,$7}}, $8, 1, 1, 1, 0;\", \"=f,=f,=f,=f,r,r,r,r,l,0,1,2,3\"\
             ({fragments}, {descriptor}, {accumulators})"
        ))?;
        self.line(format_args!(
            "call void asm sideeffect \"wgmma.commit_group.sync.aligned;\", \"~{{memory}}\"()"
        ))?;
        if self.random.coin() {
            let other = self.own_load("i32", 4)?;
            self.own_store("i32", 4, other)?;
        }
        let mut product = self.parts(product)?;
        if self.random.coin() {
            let operands = product.map(|part| format!("float %t{part}")).join(", ");
            let waited = self.value(format_args!(
                "call {RESULTS} asm sideeffect \"wgmma.wait_group.sync.aligned 0;\", \
                 \"=f,=f,=f,=f,0,1,2,3,~{{memory}}\"({operands})"
            ))?;
            product = self.parts(waited)?;
        } else {
            self.line(format_args!(
                "call void asm sideeffect \"wgmma.wait_group.sync.aligned 0;\", \"~{{memory}}\"()"
            ))?;
        }
        for part in product {
            self.own_store("float", 4, part)?;
        }
        Ok(())
    }

    /// Returns the elements of a result.
    fn parts(&mut self, result: usize) -> io::Result<[usize; REGISTERS]> {
        let mut parts = [0; REGISTERS];
        for (number, part) in parts.iter_mut().enumerate() {
            *part = self.value(format_args!("extractvalue {RESULTS} %t{result}, {number}"))?;
        }
        Ok(parts)
    }
}
