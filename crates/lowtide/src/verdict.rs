//! The answer to a yes-or-no question that may stay open.

/// The answer of a search: yes with a witness, no with a reason, or unknown because the effort was spent
/// first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict<Yes = (), No = ()> {
    /// Yes, with a witness.
    Yes(Yes),
    /// No, with a reason.
    No(No),
    /// The effort was spent first.
    Unknown,
}

impl<Yes, No> Verdict<Yes, No> {
    /// Return whether the answer is yes.
    pub fn is_yes(&self) -> bool {
        matches!(self, Verdict::Yes(_))
    }

    /// Return whether the answer is no.
    pub fn is_no(&self) -> bool {
        matches!(self, Verdict::No(_))
    }

    /// Return whether there is no answer.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Verdict::Unknown)
    }

    /// Replace the witness.
    pub fn map_yes<T>(self, change: impl FnOnce(Yes) -> T) -> Verdict<T, No> {
        match self {
            Verdict::Yes(yes) => Verdict::Yes(change(yes)),
            Verdict::No(no) => Verdict::No(no),
            Verdict::Unknown => Verdict::Unknown,
        }
    }
}
