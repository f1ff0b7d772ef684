//! Layout of a graph in layers: each box is below those that it waits for.
//!
//! The method is that of Sugiyama, Tagawa and Toda (1981): layers by the longest path, long lines through dummy points, fewer crossings by
//! barycentres, and positions as close to those of the neighbours as the order allows (isotonic regression by pooling).

/// Size of a box and gap between boxes, in pixels.
pub(crate) const BOX: (f64, f64) = (216.0, 66.0);
const GAP: (f64, f64) = (26.0, 42.0);
/// Width reserved for a line between boxes.
const LINE: f64 = 14.0;
/// Largest number of dummy points. A graph that needs more is not drawn.
const MAX_POINTS: usize = 4_000;
/// Number of passes for the order of layers, and for positions.
const SWEEPS: usize = 8;

/// Position, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// Graph with positions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    /// Upper left corner of each box.
    pub(crate) boxes: Vec<Point>,
    /// Points of each line, from the lower edge of one box to the upper edge of the other. Each pair of inner points is joined by a
    /// straight segment.
    pub(crate) lines: Vec<Vec<Point>>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Box, or dummy point of a line.
struct Node {
    layer: usize,
    is_box: bool,
    above: Vec<usize>,
    below: Vec<usize>,
    x: f64,
}

impl Node {
    const fn width(&self) -> f64 {
        if self.is_box { BOX.0 } else { LINE }
    }
}

/// Computes the positions of `count` boxes. `lines` are pairs of box numbers, predecessor first. A line that closes a cycle is drawn like
/// the others. Returns none if the picture would need too many points.
pub(crate) fn layered(count: usize, lines: &[(usize, usize)]) -> Option<Layout> {
    let order = order(count, lines);
    let rank = |at: usize| order.get(at).copied().unwrap_or(usize::MAX);
    let down: Vec<(usize, usize)> = lines
        .iter()
        .filter(|(from, to)| from != to && *from < count && *to < count)
        .map(|&(from, to)| if rank(from) < rank(to) { (from, to) } else { (to, from) })
        .collect();
    let layers = longest_ways(count, &order, &down);
    let mut nodes: Vec<Node> =
        layers.iter().map(|layer| Node { layer: *layer, is_box: true, above: vec![], below: vec![], x: 0.0 }).collect();
    let mut ways = Vec::new();
    for &(from, to) in &down {
        let mut way = vec![from];
        for layer in layer_of(&nodes, from) + 1..layer_of(&nodes, to) {
            way.push(nodes.len());
            nodes.push(Node { layer, is_box: false, above: vec![], below: vec![], x: 0.0 });
        }
        way.push(to);
        if nodes.len() > count + MAX_POINTS {
            return None;
        }
        for pair in way.windows(2) {
            if let [above, below] = *pair {
                nodes.get_mut(above)?.below.push(below);
                nodes.get_mut(below)?.above.push(above);
            }
        }
        ways.push(way);
    }
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)];
    for (at, node) in nodes.iter().enumerate() {
        rows.get_mut(node.layer)?.push(at);
    }
    untangle(&mut rows, &nodes);
    place(&rows, &mut nodes);
    Some(finish(count, &rows, &nodes, &ways))
}

fn layer_of(nodes: &[Node], at: usize) -> usize {
    nodes.get(at).map_or(0, |node| node.layer)
}

/// Returns the rank of each box, after its predecessors. In a cycle the box with the lowest number comes first.
fn order(count: usize, lines: &[(usize, usize)]) -> Vec<usize> {
    let mut after = vec![Vec::new(); count];
    let mut waits = vec![0_usize; count];
    for &(from, to) in lines.iter().filter(|(from, to)| from != to && *from < count && *to < count) {
        if let (Some(after), Some(waits)) = (after.get_mut(from), waits.get_mut(to)) {
            after.push(to);
            *waits += 1;
        }
    }
    let mut rank = vec![usize::MAX; count];
    let mut free: std::collections::BTreeSet<usize> = (0..count).filter(|at| waits.get(*at) == Some(&0)).collect();
    for next in 0..count {
        let first_left = || rank.iter().position(|rank| *rank == usize::MAX);
        let Some(at) = free.pop_first().or_else(first_left) else { break };
        if let Some(rank) = rank.get_mut(at) {
            *rank = next;
        }
        for &to in after.get(at).into_iter().flatten() {
            let Some(waits) = waits.get_mut(to) else { continue };
            *waits = waits.saturating_sub(1);
            if *waits == 0 && rank.get(to) == Some(&usize::MAX) {
                free.insert(to);
            }
        }
    }
    rank
}

