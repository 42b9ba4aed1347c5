//! The report's lines and their schema have the same fields.

use super::*;
use crate::occupancy::Limiter;
use crate::pressure::FunctionPressure;
use crate::ptxas::PtxasFigures;
use crate::warnings::{Warning, WarningKind};
use oriel_engine::live::LiveRangeCalc;
use oriel_engine::snapshot::sample::counting_loop;
use serde_json::Value;
use std::collections::BTreeSet;

const SCHEMA: &str = include_str!("../../../docs/report.schema.json");

fn keys(value: &Value) -> BTreeSet<String> {
    value
        .as_object()
        .expect("it is an object")
        .keys()
        .cloned()
        .collect()
}

/// Figures of which none is missing.
fn all_figures() -> CodeFigures<'static> {
    CodeFigures {
        peak_pressure_r32: 1,
        peak_pressure_pred: 2,
        peak_block: Some(0),
        peak_file: Some("k.cu".into()),
        peak_line: Some(3),
        static_shared_bytes: 0,
        registers_estimate: Some(4),
        registers_estimate_low: Some(3),
        registers_estimate_high: Some(5),
        registers_estimate_reasons: Some(vec![ReasonFigure {
            cause: "loads in flight",
            registers: 2,
        }]),
        registers_estimate_unlike: Some("calls"),
        registers_estimate_optimized: Some(4),
        spill_risk_percent: Some(0),
        registers_limit: Some(32),
        occupancy: Some(OccupancyFigures {
            occupancy_threads_per_block: 128,
            occupancy_blocks_per_sm: 16,
            occupancy_warps_per_sm: 64,
            occupancy_max_warps_per_sm: 64,
            occupancy_limiter: Limiter::Warps,
            registers_for_more_warps: Some(32),
            registers_for_fewer_warps: Some(41),
        }),
        warnings: vec![Warning {
            kind: WarningKind::WideIndex,
            place: None,
            problem: "a quotient".to_owned(),
            cost: "instructions".to_owned(),
            remedy: "32 bits".to_owned(),
        }],
    }
}

#[test]
fn the_schema_has_the_fields_that_are_written() {
    let owned = counting_loop();
    let pressure = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new());
    let ptxas = PtxasFigures {
        ptxas_registers: Some(8),
        ..PtxasFigures::default()
    };
    let mut report = CodeReport::new(&pressure, Some(ptxas)).with_details(&pressure);
    report.figures = all_figures();
    let statistics = Statistics::default();
    let line = FunctionReport {
        module: "m".into(),
        function: "f".into(),
        is_kernel: true,
        sm: 80,
        ptx_version: 70,
        stage: "late",
        hash: Some("1f".to_owned()),
        blocks: 1,
        instructions_in: 1,
        instructions_out: 1,
        registers: 1,
        outcome: PlanOutcome::Failed,
        problem: Some("none"),
        figures: Some(all_figures()),
        validation: Some(Validation {
            is_proved: false,
            doubt: Some("none"),
        }),
        phases: &statistics,
        phase_ns: PhaseTimes(&statistics),
        export_ns: 1,
        library_ns: 1,
        apply_ns: 1,
        analysis_ns: 1,
        oriel_ns: 4,
    };
    let (report, line) = (
        serde_json::to_value(&report).unwrap(),
        serde_json::to_value(&line).unwrap(),
    );
    let mut written: BTreeSet<String> = keys(&report).union(&keys(&line)).cloned().collect();
    // Absent if no phase ran.
    written.extend(["phases".to_owned(), "phase_ns".to_owned()]);
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(keys(&schema["properties"]), written);

    let definitions = &schema["$defs"];
    let peak = &report["peaks"][0];
    let parts = [
        ("peak", peak),
        ("place", &peak["place"]),
        ("value", &peak["values"][0]),
        ("block_pressure", &report["block_pressure"][0]),
        ("depth_pressure", &report["loop_depths"][0]),
        ("warning", &report["warnings"][0]),
    ];
    for (definition, part) in parts {
        assert_eq!(
            keys(&definitions[definition]["properties"]),
            keys(part),
            "{definition}"
        );
    }
}

#[test]
fn the_schema_has_the_kinds_of_warnings() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let kinds = WarningKind::ALL.map(|kind| serde_json::to_value(kind).unwrap());
    assert_eq!(
        schema["$defs"]["warning"]["properties"]["kind"]["enum"],
        Value::from(kinds.to_vec())
    );
    for (kind, written) in WarningKind::ALL.into_iter().zip(kinds) {
        assert_eq!(written, kind.name());
    }
}

#[test]
fn the_remark_says_when_the_estimate_is_a_guess() {
    let owned = counting_loop();
    let pressure = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new());
    let text = |figures: &CodeFigures<'_>| {
        let remarks = code_remarks(&pressure, figures);
        let remark = remarks.iter().find(|remark| remark.name == "RegisterEstimate");
        let pieces = remark.expect("there is an estimate").pieces.iter();
        pieces.map(|piece| piece.text.as_str()).collect::<String>()
    };
    let unlike = all_figures();
    let guess = "(3 to 5) is only a guess: unlike all that was measured in calls; launch bounds allow 32";
    assert!(text(&unlike).contains(guess), "{}", text(&unlike));
    let like = CodeFigures {
        registers_estimate_unlike: None,
        ..unlike
    };
    assert!(
        text(&like).contains("(3 to 5); launch bounds allow 32"),
        "{}",
        text(&like)
    );
}

#[test]
fn figures_that_are_not_known_are_left_out() {
    let owned = counting_loop();
    let pressure = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new());
    // In SSA form there is no estimate, and without debug information no line.
    let report = serde_json::to_value(CodeReport::new(&pressure, None)).unwrap();
    let absent = [
        "registers_estimate",
        "occupancy_warps_per_sm",
        "peak_line",
        "ptxas_stack_bytes",
        "peaks",
    ];
    assert!(absent.iter().all(|field| report.get(field).is_none()));
    assert_eq!(report["peak_pressure_r32"], 1);
}
