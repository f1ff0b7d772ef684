//! HTTP server: routes, and the checks that every request must pass.

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use tokio::net::TcpListener;

use crate::{
    Runs,
    access::{Access, Denied, Requester},
    api, live, pages,
};

/// Largest request body, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 256 * 1024;

/// Headers of every answer: browsers load and run only the dashboard's own content, do not frame it, and store nothing.
const GUARDS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    // With `no-referrer` browsers would send the forms of these pages with the origin `null`, like those of a foreign page.
    ("referrer-policy", "same-origin"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// State shared by all handlers.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) runs: Arc<dyn Runs>,
    pub(crate) access: Arc<Access>,
}

/// Dashboard that listens on this machine alone.
#[derive(Debug)]
pub struct Dashboard {
    listener: TcpListener,
    address: SocketAddr,
}

impl Dashboard {
    /// Binds a port of 127.0.0.1; 0 selects a free one.
    ///
    /// # Errors
    /// Fails with an error of the system, for example if the port is in use.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Returns the address with the token, which is the only entry.
    #[must_use]
    pub fn address(&self, token: &str) -> String {
        format!("http://{}/?token={token}", self.address)
    }

    /// Serves until the future is dropped. `token` must be hard to guess, and consist of characters that need no escape in a URL.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub async fn serve(self, runs: Arc<dyn Runs>, token: String) -> io::Result<()> {
        axum::serve(self.listener, app(runs, token, self.address.port())).await
    }
}

/// Path of the interface for programs.
const API: &str = "/api/v1";

/// Returns the routes of a dashboard at a port.
pub fn app(runs: Arc<dyn Runs>, token: String, port: u16) -> Router {
    let shared = Shared { runs, access: Arc::new(Access::new(token, port)) };
    let base = shared.access.base();
    let api = api::routes().into_iter().fold(Router::new(), |api, (path, route)| api.route(path, route));
    let pages: [(&str, MethodRouter<Shared>); 10] = [
        ("/", get(pages::list)),
        ("/compare", get(pages::compare)),
        ("/runs", post(pages::start)),
        ("/runs/{run}", get(pages::run)),
        ("/runs/{run}/live", get(live::changes)),
        ("/runs/{run}/{act}", post(pages::act)),
        ("/plans", post(pages::plan)),
        ("/plans/{draft}", get(pages::draft)),
        ("/plans/{draft}/{act}", post(pages::review)),
        ("/static/{file}", get(pages::file)),
    ];
    pages
        .into_iter()
        .fold(Router::new(), |router, (path, route)| router.route(&format!("{base}{path}"), route))
        .nest(API, api)
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is nothing here") })
        .layer(middleware::from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// Checks each request, and adds the headers to each answer.
async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let mut answer = match admit(&shared.access, request).await {
        Ok(Admission::Request(request)) => next.run(*request).await,
        Ok(Admission::Visit(cookie, page)) => {
            (StatusCode::SEE_OTHER, [(header::LOCATION, page), (header::SET_COOKIE, cookie)]).into_response()
        }
        Err(answer) => answer,
    };
    for (name, value) in GUARDS {
        answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}

enum Admission {
    /// The request may continue.
    Request(Box<Request>),
    /// A browser came with the token. It gets its cookie, and a redirect removes the token from its address.
    Visit(String, String),
}

async fn admit(access: &Access, request: Request) -> Result<Admission, Response> {
    access.place(request.headers()).map_err(denied)?;
    let page = request.uri().path();
    if (page == "/" || page.starts_with("/runs/")) && *request.method() == Method::GET {
        let query = request.uri().query().unwrap_or_default();
        let token = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "token");
        if let Some((_, token)) = token {
            return if access.is_token(&token) {
                Ok(Admission::Visit(access.cookie(), format!("{}{page}", access.base())))
            } else {
                Err(denied(Denied::Token))
            };
        }
    }
    let who = access.authenticate(request.headers()).map_err(denied)?;
    // The cookie is valid for pages only, so that no page can be made to call the interface.
    if who == Requester::Browser && page.starts_with(API) {
        return Err(denied(Denied::Token));
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY_BYTES)
        .await
        .map_err(|_| (StatusCode::PAYLOAD_TOO_LARGE, "that is too much").into_response())?;
    let is_form =
        parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    let form =
        (who == Requester::Browser && is_form).then(|| url::form_urlencoded::parse(&body).find(|(name, _)| name == "csrf")).flatten();
    access.meant(who, &parts.method, form.as_ref().map(|(_, token)| token.as_ref())).map_err(denied)?;
    Ok(Admission::Request(Box::new(Request::from_parts(parts, Body::from(body)))))
}

fn denied(why: Denied) -> Response {
    let status = if why == Denied::Token { StatusCode::UNAUTHORIZED } else { StatusCode::FORBIDDEN };
    (status, why.words()).into_response()
}

/// Runs a read on a thread that may block.
pub(crate) async fn reading<T: Send + 'static>(
    shared: &Shared,
    read: impl FnOnce(&dyn Runs) -> Result<T, crate::Refusal> + Send + 'static,
) -> Result<T, crate::Refusal> {
    let runs = Arc::clone(&shared.runs);
    let read = tokio::task::spawn_blocking(move || read(runs.as_ref())).await;
    read.unwrap_or_else(|error| Err(crate::Refusal { problem: crate::Problem::Fault, message: error.to_string(), hint: None }))
}
