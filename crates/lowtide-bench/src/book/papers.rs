//! The figures of the five papers, in one place. Numbers have the digits that the papers print.

use serde::Serialize;

/// A paper, and the setting of its measurements.
#[derive(Serialize, Clone, Copy)]
pub(crate) struct Paper {
    pub(crate) number: u8,
    pub(crate) authors: &'static str,
    pub(crate) title: &'static str,
    /// The reasons why its figures and the measured ones differ.
    pub(crate) setting: &'static str,
}

/// Paper 1.
pub(crate) mod chen {
    use lowtide::algorithm::Algorithm;

    use lowtide_tool::papers::PAPERS;

    use super::Paper;

    pub(crate) const PAPER: Paper = Paper {
        number: PAPERS[0].number,
        authors: PAPERS[0].authors,
        title: PAPERS[0].title,
        setting: "The paper has 4,437 basic blocks of shaders for rendering, taken from a GPU compiler. It counts only \
                  blocks whose optimum a constraint solver proved within two hours. The input here is other code, from \
                  another compiler, for other GPUs. The ranking of the algorithms can be compared, and roughly their \
                  distance from the optimum.",
    };

    /// Tables I and IV, first line: graphs, their mean size, and edges for each node. Section III: the
    /// smallest and the largest.
    pub(crate) const GRAPHS: u64 = 4437;
    pub(crate) const MEAN_SIZE: f64 = 90.8;
    pub(crate) const DENSITY: f64 = 1.63;
    pub(crate) const SMALLEST: u64 = 48;
    pub(crate) const LARGEST: u64 = 511;

    /// Return the table of an algorithm, if the paper measures it.
    pub(crate) fn table_of(algorithm: Algorithm) -> Option<&'static Heuristic> {
        match algorithm.name() {
            "sethi-ullman" => Some(&TABLE_I),
            "su-rp" => Some(&TABLE_II),
            "su-rp-adjust" => Some(&TABLE_III),
            "su-cluster" => Some(&TABLE_IV),
            "su-cluster-adjust" => Some(&TABLE_V),
            _ => None,
        }
    }

    /// One of Tables I to V.
    pub(crate) struct Heuristic {
        pub(crate) table: &'static str,
        pub(crate) optimal: u64,
        /// At least 1.5 times the optimum.
        pub(crate) outliers: u64,
        pub(crate) mean_ratio: f64,
        /// Mean size of the optimal graphs and of the outliers, where the table has them.
        pub(crate) sizes: Option<[f64; 2]>,
        /// Their edges for each node.
        pub(crate) edges: Option<[f64; 2]>,
    }

    /// Section V: shaders. For each first phase, shaders that spill, and blocks that the first phase
    /// replaces.
    pub(crate) const SHADERS: u64 = 3383;
    pub(crate) const TWO_PHASES: [(u64, u64); 3] = [(873, 0), (823, 2561), (815, 2854 + 344)];

    static TABLE_I: Heuristic = Heuristic {
        table: "I",
        optimal: 623,
        outliers: 1246,
        mean_ratio: 1.437,
        sizes: Some([73.7, 99.5]),
        edges: Some([1.59, 1.63]),
    };
    static TABLE_II: Heuristic =
        Heuristic { table: "II", optimal: 730, outliers: 1124, mean_ratio: 1.418, sizes: None, edges: None };
    static TABLE_III: Heuristic =
        Heuristic { table: "III", optimal: 841, outliers: 1075, mean_ratio: 1.376, sizes: None, edges: None };
    static TABLE_IV: Heuristic = Heuristic {
        table: "IV",
        optimal: 1427,
        outliers: 266,
        mean_ratio: 1.171,
        sizes: Some([78.1, 115.9]),
        edges: Some([1.64, 1.58]),
    };
    static TABLE_V: Heuristic =
        Heuristic { table: "V", optimal: 1136, outliers: 273, mean_ratio: 1.194, sizes: None, edges: None };
}

/// Paper 2.
pub(crate) mod shobaki_2020 {
    use lowtide_tool::papers::PAPERS;

    use super::Paper;

    pub(crate) const PAPER: Paper = Paper {
        number: PAPERS[1].number,
        authors: PAPERS[1].authors,
        title: PAPERS[1].title,
        setting: "The paper compiles 13 programs for machine learning (PlaidML) with LLVM 9 for an AMD Vega 64. It counts \
                  every region, and its searches start from another heuristic. Here the input is other code, from a later \
                  LLVM, and each graph counts once. `production` is the scheduler of the compiler that made the regions, \
                  which is later than the paper's AMD scheduler. `weighted` follows the paper's previous search, with better \
                  bounds. `llvm-generic` is a model of LLVM's generic scheduler, since no region file records its orders.",
    };

