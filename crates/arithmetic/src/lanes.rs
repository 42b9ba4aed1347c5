//! The registers of a warp, and loops over its lanes.
//!
//! A register is a row of 32 values, one a lane. Rows of 32 bits hold predicates (0 or 1), 16-bit
//! values (zero-extended) and 32-bit values; rows of 64 bits hold 64-bit values; two rows side by
//! side hold a 128-bit value. Constants are rows as well, so operations need not distinguish their
//! sources. All floating-point values are kept as bits.

use oriel_ori::{DataType, ModifierFlags, Rounding};

/// Threads of a warp.
pub const LANES: usize = 32;

/// The mask of a warp whose lanes are all active.
pub const ALL_LANES: u32 = u32::MAX;

/// The operands of an operation: rows of the current frame. The operation knows whether a row has
/// 32 or 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The row of the result.
    pub result: u32,
    /// The rows of the sources.
    pub sources: [u32; 4],
    /// Width of the result register; read by conversions.
    pub result_bits: u32,
    /// Rounding and flags.
    pub settings: Settings,
    /// For conversions: target and source type.
    pub types: (DataType, DataType),
}

/// Modifiers that general handlers read at run time; the frequent cases have their own handlers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Rounding mode.
    pub rounding: Rounding,
    /// Saturation, flushing and similar flags.
    pub flags: ModifierFlags,
}

impl Settings {
    /// True if a flag is set.
    pub fn has(self, flag: ModifierFlags) -> bool {
        self.flags.contains(flag)
    }
}

/// An operation on the lanes of a mask.
pub type Handler = fn(&mut Registers, &Fields, u32);

/// The registers of all frames of a warp; the current frame starts at the bases.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    words: Vec<[u32; LANES]>,
    doubles: Vec<[u64; LANES]>,
    word_base: usize,
    double_base: usize,
}

/// The start of a frame's registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bases {
    /// The first row of 32 bits.
    pub words: usize,
    /// The first row of 64 bits.
    pub doubles: usize,
}

/// The initial rows of a frame: constants in every lane, zeros elsewhere.
#[derive(Clone, Debug, Default)]
pub struct FrameTemplate {
    /// Rows of 32 bits, one value for all lanes.
    pub words: Vec<u32>,
    /// Rows of 64 bits, one value for all lanes.
    pub doubles: Vec<u64>,
}

/// The content of a lane: 32 or 64 bits.
pub trait Cell: Copy + Default {
    /// Returns the row with a number.
    fn row(registers: &Registers, index: u32) -> &[Self; LANES];
    /// Returns the row with a number, mutably.
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES];
}

impl Cell for u32 {
    fn row(registers: &Registers, index: u32) -> &[Self; LANES] {
        &registers.words[registers.word_base + index as usize]
    }

    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
        &mut registers.words[registers.word_base + index as usize]
    }
}

impl Cell for u64 {
    fn row(registers: &Registers, index: u32) -> &[Self; LANES] {
        &registers.doubles[registers.double_base + index as usize]
    }

    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
        &mut registers.doubles[registers.double_base + index as usize]
    }
}

/// Iterates over the lanes of a mask, in order.
#[derive(Clone, Copy, Debug)]
pub struct LaneIter(pub u32);

impl Iterator for LaneIter {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let lane = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    }
}

impl Registers {
    /// Drops all frames and starts one.
    pub fn reset(&mut self, template: &FrameTemplate) {
        self.words.clear();
        self.doubles.clear();
        self.push_frame(template);
    }

    /// Pushes a frame; returns the bases of the previous one.
    pub fn push_frame(&mut self, template: &FrameTemplate) -> Bases {
        let before = Bases {
            words: self.word_base,
            doubles: self.double_base,
        };
        self.word_base = self.words.len();
        self.double_base = self.doubles.len();
        self.words
            .extend(template.words.iter().map(|&value| [value; LANES]));
        self.doubles
            .extend(template.doubles.iter().map(|&value| [value; LANES]));
        before
    }

    /// Pops the current frame and returns to the one that starts at `before`.
    pub fn pop_frame(&mut self, before: Bases) {
        self.words.truncate(self.word_base);
        self.doubles.truncate(self.double_base);
        self.word_base = before.words;
        self.double_base = before.doubles;
    }

    /// Returns a row.
    pub fn row<T: Cell>(&self, index: u32) -> &[T; LANES] {
        T::row(self, index)
    }

    /// Returns a row, mutably.
    pub fn row_mut<T: Cell>(&mut self, index: u32) -> &mut [T; LANES] {
        T::row_mut(self, index)
    }

    /// Writes the lanes of a mask.
    #[inline]
    pub fn write<T: Cell>(&mut self, index: u32, mask: u32, values: &[T; LANES]) {
        let row = T::row_mut(self, index);
        if mask == ALL_LANES {
            *row = *values;
        } else {
            for lane in LaneIter(mask) {
                row[lane] = values[lane];
            }
        }
    }

