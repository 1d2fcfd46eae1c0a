//! A shared store on a server that may be slow, full, or gone.
//!
//! Every request has a time limit. After a failure the server is left alone: for one second, and after each
//! further failure for twice as long, up to half a minute. So a server that is down costs a run one time
//! limit now and then.

use std::fmt::Debug;
use std::io::{self, BufRead, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use lowtide::session::Key;

/// The pause after a failure, and after many.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// The largest answer of a server.
pub(crate) const MOST_BYTES: usize = 4 << 20;

/// A server that keeps entries.
pub trait Server: Debug + Send + Sync {
    /// Return the entry of a key.
    fn get(&self, key: &Key) -> io::Result<Option<Vec<u8>>>;

    /// Keep an entry. The error `PermissionDenied` says that the server accepts no entries from here.
    fn put(&self, key: &Key, entry: &[u8]) -> io::Result<()>;
}

/// A server, with pauses after failures.
#[derive(Debug)]
pub struct Remote {
    server: Box<dyn Server>,
    is_read_only: AtomicBool,
    pause: Mutex<Pause>,
    failures: AtomicU64,
}

#[derive(Debug)]
struct Pause {
    /// The end of the present pause.
    until: Option<Instant>,
    /// The length of the next one.
    next: Duration,
}

impl Remote {
    /// Use a server.
    pub fn new(server: Box<dyn Server>, is_read_only: bool) -> Self {
        let pause = Mutex::new(Pause { until: None, next: FIRST_PAUSE });
        Remote { server, is_read_only: is_read_only.into(), pause, failures: AtomicU64::new(0) }
    }

    /// Return the entry of a key, unless the server fails or has a pause.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        self.ask(|server| server.get(key)).flatten()
    }

    /// Return whether entries are sent to the server.
    pub fn is_writable(&self) -> bool {
        !self.is_read_only.load(Ordering::Relaxed)
    }

    /// Send an entry to the server.
    pub fn put(&self, key: &Key, entry: &[u8]) {
        if self.is_writable() {
            self.ask(|server| match server.put(key, entry) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.is_read_only.store(true, Ordering::Relaxed);
                    Ok(())
                }
                other => other,
            });
        }
    }

    /// Return the number of requests that have failed.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn ask<T>(&self, request: impl FnOnce(&dyn Server) -> io::Result<T>) -> Option<T> {
        if lock(&self.pause).until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        match request(&*self.server) {
            Ok(answer) => {
                *lock(&self.pause) = Pause { until: None, next: FIRST_PAUSE };
                Some(answer)
            }
            Err(_) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                let mut pause = lock(&self.pause);
                // Threads that were waiting at the same time are one failure.
                if pause.until.is_none_or(|until| until <= Instant::now()) {
                    pause.until = Some(Instant::now() + pause.next);
                    pause.next = (2 * pause.next).min(LAST_PAUSE);
                }
                None
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connections to one address, kept for the next request.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) address: String,
    timeout: Duration,
    idle: Mutex<Vec<TcpStream>>,
}

/// A connection with a time limit for all that is read and written.
pub(crate) struct Connection {
    stream: TcpStream,
    deadline: Instant,
    /// Whether nothing has been asked on it before.
    pub(crate) is_new: bool,
}

impl Connections {
    pub(crate) fn new(address: String, timeout: Duration) -> Self {
        Connections { address, timeout, idle: Mutex::default() }
    }

