//! Access control: pure decisions on the head of a request.
//!
//! The dashboard listens on this machine alone, but every web page in a browser of this machine can send requests to it, even under the
//! page's own host name (DNS rebinding). So a request must name this host, must not come from a page of another origin, and must carry the
//! token, either in the cookie that the first visit sets or as a bearer token. A request that changes something and carries the cookie must
//! also carry a second token, which appears only in the dashboard's own pages.
//!
//! Browsers send a cookie to every port of its host (RFC 6265, section 8.5), and so to every other server on this machine that the user
//! visits. Therefore the pages are below an unguessable path, and browsers send the cookie only below it (section 5.1.4).

use axum::http::{HeaderMap, Method, header};
use sha2::{Digest, Sha256};

/// Port of an `http` address that names none.
const HTTP_PORT: u16 = 80;

/// Secrets of one dashboard, and the names that it answers to.
#[derive(Clone)]
pub(crate) struct Access {
    token: String,
    port: u16,
}

/// Author of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requester {
    /// A browser with the cookie of an earlier visit.
    Browser,
    /// A program with the token itself.
    Program,
}

/// Reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The request names another host.
    Host,
    /// The request comes from a page of another origin.
    Origin,
    /// The request carries no token, or a wrong one.
    Token,
    /// The request would change something, and the second token is missing or wrong.
    Csrf,
}

impl Denied {
    /// Describes the reason.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Host => "this dashboard does not answer to that name",
            Self::Origin => "a page of another origin may not ask this",
            Self::Token => "open the address that `aime serve` printed: the token is missing or wrong",
            Self::Csrf => "the form is of another dashboard, or old: load the page again",
        }
    }
}

impl Access {
    pub(crate) const fn new(token: String, port: u16) -> Self {
        Self { token, port }
    }

    /// Returns the name of the cookie, which is unique for each dashboard of this host.
    fn cookie_name(&self) -> String {
        format!("aime_{}", self.port)
    }

    /// Returns the path below which the pages are, such as `/0123…`.
    pub(crate) fn base(&self) -> String {
        format!("/{}", self.derived("base").get(..32).unwrap_or_default())
    }

    /// Returns the cookie that a visit with the token sets.
    pub(crate) fn cookie(&self) -> String {
        format!("{}={}; Path={}; HttpOnly; SameSite=Strict", self.cookie_name(), self.derived("session"), self.base())
    }

    /// Returns the token of forms.
    pub(crate) fn csrf(&self) -> String {
        self.derived("csrf")
    }

    /// Returns true if this is the token.
    pub(crate) fn is_token(&self, token: &str) -> bool {
        same(token, &self.token)
    }

    fn derived(&self, purpose: &str) -> String {
        let hash = Sha256::digest(format!("{purpose} of {}", self.token));
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Checks that a request names this host and does not come from a page of another.
    pub(crate) fn place(&self, head: &HeaderMap) -> Result<(), Denied> {
        let names = ["127.0.0.1", "localhost"];
        let mut hosts = names.map(|name| format!("{name}:{}", self.port)).to_vec();
        if self.port == HTTP_PORT {
            // Browsers leave out the default port.
            hosts.extend(names.map(str::to_owned));
        }
        let text = |name: header::HeaderName| head.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect::<Vec<_>>();
        match text(header::HOST).as_slice() {
            [host] if hosts.iter().any(|known| known == host) => {}
            _ => return Err(Denied::Host),
        }
        let foreign = text(header::ORIGIN).iter().any(|origin| !hosts.iter().any(|known| *origin == format!("http://{known}")));
        let site = head.get("sec-fetch-site").map(|site| site.as_bytes());
        // `none` means that the address was typed or opened by another program.
        let other_site = site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"));
        if foreign || other_site { Err(Denied::Origin) } else { Ok(()) }
    }

    /// Identifies the author of a request by the token.
    pub(crate) fn authenticate(&self, head: &HeaderMap) -> Result<Requester, Denied> {
        if let Some(sent) = head.get(header::AUTHORIZATION) {
            let words = sent.to_str().ok().and_then(|sent| sent.split_once(' '));
            let token = words.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
            return if token.is_some_and(|token| self.is_token(token)) { Ok(Requester::Program) } else { Err(Denied::Token) };
        }
        let (name, session) = (self.cookie_name(), self.derived("session"));
        let cookies = head.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
        let known = cookies.filter_map(|cookie| cookie.trim().split_once('=')).any(|(found, value)| found == name && same(value, &session));
        if known { Ok(Requester::Browser) } else { Err(Denied::Token) }
    }

    /// Checks that a changing request comes from the dashboard's own pages. `form` is the token in the form, if there is one.
    pub(crate) fn meant(&self, who: Requester, method: &Method, form: Option<&str>) -> Result<(), Denied> {
        let harmless = who == Requester::Program || matches!(*method, Method::GET | Method::HEAD);
        if harmless || form.is_some_and(|token| same(token, &self.csrf())) { Ok(()) } else { Err(Denied::Csrf) }
    }
}

/// Compares two texts in constant time, by their hashes, so that the duration does not reveal the first difference.
fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn access() -> Access {
        Access::new("secret".into(), 4000)
    }