/// Returns the layer of each box: one below the lowest of its predecessors.
fn longest_ways(count: usize, order: &[usize], down: &[(usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0_usize; count];
    let mut sorted = down.to_vec();
    sorted.sort_by_key(|(from, _)| order.get(*from).copied().unwrap_or(0));
    for (from, to) in sorted {
        let below = layers.get(from).map_or(0, |layer| layer + 1);
        if let Some(layer) = layers.get_mut(to) {
            *layer = below.max(*layer);
        }
    }
    layers
}

/// Orders each layer so that few lines cross.
fn untangle(rows: &mut [Vec<usize>], nodes: &[Node]) {
    let mut position = vec![0.0; nodes.len()];
    let note = |row: &[usize], position: &mut [f64]| {
        for (at, node) in row.iter().enumerate() {
            if let Some(position) = position.get_mut(*node) {
                *position = at as f64;
            }
        }
    };
    rows.iter().for_each(|row| note(row, &mut position));
    for sweep in 0..SWEEPS {
        let downward = sweep % 2 == 0;
        let mut layers: Vec<usize> = (0..rows.len()).collect();
        if !downward {
            layers.reverse();
        }
        for layer in layers {
            let Some(row) = rows.get_mut(layer) else { continue };
            let mut keyed: Vec<(f64, usize)> = row
                .iter()
                .enumerate()
                .map(|(own, at)| (nodes.get(*at).and_then(|node| mean(node, downward, &position)).unwrap_or(own as f64), *at))
                .collect();
            // The sort is stable: nodes with the same neighbours stay in the order of the plan.
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
            *row = keyed.into_iter().map(|(_, at)| at).collect();
            note(row, &mut position);
        }
    }
}

/// Returns the mean position of the neighbours on one side.
fn mean(node: &Node, above: bool, position: &[f64]) -> Option<f64> {
    let side = if above { &node.above } else { &node.below };
    let sum: f64 = side.iter().filter_map(|at| position.get(*at)).sum();
    (!side.is_empty()).then(|| sum / side.len() as f64)
}

/// Computes the horizontal position of each node.
fn place(rows: &[Vec<usize>], nodes: &mut [Node]) {
    for sweep in 0..SWEEPS {
        let downward = sweep % 2 == 0;
        let mut layers: Vec<&Vec<usize>> = rows.iter().collect();
        if !downward {
            layers.reverse();
        }
        let centres = |nodes: &[Node]| -> Vec<f64> { nodes.iter().map(|node| node.x).collect() };
        for row in layers {
            let position = centres(nodes);
            let mut offset = 0.0;
            let mut wanted = Vec::with_capacity(row.len());
            let mut offsets = Vec::with_capacity(row.len());
            let mut before: Option<f64> = None;
            for at in row {
                let Some(node) = nodes.get(*at) else { continue };
                if let Some(before) = before {
                    offset += before / 2.0 + GAP.0 + node.width() / 2.0;
                }
                before = Some(node.width());
                let own = if sweep == 0 { 0.0 } else { node.x };
                // In the first downward pass the nodes below have no position yet.
                let (near, far) = (mean(node, downward, &position), mean(node, !downward, &position).filter(|_| sweep > 1));
                let to = match (near, far) {
                    (Some(near), Some(far)) => (2.0 * near + far) / 3.0,
                    (Some(one), None) | (None, Some(one)) => one,
                    (None, None) => own,
                };
                // Straight lines matter more than centred boxes.
                wanted.push((to - offset, if node.is_box { 1.0 } else { 4.0 }));
                offsets.push(offset);
            }
            let places = pooled(&wanted);
            for ((at, place), offset) in row.iter().zip(places).zip(offsets) {
                if let Some(node) = nodes.get_mut(*at) {
                    node.x = place + offset;
                }
            }
        }
    }
}

/// Returns the non-decreasing values nearest to the wanted ones, each with its weight.
fn pooled(wanted: &[(f64, f64)]) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for &(value, weight) in wanted {
        let mut pool = (value, weight, 1);
        while let Some(&(last, heavy, number)) = pools.last().filter(|(last, ..)| *last > pool.0) {
            pool = ((last * heavy + pool.0 * pool.1) / (heavy + pool.1), heavy + pool.1, number + pool.2);
            pools.pop();
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, _, number)| std::iter::repeat_n(value, number)).collect()
}

