//! The processes of a run: the node and CPUs of each, and which of them take part in a case.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use syncscope_core::units::plural;
use syncscope_core::{Case, Group};
use syncscope_host::cpu_list;

/// The name of the group of processes on a number of nodes.
const NODES: &str = "nodes #";

/// The number of 64-CPU words that a process reports.
const MASK_WORDS: usize = 16;

/// The number of words in which a process describes itself.
pub(crate) const PROCESS_WORDS: usize = 2 + MASK_WORDS;

/// One process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Process {
    /// The lowest rank on its node.
    pub(crate) node: u32,
    /// The frequency of the process's clock.
    pub(crate) clock_hz: f64,
    /// The CPUs that the process may use.
    pub(crate) cpus: Vec<u32>,
}

impl Process {
    /// Describes the process in words for the other processes.
    pub(crate) fn to_words(&self) -> [i64; PROCESS_WORDS] {
        let mut words = [0; PROCESS_WORDS];
        words[0] = i64::from(self.node);
        words[1] = self.clock_hz.to_bits().cast_signed();
        for cpu in &self.cpus {
            if let Some(word) = words.get_mut(2 + *cpu as usize / 64) {
                *word |= 1 << (cpu % 64);
            }
        }
        words
    }

    pub(crate) fn from_words(words: &[i64; PROCESS_WORDS]) -> Self {
        let [node, clock_hz, masks @ ..] = words;
        let cpus =
            (0_u32..).zip(masks).flat_map(|(index, word)| (0..64).map(move |bit| (64 * index + bit, word >> bit & 1)));
        Self {
            node: *node as u32,
            clock_hz: f64::from_bits(clock_hz.cast_unsigned()),
            cpus: cpus.filter(|(_, is_set)| *is_set == 1).map(|(cpu, _)| cpu).collect(),
        }
    }
}

/// A number of processes on a number of nodes, equally many on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Team {
    pub(crate) nodes: u32,
    pub(crate) processes: u32,
}

impl Team {
    pub(crate) fn of_case(case: &Case) -> Option<Self> {
        Some(Self { nodes: case.group_number(NODES)?, processes: case.threads? })
    }

    pub(crate) const fn group(self) -> Group {
        Group::numbered(NODES, self.nodes)
    }
}

/// All processes, in the order of their ranks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct World {
    pub(crate) processes: Vec<Process>,
}

impl World {
    /// The ranks of each node, the node of rank 0 first.
    fn nodes(&self) -> Vec<Vec<u32>> {
        let mut nodes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (rank, process) in (0..).zip(&self.processes) {
            nodes.entry(process.node).or_default().push(rank);
        }
        nodes.into_values().collect()
    }

    /// The teams of a run. On rank 0's node: 2, 4, 8... and all of its processes. On 2, 4, 8... and all nodes: one
    /// process per node, and as many per node as every node has.
    pub(crate) fn teams(&self) -> BTreeSet<Team> {
        let nodes = self.nodes();
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let on_first = nodes.first().map_or(0, |ranks| count(ranks.len()));
        let each = nodes.iter().map(|ranks| count(ranks.len())).min().unwrap_or(0);
        let on_one_node = doubled(on_first).map(|processes| Team { nodes: 1, processes });
        let on_several = doubled(count(nodes.len()));
        let on_several = on_several.flat_map(|nodes| [1, each].map(|each| Team { nodes, processes: nodes * each }));
        on_one_node.chain(on_several).collect()
    }

    /// The ranks of a team, node by node; `None` if there are too few.
    pub(crate) fn members(&self, team: Team) -> Option<Vec<u32>> {
        let nodes = self.nodes();
        let each = (team.processes as usize).checked_div(team.nodes as usize)?;
        let is_even = team.processes as usize == each * team.nodes as usize && team.processes > 1;
        let of_nodes = nodes.get(..team.nodes as usize).filter(|_| is_even)?;
        let members: Option<Vec<&[u32]>> = of_nodes.iter().map(|ranks| ranks.get(..each)).collect();
        Some(members?.concat())
    }

