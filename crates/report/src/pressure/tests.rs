//! Tests on a loop through which a constant, a sum and a counter are live.

use super::*;
use oriel_engine::snapshot::OwnedSnapshot;
use oriel_engine::snapshot::abi::{
    InstructionRecord, LocationRecord, OpcodeFlags, OpcodeRecord, OperandFlags, OperandKind, OperandRecord,
    RegisterRecord, VariableRecord,
};
use oriel_engine::snapshot::sample::{B32, counting_loop};

fn operand(kind: OperandKind, index: u32, flags: OperandFlags) -> OperandRecord {
    OperandRecord {
        kind: kind as u8,
        flags: flags.bits(),
        index,
        ..OperandRecord::default()
    }
}

fn def(index: u32) -> OperandRecord {
    operand(OperandKind::Register, index, OperandFlags::DEF)
}

fn used(index: u32) -> OperandRecord {
    operand(OperandKind::Register, index, OperandFlags::empty())
}

fn block(index: u32) -> OperandRecord {
    operand(OperandKind::Block, index, OperandFlags::empty())
}

fn one() -> OperandRecord {
    OperandRecord {
        value: 1,
        ..operand(OperandKind::Immediate, 0, OperandFlags::empty())
    }
}

/// Opcodes of the sample, plus one.
const MOV: u32 = 0;
const PHI: u32 = 1;
const ADD: u32 = 2;
const SETP: u32 = 3;
const CBRANCH: u32 = 4;
const GOTO: u32 = 5;
const RETURN: u32 = 6;
const DEBUG: u32 = 7;

/// ```text
/// bb.0:  @0 %0 = 1   @1 %4 = 1   @2 debug %4, !seven   @3 %5 = %4 + 1
/// bb.1:  @4 %1 = phi %0, %2   @5 %2 = %1 + 1   @6 %3 = %2 < 1   @7 branch %3, bb.1   @8 goto bb.2
/// bb.2:  @9 %6 = %4 + %5   @10 return
/// ```
fn with_live_through() -> OwnedSnapshot {
    let mut snapshot = counting_loop();
    snapshot.registers.extend(
        [RegisterRecord {
            register_class: B32,
            flags: 0,
        }; 3],
    );
    let (name, file, function) = (
        snapshot.add_string("DBG_VALUE"),
        snapshot.add_string("k.cu"),
        snapshot.add_string("count"),
    );
    snapshot.opcodes.push(OpcodeRecord {
        name,
        flags: OpcodeFlags::DEBUG.bits(),
        ..OpcodeRecord::default()
    });
    let name = snapshot.add_string("seven");
    snapshot.variables.push(VariableRecord {
        name,
        ..VariableRecord::default()
    });
    // Location 2 is inlined at location 1.
    for (line, inlined_at) in [(10, 0), (3, 1)] {
        snapshot.locations.push(LocationRecord {
            file,
            function,
            line,
            inlined_at,
            ..LocationRecord::default()
        });
    }
    let debug = operand(OperandKind::Register, 4, OperandFlags::DEBUG);
    let variable = operand(OperandKind::Variable, 0, OperandFlags::empty());
    let body: [(u32, u32, &[OperandRecord]); 11] = [
        (MOV, 0, &[def(0), one()]),
        (MOV, 2, &[def(4), one()]),
        (DEBUG, 0, &[debug, variable]),
        (ADD, 1, &[def(5), used(4), one()]),
        (PHI, 0, &[def(1), used(0), block(0), used(2), block(1)]),
        (ADD, 0, &[def(2), used(1), one()]),
        (SETP, 0, &[def(3), used(2), one()]),
        (CBRANCH, 0, &[used(3), block(1)]),
        (GOTO, 0, &[block(2)]),
        (ADD, 1, &[def(6), used(4), used(5)]),
        (RETURN, 0, &[]),
    ];
    snapshot.operands.clear();
    snapshot.instructions.clear();
    for (opcode, location, operands) in body.into_iter().chain([(0, 0, [].as_slice())]) {
        snapshot.instructions.push(InstructionRecord {
            opcode,
            location,
            first_operand: snapshot.operands.len() as u32,
            ..InstructionRecord::default()
        });
        snapshot.operands.extend_from_slice(operands);
    }
    for (block, first) in snapshot.blocks.iter_mut().zip([0, 4, 9, 11]) {
        block.first_instruction = first;
    }
    snapshot.view().check().expect("the sample is well formed");
    snapshot
}

