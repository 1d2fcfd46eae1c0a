//! Schedules, claims and the report.
//!
//! A claim is accepted if its proof holds and the schedules reach it: then the schedules are optimal. Everything that a claim says about the
//! schedules is computed here from their orders.

use crate::length::{Issue, LengthProof, Machine};
use crate::lines;
use crate::proof::{self, Failure, Proof, Split, ensure, refuse, refused};
use crate::region::{self, Graph, Kernel, Region, Store};
use crate::walk::Walk;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::path::Path;

/// The outcome for all claims of a certificate file.
#[derive(Default, Debug, Serialize)]
pub struct Report {
    /// The number of claims.
    pub claims: u64,
    /// Claims that the verifier has proven.
    pub accepted: u64,
    /// Claims that are wrong or have a wrong proof.
    pub refused: u64,
    /// Claims that the verifier does not know.
    pub unsupported: u64,
    /// The refused claims.
    pub refusals: Vec<Refusal>,
    /// How many claims are unsupported for each reason.
    pub unsupported_reasons: BTreeMap<String, u64>,
    /// What claims about waves and lengths assume.
    pub targets: BTreeMap<String, Target>,
}

/// A refused claim.
#[derive(Debug, Serialize)]
pub struct Refusal {
    /// The line in the certificate file.
    pub line: u64,
    /// Its kernel.
    pub kernel: String,
    /// Its region, if it has one.
    pub region: Option<String>,
    /// Its kind.
    pub claim: String,
    /// Why it is refused.
    pub reason: String,
}

/// The register files and the issue model of a target.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The files.
    pub files: Vec<RegisterFile>,
    /// What claims about lengths assume.
    pub issue: Option<Issue>,
}

/// A register file, shared by all waves.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterFile {
    /// Registers of all waves together.
    pub size: u32,
    /// A wave gets a multiple of this.
    pub granule: u32,
    /// Most waves.
    pub waves: u32,
    /// The classes in this file.
    pub classes: Vec<Class>,
}

/// A register class.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// As in the region file.
    pub name: String,
    /// Most registers of the class that a wave can address.
    pub max: u32,
    /// The next class of the file starts at a multiple of this.
    pub align: Option<u32>,
}

impl RegisterFile {
    /// Return the number of waves that fit with `x` registers for each.
    fn waves(&self, x: i64) -> u64 {
        let (x, granule) = (x.max(1).unsigned_abs(), u64::from(self.granule));
        u64::from(self.waves).min(u64::from(self.size) / x.next_multiple_of(granule))
    }

    /// Return the registers of a wave, with `peak` of each class. Those that cannot be addressed are spilled.
    fn used(&self, peak: impl Fn(&str) -> i64) -> i64 {
        let add = |(used, align): (u64, u64), class: &Class| match u64::try_from(peak(&class.name)) {
            Ok(own @ 1..) => {
                (used.next_multiple_of(align) + own.min(class.max.into()), class.align.unwrap_or(1).into())
            }
            _ => (used, align),
        };
        self.classes.iter().fold((0, 1), add).0.cast_signed()
    }

    /// Return the most registers of a class if a wave has `x` of another one. None if all fit that it can address.
    fn rest(&self, another: &str, x: i64, class: &Class, waves: u64) -> Option<i64> {
        let peak = |y| move |name: &str| if name == another { x } else { y * i64::from(name == class.name) };
        let mut most = (0..=i64::from(class.max)).rev();
        most.find(|y| self.waves(self.used(peak(*y))) >= waves).filter(|y| *y < class.max.into())
    }

    /// Return the most registers of a class of the file with which `waves` waves fit. None if all that a wave can address fit.
    fn limit(&self, class: &Class, waves: u64) -> Option<i64> {
        let share = u64::from(self.size) / waves;
        let limit = share - share % u64::from(self.granule);
        (limit < u64::from(class.max)).then_some(limit.cast_signed())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(rename = "lowtide-certificates")]
    version: u32,
    targets: BTreeMap<String, Target>,
}

/// What every claim has. Other fields depend on the kind.
#[derive(Deserialize)]
struct Head {
    kernel: String,
    #[serde(default)]
    origin: String,
    region: Option<String>,
    claim: String,
}

