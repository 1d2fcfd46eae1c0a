//! Bad input is refused with the file, the line and the element: the whole message is compared, so that one
//! sees here what users get. Nothing panics, and no part of a kernel comes out before the error.

use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use lowtide_io::{KernelReader, MAX_LINE, ReadError, ScheduleReader};

/// A region in the project's own format, to be spoilt.
const OWN: &str = concat!(
    r#"{"lowtide":1,"kernel":"k","region":"r","classes":["vgpr"],"#,
    r#""registers":[{"name":"a","class":"vgpr","weight":1},{"name":"b","class":"vgpr"}],"#,
    r#""live_in":["a"],"live_out":["a"],"through":{"vgpr":2},"#,
    r#""instructions":[{"op":"mul","latency":4,"defs":["b"],"uses":["a"]},"#,
    r#"{"op":"add","latency":1,"units":{"ALU":1},"defs":["a"],"uses":["b"]}],"#,
    r#""deps":[[0,1,"data",4],[0,1,"anti",0]],"hints":[[0,1,"cluster",0]],"#,
    r#""production":{"by":"p","order":[0,1]}}"#
);

/// The same region as LLVM would dump it.
const DUMP: &str = concat!(
    r#"{"v":1,"src":"s","fn":"k","cc":91,"cpu":"gfx906","llvm":15,"bb":0,"ri":1,"nr":2,"loop":0,"n":2,"#,
    r#""amdgpu-waves-per-eu":"1,8","vlim":24,"slim":64,"bnd":"","#,
    r#""nodes":[["MUL",4,1,"ALU","",-1,[[2,1]],[[1,1]]],["ADD",1,1,"ALU*1","",-1,[[1,1]],[[2,1]]]],"#,
    r#""edges":[[0,1,"d",4,2],[0,1,"a",0,1],[0,1,"C",0]],"in":[[1,1]],"out":[[1,1]],"#,
    r#""thru":{"V":2,"S":0,"A":0,"n":2},"regs":{"1":["VGPR_32","V",1],"2":["VGPR_32","V",1]},"#,
    r#""rp":{"V":[3,3],"S":[0,0],"A":[0,0]},"llvmrp":{},"#,
    r#""after":{"by":"stock","order":[0,1],"rp":{"V":[3,3],"S":[0,0],"A":[0,0]}}}"#
);

const SCHEDULE: &str = r#"{"lowtide-schedule":1,"kernel":"k","region":"r","order":[0,1],"cycles":[0,4]}"#;

fn reader(data: impl Into<Vec<u8>>) -> Result<KernelReader, ReadError> {
    KernelReader::from_reader(Box::new(Cursor::new(data.into())), "in.jsonl")
}

/// The kernels that come out before the end or the first error, and the error.
fn read(data: impl Into<Vec<u8>>) -> (Vec<String>, Option<String>) {
    let mut kernels = Vec::new();
    let reader = match reader(data) {
        Ok(reader) => reader,
        Err(error) => return (kernels, Some(error.to_string())),
    };
    let mut failure = None;
    for kernel in reader {
        assert_eq!(failure, None, "nothing comes after an error");
        match kernel {
            Ok(kernel) => kernels.push(kernel.name),
            Err(error) => failure = Some(error.to_string()),
        }
    }
    (kernels, failure)
}

#[track_caller]
fn refuses(data: impl Into<Vec<u8>>, message: &str) {
    let (kernels, failure) = read(data);
    assert_eq!(failure.as_deref(), Some(message));
    assert!(kernels.is_empty(), "no kernel before the error: {kernels:?}");
}

#[track_caller]
fn change(line: &str, from: &str, to: &str) -> String {
    assert!(line.contains(from), "{from} is not in the line");
    line.replacen(from, to, 1)
}

