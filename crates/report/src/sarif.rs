//! The comparison of two reports as SARIF 2.1.0, which code hosts show as annotations at source
//! lines.
//!
//! A figure that got worse is an error at the line of the peak of pressure, a new warning a warning
//! at its own line. Without debug information, the annotation is on the module's file.

use crate::diff::{Change, ChangeKind, Row, RowWarning};
use crate::warnings::WarningKind;
use serde_json::{Value, json};
use std::path::Path;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The compared figures, each with one line on it.
const FIGURES: [(&str, &str); 9] = [
    ("instructions_out", "More machine instructions"),
    ("peak_pressure_r32", "More registers live at once"),
    ("peak_pressure_pred", "More predicates live at once"),
    ("registers_estimate", "More registers, as estimated"),
    ("spill_risk_percent", "A higher risk of spills"),
    ("ptxas_registers", "More registers by ptxas"),
    ("ptxas_spill_store_bytes", "More bytes of spill stores by ptxas"),
    ("ptxas_spill_load_bytes", "More bytes of spill loads by ptxas"),
    ("occupancy_warps_per_sm", "Fewer warps on a multiprocessor"),
];

/// Returns the log of a comparison. Files below `root` are named relative to it, as code hosts
/// expect.
pub fn log(
    version: &str,
    root: &Path,
    changes: &[Change],
    after: &[Row],
    new: &[(&Row, &RowWarning)],
) -> Value {
    let worse = changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Worse)
        .filter_map(|change| {
            let is_row = |row: &&Row| row.function() == change.function && row.sm() == change.sm;
            Some(worse_figure(root, change, after.iter().find(is_row)?))
        });
    let warnings = new.iter().map(|(row, warning)| new_warning(root, row, warning));
    let results: Vec<Value> = worse.chain(warnings).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "Oriel", "version": version, "rules": rules() } },
            "results": results,
        }],
    })
}

fn rules() -> Vec<Value> {
    let rule = |name: &str, text: &str| json!({ "id": name, "shortDescription": { "text": text } });
    let figures = FIGURES.iter().map(|(name, text)| rule(name, text));
    let warnings = WarningKind::ALL
        .iter()
        .map(|kind| rule(kind.name(), kind.summary()));
    figures.chain(warnings).collect()
}

fn worse_figure(root: &Path, change: &Change, row: &Row) -> Value {
    let (file, line) = row.position();
    let Change {
        function,
        sm,
        field,
        before,
        after,
        ..
    } = change;
    let text = format!("{function} (sm_{sm}): {field} {before} -> {after}");
    result(field, "error", &text, location(root, file, line), function, *sm)
}

fn new_warning(root: &Path, row: &Row, warning: &RowWarning) -> Value {
    let (file, line) = match warning.position() {
        Some((file, line)) => (file, Some(line)),
        None => row.position(),
    };
    let text = format!("{} (sm_{}): {warning}", row.function(), row.sm());
    let place = location(root, file, line);
    result(&warning.kind, "warning", &text, place, row.function(), row.sm())
}

fn result(rule: &str, level: &str, text: &str, location: Value, function: &str, sm: u32) -> Value {
    json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": text },
        "locations": [location],
        // Lines move, but the same complaint on the same function is the same result.
        "partialFingerprints": { "function/v1": format!("{function} sm_{sm} {rule}") },
    })
}

fn location(root: &Path, file: &str, line: Option<u32>) -> Value {
    let path = Path::new(file);
    let inside = path.strip_prefix(root).unwrap_or(path);
    let uri = uri_of(&inside.to_string_lossy());
    let artifact = match inside.is_absolute() {
        true => json!({ "uri": format!("file://{uri}") }),
        false => json!({ "uri": uri, "uriBaseId": "%SRCROOT%" }),
    };
    match line {
        None => json!({ "physicalLocation": { "artifactLocation": artifact } }),
        Some(line) => json!({
            "physicalLocation": { "artifactLocation": artifact, "region": { "startLine": line } }
        }),
    }
}

/// Escapes what a path of an URI may not contain.
fn uri_of(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let escape = |byte: u8| match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' | b'+' | b'@' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Tolerance, compare, new_warnings, read};

    const BEFORE: &str = r#"{"function":"k","sm":80,"stage":"late","registers_estimate":20,"peak_file":"/repo/src/a b.cu","peak_line":7}"#;
    const AFTER: &str = r#"{"function":"k","sm":80,"stage":"late","registers_estimate":22,"peak_file":"/repo/src/a b.cu","peak_line":7,"warnings":[{"kind":"wide_index","place":{"source":[{"file":"inc/x.h","line":3,"column":1,"function":"f"}]},"problem":"p","cost":"c","remedy":"r"}]}"#;

    fn results(before: &str, after: &str) -> Vec<Value> {
        let (before, after) = (read(before).unwrap(), read(after).unwrap());
        let changes = compare(&before, &after, Tolerance::default());
        let log = log(
            "1",
            Path::new("/repo"),
            &changes,
            &after,
            &new_warnings(&before, &after),
        );
        log["runs"][0]["results"].as_array().unwrap().clone()
    }

    #[test]
    fn worse_figures_and_new_warnings_are_at_their_lines() {
        let found = results(BEFORE, AFTER);
        assert_eq!(found.len(), 2);
        let place = &found[0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "src/a%20b.cu");
        assert_eq!(place["region"]["startLine"], 7);
        assert_eq!(
            found[0]["message"]["text"],
            "k (sm_80): registers_estimate 20 -> 22"
        );
        assert_eq!(found[1]["ruleId"], "wide_index");
        let place = &found[1]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "inc/x.h");
        assert_eq!(place["region"]["startLine"], 3);
    }

    #[test]
    fn nothing_is_said_of_what_stayed_or_got_better() {
        assert_eq!(results(AFTER, AFTER), [Value::Null; 0]);
        assert_eq!(results(AFTER, BEFORE), [Value::Null; 0]);
    }

    #[test]
    fn every_rule_of_a_result_is_declared() {
        let declared = rules();
        for result in results(BEFORE, AFTER) {
            assert!(declared.iter().any(|rule| rule["id"] == result["ruleId"]));
        }
    }
}