    /// Table 2.
    pub(crate) const KERNELS: u64 = 3813;
    pub(crate) const REGIONS: u64 = 16_642;
    pub(crate) const INSTRUCTIONS: u64 = 811_864;
    pub(crate) const MEAN_SIZE: f64 = 48.8;
    pub(crate) const LARGEST: u64 = 921;

    /// Regions, and their share in percent.
    pub(crate) type Counted = (u64, f64);

    /// A column of Table 3. The first share is of all regions, the others are shares of those that were
    /// searched.
    pub(crate) struct Pass {
        pub(crate) searched: Counted,
        pub(crate) proved_improved: Counted,
        pub(crate) proved_same: Counted,
        pub(crate) timeout_improved: Counted,
        pub(crate) timeout_same: Counted,
        pub(crate) mean_size: u64,
        pub(crate) largest_proved: u64,
        pub(crate) largest_improved: u64,
    }

    /// Table 3, by pass.
    pub(crate) const TABLE_3: [Pass; 2] = [
        Pass {
            searched: (541, 3.3),
            proved_improved: (63, 11.7),
            proved_same: (7, 1.3),
            timeout_improved: (226, 41.8),
            timeout_same: (245, 45.3),
            mean_size: 209,
            largest_proved: 287,
            largest_improved: 921,
        },
        Pass {
            searched: (10_537, 63.3),
            proved_improved: (9513, 90.3),
            proved_same: (0, 0.0),
            timeout_improved: (152, 1.4),
            timeout_same: (872, 8.3),
            mean_size: 70,
            largest_proved: 877,
            largest_improved: 921,
        },
    ];

    /// A line of Table 4: a scheduler and its name in the paper. The gain of the two passes over it is in
    /// percent of waves and of length.
    pub(crate) struct Improvement {
        pub(crate) ours: &'static str,
        pub(crate) theirs: &'static str,
        pub(crate) waves: f64,
        pub(crate) length: f64,
    }

    pub(crate) const TABLE_4: [Improvement; 3] = [
        Improvement { ours: "llvm-generic", theirs: "LLVM", waves: 4.13, length: 35.61 },
        Improvement { ours: "production", theirs: "AMD", waves: 4.14, length: 19.20 },
        Improvement { ours: "weighted", theirs: "previous", waves: 4.09, length: 7.35 },
    ];

    /// A column of Table 8.
    pub(crate) struct Limit {
        pub(crate) ms_per_instruction: f64,
        /// Of compilation.
        pub(crate) seconds: u64,
        /// By pass.
        pub(crate) timeouts: [u64; 2],
    }

    pub(crate) const TABLE_8: [Limit; 3] = [
        Limit { ms_per_instruction: 0.25, seconds: 381, timeouts: [483, 1049] },
        Limit { ms_per_instruction: 1.0, seconds: 566, timeouts: [471, 1024] },
        Limit { ms_per_instruction: 5.0, seconds: 1513, timeouts: [453, 998] },
    ];
}

/// Paper 3.
pub(crate) mod fayyazi {
    use lowtide_tool::papers::PAPERS;

    use super::Paper;

    pub(crate) const PAPER: Paper = Paper {
        number: PAPERS[2].number,
        authors: PAPERS[2].authors,
        title: PAPERS[2].title,
        setting: "The paper packs 568 shaders of games and tools, which are not public. Its target is an ATI GPU with a \
                  vector and a scalar unit, and it starts from the schedule of ATI's production compiler. The generated \
                  blocks here have the number and sizes of those shaders, and are packed for a GPU with the same description \
                  (`vs`). But their operations are generated, and the list schedule is not ATI's. So sums of cycles and \
                  registers can be compared with each other, not with the paper's.",
    };

    /// The setting if the blocks are real code.
    pub(crate) const REAL_CODE: &str = "The paper's figures are for other code and another GPU. They stand beside generated blocks only \
                                        (`--generated`).";

    /// A column of Table 6.
    pub(crate) struct Group {
        pub(crate) name: &'static str,
        pub(crate) shaders: u64,
        pub(crate) proved: u64,
        /// List schedules that the linear program proves to be shortest, in percent.
        pub(crate) by_bound: f64,
        pub(crate) list_registers: u64,
        pub(crate) best_registers: u64,
        pub(crate) list_cycles: u64,
        pub(crate) best_cycles: u64,
        /// In percent.
        pub(crate) cycles_improved: f64,
        pub(crate) shaders_improved: f64,
    }

