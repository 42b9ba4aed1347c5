//! The page's data match the report and stay inside their script elements.

use super::*;
use crate::estimate::CallGraph;
use crate::pressure::file_name;
use oriel_engine::live::pressure::PressureFile as RegisterFile;
use oriel_engine::live::testing::{Random, random_function};
use oriel_engine::snapshot::abi::StringRecord;
use oriel_engine::snapshot::sample::counting_loop;
use proptest::prelude::*;
use serde_json::Value;

/// A page of functions.
fn page_of(functions: &[OwnedSnapshot]) -> String {
    let mut page = PageWriter::new(Vec::new()).unwrap();
    for function in functions {
        let pressure = FunctionPressure::compute(function.view(), &mut LiveRangeCalc::new());
        let shown = PageFunction {
            report: CodeReport::new(&pressure, None),
            effects: Vec::new(),
            llvm: Some(Comparison::new(&pressure, None, &CallGraph::default())),
        };
        page.add(&shown, &pressure).unwrap();
    }
    String::from_utf8(page.out).unwrap()
}

/// Reads the data of a class in a page as a browser does: a script ends at the first `</script`.
fn data_of(page: &str, class: &str) -> Vec<Value> {
    let start = format!("<script type=\"application/json\" class=\"{class}\">");
    page.split(&start)
        .skip(1)
        .map(|rest| {
            let end = rest.to_ascii_lowercase().find("</script").unwrap();
            serde_json::from_str(&rest[..end]).unwrap()
        })
        .collect()
}

fn numbers(value: &Value) -> Vec<i64> {
    let items = value.as_array().unwrap().iter();
    items.map(|it| it.as_i64().unwrap()).collect()
}

fn sums(value: &Value) -> Vec<i64> {
    let mut last = 0;
    let add = |difference| {
        last += difference;
        last
    };
    numbers(value).into_iter().map(add).collect()
}

/// The text of each row.
fn texts(code: &Value) -> Vec<String> {
    let mut registers = numbers(&code["registers"]).into_iter();
    let forms = numbers(&code["form"]).into_iter();
    forms
        .map(|form| {
            let form = &code["forms"][form as usize];
            let roles = form[0].as_str().unwrap().len();
            let pieces = form.as_array().unwrap()[1..].iter();
            let mut text = String::new();
            for (number, piece) in pieces.enumerate() {
                text += piece.as_str().unwrap();
                if number < roles {
                    text += &format!("%{}", registers.next().unwrap());
                }
            }
            text
        })
        .collect()
}

/// Returns the units of a file that are live at each moment.
fn units(code: &Value, file: &str) -> Vec<i64> {
    let rows = code["form"].as_array().unwrap().len();
    let mut changes = vec![0; 4 * rows + 1];
    let values = &code["values"];
    let mut segments = numbers(&values["segments"]).into_iter();
    let classes = numbers(&values["class"]).into_iter();
    for (class, count) in classes.zip(numbers(&values["segment_count"])) {
        let class = &values["classes"][class as usize];
        let mut moment = 0;
        for end in 0..2 * count {
            moment += segments.next().unwrap();
            let sign = if end % 2 == 0 { 1 } else { -1 };
            if class[1] == file {
                changes[moment as usize] += sign * class[2].as_i64().unwrap();
            }
        }
    }
    let mut live = 0;
    let add = |change| {
        live += change;
        live
    };
    changes.into_iter().map(add).collect()
}

