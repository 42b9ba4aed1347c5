//! Generates `oriel_abi.h` from the declarations of Rust's types, so that the two sides cannot
//! differ.

use std::path::Path;

/// The files with the declarations.
pub const SOURCES: [&str; 3] = [
    "crates/engine/src/snapshot/records.rs",
    "crates/ori/src/plan/records.rs",
    "src/ffi/tables.rs",
];

const BEGIN: &str = "\
//===- oriel_abi.h - The C ABI between LLVM and the Rust library ----------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \\file
/// Flat, pointer-free records that carry one machine function out of LLVM (the
/// snapshot) and the answer back (the plan). Written by `cpp-shim/abi_header.rs`
/// from the declarations in Rust.
///
/// Conventions
///  - Every record consists of fixed-width integers without padding.
///  - A record `X` that owns a range of records `Y` has only the field
///    `first_y`. Its range ends where the next `X` begins; each such array has
///    one sentinel record past its last element.
///  - A field documented as \"one-based\" is an index plus one; zero means \"none\".
///  - Nothing in the arrays outlives the call that passes them.
///
//===----------------------------------------------------------------------===//

#ifndef ORIEL_ABI_H
#define ORIEL_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <type_traits>
";

const END: &str = "\n#endif // ORIEL_ABI_H\n";

/// The longest line of a comment.
const WIDTH: usize = 80;

/// A declaration: its kind, and its size or type.
struct Item {
    docs: &'static [&'static str],
    kind: &'static str,
    name: &'static str,
    c_name: &'static str,
    size: &'static str,
    fields: Vec<Field>,
}

/// A field, value or flag, with its offset, value or bit.
struct Field {
    docs: &'static [&'static str],
    number: &'static str,
    name: &'static str,
    type_name: &'static str,
}

