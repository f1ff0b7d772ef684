//! Another machine that listens at the port of the proxy: it is reachable if only the port is checked, and unreachable from a network
//! namespace.

use std::{
    collections::BTreeSet,
    io,
    net::{Ipv4Addr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use aime_hosts::{HostGrants, HostProxy};
use aime_sandbox::{
    Confinement, ConfinementError, ConfinementSettings, Guarantee, Launcher, Network, ProcessEnd, ProcessRequest, ProxyFactory,
    RunningProxy, Service, ServiceRequest, run,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::{attempt, launcher, place::Place, python, users};

/// Represents another machine: a local address where the proxy does not listen.
const MACHINE: Ipv4Addr = Ipv4Addr::new(127, 83, 29, 7);

/// Returns settings that allow one host, and the machine that listens at the port of each proxy.
fn settings(place: &Place, by: Option<Launcher>) -> (ConfinementSettings, Arc<Mutex<Vec<TcpListener>>>) {
    let granted = place.granted();
    let proxy = HostProxy::new(HostGrants::read([&granted]).unwrap(), "sandbox.network");
    let machine: Arc<Mutex<Vec<TcpListener>>> = Arc::default();
    let listening = Arc::clone(&machine);
    let gate = ProxyFactory::new([granted], move |listener| {
        let there = TcpListener::bind((MACHINE, listener.local_addr()?.port()));
        // A concurrent test may use the same address.
        listening.lock().unwrap().extend(there.and_then(|there| there.set_nonblocking(true).map(|()| there)));
        let open = proxy.open_on(listener)?;
        Ok(RunningProxy::new(move || open.refused()))
    });
    let mut settings = ConfinementSettings::new(place.work(), &place.environment());
    settings.network = Network::Hosts(match by {
        Some(launcher) => gate.launched_by(launcher),
        None => gate,
    });
    (settings, machine)
}

/// Returns true if the machine is reached.
async fn is_reached(by: Option<Launcher>, allow_missing: BTreeSet<Guarantee>) -> bool {
    let place = Place::new();
    let (mut settings, machine) = settings(&place, by);
    settings.allow_missing = allow_missing;
    let confinement = Confinement::new(settings).unwrap();
    let code = format!(
        "port = int(E['HTTPS_PROXY'].rsplit(':', 1)[1])\ntry:\n    socket.create_connection(('{MACHINE}', port), 2); print('connected')\nexcept OSError as e: print(e)"
    );
    let outcome = place.outcome(&attempt("the machine", &python(&code)), &confinement).await;
    let connected = outcome.stdout.text().contains("connected");
    let accepted = machine.lock().unwrap().iter().any(|there| there.accept().is_ok());
    assert_eq!(connected, accepted, "{outcome:?}");
    connected
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_reached_where_a_port_is_all_that_is_looked_at() {
    assert!(is_reached(None, BTreeSet::from([Guarantee::NetworkNamespace])).await, "what the next test looks for cannot be seen");
}

// Requirement: 15.3
#[tokio::test(flavor = "multi_thread")]
async fn it_is_not_reached_from_a_network_of_ones_own() {
    assert!(!is_reached(Some(launcher()), BTreeSet::new()).await);
    println!("{}: 1 escapes were tried", users::who());
}

// Requirement: 15.3
#[test]
fn it_is_not_reached_as_an_ordinary_user() {
    users::again_as_nobody("machines::it_is_not_reached_from_a_network_of_ones_own");
}

// Requirement: 15.3
#[tokio::test]
async fn without_a_network_of_its_own_no_command_is_run_unless_that_is_said_by_name() {
    let place = Place::new();
    let nowhere = Launcher::new("/nowhere/launcher", [] as [&str; 0]);
    for by in [None, Some(nowhere)] {
        let error = Confinement::new(settings(&place, by.clone()).0).unwrap_err();
        assert!(matches!(error, ConfinementError::Machines { .. }), "{error}");
        assert!(error.to_string().contains("sandbox.allow_missing = [\"network-namespace\"]"), "{error}");
        let (mut settings, _) = settings(&place, by);
        settings.allow_missing = BTreeSet::from([Guarantee::NetworkNamespace]);
        let description = Confinement::new(settings).unwrap().to_string();
        assert!(description.contains("without network-namespace: "), "{description}");
    }
}

/// A program that is not a launcher is reported without waiting for it.
#[tokio::test]
async fn a_launcher_that_is_none_is_told() {
    let place = Place::new();
    for program in ["/bin/true", "/bin/cat"] {
        let error = Confinement::new(settings(&place, Some(Launcher::new(program, [] as [&str; 0]))).0).unwrap_err();
        assert!(matches!(error, ConfinementError::Machines { .. }), "{program}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_stays_reads_writes_and_is_ended() {
    let place = Place::new();
    let (settings, _machine) = settings(&place, Some(launcher()));
    let request = ServiceRequest {
        program: "bash".into(),
        arguments: ["-c", "while read -r line; do echo \"heard $line\"; done"].map(Into::into).into(),
        working_folder: place.work(),
        environment: place.environment(),
        error_limit: 1000,
        confinement: Confinement::new(settings).unwrap(),
    };
    let mut service = Service::start(request).unwrap();
    let (out, mut input) = service.streams().unwrap();
    let mut lines = BufReader::new(out).lines();
    for word in ["one", "two"] {
        input.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(lines.next_line().await.unwrap(), Some(format!("heard {word}")));
    }
    drop(input);
    assert_eq!(service.end(Duration::from_secs(60)).await.unwrap(), ProcessEnd::Exited(0));
}

/// A command has the same children, input, environment and exit as without a launcher.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_what_it_is_without_a_launcher() -> io::Result<()> {
    let place = Place::new();
    let (settings, _machine) = settings(&place, Some(launcher()));
    let mut environment = place.environment();
    environment.insert("ODD".into(), "a=b\nc".into());
    let file = place.work().join("pid");
    let request = ProcessRequest {
        program: "bash".into(),
        arguments: vec!["-c".into(), "cat; printf %s \"$ODD\"; setsid sleep 600 & echo $! > pid; for fd in /proc/$$/fd/*; do readlink $fd | grep -q socket && echo $fd >&2; done; exit 7".into()],
        working_folder: place.work(),
        environment,
        input: b"input ".to_vec(),
        time_limit: Duration::from_secs(60),
        output_limit: 10_000,
        confinement: Confinement::new(settings).unwrap(),
    };
    let outcome = run(request, &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.end.clone(), outcome.stdout.text().as_str()), (ProcessEnd::Exited(7), "input a=b\nc"), "{outcome:?}");
    assert_eq!(outcome.stderr.text(), "", "it holds a socket of the launcher");
    let left = std::fs::read_to_string(file)?;
    // A zombie process has no environment.
    let lives = std::fs::read(format!("/proc/{}/environ", left.trim())).is_ok_and(|environment| !environment.is_empty());
    assert!(!lives, "process {left} is left");
    println!("{}: 1 escapes were tried", users::who());
    Ok(())
}

#[test]
fn a_command_is_what_it_is_as_an_ordinary_user() {
    users::again_as_nobody("machines::a_command_is_what_it_is_without_a_launcher");
}
