//! Strict JSON with errors that name the element.

use std::borrow::Cow;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Deref;

use rustc_hash::FxHashSet;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;

/// Parse one line, which must be an object.
pub(crate) fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    // serde would accept an array of the fields in the order of their declaration.
    if !line.trim_ascii_start().starts_with('{') {
        parse_any::<IgnoredAny>(line)?;
        return Err("a line must be a JSON object, {...}".to_string());
    }
    parse_any(line)
}

/// Parse without a path first. On failure, parse again with the path, for the message.
fn parse_any<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    serde_json::from_str(line).or_else(|_| {
        let mut source = serde_json::Deserializer::from_str(line);
        match serde_path_to_error::deserialize(&mut source) {
            // Only the end can be wrong: text follows the object.
            Ok(value) => source.end().map(|()| value).map_err(|error| explain(&error, "")),
            Err(error) => {
                let path = error.path().to_string();
                Err(explain(error.inner(), path.trim_end_matches(['.', '?'])))
            }
        }
    })
}

/// Describe an error: the element, the mistake, and its column in the line.
fn explain(error: &serde_json::Error, path: &str) -> String {
    let text = error.to_string();
    // The message may quote the input: only its end comes from the parser.
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    // The message must not contain the names of Rust types.
    let text = match text.rsplit_once("expected ") {
        Some((start, "u32")) => format!("{start}expected a whole number from 0 to {}", u32::MAX),
        Some((start, "u64")) => format!("{start}expected a whole number from 0 to {}", u64::MAX),
        Some((start, "i32" | "i64" | "usize")) => format!("{start}expected a whole number"),
        _ => text.to_string(),
    };
    let (start, end) = match error.classify() {
        Category::Syntax => ("not valid JSON: ", ""),
        Category::Eof => ("", " (is the line cut off?)"),
        Category::Data | Category::Io => ("", ""),
    };
    let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
    format!("{place}{start}{text}{end}, at column {}", error.column())
}

/// A string that borrows from the line wherever it has no escapes. serde's own `Cow` would copy inside
/// arrays.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Text<'a>(Cow<'a, str>);

/// Quote the text like any string: messages show the user's spelling.
impl Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Debug::fmt(&*self.0, f)
    }
}

impl Text<'_> {
    pub(crate) fn owned(text: &str) -> Self {
        Text(Cow::Owned(text.to_string()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text(Cow::Borrowed(text))
    }
}

impl serde::Serialize for Text<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text::owned(text))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// An object that must be written as one: serde would also accept an array of its fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<T: serde::Serialize> serde::Serialize for Object<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(std::marker::PhantomData))
    }
}

/// Up to this number, keys are compared pairwise.
const FEW: usize = 16;

/// The pairs of an object, in their order; a repeated key is an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pairs<K, V>(pub(crate) Vec<(K, V)>);

impl<K, V> Default for Pairs<K, V> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<K: serde::Serialize, V: serde::Serialize> serde::Serialize for Pairs<K, V> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de, K: Deserialize<'de> + Clone + Eq + Hash + Debug, V: Deserialize<'de>> Deserialize<'de>
    for Pairs<K, V>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<K, V>(std::marker::PhantomData<(K, V)>);
        impl<'de, K: Deserialize<'de> + Clone + Eq + Hash + Debug, V: Deserialize<'de>> Visitor<'de>
            for PairsVisitor<K, V>
        {
            type Value = Pairs<K, V>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs: Vec<(K, V)> = Vec::new();
                // Objects here have a few keys (register classes). Only larger ones need a set.
                let mut seen: FxHashSet<K> = FxHashSet::default();
                while let Some((key, value)) = map.next_entry::<K, V>()? {
                    if pairs.len() == FEW {
                        seen.extend(pairs.iter().map(|(key, _)| key.clone()));
                    }
                    let twice = match pairs.len() < FEW {
                        true => pairs.iter().any(|(other, _)| *other == key),
                        false => !seen.insert(key.clone()),
                    };
                    if twice {
                        return Err(serde::de::Error::custom(format!("key {key:?} is given twice")));
                    }
                    pairs.push((key, value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor(std::marker::PhantomData))
    }
}
