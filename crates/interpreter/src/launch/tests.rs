use proptest::prelude::*;

use super::*;

const GOOD: &str = r#"
description = "two of everything"

[[buffer]]
name = "x"
element = "f32"
length = 3
role = "in"
initial = { sequence = { start = 1, step = 0.5 } }

[[buffer]]
name = "y"
element = "i16"
length = 4
role = "inout"
initial = { values = [1, -1, 300, "0x7fff"] }
compare = "unordered"

[[launch]]
kernel = "first"
grid = [2, 1, 1]
block = [32, 2, 1]
dynamic_shared_bytes = 64
arguments = [{ buffer = "x" }, { buffer = "y", offset_bytes = 2 }, { u64 = "0xffffffffffffffff" }, { f16 = 1.0 }]

[[launch]]
kernel = "second"
grid = [1, 1, 1]
block = [1, 1, 1]
arguments = [{ bytes = "00ff10" }, { struct = [{ u8 = 1 }, { buffer = "y" }, { i32 = -2 }] }]
"#;

fn parse(text: &str) -> Result<LaunchDescription, LaunchError> {
    LaunchDescription::parse(text, "test.toml")
}

/// Returns the error of the good description with one text replaced by another.
fn error_after(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn good_description() {
    let description = parse(GOOD).unwrap();
    let [x, y] = description.buffers() else {
        panic!("two buffers")
    };
    assert_eq!((&x.name[..], &y.name[..]), ("x", "y"));
    assert_eq!(
        x.initial_bytes(),
        [1.0f32, 1.5, 2.0].map(f32::to_le_bytes).concat()
    );
    assert_eq!(
        y.initial_bytes(),
        [1i16, -1, 300, 32767].map(i16::to_le_bytes).concat()
    );
    assert_eq!(
        (x.comparison, y.comparison),
        (Comparison::Exact, Comparison::Unordered)
    );

    let [first, second] = &description.launches[..] else {
        panic!("two launches")
    };
    assert_eq!(
        (first.grid, first.block, first.dynamic_shared_bytes),
        ([2, 1, 1], [32, 2, 1], 64)
    );
    let address_of = |buffer: BufferId| 0x1000 * (buffer.index() as u64 + 1);
    let bytes: Vec<_> = first
        .arguments
        .iter()
        .map(|argument| argument.to_bytes(&address_of))
        .collect();
    assert_eq!(bytes[0], 0x1000u64.to_le_bytes());
    assert_eq!(bytes[1], 0x2002u64.to_le_bytes());
    assert_eq!(bytes[2], [0xff; 8]);
    assert_eq!(bytes[3], [0x00, 0x3c]);
    assert_eq!(second.arguments[0].to_bytes(&address_of), [0x00, 0xff, 0x10]);
    let mut fields = vec![1, 0, 0, 0, 0, 0, 0, 0];
    fields.extend(0x2000u64.to_le_bytes());
    fields.extend((-2i32).to_le_bytes());
    fields.extend([0; 4]);
    assert_eq!(second.arguments[1].to_bytes(&address_of), fields);
}

#[test]
fn errors_say_what_is_allowed() {
    for (from, to, key, allowed) in [
        (
            "length = 3",
            "length = 0",
            "buffer `x`.length",
            "1 to 67108864 are allowed",
        ),
        (
            "name = \"y\"",
            "name = \"x\"",
            "buffer[1].name",
            "an earlier buffer",
        ),
        (
            "[1, -1, 300,",
            "[1, -1,",
            "buffer `y`.initial.values",
            "3 values for a buffer of 4",
        ),
        (
            "[1, -1, 300,",
            "[1, -1, 40000,",
            "buffer `y`.initial.values[2]",
            "-32768 to 32767 are allowed",
        ),
        (
            "[1, -1, 300,",
            "[1, -1, 0.5,",
            "buffer `y`.initial.values[2]",
            "an integer is needed",
        ),
        (
            "\"unordered\"",
            "{ absolute = 1, relative = 1 }",
            "buffer `y`.compare",
            "for floating point",
        ),
        (
            "role = \"inout\"",
            "role = \"in\"",
            "buffer `y`.compare",
            "has no comparison",
        ),
        (
            "\"first\"",
            "\"1st\"",
            "launch[0].kernel",
            "not the name of a kernel",
        ),
        (
            "grid = [2, 1, 1]",
            "grid = [2, 0, 1]",
            "launch[0].grid",
            "0 in y: 1 to 65535 are allowed",
        ),
        (
            "block = [32, 2, 1]",
            "block = [32, 2, 65]",
            "launch[0].block",
            "65 in z: 1 to 64 are allowed",
        ),
        (
            "block = [32, 2, 1]",
            "block = [32, 33, 1]",
            "launch[0].block",
            "at most 1024 are allowed",
        ),
        (
            "bytes = 64",
            "bytes = 999999",
            "launch[0].dynamic_shared_bytes",
            "at most 232448 are allowed",
        ),
        (
            "{ buffer = \"x\" }",
            "{ buffer = \"z\" }",
            "launch[0].arguments[0].buffer",
            "there are `x`, `y`",
        ),
        (
            "offset_bytes = 2",
            "offset_bytes = 3",
            "arguments[1].offset_bytes",
            "a multiple of 2 below 8",
        ),
        (
            "offset_bytes = 2",
            "offset_bytes = 8",
            "arguments[1].offset_bytes",
            "a multiple of 2 below 8",
        ),
        ("f16 = 1.0", "f16 = 1e9", "arguments[3].f16", "too large for f16"),
        (
            "f16 = 1.0",
            "f16 = 1.0, f32 = 1.0",
            "arguments[3]",
            "2 values: one of `buffer`, `bytes`",
        ),
        (
            "{ f16 = 1.0 }",
            "{}",
            "arguments[3]",
            "0 values: one of `buffer`, `bytes`",
        ),
        (
            "f16 = 1.0",
            "f16 = 1.0, offset_bytes = 0",
            "arguments[3].offset_bytes",
            "with `buffer` only",
        ),
        (
            "\"00ff10\"",
            "\"00ff1\"",
            "launch[1].arguments[0].bytes",
            "pairs of hexadecimal digits",
        ),
        (
            "{ u8 = 1 }",
            "{ struct = [] }",
            "launch[1].arguments[1].struct[0].struct",
            "at least one field",
        ),
        (
            "{ u8 = 1 }",
            "{ u8 = -1 }",
            "launch[1].arguments[1].struct[0].u8",
            "0 to 255 are allowed",
        ),
    ] {
        let message = error_after(from, to);
        assert!(message.starts_with("test.toml: "), "{message}");
        assert!(
            message.contains(key) && message.contains(allowed),
            "{to}: {message}"
        );
    }
}

#[test]
fn syntax_errors_name_the_allowed_keys() {
    for (from, to, allowed) in [
        (
            "role = \"in\"",
            "roll = \"in\"",
            "unknown field `roll`, expected one of `name`, `element`",
        ),
        (
            "role = \"in\"",
            "role = \"input\"",
            "unknown variant `input`, expected one of `in`, `out`, `inout`",
        ),
        (
            "element = \"f32\"",
            "element = \"float\"",
            "expected one of `i8`, `u8`",
        ),
        (
            "grid = [2, 1, 1]",
            "grid = [2, 1]",
            "invalid length 2, expected an array of length 3",
        ),
        ("\"unordered\"", "\"sorted\"", "\"exact\", \"unordered\" or"),
        ("\"0x7fff\"", "\"0x+7fff\"", "an integer up to 2^64 - 1 as text"),
        (
            "step = 0.5",
            "stride = 0.5",
            "unexpected keys in table: stride, available keys: start, step",
        ),
        (
            "{ f16 = 1.0 }",
            "{ half = 1.0 }",
            "unknown field `half`, expected one of `buffer`",
        ),
        ("kernel = \"first\"", "", "missing field `kernel`"),
    ] {
        let message = error_after(from, to);
        assert!(message.starts_with("test.toml: "), "{message}");
        assert!(message.contains(allowed), "{to}: {message}");
    }
}

#[test]
fn missing_file() {
    let message = LaunchDescription::load("no/such/file.toml")
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("no/such/file.toml: cannot be read: "),
        "{message}"
    );
}

