//! Tests of long-running programs.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;

fn serve(folder: &Path, script: &str) -> Service {
    let ProcessRequest { program, arguments, working_folder, environment, .. } = bash(folder, script);
    let confinement = Confinement::new(crate::ConfinementSettings::new(folder, &environment)).unwrap();
    Service::start(ServiceRequest { program, arguments, working_folder, environment, error_limit: 100, confinement }).unwrap()
}

#[tokio::test]
async fn it_is_talked_with_and_ends_when_its_input_is_closed() {
    let folder = here();
    let mut service = serve(folder.path(), "echo begun >&2; while read line; do echo \"<$line>\"; done; echo ended > end; exit 3");
    let (stdout, mut stdin) = service.streams().unwrap();
    assert!(service.streams().is_none(), "only once");
    let mut lines = BufReader::new(stdout).lines();
    for word in ["one", "two"] {
        stdin.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), format!("<{word}>"));
    }
    assert!(service.is_running());
    assert_eq!(service.stderr(), "begun\n");
    drop(stdin);
    assert_eq!(service.end(LONG).await.unwrap(), ProcessEnd::Exited(3));
    assert_eq!(fs::read_to_string(folder.path().join("end")).unwrap(), "ended\n");
}

#[tokio::test]
async fn one_that_goes_on_is_ended_with_all_that_it_started() {
    let folder = here();
    let script = "trap '' TERM; sleep 600 & echo $! > one; setsid sleep 600 & echo $! > two; wait; sleep 600";
    let service = serve(folder.path(), script);
    let (one, two) = (pid(folder.path(), "one").await, pid(folder.path(), "two").await);
    assert_eq!(service.end(Duration::ZERO).await.unwrap(), ProcessEnd::TimedOut);
    death(one).await;
    death(two).await;
}

#[tokio::test]
async fn one_that_is_dropped_is_killed() {
    let folder = here();
    let service = serve(folder.path(), "sleep 600 & echo $! > one; wait");
    let one = pid(folder.path(), "one").await;
    drop(service);
    death(one).await;
}

// Requirement: 15.9
#[tokio::test]
async fn its_end_is_noticed_and_what_it_said_is_kept_within_bounds() {
    let folder = here();
    let mut service = serve(folder.path(), "seq 1 1000 >&2; exit 1");
    for _ in 0..LOOKS {
        if !service.is_running() && service.stderr().ends_with("1000\n") {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    assert!(!service.is_running());
    let stderr = service.stderr();
    assert!(
        stderr.starts_with("1\n2\n") && stderr.ends_with("1000\n") && stderr.contains("bytes left out") && stderr.len() < 200,
        "{stderr}"
    );
}

// Requirement: 8.9
#[tokio::test]
async fn one_that_takes_too_much_is_killed_and_says_why() {
    if !rustix::process::getuid().is_root() {
        // The kernel refuses more to an ordinary user.
        return;
    }
    let folder = here();
    let ProcessRequest { program, arguments, working_folder, environment, .. } =
        bash(folder.path(), "for i in $(seq 30); do sleep 600 & done; echo $! > one; wait");
    let mut settings = crate::ConfinementSettings::new(folder.path(), &environment);
    settings.limits.processes = 10;
    let confinement = Confinement::new(settings).unwrap();
    let request = ServiceRequest { program, arguments, working_folder, environment, error_limit: 100, confinement };
    let mut service = Service::start(request).unwrap();
    for _ in 0..LOOKS {
        if !service.is_running() {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    assert!(!service.is_running());
    assert_eq!(service.exceeded(), Some(Bound::Processes(10)));
}

#[tokio::test]
async fn one_that_is_not_there_is_told() {
    let folder = here();
    let ProcessRequest { working_folder, environment, .. } = bash(folder.path(), "");
    let request = ServiceRequest {
        program: "no_such_program_here".into(),
        arguments: Vec::new(),
        working_folder,
        environment,
        error_limit: 100,
        confinement: Confinement::off(),
    };
    assert!(matches!(Service::start(request), Err(ProcessError::ProgramNotFound { .. })));
}
