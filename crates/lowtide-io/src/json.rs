//! Strict JSON with errors that name the element.

use std::borrow::Cow;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::error::Category;

/// Parses one line. The fast way first; if it fails, once more with a record of the path, for the message.
pub(crate) fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    serde_json::from_str(line).or_else(|_| {
        let mut source = serde_json::Deserializer::from_str(line);
        serde_path_to_error::deserialize(&mut source).map_err(|error| {
            let path = error.path().to_string();
            let inner = error.into_inner();
            let column = inner.column();
            let text = inner.to_string();
            let text = text.split(" at line ").next().unwrap_or(&text);
            let cut = match inner.classify() {
                Category::Eof => " (is the line cut off?)",
                _ => "",
            };
            match path.as_str() {
                "." | "?" => format!("{text}{cut}, at column {column}"),
                _ => format!("{path}: {text}{cut}, at column {column}"),
            }
        })
    })
}

/// A string that borrows from the line wherever it has no escapes, also deep inside arrays, where serde's
/// own `Cow` would copy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Text<'a>(Cow<'a, str>);

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
        self.0.fmt(f)
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

impl<'de, K: Deserialize<'de> + PartialEq, V: Deserialize<'de>> Deserialize<'de> for Pairs<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<K, V>(std::marker::PhantomData<(K, V)>);
        impl<'de, K: Deserialize<'de> + PartialEq, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<K, V> {
            type Value = Pairs<K, V>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs: Vec<(K, V)> = Vec::new();
                while let Some((key, value)) = map.next_entry()? {
                    // Objects here have a few keys (register classes): no need for a set.
                    if pairs.iter().any(|(other, _)| *other == key) {
                        return Err(serde::de::Error::custom("a key is given twice"));
                    }
                    pairs.push((key, value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor(std::marker::PhantomData))
    }
}