/// All fields that a claim can have. Each kind needs some of them, and must not have the others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // `Head` has the first ones.
struct Claim<P> {
    kernel: IgnoredAny,
    origin: Option<IgnoredAny>,
    claim: IgnoredAny,
    region: Option<String>,
    class: Option<String>,
    target: Option<String>,
    least: Option<i64>,
    most: Option<u32>,
    limits: Option<BTreeMap<String, i64>>,
    proof: Option<P>,
    /// The line of a claim whose proof is one of this claim, too.
    same: Option<u64>,
}

/// What a proof shows: no order of a graph is within limits, or no schedule within limits is shorter than a length.
struct Question<'s> {
    graph: &'s Graph,
    limits: Vec<Option<i64>>,
    length: Option<(&'s Issue, i64)>,
}

impl Question<'_> {
    /// Tell whether the same proofs answer both questions. What passes through a region is in all its states: limits above it count.
    fn is_same(&self, other: &Self) -> bool {
        let above = |question: &Self| -> Vec<Option<i64>> {
            let limits = question.limits.iter().zip(&question.graph.through);
            limits.map(|(limit, through)| Some((*limit)?.saturating_sub(*through))).collect()
        };
        let has_length = match (self.length, other.length) {
            (None, None) => true,
            (Some((issue, least)), Some((other_issue, other_least))) => {
                let [own, other] = [self.graph, other.graph].map(|graph| Machine::new(graph, issue));
                std::ptr::eq(issue, other_issue) && least == other_least && own.has_times_of(&other)
            }
            _ => false,
        };
        has_length && above(self) == above(other) && self.graph.has_orders_of(other.graph)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Schedule {
    #[serde(rename = "lowtide-schedule")]
    version: u32,
    kernel: String,
    #[serde(default)]
    origin: String,
    region: String,
    order: Vec<u32>,
    cycles: Option<Vec<u32>>,
    latencies: Option<IgnoredAny>,
    peak_bounds: Option<IgnoredAny>,
}

fn unsupported<T>(reason: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Unsupported(reason.into()))
}

/// Read schedules, and keep the peaks of each order, or its mistake. Schedules of unknown regions are of no concern: no claim uses them.
pub fn read_schedules(store: &mut Store, path: &Path) -> Result<(), String> {
    lines::for_each(path, |_, line| {
        let line: Schedule = serde_json::from_slice(line).map_err(|e| format!("not a schedule: {e}"))?;
        if !(1..=3).contains(&line.version) {
            return Err(format!("version {} of the schedule format; only 1 to 3 are known", line.version));
        }
        let Some(kernel) = store.kernels.get_mut(&(line.kernel, line.origin)) else { return Ok(()) };
        let number = kernel.by_name.get(&line.region);
        let Some(region) = number.and_then(|&n| kernel.regions.get_mut(n)) else { return Ok(()) };
        region.schedule = match (&region.graph, &region.schedule) {
            (Err(_), _) => None,
            (Ok(_), Some(_)) => Some(Err("the region has two schedules".into())),
            (Ok(graph), None) => Some(
                peaks(graph, &line.order)
                    .map(|peaks| region::Schedule { peaks, cycles: in_order(&line.order, line.cycles) }),
            ),
        };
        Ok(())
    })
}

/// Return the cycles if they do not fall along an order of all instructions.
fn in_order(order: &[u32], cycles: Option<Vec<u32>>) -> Result<Vec<u32>, String> {
    let cycles = cycles.ok_or("the schedule has no cycles")?;
    if cycles.len() != order.len() {
        return Err(format!("the schedule has {} cycles for {} instructions", cycles.len(), order.len()));
    }
    if order.windows(2).any(|pair| cycles[pair[0] as usize] > cycles[pair[1] as usize]) {
        return Err("the cycles fall along the order".into());
    }
    Ok(cycles)
}

/// Return the peak of each class, if the order is a legal permutation.
fn peaks(graph: &Graph, order: &[u32]) -> Result<Vec<i64>, String> {
    if order.len() != graph.count {
        return Err(format!("the schedule has {} of {} instructions", order.len(), graph.count));
    }
    let mut walk = Walk::new(graph, false);
    let mut peaks = walk.weight().to_vec();
    for &x in order {
        if !walk.can_follow(x) {
            return Err(format!(
                "the schedule has instruction {x} twice, before one that it depends on, or not in the region"
            ));
        }
        walk.pass(x);
        peaks.iter_mut().zip(walk.weight()).for_each(|(peak, weight)| *peak = (*peak).max(*weight));
    }
    Ok(peaks)
}

