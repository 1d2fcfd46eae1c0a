//! Files and pipes that results go to.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::{Folder, corpus, finish, lines, program, run, text, tiny};

#[test]
fn a_missing_folder_is_told() {
    let folder = Folder::new();
    let output = folder.path("missing/out.jsonl");
    for command in ["schedule", "convert"] {
        let message = run(&format!("{command} {{}} -o {{}}"), &[&corpus(), &output]).error();
        let told = "missing/out.jsonl: cannot be written: the folder does not exist\n";
        assert!(message.ends_with(told), "{message}");
    }
    let message = run("convert {} -o {}", &[&corpus(), folder.0.path()]).error();
    assert!(message.contains("cannot be written: is a directory"), "{message}");
    assert!(folder.names().is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    for line in ["targets", "schedule {}", "info {} --json", "convert {}", "completions zsh"] {
        let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let corpus = corpus();
        let args = line.split(' ').map(|word| if word == "{}" { corpus.as_os_str() } else { word.as_ref() });
        let message = finish(program().args(args).stdout(full)).error();
        assert!(message.contains("cannot be written: No space left on device"), "{line}: {message}");
    }
}

/// A pipe stands for all special files: a test that could lose /dev/null would be a bad neighbour.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_or_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new();
    let input = folder.regions("k.jsonl", &[tiny("k", "r")]);
    let path = folder.path("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    // Open on both ends, so that neither side waits for the other.
    let mut pipe = fs::File::options().read(true).write(true).open(&path).expect("a pipe");
    let expected = run("convert {}", &[&input]).ok();
    run("convert {} -o {}", &[&input, &path]).ok();
    assert!(fs::metadata(&path).expect("the pipe").file_type().is_fifo());
    let mut received = vec![0; expected.len()];
    pipe.read_exact(&mut received).expect("the text is in the pipe");
    assert_eq!(received, expected.as_bytes());
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new();
    let file = folder.write("file.jsonl", "old");
    let link = folder.path("link.jsonl");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let input = folder.regions("k.jsonl", &[tiny("k", "r")]);
    run("convert {} -o {}", &[&input, &link]).ok();
    assert!(link.is_symlink());
    assert!(text(&file).contains("\"kernel\":\"k\""));
}

/// The file behind a link that leads nowhere is made, in its own folder.
#[cfg(unix)]
#[test]
fn a_dangling_link_is_written_through() {
    let folder = Folder::new();
    fs::create_dir(folder.path("inner")).expect("a folder");
    let (first, second) = (folder.path("first.jsonl"), folder.path("inner/second.jsonl"));
    std::os::unix::fs::symlink("inner/second.jsonl", &first).expect("a link");
    std::os::unix::fs::symlink("new.jsonl", &second).expect("a link");
    let input = folder.regions("k.jsonl", &[tiny("k", "r")]);
    run("convert {} -o {}", &[&input, &first]).ok();
    assert!(first.is_symlink() && second.is_symlink());
    assert!(text(&folder.path("inner/new.jsonl")).contains("\"kernel\":\"k\""));
    let ring = folder.path("ring.jsonl");
    std::os::unix::fs::symlink("ring.jsonl", &ring).expect("a link");
    let message = run("convert {} -o {}", &[&input, &ring]).error();
    assert!(message.contains("ring.jsonl: cannot be written: too many symbolic links"), "{message}");
}

#[cfg(unix)]
#[test]
fn an_existing_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let input = folder.regions("k.jsonl", &[tiny("k", "r")]);
    for mode in [0o600, 0o640, 0o755] {
        let file = folder.write("old.jsonl", "old");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("own file");
        run("convert {} -o {}", &[&input, &file]).ok();
        assert!(text(&file).contains("\"kernel\":\"k\""));
        let found = fs::metadata(&file).expect("the file").permissions().mode() & 0o777;
        assert_eq!(found, mode, "{found:o}, not {mode:o}");
    }
    // A new file has the permissions of every new file.
    let (new, usual) = (folder.path("new.jsonl"), folder.write("usual", ""));
    run("convert {} -o {}", &[&input, &new]).ok();
    let [new, usual] = [new, usual].map(|path| fs::metadata(path).expect("the file").permissions().mode());
    assert_eq!(new, usual);
}

/// Ended by Ctrl-C or without any warning, in the middle of the input: no output, and no temporary file.
#[cfg(unix)]
#[test]
fn a_program_that_is_ended_leaves_nothing_behind() {
    use std::io::Write;
    for signal in ["-INT", "-TERM", "-KILL"] {
        let folder = Folder::new();
        let output = folder.path("out.jsonl");
        // A shell in the background ignores the signal, and its children would do so, too.
        let mut child = (Command::new("env").arg("--default-signal=INT").arg(program().get_program()))
            .args(["convert", "-", "-o"])
            .arg(&output)
            .env("TMPDIR", folder.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        // More than a pipe holds: the program has read some of it, and waits for the rest.
        let mut stdin = child.stdin.take().expect("a pipe");
        for number in 0..2000 {
            stdin.write_all(lines(&[tiny(&format!("k{number}"), "r")]).as_bytes()).expect("a reader");
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
        assert!(!child.wait().expect("the program ends").success());
        assert!(folder.names().is_empty(), "{signal}: {:?}", folder.names());
    }
}

/// Nothing waits for the writer of a pipe that nobody has named.
#[cfg(target_os = "linux")]
#[test]
fn pipes_in_a_folder_are_skipped_and_named_ones_are_read() {
    let folder = Folder::new();
    folder.regions("k.jsonl", &[tiny("k", "r")]);
    std::os::unix::fs::symlink("k.jsonl", folder.path("link.jsonl")).expect("a link");
    fs::create_dir(folder.path("folder.jsonl")).expect("a folder");
    let pipe = folder.path("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let found = finish(program().args(["info", "--json"]).arg(folder.0.path())).json();
    assert_eq!(found["kernels"], 2);
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, lines(&[tiny("piped", "r")]))
    });
    let found = run("info {} --json", &[&pipe]).json();
    writer.join().expect("the writer ends").expect("the pipe is read");
    assert_eq!(found["kernels"], 1);
    let empty = Folder::new();
    assert!(Command::new("mkfifo").arg(empty.path("pipe.jsonl")).status().expect("mkfifo").success());
    let message = run("info {}", &[empty.0.path()]).error();
    assert!(message.contains("no region files"), "{message}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for line in ["schedule {} --nodes 1 --json", "convert {}", "compare {}", "targets", "completions bash"] {
        let corpus = corpus();
        let args = line.split(' ').map(|word| if word == "{}" { corpus.as_os_str() } else { word.as_ref() });
        let mut child = (program().args(args))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*message), (Some(0), ""), "{line}");
    }
}
