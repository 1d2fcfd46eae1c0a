//! The two proofs that no order of a region is within limits.
//!
//! A *cut* shows that f is over the limit in every state that is possible at one moment, which every order passes. Its chains are a flow: each has a
//! live value in every such state, and together they are no more than the weight of any value. A *search* lists states closed under free moves,
//! such that every step within the limits leads from the list to the list. Since the state of all instructions is not in the list, no order is
//! within the limits. The theorems are in `docs/certificates.md`.

use crate::region::{Bits, Graph};
use crate::walk::Walk;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

/// A search that needs more memory for its states is unsupported: 2^28 words are 2 GiB.
pub const MAX_WORDS: usize = 1 << 28;

/// A proof in a certificate.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    /// f is over the limit at a moment.
    Cut(Cut),
    /// The states that can be reached within the limits.
    Search(Search),
    /// Two proofs for orders with few registers of a class, and with more. Only for waves.
    Split(Box<Split>),
}

/// What `Proof::Split` has: orders with at most `at` registers of a class are `below`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Split {
    pub class: String,
    pub at: u32,
    pub below: Proof,
    pub above: Proof,
}

/// The moment and the flow of a cut.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    class: String,
    after: Option<Moment>,
    before: Option<Moment>,
    chains: Option<Vec<Chain>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Moment {
    Name(String),
    Instructions(Vec<u32>),
}

/// `[first, item, item, ...]`.
struct Row<F, I>(F, Vec<I>);
/// A value `[register, lane, begin]`, and instructions.
type Step = Row<(u32, u32, i64), u32>;
/// An amount, and steps.
type Chain = Row<u64, Step>;

impl<'de, F: Deserialize<'de>, I: Deserialize<'de>> Deserialize<'de> for Row<F, I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<F, I>(PhantomData<(F, I)>);
        impl<'de, F: Deserialize<'de>, I: Deserialize<'de>> Visitor<'de> for Items<F, I> {
            type Value = Row<F, I>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a list that is not empty")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let first = items.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let mut rest = Vec::new();
                while let Some(item) = items.next_element()? {
                    rest.push(item);
                }
                Ok(Row(first, rest))
            }
        }
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

/// The states of a search.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The class whose limit counts. All of them without it.
    #[serde(default)]
    pub class: Option<String>,
    /// The end at which it starts.
    pub from: String,
    /// For each state but the first: its parent, and the instruction that leads to it.
    pub states: Vec<(usize, u32)>,
}

impl Search {
    /// Return the limits that count.
    pub fn counting(&self, graph: &Graph, limits: &[Option<i64>]) -> Vec<Option<i64>> {
        let counts = |class: &String| self.class.as_ref().is_none_or(|only| class == only);
        graph.classes.iter().zip(limits).map(|(class, limit)| limit.filter(|_| counts(class))).collect()
    }
}

/// Why a proof is not accepted.
#[derive(Debug, PartialEq)]
pub enum Failure {
    /// The proof is wrong.
    Refused(String),
    /// The verifier cannot check the proof.
    Unsupported(String),
}

/// Refuse a claim.
pub fn refuse<T>(reason: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Refused(reason.into()))
}

/// Check that no order keeps each class within its limit. Classes without a limit do not count.
pub fn check(graph: &Graph, proof: &Proof, limits: &[Option<i64>]) -> Result<(), Failure> {
    match proof {
        Proof::Cut(cut) => check_cut(graph, cut, limits),
        Proof::Search(search) => check_search(graph, search, limits),
        Proof::Split(_) => refuse("a split is no proof of registers, and has none inside"),
    }
}

