//! Parses conditions: tokens, then a recursive descent with a bound on depth.

use serde_json::{Number, Value};

use super::{Expression, Operand, Operator, comparison};
use crate::reference::{Piece, scan};

/// Maximum nesting depth, so that a hostile condition cannot exhaust the stack.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Open,
    Close,
    And,
    Or,
    Not,
    Operator(Operator),
    Operand(Operand),
}

pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mut tokens = Vec::new();
    for piece in scan(text) {
        match piece {
            Piece::Reference(reference) => tokens.push(Token::Operand(Operand::Reference(reference))),
            Piece::Text(text) => words(text, &mut tokens)?,
            Piece::Escape => return Err("`@@{` has no meaning here".to_owned()),
            Piece::Malformed(text) => return Err(format!("`{text}` is not a reference")),
        }
    }
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), depth: 0 };
    let expression = parser.or()?;
    match parser.tokens.next() {
        None => Ok(expression),
        Some(token) => Err(format!("{} is unexpected there", token.name())),
    }
}

impl Token {
    fn name(&self) -> String {
        match self {
            Self::Open => "`(`".to_owned(),
            Self::Close => "`)`".to_owned(),
            Self::And => "`and`".to_owned(),
            Self::Or => "`or`".to_owned(),
            Self::Not => "`not`".to_owned(),
            Self::Operator(_) => "an operator".to_owned(),
            Self::Operand(Operand::Literal(value)) => format!("`{value}`"),
            Self::Operand(Operand::Reference(reference)) => format!("`{reference}`"),
        }
    }
}

const SIGNS: [(&str, Token); 13] = [
    ("==", Token::Operator(Operator::Equal)),
    ("!=", Token::Operator(Operator::NotEqual)),
    ("<=", Token::Operator(Operator::LessOrEqual)),
    (">=", Token::Operator(Operator::GreaterOrEqual)),
    ("&&", Token::And),
    ("||", Token::Or),
    ("=", Token::Operator(Operator::Equal)),
    ("<", Token::Operator(Operator::Less)),
    (">", Token::Operator(Operator::Greater)),
    ("!", Token::Not),
    ("(", Token::Open),
    (")", Token::Close),
    // A full-width sign that Chinese keyboards produce.
    ("＝", Token::Operator(Operator::Equal)),
];

fn words(text: &str, tokens: &mut Vec<Token>) -> Result<(), String> {
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some((sign, token)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            tokens.push(token.clone());
            rest = rest.get(sign.len()..).unwrap_or_default();
        } else if matches!(first, '"' | '\'') {
            let inside = rest.get(1..).unwrap_or_default();
            let (quoted, after) = inside.split_once(first).ok_or_else(|| format!("the quote in `{rest}` is not closed"))?;
            tokens.push(Token::Operand(Operand::Literal(Value::from(quoted))));
            rest = after;
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "()=!<>&|\"'＝".contains(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("`{first}` has no meaning here"));
            }
            let (word, after) = rest.split_at(end);
            tokens.push(word_token(word));
            rest = after;
        }
        rest = rest.trim_start();
    }
    Ok(())
}

fn word_token(word: &str) -> Token {
    match word.to_ascii_lowercase().as_str() {
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "contains" => Token::Operator(Operator::Contains),
        "true" => Token::Operand(Operand::Literal(Value::Bool(true))),
        "false" => Token::Operand(Operand::Literal(Value::Bool(false))),
        "null" | "none" => Token::Operand(Operand::Literal(Value::Null)),
        _ => Token::Operand(Operand::Literal(word.parse::<Number>().map_or_else(|_| Value::from(word), Value::Number))),
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
}

impl Parser {
    fn next_is(&mut self, token: &Token) -> bool {
        self.tokens.next_if_eq(token).is_some()
    }

    fn or(&mut self) -> Result<Expression, String> {
        let first = self.and()?;
        let mut parts = vec![first];
        while self.next_is(&Token::Or) {
            parts.push(self.and()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::Or(parts) })
    }

    fn and(&mut self) -> Result<Expression, String> {
        let first = self.not()?;
        let mut parts = vec![first];
        while self.next_is(&Token::And) {
            parts.push(self.not()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::And(parts) })
    }

    fn not(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        let expression = if self.next_is(&Token::Not) {
            self.not().map(|part| Expression::Not(Box::new(part)))
        } else if self.next_is(&Token::Open) {
            let inside = self.or()?;
            if self.next_is(&Token::Close) { Ok(inside) } else { Err("a `)` is missing".to_owned()) }
        } else {
            self.comparison()
        };
        self.depth -= 1;
        expression
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let left = self.operand()?;
        let negated = self.next_is(&Token::Not);
        let operator = self.tokens.next_if(|token| matches!(token, Token::Operator(_)));
        let Some(Token::Operator(operator)) = operator else {
            return if negated { Err("`not` stands after a value; write `not contains`".to_owned()) } else { Ok(Expression::Truth(left)) };
        };
        let right = self.operand()?;
        let compared = comparison(left, operator, right);
        Ok(if negated { Expression::Not(Box::new(compared)) } else { compared })
    }

    fn operand(&mut self) -> Result<Operand, String> {
        match self.tokens.next() {
            Some(Token::Operand(operand)) => Ok(operand),
            Some(token) => Err(format!("a value is missing before {}", token.name())),
            None => Err("a value is missing at the end".to_owned()),
        }
    }
}
