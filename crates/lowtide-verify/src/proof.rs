//! The two proofs that no order of a region is within limits.
//!
//! A *cut* shows that f is over the limit in every state that is possible at one moment, which every order
//! passes. Its chains are a flow: each has a live value in every such state, and together they are no more
//! than the weight of any value. A *search* lists states closed under free moves, such that every step within
//! the limits leads from the list to the list. Since the state of all instructions is not in the list, no
//! order is within the limits. The theorems are in `docs/certificates.md`.

use crate::region::{Bits, Graph, Lists};
use crate::walk::Walk;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::collections::{BTreeSet, HashMap};
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
    /// Tell whether the search starts at the end, and return the limits that count. `words` is the memory for
    /// each of its states.
    pub fn start(&self, graph: &Graph, limits: &[Limit], words: usize) -> Checked<(bool, Vec<Limit>)> {
        let backward = is_end(&self.from, "the search starts at an unknown place")?;
        if words.saturating_mul(self.states.len() + 1) > MAX_WORDS {
            return Err(Failure::Unsupported("the states of a search need more than 2 GiB".into()));
        }
        let counts = |class: &String| self.class.as_ref().is_none_or(|only| class == only);
        let classes = graph.classes.iter().zip(limits);
        Ok((backward, classes.map(|(class, limit)| limit.filter(|_| counts(class))).collect()))
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

/// The result of a check.
pub type Checked<T = ()> = Result<T, Failure>;
/// The most registers of a class, if they are limited.
pub type Limit = Option<i64>;

/// Refuse a claim.
pub fn refuse<T>(reason: impl Into<String>) -> Checked<T> {
    Err(refused(reason))
}

/// Return the failure of a refused claim.
pub fn refused(reason: impl Into<String>) -> Failure {
    Failure::Refused(reason.into())
}

/// Refuse a claim unless a condition holds.
pub fn ensure(holds: bool, reason: impl fmt::Display) -> Checked {
    if holds { Ok(()) } else { refuse(reason.to_string()) }
}

/// Check that no order keeps each class within its limit. Classes without a limit do not count.
pub fn check(graph: &Graph, proof: &Proof, limits: &[Limit]) -> Checked {
    match proof {
        Proof::Cut(cut) => check_cut(graph, cut, limits),
        Proof::Search(search) => check_search(graph, search, limits),
        Proof::Split(_) => refuse("a split is no proof of registers"),
    }
}

fn check_cut(graph: &Graph, cut: &Cut, limits: &[Limit]) -> Checked {
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
            let backward = is_end(name, "the cut is at an unknown moment")?;
            ensure(
                cut.chains.as_ref().is_none_or(Vec::is_empty),
                format_args!("the cut at the {name} has chains"),
            )?;
            Walk::new(graph, backward).weight()[class]
        }
        Moment::Instructions(list) => {
            let chains = cut.chains.as_ref().ok_or_else(|| refused("the cut has no chains"))?;
            let sets = sets(graph, list, after)?;
            graph.through[class].saturating_add(flow(graph, class, chains, &sets)?)
        }
    };
    ensure(least > limit, format_args!("the cut proves {least}, not more than {limit}"))
}

/// Return the instructions that are in every state that is possible at the moment, and those that are in
/// none.
fn sets(graph: &Graph, list: &[u32], after: bool) -> Checked<(Bits, Bits)> {
    // One side has the members and all that lies beyond one of them. The other has what lies beyond all
    // members, on the other side.
    let (one_side, other_side) =
        if after { (&graph.preds, &graph.succs) } else { (&graph.succs, &graph.preds) };
    let reach = |from: u32, next: &Lists| {
        let (mut seen, mut open) = (Bits::new(graph.count), vec![from]);
        while let Some(i) = open.pop() {
            open.extend(next.get(i).iter().filter(|&&j| !seen.has(j)));
            next.get(i).iter().for_each(|&j| seen.set(j, true));
        }
        seen
    };
    let (mut any, mut all) = (Bits::new(graph.count), None);
    for &i in &list.iter().collect::<BTreeSet<_>>() {
        ensure(
            (*i as usize) < graph.count,
            format_args!("the cut names instruction {i} of {}", graph.count),
        )?;
        any.set(*i, true);
        any.combine(&reach(*i, one_side), |a, b| a | b);
        let beyond = reach(*i, other_side);
        all.get_or_insert_with(|| beyond.clone()).combine(&beyond, |a, b| a & b);
    }
    let all = all.ok_or_else(|| refused("the cut is at the moment of an empty list of instructions"))?;
    Ok(if after { (any, all) } else { (all, any) })
}

