//! `--store` and `lowtide store`: the same results with a store, whatever happens to it.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lowtide::random::Random;
use serde_json::Value;

use crate::common::{Folder, corpus, finish, lowtide, program, run};
use crate::skip::{Missing, skip};

/// Schedules the corpus of the repository with a budget of steps.
fn schedule(store: Option<&str>) -> Value {
    let mut args = vec!["schedule".to_string(), corpus().display().to_string()];
    args.extend(["--nodes", "300", "--json"].map(String::from));
    args.extend(store.into_iter().flat_map(|store| ["--store".to_string(), store.to_string()]));
    lowtide(&args).json()
}

/// Everything but times and the counters of the store.
fn results(mut document: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                ["seconds", "store", "searches", "time"].iter().for_each(|key| drop(map.remove(*key)));
                map.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut document);
    document
}

fn counts(document: &Value) -> [u64; 4] {
    ["hits", "misses", "ignored", "foreign"].map(|key| document["store"][key].as_u64().expect("a number"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// All files with entries.
fn entries(store: &Path) -> Vec<PathBuf> {
    let shards =
        fs::read_dir(store.join("v1")).expect("a store").map(|shard| shard.expect("an entry").path());
    let shards = shards.filter(|path| path.is_dir());
    let files = shards.flat_map(|shard| fs::read_dir(shard).expect("a folder"));
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn an_empty_and_a_full_store_give_the_same_result_as_none() {
    let folder = Folder::new();
    let store = folder.path("store");
    let without = results(schedule(None));
    let first = schedule(Some(text(&store)));
    let [hits, misses, ignored, foreign] = counts(&first);
    assert!(hits == 0 && misses > 400 && ignored + foreign == 0, "{:?}", counts(&first));
    assert_eq!(results(first), without);
    let second = schedule(Some(text(&store)));
    assert_eq!((counts(&second)[1..].to_vec(), counts(&second)[0] > 400), (vec![0; 3], true));
    assert_eq!(results(second), without);

    // Another budget has questions of its own; a variable names the store as well as the option.
    let other = finish(
        program()
            .args(["schedule", text(&corpus()), "--nodes", "301", "--summary"])
            .env("LOWTIDE_STORE", &store)
            .stdin(Stdio::null()),
    );
    assert!(other.ok().contains("store:  "));
    assert_eq!(results(schedule(Some(text(&store)))), without);

    // Random damage: a flipped bit, a missing end, or nothing at all in every entry.
    let mut random = Random::new(3);
    for file in entries(&store) {
        let mut bytes = fs::read(&file).expect("an entry");
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.clear(),
            _ => bytes[at] ^= 1 << random.below(8),
        }
        fs::write(&file, bytes).expect("written");
    }
    let verified = run("store verify --json --store {}", &[&store]);
    assert_eq!(verified.code, 1);
    let damaged = schedule(Some(text(&store)));
    assert!(counts(&damaged)[2] > 50, "{:?}", counts(&damaged));
    assert_eq!(results(damaged), without);
    // What was damaged has been replaced.
    assert_eq!(counts(&schedule(Some(text(&store))))[1..], [0; 3]);
}

#[test]
fn commands_look_after_a_store() {
    let folder = Folder::new();
    let [store, copy, archive] = ["store", "copy", "archive"].map(|name| folder.path(name));
    let warmed = run("store warm {} --nodes 100 --json --store {}", &[&corpus(), &store]).json();
    let misses = warmed["misses"].as_u64().expect("a number");
    assert!(misses > 400, "{warmed}");
    let stats = run("store stats --json --store {}", &[&store]).json();
    assert_eq!((&stats["misses"], &stats["hits"], &stats["ignored"]), (&misses.into(), &0.into(), &0.into()));
    let (count, bytes) = (stats["entries"].as_u64().unwrap(), stats["bytes"].as_u64().unwrap());
    assert!(count == entries(&store).len() as u64 && count > 150 && bytes > 100 * count, "{stats}");
    let told = run("store stats --store {}", &[&store]).ok();
    assert!(
        told.starts_with(&format!("size:   {count} entries, ")) && told.contains("0.0 % of the questions"),
        "{told}"
    );
    let verified = run("store verify --json --store {}", &[&store]).json();
    assert!(verified["damaged"] == 0 && verified["foreign"] == 0 && verified["own"] == misses, "{verified}");

    let exported = run("store export -o {} --json --store {}", &[&archive, &store]).json();
    assert_eq!(exported["entries"], count);
    assert_eq!(run("store import {} --json --store {}", &[&archive, &copy]).json()["entries"], count);
    assert_eq!(run("store import {} --json --store {}", &[&archive, &copy]).json()["entries"], 0);
    // The copy has another secret: its records are those of another writer, and steps are searched again.
    let again = run("store warm {} --nodes 100 --json --store {}", &[&corpus(), &copy]).json();
    assert_eq!(
        (&again["hits"], &again["misses"], &again["foreign"]),
        (&0.into(), &misses.into(), &misses.into())
    );
    // With a common secret, they are its own.
    fs::copy(store.join("v1/secret"), folder.path("secret")).expect("a copy");
    let third = folder.path("third");
    run("store import {} --store {}", &[&archive, &third]).ok();
    fs::copy(folder.path("secret"), third.join("v1/secret")).expect("a copy");
    let again = run("store warm {} --nodes 100 --json --store {}", &[&corpus(), &third]).json();
    assert_eq!((&again["hits"], &again["misses"]), (&misses.into(), &0.into()));

    let pruned = run("store prune --size 20K --json --store {}", &[&store]).json();
    let left = run("store stats --json --store {}", &[&store]).json();
    assert_eq!(pruned["entries"].as_u64().unwrap() + left["entries"].as_u64().unwrap(), count);
    assert!(
        (10 << 10..=20 << 10).contains(&left["bytes"].as_u64().unwrap()) && left["misses"] == misses,
        "{left}"
    );

    let cut = folder.write("cut", &fs::read(&archive).expect("a file")[..3000]);
    let message = run("store import {} --store {}", &[&cut, &store]).error();
    assert!(message.contains("the file is damaged after"), "{message}");
    let message = run("store import {} --store {}", &[&corpus().join("README.md"), &store]).error();
    assert!(message.contains("no file of `lowtide store export`"), "{message}");
    let message = run("store stats --store {}", &[&folder.path("nothing")]).error();
    assert!(message.contains("there is no store in"), "{message}");
    let message = run("store stats --store ftp://x", &[]).error();
    assert!(message.contains("is no address of a store"), "{message}");
}

/// A folder that cannot be written to, and one that is only read.
#[test]
fn a_store_that_takes_nothing_is_no_error() {
    let folder = Folder::new();
    let store = folder.path("store");
    let file = folder.write("file", "x");
    let message = run("schedule {} --store {}", &[&corpus(), &file]).error();
    assert!(message.contains("cannot open the store"), "{message}");
    let message = run("schedule {} --store {}?read-only", &[&corpus()]);
    assert_eq!(message.code, 1, "the store must exist");
    run("store warm {} --nodes 50 --store {}", &[&corpus(), &store]).ok();
    let before = entries(&store);
    let read_only = format!("{}?read-only", text(&store));
    let document = schedule(Some(&read_only));
    assert!(counts(&document)[1] > 0);
    assert_eq!(entries(&store), before);
    // Nothing can be written any more, as on a full disk.
    for shard in 0..256 {
        let shard = store.join(format!("v1/{shard:02x}"));
        fs::remove_dir_all(&shard).ok();
        fs::write(&shard, "").expect("written");
    }
    let full = schedule(Some(text(&store)));
    assert_eq!((counts(&full)[0], counts(&full)[1] > 400), (0, true));
    assert_eq!(results(full), results(schedule(None)));
}

#[test]
fn killed_processes_leave_a_store_that_works() {
    let folder = Folder::new();
    let store = folder.path("store");
    let start = || {
        program()
            .args([
                "schedule",
                text(&corpus()),
                "--nodes",
                "300",
                "--summary",
                "--threads",
                "1",
                "--store",
                text(&store),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts")
    };
    let mut random = Random::new(1);
    let mut running: Vec<Child> = (0..8).map(|_| start()).collect();
    for _ in 0..12 {
        std::thread::sleep(Duration::from_millis(40 + random.below(100) as u64));
        let at = random.below(running.len());
        // Kill signal 9 on Unix.
        running[at].kill().expect("killed");
        running[at].wait().expect("ended");
        running[at] = start();
    }
    for child in &mut running {
        assert!(child.wait().expect("ended").success());
    }
    let verified = run("store verify --json --store {}", &[&store]).json();
    assert!(verified["damaged"] == 0 && verified["own"].as_u64().unwrap() > 400, "{verified}");
    let document = schedule(Some(text(&store)));
    assert_eq!(counts(&document)[1..], [0; 3], "nothing is lost, and nothing is wrong");
    assert_eq!(results(document), results(schedule(None)));
    let new = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    assert!(
        entries(&store).iter().filter(|file| new(file)).count() <= 12,
        "a killed process leaves at most one file"
    );
}

/// A free port of this machine.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

/// A Redis server, ended with the test.
struct RedisServer(Child);

impl RedisServer {
    fn start(port: u16, folder: &Folder) -> Option<Self> {
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--appendonly", "no", "--save", ""])
            .current_dir(folder.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        let server = RedisServer(child.ok()?);
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(10), "redis-server does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(server)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_redis_server_answers_and_may_go_away() {
    let folder = Folder::new();
    let port = free_port();
    let Some(server) = RedisServer::start(port, &folder) else {
        return skip(Missing::Installable, "redis-server is not installed");
    };
    let without = results(schedule(None));
    let secret = |store: &str| {
        let mut command = program();
        command.args(["schedule", text(&corpus()), "--nodes", "300", "--json", "--store", store]);
        command.env("LOWTIDE_STORE_SECRET", "of the farm").stdin(Stdio::null());
        finish(&mut command).json()
    };
    let url = format!("redis://127.0.0.1:{port}/1?timeout=2000ms");
    let first = secret(&url);
    assert!(counts(&first)[0] == 0 && counts(&first)[1] > 400);
    // Another machine of the farm, with a folder in front.
    let store = folder.path("store");
    let second = secret(&format!("{},{url}&read-only", text(&store)));
    assert_eq!(counts(&second)[1..], [0; 3], "all comes from the server");
    assert_eq!(results(second), without);
    assert!(entries(&store).len() > 150, "the folder has it now");
    // A stranger believes no seal, and searches.
    let stranger = schedule(Some(&url));
    assert!(counts(&stranger)[0] == 0 && counts(&stranger)[3] > 400);
    assert_eq!(results(stranger), without);

    // The server goes away and comes back in the middle of runs.
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut server = Some(server);
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(150));
                server = match server.take() {
                    Some(_) => None,
                    None => RedisServer::start(port, &folder),
                };
            }
        });
        for _ in 0..3 {
            assert_eq!(results(secret(&format!("redis://127.0.0.1:{port}"))), without);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // It is gone for good.
    assert_eq!(results(secret(&format!("redis://127.0.0.1:{}", free_port()))), without);
}

/// A web server that keeps what is put there.
#[derive(Default)]
struct WebServer {
    files: Mutex<HashMap<String, Vec<u8>>>,
    /// Answers only after this time, in milliseconds.
    delay: AtomicU64,
    refuses: AtomicBool,
    requests: AtomicU64,
}

impl WebServer {
    fn start() -> (Arc<WebServer>, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let server = Arc::new(WebServer::default());
        let own = Arc::clone(&server);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = Arc::clone(&own);
                std::thread::spawn(move || while server.answer(&stream).is_some() {});
            }
        });
        (server, port)
    }

    /// Answers one request. None at the end of a connection.
    fn answer(&self, stream: &TcpStream) -> Option<()> {
        let mut input = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            input.read_line(&mut line).ok().filter(|count| *count > 0)?;
            if line == "\r\n" {
                break;
            }
            lines.push(line);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut words = lines.first()?.split(' ');
        let (method, path) = (words.next()?, words.next()?.to_string());
        let length = lines.iter().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.map_or(0, |length| length.trim().parse().expect("a length"))];
        input.read_exact(&mut body).ok()?;
        std::thread::sleep(Duration::from_millis(self.delay.load(Ordering::Relaxed)));
        let mut files = self.files.lock().expect("a lock");
        let (status, body) = match method {
            "PUT" if self.refuses.load(Ordering::Relaxed) => ("403 Forbidden", Vec::new()),
            "PUT" => {
                files.insert(path, body);
                ("201 Created", Vec::new())
            }
            _ => files.get(&path).map_or(("404 Not Found", b"no".to_vec()), |file| ("200 OK", file.clone())),
        };
        let mut stream = stream;
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len()).ok()?;
        stream.write_all(&body).ok()
    }
}

