//! Names of kernels as people read them: those of C++ and Rust are demangled, without parameters.
//!
//! Tables and progress show [`readable`] names. Files, `--json` and errors keep the names of the input, which
//! other tools know.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use cpp_demangle::{DemangleOptions, Symbol};

use crate::table::shorten;

/// No readable name is longer. A short mangled name can stand for a text of any length.
const MOST: usize = 4096;

/// Whether names stay as they are: `--mangled`.
static MANGLED: AtomicBool = AtomicBool::new(false);

/// Let [`readable`] return every name as it is.
pub fn keep_mangled() {
    MANGLED.store(true, Ordering::Relaxed);
}

/// Return the name to show. It is the name itself with `--mangled`, and where the name is not a mangled one.
pub fn readable(name: &str) -> Cow<'_, str> {
    match MANGLED.load(Ordering::Relaxed) {
        true => Cow::Borrowed(name),
        false => demangled(name).map_or(Cow::Borrowed(name), Cow::Owned),
    }
}

/// Return the demangled form of a name of C++ or Rust, or none for other names.
pub fn demangled(name: &str) -> Option<String> {
    // Other words can be valid, too: the demangler of C++ reads the name of a type, such as `i`, as one.
    if !name.starts_with("_Z") && !name.starts_with("_R") {
        return None;
    }
    let mut text = Limited::default();
    let written = match rustc_demangle::try_demangle(name) {
        // Without the hash.
        Ok(symbol) => write!(text, "{symbol:#}"),
        Err(_) => {
            let options = DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types();
            Symbol::new(name).ok()?.structured_demangle(&mut text, &options)
        }
    };
    written.ok()?;
    (!text.0.is_empty()).then_some(text.0)
}

/// Shorten a name to at most `most` characters. The namespaces of a function go first, and then the middle of
/// the name.
pub fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_string();
    }
    // Namespaces of parameters stay: they stand behind the first bracket.
    let end = name.find(['<', '(', '{', ' ']).unwrap_or(name.len());
    match name[..end].rfind("::") {
        Some(place) => shorten(&format!("…{}", &name[place + 2..]), most),
        None => shorten(name, most),
    }
}

/// Return whether a name contains a text, as it is or demangled.
pub fn contains(name: &str, text: &str) -> bool {
    name.contains(text) || demangled(name).is_some_and(|name| name.contains(text))
}

/// A text that refuses to grow without limit.
#[derive(Default)]
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > MOST {
            return Err(fmt::Error);
        }
        self.0 += part;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_and_rust_are_demangled() {
        for (name, shown) in [
            ("_Z3srtILj256ELj4EEvPiS0_", Some("srt<256, 4>")),
            ("_Z6kernelPf", Some("kernel")),
            ("_ZN7rocprim6detail4initIdEEvT_j", Some("rocprim::detail::init<double>")),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", Some("core::fmt::Write::write_fmt")),
            ("_RNvCs1234_7mycrate3foo", Some("mycrate::foo")),
            ("m00900_s04", None),
            ("_Z", None),
            ("_ZN7rocprim", None),
            ("i", None),
            ("", None),
        ] {
            assert_eq!(demangled(name).as_deref(), shown, "{name}");
        }
        assert!(contains("_Z6kernelPf", "kernel") && contains("_Z6kernelPf", "_Z6"));
        assert!(contains("_Z3srtILj256ELj4EEvPiS0_", "srt<256") && !contains("srt", "<"));
    }

    #[test]
    fn namespaces_are_left_out_first() {
        let name = "rocprim::detail::init<rocprim::tuple<long, bool> >";
        assert_eq!(shortened(name, 100), name);
        assert_eq!(shortened(name, 40), "…init<rocprim::tuple<long, bool> >");
        assert_eq!(shortened(name, 20), "…init<rocpri…bool> >");
        assert_eq!(shortened("a_name_without_namespaces", 10), "a_name…ces");
    }

    /// Each parameter holds the one before it twice: the text doubles with every 11 characters of the name.
    #[test]
    fn a_short_name_cannot_fill_the_memory() {
        let name = |count: u32| {
            let mut name = "_Z1fI1a1tIS0_S0_E".to_string();
            for last in 2..2 + count {
                let digit = std::char::from_digit(last, 36).expect("a digit").to_ascii_uppercase();
                name += &format!("S1_IS{digit}_S{digit}_E");
            }
            name + "Evv"
        };
        let lengths: Vec<Option<usize>> =
            (0..30).map(|count| demangled(&name(count)).map(|text| text.len())).collect();
        assert!(lengths[4] > lengths[3].map(|length| length * 3 / 2), "{lengths:?}");
        assert!(lengths.iter().all(|length| *length <= Some(MOST)) && lengths[29].is_none(), "{lengths:?}");
    }
}