/// Read a certificate file line by line, and check each claim.
pub fn check(store: &Store, path: &Path) -> Result<Report, String> {
    let mut report = Report::default();
    let targets = OnceCell::new();
    let (mut seen, mut proven) = (HashSet::new(), HashMap::new());
    lines::for_each(path, |number, line| {
        let Some(targets) = targets.get() else {
            let line: Header =
                serde_json::from_slice(line).map_err(|e| format!("not the header of certificates: {e}"))?;
            if line.version != 1 {
                return Err(format!("version {} of certificates; only 1 is known", line.version));
            }
            line.targets.iter().try_for_each(|(name, target)| check_target(name, target))?;
            targets.get_or_init(|| line.targets);
            return Ok(());
        };
        let head: Head = serde_json::from_slice(line).map_err(|e| format!("not a claim: {e}"))?;
        report.claims += 1;
        match check_claim(store, targets, &mut seen, &mut proven, &head, number, line) {
            Ok(()) => report.accepted += 1,
            Err(Failure::Unsupported(reason)) => {
                report.unsupported += 1;
                *report.unsupported_reasons.entry(reason).or_default() += 1;
            }
            Err(Failure::Refused(reason)) => {
                report.refused += 1;
                let Head { kernel, region, claim, .. } = head;
                report.refusals.push(Refusal { line: number, kernel, region, claim, reason });
            }
        }
        Ok(())
    })?;
    drop(proven);
    let no_header = || format!("{}: no header of certificates", path.display());
    Ok(Report { targets: targets.into_inner().ok_or_else(no_header)?, ..report })
}

fn check_target(name: &str, target: &Target) -> Result<(), String> {
    let wrong = |what: String| Err(format!("target {name:?}: {what}"));
    let mut classes = BTreeSet::new();
    for file in &target.files {
        if file.size == 0 || file.granule == 0 || file.waves == 0 || file.classes.is_empty() {
            return wrong("a register file has no size, granule, waves or classes".into());
        }
        if file.classes.iter().any(|class| class.align == Some(0)) {
            return wrong("an alignment is 0".into());
        }
        if let Some(twice) = file.classes.iter().find(|class| !classes.insert(class.name.as_str())) {
            return wrong(format!("the class {:?} is there twice", twice.name));
        }
    }
    match &target.issue {
        Some(issue) if issue.width == 0 || issue.units.values().any(|n| *n == 0) => {
            wrong("the issue width or the copies of a unit are 0".into())
        }
        _ => Ok(()),
    }
}

/// What two claims must not share: the kind, the kernel, its origin, the region, and the class or target. A claim about waves is one about all regions.
type Key = (String, String, String, Option<String>, Option<String>);

fn misread(reason: impl Display) -> Failure {
    Failure::Refused(format!("the verifier does not understand the claim: {reason}"))
}

fn parse<P: DeserializeOwned>(line: &[u8]) -> Result<Claim<P>, Failure> {
    serde_json::from_slice(line).map_err(misread)
}

/// Check a claim. `proven` has what the proofs of earlier lines show.
fn check_claim<'s>(
    store: &'s Store,
    targets: &'s BTreeMap<String, Target>,
    seen: &mut HashSet<Key>,
    proven: &mut HashMap<u64, Question<'s>>,
    head: &Head,
    number: u64,
    line: &[u8],
) -> Result<(), Failure> {
    if !["registers", "waves", "length"].contains(&head.claim.as_str()) {
        return unsupported(format!("claim {:?}", head.claim));
    }
    let Claim { region, class, target, proof, same, .. } = parse::<BTreeMap<String, IgnoredAny>>(line)?;
    let is_known = |name: &String| ["cut", "search", "bound", "split"].contains(&name.as_str());
    let mut names = proof.iter().flat_map(BTreeMap::keys);
    if let Some(name) = names.clone().next().filter(|_| !names.any(is_known)) {
        return unsupported(format!("proof {name:?}"));
    }
    let name = (head.kernel.clone(), head.origin.clone());
    let kernel = match store.kernels.get(&name) {
        Some(kernel) if kernel.repeated => {
            return refuse("the region files have the kernel, or one of its regions, twice");
        }
        Some(kernel) => kernel,
        None if store.dumps > 0 => return unsupported("a kernel that only an LLVM dump can have"),
        None => return refuse("the region files do not have the kernel"),
    };
    let region = region.filter(|_| head.claim != "waves");
    let key = (head.claim.clone(), name.0, name.1, region, class.or(target));
    ensure(seen.insert(key), "an earlier line has this claim")?;
    let question = match head.claim.as_str() {
        "registers" => Some(check_registers(kernel, parse(line)?)?),
        "length" => Some(check_length(kernel, targets, parse(line)?)?),
        _ => check_waves(kernel, targets, parse(line)?)?,
    };
    match (question, proof, same) {
        (None, _, None) => Ok(()),
        (Some(question), Some(_), None) => {
            proven.insert(number, question);
            Ok(())
        }
        (Some(question), None, Some(same)) => {
            let other = proven.get(&same);
            ensure(other.is_some(), format_args!("line {same} has no accepted proof for other claims"))?;
            let answers = other.is_some_and(|other| question.is_same(other));
            ensure(answers, format_args!("the proof of line {same} is about something else"))
        }
        _ => Err(misread("it needs either proof or same")),
    }
}

