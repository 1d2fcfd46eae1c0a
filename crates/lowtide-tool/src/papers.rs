//! The five papers that help texts and tables cite by number.

use crate::table::{WIDTH, wrapped};

/// A paper.
pub struct Paper {
    /// The number that is cited.
    pub number: u8,
    /// The authors, some with their affiliation.
    pub authors: &'static str,
    /// The year, where it is known.
    pub year: Option<u16>,
    /// The title.
    pub title: &'static str,
}

/// All papers, by number.
pub const PAPERS: [Paper; 5] = [
    Paper {
        number: 1,
        authors: "Gang Chen (Intel)",
        year: Some(2023),
        title: "Optimal and heuristic min-reg scheduling algorithms for GPU programs",
    },
    Paper {
        number: 2,
        authors: "Ghassan Shobaki, Austin Kerbow, Stanislav Mekhanoshin",
        year: Some(2020),
        title: "Optimizing occupancy and ILP on the GPU using a combinatorial approach",
    },
    Paper {
        number: 3,
        authors: "Morteza Fayyazi, Norman Rubin, Chris Reeve (Northeastern University, ATI Research)",
        year: None,
        title: "Integrating splitting transformations into an ILP instruction scheduler",
    },
    Paper {
        number: 4,
        authors: "Ghassan Shobaki, Pinar Muyan-Özçelik, Josh Hutton, Bruce Linck and others",
        year: Some(2024),
        title: "Instruction scheduling for the GPU on the GPU",
    },
    Paper {
        number: 5,
        authors: "Alan Heirich (Sony)",
        year: Some(2005),
        title: "Optimal automatic multi-pass shader partitioning by dynamic programming",
    },
];

impl Paper {
    /// Return number, authors, year and title in one line.
    fn in_words(&self) -> String {
        let year = self.year.map_or_else(String::new, |year| format!(", {year}"));
        format!("Paper {}: {}{year}: {}", self.number, self.authors, self.title)
    }

    fn is_cited(&self, text: &str) -> bool {
        let cited = [format!("paper {}", self.number), format!("Paper {}", self.number)];
        cited.iter().any(|cited| text.contains(cited))
    }
}

/// Return a line for each paper that a text cites as `paper N`, or none if the text cites no paper.
pub fn cited_in(text: &str) -> Option<String> {
    let lines: Vec<String> =
        PAPERS.iter().filter(|paper| paper.is_cited(text)).map(Paper::in_words).collect();
    (!lines.is_empty()).then(|| wrapped(&lines.join("\n"), WIDTH))
}

/// Return a text with a line at its end for each paper that it cites.
pub fn with_papers(text: String) -> String {
    match cited_in(&text) {
        Some(papers) => format!("{text}\n\n{papers}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cited_papers_are_explained() {
        assert!(PAPERS.iter().zip(1..).all(|(paper, number)| paper.number == number));
        assert_eq!(cited_in("a paper without a number"), None);
        assert_eq!(with_papers("nothing".to_string()), "nothing");
        let text = with_papers("search (paper 2, Section 5), as in paper 5".to_string());
        let (_, papers) = text.split_once("\n\n").expect("an explanation");
        assert!(papers.starts_with("Paper 2: Ghassan Shobaki, ") && papers.contains("\nPaper 5: Alan"));
        assert!(papers.contains(", 2020:") && !papers.contains("Paper 1:"), "{papers}");
        assert!(papers.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
