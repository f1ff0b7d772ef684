use super::*;

fn grants(entries: &[&str]) -> HostGrants {
    HostGrants::read(entries).unwrap()
}

// Requirement: 15.3
#[test]
fn a_host_is_reached_as_it_is_granted_and_not_otherwise() {
    let some = ["crates.io", "*.example.org:443", "api.example.net:8443", "127.0.0.1:9000", "[::1]:9001", "10.0.0.7", "Bücher.example"];
    let granted = grants(&some);
    let table = [
        ("crates.io:443", true),
        ("crates.io:80", true),
        ("CRATES.io.:443", true),
        ("crates.io:22", false),
        ("sub.crates.io:443", false),
        ("crates.io.evil.example:443", false),
        ("evilcrates.io:443", false),
        ("a.example.org:443", true),
        ("a.b.example.org:443", true),
        ("example.org:443", false),
        ("a.example.org:80", false),
        ("evilexample.org:443", false),
        ("api.example.net:8443", true),
        ("api.example.net:443", false),
        ("xn--bcher-kva.example:443", true),
        ("bücher.example:443", true),
        ("127.0.0.1:9000", true),
        ("127.0.0.1:9001", false),
        ("2130706433:9000", true),
        ("0x7f.1:9000", true),
        ("[::ffff:127.0.0.1]:9000", true),
        ("127.0.0.2:9000", false),
        ("localhost:9000", false),
        ("[::1]:9001", true),
        ("[::1]:9000", false),
        ("10.0.0.7:80", true),
        ("10.0.0.8:80", false),
        ("8.8.8.8:443", false),
        ("169.254.169.254:80", false),
    ];
    for (text, may) in table {
        let target = Target::read(text, None).unwrap();
        assert_eq!(granted.check(&target).is_ok(), may, "{text}");
    }
    assert!(grants(&[]).check(&Target::read("crates.io:443", None).unwrap()).is_err());
}

#[test]
fn a_grant_of_all_is_one_of_the_open_network() {
    let all = grants(&["*", "*:8080"]);
    for (text, may) in [
        ("crates.io:443", true),
        ("crates.io:8080", true),
        ("crates.io:25", false),
        ("8.8.8.8:443", true),
        ("127.0.0.1:8080", false),
        ("[::1]:80", false),
        ("169.254.169.254:80", false),
        ("[fd00::1]:80", false),
    ] {
        assert_eq!(all.check(&Target::read(text, None).unwrap()).is_ok(), may, "{text}");
    }
}

// Requirement: 15.3
#[test]
fn a_name_leads_to_private_addresses_only_where_those_are_granted() {
    let granted = grants(&["intern.example", "10.0.0.7"]);
    let target = Target::read("intern.example:443", None).unwrap();
    for (address, may) in [
        ("93.184.216.34", true),
        ("2606:4700::1111", true),
        ("10.0.0.7", true),
        ("::ffff:10.0.0.7", true),
        ("10.0.0.8", false),
        ("127.0.0.1", false),
        ("::1", false),
        ("::ffff:127.0.0.1", false),
        ("169.254.169.254", false),
        ("0.0.0.0", false),
        ("fe80::1", false),
    ] {
        assert_eq!(granted.check_address(&target, address.parse().unwrap()).is_ok(), may, "{address}");
    }
    let other = Target::read("intern.example:8080", None).unwrap();
    assert!(granted.check_address(&other, "10.0.0.7".parse().unwrap()).is_err(), "the grant of the address is for its ports");
}

#[test]
fn what_is_no_target_is_none() {
    for text in [
        "",
        ":443",
        "a b:443",
        "user@crates.io:443",
        "crates.io:0",
        "crates.io:65536",
        "crates.io:+1",
        "crates.io:",
        "[::1:443",
        ".:80",
        "a/b:80",
    ] {
        assert_eq!(Target::read(text, Some(80)), None, "{text}");
    }
    assert_eq!(Target::read("crates.io", None), None, "a tunnel needs a port");
    assert_eq!(Target::read("crates.io", Some(80)).unwrap().to_string(), "crates.io:80");
    assert_eq!(Target::read("[::1]", Some(80)).unwrap().to_string(), "[::1]:80");
}

#[test]
fn what_is_no_grant_is_refused_with_a_reason() {
    for (text, part) in [
        ("https://crates.io", "more than a host"),
        ("crates.io/path", "more than a host"),
        ("me@crates.io", "more than a host"),
        ("", "empty"),
        ("*crates.io", "a * is allowed only"),
        ("a.*.io", "a * is allowed only"),
        ("*.*", "a * is allowed only"),
        ("*.10.0.0.1", "no hosts below"),
        ("crates.io:https", "port"),
        ("crates.io:0", "port"),
        ("a b", "cannot be read"),
        ("*.", "cannot be read"),
    ] {
        let fault = HostGrants::read([text]).unwrap_err().to_string();
        assert!(fault.contains(part) && fault.contains("write a host such as"), "{text}: {fault}");
    }
}

#[test]
fn entries_of_lists_of_hosts_are_checked() {
    // The entry, and what is wrong with it as a pattern and as one host.
    for (text, pattern, single) in [
        ("docs.rs", None, None),
        ("127.0.0.1", None, None),
        ("[::1]", None, None),
        ("::1", None, Some("cannot be read")),
        ("*.python.org", None, Some("without a *")),
        ("*", None, Some("without a *")),
        ("127.0.0.1:8080", Some("every port"), None),
        ("[::1]:8080", Some("every port"), None),
        ("http://127.0.0.1", Some("more than a host"), Some("more than a host")),
        ("127.0.0.1/", Some("more than a host"), Some("more than a host")),
        ("", Some("empty"), Some("empty")),
    ] {
        for (checked, expected, write) in [
            (check_pattern(text), pattern, "write a bare host such as"),
            (check_single(text), single, "write a host such as \"wiki.intern\""),
        ] {
            match (checked, expected) {
                (Ok(()), None) => {}
                (Err(fault), Some(part)) => {
                    let text_of_fault = fault.to_string();
                    assert!(text_of_fault.contains(part) && text_of_fault.contains(write), "{text}: {text_of_fault}");
                }
                (checked, expected) => panic!("{text}: {checked:?}, not {expected:?}"),
            }
        }
    }
}

#[test]
fn a_denial_names_what_would_allow_it() {
    let granted = grants(&["intern.example", "*:80"]);
    for (text, address, remedy) in [
        ("evil.example:443", None, "evil.example"),
        ("evil.example:8443", None, "evil.example:8443"),
        ("intern.example:443", Some("10.0.0.7"), "10.0.0.7:443"),
        ("intern.example:443", Some("::1"), "[::1]:443"),
        ("127.0.0.1:80", None, "127.0.0.1:80"),
    ] {
        let target = Target::read(text, None).unwrap();
        let denied = match address {
            None => granted.check(&target).unwrap_err(),
            Some(address) => granted.check_address(&target, address.parse().unwrap()).unwrap_err(),
        };
        assert_eq!(denied.remedy(), remedy, "{text}");
        let repaired = grants(&["intern.example", "*:80", remedy]);
        let repaired = address.map_or_else(|| repaired.check(&target), |address| repaired.check_address(&target, address.parse().unwrap()));
        assert_eq!(repaired, Ok(()), "{text}");
    }
}
