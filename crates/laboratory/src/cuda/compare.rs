//! Compares two runs of the same launches, buffer by buffer.

use super::DeviceMemory;
use oriel_interpreter::launch::{Difference, LaunchDescription};

/// How far the final contents of a buffer agree.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreement {
    /// The bytes are equal.
    Identical,
    /// The bytes differ, but the description's comparison for the buffer allows it.
    Allowed,
    /// They differ.
    Different(Difference),
}

/// A buffer or variable of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Its name.
    pub name: String,
    /// How its contents agree.
    pub agreement: Agreement,
}

/// Compares two runs of a description. Buffers are compared byte for byte and, where bytes differ,
/// by the description's comparison; variables of both runs are compared byte for byte.
pub fn compare(
    description: &LaunchDescription,
    expected: &DeviceMemory,
    actual: &DeviceMemory,
) -> Vec<Comparison> {
    let buffers = description
        .buffers()
        .iter()
        .zip(expected.buffers.iter().zip(&actual.buffers));
    let buffers = buffers.map(|(buffer, (expected, actual))| Comparison {
        name: buffer.name.clone(),
        agreement: if expected == actual {
            Agreement::Identical
        } else {
            match buffer.compare(&expected.bytes, &actual.bytes) {
                Ok(()) => Agreement::Allowed,
                Err(difference) => Agreement::Different(difference),
            }
        },
    });
    let variables = expected.variables.iter().filter_map(|expected| {
        let actual = actual
            .variables
            .iter()
            .find(|actual| actual.name == expected.name)?;
        Some(Comparison {
            name: expected.name.clone(),
            agreement: compare_bytes(&expected.bytes, &actual.bytes),
        })
    });
    buffers.chain(variables).collect()
}

/// Returns the first byte that differs or exists in only one of them.
fn compare_bytes(expected: &[u8], actual: &[u8]) -> Agreement {
    let longest = expected.len().max(actual.len());
    let Some(index) = (0..longest).find(|&index| expected.get(index) != actual.get(index)) else {
        return Agreement::Identical;
    };
    let show = |bytes: &[u8]| {
        bytes
            .get(index)
            .map_or_else(|| "its end".to_owned(), |byte| format!("{byte:#04x}"))
    };
    Agreement::Different(Difference {
        index,
        expected: show(expected),
        actual: show(actual),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_differ_in_a_byte_or_in_length() {
        assert_eq!(compare_bytes(&[1, 2], &[1, 2]), Agreement::Identical);
        let difference = |expected: &[u8], actual: &[u8]| match compare_bytes(expected, actual) {
            Agreement::Different(difference) => difference.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            difference(&[1, 2], &[1, 3]),
            "element 1: expected 0x02, found 0x03"
        );
        assert_eq!(
            difference(&[1, 2], &[1]),
            "element 1: expected 0x02, found its end"
        );
    }
}
