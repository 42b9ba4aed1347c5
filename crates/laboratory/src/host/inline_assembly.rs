//! Inline PTX on the host: the known templates, each with an equivalent function in LLVM IR.
//!
//! A template is recognised as a whole. An unknown one makes the module unsupported, with its text
//! in the message.

use inkwell::values::{AnyValue, InstructionValue};

/// A template with reduced white space, and its constraints in LLVM IR's notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assembly {
    template: String,
    constraints: String,
}

/// A known template and the function from its inputs to its outputs; `@here` is replaced by its
/// name.
struct KnownTemplate {
    template: &'static str,
    constraints: &'static str,
    function: &'static str,
}

const KNOWN: &[KnownTemplate] = &[
    KnownTemplate {
        template: "",
        constraints: "h,~{memory}",
        function: "define void @here(i16 %a) { ret void }",
    },
    KnownTemplate {
        template: "add.u32 $0, $0, 1; xor.b32 $1, $1, $2;",
        constraints: "=&r,=r,r,0,1",
        function: "define { i32, i32 } @here(i32 %flip, i32 %a, i32 %b) {
            %sum = add i32 %a, 1
            %flipped = xor i32 %b, %flip
            %one = insertvalue { i32, i32 } poison, i32 %sum, 0
            %both = insertvalue { i32, i32 } %one, i32 %flipped, 1
            ret { i32, i32 } %both
        }",
    },
    KnownTemplate {
        template: "bfe.u32 $0, $1, 7, 11;",
        constraints: "=r,r",
        function: "define i32 @here(i32 %a) {
            %shifted = lshr i32 %a, 7
            %field = and i32 %shifted, 2047
            ret i32 %field
        }",
    },
    KnownTemplate {
        template: "bfind.u32 $0, $1;",
        constraints: "=r,r",
        function: "declare i32 @llvm.nvvm.flo.u.i32(i32, i1)
        define i32 @here(i32 %a) {
            %top = call i32 @llvm.nvvm.flo.u.i32(i32 %a, i1 false)
            ret i32 %top
        }",
    },
    KnownTemplate {
        template: "cvt.f64.f32 $0, $1;",
        constraints: "=d,f",
        function: "define double @here(float %a) { %wide = fpext float %a to double ret double %wide }",
    },
    KnownTemplate {
        template: "cvt.rni.f32.f32 $0, $1;",
        constraints: "=f,f",
        function: "declare float @llvm.rint.f32(float)
        define float @here(float %a) { %whole = call float @llvm.rint.f32(float %a) ret float %whole }",
    },
    KnownTemplate {
        template: "cvt.u16.u32 $0, $1;",
        constraints: "=h,r",
        function: "define i16 @here(i32 %a) { %low = trunc i32 %a to i16 ret i16 %low }",
    },
    KnownTemplate {
        template: "dp4a.s32.s32 $0, $1, $2, $3;",
        constraints: "=r,r,r,r",
        function: "declare i32 @llvm.nvvm.idp4a.s.s(i32, i32, i32)
        define i32 @here(i32 %a, i32 %b, i32 %c) {
            %sum = call i32 @llvm.nvvm.idp4a.s.s(i32 %a, i32 %b, i32 %c)
            ret i32 %sum
        }",
    },
    KnownTemplate {
        template: "mad.lo.u32 $0, $0, $1, $2;",
        constraints: "=r,r,n,0",
        function: "define i32 @here(i32 %b, i32 %c, i32 %a) {
            %product = mul i32 %a, %b
            %sum = add i32 %product, %c
            ret i32 %sum
        }",
    },
    KnownTemplate {
        template: "mov.b64 $0, $1;",
        constraints: "=l,d",
        function: "define i64 @here(double %a) { %bits = bitcast double %a to i64 ret i64 %bits }",
    },
    KnownTemplate {
        template: "mov.u32 $0, %laneid;",
        constraints: "=r",
        function: "declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
        define i32 @here() { %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid() ret i32 %lane }",
    },
    KnownTemplate {
        template: "mul.lo.u32 $0, $2, $3; mul.hi.u32 $1, $2, $3;",
        constraints: "=&r,=r,r,r",
        function: "define { i32, i32 } @here(i32 %a, i32 %b) {
            %a.wide = zext i32 %a to i64
            %b.wide = zext i32 %b to i64
            %product = mul i64 %a.wide, %b.wide
            %low = trunc i64 %product to i32
            %shifted = lshr i64 %product, 32
            %high = trunc i64 %shifted to i32
            %one = insertvalue { i32, i32 } poison, i32 %low, 0
            %both = insertvalue { i32, i32 } %one, i32 %high, 1
            ret { i32, i32 } %both
        }",
    },
    KnownTemplate {
        template: "st.global.f32 [$0], $1;",
        constraints: "l,f,~{memory}",
        function: "define void @here(ptr %a, float %b) { store float %b, ptr %a ret void }",
    },
    KnownTemplate {
        template: "{ .reg .pred above; setp.gt.u32 above, $1, $2; selp.u32 $0, $2, $1, above; }",
        constraints: "=r,r,r",
        function: "define i32 @here(i32 %a, i32 %b) {
            %above = icmp ugt i32 %a, %b
            %chosen = select i1 %above, i32 %b, i32 %a
            ret i32 %chosen
        }",
    },
    KnownTemplate {
        template: CARRY_CHAIN,
        constraints: "=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,r,r,r,r,r,r,r,r,0,1,2,3,4,5,6,7",
        function: include_str!("carry_chain.ll"),
    },
];

/// Eight words plus eight words, and the carry out of the last.
const CARRY_CHAIN: &str = "add.cc.u32 $0, $0, $9; addc.cc.u32 $1, $1, $10; addc.cc.u32 $2, $2, $11; \
    addc.cc.u32 $3, $3, $12; addc.cc.u32 $4, $4, $13; addc.cc.u32 $5, $5, $14; addc.cc.u32 $6, $6, $15; \
    addc.cc.u32 $7, $7, $16; addc.u32 $8, 0, 0;";

impl Assembly {
    /// Returns the inline assembly that an instruction calls, if any.
    pub(super) fn of_call(call: InstructionValue<'_>) -> Option<Self> {
        let text = call.print_to_string().to_string();
        let (_, callee) = text.split_once(" asm ")?;
        let mut quoted = callee.split('"').skip(1).step_by(2);
        let template = quoted.next()?.replace("\\0A", "\n").replace("\\09", "\t");
        Some(Self {
            template: template.split_whitespace().collect::<Vec<_>>().join(" "),
            constraints: quoted.next()?.to_owned(),
        })
    }

    /// Returns a name for the equivalent function, without characters that need escapes in LLVM's
    /// syntax.
    pub(super) fn name(&self) -> String {
        let kept = |text: &str| text.replace(['"', '\\'], "");
        format!("{}|{}", kept(&self.template), kept(&self.constraints))
    }

    /// Returns a module with the equivalent function under the given name.
    pub(super) fn module(&self, name: &str) -> Option<String> {
        let known = KNOWN
            .iter()
            .find(|known| known.template == self.template && known.constraints == self.constraints)?;
        Some(known.function.replace("@here", &format!("@\"{name}\"")))
    }
}

impl std::fmt::Display for Assembly {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "inline assembly \"{}\" with constraints \"{}\"",
            self.template, self.constraints
        )
    }
}