/// Spoils the region, and puts it behind a good one of the same kernel: that must not come out either.
#[track_caller]
fn own(from: &str, to: &str, message: &str) {
    let first = change(OWN, r#""region":"r""#, r#""region":"first""#);
    let bad = change(OWN, from, to);
    refuses(format!("{first}\n\n{bad}\n"), &format!("in.jsonl:3: {message}"));
}

/// The same for the dump.
#[track_caller]
fn dump(from: &str, to: &str, message: &str) {
    let first = change(DUMP, r#""ri":1"#, r#""ri":0"#);
    let bad = change(DUMP, from, to);
    refuses(format!("{first}\n\n{bad}\n"), &format!("in.jsonl:3: {message}"));
}

#[track_caller]
fn schedule(line: &str, message: &str) {
    let text = format!("{SCHEDULE}\n{line}\n");
    let mut entries = ScheduleReader::from_reader(Box::new(Cursor::new(text)), "in.jsonl").unwrap();
    assert!(entries.next().unwrap().is_ok());
    assert_eq!(entries.next().unwrap().unwrap_err().to_string(), format!("in.jsonl:2: {message}"));
    assert!(entries.next().is_none(), "nothing comes after an error");
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_lines_are_good_before_they_are_spoilt() {
    assert_eq!(read(OWN), (vec!["k".to_string()], None));
    assert_eq!(read(DUMP), (vec!["k".to_string()], None));
}

#[test]
fn a_cycle_is_printed() {
    own(
        r#"[0,1,"anti",0]"#,
        r#"[1,0,"anti",0]"#,
        r#"region "r": the dependences form a cycle: instruction #0 mul -> instruction #1 add -> instruction #0 mul"#,
    );
    own(
        r#"[0,1,"anti",0]"#,
        r#"[1,1,"anti",0]"#,
        r#"region "r": the dependences form a cycle: instruction #1 add -> instruction #1 add"#,
    );
    dump(
        r#"[0,1,"a",0,1]"#,
        r#"[1,0,"a",0,1]"#,
        r#"function "k", region bb0.1: the dependences form a cycle: instruction #0 MUL -> instruction #1 ADD -> instruction #0 MUL"#,
    );
}

#[test]
fn a_dependence_against_the_source_order() {
    own(
        r#"[0,1,"data",4],[0,1,"anti",0]"#,
        r#"[1,0,"data",4]"#,
        r#"region "r": dependence instruction #1 add -> instruction #0 mul goes backwards: instructions must be listed in a legal order"#,
    );
    dump(
        r#"[0,1,"d",4,2],[0,1,"a",0,1]"#,
        r#"[1,0,"d",4,2]"#,
        r#"function "k", region bb0.1: dependence instruction #1 ADD -> instruction #0 MUL goes backwards: instructions must be listed in a legal order"#,
    );
}

#[test]
fn an_unknown_instruction_in_a_dependence() {
    own(
        r#"[0,1,"anti",0]"#,
        r#"[0,2,"anti",0]"#,
        r#"region "r": dependence #0 -> #2 names instruction #2, but there are only 2 (#0 to #1)"#,
    );
    own(
        r#"[0,1,"anti",0]"#,
        r#"[4294967295,1,"anti",0]"#,
        r#"region "r": dependence #4294967295 -> #1 names instruction #4294967295, but there are only 2 (#0 to #1)"#,
    );
    own(
        r#"[0,1,"anti",0]"#,
        r#"[-1,1,"anti",0]"#,
        "deps[1][0]: invalid value: integer `-1`, expected a whole number from 0 to 4294967295, at column 356",
    );
    dump(
        r#"[0,1,"a",0,1]"#,
        r#"[0,2,"a",0,1]"#,
        r#"function "k", region bb0.1: dependence #0 -> #2 names instruction #2, but there are only 2 (#0 to #1)"#,
    );
    dump(
        r#"[0,1,"a",0,1]"#,
        r#"[0,-2,"a",0,1]"#,
        "edges[1][1]: expected a whole number from -1 to 4294967295, found -2, at column 271",
    );
}

#[test]
fn an_unknown_instruction_in_a_hint() {
    own(
        r#"[0,1,"cluster",0]"#,
        r#"[0,7,"cluster",0]"#,
        r#"region "r": a hint from #0 names instruction #7, but there are only 2 (#0 to #1)"#,
    );
    dump(
        r#"[0,1,"C",0]"#,
        r#"[7,1,"C",0]"#,
        r#"function "k", region bb0.1: a hint from #7 names instruction #7, but there are only 2 (#0 to #1)"#,
    );
    dump(
        r#"[0,1,"C",0]"#,
        r#"[7,-1,"C",0]"#,
        r#"function "k", region bb0.1: a hint from #7 names instruction #7, but there are only 2 (#0 to #1)"#,
    );
}

#[test]
fn a_production_order_that_is_not_a_permutation() {
    own(
        r#""order":[0,1]"#,
        r#""order":[0,2]"#,
        r#"region "r": the recorded order of p is not a permutation of the 2 instructions: it lists #2"#,
    );
    own(
        r#""order":[0,1]"#,
        r#""order":[0,0]"#,
        r#"region "r": the recorded order of p is not a permutation of the 2 instructions: it lists #0 twice"#,
    );
    own(
        r#""order":[0,1]"#,
        r#""order":[0]"#,
        r#"region "r": the recorded order of p is not a permutation of the 2 instructions: it lists 1"#,
    );
    dump(
        r#""order":[0,1]"#,
        r#""order":[1,1]"#,
        r#"function "k", region bb0.1: the recorded order of stock is not a permutation of the 2 instructions: it lists #1 twice"#,
    );
    dump(
        r#""order":[0,1]"#,
        r#""order":[0,1,2]"#,
        r#"function "k", region bb0.1: the recorded order of stock is not a permutation of the 2 instructions: it lists 3"#,
    );
}

#[test]
fn an_unknown_kind_of_dependence_or_hint() {
    own(
        r#""anti""#,
        r#""aunty""#,
        r#"deps[1][2]: invalid value: string "aunty", expected a kind of dependence (data, anti, output, memory, barrier), at column 366"#,
    );
    own(
        r#""cluster""#,
        r#""klaster""#,
        r#"hints[0][2]: invalid value: string "klaster", expected a kind of hint (artificial, cluster, weak, exit), at column 393"#,
    );
    dump(
        r#""a",0"#,
        r#""z",0"#,
        r#"edges[1][2]: unknown kind "z" of an edge (known: d, a, o, m, b, A, C, W), at column 275"#,
    );
}

#[test]
fn an_unknown_register() {
    own(r#""uses":["b"]"#, r#""uses":["c"]"#, r#"region "r": instruction #1 add: unknown register "c""#);
    own(r#""defs":["b"]"#, r#""defs":["c"]"#, r#"region "r": instruction #0 mul: unknown register "c""#);
    own(r#""live_in":["a"]"#, r#""live_in":["c"]"#, r#"region "r": live_in: unknown register "c""#);
    own(r#""live_out":["a"]"#, r#""live_out":["c"]"#, r#"region "r": live_out: unknown register "c""#);
    dump("[[2,1]]]]", "[[9,1]]]]", r#"function "k", region bb0.1: instruction #1 ADD: unknown register 9"#);
    dump(r#""in":[[1,1]]"#, r#""in":[[9,1]]"#, r#"function "k", region bb0.1: in: unknown register 9"#);
    dump(r#""out":[[1,1]]"#, r#""out":[[9,1]]"#, r#"function "k", region bb0.1: out: unknown register 9"#);
}

#[test]
fn lanes_that_a_register_does_not_have() {
    own(
        r#""uses":["b"]"#,
        r#""uses":[["b",2]]"#,
        r#"region "r": instruction #1 add names lanes 0x2 of register b, which has 1 lanes"#,
    );
    own(
        r#""uses":["b"]"#,
        r#""uses":[["b",0]]"#,
        r#"region "r": instruction #1 add names lanes 0x0 of register b, which has 1 lanes"#,
    );
    dump(
        "[[2,1]]]]",
        "[[2,3]]]]",
        r#"function "k", region bb0.1: instruction #1 ADD names lanes 0x3 of register 2, which has 1 lanes"#,
    );
}

#[test]
fn a_duplicate_definition() {
    own(
        r#""defs":["b"]"#,
        r#""defs":["b","b"]"#,
        r#"region "r": duplicate definition: instruction #0 mul defines lanes 0x1 of register b twice"#,
    );
    own(
        r#""live_in":["a"]"#,
        r#""live_in":["a","a"]"#,
        r#"region "r": duplicate definition: the live-in list defines lanes 0x1 of register a twice"#,
    );
    dump(
        "[[2,1]],[[1,1]]]",
        "[[2,1],[2,1]],[[1,1]]]",
        r#"function "k", region bb0.1: duplicate definition: instruction #0 MUL defines lanes 0x1 of register 2 twice"#,
    );
    dump(
        r#""in":[[1,1]]"#,
        r#""in":[[1,1],[1,1]]"#,
        r#"function "k", region bb0.1: duplicate definition: the live-in list defines lanes 0x1 of register 1 twice"#,
    );
}

#[test]
fn a_register_or_class_declared_twice() {
    own(r#"{"name":"b","#, r#"{"name":"a","#, r#"region "r": register "a" is listed twice"#);
    own(
        r#""classes":["vgpr"]"#,
        r#""classes":["vgpr","vgpr"]"#,
        r#"region "r": class "vgpr" is listed twice"#,
    );
    dump(r#""2":["VGPR_32""#, r#""1":["VGPR_32""#, "regs.1: register 1 is listed twice, at column 405");
}

#[test]
fn an_unknown_class() {
    own(
        r#""name":"b","class":"vgpr""#,
        r#""name":"b","class":"agpr""#,
        r#"region "r": register "b": class "agpr" is not listed in "classes""#,
    );
    own(
        r#""through":{"vgpr":2}"#,
        r#""through":{"agpr":2}"#,
        r#"region "r": through: class "agpr" is not listed in "classes""#,
    );
    own(
        r#""by":"p""#,
        r#""peaks":{"agpr":{"between":1,"at":1}},"by":"p""#,
        r#"region "r": production.peaks: class "agpr" is not listed in "classes""#,
    );
    dump(
        r#""2":["VGPR_32","V",1]"#,
        r#""2":["VGPR_32","Q",1]"#,
        r#"regs.2[1]: unknown register file "Q" (known: V, S, A), at column 402"#,
    );
}

#[test]
fn a_register_without_lanes_or_with_too_many() {
    own(
        r#""weight":1"#,
        r#""lanes":0"#,
        r#"region "r": register a has 0 lanes of weight 1: 1 to 64 lanes of weight 1 or more are supported"#,
    );
    own(
        r#""weight":1"#,
        r#""lanes":65"#,
        r#"region "r": register a has 65 lanes of weight 1: 1 to 64 lanes of weight 1 or more are supported"#,
    );
    dump(
        r#""2":["VGPR_32","V",1]"#,
        r#""2":["VGPR_32","V",65]"#,
        r#"function "k", region bb0.1: register 2 has 65 lanes of weight 1: 1 to 64 lanes of weight 1 or more are supported"#,
    );
}

#[test]
fn a_latency_that_is_negative_or_too_large() {
    own(
        r#""latency":4"#,
        r#""latency":-4"#,
        "instructions[0].latency: invalid value: integer `-4`, expected a whole number from 0 to 4294967295, at column 233",
    );
    own(
        r#""latency":4"#,
        r#""latency":1e30"#,
        "instructions[0].latency: invalid type: floating point `1e+30`, expected a whole number from 0 to 4294967295, at column 235",
    );
    own(
        r#""latency":4"#,
        r#""latency":4294967296"#,
        "instructions[0].latency: invalid value: integer `4294967296`, expected a whole number from 0 to 4294967295, at column 241",
    );
    own(
        r#""latency":4"#,
        r#""latency":4294967295"#,
        r#"region "r": the latencies of the region add up to 4294967296, which is over the supported 2147483647"#,
    );
    own(
        r#"[0,1,"data",4]"#,
        r#"[0,1,"data",-4]"#,
        "deps[0][3]: invalid value: integer `-4`, expected a whole number from 0 to 4294967295, at column 352",
    );
    own(
        r#"[0,1,"data",4]"#,
        r#"[0,1,"data",2147483647]"#,
        r#"region "r": the latencies of the region add up to 2147483648, which is over the supported 2147483647"#,
    );
    dump(
        r#"["MUL",4"#,
        r#"["MUL",-4"#,
        "nodes[0][1]: expected a whole number from 0 to 4294967295, found -4, at column 169",
    );
    dump(
        r#"["MUL",4"#,
        r#"["MUL",1e30"#,
        "nodes[0][1]: expected a whole number from 0 to 4294967295, found 1e30, at column 169",
    );
    dump(
        r#"["MUL",4"#,
        r#"["MUL",4294967296"#,
        "nodes[0][1]: expected a whole number from 0 to 4294967295, found 4294967296, at column 169",
    );
    dump(
        r#"[0,1,"d",4,2]"#,
        r#"[0,1,"d",-4,2]"#,
        "edges[0][3]: expected a whole number from 0 to 4294967295, found -4, at column 263",
    );
}

#[test]
fn a_weight_that_is_negative_zero_or_too_large() {
    own(
        r#""weight":1"#,
        r#""weight":-1"#,
        "registers[0].weight: invalid value: integer `-1`, expected a whole number from 0 to 4294967295, at column 109",
    );
    own(
        r#""weight":1"#,
        r#""weight":0"#,
        r#"region "r": register a has 1 lanes of weight 0: 1 to 64 lanes of weight 1 or more are supported"#,
    );
    own(
        r#""weight":1"#,
        r#""weight":4294967296"#,
        "registers[0].weight: invalid value: integer `4294967296`, expected a whole number from 0 to 4294967295, at column 117",
    );
}

#[test]
fn weights_that_overflow_together() {
    own(
        r#""weight":1"#,
        r#""weight":1073741824"#,
        r#"region "r": the weights of the region add up to 2147483651, which is over the supported 2147483647"#,
    );
    own(
        r#""through":{"vgpr":2}"#,
        r#""through":{"vgpr":4294967295}"#,
        r#"region "r": the weights of the region add up to 4294967298, which is over the supported 2147483647"#,
    );
    dump(
        r#""thru":{"V":2"#,
        r#""thru":{"V":2147483647"#,
        r#"function "k", region bb0.1: the weights of the region add up to 2147483650, which is over the supported 2147483647"#,
    );
}

#[test]
fn a_use_before_its_definition() {
    own(
        r#""live_in":["a"],"#,
        "",
        r#"region "r": instruction #0 mul uses lanes 0x1 of register a, which no earlier instruction defines and which are not live-in"#,
    );
    dump(
        r#""in":[[1,1]]"#,
        r#""in":[]"#,
        r#"function "k", region bb0.1: instruction #0 MUL uses lanes 0x1 of register 1, which no earlier instruction defines and which are not live-in"#,
    );
}

#[test]
fn a_live_out_without_a_definition() {
    own(
        r#"],"live_in":["a"],"live_out":["a"]"#,
        r#",{"name":"c","class":"vgpr"}],"live_in":["a"],"live_out":["c"]"#,
        r#"region "r": lanes 0x1 of register c are live-out, but no instruction defines them and they are not live-in"#,
    );
    dump(
        r#""out":[[1,1]],"thru":{"V":2,"S":0,"A":0,"n":2},"regs":{"#,
        r#""out":[[3,1]],"thru":{"V":2,"S":0,"A":0,"n":2},"regs":{"3":["VGPR_32","V",1],"#,
        r#"function "k", region bb0.1: lanes 0x1 of register 3 are live-out, but no instruction defines them and they are not live-in"#,
    );
}

#[test]
fn a_hazard_without_a_dependence() {
    own(
        r#"[0,1,"data",4],[0,1,"anti",0]"#,
        "",
        r#"region "r": instruction #1 add reads register b after instruction #0 mul writes it, but no dependence keeps them in order"#,
    );
    dump(
        r#"[0,1,"d",4,2],[0,1,"a",0,1],"#,
        "",
        r#"function "k", region bb0.1: instruction #1 ADD reads register 2 after instruction #0 MUL writes it, but no dependence keeps them in order"#,
    );
}

#[test]
fn a_unit_or_resource_that_makes_no_sense() {
    own(
        r#""units":{"ALU":1}"#,
        r#""units":{"ALU":1,"ALU":2}"#,
        r#"instructions[1].units: key "ALU" is given twice, at column 309"#,
    );
    dump(r#""ALU*1""#, r#""ALU*x""#, r#"nodes[1][3]: bad resource "ALU*x", at column 219"#);
    dump(
        r#""ALU*1""#,
        r#""ALU+ALU""#,
        r#"function "k", region bb0.1: instruction #1 ADD names unit "ALU" twice"#,
    );
}

#[test]
fn no_instructions() {
    dump(r#""n":2"#, r#""n":3"#, r#"function "k", region bb0.1: "n" is 3, but there are 2 nodes"#);
    refuses(
        r#"{"lowtide":1,"kernel":"k","region":"r","classes":[],"registers":[],"instructions":[]}"#,
        r#"in.jsonl:1: region "r": the region has no instructions"#,
    );
}

#[test]
fn an_unknown_field() {
    own(
        r#""hints""#,
        r#""hunts""#,
        "hunts: unknown field `hunts`, expected one of `lowtide`, `kernel`, `origin`, `target`, `entry`, `max_occupancy`, `region`, `loop_depth`, `frequency`, `boundary`, `classes`, `registers`, `live_in`, `live_out`, `through`, `instructions`, `deps`, `hints`, `source_peaks`, `production`, at column 376",
    );
    own(
        r#""weight""#,
        r#""wait""#,
        "registers[0].wait: unknown field `wait`, expected one of `name`, `class`, `lanes`, `weight`, at column 104",
    );
    dump(
        r#""llvmrp""#,
        r#""gccrp""#,
        "gccrp: unknown field, expected one of v, src, fn, cc, cpu, llvm, bb, ri, nr, loop, n, amdgpu-flat-work-group-size, amdgpu-waves-per-eu, vlim, slim, bnd, nodes, edges, in, out, thru, regs, rp, llvmrp, after, at column 452",
    );
}

#[test]
fn a_missing_field() {
    own(r#""kernel":"k","#, "", "missing field `kernel`, at column 422");
    own(r#""op":"mul","#, "", "instructions[0]: missing field `op`, at column 248");
    dump(r#""cc":91,"#, "", "missing field `cc`, at column 522");
}

#[test]
fn a_duplicate_field() {
    own(r#""kernel":"k""#, r#""kernel":"k","kernel":"k""#, "duplicate field `kernel`, at column 34");
    own(
        r#""through":{"vgpr":2}"#,
        r#""through":{"vgpr":2,"vgpr":3}"#,
        r#"through: key "vgpr" is given twice, at column 201"#,
    );
    dump(r#""cc":91"#, r#""cc":91,"cc":91"#, "cc: the field is given twice, at column 39");
}

#[test]
fn a_value_of_the_wrong_type() {
    own(
        r#""uses":["b"]"#,
        r#""uses":[5]"#,
        "instructions[1].uses[0]: invalid type: integer `5`, expected a register name, or [name, lanes], or [name, lanes, flags], at column 324",
    );
    own(
        r#"{"op":"mul","latency":4,"defs":["b"],"uses":["a"]}"#,
        "5",
        "instructions[0]: invalid type: integer `5`, expected an object with op and latency, at column 210",
    );
    own(
        r#"["b"],"uses""#,
        r#"[["b",1,"q"]],"uses""#,
        "instructions[0].defs[0]: unknown flag 'q' of a definition (known: d, e, t, u), at column 252",
    );
    dump(
        r#"["ADD",1,1,"ALU*1","",-1,[[1,1]],[[2,1]]]"#,
        r#"["ADD",1]"#,
        "nodes[1]: only 2 elements, expected [opcode, latency, micro-ops, units, flags, address space, defs, uses], at column 210",
    );
}

#[test]
fn a_truncated_line() {
    for line in [OWN, DUMP] {
        for end in 1..line.len() {
            let (kernels, failure) = read(&line[..end]);
            let failure = failure.unwrap();
            assert!(failure.starts_with("in.jsonl:1: "), "{failure}");
            assert!(failure.contains("(is the line cut off?), at column "), "{failure}");
            assert!(kernels.is_empty());
        }
    }
    refuses(
        &OWN[..100],
        "in.jsonl:1: registers[0]: EOF while parsing a string (is the line cut off?), at column 100",
    );
    refuses(&DUMP[..250], "in.jsonl:1: EOF while parsing a string (is the line cut off?), at column 250");
}

#[test]
fn garbage_after_the_region() {
    own(r#""order":[0,1]}}"#, r#""order":[0,1]}} x"#, "not valid JSON: trailing characters, at column 437");
    dump(r#""A":[0,0]}}}"#, r#""A":[0,0]}}}{}"#, "not valid JSON: trailing characters, at column 531");
}

#[test]
fn an_unknown_version_of_the_format() {
    own(r#""lowtide":1"#, r#""lowtide":2"#, "unknown format version 2 (this program reads version 1)");
    own(r#""lowtide":1"#, r#""lowtide":"1""#, r#"unknown format version "1" (this program reads version 1)"#);
    dump(r#""v":1"#, r#""v":2"#, "unknown version 2 of an LLVM dump (this program reads version 1)");
    schedule(
        &change(SCHEDULE, ":1", ":4"),
        "unknown version 4 of a schedule file (this program reads versions 1 to 3)",
    );
}

#[test]
fn something_that_is_not_a_region() {
    refuses("hello\n", "in.jsonl:1: not valid JSON: expected value, at column 1");
    refuses("\n\n{}\n", r#"in.jsonl:3: not a region: neither "lowtide" nor "v" gives a format version"#);
    refuses("{\"a\":1}", r#"in.jsonl:1: not a region: neither "lowtide" nor "v" gives a format version"#);
    refuses("[1,2]", "in.jsonl:1: a line must be a JSON object, {...}");
    refuses("5", "in.jsonl:1: a line must be a JSON object, {...}");
    refuses("\u{feff}{}", "in.jsonl:1: not valid JSON: expected value, at column 1");
    refuses("PK\x03\x04", "in.jsonl:1: not valid JSON: expected value, at column 1");
}

#[test]
fn a_file_without_regions() {
    refuses("", "in.jsonl: contains no regions");
    refuses(" \n\r\n\t\n", "in.jsonl: contains no regions");
    refuses(gzip(b""), "in.jsonl: contains no regions");
    let mut none = ScheduleReader::from_reader(Box::new(std::io::empty()), "in.jsonl").unwrap();
    assert_eq!(none.next().unwrap().unwrap_err().to_string(), "in.jsonl: contains no schedules");
}

#[test]
fn invalid_utf_8() {
    let mut line = OWN.as_bytes().to_vec();
    line[25] = 0xff;
    refuses([b"\n", &*line].concat(), "in.jsonl:2: invalid UTF-8 at byte 26 of the line");
    let mut line = DUMP.as_bytes().to_vec();
    line[16] = 0xc0;
    refuses(line, "in.jsonl:1: invalid UTF-8 at byte 17 of the line");
}

#[test]
fn a_kernel_in_two_places() {
    let other = change(OWN, r#""kernel":"k""#, r#""kernel":"other""#);
    let again = change(OWN, r#""region":"r""#, r#""region":"r2""#);
    let (kernels, failure) = read(format!("{OWN}\n\n\n{other}\n{again}\n"));
    assert_eq!(
        failure.unwrap(),
        r#"in.jsonl:5: kernel "k" already ended at line 1: the regions of a kernel must stand together"#
    );
    assert_eq!(kernels, ["k"], "complete kernels come out, the one before the error does not");

    let other = change(DUMP, r#""fn":"k""#, r#""fn":"other""#);
    let again = change(DUMP, r#""ri":1"#, r#""ri":2"#);
    assert_eq!(
        read(format!("{DUMP}\n{other}\n{again}\n")).1.unwrap(),
        r#"in.jsonl:3: kernel "k" already ended at line 1: the regions of a kernel must stand together"#
    );
}

#[test]
fn a_region_name_twice() {
    refuses(format!("{OWN}\n{OWN}\n"), r#"in.jsonl:2: region "r" of kernel "k" appears twice"#);
    refuses(format!("{DUMP}\n{DUMP}\n"), r#"in.jsonl:2: region "bb0.1" of kernel "k" appears twice"#);
}

#[test]
fn lines_of_a_kernel_that_disagree() {
    own(
        r#""kernel":"k""#,
        r#""kernel":"k","max_occupancy":3"#,
        r#"kernel "k": target, entry or max_occupancy differ from its line before"#,
    );
    dump(
        r#""cc":91"#,
        r#""cc":0"#,
        r#"kernel "k": target, entry or max_occupancy differ from its line before"#,
    );
}

#[test]
fn a_kernel_without_a_wave() {
    let none = change(OWN, r#""kernel":"k""#, r#""kernel":"k","max_occupancy":0"#);
    refuses(
        none,
        r#"in.jsonl:1: kernel "k": max_occupancy must be at least 1: leave it out if there is no limit"#,
    );
    // In a dump, 0 is LLVM's word for no limit.
    let unlimited = change(DUMP, r#""1,8""#, r#""1,0""#);
    let kernel = reader(unlimited).expect("a reader").next().expect("a kernel").expect("a valid kernel");
    assert_ne!(kernel.max_occupancy, Some(0));
}

#[test]
fn a_bad_attribute() {
    dump(r#""1,8""#, r#""1,many""#, r#"function "k", region bb0.1: bad amdgpu-waves-per-eu "many""#);
}

#[test]
fn a_bad_schedule() {
    schedule(
        &change(SCHEDULE, "[0,1]", "[0,-1]"),
        "order[1]: invalid value: integer `-1`, expected a whole number from 0 to 4294967295, at column 61",
    );
    schedule(
        &change(SCHEDULE, "cycles", "cicles"),
        "cicles: unknown field `cicles`, expected one of `lowtide-schedule`, `kernel`, `origin`, `region`, `order`, `cycles`, `latencies`, `peak_bounds`, at column 70",
    );
    schedule("[1,\"k\",\"\",\"r\",[],[]]", "a line must be a JSON object, {...}");
    schedule(&SCHEDULE[..60], "order: EOF while parsing a list (is the line cut off?), at column 60");
}

#[test]
fn a_bad_bound() {
    let bounded = |bounds: &str| {
        let line = change(SCHEDULE, ":1,", ":2,");
        change(&line, "[0,4]}", &format!("[0,4],\"peak_bounds\":{bounds}}}"))
    };
    let old = change(&bounded("{}"), ":2,", ":1,");
    schedule(&old, "peak_bounds: only version 2 of a schedule file has them");
    let by = |reason: &str| bounded(&format!(r#"{{"vgpr":{{"value":2,"by":{reason}}}}}"#));
    let place = "peak_bounds.vgpr.by";
    for (reason, message) in [
        (
            r#"{"cut":"before"}"#,
            "a cut \"before\" or \"after\" needs an \"instr\"; at \"start\" and \"end\" there is none",
        ),
        (
            r#"{"cut":"end","instr":1}"#,
            "a cut \"before\" or \"after\" needs an \"instr\"; at \"start\" and \"end\" there is none",
        ),
        (
            r#"{"search":{"nodes":1,"rules":[]},"cut":"start"}"#,
            "a reason is either a \"cut\", a \"search\" or a \"solver\"",
        ),
        (r#"{"instr":1}"#, "a reason is either a \"cut\", a \"search\" or a \"solver\""),
        (
            r#"{"cut":"before","and":1}"#,
            "a cut \"before\" or \"after\" needs an \"instr\"; at \"start\" and \"end\" there is none",
        ),
        (
            r#"{"cut":"start","instr":1,"and":0}"#,
            "a cut \"before\" or \"after\" needs an \"instr\"; at \"start\" and \"end\" there is none",
        ),
        (
            r#"{"solver":"cp-sat","cut":"start"}"#,
            "a reason is either a \"cut\", a \"search\" or a \"solver\"",
        ),
        (
            r#"{"solver":"cp-sat","search":{"nodes":1,"rules":[]}}"#,
            "a reason is either a \"cut\", a \"search\" or a \"solver\"",
        ),
        (r#"{"solver":"cp-sat","and":1}"#, "a reason is either a \"cut\", a \"search\" or a \"solver\""),
        ("{}", "a reason is either a \"cut\", a \"search\" or a \"solver\""),
        (r#"["start"]"#, "invalid type: sequence, expected an object"),
    ] {
        let line = by(reason);
        let mut entries = ScheduleReader::from_reader(Box::new(Cursor::new(line)), "in.jsonl").unwrap();
        let error = entries.next().unwrap().unwrap_err().to_string();
        assert!(error.starts_with(&format!("in.jsonl:1: {place}: {message}, at column ")), "{error}");
    }
    for (bounds, message) in [
        (r#"{"vgpr":2}"#, "peak_bounds.vgpr: invalid type: integer `2`, expected an object"),
        (r#"{"vgpr":[2,{"cut":"start"}]}"#, "peak_bounds.vgpr: invalid type: sequence, expected an object"),
        (r#"{"vgpr":{"value":2}}"#, "peak_bounds.vgpr: missing field `by`"),
        (
            r#"{"vgpr":{"value":-2,"by":{"cut":"start"}}}"#,
            "peak_bounds.vgpr.value: invalid value: integer `-2`",
        ),
        (r#"{"v":{"value":2,"by":{"cut":"start","at":1}}}"#, "peak_bounds.v.by.at: unknown field `at`"),
        (r#"{"v":{"value":2,"by":{"cut":"in"}}}"#, "peak_bounds.v.by.cut: unknown variant `in`"),
        (r#"{"v":{"value":2,"by":{"solver":"magic"}}}"#, "peak_bounds.v.by.solver: unknown variant `magic`"),
        (
            r#"{"v":{"value":2,"by":{"cut":"after","instr":1,"and":-1}}}"#,
            "peak_bounds.v.by.and: invalid value: integer `-1`",
        ),
        (
            r#"{"v":{"value":2,"by":{"search":{"nodes":1}}}}"#,
            "peak_bounds.v.by.search: missing field `rules`",
        ),
        (
            r#"{"v":{"value":2,"by":{"cut":"start"}},"v":{"value":2,"by":{"cut":"start"}}}"#,
            "peak_bounds: key \"v\" is given twice",
        ),
    ] {
        let mut entries =
            ScheduleReader::from_reader(Box::new(Cursor::new(bounded(bounds))), "in.jsonl").unwrap();
        let error = entries.next().unwrap().unwrap_err().to_string();
        assert!(error.starts_with(&format!("in.jsonl:1: {message}")), "{error}");
    }
}

/// Both formats, several kernels: whatever the cut, what comes out is a number of whole kernels.
#[test]
fn truncated_gzip() {
    let text: String =
        (0..50).map(|i| change(OWN, r#""k""#, &format!("\"k{i}\"")) + "\n" + DUMP + "\n").collect();
    let text = text.replace("\"fn\":\"k\"", "\"fn\":\"\"");
    let packed = gzip(text.as_bytes());
    let (all, none) = read(packed.clone());
    assert_eq!((all.len(), none), (100, None));
    for end in 2..packed.len() {
        let (kernels, failure) = read(&packed[..end]);
        let failure = failure.unwrap();
        assert!(failure.ends_with(": the gzip data ends too early: the file is truncated"), "{failure}");
        assert!(failure.starts_with("in.jsonl:"), "{failure}");
        assert!(kernels.len() < 100 && kernels[..] == all[..kernels.len()]);
    }
    refuses(&packed[..20], "in.jsonl:1: the gzip data ends too early: the file is truncated");
}

#[test]
fn damaged_gzip() {
    let packed = gzip(format!("{OWN}\n").as_bytes());
    for position in 0..packed.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut damaged = packed.clone();
            damaged[position] ^= flip;
            let (kernels, failure) = read(damaged);
            match failure {
                Some(text) => assert!(text.starts_with("in.jsonl:") && kernels.is_empty(), "{text}"),
                // Flags, time and system in the header and the bits that fill the last byte carry no data.
                None => assert!((3..10).contains(&position) || position == packed.len() - 9, "{position}"),
            }
        }
    }
    let mut checksum = packed.clone();
    checksum[packed.len() - 6] ^= 1;
    refuses(checksum, "in.jsonl:2: damaged gzip data: corrupt gzip stream does not have a matching checksum");
    refuses(
        [&packed[..], b"more"].concat(),
        "in.jsonl:2: the gzip data ends too early: the file is truncated",
    );
}

/// Bytes without end and without a line's end; counts those that were asked for.
struct Endless {
    chunk: Vec<u8>,
    handed_out: Arc<AtomicUsize>,
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let part = &self.chunk[self.at..];
        let count = part.len().min(buffer.len());
        buffer[..count].copy_from_slice(&part[..count]);
        self.at = (self.at + count) % self.chunk.len();
        self.handed_out.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

/// The message for an endless file that repeats `chunk`, and how much of it was read.
fn read_endless(chunk: Vec<u8>) -> (String, usize) {
    let handed_out = Arc::new(AtomicUsize::new(0));
    let endless = Endless { chunk, handed_out: Arc::clone(&handed_out), at: 0 };
    let mut reader = KernelReader::from_reader(Box::new(endless), "in.jsonl").unwrap();
    let message = reader.next().unwrap().unwrap_err().to_string();
    assert!(reader.next().is_none());
    (message, handed_out.load(Ordering::Relaxed))
}

#[test]
fn a_line_without_end_is_not_read_to_its_end() {
    let (message, read) = read_endless(vec![b' '; 4096]);
    assert_eq!(message, "in.jsonl:1: the line is longer than 64 MiB and was not read");
    assert!(read <= MAX_LINE + (2 << 20), "{read} bytes were read");
}

#[test]
fn a_line_without_end_in_a_small_gzip_file() {
    let member = gzip(&vec![b'x'; 1 << 20]);
    let size = member.len();
    let (message, read) = read_endless(member);
    assert_eq!(message, "in.jsonl:1: the line is longer than 64 MiB and was not read");
    assert!(read <= size * (MAX_LINE >> 20) + (2 << 20), "{read} bytes were read");
}

/// A device that fails in the middle.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("the disk is on fire")),
            count => Ok(count),
        }
    }
}

#[test]
fn a_device_that_fails() {
    let input = Failing(Cursor::new(format!("{OWN}\n").into_bytes()));
    let mut reader = KernelReader::from_reader(Box::new(input), "in.jsonl").unwrap();
    assert_eq!(
        reader.next().unwrap().unwrap_err().to_string(),
        "in.jsonl:2: cannot be read: the disk is on fire"
    );
    assert!(reader.next().is_none());
}

#[test]
fn a_missing_file() {
    let error = KernelReader::open(Path::new("no/such/file.jsonl")).err().unwrap();
    assert_eq!(error.line, None);
    assert_eq!(
        error.to_string(),
        "no/such/file.jsonl: cannot be read: No such file or directory (os error 2)"
    );
    let error = ScheduleReader::open(Path::new("no/such/file.jsonl")).err().unwrap();
    assert_eq!(
        error.to_string(),
        "no/such/file.jsonl: cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn a_folder_instead_of_a_file() {
    let error = KernelReader::open(Path::new(".")).err().unwrap();
    assert_eq!(error.to_string(), ".: is a directory");
}

#[test]
fn a_frequency_is_a_whole_number() {
    for (value, found) in [
        ("-1", "invalid value: integer `-1`, expected a whole number from 0 to 4294967295, at column 53"),
        (
            "1.5",
            "invalid type: floating point `1.5`, expected a whole number from 0 to 4294967295, at column 54",
        ),
        (
            "4294967296",
            "invalid value: integer `4294967296`, expected a whole number from 0 to 4294967295, at column 61",
        ),
        (
            r#""often""#,
            r#"invalid type: string "often", expected a whole number from 0 to 4294967295, at column 58"#,
        ),
        ("true", "invalid type: boolean `true`, expected a whole number from 0 to 4294967295, at column 55"),
        ("[1]", "invalid type: sequence, expected a whole number from 0 to 4294967295, at column 51"),
    ] {
        let message = format!("frequency: {found}");
        own(r#""classes""#, &format!(r#""frequency":{value},"classes""#), &message);
    }
    own(
        r#""classes""#,
        r#""frequency":1,"frequency":1,"classes""#,
        "duplicate field `frequency`, at column 64",
    );
}
