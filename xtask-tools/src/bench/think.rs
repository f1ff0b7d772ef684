//! Think-act rounds of one agent: aime and its peers send requests to the same scripted model over HTTP, each by its own client. The time
//! of a bare client for the same requests is subtracted.

use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::peers::Peer;
use super::plots::Curve;
use super::server::Server;
use super::table::median;

/// Output of a system for its rounds.
#[derive(Deserialize)]
struct Took {
    ms: f64,
}

/// Time of a bare client for the same requests.
#[derive(Deserialize)]
struct Floor {
    requests: u32,
    ms: f64,
}

/// Runs each number of rounds on all systems in turn, `repeats` times. After the first number, a system is skipped if it would take more
/// than `patience` seconds.
pub(super) fn think(server: &mut Server, systems: &[Peer], counts: &[u32], patience: u32, repeats: u32) -> Result<Rounds> {
    let mut rounds = Rounds { systems: systems.iter().map(|system| system.name).collect(), rows: Vec::new() };
    let mut before = vec![None; systems.len()];
    for &count in counts {
        let mut row = Row { count, cells: systems.iter().map(|_| Cell::default()).collect() };
        let wanted: Vec<bool> = before.iter().enumerate().map(|(at, before)| at == 0 || is_worth(*before, count, patience)).collect();
        for _ in 0..repeats {
            for (at, system) in systems.iter().enumerate().filter(|(at, _)| wanted.get(*at).copied().unwrap_or_default()) {
                let (took, floor) = once(server, system, count).with_context(|| format!("{count} rounds of {}", system.name))?;
                before.get_mut(at).into_iter().for_each(|before| *before = Some((count, took.ms)));
                row.cells.get_mut(at).into_iter().for_each(|cell| cell.add(&took, &floor, count));
            }
        }
        eprintln!("measured: {count} rounds");
        rounds.rows.push(row);
    }
    Ok(rounds)
}

/// Predicts whether `count` rounds take at most `seconds`, from the milliseconds of another number of rounds. The time grows with the
/// square, because each request contains all previous ones.
fn is_worth(before: Option<(u32, f64)>, count: u32, seconds: u32) -> bool {
    before.is_none_or(|(some, ms)| ms * (f64::from(count) / f64::from(some)).powi(2) <= f64::from(seconds) * 1_000.0)
}

fn once(server: &mut Server, system: &Peer, count: u32) -> Result<(Took, Floor)> {
    let took = system.measure(&[&server.url, &count.to_string()])?;
    let floor: Floor = server.ask("floor")?;
    ensure!(floor.requests == count + 1, "{} requests, and not {}", floor.requests, count + 1);
    Ok((took, floor))
}

/// All measurements.
pub(super) struct Rounds {
    systems: Vec<&'static str>,
    rows: Vec<Row>,
}

/// Measurements for one number of rounds.
struct Row {
    count: u32,
    cells: Vec<Cell>,
}

/// Microseconds per request, by repeat.
#[derive(Default)]
struct Cell {
    /// Time without that of a bare client.
    own: Vec<f64>,
    floor: Vec<f64>,
}

impl Cell {
    fn add(&mut self, took: &Took, floor: &Floor, count: u32) {
        let each = |ms: f64| ms * 1_000.0 / f64::from(count + 1);
        self.own.push(each(took.ms - floor.ms));
        self.floor.push(each(floor.ms));
    }

    /// Returns the system's own median in microseconds, if it was measured.
    fn own(&self) -> Option<f64> {
        (!self.own.is_empty()).then(|| median(&self.own))
    }
}

impl Rounds {
    /// Returns the cost of the first system's rounds against their number.
    pub(super) fn curve(&self) -> Curve {
        let mut curve = Curve::new("rounds", "rounds of one actor", "µs a round");
        // A logarithmic axis has no zero, so costs are at least 1.
        let points = self.rows.iter().filter_map(|row| Some((f64::from(row.count), row.cells.first()?.own()?.max(1.0))));
        curve.points.extend(points);
        curve
    }