    /// The processes on the node of this rank.
    fn beside(&self, rank: u32) -> impl Iterator<Item = (usize, &Process)> {
        let node = self.processes.get(rank as usize).map(|process| process.node);
        self.processes.iter().enumerate().filter(move |(_, process)| Some(process.node) == node)
    }

    /// The CPUs of all processes on the node of this rank.
    pub(crate) fn cpus_beside(&self, rank: u32) -> Vec<u32> {
        let all: BTreeSet<u32> = self.beside(rank).flat_map(|(_, process)| process.cpus.iter().copied()).collect();
        all.into_iter().collect()
    }

    /// The CPU time of the other processes on this rank's node, from the time of each process in nanoseconds.
    pub(crate) fn time_beside(&self, rank: u32, times: &[i64]) -> Duration {
        let others = self.beside(rank).filter(|(other, _)| *other != rank as usize);
        others
            .filter_map(|(other, _)| times.get(other))
            .map(|ns| Duration::from_nanos((*ns).max(0).cast_unsigned()))
            .sum()
    }

    /// How the processes with these ranks share CPUs.
    pub(crate) fn sharing(&self, ranks: &[u32]) -> Sharing {
        let members: Vec<&Process> = ranks.iter().filter_map(|rank| self.processes.get(*rank as usize)).collect();
        let mut nodes: BTreeMap<u32, (usize, BTreeSet<u32>)> = BTreeMap::new();
        for process in &members {
            let (count, cpus) = nodes.entry(process.node).or_default();
            *count += 1;
            cpus.extend(&process.cpus);
        }
        let cpus: usize = nodes.values().map(|(_, cpus)| cpus.len()).sum();
        let is_oversubscribed = nodes.values().any(|(count, cpus)| cpus.len() < *count);
        let only_cpu = |process: &&Process| if let [cpu] = process.cpus[..] { Some(cpu) } else { None };
        let bound: Option<Vec<u32>> = members.iter().map(only_cpu).collect();
        let remark = match bound {
            _ if is_oversubscribed => format!("{} processes on {}", ranks.len(), plural(cpus, "CPU")),
            Some(bound) if nodes.len() == 1 => format!("processes bound to CPUs {}", cpu_list::format(&bound)),
            Some(_) => "each process bound to one CPU".to_owned(),
            None => "processes not bound to one CPU each".to_owned(),
        };
        Sharing { is_oversubscribed, remark }
    }

    /// A world of processes with one CPU each; `processes` has their number on each node.
    #[cfg(test)]
    pub(crate) fn of_nodes(processes: &[u32]) -> Self {
        let mut first = 0;
        let mut all = Vec::new();
        for count in processes {
            all.extend((0..*count).map(|cpu| Process { node: first, clock_hz: 1e9, cpus: vec![cpu] }));
            first += count;
        }
        Self { processes: all }
    }
}

/// How processes share CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// Whether a node has fewer CPUs than members, so that context switches are part of what is measured.
    pub(crate) is_oversubscribed: bool,
    /// The remark for the row.
    pub(crate) remark: String,
}

