//! Schedules, claims and the report.
//!
//! A claim is accepted if its proof holds and the schedules reach it: then the schedules are optimal.
//! Everything that a claim says about the schedules is computed here from their orders.

use crate::length::{Issue, LengthProof, Machine};
use crate::lines;
use crate::proof::{self, Checked, Failure, Limit, Proof, Split, ensure, refuse, refused};
use crate::region::{self, Graph, Kernel, Region, Store};
use crate::walk::Walk;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::num::NonZeroU32;
use std::path::Path;

/// The outcome for all claims of a certificate file.
///
/// Accepted claims are proven. Refused ones are wrong, or have a wrong proof. The verifier does not know the
/// unsupported ones, and counts the reasons. Claims about waves and lengths assume the targets.
#[derive(Default, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Report {
    pub claims: u64,
    pub accepted: u64,
    pub refused: u64,
    pub unsupported: u64,
    pub refusals: Vec<Refusal>,
    pub unsupported_reasons: BTreeMap<String, u64>,
    pub targets: BTreeMap<String, Target>,
}

/// A refused claim, with its line in the certificate file.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Refusal {
    pub line: u64,
    pub kernel: String,
    pub region: Option<String>,
    pub claim: String,
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
    pub size: NonZeroU32,
    /// A wave gets a multiple of this.
    pub granule: NonZeroU32,
    /// Most waves.
    pub waves: NonZeroU32,
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
    pub align: Option<NonZeroU32>,
    /// Registers over `max` go into lanes of another class: its name, and the lanes of a register.
    pub spill: Option<(String, NonZeroU32)>,
}

impl Target {
    fn classes(&self) -> impl Iterator<Item = &Class> {
        self.files.iter().flat_map(|file| &file.classes)
    }

    /// Return the registers of a class that a region needs with `peak` registers of each class that it has,
    /// also for lanes.
    fn needs(&self, to: &str, peak: impl Fn(&str) -> Option<i64>) -> i64 {
        let lanes = |from: &Class| {
            let (_, lanes) = from.spill.as_ref().filter(|(class, _)| class == to)?;
            let (spilled, lanes) = (peak(&from.name)? - i64::from(from.max), i64::from(lanes.get()));
            Some((spilled.max(0) + lanes - 1) / lanes)
        };
        peak(to).map_or(0, |own| own + self.classes().filter_map(lanes).sum::<i64>())
    }

    /// Return the number of waves that fit with so many registers of each class.
    fn waves_with(&self, registers: impl Fn(&str) -> i64) -> u64 {
        let waves = |file: &RegisterFile| file.waves(file.used(&registers));
        self.files.iter().map(waves).min().unwrap_or(u64::MAX)
    }

    /// Return the number of waves that fit with `peak` registers of each class that the region has.
    fn waves(&self, peak: impl Fn(&str) -> Option<i64>) -> u64 {
        self.waves_with(|class| self.needs(class, &peak))
    }

    /// Return the most registers of a class if a wave has `least` of the others. None if all fit that it can
    /// address.
    fn rest(&self, graph: &Graph, least: &[i64], class: usize, waves: u64) -> Option<i64> {
        let max = i64::from(find_class(self, &graph.classes[class])?.max);
        let of = |y: i64, c: usize| if c == class { y } else { least[c] };
        let fits = |y| self.waves(|n| Some(of(y, graph.classes.iter().position(|c| c == n)?))) >= waves;
        (0..=max).rev().find(|y| fits(*y)).filter(|y| *y < max)
    }
}

impl RegisterFile {
    /// Return the number of waves that fit with `x` registers for each.
    fn waves(&self, x: i64) -> u64 {
        let (x, granule) = (x.max(1).unsigned_abs(), u64::from(self.granule.get()));
        u64::from(self.waves.get()).min(u64::from(self.size.get()) / x.next_multiple_of(granule))
    }

