//! The claims of a run, with their certificates.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use lowtide::ClassId;
use lowtide::certify::{self, Claim, Graph, Proof, Question};
use lowtide::outcome::{KernelOutcome, Outcome};
use lowtide::problem::{Goal, Problem};
use lowtide::proof::{Bounds, Moment, Reason};
use lowtide::region::{Kernel, Region};
use lowtide::target::Target;
use lowtide_io::{format_certificate, format_claim, format_length_proof, format_proof};

use crate::table::grouped;

/// The kinds of claims.
const KINDS: [&str; 3] = ["registers", "waves", "lengths"];

/// For each kind, the claims with a certificate, and all that are proven.
#[derive(Clone, Copy, Default)]
pub struct Claims([(u64, u64); KINDS.len()]);

impl Claims {
    /// Add the claims of another kernel.
    pub fn add(&mut self, other: &Claims) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum = (sum.0 + other.0, sum.1 + other.1);
        }
    }

    fn count(&mut self, kind: usize, has_certificate: bool) {
        self.0[kind].0 += u64::from(has_certificate);
        self.0[kind].1 += 1;
    }

    /// Return a sentence.
    pub fn in_words(&self) -> String {
        let all = self.0.iter().fold((0, 0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1));
        let named = KINDS.iter().zip(self.0).filter(|(_, (_, proven))| *proven > 0);
        let kinds: Vec<String> = named
            .map(|(kind, (certified, proven))| {
                format!("{kind} {} of {}", grouped(certified), grouped(proven))
            })
            .collect();
        format!(
            "claims: {} of {} proven ones have a certificate ({})",
            grouped(all.0),
            grouped(all.1),
            kinds.join(", ")
        )
    }
}

/// A claim with its proof, both formatted.
struct Certificate {
    claim: String,
    proof: Option<Shared>,
}

/// A proof. Claims with the same question can share it.
#[derive(Clone)]
struct Shared {
    question: Option<Question>,
    text: Arc<str>,
}

/// The certificates of a kernel.
#[derive(Default)]
pub struct Certificates {
    certificates: Vec<Certificate>,
    /// The claims, with and without one.
    pub claims: Claims,
}

/// Numbers the lines of a certificate file, so that each proof is written once.
pub struct Lines {
    last: u64,
    written: HashMap<Question, u64>,
}

impl Default for Lines {
    /// Start after the header.
    fn default() -> Self {
        Lines { last: 1, written: HashMap::new() }
    }
}

impl Lines {
    /// Return the next lines of the file, without line ends.
    pub fn next(&mut self, kernel: &Certificates) -> Vec<String> {
        let lines = kernel.certificates.iter().map(|Certificate { claim, proof }| {
            self.last += 1;
            let Some(Shared { question, text }) = proof else { return claim.clone() };
            match question.map(|question| *self.written.entry(question).or_insert(self.last)) {
                Some(line) if line < self.last => format_certificate(claim, "same", &line.to_string()),
                _ => format_certificate(claim, "proof", text),
            }
        });
        lines.collect()
    }
}

type Answers<Q, A> = Mutex<HashMap<Q, A>>;

/// Proofs that were searched for, each once for all regions with the same question. None if there is no
/// proof.
#[derive(Default)]
pub struct Known {
    /// With the moment of a cut that proves the bound.
    registers: Answers<(Question, Option<Moment>), Option<Arc<str>>>,
    /// With whether the proof is only about schedules within limits.
    lengths: Answers<Question, Option<(Arc<str>, bool)>>,
}

/// Return a known answer, or find it. Two threads may both find it: the answer depends on the question only.
fn ask<Q: Hash + Eq, A: Clone>(known: &Answers<Q, A>, question: Q, find: impl FnOnce() -> A) -> A {
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = lock().get(&question).cloned();
    answer.unwrap_or_else(|| {
        let answer = find();
        lock().insert(question, answer.clone());
        answer
    })
}