#[test]
fn a_web_server_answers_and_may_be_slow() {
    let folder = Folder::new();
    let (server, port) = WebServer::start();
    let without = results(schedule(None));
    let url = format!("http://127.0.0.1:{port}/cache/v1");
    // The folder has the secret.
    let store = folder.path("store");
    let both = format!("{},{url}?timeout=2000ms", text(&store));
    assert_eq!(results(schedule(Some(&both))), without);
    let files: Vec<String> = server.files.lock().unwrap().keys().cloned().collect();
    assert!(
        files.len() > 150
            && files.iter().all(|path| path.starts_with("/cache/v1/") && path.len() == 10 + 2 + 1 + 62)
    );
    entries(&store).iter().for_each(|file| fs::remove_file(file).expect("removed"));
    let again = schedule(Some(&both));
    assert_eq!(counts(&again)[1..], [0; 3]);
    assert_eq!(results(again), without);

    // A server that takes no entries, and one that is too slow.
    server.refuses.store(true, Ordering::Relaxed);
    server.files.lock().unwrap().clear();
    assert_eq!(results(schedule(Some(&format!("{url}?timeout=2000ms")))), without);
    assert!(server.files.lock().unwrap().is_empty());
    server.delay.store(300, Ordering::Relaxed);
    server.requests.store(0, Ordering::Relaxed);
    assert_eq!(results(schedule(Some(&format!("{url}?timeout=20ms")))), without);
    let requests = server.requests.load(Ordering::Relaxed);
    assert!((1..20).contains(&requests), "{requests} requests to a server that does not answer");
}