    fn head(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())).collect()
    }

    // Requirement: 12.11
    #[test]
    fn only_this_host_and_its_own_pages_may_ask() {
        for (lines, expected) in [
            (vec![("host", "127.0.0.1:4000")], Ok(())),
            (vec![("host", "localhost:4000"), ("origin", "http://localhost:4000"), ("sec-fetch-site", "same-origin")], Ok(())),
            (vec![("host", "127.0.0.1:4000"), ("sec-fetch-site", "none")], Ok(())),
            (vec![], Err(Denied::Host)),
            (vec![("host", "127.0.0.1")], Err(Denied::Host)),
            (vec![("host", "127.0.0.1:4001")], Err(Denied::Host)),
            (vec![("host", "evil.test:4000")], Err(Denied::Host)),
            (vec![("host", "127.0.0.1:4000.evil.test")], Err(Denied::Host)),
            (vec![("host", "127.0.0.1:4000"), ("origin", "http://evil.test")], Err(Denied::Origin)),
            (vec![("host", "127.0.0.1:4000"), ("origin", "http://127.0.0.1:4001")], Err(Denied::Origin)),
            (vec![("host", "127.0.0.1:4000"), ("origin", "null")], Err(Denied::Origin)),
            (vec![("host", "127.0.0.1:4000"), ("sec-fetch-site", "cross-site")], Err(Denied::Origin)),
            (vec![("host", "127.0.0.1:4000"), ("sec-fetch-site", "same-site")], Err(Denied::Origin)),
        ] {
            assert_eq!(access().place(&head(&lines)), expected, "{lines:?}");
        }
        let mut twice = head(&[("host", "127.0.0.1:4000")]);
        twice.append("host", HeaderValue::from_static("evil.test"));
        assert_eq!(access().place(&twice), Err(Denied::Host));
    }

    // Requirement: 12.11
    #[test]
    fn the_default_port_may_be_left_out() {
        let access = Access::new("secret".into(), 80);
        for (lines, expected) in [
            (vec![("host", "127.0.0.1"), ("origin", "http://127.0.0.1")], Ok(())),
            (vec![("host", "localhost"), ("origin", "http://localhost"), ("sec-fetch-site", "same-origin")], Ok(())),
            (vec![("host", "127.0.0.1:80")], Ok(())),
            (vec![("host", "evil.test")], Err(Denied::Host)),
            (vec![("host", "localhost"), ("origin", "http://evil.test")], Err(Denied::Origin)),
            (vec![("host", "localhost"), ("origin", "http://localhost:4000")], Err(Denied::Origin)),
        ] {
            assert_eq!(access.place(&head(&lines)), expected, "{lines:?}");
        }
    }

    // Requirement: 12.11
    #[test]
    fn the_token_lets_in_and_nothing_else() {
        let session = access().derived("session");
        for (lines, expected) in [
            (vec![("authorization", "Bearer secret".to_owned())], Ok(Requester::Program)),
            (vec![("authorization", "bearer  secret".to_owned())], Ok(Requester::Program)),
            (vec![("authorization", "Basic secret".to_owned())], Err(Denied::Token)),
            (vec![("authorization", "Basic x".to_owned()), ("cookie", format!("aime_4000={session}"))], Err(Denied::Token)),
            // A foreign cookie with the same name does not lock the user out.
            (vec![("cookie", format!("aime_4000=x; aime_4000={session}"))], Ok(Requester::Browser)),
            (vec![("cookie", format!("other=1; aime_4000={session}"))], Ok(Requester::Browser)),
            (vec![], Err(Denied::Token)),
            (vec![("authorization", "Bearer secre".to_owned())], Err(Denied::Token)),
            (vec![("authorization", "Bearer ".to_owned())], Err(Denied::Token)),
            (vec![("authorization", format!("Bearer {session}"))], Err(Denied::Token)),
            (vec![("cookie", "aime_4000=secret".to_owned())], Err(Denied::Token)),
            (vec![("cookie", format!("aime_4001={session}"))], Err(Denied::Token)),
            // A cookie does not make up for a wrong token.
            (vec![("authorization", "Bearer x".to_owned()), ("cookie", format!("aime_4000={session}"))], Err(Denied::Token)),
        ] {
            let lines: Vec<(&'static str, &str)> = lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
            assert_eq!(access().authenticate(&head(&lines)), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_changes_something_needs_the_second_token_from_browsers() {
        let csrf = access().csrf();
        for (who, method, form, expected) in [
            (Requester::Browser, Method::GET, None, Ok(())),
            (Requester::Program, Method::POST, None, Ok(())),
            (Requester::Browser, Method::POST, Some(csrf.as_str()), Ok(())),
            (Requester::Browser, Method::POST, None, Err(Denied::Csrf)),
            (Requester::Browser, Method::POST, Some("secret"), Err(Denied::Csrf)),
            (Requester::Browser, Method::POST, Some(""), Err(Denied::Csrf)),
            (Requester::Browser, Method::DELETE, None, Err(Denied::Csrf)),
        ] {
            assert_eq!(access().meant(who, &method, form), expected);
        }
    }

    // Requirement: 12.11
    #[test]
    fn no_secret_tells_another() {
        let access = access();
        let base = access.base();
        assert_eq!(base.len(), 33);
        let secrets = [access.token.clone(), access.derived("session"), access.csrf(), base.trim_start_matches('/').to_owned()];
        for (at, one) in secrets.iter().enumerate() {
            assert!(secrets.iter().enumerate().all(|(other, text)| at == other || !text.contains(one.as_str())), "{one}");
        }
        assert!(access.cookie().contains(&format!("; Path={base}; ")), "other servers of this host are not sent it");
    }
}
