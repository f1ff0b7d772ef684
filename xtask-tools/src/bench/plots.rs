//! Draws the curves of the benchmarks as SVG, for the book.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

/// One cost against one count.
pub(crate) struct Curve {
    /// Name of its file.
    name: &'static str,
    /// Label of the count.
    count: &'static str,
    /// Label of the cost.
    cost: &'static str,
    /// Counts and costs, all above 0.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Curve {
    pub(crate) const fn new(name: &'static str, count: &'static str, cost: &'static str) -> Self {
        Self { name, count, cost, points: Vec::new() }
    }
}

/// Draws each curve to a file in the folder. Both axes are logarithmic, and a dashed line shows linear growth.
pub(crate) fn draw(curves: &[Curve], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for curve in curves.iter().filter(|curve| curve.points.len() > 1) {
        let svg = drawn(curve).map_err(|error| anyhow!("{} cannot be drawn: {error}", curve.name))?;
        std::fs::write(folder.join(format!("{}.svg", curve.name)), svg)?;
    }
    Ok(())
}

fn drawn(curve: &Curve) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let mut svg = String::new();
    let (counts, costs): (Vec<f64>, Vec<f64>) = curve.points.iter().copied().unzip();
    let (first, last) = (least(&counts), most(&counts));
    // The axis spans at least a decade, so that a flat curve looks flat.
    let (low, high) = (least(&costs) / 3.0, most(&costs) * 3.0);
    {
        let root = SVGBackend::with_string(&mut svg, (560, 320)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d((first / 1.3..last * 1.3).log_scale(), (low..high).log_scale())?;
        let number = |number: &f64| if *number < 10.0 { format!("{number:.1}") } else { format!("{number:.0}") };
        let mesh = &mut chart.configure_mesh();
        mesh.x_desc(curve.count).y_desc(curve.cost).x_label_formatter(&number).y_label_formatter(&number).light_line_style(WHITE).draw()?;
        let linear = costs.first().copied().unwrap_or_default() / counts.first().copied().unwrap_or(1.0);
        let along = counts.iter().map(|count| (*count, (count * linear).clamp(low, high)));
        if curve.cost == "ms" {
            chart.draw_series(DashedLineSeries::new(along, 4, 4, BLACK.mix(0.4).into()))?;
        }
        chart.draw_series(LineSeries::new(curve.points.iter().copied(), BLUE.stroke_width(2)))?;
        chart.draw_series(curve.points.iter().map(|point| Circle::new(*point, 3, BLUE.filled())))?;
        root.present()?;
    }
    Ok(svg)
}

fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_becomes_a_file_and_a_single_point_none() {
        let folder = tempfile::tempdir().unwrap();
        let one = Curve { points: vec![(1.0, 2.0)], ..Curve::new("one", "tasks", "ms") };
        let two = Curve { points: vec![(10.0, 2.0), (1_000.0, 170.0)], ..Curve::new("two", "tasks", "ms") };
        draw(&[one, two], folder.path()).unwrap();
        assert!(!folder.path().join("one.svg").exists());
        let svg = std::fs::read_to_string(folder.path().join("two.svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("tasks") && svg.matches("<circle").count() == 2, "{svg}");
    }
}