/// Return the sum of the amounts of valid chains.
fn flow(graph: &Graph, class: usize, chains: &[Chain], (inside, outside): &(Bits, Bits)) -> Checked<i64> {
    let mut total = 0i64;
    let mut through: HashMap<u32, i64> = HashMap::new();
    for (number, Row(amount, steps)) in chains.iter().enumerate() {
        let ensure =
            |holds, what: &str| if holds { Ok(()) } else { refuse(format!("chain {number}: {what}")) };
        let amount = i64::try_from(*amount).unwrap_or(0);
        ensure(amount > 0, "the amount is zero or too large")?;
        ensure(!steps.is_empty(), "there is no step")?;
        let mut reached = None;
        for (position, Row((register, lane, begin), instructions)) in steps.iter().enumerate() {
            let Some(v) = graph.value(*register, *lane, *begin) else {
                return refuse(format!("chain {number}: there is no value [{register}, {lane}, {begin}]"));
            };
            let (value, uses) = (&graph.values[v as usize], graph.uses.get(v));
            ensure(value.class == class, "a value belongs to another class")?;
            let begins = match position {
                0 => value.begin.is_none_or(|b| inside.has(b)),
                _ => reached.is_some() && value.begin == reached,
            };
            ensure(begins, "a value need not have begun where the chain enters it")?;
            let used = through.entry(v).or_default();
            *used = used.saturating_add(amount);
            ensure(*used <= value.weight, "a value carries more than its weight")?;
            if position + 1 == steps.len() {
                let is_live = match instructions[..] {
                    [] => value.live_out,
                    [i] => uses.contains(&i) && outside.has(i),
                    _ => false,
                };
                ensure(is_live, "the last value need not be live: it is neither live-out nor used later")?;
            } else {
                let starts = instructions.first().is_some_and(|i| uses.contains(i));
                ensure(starts, "a step does not start with a use of its value")?;
                let descends = instructions.windows(2).all(|w| graph.preds.get(w[0]).contains(&w[1]));
                ensure(descends, "an instruction is not a direct predecessor of the one before it")?;
                reached = instructions.last().copied();
            }
        }
        total = total.saturating_add(amount);
    }
    Ok(total)
}

/// Tell whether each class is within its limit.
pub fn is_within(weight: &[i64], limits: &[Limit]) -> bool {
    weight.iter().zip(limits).all(|(weight, limit)| limit.is_none_or(|limit| *weight <= limit))
}

/// Tell whether a name stands for the end of a region, and not for its start.
pub fn is_end(name: &str, otherwise: &str) -> Checked<bool> {
    match name {
        "start" => Ok(false),
        "end" => Ok(true),
        _ => refuse(format!("{otherwise} {name:?}")),
    }
}

fn check_search(graph: &Graph, search: &Search, limits: &[Limit]) -> Checked {
    let (backward, limits) = search.start(graph, limits, graph.count.div_ceil(64))?;
    let counts: Vec<bool> = limits.iter().map(Option::is_some).collect();
    let mut walk = Walk::new(graph, backward);
    if !is_within(walk.weight(), &limits) {
        return Ok(()); // Every order passes this state.
    }
    walk.close(None, &counts);
    let close = |walk: &mut Walk, (): &(), x| ((), walk.close(Some(x), &counts));
    search.follow(&mut walk, &limits, (), close, |_, (), _| true, |_, ()| true)
}

impl Search {
    /// Build the states of the list from the state of `walk`, and check that every step within the limits
    /// leads from the list to the list.
    ///
    /// A state is a set of passed instructions and `T`. `arrive` completes a step to an instruction, and
    /// returns `T` and further instructions that it has passed. A listed state stands for another one with
    /// the same set if it `covers` it. Steps to states that are not `open` lead nowhere.
    pub fn follow<T>(
        &self,
        walk: &mut Walk,
        limits: &[Limit],
        root: T,
        arrive: impl Fn(&mut Walk, &T, u32) -> (T, Vec<u32>),
        covers: impl Fn(&Bits, &T, &T) -> bool,
        is_open: impl Fn(&Bits, &T) -> bool,
    ) -> Checked {
        let mut states = vec![(Rc::new(walk.passed().clone()), root)];
        let mut known = HashMap::from([(states[0].0.clone(), vec![0])]);
        for (k, &(parent, x)) in (1..).zip(&self.states) {
            let parent = states.get(parent);
            let (set, own) =
                parent.ok_or_else(|| refused(format!("state {k}: its parent is not an earlier state")))?;
            walk.go_to(set);
            ensure(walk.can_follow(x), format_args!("state {k}: instruction {x} cannot follow its parent"))?;
            walk.pass(x);
            let (next, _) = arrive(walk, own, x);
            let set = Rc::new(walk.passed().clone());
            known.entry(set.clone()).or_default().push(k);
            states.push((set, next));
        }
        for (k, (set, own)) in states.iter().enumerate() {
            walk.go_to(set);
            let followers: Vec<u32> = walk.ready().iter().collect();
            ensure(!followers.is_empty(), format_args!("state {k} contains all instructions"))?;
            for x in followers {
                walk.pass(x);
                if is_within(walk.weight(), limits) {
                    let (next, moves) = arrive(walk, own, x);
                    let set = walk.passed();
                    let is_listed = |k: &usize| covers(set, &states[*k].1, &next);
                    let holds =
                        known.get(set).is_some_and(|same| same.iter().any(is_listed)) || !is_open(set, &next);
                    let reason = "leads within the limits to a state that is not in the list";
                    ensure(holds, format_args!("state {k}: instruction {x} {reason}"))?;
                    moves.into_iter().rev().for_each(|y| walk.take_back(y));
                }
                walk.take_back(x);
            }
        }
        Ok(())
    }
}