    /// Return the registers of a wave, with `peak` of each class. Those that cannot be addressed are spilled.
    fn used(&self, peak: impl Fn(&str) -> i64) -> i64 {
        let add = |(used, align): (u64, u64), class: &Class| match u64::try_from(peak(&class.name)) {
            Ok(own @ 1..) => (
                used.next_multiple_of(align) + own.min(class.max.into()),
                class.align.map_or(1, |n| n.get().into()),
            ),
            _ => (used, align),
        };
        self.classes.iter().fold((0, 1), add).0.cast_signed()
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

/// What a proof shows: no order of a graph is within limits, or no schedule within limits is shorter than a
/// length. Equal questions have the same proofs.
#[derive(PartialEq)]
struct Question<'s> {
    graph: &'s Graph,
    /// Without what passes through the region: it is in every state.
    limits: Vec<Limit>,
    length: Option<(Machine<'s>, i64)>,
}

impl<'s> Question<'s> {
    fn new(graph: &'s Graph, limits: &[Limit], length: Option<(Machine<'s>, i64)>) -> Self {
        let limits = limits.iter().zip(&graph.through);
        let limits = limits.map(|(limit, through)| limit.map(|limit| limit.saturating_sub(*through)));
        Self { graph, limits: limits.collect(), length }
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

fn unsupported<T>(reason: impl Into<String>) -> Checked<T> {
    Err(Failure::Unsupported(reason.into()))
}

/// Read schedules, and keep the peaks of each order, or its mistake. Schedules of unknown regions are of no
/// concern: no claim uses them.
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
    match cycles {
        None => Err("the schedule has no cycles".into()),
        Some(cycles) if cycles.len() != order.len() => Err("an instruction has no cycle".into()),
        Some(cycles) if order.is_sorted_by_key(|x| cycles[*x as usize]) => Ok(cycles),
        Some(_) => Err("the cycles fall along the order".into()),
    }
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
    let mut classes = BTreeSet::new();
    for file in &target.files {
        if file.classes.is_empty() {
            return Err(format!("target {name:?} has a register file without classes"));
        }
        if let Some(twice) = file.classes.iter().find(|class| !classes.insert(class.name.as_str())) {
            return Err(format!("target {name:?} has the class {:?} twice", twice.name));
        }
    }
    Ok(())
}

/// What two claims must not share: the kind, the kernel, its origin, the region, and the class or target. A
/// claim about waves is one about all regions.
type Key = (String, String, String, Option<String>, Option<String>);

fn misread(reason: impl Display) -> Failure {
    Failure::Refused(format!("the verifier does not understand the claim: {reason}"))
}

fn parse<P: DeserializeOwned>(line: &[u8]) -> Checked<Claim<P>> {
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
) -> Checked {
    if !["registers", "waves", "length"].contains(&head.claim.as_str()) {
        return unsupported(format!("claim {:?}", head.claim));
    }
    let Claim { region, class, target, least, most, limits, proof, same, .. } =
        parse::<BTreeMap<String, IgnoredAny>>(line)?;
    let is_foreign = match head.claim.as_str() {
        "registers" => target.is_some() || most.is_some() || limits.is_some(),
        "length" => class.is_some() || most.is_some(),
        _ => class.is_some() || least.is_some() || limits.is_some(),
    };
    if is_foreign {
        return Err(misread("it has a field of another claim"));
    }
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
            ensure(other == Some(&question), format_args!("the proof of line {same} is about something else"))
        }
        _ => Err(misread("it needs either proof or same")),
    }
}

fn region<'k>(kernel: &'k Kernel, name: &str) -> Checked<&'k Region> {
    let number = kernel.by_name.get(name);
    number.map(|&n| &kernel.regions[n]).ok_or_else(|| refused(format!("the kernel has no region {name:?}")))
}

/// Return the graph of a region, and its schedule.
fn scheduled(region: &Region) -> Checked<(&Graph, &region::Schedule)> {
    match (&region.graph, &region.schedule) {
        (Err(reason), _) => unsupported(reason),
        (Ok(_), None) => refuse(format!("region {:?} has no schedule", region.name)),
        (Ok(_), Some(Err(reason))) => refuse(format!("region {:?}: {reason}", region.name)),
        (Ok(graph), Some(Ok(schedule))) => Ok((graph, schedule)),
    }
}

/// Check that a schedule has exactly the claimed figure.
fn reached(figure: &str, own: i64, claimed: i64) -> Checked {
    let how = match claimed.saturating_sub(own) {
        0 => return Ok(()),
        1.. => "is better than",
        _ => "does not reach",
    };
    refuse(format!("the schedule {how} the claim: its {figure} is {own}, not {claimed}"))
}

fn find_target<'t>(targets: &'t BTreeMap<String, Target>, name: &str) -> Checked<&'t Target> {
    targets.get(name).ok_or_else(|| refused(format!("the header has no target {name:?}")))
}

/// Check the claim, and its proof if it has one. Return what the proof has to show.
fn check_registers(kernel: &Kernel, claim: Claim<Proof>) -> Checked<Question<'_>> {
    let Claim { region: Some(name), class: Some(class), least: Some(least), proof, .. } = claim else {
        return Err(misread("region, class or least is missing"));
    };
    let (graph, schedule) = scheduled(region(kernel, &name)?)?;
    let position = graph.classes.iter().position(|c| *c == class);
    let position = position.ok_or_else(|| refused(format!("the region has no class {class:?}")))?;
    ensure(least >= 0, "the claim has a negative number of registers")?;
    reached("peak", schedule.peaks[position], least)?;
    let mut limits = vec![None; graph.classes.len()];
    limits[position] = Some(least - 1);
    proof.map_or(Ok(()), |proof| proof::check(graph, &proof, &limits))?;
    Ok(Question::new(graph, &limits, None))
}