fn check_cut(graph: &Graph, cut: &Cut, limits: &[Option<i64>]) -> Result<(), Failure> {
    let class = graph.classes.iter().position(|c| *c == cut.class);
    let Some((class, limit)) = class.and_then(|c| Some((c, limits.get(c).copied().flatten()?))) else {
        return refuse(format!("the cut is of class {:?}, for which the claim has no limit", cut.class));
    };
    let (moment, after) = match (&cut.after, &cut.before) {
        (Some(moment), None) => (moment, true),
        (None, Some(moment)) => (moment, false),
        _ => return refuse("the cut must have either \"after\" or \"before\""),
    };
    let least = match moment {
        Moment::Name(name) => {
            let backward = match name.as_str() {
                "start" => false,
                "end" => true,
                _ => return refuse(format!("the cut is at an unknown moment {name:?}")),
            };
            if cut.chains.as_ref().is_some_and(|chains| !chains.is_empty()) {
                return refuse(format!("the cut at the {name} has chains"));
            }
            Walk::new(graph, backward).weight()[class]
        }
        Moment::Instructions(list) => {
            let Some(chains) = &cut.chains else { return refuse("the cut has no chains") };
            let (inside, outside) = sets(graph, list, after)?;
            graph.through[class].saturating_add(flow(graph, class, chains, &inside, &outside)?)
        }
    };
    if least > limit { Ok(()) } else { refuse(format!("the cut proves {least}, not more than {limit}")) }
}

/// Return the instructions that are in every state that is possible at the moment, and those that are in none.
fn sets(graph: &Graph, list: &[u32], after: bool) -> Result<(Bits, Bits), Failure> {
    if list.is_empty() {
        return refuse("the cut is at the moment of an empty list of instructions");
    }
    // One side has the members and all that lies beyond one of them. The other has what lies beyond all members, on the other side.
    let (one_side, other_side) =
        if after { (&graph.preds, &graph.succs) } else { (&graph.succs, &graph.preds) };
    let reach = |from: u32, next: &crate::region::Lists, seen: &mut Bits| {
        let mut open = vec![from];
        while let Some(i) = open.pop() {
            for &j in next.get(i) {
                if !seen.has(j) {
                    seen.set(j, true);
                    open.push(j);
                }
            }
        }
    };
    let mut members = Bits::new(graph.count);
    for &i in list {
        if i as usize >= graph.count {
            return refuse(format!("the cut names instruction {i} of {}", graph.count));
        }
        members.set(i, true);
    }
    let mut any = Bits::new(graph.count);
    let mut all: Option<Bits> = None;
    for i in members.iter() {
        reach(i, one_side, &mut any);
        any.set(i, true);
        let mut beyond = Bits::new(graph.count);
        reach(i, other_side, &mut beyond);
        all = Some(match all {
            None => beyond,
            Some(mut all) => {
                all.combine(&beyond, |a, b| a & b);
                all
            }
        });
    }
    let all = all.unwrap_or_else(|| Bits::new(graph.count));
    Ok(if after { (any, all) } else { (all, any) })
}

/// Return the sum of the amounts of valid chains.
fn flow(
    graph: &Graph,
    class: usize,
    chains: &[Chain],
    inside: &Bits,
    outside: &Bits,
) -> Result<i64, Failure> {
    let mut total = 0i64;
    let mut through: HashMap<u32, i64> = HashMap::new();
    for (number, Row(amount, steps)) in chains.iter().enumerate() {
        let wrong = |what: &str| refuse(format!("chain {number}: {what}"));
        let amount = match i64::try_from(*amount) {
            Ok(amount) if amount > 0 => amount,
            _ => return wrong("the amount is zero or too large"),
        };
        if steps.is_empty() {
            return wrong("there is no step");
        }
        let mut reached = None;
        for (position, Row(name, instructions)) in steps.iter().enumerate() {
            let &(register, lane, begin) = name;
            let Some(v) = graph.value(register, lane, begin) else {
                return wrong(&format!("there is no value [{register}, {lane}, {begin}]"));
            };
            let value = &graph.values[v as usize];
            if value.class != class {
                return wrong("a value belongs to another class");
            }
            let starts = if position == 0 {
                value.begin.is_none_or(|b| inside.has(b))
            } else {
                reached.is_some() && value.begin == reached
            };
            if !starts {
                return wrong("a value need not have begun where the chain enters it");
            }
            let used = through.entry(v).or_default();
            *used = used.saturating_add(amount);
            if *used > value.weight {
                return wrong(&format!("a value of weight {} carries more than its weight", value.weight));
            }
            let uses = graph.uses.get(v);
            if position + 1 == steps.len() {
                let ends = match instructions[..] {
                    [] => value.live_out,
                    [i] => uses.contains(&i) && outside.has(i),
                    _ => false,
                };
                if !ends {
                    return wrong("the last value need not be live: it is neither live-out nor used later");
                }
            } else {
                if !instructions.first().is_some_and(|i| uses.contains(i)) {
                    return wrong("a step does not start with a use of its value");
                }
                if instructions.windows(2).any(|w| !graph.preds.get(w[0]).contains(&w[1])) {
                    return wrong("an instruction is not a direct predecessor of the one before it");
                }
                reached = instructions.last().copied();
            }
        }
        total = total.saturating_add(amount);
    }
    Ok(total)
}