/// 2, 4, 8... up to `most`, and `most` itself.
fn doubled(most: u32) -> impl Iterator<Item = u32> {
    let powers = std::iter::successors(Some(2_u32), |count| count.checked_mul(2));
    powers.take_while(move |count| *count < most).chain((most > 1).then_some(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(node: u32, clock_hz: f64, cpus: Vec<u32>) -> Process {
        Process { node, clock_hz, cpus }
    }

    fn teams(processes: &[u32]) -> Vec<(u32, u32)> {
        World::of_nodes(processes).teams().into_iter().map(|team| (team.nodes, team.processes)).collect()
    }

    #[test]
    fn teams_are_on_one_node_and_on_several() {
        assert_eq!(teams(&[4]), [(1, 2), (1, 4)]);
        assert_eq!(teams(&[6]), [(1, 2), (1, 4), (1, 6)]);
        assert_eq!(teams(&[1, 1]), [(2, 2)]);
        assert_eq!(teams(&[2, 3, 2]), [(1, 2), (2, 2), (2, 4), (3, 3), (3, 6)]);
        assert!(teams(&[1]).is_empty());
    }

    #[test]
    fn every_team_has_its_members_equally_on_its_nodes() {
        for nodes in [&[5][..], &[2, 3, 2], &[1, 1, 1, 1, 1]] {
            let world = World::of_nodes(nodes);
            for team in world.teams() {
                let members = world.members(team).unwrap();
                assert_eq!((members.len(), members[0]), (team.processes as usize, 0), "{team:?}");
                let on = |rank: &u32| world.processes[*rank as usize].node;
                let names: BTreeSet<u32> = members.iter().map(on).collect();
                assert_eq!(names.len(), team.nodes as usize, "{team:?}");
            }
        }
        let world = World::of_nodes(&[2, 3]);
        assert_eq!(world.members(Team { nodes: 2, processes: 4 }), Some(vec![0, 1, 2, 3]));
        for (nodes, processes) in [(1, 3), (3, 3), (2, 5), (0, 2), (1, 1), (2, 6)] {
            assert_eq!(world.members(Team { nodes, processes }), None, "{nodes} {processes}");
        }
    }

    #[test]
    fn ranks_may_alternate_between_nodes() {
        let process = |node| process(node, 1e9, vec![0]);
        let world = World { processes: [0, 1, 0, 1].map(process).to_vec() };
        assert_eq!(world.members(Team { nodes: 1, processes: 2 }), Some(vec![0, 2]));
        assert_eq!(world.members(Team { nodes: 2, processes: 2 }), Some(vec![0, 1]));
    }

    #[test]
    fn processes_survive_the_way_into_words_and_back() {
        for process in [process(7, 2.6e9, vec![0, 63, 64, 1023]), process(0, 1.0, Vec::new())] {
            assert_eq!(Process::from_words(&process.to_words()), process);
        }
        let beyond = process(0, 1.0, vec![3, 5000]).to_words();
        assert_eq!(Process::from_words(&beyond).cpus, [3], "a CPU beyond the words is left out");
    }

    #[test]
    fn what_the_processes_of_this_node_use_is_not_that_of_other_programs() {
        let process = |node, cpu| process(node, 1e9, vec![cpu]);
        let world = World { processes: vec![process(0, 5), process(1, 0), process(0, 4), process(0, 5)] };
        assert_eq!((world.cpus_beside(0), world.cpus_beside(1)), (vec![4, 5], vec![0]));
        let times = [1, 20, 300, 4000].map(|ms| ms * 1_000_000);
        assert_eq!(world.time_beside(0, &times), Duration::from_millis(4300));
        assert_eq!(world.time_beside(1, &times), Duration::ZERO);
    }

    #[test]
    fn more_processes_than_cpus_are_noticed_on_each_node() {
        let world = |cpus: [&[u32]; 4]| World { processes: cpus.map(|cpus| process(0, 1e9, cpus.to_vec())).to_vec() };
        let shared = world([&[0, 1]; 4]).sharing(&[0, 1, 2, 3]);
        assert_eq!((shared.is_oversubscribed, shared.remark.as_str()), (true, "4 processes on 2 CPUs"));
        let bound = world([&[0], &[1], &[2], &[3]]).sharing(&[0, 1, 2]);
        assert_eq!((bound.is_oversubscribed, bound.remark.as_str()), (false, "processes bound to CPUs 0-2"));
        assert!(!world([&[0, 1]; 4]).sharing(&[0, 1]).is_oversubscribed);
        assert_eq!(world([&[1]; 4]).sharing(&[0, 1]).remark, "2 processes on 1 CPU");
        // The same CPU number on another node is another CPU.
        assert!(!World::of_nodes(&[1, 1]).sharing(&[0, 1]).is_oversubscribed);
    }
}