/// Checks that the page's data on a function match the analysis.
fn check(function: &OwnedSnapshot) {
    let snapshot = function.view();
    let page = page_of(std::slice::from_ref(function));
    let (code, report) = (&data_of(&page, "code")[0], &data_of(&page, "function")[0]);
    let pressure = FunctionPressure::compute(snapshot, &mut LiveRangeCalc::new());
    let expected: Vec<String> = snapshot
        .instructions()
        .map(|it| snapshot.instruction(it))
        .filter(|it| !it.is_debug())
        .map(|it| it.to_string())
        .collect();
    assert_eq!(texts(code), expected);
    assert_eq!(sums(&code["numbers"]).len(), expected.len());
    for file in RegisterFile::ALL {
        let most = units(code, file_name(file)).into_iter().max().unwrap_or(0);
        let peak = i64::from(pressure.peak(file).units);
        // Registers that only live through blocks without instructions are at no row.
        let has_empty = snapshot
            .blocks()
            .any(|it| snapshot.instructions_of(it).len() == 0);
        assert!(most == peak || has_empty && most < peak, "{most} {peak}");
        let indexes = pressure.intervals().indexes();
        for (row, instruction) in snapshot
            .instructions()
            .filter(|&it| indexes.has_index(it))
            .enumerate()
        {
            let behind = indexes.instruction_index(instruction).register_slot(false);
            let expected = pressure.pressure().file(file).at(behind);
            assert_eq!(units(code, file_name(file))[4 * row + 2], i64::from(expected));
        }
    }
    assert_eq!(
        report["peak_pressure_r32"],
        pressure.peak(RegisterFile::General).units
    );
    assert_eq!(report["llvm"]["peak_pressure_r32"], report["peak_pressure_r32"]);
    assert_eq!(sums(&code["blocks"]["first_row"]).len(), snapshot.block_count());
}

#[test]
fn a_loop_is_shown_whole() {
    let function = counting_loop();
    check(&function);
    let page = page_of(&[function]);
    let code = &data_of(&page, "code")[0];
    assert_eq!(numbers(&code["blocks"]["depth"]), [0, 1, 0]);
    assert_eq!(code["forms"][1][0], "drr");
    assert_eq!(code["peaks"][0]["row"], 0);
    // Without debug information there are no source files.
    assert!(data_of(&page, "source").is_empty());
}

#[test]
fn a_function_without_instructions_is_shown() {
    let mut function = counting_loop();
    for block in &mut function.blocks {
        block.first_instruction = 0;
    }
    function.instructions.drain(..7);
    function.instructions[0].first_operand = 0;
    function.operands.clear();
    check(&function);
}

fn rename(function: &mut OwnedSnapshot, name: &str) -> StringRecord {
    let record = function.add_string(name);
    function.function.name = record;
    function.function.module = record;
    record
}

#[test]
fn names_cannot_end_their_script() {
    let hostile = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]></SCRIPT >\u{2028}\u{2029}",
        "\"quotes\" and 'quotes' \\ &lt; %5 \u{0} \u{7f}",
        "größe_核_🔥",
    ];
    for name in hostile {
        let mut function = counting_loop();
        let record = rename(&mut function, name);
        function.register_classes[1].name = record;
        let page = page_of(&[function.clone(), counting_loop()]);
        let data = &page[page.find("<script type=\"application/json\"").unwrap()..];
        assert_eq!(
            data.matches('<').count(),
            2 * data.matches("<script type=").count()
        );
        assert!(!data.contains("<!--"));
        let functions = data_of(&page, "function");
        assert_eq!(
            (functions[0]["function"].as_str(), functions.len()),
            (Some(name), 2)
        );
        assert_eq!(functions[1]["function"], "count");
        check(&function);
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let page = page_of(&[]);
    let script = page.split("<script>").nth(1).unwrap();
    assert_eq!(script.matches("</script").count(), 1);
    assert!(!page.contains("/*STYLE*/") && !page.contains("/*SCRIPT*/"));
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "src=", "@import", "url(", "fetch(", "import("] {
        assert!(!without_namespace.contains(word), "{word}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_function_is_shown_as_it_is(seed: u64, blocks in 1_u32..8, length in 0_u32..8) {
        let function = random_function(&mut Random(seed), blocks, 12, length);
        check(&OwnedSnapshot::copy_of(&function.snapshot()));
    }
}