macro_rules! abi {
    ($(
        $(#[doc = $doc:literal])*
        $kind:ident $name:ident = $c_name:literal $(, $size:tt)? {
            $( $(#[doc = $field_doc:literal])* $number:literal $field:ident $(: $type:ty)?, )*
        }
    )*) => {
        vec![$(
            Item {
                docs: &[$( $doc ),*],
                kind: stringify!($kind),
                name: stringify!($name),
                c_name: $c_name,
                size: concat!($( stringify!($size) )?),
                fields: vec![$(
                    Field {
                        docs: &[$( $field_doc ),*],
                        number: stringify!($number),
                        name: stringify!($field),
                        type_name: concat!($( stringify!($type) )?),
                    },
                )*],
            },
        )*]
    };
}

/// Writes the header into a folder.
pub fn write(folder: &Path) {
    let mut items: Vec<Item> = include!("../crates/engine/src/snapshot/records.rs");
    items.extend(include!("../crates/ori/src/plan/records.rs"));
    items.extend(include!("../src/ffi/tables.rs"));
    let mut text = BEGIN.to_owned();
    for item in &items {
        text += "\n";
        item.write(&items, &mut text);
    }
    text += END;
    let file = folder.join("oriel_abi.h");
    std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

impl Item {
    fn write(&self, items: &[Item], out: &mut String) {
        write_comment(items, self.docs, "", out);
        match self.kind {
            "constants" => self.write_values(items, out, |name, value| {
                let value = value.replace('_', "");
                format!("#define {name} {value}u")
            }),
            "c_enum" | "numbers" => self.write_enum(items, out, |name, value| format!("  {name} = {value},")),
            "flags" => self.write_enum(items, out, |name, bit| format!("  {name} = 1u << {bit},")),
            _ => self.write_struct(items, out),
        }
    }

    fn write_enum(&self, items: &[Item], out: &mut String, line: impl Fn(&str, &str) -> String) {
        *out += &format!("enum {} {{\n", self.c_type());
        self.write_values(items, out, line);
        *out += "};\n";
    }

    fn write_values(&self, items: &[Item], out: &mut String, line: impl Fn(&str, &str) -> String) {
        for field in &self.fields {
            let line = line(&self.c_value(field.name), field.number);
            let indent = &line[..line.len() - line.trim_start().len()];
            write_comment(items, field.docs, indent, out);
            *out += &line;
            *out += "\n";
        }
    }

    /// Writes the struct, and assertions that its layout is the same as in Rust.
    fn write_struct(&self, items: &[Item], out: &mut String) {
        let c_name = self.c_name;
        *out += &format!("struct {c_name} {{\n");
        for field in &self.fields {
            write_comment(items, field.docs, "  ", out);
            *out += &format!("  {};\n", declaration(items, field));
        }
        *out += &format!(
            "}};\n\
             static_assert(sizeof({c_name}) == {});\n\
             static_assert(std::has_unique_object_representations_v<{c_name}>);\n",
            self.size
        );
        for field in &self.fields {
            let (field, offset) = (c_field(field.name), field.number);
            *out += &format!("static_assert(offsetof({c_name}, {field}) == {offset});\n");
        }
    }

    /// Returns the name of the type in C. Enumerations and flags have Rust's.
    fn c_type(&self) -> String {
        match self.kind {
            "c_enum" | "numbers" | "flags" => format!("Oriel{}", self.name),
            _ => self.c_name.to_owned(),
        }
    }

    /// Returns the name in C of one of the item's values.
    fn c_value(&self, name: &str) -> String {
        let mut c_name = self.c_name.to_owned();
        let is_camel = name.contains(char::is_lowercase);
        for (place, letter) in name.chars().enumerate() {
            if place == 0 || is_camel && letter.is_uppercase() {
                c_name.push('_');
            }
            c_name.push(letter.to_ascii_uppercase());
        }
        c_name
    }
}

/// Returns the name of a field, which in Rust may be a word that C++ reserves.
fn c_field(name: &str) -> &str {
    match name {
        "register" => "virtual_register",
        name => name,
    }
}

fn declaration(items: &[Item], field: &Field) -> String {
    let name = c_field(field.name);
    if let Some(pointee) = field.type_name.strip_prefix("*const ") {
        // Bytes are those of strings.
        let pointee = match pointee {
            "u8" => "char".to_owned(),
            _ => c_type(items, pointee),
        };
        return format!("const {pointee} *{name}");
    }
    let array = field
        .type_name
        .strip_prefix('[')
        .and_then(|array| array.strip_suffix(']'));
    match array.and_then(|array| array.split_once("; ")) {
        Some((element, count)) => format!("{} {name}[{count}]", c_type(items, element)),
        None => format!("{} {name}", c_type(items, field.type_name)),
    }
}

fn c_type(items: &[Item], name: &str) -> String {
    match (name.split_at(1), items.iter().find(|item| item.name == name)) {
        (_, Some(item)) => item.c_type(),
        (("u", bits), None) => format!("uint{bits}_t"),
        (("i", bits), None) => format!("int{bits}_t"),
        _ => panic!("{name} has no name in C"),
    }
}

/// Writes a comment in lines, with C names.
fn write_comment(items: &[Item], docs: &[&str], indent: &str, out: &mut String) {
    let mut line = String::new();
    for word in docs.iter().flat_map(|doc| doc.split_whitespace()) {
        let word = with_c_names(items, word);
        if !line.is_empty() && indent.len() + "/// ".len() + line.len() + 1 + word.len() > WIDTH {
            *out += &format!("{indent}///{line}\n");
            line.clear();
        }
        line += " ";
        line += &word;
    }
    if !line.is_empty() {
        *out += &format!("{indent}///{line}\n");
    }
}

/// Returns a word of a comment, with the C name if it is a rustdoc link.
fn with_c_names(items: &[Item], word: &str) -> String {
    let Some((before, (name, after))) = word
        .split_once("[`")
        .and_then(|(before, rest)| Some((before, rest.split_once("`]")?)))
    else {
        return word.to_owned();
    };
    let (item, field) = match name.split_once("::") {
        Some((item, field)) => (Some(item), field),
        None => (None, name),
    };
    let of_value = || {
        let of_item = |candidate: &&Item| {
            item.is_none_or(|item| candidate.name == item)
                && candidate.fields.iter().any(|known| known.name == field)
        };
        let item = items.iter().find(of_item)?;
        Some(match item.kind {
            "record" | "table" => format!("{}::{}", item.c_name, c_field(field)),
            _ => item.c_value(field),
        })
    };
    let whole = items.iter().find(|item| item.name == name);
    let c_name = whole.map(Item::c_type).or_else(of_value);
    let c_name = c_name.unwrap_or_else(|| panic!("{name} has no name in C"));
    format!("{before}{c_name}{after}")
}