/// The same for a length.
fn check_length<'s>(
    kernel: &'s Kernel,
    targets: &'s BTreeMap<String, Target>,
    claim: Claim<LengthProof>,
) -> Checked<Question<'s>> {
    let Claim { region: Some(name), target: Some(target), least: Some(least), proof, .. } = claim else {
        return Err(misread("region, target or least is missing"));
    };
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
    Ok(Question::new(graph, &limits, Some((machine, least))))
}

/// The same for waves. None if nothing is left to show: the waves need no proof, or a split proves them.
fn check_waves<'s>(
    kernel: &'s Kernel,
    targets: &BTreeMap<String, Target>,
    claim: Claim<Proof>,
) -> Checked<Option<Question<'s>>> {
    let Claim { target: Some(name), most: Some(claimed), .. } = claim else {
        return Err(misread("target or most is missing"));
    };
    let target = find_target(targets, &name)?;
    // Also without registers, no more waves fit.
    let mut most = kernel.max_occupancy.map_or(u64::MAX, u64::from);
    most = most.min(target.waves(|_| None));
    // A kernel has the most registers of each class that a region needs.
    let mut registers = BTreeMap::new();
    for region in &kernel.regions {
        let (graph, schedule) = scheduled(region)?;
        if let Some(class) = graph.classes.iter().find(|class| find_class(target, class).is_none()) {
            return unsupported(format!("waves: target {name:?} has no class {class:?}"));
        }
        let peak = |name: &str| Some(schedule.peaks[graph.classes.iter().position(|c| c == name)?]);
        for class in target.classes() {
            let own = registers.entry(&class.name[..]).or_insert(0);
            *own = target.needs(&class.name, peak).max(*own);
        }
    }
    let reached = most.min(target.waves_with(|class| registers.get(class).copied().unwrap_or(0)));
    let claimed = u64::from(claimed);
    if reached != claimed {
        let how = if reached > claimed { "are better than" } else { "do not reach" };
        return refuse(format!("the schedules {how} the claim: {reached} waves, not {claimed}"));
    }
    let Some(name) = &claim.region else {
        ensure(claim.proof.is_none(), "the claim has a proof without a region")?;
        let reason = format!("register files and max_occupancy allow {most} waves, not {claimed}");
        return ensure(claimed == most, reason).map(|()| None);
    };
    ensure(claim.proof.is_some() || claim.same.is_some(), "the claim has a region without a proof")?;
    let (graph, _) = scheduled(region(kernel, name)?)?;
    let is_split = matches!(claim.proof, Some(Proof::Split(_)));
    // Each class needs its own registers at least.
    let none = vec![0; graph.classes.len()];
    let limits: Vec<_> = (0..none.len()).map(|c| target.rest(graph, &none, c, claimed + 1)).collect();
    claim.proof.map_or(Ok(()), |proof| check_part(graph, target, &proof, &limits, &none, claimed + 1))?;
    Ok((!is_split).then(|| Question::new(graph, &limits, None)))
}

/// Check a proof for orders from `least` to limits. A split divides them: more registers of a class leave
/// less to others.
fn check_part(g: &Graph, target: &Target, proof: &Proof, limits: &[Limit], least: &[i64], w: u64) -> Checked {
    let Proof::Split(split) = proof else { return proof::check(g, proof, limits) };
    let Split { class, at, below, above } = &**split;
    let class = g.classes.iter().position(|name| name == class);
    let class = class.ok_or_else(|| refused("a split has a class that the region does not have"))?;
    let lower = |old: Limit, new: Limit| [old, new].into_iter().flatten().min();
    let (mut lowered, mut raised) = (limits.to_vec(), least.to_vec());
    lowered[class] = lower(limits[class], Some((*at).into()));
    raised[class] = least[class].max(i64::from(*at) + 1);
    check_part(g, target, below, &lowered, least, w)?;
    let rest = |c| lower(limits[c], target.rest(g, &raised, c, w));
    check_part(g, target, above, &(0..limits.len()).map(rest).collect::<Vec<_>>(), &raised, w)
}

/// Return a class of a target.
fn find_class<'t>(target: &'t Target, name: &str) -> Option<&'t Class> {
    target.files.iter().flat_map(|file| &file.classes).find(|class| class.name == name)
}