#[test]
fn peaks_have_places_values_and_variables() {
    let owned = with_live_through();
    let pressure = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new());
    let details = pressure.details();
    let [general, predicate] = &details.peaks[..] else {
        panic!("there are two files");
    };
    assert_eq!((general.file, general.units), ("r32", 3));
    let found: Vec<_> = general
        .values
        .iter()
        .map(|value| {
            (
                value.register,
                value.relief,
                value.last_use.as_ref().map(|place| place.instruction),
            )
        })
        .collect();
    // The peak is first reached before the loop, where the counter gets its first value.
    assert_eq!(
        found,
        [
            (0, Some(Relief::ComputeAtUse), Some(4)),
            (4, Some(Relief::ComputeAtUse), Some(9)),
            (5, None, Some(9))
        ]
    );
    assert_eq!(predicate.units, 1);
    let place = predicate.place.as_ref().unwrap();
    assert_eq!((place.block, place.instruction, predicate.loop_depth), (1, 6, 1));
}

#[test]
fn what_is_not_used_in_the_loop_could_leave_it() {
    let owned = with_live_through();
    let pressure = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new());
    let snapshot = pressure.snapshot();
    let variables = variables::VariableMap::of(&snapshot);
    let loops = region::loops_of(&snapshot);
    let (block, index) = (snapshot.blocks().nth(1).unwrap(), Instruction::from_u32(5));
    let describer = value::Describer {
        snapshot: &snapshot,
        intervals: pressure.intervals(),
        variables: &variables,
    };
    let index = pressure
        .intervals()
        .indexes()
        .instruction_index(index)
        .dead_slot();
    let region = region::Region::around(&snapshot, &loops, block);
    let values = describer.values_at(PressureFile::General, index, &region);
    let reliefs: Vec<_> = values
        .iter()
        .map(|value| (value.register, value.relief))
        .collect();
    assert_eq!(
        reliefs,
        [
            (4, Some(Relief::ComputeBehind)),
            (5, Some(Relief::KeepInMemory)),
            (2, None)
        ]
    );
    assert_eq!(values[0].variables, ["seven"]);
    assert!(values[1].variables.is_empty());
    let definition = values[0].definition.as_ref().unwrap();
    assert_eq!(
        definition.to_string(),
        "bb.0 @1 MOV_B32_i, k.cu:3 inlined at k.cu:10"
    );
    assert_eq!(values[0].class, "b32");
}

#[test]
fn blocks_and_depths_have_peaks() {
    let owned = with_live_through();
    let details = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new()).details();
    let blocks: Vec<_> = details
        .block_pressure
        .iter()
        .map(|block| {
            (
                block.loop_depth,
                block.peak_pressure_r32,
                block.peak_pressure_pred,
            )
        })
        .collect();
    assert_eq!(blocks, [(0, 3, 0), (1, 3, 1), (0, 2, 0)]);
    let depths: Vec<_> = details
        .loop_depths
        .iter()
        .map(|depth| {
            (
                depth.loop_depth,
                depth.peak_pressure_r32,
                depth.peak_pressure_pred,
            )
        })
        .collect();
    assert_eq!(depths, [(0, 3, 0), (1, 3, 1)]);
}

#[test]
fn a_function_without_registers_has_no_peak() {
    let mut owned = counting_loop();
    owned.instructions.drain(..6);
    owned
        .instructions
        .iter_mut()
        .for_each(|record| record.first_operand = 0);
    owned.operands.clear();
    owned.edges.clear();
    owned.predecessors.clear();
    owned.blocks.drain(..2);
    for (block, first) in owned.blocks.iter_mut().zip([0, 1]) {
        (
            block.first_instruction,
            block.first_successor,
            block.first_predecessor,
        ) = (first, 0, 0);
    }
    let details = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new()).details();
    assert!(
        details
            .peaks
            .iter()
            .all(|peak| peak.units == 0 && peak.place.is_none() && peak.values.is_empty())
    );
}
