//! Two runs side by side.

use aime_report::Comparison;
use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
};
use maud::{PreEscaped, html};

use super::{address, failed, home, render_page};
use crate::{api::compared, server::Shared};

/// Serves the comparison of the two runs that the query names.
pub(crate) async fn compare(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let access = &shared.access;
    let looked = match compared(&shared, query.as_deref().unwrap_or_default()).await {
        Ok(looked) => looked,
        Err(refusal) => return failed(&refusal, access, &home(access)),
    };
    let place = |at: usize| looked.get(at).map_or_else(|| home(access), |looked| address(access, &looked.run));
    let [one, other] = &looked;
    let content = html! {
        main.alone {
            h1 { "Two runs" }
            (PreEscaped(Comparison::new(&one.view, &other.view).fragment(place)))
        }
    };
    render_page(StatusCode::OK, access, "Two runs", &content)
}
