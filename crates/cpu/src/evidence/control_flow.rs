//! The loop of a function, found in the graph of its branches.

/// One instruction, of whatever architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) address: u64,
    /// Where the next one begins.
    pub(super) end: u64,
    /// As it is written, but the target of a branch.
    pub(super) text: String,
    pub(super) flow: Flow,
}

/// What may be executed after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// The same, when the function has returned; where that begins, if it is known.
    Call(Option<u64>),
    /// The next one or the one at this address.
    Branch(u64),
    /// The one at this address.
    Jump(u64),
    /// Nothing in this function.
    End,
}

/// A loop, by the indices of its instructions in the function.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Loop {
    /// In ascending order.
    pub(super) indices: Vec<usize>,
    /// Where it is entered.
    pub(super) head: usize,
}

/// The outermost loop: the largest set of instructions on cycles through the target of a backward branch. Rare paths
/// that the compiler put behind the function's end and that return to the loop are part of it.
pub(super) fn outermost_loop(graph: &Graph) -> Option<Loop> {
    let mut indices: Vec<usize> = Vec::new();
    let mut seen = vec![false; graph.next.len()];
    for target in graph.backward_targets() {
        // All targets on one cycle have the same loop.
        if !seen[target] {
            let cycle = graph.cycle_through(target);
            for index in &cycle {
                seen[*index] = true;
            }
            indices = if cycle.len() > indices.len() { cycle } else { indices };
        }
    }
    let inside = |index: &usize| indices.binary_search(index).is_ok();
    let is_entered = |index: &usize| *index == 0 || !graph.previous[*index].iter().all(inside);
    // Without a loop there is none.
    let head = indices.iter().copied().find(is_entered)?;
    Some(Loop { indices, head })
}

/// Which instruction may follow which, by their indices in the function.
pub(super) struct Graph {
    pub(super) next: Vec<Vec<usize>>,
    previous: Vec<Vec<usize>>,
}

impl Graph {
    pub(super) fn of(function: &[Decoded]) -> Self {
        let next: Vec<_> = (0..function.len()).map(|index| successors(function, index)).collect();
        let mut previous = vec![Vec::new(); next.len()];
        for (index, followers) in next.iter().enumerate() {
            for follower in followers {
                previous[*follower].push(index);
            }
        }
        Self { next, previous }
    }

    fn backward_targets(&self) -> impl Iterator<Item = usize> {
        let backward = |(index, next): (usize, &Vec<usize>)| next.iter().copied().find(|target| *target <= index);
        self.next.iter().enumerate().filter_map(backward)
    }

    /// All instructions on a path from `head` to `head`.
    fn cycle_through(&self, head: usize) -> Vec<usize> {
        let (after, before) = (reached(&self.next, head), reached(&self.previous, head));
        (0..self.next.len()).filter(|index| after[*index] && before[*index]).collect()
    }
}

/// The instructions of the function that may follow the one at `index`.
fn successors(function: &[Decoded], index: usize) -> Vec<usize> {
    let next = Some(index + 1).filter(|next| *next < function.len());
    match function[index].flow {
        Flow::Next | Flow::Call(_) => next.into_iter().collect(),
        Flow::Branch(target) => next.into_iter().chain(index_of(function, target)).collect(),
        Flow::Jump(target) => index_of(function, target).into_iter().collect(),
        Flow::End => Vec::new(),
    }
}

/// The instruction at an address.
pub(super) fn index_of(function: &[Decoded], address: u64) -> Option<usize> {
    function.binary_search_by_key(&address, |instruction| instruction.address).ok()
}

/// Whether each instruction can be reached from `start`.
fn reached(edges: &[Vec<usize>], start: usize) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    let mut open = vec![start];
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            open.extend(&edges[index]);
        }
    }
    reached
}