    /// Run a request on a connection. The request returns its answer, and whether the connection can be used
    /// again. A request on an old connection that the server has closed is repeated on a new one.
    pub(crate) fn ask<T>(&self, request: impl Fn(&mut Connection) -> io::Result<(T, bool)>) -> io::Result<T> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let old = lock(&self.idle).pop();
            let is_new = old.is_none();
            let stream = old.map_or_else(|| self.connect(deadline), Ok)?;
            let mut connection = Connection { stream, deadline, is_new };
            match request(&mut connection) {
                Ok((answer, can_stay)) => {
                    if can_stay {
                        lock(&self.idle).push(connection.stream);
                    }
                    return Ok(answer);
                }
                Err(error) if is_new || is_timeout(&error) => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// The numbers of the address. A name server that does not answer has no time limit of its own, so a
    /// thread asks it.
    fn resolve(&self, deadline: Instant) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = self.address.parse() {
            return Ok(vec![address]);
        }
        let (send, receive) = mpsc::channel();
        let name = self.address.clone();
        std::thread::spawn(move || {
            let found = name.to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>);
            // Nobody may be waiting any more.
            send.send(found).ok();
        });
        receive.recv_timeout(left(deadline)?).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    fn connect(&self, deadline: Instant) -> io::Result<TcpStream> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in self.resolve(deadline)? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

/// The time until a deadline, more than zero.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl Read for Connection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.deadline)?))?;
        self.stream.read(bytes)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.deadline)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Read a line that ends with CR LF, without them.
pub(crate) fn read_line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    input.take(8192).read_until(b'\n', &mut line)?;
    match line.strip_suffix(b"\r\n") {
        Some(line) => String::from_utf8(line.to_vec()).map_err(|_| wrong("a line that is no text")),
        None => Err(wrong("a line without an end")),
    }
}

/// Read so many bytes.
pub(crate) fn read_bytes(input: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    if count > MOST_BYTES {
        return Err(wrong("an answer that is too large"));
    }
    let mut bytes = vec![0; count];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// An answer that a server should not give.
pub(crate) fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server sent {what}"))
}

/// A key as text.
pub(crate) fn hex(key: &Key) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails while the flag is set, and counts requests.
    #[derive(Debug, Default)]
    struct Moody {
        fails: AtomicBool,
        requests: AtomicU64,
    }

    impl Server for std::sync::Arc<Moody> {
        fn get(&self, _: &Key) -> io::Result<Option<Vec<u8>>> {
            self.requests.fetch_add(1, Ordering::Relaxed);
            if self.fails.load(Ordering::Relaxed) { Err(wrong("nothing")) } else { Ok(Some(vec![1])) }
        }

        fn put(&self, _: &Key, _: &[u8]) -> io::Result<()> {
            self.requests.fetch_add(1, Ordering::Relaxed);
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }

    #[test]
    fn a_server_that_fails_is_left_alone_for_a_while() {
        let moody = std::sync::Arc::new(Moody::default());
        let remote = Remote::new(Box::new(std::sync::Arc::clone(&moody)), false);
        let requests = || moody.requests.load(Ordering::Relaxed);
        assert_eq!(remote.get(&[0; 32]), Some(vec![1]));
        moody.fails.store(true, Ordering::Relaxed);
        assert!((0..10).all(|_| remote.get(&[0; 32]).is_none()));
        assert_eq!((requests(), remote.failures()), (2, 1));
        // The pause is over, and the server is back.
        lock(&remote.pause).until = Some(Instant::now());
        assert_eq!(remote.get(&[0; 32]), None);
        assert_eq!(lock(&remote.pause).next, 4 * FIRST_PAUSE);
        moody.fails.store(false, Ordering::Relaxed);
        lock(&remote.pause).until = Some(Instant::now());
        assert_eq!(remote.get(&[0; 32]), Some(vec![1]));
        assert_eq!(lock(&remote.pause).next, FIRST_PAUSE);
    }

    #[test]
    fn a_server_that_takes_no_entries_is_read_from_then_on() {
        let moody = std::sync::Arc::new(Moody::default());
        let remote = Remote::new(Box::new(std::sync::Arc::clone(&moody)), false);
        (0..5).for_each(|_| remote.put(&[0; 32], b"entry"));
        assert_eq!(moody.requests.load(Ordering::Relaxed), 1);
        assert_eq!((remote.is_writable(), remote.failures()), (false, 0));
        assert_eq!(remote.get(&[0; 32]), Some(vec![1]));
    }
}