impl Certificates {
    /// Prove the claims of a goal again, as far as certificates go.
    pub fn new(
        goal: Goal,
        kernel: &Kernel,
        target: &Target,
        problems: &[Problem],
        outcome: &KernelOutcome,
        known: &Known,
    ) -> Self {
        let mut made = Certificates::default();
        let mut add = |kind: usize, certificate: Option<(Claim, Option<Shared>)>| {
            made.claims.count(kind, certificate.is_some());
            made.certificates.extend(
                certificate
                    .map(|(claim, proof)| Certificate { claim: format_claim(kernel, target, &claim), proof }),
            );
        };
        if goal == Goal::Occupancy && outcome.occupancy >= outcome.occupancy_bound && !outcome.is_filtered {
            add(1, waves(kernel, target, outcome));
        }
        for (position, (problem, own)) in problems.iter().zip(&outcome.regions).enumerate() {
            let region = &kernel.regions[position];
            let peak = |class: ClassId| own.measure.peaks[class.index()].between;
            let is_proven = |class: &ClassId| (1..=own.bounds.peaks[class.index()]).contains(&peak(*class));
            let is_length_proven = (1..=own.bounds.length).contains(&own.measure.length);
            match goal {
                Goal::MinReg => {
                    let graph = Graph::new(region);
                    for class in region.class_ids().filter(is_proven) {
                        let claim = Claim::Registers { region: position, class, least: peak(class) };
                        let proof = registers(&graph, region, class, peak(class), &own.bounds, known);
                        add(0, proof.map(|proof| (claim, Some(proof))));
                    }
                }
                Goal::Occupancy | Goal::Length if is_length_proven => {
                    add(2, length(problem, position, outcome.occupancy, own, known));
                }
                Goal::Occupancy | Goal::Length | Goal::Throughput => {}
            }
        }
        made
    }
}

fn registers(
    graph: &Graph,
    region: &Region,
    class: ClassId,
    least: u32,
    bounds: &Bounds,
    known: &Known,
) -> Option<Shared> {
    let question = graph.orders(&certify::register_limits(region, class, least)?);
    let moment = match bounds.reasons[class.index()] {
        Reason::Cut(moment) => Some(moment),
        _ => None,
    };
    let text = ask(&known.registers, (question, moment), || {
        let proof = certify::registers(region, class, least, bounds)?;
        Some(format_proof(region, &proof).into())
    })?;
    Some(Shared { question: Some(question), text })
}

fn waves(kernel: &Kernel, target: &Target, outcome: &KernelOutcome) -> Option<(Claim, Option<Shared>)> {
    let (claim, proof) = certify::waves(kernel, target, outcome)?;
    let Claim::Waves { most, region: Some(position) } = claim else { return Some((claim, None)) };
    let (region, proof) = (&kernel.regions[position], proof?);
    let question = match proof {
        // A split also depends on the register files.
        Proof::Split { .. } => None,
        _ => Some(Graph::new(region).orders(&certify::wave_limits(region, target, most + 1)?)),
    };
    Some((claim, Some(Shared { question, text: format_proof(region, &proof).into() })))
}

fn length(
    problem: &Problem,
    position: usize,
    waves: u32,
    outcome: &Outcome,
    known: &Known,
) -> Option<(Claim, Option<Shared>)> {
    let (target, least) = (problem.target(), outcome.measure.length);
    let graph = Graph::new(problem.region());
    let mut limits = certify::length_limits(problem, waves, outcome);
    let (text, is_within) = ask(&known.lengths, graph.length(target.name(), least, &limits), || {
        let (proof, is_within) = certify::length(problem, least, &limits)?;
        Some((format_length_proof(target, &proof).into(), is_within))
    })?;
    if !is_within {
        limits.fill(None);
    }
    let question = Some(graph.length(target.name(), least, &limits));
    Some((Claim::Length { region: position, least, limits }, Some(Shared { question, text })))
}