fn region<'k>(kernel: &'k Kernel, name: &str) -> Result<&'k Region, Failure> {
    let number = kernel.by_name.get(name);
    number.map(|&n| &kernel.regions[n]).ok_or_else(|| refused(format!("the kernel has no region {name:?}")))
}

/// Return the graph of a region, and its schedule.
fn scheduled(region: &Region) -> Result<(&Graph, &region::Schedule), Failure> {
    match (&region.graph, &region.schedule) {
        (Err(reason), _) => unsupported(reason),
        (Ok(_), None) => refuse(format!("region {:?} has no schedule", region.name)),
        (Ok(_), Some(Err(reason))) => refuse(format!("region {:?}: {reason}", region.name)),
        (Ok(graph), Some(Ok(schedule))) => Ok((graph, schedule)),
    }
}

/// Check that a schedule has exactly the claimed figure.
fn reached(figure: &str, own: i64, claimed: i64) -> Result<(), Failure> {
    let how = match claimed.saturating_sub(own) {
        0 => return Ok(()),
        1.. => "is better than",
        _ => "does not reach",
    };
    refuse(format!("the schedule {how} the claim: its {figure} is {own}, not {claimed}"))
}

fn find_target<'t>(targets: &'t BTreeMap<String, Target>, name: &str) -> Result<&'t Target, Failure> {
    targets.get(name).ok_or_else(|| refused(format!("the header has no target {name:?}")))
}

/// Check the claim, and its proof if it has one. Return what the proof has to show.
fn check_registers(kernel: &Kernel, claim: Claim<Proof>) -> Result<Question<'_>, Failure> {
    let Claim { region: Some(name), class: Some(class), least: Some(least), proof, .. } = claim else {
        return Err(misread("region, class or least is missing"));
    };
    if claim.target.is_some() || claim.most.is_some() || claim.limits.is_some() {
        return Err(misread("it is about registers, and has target, most or limits"));
    }
    let (graph, schedule) = scheduled(region(kernel, &name)?)?;
    let position = graph.classes.iter().position(|c| *c == class);
    let position = position.ok_or_else(|| refused(format!("the region has no class {class:?}")))?;
    ensure(least >= 0, "the claim has a negative number of registers")?;
    reached("peak", schedule.peaks[position], least)?;
    let mut limits = vec![None; graph.classes.len()];
    limits[position] = Some(least - 1);
    proof.map_or(Ok(()), |proof| proof::check(graph, &proof, &limits))?;
    Ok(Question { graph, limits, length: None })
}

/// The same for a length.
fn check_length<'s>(
    kernel: &'s Kernel,
    targets: &'s BTreeMap<String, Target>,
    claim: Claim<LengthProof>,
) -> Result<Question<'s>, Failure> {
    let Claim { region: Some(name), target: Some(target), least: Some(least), proof, .. } = claim else {
        return Err(misread("region, target or least is missing"));
    };
    if claim.class.is_some() || claim.most.is_some() {
        return Err(misread("it is about a length, and has class or most"));
    }
    let issue = find_target(targets, &target)?.issue.as_ref();
    let issue =
        issue.ok_or_else(|| refused(format!("the header has no issue model of target {target:?}")))?;
    let (graph, schedule) = scheduled(region(kernel, &name)?)?;
    let machine = Machine::new(graph, issue);
    let cycles = schedule.cycles.as_ref().map_err(refused)?;
    reached("length", machine.length(cycles)?, least)?;
    let named = claim.limits.unwrap_or_default();
    let limits: Vec<_> = graph.classes.iter().map(|name| named.get(name).copied()).collect();
    let all_named = limits.iter().flatten().count() == named.len();
    ensure(all_named, "the claim has a limit for a class that the region does not have")?;
    let is_within = proof::is_within(&schedule.peaks, &limits);
    ensure(is_within, "the schedule is not within the limits of the claim")?;
    proof.map_or(Ok(()), |proof| machine.check(&proof, &limits, least))?;
    Ok(Question { graph, limits, length: Some((issue, least)) })
}