    pub(crate) const TABLE_6: [Group; 3] = [
        Group {
            name: "hlsl",
            shaders: 90,
            proved: 84,
            by_bound: 72.0,
            list_registers: 178,
            best_registers: 178,
            list_cycles: 457,
            best_cycles: 439,
            cycles_improved: 4.0,
            shaders_improved: 15.0,
        },
        Group {
            name: "ide",
            shaders: 110,
            proved: 60,
            by_bound: 65.0,
            list_registers: 253,
            best_registers: 255,
            list_cycles: 1097,
            best_cycles: 1081,
            cycles_improved: 1.5,
            shaders_improved: 15.0,
        },
        Group {
            name: "hand",
            shaders: 368,
            proved: 341,
            by_bound: 75.0,
            list_registers: 1256,
            best_registers: 1264,
            list_cycles: 3112,
            best_cycles: 3089,
            cycles_improved: 0.75,
            shaders_improved: 10.5,
        },
    ];

    /// Table 7: shaders, the smallest and the largest, and means of operations, registers and cycles (list,
    /// then best).
    pub(crate) const TABLE_7_ROWS: usize = 21;
    pub(crate) const TABLE_7_SIZES: [usize; 2] = [13, 43];
    pub(crate) const TABLE_7_MEANS: [f64; 5] = [24.0, 4.2, 11.0, 4.3, 9.9];
    /// Table 7: the highest gain of the frame rate and the mean, in percent.
    pub(crate) const FRAME_RATE: [f64; 2] = [8.04, 0.73];

    /// Section 3, on Figure 2: shaders that become shorter, in percent, in the two ranges of sizes that the
    /// text mentions.
    pub(crate) const FIGURE_2: [(usize, f64); 2] = [(0, 0.0), (41, 17.9)];
    /// Section 3: shaders of `hand` that splits make shorter, in percent.
    pub(crate) const SPLIT_IMPROVED: f64 = 2.0;
    /// Section 3: the most cycles that a shader saves.
    pub(crate) const MOST_SAVED: u32 = 5;
}

/// Paper 4.
pub(crate) mod shobaki_2024 {
    use lowtide_tool::papers::PAPERS;

    use super::Paper;

    pub(crate) const PAPER: Paper = Paper {
        number: PAPERS[3].number,
        authors: PAPERS[3].authors,
        title: PAPERS[3].title,
        setting: "The paper compiles 341 benchmarks of rocPRIM with LLVM 15 for an AMD Radeon VII. The same GPU runs the \
                  ants, one region at a time. The single core is that of a Threadripper 1950X. Here all regions of a pass go \
                  to the GPU at once, and both sides do exactly the same work with the same result. The paper compares runs \
                  with an equal number of iterations.",
    };

    /// Table 1: kernels, regions, and for each pass the regions that ants work on, their mean and largest
    /// size.
    pub(crate) const KERNELS: u64 = 269;
    pub(crate) const REGIONS: u64 = 181_883;
    pub(crate) const ASKED: [u64; 2] = [1734, 12_192];
    pub(crate) const MEAN_SIZE: [f64; 2] = [68.3, 40.2];
    pub(crate) const LARGEST: [u64; 2] = [1176, 2223];

    /// Table 2, in percent: all kernels and the best one, all regions and the best one.
    pub(crate) const WAVES_GAINED: [f64; 2] = [0.66, 300.0];
    pub(crate) const LENGTH_SAVED: [f64; 2] = [5.52, 78.52];

    /// A column of Table 3.a or 3.b.
    #[derive(Clone, Copy)]
    pub(crate) struct SpeedUp {
        pub(crate) asked: u64,
        pub(crate) comparable: u64,
        pub(crate) geomean: f64,
        pub(crate) max: f64,
        pub(crate) min: f64,
    }

    const fn speed_up(asked: u64, comparable: u64, geomean: f64, max: f64, min: f64) -> SpeedUp {
        SpeedUp { asked, comparable, geomean, max, min }
    }

    /// Tables 3.a and 3.b: by pass, then by size (1 to 49, 50 to 99, 100 and more).
    pub(crate) const TABLE_3: [[SpeedUp; 3]; 2] = [
        [
            speed_up(728, 716, 2.07, 5.69, 0.63),
            speed_up(643, 600, 7.44, 12.69, 3.30),
            speed_up(363, 327, 12.48, 27.19, 5.66),
        ],
        [
            speed_up(9808, 9613, 1.99, 8.25, 0.45),
            speed_up(1574, 1354, 4.80, 13.03, 1.08),
            speed_up(810, 436, 7.55, 17.37, 4.10),
        ],
    ];

