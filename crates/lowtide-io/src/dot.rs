//! Dependence graphs for Graphviz.

use std::fmt::Write;

use lowtide::region::{DepKind, Region};

/// Write the dependence graph of a region in the DOT language. Each dependence is one edge, styled by its
/// kind.
pub fn dot(kernel: &str, region: &Region) -> String {
    let mut text = String::new();
    let title = escape(&format!("{kernel} {}", region.name()));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "digraph \"{title}\" {{");
    let _ = writeln!(text, "  label=\"{title}\"; node [shape=box, fontname=monospace];");
    for instr in region.instrs() {
        let label = escape(&region.describe(instr));
        let _ = writeln!(text, "  n{instr} [label=\"{label}\"];");
    }
    for dep in region.deps() {
        let style = match dep.kind {
            DepKind::Data => "",
            DepKind::Anti => ", style=dashed",
            DepKind::Output => ", style=dashed, arrowhead=empty",
            DepKind::Memory => ", style=dotted",
            DepKind::Barrier => ", style=dotted, arrowhead=empty",
        };
        let _ = writeln!(text, "  n{} -> n{} [label=\"{}\"{style}];", dep.from, dep.to, dep.latency);
    }
    text.push_str("}\n");
    text
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
