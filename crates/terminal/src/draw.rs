//! Draws a screen as terminal cells. It reads neither a clock nor a terminal, so the same screen at the same time gives the same picture.

mod foot;
mod graph;
mod header;
mod help;
mod log;
mod question;
mod task;
#[cfg(test)]
mod tests;
mod tree;
mod work;

use aime_progress_management::Timestamp;
use ratatui_core::{
    buffer::Buffer,
    layout::{Position, Rect},
    text::{Line, Span},
};

use crate::{
    Phrase, Screen, Theme,
    screen::{Panel, Scroll},
    text::width as columns,
    theme::Tone,
};

/// Smallest width at which the plan and the log are side by side, in columns.
const WIDE: usize = 110;
/// Smallest height of the part below the plan, in lines with the title.
const LOWER: usize = 5;

/// Inputs of a drawing besides the screen.
#[derive(Debug, Clone, Copy)]
struct DrawContext {
    now: Timestamp,
    theme: Theme,
}

impl DrawContext {
    fn span(self, tone: Tone, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.theme.style(tone))
    }

    fn line(self, tone: Tone, text: impl Into<String>) -> Line<'static> {
        Line::from(self.span(tone, text))
    }
}

/// Draws a screen over a whole buffer. Returns the position of the cursor if a person types. A scroll position beyond the content is moved
/// back.
pub fn render(screen: &mut Screen, now: Timestamp, theme: Theme, buffer: &mut Buffer) -> Option<Position> {
    let area = *buffer.area();
    let cx = DrawContext { now, theme };
    screen.shown_question = None;
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    if width < 2 || height == 0 {
        return None;
    }
    let prompt = foot::prompt(screen, cx, width);
    let foot = if height >= 4 { vec![foot::keys(screen, cx, width)] } else { Vec::new() };
    let room = height - foot.len() - usize::from(prompt.is_some()).min(height);
    let head = header::lines(screen, cx, width, if room < 10 { 1.min(room) } else { 3 });
    let body = room - head.len();

    let mut canvas = Canvas { area, buffer, row: 0 };
    canvas.lines(&head);
    canvas.body(screen, cx, width, body);
    canvas.row = head.len() + body;
    let cursor = prompt.and_then(|(line, column)| {
        let row = canvas.row;
        canvas.lines(&[line]);
        let column = column?.min(width.saturating_sub(1));
        Some(Position::new(area.x + u16::try_from(column).ok()?, area.y + u16::try_from(row).ok()?))
    });
    canvas.lines(&foot);
    cursor
}

/// Part of a buffer that is filled from its top.
struct Canvas<'a> {
    area: Rect,
    buffer: &'a mut Buffer,
    row: usize,
}

impl Canvas<'_> {
    fn lines(&mut self, lines: &[Line<'_>]) {
        for line in lines {
            if let Some(y) = u16::try_from(self.row).ok().filter(|row| *row < self.area.height) {
                self.buffer.set_line(self.area.x, self.area.y + y, line, self.area.width);
            }
            self.row += 1;
        }
    }

    /// Draws the content between head and foot.
    fn body(&mut self, screen: &mut Screen, cx: DrawContext, width: usize, height: usize) {
        let asked = question::lines(screen, cx, width, height);
        let height = height - asked.len();
        let top = self.row;
        match screen.panel {
            Panel::Help => self.window(Phrase::TitleKeys, help::lines(screen, cx, width), screen, cx, (width, height)),
            Panel::Graph => self.window(Phrase::TitleGraph, graph::lines(screen, cx, width), screen, cx, (width, height)),
            Panel::Log | Panel::Task if width >= WIDE && height >= 8 => self.draw_side_panel(screen, cx, width, height),
            Panel::Log | Panel::Task => self.stacked(screen, cx, width, height),
        }
        self.row = top + height;
        self.lines(&asked);
    }

    /// Draws the plan above the log.
    fn stacked(&mut self, screen: &mut Screen, cx: DrawContext, width: usize, height: usize) {
        let top = self.row;
        let lower = if height >= 8 { LOWER } else { 0 };
        let work = if height >= 14 { work::lines(screen, cx, width, 4) } else { Vec::new() };
        let plan = (screen.rows().len().max(1) + 1).min(height - lower - work.len());
        self.lines(&tree::lines(screen, cx, width, plan));
        self.row = top + plan;
        self.lines(&work);
        if lower > 0 {
            self.lower(screen, cx, width, height - plan - work.len());
        }
    }

    /// Draws the plan beside the log.
    fn draw_side_panel(&mut self, screen: &mut Screen, cx: DrawContext, width: usize, height: usize) {
        let left = width * 55 / 100;
        let top = self.row;
        let work = work::lines(screen, cx, left, (height / 3).min(8));
        let plan = height - work.len();
        self.part(0, left, |canvas| canvas.lines(&tree::lines(screen, cx, left, plan)));
        self.row = top + plan;
        self.part(0, left, |canvas| canvas.lines(&work));
        self.row = top;
        self.part(left + 1, width - left - 1, |canvas| canvas.lower(screen, cx, width - left - 1, height));
    }

    /// Draws into some of the columns.
    fn part(&mut self, from: usize, width: usize, draw: impl FnOnce(&mut Canvas<'_>)) {
        let (Ok(from), Ok(width)) = (u16::try_from(from), u16::try_from(width)) else { return };
        let area = Rect { x: self.area.x + from, width, ..self.area };
        draw(&mut Canvas { area, buffer: self.buffer, row: self.row });
    }

    fn lower(&mut self, screen: &mut Screen, cx: DrawContext, width: usize, height: usize) {
        if screen.panel == Panel::Task {
            let lines = task::lines(screen, cx, width);
            self.window(Phrase::TitleTask, lines, screen, cx, (width, height));
        } else {
            let lines = log::lines(screen, cx, width, height);
            self.lines(&lines);
        }
    }

    /// Draws a title and the lines that fit below it, from the scroll position.
    fn window(
        &mut self,
        name: Phrase<'_>,
        lines: Vec<Line<'static>>,
        screen: &mut Screen,
        cx: DrawContext,
        (width, height): (usize, usize),
    ) {
        let page = height.saturating_sub(1);
        reach(&mut screen.scroll, lines.len(), page);
        let at = screen.scroll.at;
        let more = lines.len().saturating_sub(at + page);
        let more = if more > 0 { screen.phrase(Phrase::MoreBelow(more)) } else { String::new() };
        self.lines(&[title(cx, &screen.phrase(name), &more, width)]);
        let shown: Vec<Line<'static>> = lines.into_iter().skip(at).take(page).collect();
        self.lines(&shown);
    }
}

/// Limits the scroll position to the content.
fn reach(scroll: &mut Scroll, lines: usize, page: usize) {
    scroll.most = lines.saturating_sub(page);
    scroll.page = page;
    scroll.at = scroll.at.min(scroll.most);
}

/// Formats a title line: `── Plan ─────── 3 more below ──`.
fn title(cx: DrawContext, name: &str, more: &str, width: usize) -> Line<'static> {
    let name = crate::first_line(name, width.saturating_sub(6).max(1));
    // The number is left out rather than cut.
    let fits = !more.is_empty() && columns(&name) + columns(more) + 9 <= width;
    let more = if fits { format!(" {more} ──") } else { String::new() };
    let used = 4 + columns(&name) + columns(&more);
    let rule = "─".repeat(width.saturating_sub(used));
    Line::from(vec![cx.span(Tone::Dim, "── "), cx.span(Tone::Strong, name), cx.span(Tone::Dim, format!(" {rule}{more}"))])
}