#[test]
fn sequences_are_checked_at_both_ends() {
    let sequence = |text: &str| error_after("{ values = [1, -1, 300, \"0x7fff\"] }", text);
    let message = sequence("{ sequence = { start = 0, step = 20000 } }");
    assert!(
        message.contains("sequence (last element): 60000 is not a i16"),
        "{message}"
    );
    let message = sequence("{ sequence = { start = 0, step = 0.5 } }");
    assert!(message.contains("an integer is needed"), "{message}");
    let message = sequence("{ uniform = { seed = 1, low = 3, high = 2 } }");
    assert!(message.contains("low 3 to high 2 is not a range"), "{message}");
}

/// Pins the specified contents: every implementation of the format must produce these numbers.
#[test]
fn random_contents() {
    let with = |element: &str, initial: &str| {
        let text = GOOD.replacen("\"f32\"", element, 1).replacen(
            "{ sequence = { start = 1, step = 0.5 } }",
            initial,
            1,
        );
        parse(&text).unwrap().buffers()[0].initial_bytes()
    };
    // The generator's first output for this seed is 0x599ed017fb08fc85.
    assert_eq!(
        with("\"u32\"", "{ random = { seed = 1234567 } }")[..4],
        0xfb08_fc85u32.to_le_bytes()
    );
    assert_eq!(with("\"u8\"", "{ random = { seed = 1234567 } }")[0], 0x85);
    assert_eq!(
        with("\"i32\"", "{ uniform = { seed = 1234567, low = -5, high = 5 } }")[..4],
        (-5 + (0x599e_d017_fb08_fc85u64 % 11) as i32).to_le_bytes()
    );
    assert_eq!(
        with(
            "\"f64\"",
            "{ uniform = { seed = 1234567, low = -1.0, high = 3.0 } }"
        )[..8],
        (-1.0 + 4.0 * ((0x599e_d017_fb08_fc85u64 >> 11) as f64 / 2f64.powi(53))).to_le_bytes()
    );
}

