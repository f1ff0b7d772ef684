//! Ranks the texts that share words with a question.
//!
//! FTS5 finds the texts and orders them by BM25. For the first ones this module then computes the share of the
//! question that each covers; a rare word counts more than a frequent one. The share has a fixed meaning (1: the text
//! contains all of the question). It also works in a memory of three entries, where BM25 treats every word as
//! frequent, and it excludes texts that share a word by chance.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, ToSql, params};

use crate::tokenizer::Question;

/// Number of the top BM25 results that are examined for each requested result.
const CANDIDATES: usize = 5;
/// A small index is taken to be one of this many texts: in three texts nothing is rare or frequent.
const TEXTS: f64 = 50.0;
/// A text need not cover more than this many rare words to cover a long question.
const RARE_WORDS: f64 = 6.0;
/// The share that order by BM25 has in the score. The rest is coverage.
const BM25: f64 = 0.3;
/// Coverage below which a text is unrelated to the question.
const MIN_COVERAGE: f64 = 0.1;
/// Fraction of the best score below which a text would only waste room in a prompt.
const MIN_OF_BEST: f64 = 0.2;

/// A table of words.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Index<'a> {
    /// All memories.
    Memories,
    /// Chunks of a folder.
    Chunks { folder: &'a str },
}

impl Index<'_> {
    /// Returns the query for the best results by BM25; ?1 is the question, ?2 the limit.
    fn best(self) -> &'static str {
        match self {
            Self::Memories => {
                "SELECT rowid, -bm25(memory_words, 3.0, 1.0, 2.0) FROM memory_words WHERE memory_words MATCH ?1 ORDER BY 2 DESC, 1 DESC LIMIT ?2"
            }
            Self::Chunks { .. } => {
                "SELECT chunk_words.rowid, -bm25(chunk_words, 2.0, 1.5, 1.0)
                 FROM chunk_words CROSS JOIN chunk ON chunk.number = chunk_words.rowid CROSS JOIN document ON document.number = chunk.document
                 WHERE chunk_words MATCH ?1 AND document.folder = ?3 ORDER BY 2 DESC, 1 LIMIT ?2"
            }
        }
    }

    /// Returns the query for every text with a word.
    fn with(self) -> &'static str {
        match self {
            Self::Memories => "SELECT rowid FROM memory_words WHERE memory_words MATCH ?1",
            Self::Chunks { .. } => "SELECT rowid FROM chunk_words WHERE chunk_words MATCH ?1",
        }
    }

    /// Returns the query for the number of texts.
    fn count(self) -> &'static str {
        match self {
            Self::Memories => "SELECT count(*) FROM memory",
            Self::Chunks { .. } => "SELECT count(*) FROM chunk",
        }
    }
}

/// A text that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    /// Number in its table.
    pub(crate) number: i64,
    /// Score from 0 to 1.
    pub(crate) score: f64,
}

/// Query for relevant texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryQuery {
    /// Everything with one of the words, best first.
    All,
    /// Only what has to do with the question.
    Relevant,
}

/// Returns the best texts for a question, best first.
pub(crate) fn rank(
    connection: &Connection,
    index: Index<'_>,
    question: &Question,
    wanted: MemoryQuery,
    limit: usize,
) -> rusqlite::Result<Vec<Hit>> {
    if question.terms.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let candidates = candidates(connection, index, question, limit)?;
    let coverage = Coverage::of(connection, index, question, &candidates)?;
    let first = candidates.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut hits: Vec<Hit> = candidates
        .iter()
        .map(|(number, bm25)| (*number, coverage.by(*number), bm25 / first))
        .filter(|(_, coverage, _)| wanted == MemoryQuery::All || *coverage >= MIN_COVERAGE)
        .map(|(number, coverage, bm25)| Hit { number, score: coverage * (1.0 - BM25 + BM25 * bm25.clamp(0.0, 1.0)) })
        .collect();
    hits.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.number.cmp(&other.number)));
    let best = hits.first().map_or(0.0, |hit| hit.score);
    hits.retain(|hit| wanted == MemoryQuery::All || hit.score >= best * MIN_OF_BEST);
    hits.truncate(limit);
    Ok(hits)
}

/// Parts of a question that the candidates cover.
struct Coverage {
    /// The weight of each part.
    weights: Vec<f64>,
    /// The weight at which a question is covered.
    enough: f64,
    covered: BTreeMap<i64, BTreeSet<usize>>,
}

impl Coverage {
    fn of(connection: &Connection, index: Index<'_>, question: &Question, candidates: &BTreeMap<i64, f64>) -> rusqlite::Result<Self> {
        let texts: u32 = connection.query_row(index.count(), [], |row| row.get(0))?;
        let texts = f64::from(texts).max(TEXTS);
        // Lucene's form of the inverse document frequency, which is never below 0.
        let weight = |with: u32| (((texts - f64::from(with)).max(0.0) + 0.5) / (f64::from(with) + 0.5)).ln_1p();

        let mut covered: BTreeMap<i64, BTreeSet<usize>> = BTreeMap::new();
        // A part that several terms cover gets the weight of the most frequent term: that term is the word, and the
        // others overlap its neighbours.
        let mut weights: Vec<Option<f64>> = vec![None; question.units.len()];
        let mut select = connection.prepare_cached(index.with())?;
        for term in &question.terms {
            let mut with = 0;
            let mut rows = select.query([term.expression()])?;
            while let Some(row) = rows.next()? {
                with += 1;
                let number: i64 = row.get(0)?;
                if candidates.contains_key(&number) {
                    covered.entry(number).or_default().extend(&term.units);
                }
            }
            for unit in &term.units {
                if let Some(unit) = weights.get_mut(*unit) {
                    *unit = Some(unit.map_or(weight(with), |before| before.min(weight(with))));
                }
            }
        }
        let weights: Vec<f64> = weights.iter().zip(&question.units).map(|(weight, share)| weight.unwrap_or_default() * share).collect();
        let enough = weights.iter().sum::<f64>().min(RARE_WORDS * weight(0)).max(f64::MIN_POSITIVE);
        Ok(Self { weights, enough, covered })
    }

    /// Returns the share of the question that a candidate covers, from 0 to 1.
    fn by(&self, number: i64) -> f64 {
        let units = self.covered.get(&number).into_iter().flatten();
        (units.filter_map(|unit| self.weights.get(*unit)).sum::<f64>() / self.enough).min(1.0)
    }
}

/// BM25's first, with their values.
fn candidates(connection: &Connection, index: Index<'_>, question: &Question, limit: usize) -> rusqlite::Result<BTreeMap<i64, f64>> {
    let words = question.any();
    let many = i64::try_from(limit.saturating_mul(CANDIDATES).max(32)).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(index.best())?;
    let mut values: Vec<&dyn ToSql> = params![words, many].to_vec();
    if let Index::Chunks { folder } = &index {
        values.push(folder);
    }
    select.query_map(values.as_slice(), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