/// The same for waves. None if nothing is left to show: the waves need no proof, or a split proves them.
fn check_waves<'s>(
    kernel: &'s Kernel,
    targets: &BTreeMap<String, Target>,
    claim: Claim<Proof>,
) -> Result<Option<Question<'s>>, Failure> {
    let Claim { target: Some(name), most: Some(claimed), class: None, least: None, limits: None, .. } = claim
    else {
        return Err(misread("it is about waves, and has no target and most, or has class, least or limits"));
    };
    let target = find_target(targets, &name)?;
    // Also without registers, no more waves fit.
    let mut most = kernel.max_occupancy.map_or(u64::MAX, u64::from);
    most = target.files.iter().map(|file| file.waves(1)).fold(most, u64::min);
    let mut reached = most;
    for region in &kernel.regions {
        let (graph, schedule) = scheduled(region)?;
        if let Some(class) = graph.classes.iter().find(|class| find_class(target, class).is_none()) {
            return unsupported(format!("waves: target {name:?} has no class {class:?}"));
        }
        let peak = |name: &str| graph.classes.iter().position(|c| c == name).map_or(0, |c| schedule.peaks[c]);
        reached = target.files.iter().map(|file| file.waves(file.used(peak))).fold(reached, u64::min);
    }
    let claimed = u64::from(claimed);
    if reached != claimed {
        let how = if reached > claimed { "are better than" } else { "do not reach" };
        return refuse(format!("the schedules {how} the claim: {reached} waves, not {claimed}"));
    }
    let Some(name) = &claim.region else {
        ensure(claim.proof.is_none(), "the claim has a proof without a region")?;
        let reason = format_args!("register files and max_occupancy allow {most} waves, not {claimed}");
        return ensure(claimed == most, reason).map(|()| None);
    };
    ensure(claim.proof.is_some() || claim.same.is_some(), "the claim has a region without a proof")?;
    let (graph, _) = scheduled(region(kernel, name)?)?;
    // Each class of a file needs its own registers at least.
    let limit =
        |name: &String| find_class(target, name).and_then(|(file, class)| file.limit(class, claimed + 1));
    let limits: Vec<_> = graph.classes.iter().map(limit).collect();
    match &claim.proof {
        Some(Proof::Split(split)) => {
            return check_split(graph, target, split, &limits, claimed + 1).map(|()| None);
        }
        Some(proof) => proof::check(graph, proof, &limits)?,
        None => {}
    }
    Ok(Some(Question { graph, limits, length: None }))
}

/// Check orders with at most so many registers of a class, and all others: they leave less to the classes of the same file.
fn check_split(
    graph: &Graph,
    target: &Target,
    split: &Split,
    limits: &[Option<i64>],
    waves: u64,
) -> Result<(), Failure> {
    let Split { class, at, below, above } = split;
    let Some((file, _)) = find_class(target, class).filter(|(_, class)| *at < class.max) else {
        return refuse(format!("a wave cannot address more than {at} registers of class {class:?}"));
    };
    let with = |new: &dyn Fn(&str) -> Option<i64>| -> Vec<Option<i64>> {
        let classes = graph.classes.iter().zip(limits);
        classes.map(|(name, old)| [*old, new(name)].into_iter().flatten().min()).collect()
    };
    let at = i64::from(*at);
    proof::check(graph, below, &with(&|name| (name == class).then_some(at)))?;
    let rest = |name: &str| file.rest(class, at + 1, file.classes.iter().find(|c| c.name == name)?, waves);
    proof::check(graph, above, &with(&|name| rest(name).filter(|_| name != class)))
}

/// Return the file that has a class, and the class.
fn find_class<'t>(target: &'t Target, name: &str) -> Option<(&'t RegisterFile, &'t Class)> {
    target.files.iter().find_map(|file| Some((file, file.classes.iter().find(|c| c.name == name)?)))
}
