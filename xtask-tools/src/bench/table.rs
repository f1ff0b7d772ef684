//! Table of the medians, with their ratios to the lower bound.

use std::fmt;

/// Results of all graphs.
pub(crate) struct Table {
    systems: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
}

/// Results of one graph.
pub(crate) struct Row {
    pub(crate) graph: String,
    lower_bound_ms: f64,
    /// Milliseconds by system and round.
    rounds: Vec<Vec<f64>>,
}

impl Table {
    pub(crate) const fn new(systems: Vec<&'static str>) -> Self {
        Self { systems, rows: Vec::new() }
    }
}

impl Row {
    pub(crate) fn new(systems: usize) -> Self {
        Self { graph: String::new(), lower_bound_ms: 0.0, rounds: vec![Vec::new(); systems] }
    }

    /// Adds one round. A system that does not report the bound passes 0.
    pub(crate) fn add(&mut self, system: usize, ms: f64, graph: &str, lower_bound_ms: f64) {
        graph.clone_into(&mut self.graph);
        self.lower_bound_ms = self.lower_bound_ms.max(lower_bound_ms);
        self.rounds.get_mut(system).into_iter().for_each(|rounds| rounds.push(ms));
    }
}

/// Returns the median, the lower one of two middle numbers, or 0 if there are none.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| graph | least possible, ms | {} |", self.systems.join(" | "))?;
        write!(f, "|---|---|{}", "---|".repeat(self.systems.len()))?;
        for Row { graph, lower_bound_ms, rounds } in &self.rows {
            let least = if *lower_bound_ms > 0.0 { format!("{lower_bound_ms:.0}") } else { "–".to_owned() };
            write!(f, "\n| {graph} | {least} |")?;
            for rounds in rounds {
                let ms = median(rounds);
                match *lower_bound_ms > 0.0 {
                    true => write!(f, " {ms:.0} ms, × {:.2} |", ms / lower_bound_ms)?,
                    false => write!(f, " {ms:.1} ms |")?,
                }
            }
        }
        self.means(f)
    }
}

impl Table {
    /// Writes the geometric mean of the ratios of all workflows, if there are any.
    fn means(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workflows: Vec<&Row> = self.rows.iter().filter(|row| row.graph.starts_with("workflow") && row.lower_bound_ms > 0.0).collect();
        if workflows.is_empty() {
            return Ok(());
        }
        write!(f, "\n| geometric mean of the workflows | |")?;
        for system in 0..self.systems.len() {
            let ratios = workflows.iter().filter_map(|row| Some(median(row.rounds.get(system)?) / row.lower_bound_ms));
            let logs: Vec<f64> = ratios.map(f64::ln).collect();
            write!(f, " × {:.2} |", (logs.iter().sum::<f64>() / logs.len() as f64).exp())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_the_median_and_its_ratio_to_the_bound() {
        let mut table = Table::new(vec!["one", "two"]);
        let (mut waits, mut idles) = (Row::new(2), Row::new(2));
        for ms in [30.0, 10.0, 20.0] {
            waits.add(0, ms, "waits", 10.0);
            waits.add(1, ms * 2.0, "waits", 0.0);
            idles.add(0, ms, "idles", 0.0);
        }
        table.rows = vec![waits, idles];
        let text = "| graph | least possible, ms | one | two |\n|---|---|---|---|\n\
                    | waits | 10 | 20 ms, × 2.00 | 40 ms, × 4.00 |\n| idles | – | 20.0 ms | 0.0 ms |";
        assert_eq!(table.to_string(), text);
        for (graph, ms) in [("workflow a", 20.0), ("workflow b", 80.0)] {
            let mut row = Row::new(2);
            row.add(0, ms, graph, 10.0);
            row.add(1, ms / 2.0, graph, 0.0);
            table.rows.push(row);
        }
        assert!(table.to_string().ends_with("\n| geometric mean of the workflows | | × 4.00 | × 2.00 |"), "{table}");
    }
}