fn element() -> impl Strategy<Value = Element> {
    proptest::sample::select(Element::ALL.to_vec())
}

fn initial() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"zero\"".to_owned()),
        (0..100).prop_map(|value| format!("{{ constant = {value} }}")),
        (0..20, 0..2)
            .prop_map(|(start, step)| format!("{{ sequence = {{ start = {start}, step = {step} }} }}")),
        (any::<u32>(), 0..50, 0..50).prop_map(|(seed, low, more)| format!(
            "{{ uniform = {{ seed = {seed}, low = {low}, high = {} }} }}",
            low + more
        )),
        any::<u32>().prop_map(|seed| format!("{{ random = {{ seed = {seed} }} }}")),
    ]
}

proptest! {
    /// Every accepted description has contents of the right size, and a shorter buffer has the
    /// beginning of a longer one.
    #[test]
    fn initial_contents_have_the_buffers_size(element in element(), initial in initial(), length in 1usize..40) {
        let contents = |length: usize| {
            let text = format!(
                "description = \"\"\n[[buffer]]\nname = \"b\"\nelement = \"{element}\"\nlength = {length}\nrole = \"out\"\n\
                 initial = {initial}\n[[launch]]\nkernel = \"k\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\narguments = []\n"
            );
            let description = parse(&text).unwrap();
            let buffer = &description.buffers()[0];
            let bytes = buffer.initial_bytes();
            assert_eq!(bytes.len(), buffer.size_bytes());
            assert_eq!(buffer.compare(&bytes, &bytes), Ok(()));
            bytes
        };
        let (shorter, longer) = (contents(length), contents(length + 3));
        prop_assert_eq!(&shorter[..], &longer[..shorter.len()]);
    }

    /// Damaged descriptions give an error or a description, never a panic.
    #[test]
    fn damaged_text_does_not_panic(at in 0..GOOD.len(), replacement in "[-\\]\\[{}=\"a-z0-9.,\n]{0,3}", cut in 0usize..4) {
        let mut text = GOOD.to_owned();
        text.replace_range(at..(at + cut).min(GOOD.len()), &replacement);
        if let Ok(description) = parse(&text) {
            for buffer in description.buffers().iter().filter(|buffer| buffer.length < 10_000) {
                prop_assert_eq!(buffer.initial_bytes().len(), buffer.size_bytes());
            }
        }
    }
}
