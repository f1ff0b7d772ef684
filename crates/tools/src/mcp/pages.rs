//! Paged lists of a server, read as raw JSON: the client library rejects a whole page for one malformed entry.

use std::{collections::HashSet, fmt};

use rmcp::{
    ServiceError,
    model::{
        ClientRequest, CustomResult, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
        PaginatedRequestParams, ServerResult,
    },
};
use serde_json::Value;

/// Maximum number of pages that are requested for one list.
const MAX_PAGES: usize = 100;

/// A paged list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl List {
    /// Returns the member of a response that holds the entries.
    const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// Returns the member that identifies an entry.
    pub(super) const fn identity(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page)),
            Self::Resources => ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page)),
            Self::ResourceTemplates => ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(page)),
            Self::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page)),
        }
    }

    /// Reads the list through `ask`, page by page, until it ends or a page contains nothing new, or until `most` entries are read.
    ///
    /// # Errors
    /// The first error of `ask`; [`ServiceError::UnexpectedResponse`] if the first page holds no list.
    pub(super) async fn read<E, F>(self, most: usize, mut ask: impl FnMut(ClientRequest) -> F) -> Result<PartialList, E>
    where
        E: From<ServiceError>,
        F: Future<Output = Result<ServerResult, E>>,
    {
        let mut pages = Pages::new(self, most);
        let mut cursor = None;
        loop {
            let page = raw(ask(self.request(cursor)).await?);
            match pages.take(page) {
                Next::Page(next) => cursor = Some(next),
                Next::End => return Ok(PartialList { entries: pages.entries, stopped: None }),
                Next::Stop(Stop::NoList(1)) => return Err(ServiceError::UnexpectedResponse.into()),
                Next::Stop(stop) => return Ok(PartialList { entries: pages.entries, stopped: Some(stop) }),
            }
        }
    }
}

/// The part of a list that aime has read.
#[derive(Debug)]
pub(super) struct PartialList {
    pub(super) entries: Vec<Value>,
    /// Reason why aime stopped before the end of the list.
    pub(super) stopped: Option<Stop>,
}

/// Reason to stop before the end of a list. Pages count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    NothingNew(usize),
    UsedCursor(usize),
    OddCursor(usize),
    NoList(usize),
    ManyPages,
    ManyEntries(usize),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingNew(page) => write!(f, "page {page} brought nothing new"),
            Self::UsedCursor(page) => write!(f, "page {page} gave a cursor that was used before"),
            Self::OddCursor(page) => write!(f, "page {page} gave a cursor that is no text"),
            Self::NoList(page) => write!(f, "page {page} holds no list"),
            Self::ManyPages => write!(f, "there are more than {MAX_PAGES} pages"),
            Self::ManyEntries(most) => write!(f, "there are more than {most} entries"),
        }
    }
}

/// Step that follows a page.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Request the page with this cursor.
    Page(String),
    /// Stop: the list is complete.
    End,
    Stop(Stop),
}

/// Collects the entries of a list and decides if another page is worth a request. Pure.
struct Pages {
    list: List,
    most: usize,
    read: usize,
    entries: Vec<Value>,
    known: HashSet<String>,
    cursors: HashSet<String>,
}

impl Pages {
    fn new(list: List, most: usize) -> Self {
        Self { list, most, read: 0, entries: Vec::new(), known: HashSet::new(), cursors: HashSet::new() }
    }