/// Tell whether each class is within its limit.
pub fn is_within(weight: &[i64], limits: &[Option<i64>]) -> bool {
    weight.iter().zip(limits).all(|(weight, limit)| limit.is_none_or(|limit| *weight <= limit))
}

/// Tell whether a search starts at the end.
pub fn is_backward(from: &str) -> Result<bool, Failure> {
    match from {
        "start" => Ok(false),
        "end" => Ok(true),
        from => refuse(format!("the search starts at an unknown place {from:?}")),
    }
}

/// Go from the parent of state `k` to the state that has `x` as well.
pub fn step(walk: &mut Walk, k: usize, parent: Option<&Bits>, x: u32) -> Result<(), Failure> {
    let Some(parent) = parent else {
        return refuse(format!("state {k}: its parent is not an earlier state"));
    };
    walk.go_to(parent);
    if !walk.can_follow(x) {
        return refuse(format!("state {k}: instruction {x} cannot follow its parent"));
    }
    walk.pass(x);
    Ok(())
}

fn check_search(graph: &Graph, search: &Search, limits: &[Option<i64>]) -> Result<(), Failure> {
    let backward = is_backward(&search.from)?;
    let limits = &search.counting(graph, limits)[..];
    if graph.count.div_ceil(64).saturating_mul(search.states.len()) > MAX_WORDS {
        return Err(Failure::Unsupported("the states of a search need more than 2 GiB".into()));
    }
    let counts: Vec<bool> = limits.iter().map(Option::is_some).collect();
    let mut walk = Walk::new(graph, backward);
    if !is_within(walk.weight(), limits) {
        return Ok(()); // Every order passes this state.
    }
    walk.close(None, &counts);

    // Build the states.
    let mut states = vec![Rc::new(walk.passed().clone())];
    let mut known = HashSet::from([states[0].clone()]);
    for (k, &(parent, x)) in (1..).zip(&search.states) {
        step(&mut walk, k, states.get(parent).map(|parent| &**parent), x)?;
        walk.close(Some(x), &counts);
        let state = Rc::new(walk.passed().clone());
        known.insert(state.clone());
        states.push(state);
    }

    // Follow every step within the limits.
    for (k, state) in states.iter().enumerate() {
        walk.go_to(state);
        let followers: Vec<u32> = walk.ready().iter().collect();
        if followers.is_empty() {
            return refuse(format!("state {k} contains all instructions"));
        }
        for x in followers {
            walk.pass(x);
            if is_within(walk.weight(), limits) {
                let moves = walk.close(Some(x), &counts);
                if !known.contains(walk.passed()) {
                    return refuse(format!(
                        "state {k}: instruction {x} leads within the limits to a state that is not in the list"
                    ));
                }
                moves.into_iter().rev().for_each(|y| walk.take_back(y));
            }
            walk.take_back(x);
        }
    }
    Ok(())
}