    fn head(&self, f: &mut fmt::Formatter<'_>, what: &str) -> fmt::Result {
        write!(f, "| {what} | {} |\n|---|{}", self.systems.join(" | "), "---|".repeat(self.systems.len()))
    }

    /// Returns the ratio of a round's cost in the system's last measured row to that in its first.
    fn growth(&self, system: usize) -> Option<f64> {
        let mut measured = self.rows.iter().filter_map(|row| row.cells.get(system)?.own());
        let first = measured.next()?;
        ratio(measured.next_back()?, first)
    }
}

/// Returns the ratio of two times, if both remain positive after the subtraction.
fn ratio(over: f64, under: f64) -> Option<f64> {
    (over > 0.0 && under > 0.0).then(|| over / under)
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f, "rounds of one agent, µs a round beside a bare client")?;
        for Row { count, cells } in &self.rows {
            write!(f, "\n| {count} |")?;
            let first = cells.first().and_then(Cell::own);
            for (at, cell) in cells.iter().enumerate() {
                match cell.own() {
                    None => write!(f, " – |")?,
                    Some(own) => {
                        let times = first.filter(|_| at > 0).and_then(|first| ratio(own, first));
                        write!(f, " {own:.0}{} |", times.map_or_else(String::new, |times| format!(", × {times:.1}")))?;
                    }
                }
            }
        }
        write!(f, "\n| the last against the first |")?;
        for system in 0..self.systems.len() {
            write!(f, " {} |", self.growth(system).map_or_else(|| "–".to_owned(), |growth| format!("× {growth:.2}")))?;
        }
        write!(f, "\n\n")?;
        self.head(f, "a bare client with the same requests, µs each")?;
        for Row { count, cells } in &self.rows {
            write!(f, "\n| {count} |")?;
            for Cell { floor, .. } in cells {
                if floor.is_empty() { write!(f, " – |")? } else { write!(f, " {:.0} |", median(floor))? }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(pairs: &[(f64, f64)], count: u32) -> Cell {
        let mut cell = Cell::default();
        pairs.iter().for_each(|&(ms, floor)| cell.add(&Took { ms }, &Floor { requests: count + 1, ms: floor }, count));
        cell
    }

    #[test]
    fn what_a_bare_client_takes_is_taken_off_and_the_rest_is_held_against_the_first() {
        let rows = vec![
            Row { count: 9, cells: vec![cell(&[(5.0, 1.0), (9.0, 1.0), (6.0, 1.0)], 9), cell(&[(21.0, 1.0)], 9), cell(&[(1.0, 2.0)], 9)] },
            Row { count: 99, cells: vec![cell(&[(30.0, 20.0)], 99), cell(&[(420.0, 20.0)], 99), cell(&[], 99)] },
        ];
        let rounds = Rounds { systems: vec!["aime", "one", "other"], rows };
        let text = "| rounds of one agent, µs a round beside a bare client | aime | one | other |\n|---|---|---|---|\n\
                    | 9 | 500 | 2000, × 4.0 | -100 |\n| 99 | 100 | 4000, × 40.0 | – |\n\
                    | the last against the first | × 0.20 | × 2.00 | – |\n\n\
                    | a bare client with the same requests, µs each | aime | one | other |\n|---|---|---|---|\n\
                    | 9 | 100 | 100 | 200 |\n| 99 | 200 | 200 | – |";
        assert_eq!(rounds.to_string(), text);
        assert_eq!(rounds.curve().points, [(9.0, 500.0), (99.0, 100.0)]);
    }

    #[test]
    fn what_would_take_too_long_is_left_out() {
        for (before, expected) in [(None, true), (Some((100, 599.0)), true), (Some((100, 601.0)), false), (Some((1_000, 59_000.0)), true)] {
            assert_eq!(is_worth(before, 1_000, 60), expected, "{before:?}");
        }
    }
}