    fn take(&mut self, mut page: Value) -> Next {
        self.read += 1;
        let Some(Value::Array(mut entries)) = page.get_mut(self.list.member()).map(Value::take) else {
            return Next::Stop(Stop::NoList(self.read));
        };
        let identity = |entry: &Value| entry.get(self.list.identity()).and_then(Value::as_str).map(str::to_owned);
        let fresh = entries.iter().filter_map(identity).filter(|known| self.known.insert(known.clone())).count();
        let cursor = page.get_mut("nextCursor").map(Value::take).unwrap_or_default();
        if fresh == 0 && !cursor.is_null() {
            // Known entries add nothing; malformed ones are still reported.
            entries.retain(|entry| identity(entry).is_none());
        }
        self.entries.append(&mut entries);
        let over = self.entries.len() > self.most;
        self.entries.truncate(self.most);
        let stop = match cursor {
            _ if over => Stop::ManyEntries(self.most),
            Value::Null => return Next::End,
            _ if fresh == 0 => Stop::NothingNew(self.read),
            Value::String(cursor) if self.cursors.contains(&cursor) => Stop::UsedCursor(self.read),
            Value::String(_) if self.entries.len() == self.most => Stop::ManyEntries(self.most),
            Value::String(_) if self.read == MAX_PAGES => Stop::ManyPages,
            Value::String(cursor) => {
                self.cursors.insert(cursor.clone());
                return Next::Page(cursor);
            }
            _ => Stop::OddCursor(self.read),
        };
        Next::Stop(stop)
    }
}

/// Converts a result to JSON. The library keeps the JSON of a result that fits none of its types.
pub(super) fn raw(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(CustomResult(value)) => value,
        known => serde_json::to_value(known).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(names: &[&str], cursor: Value) -> Value {
        json!({"tools": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>(), "nextCursor": cursor})
    }

    fn next(cursor: &str) -> Next {
        Next::Page(cursor.to_owned())
    }

    #[test]
    fn pages_are_read_while_they_bring_something_new() {
        let table = [
            ("one page", vec![(json!({"tools": [{"name": "a"}]}), Next::End)], vec!["a"]),
            ("two pages", vec![(page(&["a"], json!("1")), next("1")), (page(&["b", "a"], Value::Null), Next::End)], vec!["a", "b", "a"]),
            (
                "an empty text is a cursor like any other",
                vec![(page(&["a"], json!("")), next("")), (page(&["a"], json!("")), Next::Stop(Stop::NothingNew(2)))],
                vec!["a"],
            ),
            (
                "a circle of cursors",
                vec![
                    (page(&["a"], json!("1")), next("1")),
                    (page(&["b"], json!("2")), next("2")),
                    (page(&["c"], json!("1")), Next::Stop(Stop::UsedCursor(3))),
                ],
                vec!["a", "b", "c"],
            ),
            ("an odd cursor", vec![(page(&["a"], json!({})), Next::Stop(Stop::OddCursor(1)))], vec!["a"]),
            ("full", vec![(page(&["a", "b", "c", "d"], json!("1")), Next::Stop(Stop::ManyEntries(4)))], vec!["a", "b", "c", "d"]),
            ("too full", vec![(page(&["a", "b", "c", "d", "e"], Value::Null), Next::Stop(Stop::ManyEntries(4)))], vec!["a", "b", "c", "d"]),
            ("no list later", vec![(page(&["a"], json!("1")), next("1")), (json!({"tools": {}}), Next::Stop(Stop::NoList(2)))], vec!["a"]),
        ];
        for (what, steps, names) in table {
            let mut pages = Pages::new(List::Tools, 4);
            for (page, expected) in steps {
                assert_eq!(pages.take(page), expected, "{what}");
            }
            assert_eq!(pages.entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect::<Vec<_>>(), names, "{what}");
        }
        for unexpected in [json!([]), json!({}), json!({"tools": null}), json!({"prompts": []})] {
            assert_eq!(Pages::new(List::Tools, 4).take(unexpected), Next::Stop(Stop::NoList(1)));
        }
    }

    #[test]
    fn the_number_of_pages_is_bounded() {
        let mut pages = Pages::new(List::Tools, 1_000);
        for number in 1..MAX_PAGES {
            let cursor = number.to_string();
            assert_eq!(pages.take(page(&[&cursor], json!(cursor))), next(&cursor));
        }
        assert_eq!(pages.take(page(&["last"], json!("last"))), Next::Stop(Stop::ManyPages));
        assert_eq!(pages.entries.len(), MAX_PAGES);
    }
}
