//! The device's code, compiled for this machine, against the colony itself: the same schedules, bit for bit.

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lowtide::colony::Task;
use lowtide::colony::flat::Batch;

use common::skip::{Missing, skip};

/// Compiles the device's source with a program around it, with all checks that the compiler has. None if
/// there is no compiler: the test is skipped.
fn compile(folder: &Path, definitions: &[&str]) -> Option<PathBuf> {
    let source = folder.join("shim.cpp");
    let text = format!("#include <cstdlib>\n{}{}", lowtide_gpu::source(), include_str!("shim.cpp"));
    std::fs::write(&source, text).expect("a file can be written");
    let program = folder.join("shim");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_string());
    let arguments = [
        "-std=c++14",
        "-O1",
        "-g",
        "-Wall",
        "-Werror",
        "-DLOWTIDE_SHIM",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ];
    let mut command = Command::new(&compiler);
    command.args(arguments).args(definitions).arg(&source).arg("-o").arg(&program);
    let compiled = command.output();
    match compiled {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skip(Missing::Installable, format!("there is no C++ compiler: {compiler} (CXX)"));
            None
        }
        Err(error) => panic!("{compiler}: {error}"),
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => panic!("{compiler} refuses the source: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

fn run(program: &Path, batch: &Batch) -> Vec<u32> {
    let mut input: Vec<u8> = Vec::new();
    let sizes =
        [batch.len(), batch.words.len(), batch.longs.len(), batch.work_bytes as usize, batch.answer_len];
    sizes.iter().for_each(|&size| input.extend((size as u64).to_le_bytes()));
    batch.headers.iter().for_each(|number| input.extend(number.to_le_bytes()));
    batch.words.iter().for_each(|number| input.extend(number.to_le_bytes()));
    batch.longs.iter().for_each(|number| input.extend(number.to_le_bytes()));
    let child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program starts");
    let mut stdin = child.stdin.take().expect("it has an input");
    std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
        .stdout
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
        .collect()
}

fn compare(program: &Path, tasks: &[Task]) -> u64 {
    let mut batch = Batch::default();
    let tasks: Vec<&Task> = tasks.iter().filter(|task| batch.push(task)).collect();
    let answers = batch.answers(&run(program, &batch));
    assert_eq!(answers.len(), tasks.len());
    let mut choices = 0;
    for (number, (task, answer)) in tasks.iter().zip(answers).enumerate() {
        let answer = answer.unwrap_or_else(|| panic!("task {number} has an order for an answer"));
        assert_eq!(answer, task.run(1), "task {number} of {} instructions", task.len());
        assert!(task.accepts(&answer));
        choices += answer.choices;
    }
    choices
}

#[test]
fn the_devices_code_makes_the_same_schedules() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compile(folder.path(), &[]) else { return };
    let choices = compare(&program, &common::made(150));
    assert!(choices > 500_000, "{choices}");
    let choices = compare(&program, &common::asked(&common::real_kernels(), 30_000));
    assert!(choices > 200_000, "{choices}");
}

/// As without some of [`lowtide_gpu::Technique`].
#[test]
fn other_ways_to_hold_memory_make_the_same_schedules() {
    for definitions in [&["-DINTERLEAVED"][..], &["-DINTERLEAVED", "-DALLOCATES"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(program) = compile(folder.path(), definitions) else { return };
        let choices = compare(&program, &common::made(50));
        assert!(choices > 100_000, "{choices}");
    }
}

/// `scripts/test-gpu` compiles it for real GPUs.
#[test]
fn the_source_is_left_for_other_compilers() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("colony.cu");
    std::fs::write(&file, lowtide_gpu::source()).expect("a file can be written");
    assert!(lowtide_gpu::source().starts_with("typedef"));
}

#[test]
fn wrong_answers_are_noticed() {
    let tasks = common::made(10);
    let mut batch = Batch::default();
    assert!(tasks.iter().all(|task| batch.push(task)));
    assert!(
        batch
            .answers(&vec![0; batch.answer_len])
            .iter()
            .zip(&tasks)
            .all(|(answer, task)| answer.is_none() || task.len() == 1)
    );
    assert!(batch.answers(&[]).iter().all(Option::is_none));
    let task = tasks.iter().find(|task| task.len() > 3).expect("a larger one");
    let mut answer = task.run(1);
    assert!(task.accepts(&answer));
    answer.order.reverse();
    assert!(!task.accepts(&answer), "backwards, nothing is legal");
    answer.order.pop();
    assert!(!task.accepts(&answer));
}
