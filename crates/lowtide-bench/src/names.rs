//! Names of algorithms in `--json`.

use std::collections::BTreeMap;

use lowtide::algorithm::Algorithm;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Write figures by algorithm. An algorithm that was renamed stands under its former name, too, so that
/// programs which read it keep working.
pub(crate) fn with_former_names<S: Serializer, T: Serialize>(
    figures: &BTreeMap<&'static str, T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (name, figure) in figures {
        map.serialize_entry(name, figure)?;
        if let Some(former) = Algorithm::named(name).and_then(Algorithm::alias) {
            map.serialize_entry(former, figure)?;
        }
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[test]
    fn renamed_algorithms_have_both_names() {
        #[derive(Serialize)]
        struct Figures(#[serde(serialize_with = "with_former_names")] BTreeMap<&'static str, u32>);
        let figures = Figures(BTreeMap::from([("few-registers", 7), ("exact", 5)]));
        let text = serde_json::to_string(&figures).expect("JSON");
        assert_eq!(text, r#"{"exact":5,"few-registers":7,"default":7}"#);
    }
}
