use super::*;

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("work")).unwrap();
        Self { dir }
    }

    fn of(&self, folder: &str) -> Option<Consents> {
        let state = self.dir.path().join("state").display().to_string();
        let folder = self.dir.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Consents::of(&Environment::of([("XDG_STATE_HOME", state.as_str())]), &folder)
    }
}

fn rules(consents: &Consents) -> Vec<String> {
    consents.list().unwrap().into_iter().map(|consent| consent.rule).collect()
}

// Requirement: 13.7
#[test]
fn consents_are_kept_by_folder() {
    let world = World::new();
    let (here, there) = (world.of("work").unwrap(), world.of("other").unwrap());
    assert!(rules(&here).is_empty() && !here.file().exists(), "looking makes nothing");
    here.add(&["bash(git log *)".to_owned(), "write_file".to_owned()], 1).unwrap();
    here.add(&["write_file".to_owned(), "odd((".to_owned()], 2).unwrap();
    assert_eq!(rules(&here), ["bash(git log *)", "write_file", "odd(("]);
    assert_eq!(here.rules().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>(), ["bash(git log *)", "write_file"]);
    assert!(rules(&there).is_empty());
    there.add(&["python".to_owned()], 3).unwrap();
    assert_eq!(here.forget(Some(9)).unwrap(), []);
    assert_eq!(here.forget(Some(0)).unwrap(), []);
    assert_eq!(here.forget(Some(1)).unwrap(), [Consent { rule: "bash(git log *)".to_owned(), at: 1 }]);
    assert_eq!(here.forget(None).unwrap().len(), 2);
    assert!(rules(&here).is_empty());
    assert_eq!(rules(&there), ["python"]);
}

#[test]
fn one_folder_has_one_list_by_whatever_way_it_is_reached() {
    let world = World::new();
    world.of("work").unwrap().add(&["python".to_owned()], 1).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(world.dir.path().join("work"), world.dir.path().join("link")).unwrap();
        assert_eq!(rules(&world.of("link").unwrap()), ["python"]);
    }
    assert_eq!(rules(&world.of("work/../work").unwrap()), ["python"]);
}

// Requirement: 13.7
#[test]
fn where_runs_write_nothing_is_remembered() {
    let world = World::new();
    assert!(world.of("").is_none(), "the state lies in the working folder");
    assert!(world.of("state").is_none());
    assert!(world.of("state/aime").is_none());
    assert!(Consents::of(&Environment::of([]), world.dir.path()).is_none());
    assert!(Consents::of(&Environment::of([("XDG_STATE_HOME", "relative")]), world.dir.path()).is_none());
}

#[test]
fn what_is_damaged_or_newer_is_left_alone() {
    let world = World::new();
    let here = world.of("work").unwrap();
    for text in ["{", "{\"version\": 99}"] {
        fs::create_dir_all(here.file().parent().unwrap()).unwrap();
        fs::write(here.file(), text).unwrap();
        assert!(here.list().is_err() && here.add(&["python".to_owned()], 1).is_err(), "{text}");
        assert_eq!(fs::read_to_string(here.file()).unwrap(), text);
    }
}

#[test]
fn the_first_form_of_the_file_is_still_read() {
    let world = World::new();
    let here = world.of("work").unwrap();
    fs::create_dir_all(here.file().parent().unwrap()).unwrap();
    let text = include_str!("../../data/fixtures/permissions-v1.json")
        .replace("FOLDER", &world.dir.path().join("work").canonicalize().unwrap().display().to_string());
    fs::write(here.file(), text).unwrap();
    assert_eq!(rules(&here), ["bash(cargo test *)", "mcp__git__log"]);
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let world = World::new();
    let here = world.of("work").unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let here = &here;
            scope.spawn(move || here.add(&[format!("web_fetch(h{number}.example)")], number).unwrap());
        }
    });
    assert_eq!(rules(&here).len(), 8);
}
