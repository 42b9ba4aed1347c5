//! Compares the final contents of a buffer between two runs.

use thiserror::Error;

use super::Element;

/// The criterion by which two contents are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Comparison {
    /// Byte for byte.
    Exact,
    /// `|actual - expected| <= absolute + relative * |expected|`; two NaNs are equal, and so are
    /// equal infinities.
    Tolerance {
        /// In units of the value.
        absolute: f64,
        /// As a share of the expected value.
        relative: f64,
    },
    /// The same elements in any order, for kernels in which atomic operations choose the places.
    Unordered,
}

/// The first element that differs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("element {index}: expected {expected}, found {actual}")]
pub struct Difference {
    /// Index of the element; for [`Comparison::Unordered`] among the elements in sorted order.
    pub index: usize,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub actual: String,
}

impl Comparison {
    pub(super) fn compare(self, element: Element, expected: &[u8], actual: &[u8]) -> Result<(), Difference> {
        let split = |bytes| <[u8]>::chunks_exact(bytes, element.size_bytes()).collect::<Vec<_>>();
        let (mut expected, mut actual) = (split(expected), split(actual));
        if self == Comparison::Unordered {
            expected.sort_unstable();
            actual.sort_unstable();
        }
        let differs = |(_, (expected, actual)): &(usize, (&&[u8], &&[u8]))| match self {
            Comparison::Exact | Comparison::Unordered => expected != actual,
            Comparison::Tolerance { absolute, relative } => {
                let (expected, actual) = (element.decode_float(expected), element.decode_float(actual));
                let equal = expected == actual || (expected.is_nan() && actual.is_nan());
                // The tolerance of an infinity is infinite; only an equal infinity is close to it.
                let close =
                    expected.is_finite() && (actual - expected).abs() <= absolute + relative * expected.abs();
                !(equal || close)
            }
        };
        match expected.iter().zip(&actual).enumerate().find(differs) {
            None => Ok(()),
            Some((index, (expected, actual))) => Err(Difference {
                index,
                expected: show(element, expected),
                actual: show(element, actual),
            }),
        }
    }
}

/// An element's value, with its bits where the value alone does not distinguish two elements.
fn show(element: Element, bytes: &[u8]) -> String {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u128::from_le_bytes(wide);
    match element.integer_range() {
        None => format!("{:?} ({bits:#x})", element.decode_float(bytes)),
        Some((low, _)) if low < 0 => {
            let unused = 128 - 8 * bytes.len();
            (((bits << unused) as i128) >> unused).to_string()
        }
        Some(_) => bits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn exact_tells_zeros_apart() {
        let difference = Comparison::Exact
            .compare(Element::F32, &floats(&[1.0, 0.0]), &floats(&[1.0, -0.0]))
            .unwrap_err();
        assert_eq!(
            difference.to_string(),
            "element 1: expected 0.0 (0x0), found -0.0 (0x80000000)"
        );
    }

    #[test]
    fn tolerance() {
        let close = Comparison::Tolerance {
            absolute: 0.1,
            relative: 0.01,
        };
        let same = |a, b| close.compare(Element::F32, &floats(&[a]), &floats(&[b])).is_ok();
        assert!(same(100.0, 101.0));
        assert!(!same(100.0, 101.2));
        assert!(same(f32::NAN, f32::NAN));
        assert!(!same(1.0, f32::NAN));
        assert!(same(f32::INFINITY, f32::INFINITY));
        assert!(!same(f32::INFINITY, f32::NEG_INFINITY));
        assert!(!same(f32::INFINITY, 1.0));
        assert!(!same(1.0, f32::INFINITY));
    }

    #[test]
    fn unordered() {
        assert_eq!(
            Comparison::Unordered.compare(Element::I8, &[1, 2, 255], &[255, 1, 2]),
            Ok(())
        );
        let difference = Comparison::Unordered
            .compare(Element::I8, &[1, 255], &[1, 254])
            .unwrap_err();
        assert_eq!(difference.to_string(), "element 1: expected -1, found -2");
    }
}