    /// Table 5: seconds to compile everything with the AMD scheduler, with ants on one core, and with ants on
    /// the GPU.
    pub(crate) const TABLE_5: [u64; 3] = [840, 1225, 967];

    /// A column of Table 6, in percent.
    pub(crate) struct Stalls {
        pub(crate) share: u32,
        pub(crate) more_time: f64,
        pub(crate) saved: f64,
        pub(crate) most_saved: f64,
    }

    pub(crate) const TABLE_6: [Stalls; 3] = [
        Stalls { share: 25, more_time: 8.65, saved: 0.27, most_saved: 15.75 },
        Stalls { share: 50, more_time: 12.30, saved: 0.30, most_saved: 15.75 },
        Stalls { share: 75, more_time: 20.28, saved: 0.95, most_saved: 23.58 },
    ];

    /// A column of Table 7: benchmarks that become faster, and slower, by at least 3, 5 and 10 %.
    pub(crate) struct Filtered {
        pub(crate) threshold: u32,
        pub(crate) improved: [u64; 3],
        pub(crate) regressed: [u64; 3],
        /// In percent.
        pub(crate) most_regressed: f64,
    }

    const fn filtered(
        threshold: u32,
        improved: [u64; 3],
        regressed: [u64; 3],
        most_regressed: f64,
    ) -> Filtered {
        Filtered { threshold, improved, regressed, most_regressed }
    }

    pub(crate) const TABLE_7: [Filtered; 6] = [
        filtered(5, [18, 17, 9], [4, 4, 3], 14.5),
        filtered(10, [20, 20, 10], [3, 3, 3], 14.5),
        filtered(15, [20, 20, 11], [1, 1, 1], 10.5),
        filtered(20, [21, 24, 9], [1, 1, 1], 10.5),
        filtered(21, [20, 24, 11], [0, 0, 0], 0.7),
        filtered(25, [20, 24, 11], [0, 0, 0], 1.3),
    ];

    /// Section VI-E, on Figure 4: benchmarks that become faster by at least 5 %, the geometric mean and the
    /// best, in percent.
    pub(crate) const FIGURE_4: [f64; 3] = [20.0, 13.2, 74.0];

    /// Tables 4.a and 4.b, in percent: the additional time without the techniques for memory, and without
    /// those against divergence, by pass and size.
    pub(crate) const TABLE_4: [(&str, [[f64; 3]; 2]); 2] = [
        ("memory", [[645.0, 1055.0, 897.0], [593.0, 994.0, 709.0]]),
        ("divergence", [[0.68, 3.81, 7.0], [3.78, 12.06, 15.42]]),
    ];
}

/// Paper 5.
pub(crate) mod heirich {
    use lowtide_tool::papers::PAPERS;

    use super::Paper;

    pub(crate) const PAPER: Paper = Paper {
        number: PAPERS[4].number,
        authors: PAPERS[4].authors,
        title: PAPERS[4].title,
        setting: "The paper partitions 10 vertex and 3 fragment shaders. It neither names its GPU nor prints its cost \
                  function. It reports branching factors only, and neither costs nor passes. The shaders here are other \
                  ones, for a GPU described in this repository.",
    };

    /// Section 4: mean branching factor over all shaders, which is also the exponent that the paper gives for
    /// its time.
    pub(crate) const BRANCHING: f64 = 1.149_66;
    /// Section 4: the least and the largest of all, to the digits that the paper gives.
    pub(crate) const BRANCHING_RANGE: [f64; 2] = [1.047, 1.257];

    /// Section 4: the largest n for which n^b is less than n log n.
    pub(crate) const CROSSOVER: u64 = 12_053;

    /// Some shaders of Section 4.
    pub(crate) struct Shaders {
        pub(crate) name: &'static str,
        pub(crate) count: u64,
        /// Mean for several.
        pub(crate) operations: u64,
        pub(crate) branching: f64,
    }

    /// The one of Figure 2.
    pub(crate) const FIGURE_2: Shaders =
        Shaders { name: "fragment shader (Figure 2)", count: 1, operations: 490, branching: 1.060_91 };

    pub(crate) const SHADERS: [Shaders; 4] = [
        Shaders { name: "vertex shaders", count: 10, operations: 89, branching: 1.176_40 },
        Shaders { name: "fragment shader", count: 1, operations: 344, branching: 1.073_36 },
        FIGURE_2,
        Shaders { name: "fragment shader", count: 1, operations: 563, branching: 1.047_31 },
    ];
}
