//! `lowtide diff`: orders side by side.

use serde_json::Value;

use crate::common::{Folder, array, corpus, number, run};

fn numbers(value: &Value) -> Vec<u64> {
    array(value).iter().map(number).collect()
}

#[test]
fn what_has_not_moved_is_in_the_same_order() {
    let input = corpus();
    let scheduled = run("schedule {} --json --nodes 500", &[&input]).json();
    let found: Vec<&Value> =
        array(&scheduled["kernels"]).iter().flat_map(|kernel| array(&kernel["regions"])).collect();
    let pairs = run("diff {} --json --nodes 500", &[&input]).json();
    let pairs = array(&pairs);
    assert_eq!(pairs.len(), found.len());
    let mut moved = 0;
    for (pair, region) in pairs.iter().zip(found) {
        assert_eq!(pair["region"], region["name"]);
        assert_eq!(pair["after"]["order"], region["order"], "{}", pair["region"]);
        assert_eq!(pair["after"]["length"], region["length"], "{}", pair["region"]);
        assert_eq!(pair["after"]["peak"], region["peak"]["vgpr"], "{}", pair["region"]);
        let moves = array(&pair["moved"]);
        let stayed = |side: &str| {
            let order = numbers(&pair[side]["order"]).into_iter();
            order.filter(|instr| moves[*instr as usize].is_null()).collect::<Vec<_>>()
        };
        assert_eq!(stayed("before"), stayed("after"), "{}", pair["region"]);
        let (before, after) = (numbers(&pair["before"]["order"]), numbers(&pair["after"]["order"]));
        for (instr, by) in moves.iter().enumerate().filter(|(_, by)| !by.is_null()) {
            let place = |order: &[u64]| order.iter().position(|other| *other == instr as u64).unwrap() as i64;
            assert_eq!(by.as_i64(), Some(place(&before) - place(&after)), "{}", pair["region"]);
            moved += 1;
        }
    }
    assert!(moved > 1000, "{moved} instructions moved");
}

#[test]
fn lines_fit_into_80_columns_and_mark_the_peak() {
    let text = run("diff {} --kernel m00900_s04 --nodes 500", &[&corpus()]).ok();
    assert!(text.starts_with("kernel m00900_s04, region "), "{text}");
    let wide: Vec<&str> =
        text.lines().filter(|line| line.chars().count() > 80 && line.contains('|')).collect();
    assert!(wide.is_empty(), "{wide:?}");
    assert!(text.contains(" *") && text.contains(" up ") && text.contains(" down "), "{text}");
    let error = run("diff {} --kernel m00900_s04 --region nowhere", &[&corpus()]).error();
    assert!(error.contains("no region has \"nowhere\" in its name"), "{error}");
    let error = run("diff {} --kernel m00900_s04 --class acc --nodes 1", &[&corpus()]).error();
    assert!(error.contains("has no class \"acc\"; known are "), "{error}");
}

#[test]
fn schedule_files_are_checked_and_compared() {
    let folder = Folder::new();
    let input = folder.path("one.jsonl");
    run("convert {} --kernel m00900_s04 -o {}", &[&corpus(), &input]).ok();
    let (source, list) = (folder.path("source.jsonl"), folder.path("list.jsonl"));
    run("schedule {} --algorithm source -o {}", &[&input, &source]).ok();
    run("schedule {} --algorithm list -o {}", &[&input, &list]).ok();
    let both = run("diff {} --schedules {} --schedules {} --json", &[&input, &source, &list]).json();
    assert!(array(&both).iter().all(|pair| pair["before"]["by"] == "source.jsonl"));
    assert!(array(&both).iter().all(|pair| pair["after"]["by"] == "list.jsonl"));
    assert!(array(&both).iter().any(|pair| pair["before"]["order"] != pair["after"]["order"]));
    // The same file twice.
    let text = run("diff {} --schedules {} --schedules {}", &[&input, &list, &list]).ok();
    assert!(text.starts_with("Same order before and after: "), "{text}");
    let one = run("diff {} --schedules {} --json", &[&input, &list]).json();
    assert!(array(&one).iter().zip(array(&both)).all(|(one, both)| one["after"] == both["after"]));
    assert!(array(&one).iter().all(|pair| pair["before"]["by"] != "source.jsonl"));
    let error =
        run("diff {} --schedules {} --schedules {} --schedules {}", &[&input, &list, &list, &list]).error();
    assert!(error.contains("--schedules can be given twice"), "{error}");
    // A schedule that breaks a dependence.
    let lines = crate::common::text(&list);
    let mut broken: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let longest = broken.iter_mut().max_by_key(|line| array(&line["order"]).len()).unwrap();
    longest["order"].as_array_mut().unwrap().reverse();
    let broken = folder.regions("broken.jsonl", &broken);
    let error = run("diff {} --schedules {}", &[&input, &broken]).error();
    assert!(error.contains("broken.jsonl: kernel \"m00900_s04\", region "), "{error}");
}
