//! The arguments of the ant colony: its parameters, and its device.

use clap::{Args, ValueEnum};
use lowtide::colony::{Lists, Parameters, Start, WHOLE};
use lowtide_gpu::Device;

use crate::Failure;

/// The heading of these arguments in help texts.
const HEADING: &str = "Ant colony";

/// The parameters of the ant colony, and its device. A parameter that is not given is that of the preset.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct AntArgs {
    /// Take the parameters from this configuration. Other options change single parameters
    #[arg(long, help_heading = HEADING, value_enum, default_value = "default")]
    preset: Preset,

    /// Start the random numbers at N
    #[arg(long, help_heading = HEADING, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Send N groups of 32 ants in each iteration [default: 8; paper: 360]
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=512))]
    groups: Option<u32>,

    /// End after this many iterations without improvement, for regions below 50 instructions, below 100, and
    /// others [default: 10,20,30; paper: 1,2,3]
    #[arg(long, help_heading = HEADING, value_name = "N,N,N", value_parser = parse_patience)]
    patience: Option<[u32; 3]>,

    /// Keep this share of each pheromone after an iteration [default: 0.8125; paper: 0.8]
    #[arg(long, help_heading = HEADING, value_name = "SHARE", value_parser = parse_share)]
    decay: Option<u32>,

    /// Let N percent of the groups stall without need [default: 25; paper: 25]
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    stall_share: Option<u32>,

    /// Let each group explore in N steps of a schedule on average [default: 10; paper: 10]
    #[arg(long, help_heading = HEADING, value_name = "N")]
    explorations: Option<u32>,

    /// Let ants exceed the best length by N/64 before they die [default: 2; paper: 64]
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1024))]
    slack: Option<u32>,

    /// Protect ants from dead ends by known orders [default: on; paper: off]
    #[arg(long, help_heading = HEADING, value_enum)]
    guards: Option<Switch>,

    /// Start from these orders [default: best; paper: production]
    #[arg(long, help_heading = HEADING, value_enum)]
    ant_start: Option<StartArg>,

    /// Let ants look at this part of their ready lists [default: whole; paper: whole]. Other values run on
    /// the processor only
    #[arg(long, help_heading = HEADING, value_enum)]
    ready_lists: Option<ListsArg>,

    /// Run ants on this device. Schedules do not depend on the device
    #[arg(long, help_heading = HEADING, value_enum, default_value = "cpu")]
    device: DeviceArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// The parameters of docs/colony.md
    Default,
    /// The published configuration (paper 4, Section VI-A): 11,520 ants, no guards, start from the production
    /// order
    Paper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StartArg {
    /// The best of all known orders and lists
    Best,
    /// The recorded production order, or the source order without a record
    Production,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListsArg {
    /// All of it
    Whole,
    /// As much as the shortest list of the group
    Shortest,
    /// As much as the middle between the shortest and the longest list of the group
    Middle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DeviceArg {
    /// The processor
    Cpu,
    /// The first NVIDIA GPU
    Cuda,
    /// The first NVIDIA GPU, or the processor without one
    Auto,
}

impl Default for AntArgs {
    fn default() -> Self {
        AntArgs {
            preset: Preset::Default,
            seed: 1,
            groups: None,
            patience: None,
            decay: None,
            stall_share: None,
            explorations: None,
            slack: None,
            guards: None,
            ant_start: None,
            ready_lists: None,
            device: DeviceArg::Cpu,
        }
    }
}

impl AntArgs {
    /// Return the published configuration with another number of groups.
    pub fn published(groups: u32) -> Self {
        AntArgs { preset: Preset::Paper, groups: Some(groups), ..AntArgs::default() }
    }

    /// Return the parameters of the colony.
    pub fn parameters(&self) -> Parameters {
        let preset = match self.preset {
            Preset::Default => Parameters::default(),
            Preset::Paper => Parameters::PAPER,
        };
        Parameters {
            seed: self.seed,
            groups: self.groups.unwrap_or(preset.groups),
            explorations: self.explorations.unwrap_or(preset.explorations),
            stall_share: self.stall_share.unwrap_or(preset.stall_share),
            remains: self.decay.unwrap_or(preset.remains),
            slack: self.slack.unwrap_or(preset.slack),
            patience: self.patience.unwrap_or(preset.patience),
            guards: self.guards.map_or(preset.guards, |guards| guards == Switch::On),
            start: self.ant_start.map_or(preset.start, |start| match start {
                StartArg::Best => Start::Best,
                StartArg::Production => Start::Production,
            }),
            lists: self.ready_lists.map_or(preset.lists, |lists| match lists {
                ListsArg::Whole => Lists::Whole,
                ListsArg::Shortest => Lists::Shortest,
                ListsArg::Middle => Lists::Middle,
            }),
        }
    }

    /// Return whether the published configuration is asked for.
    pub fn is_published(&self) -> bool {
        self.preset == Preset::Paper
    }

    /// Return whether the processor may replace a GPU that fails.
    pub fn may_fall_back(&self) -> bool {
        self.device == DeviceArg::Auto
    }

    /// Open the GPU, if one is to be used.
    pub fn gpu(&self) -> Result<Option<Device>, Failure> {
        match self.device {
            DeviceArg::Cpu => Ok(None),
            DeviceArg::Auto => Ok(Device::open().ok()),
            DeviceArg::Cuda => {
                Device::open().map(Some).map_err(|error| Failure::Message(format!("--device cuda: {error}")))
            }
        }
    }
}

/// Parse one number for all sizes, or one for each of the three ranges.
fn parse_patience(text: &str) -> Result<[u32; 3], String> {
    let numbers = text.split(',').map(|number| number.trim().parse::<u32>().ok()).collect::<Option<Vec<_>>>();
    match numbers.as_deref() {
        Some(&[all]) => Ok([all; 3]),
        Some(&[small, middle, large]) => Ok([small, middle, large]),
        _ => Err(format!("{text:?} is neither a number nor three of them, such as 1,2,3")),
    }
}

/// Parse a share from 0 to 1, with up to four digits behind the point.
fn parse_share(text: &str) -> Result<u32, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    let share = share.ok_or_else(|| format!("{text:?} is not a number from 0 to 1"))?;
    Ok((share * f64::from(WHOLE)).round() as u32)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        ants: AntArgs,
    }

    fn parameters(words: &[&str]) -> Result<Parameters, String> {
        let words = ["test"].iter().chain(words);
        CommandLine::try_parse_from(words)
            .map(|line| line.ants.parameters())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn presets_are_configurations_and_options_change_them() {
        assert_eq!(parameters(&[]), Ok(Parameters::default()));
        assert_eq!(parameters(&["--preset", "paper"]), Ok(Parameters::PAPER));
        assert_eq!(Parameters::PAPER.groups * lowtide::colony::LANES, 11_520);
        let words = "--preset paper --patience 4 --decay 0.2 --stall-share 75 --guards on --ant-start best";
        let changed = parameters(&words.split(' ').collect::<Vec<_>>());
        let expected = Parameters {
            patience: [4; 3],
            remains: 2_000,
            stall_share: 75,
            guards: true,
            start: Start::Best,
            ..Parameters::PAPER
        };
        assert_eq!(changed, Ok(expected));
        assert_eq!(parameters(&["--patience", "1,2,3"]).map(|own| own.patience), Ok([1, 2, 3]));
        assert_eq!(parameters(&["--ready-lists", "middle"]).map(|own| own.lists), Ok(Lists::Middle));
        for bad in ["--patience 1,2", "--decay 1.5", "--stall-share 101", "--groups 0", "--guards maybe"] {
            assert!(parameters(&bad.split(' ').collect::<Vec<_>>()).is_err(), "{bad}");
        }
    }
}