    /// Sets each lane of a mask to a function of its number.
    #[inline]
    pub fn fill<T: Cell>(&mut self, index: u32, mask: u32, value: impl Fn(usize) -> T) {
        let mut result = [T::default(); LANES];
        if mask == ALL_LANES {
            for (lane, result) in result.iter_mut().enumerate() {
                *result = value(lane);
            }
        } else {
            for lane in LaneIter(mask) {
                result[lane] = value(lane);
            }
        }
        self.write(index, mask, &result);
    }

    /// Returns the lanes in which a row of predicates is true.
    #[inline]
    pub fn predicate(&self, index: u32) -> u32 {
        let row = self.row::<u32>(index);
        let mut mask = 0;
        for (lane, &value) in row.iter().enumerate() {
            mask |= (value & 1) << lane;
        }
        mask
    }

    /// Computes a row from one row, in the lanes of the mask.
    #[inline]
    pub(crate) fn map1<D: Cell, A: Cell>(&mut self, fields: &Fields, mask: u32, operation: impl Fn(A) -> D) {
        let a = self.row::<A>(fields.sources[0]);
        let mut result = [D::default(); LANES];
        if mask == ALL_LANES {
            for lane in 0..LANES {
                result[lane] = operation(a[lane]);
            }
        } else {
            for lane in LaneIter(mask) {
                result[lane] = operation(a[lane]);
            }
        }
        self.write(fields.result, mask, &result);
    }

    /// Computes a row from two rows, in the lanes of the mask.
    #[inline]
    pub(crate) fn map2<D: Cell, A: Cell, B: Cell>(
        &mut self,
        fields: &Fields,
        mask: u32,
        operation: impl Fn(A, B) -> D,
    ) {
        let a = self.row::<A>(fields.sources[0]);
        let b = self.row::<B>(fields.sources[1]);
        let mut result = [D::default(); LANES];
        if mask == ALL_LANES {
            for lane in 0..LANES {
                result[lane] = operation(a[lane], b[lane]);
            }
        } else {
            for lane in LaneIter(mask) {
                result[lane] = operation(a[lane], b[lane]);
            }
        }
        self.write(fields.result, mask, &result);
    }

    /// Computes a row from three rows, in the lanes of the mask.
    #[inline]
    pub(crate) fn map3<D: Cell, A: Cell, B: Cell, C: Cell>(
        &mut self,
        fields: &Fields,
        mask: u32,
        operation: impl Fn(A, B, C) -> D,
    ) {
        let a = self.row::<A>(fields.sources[0]);
        let b = self.row::<B>(fields.sources[1]);
        let c = self.row::<C>(fields.sources[2]);
        let mut result = [D::default(); LANES];
        if mask == ALL_LANES {
            for lane in 0..LANES {
                result[lane] = operation(a[lane], b[lane], c[lane]);
            }
        } else {
            for lane in LaneIter(mask) {
                result[lane] = operation(a[lane], b[lane], c[lane]);
            }
        }
        self.write(fields.result, mask, &result);
    }

    /// Computes a row from four rows, in the lanes of the mask.
    #[inline]
    pub(crate) fn map4<D: Cell, A: Cell, B: Cell, C: Cell, E: Cell>(
        &mut self,
        fields: &Fields,
        mask: u32,
        operation: impl Fn(A, B, C, E) -> D,
    ) {
        let a = self.row::<A>(fields.sources[0]);
        let b = self.row::<B>(fields.sources[1]);
        let c = self.row::<C>(fields.sources[2]);
        let e = self.row::<E>(fields.sources[3]);
        let mut result = [D::default(); LANES];
        for lane in LaneIter(mask) {
            result[lane] = operation(a[lane], b[lane], c[lane], e[lane]);
        }
        self.write(fields.result, mask, &result);
    }
}

/// The handler that applies an expression to each active lane.
macro_rules! handler {
    (|$a:ident: $A:ty| -> $D:ty $body:block) => {{
        fn run(registers: &mut $crate::lanes::Registers, fields: &$crate::lanes::Fields, mask: u32) {
            registers.map1(fields, mask, |$a: $A| -> $D { $body });
        }
        run as $crate::lanes::Handler
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| -> $D:ty $body:block) => {{
        fn run(registers: &mut $crate::lanes::Registers, fields: &$crate::lanes::Fields, mask: u32) {
            registers.map2(fields, mask, |$a: $A, $b: $B| -> $D { $body });
        }
        run as $crate::lanes::Handler
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| -> $D:ty $body:block) => {{
        fn run(registers: &mut $crate::lanes::Registers, fields: &$crate::lanes::Fields, mask: u32) {
            registers.map3(fields, mask, |$a: $A, $b: $B, $c: $C| -> $D { $body });
        }
        run as $crate::lanes::Handler
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $e:ident: $E:ty| -> $D:ty $body:block) => {{
        fn run(registers: &mut $crate::lanes::Registers, fields: &$crate::lanes::Fields, mask: u32) {
            registers.map4(fields, mask, |$a: $A, $b: $B, $c: $C, $e: $E| -> $D { $body });
        }
        run as $crate::lanes::Handler
    }};
}
pub(super) use handler;
