//! Why states of the search fail.
//!
//! A failed state is remembered, so that similar states need no search ([`History`]). In most failed states,
//! only some of the pending results matter, and these could even be available a little earlier. A *reason* is
//! what the failure needs: an instruction cannot issue before a slot. If all reasons of a failed state hold
//! in a similar state, that state has failed, too.
//!
//! A state fails in one of these ways:
//! - An instruction has too little time. The reason is the slot from which on it is too late.
//! - The relaxed problem has no solution: [`Relaxed::explain`].
//! - A record of the history applies. The reasons are those of the record.
//! - All children fail. The reasons of each child are converted to those of the state before: if an
//!   instruction cannot issue before slot s in the child, either it could not before (the reason stays), or
//!   the last instruction was issued late (the reason is the slot from which on it is too late for s).
//!
//! A child that is left out because of another instruction y (*no idling*) counts as failed if it cannot
//! issue before the slot after that of y. A failure for lack of registers needs no reason.
//!
//! # Proof
//! Let P be the problem to complete a state by the target, with windows and sizes as further constraints. For
//! a failed state, let t be the state with the same issued instructions in which every instruction can issue
//! from the slot of its reason on, or at once if it has none. By induction over the search below it, t has no
//! completion in P: no step above uses more of the times than its reasons. (No idling: in t, y can issue no
//! later than in the failed state, and the child still after that.) A completion of a similar state in which
//! the reasons hold would be one of t. Every schedule that meets the target is a solution of P, so the
//! similar state has failed. ∎
//!
//! Windows and sizes are those of one target. A schedule that meets a smaller target also meets this one,
//! after a wait at its start. So reasons, counted from the end, hold for this target and all smaller ones,
//! but not for larger ones.
//!
//! [`History`]: super::history::History
//! [`Relaxed::explain`]: super::relaxed::Relaxed::explain

/// A reason for a failure: an instruction cannot issue before a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reason {
    pub(crate) instr: u32,
    pub(crate) slot: u32,
}

/// Add a reason to others. Of the same instruction, the later slot counts.
#[inline]
pub(crate) fn add(reasons: &mut Vec<Reason>, start: usize, new: Reason) {
    match reasons[start..].iter_mut().find(|reason| reason.instr == new.instr) {
        Some(reason) => reason.slot = reason.slot.max(new.slot),
        None => reasons.push(new),
    }
}

/// Why a state has failed.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    pub(crate) reasons: Vec<Reason>,
    /// The slot that must have come.
    pub(crate) from: u32,
}

impl Failure {
    pub(crate) fn clear(&mut self) {
        self.reasons.clear();
        self.from = 0;
    }

    pub(crate) fn add(&mut self, instr: u32, slot: u32) {
        add(&mut self.reasons, 0, Reason { instr, slot });
    }
}