fn finish(count: usize, rows: &[Vec<usize>], nodes: &[Node], ways: &[Vec<usize>]) -> Layout {
    let left = nodes.iter().map(|node| node.x - node.width() / 2.0).fold(f64::INFINITY, f64::min);
    let left = if left.is_finite() { left } else { 0.0 };
    let right = nodes.iter().map(|node| node.x + node.width() / 2.0).fold(left, f64::max);
    let top = |layer: usize| layer as f64 * (BOX.1 + GAP.1);
    let boxes = nodes.iter().take(count).map(|node| Point { x: node.x - left - BOX.0 / 2.0, y: top(node.layer) });
    let line = |way: &Vec<usize>| {
        let last = way.len().saturating_sub(1);
        let points = way.iter().enumerate().filter_map(|(number, at)| Some((number, nodes.get(*at)?))).flat_map(|(number, node)| {
            let upper = Point { x: node.x - left, y: top(node.layer) };
            let lower = Point { y: upper.y + BOX.1, ..upper };
            let both = [(number > 0).then_some(upper), (number < last).then_some(lower)];
            both.into_iter().flatten()
        });
        points.collect()
    };
    let height = if rows.is_empty() { 0.0 } else { top(rows.len()) - GAP.1 };
    Layout { boxes: boxes.collect(), lines: ways.iter().map(line).collect(), width: right - left, height }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_chain_is_a_straight_line() {
        let layout = layered(3, &[(0, 1), (1, 2)]).unwrap();
        assert!(layout.boxes.iter().all(|place| place.x == 0.0), "{layout:?}");
        assert_eq!((layout.width, layout.height), (BOX.0, 3.0 * BOX.1 + 2.0 * GAP.1));
    }

    #[test]
    fn what_joins_stands_in_the_middle() {
        let layout = layered(4, &[(0, 3), (1, 3), (2, 3)]).unwrap();
        assert!((layout.boxes[3].x - layout.boxes[1].x).abs() < 1.0, "{layout:?}");
    }

    #[test]
    fn crossings_are_undone() {
        let layout = layered(4, &[(0, 3), (1, 2)]).unwrap();
        assert!(layout.boxes[3].x < layout.boxes[2].x, "{layout:?}");
    }

    #[test]
    fn a_line_past_a_box_goes_round_it() {
        let layout = layered(3, &[(0, 1), (1, 2), (0, 2)]).unwrap();
        let past = layout.lines.iter().find(|line| line.len() == 4).unwrap();
        let (x, at) = (past[1].x, layout.boxes[1].x);
        assert!(x < at || x > at + BOX.0, "{layout:?}");
    }

    #[test]
    fn nothing_and_too_much_are_no_faults() {
        assert_eq!(layered(0, &[]).unwrap().boxes, []);
        assert!(layered(2, &[(0, 1), (1, 0), (1, 1), (7, 9)]).is_some(), "cycles and what is not there");
        let mut lines: Vec<(usize, usize)> = (0..99).map(|at| (at, at + 1)).collect();
        lines.extend((0..98).map(|at| (at, 99)));
        assert!(layered(100, &lines).is_none(), "a picture that nobody could read");
    }

    proptest! {
        /// Boxes never overlap, and each line leads downwards from its box to the other.
        // Requirement: 7.21
        #[test]
        fn every_graph_has_a_picture(count in 1_usize..30, lines in prop::collection::vec((0_usize..30, 0_usize..30), 0..60)) {
            let lines: Vec<(usize, usize)> = lines.into_iter().filter(|(from, to)| from < to && *to < count).collect();
            let layout = layered(count, &lines).unwrap();
            prop_assert_eq!((layout.boxes.len(), layout.lines.len()), (count, lines.len()));
            for (at, one) in layout.boxes.iter().enumerate() {
                prop_assert!(one.x >= -0.01 && one.x + BOX.0 <= layout.width + 0.01 && one.y + BOX.1 <= layout.height + 0.01);
                for other in &layout.boxes[at + 1..] {
                    prop_assert!(one.y != other.y || (one.x - other.x).abs() >= BOX.0 + GAP.0 - 0.01, "{:?} {:?}", one, other);
                }
            }
            for (line, (from, to)) in layout.lines.iter().zip(&lines) {
                let (first, last) = (line.first().unwrap(), line.last().unwrap());
                prop_assert!((first.x - layout.boxes[*from].x - BOX.0 / 2.0).abs() < 0.01);
                prop_assert!((last.x - layout.boxes[*to].x - BOX.0 / 2.0).abs() < 0.01);
                prop_assert!(line.windows(2).all(|pair| pair[0].y < pair[1].y));
            }
        }
    }
}
