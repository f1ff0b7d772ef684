use serde_json::{Value, json};

use super::*;
use crate::{ToolContext, ToolRegistry};
use aime_sandbox::ConfinedFolder;

fn parse(text: &str) -> Result<Skill, String> {
    Skill::parse(Path::new("skills/trim-pdf/SKILL.md"), text).map_err(|error| error.to_string())
}

#[test]
fn a_whole_skill_is_read() {
    let text = "---\nname: trim-pdf\ndescription: >\n  Trims the margins of PDF files.\n  Use it for scans.\nlicense: MIT\ncompatibility: needs qpdf\n\
                metadata:\n  author: ann\n  version: 1.5\nallowed-tools: Bash(qpdf:*) Read\nmodel: other\n---\n\n# Trim\n\n1. Look.\n---\n2. Cut.\n";
    let skill = parse(text).unwrap();
    assert_eq!(skill.name, "trim-pdf");
    assert_eq!(skill.description, "Trims the margins of PDF files. Use it for scans.");
    assert_eq!((skill.license.as_deref(), skill.compatibility.as_deref()), (Some("MIT"), Some("needs qpdf")));
    let metadata: Vec<_> = skill.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(metadata, [("author", "ann"), ("version", "1.5")]);
    assert_eq!(skill.allowed_tools, ["Bash(qpdf:*)", "Read"]);
    assert_eq!(skill.body, "# Trim\n\n1. Look.\n---\n2. Cut.", "a rule in the text ends nothing");
}

#[test]
fn what_writers_do_is_read() {
    for text in [
        "---\nname: trim-pdf\ndescription: d\n---\nbody",
        "\u{feff}---\r\nname: trim-pdf\r\ndescription: d\r\n---\r\nbody\r\n",
        "--- \nname: \"trim-pdf\"\ndescription: 'd'\nlicense:\nmetadata:\nversion: [1, 2]\n---\nbody\n",
    ] {
        let skill = parse(text).unwrap();
        assert_eq!((skill.description.as_str(), skill.body.as_str(), skill.license), ("d", "body", None), "{text:?}");
    }
    let listed = parse("---\nname: trim-pdf\ndescription: d\nallowed-tools: [Read, Grep]\n---\nbody").unwrap();
    assert_eq!(listed.allowed_tools, ["Read", "Grep"]);
}

#[test]
fn faults_name_the_line_and_the_hint() {
    let long = format!("---\nname: trim-pdf\ndescription: {}\n---\nbody", "x".repeat(1_025));
    let table = [
        ("", "SKILL.md:1: a skill begins with a line of `---`"),
        ("# Trim\n", "SKILL.md:1: a skill begins with a line of `---`"),
        ("---\nname: trim-pdf\ndescription: d\n", "SKILL.md:3: the lines of `name:` and `description:` are not ended"),
        ("---\n---\nbody", "SKILL.md:2: `name` is missing: the name of its folder"),
        ("---\nname: trim-pdf\n---\nbody", "SKILL.md:2: `description` is missing: what the skill does, and when to use it"),
        ("---\nlicense: MIT\nname: trim-pdf\ndescription: ' '\n---\nbody", "SKILL.md:4: `description` is missing"),
        ("---\ndescription: d\nname: Trim PDF\n---\nbody", "SKILL.md:3: `name` is \"Trim PDF\": use 1 to 64 of a-z 0-9 -"),
        ("---\nname: trim--pdf\ndescription: d\n---\nbody", "SKILL.md:2: `name` is \"trim--pdf\""),
        ("---\nname: trim\ndescription: d\n---\nbody", "SKILL.md:2: `name` is `trim` and its folder `trim-pdf`: give both the same name"),
        ("---\nname: [trim]\ndescription: d\n---\nbody", "SKILL.md:2: `name` must be a text"),
        ("---\nname: trim-pdf\ndescription: Use it: when\n---\nbody", "SKILL.md:3: not YAML: "),
        ("---\n- a\n---\nbody", "SKILL.md:2: write `name: NAME`"),
        ("---\nname: trim-pdf\ndescription: d\n---\n \n", "SKILL.md:4: nothing stands below the second `---`"),
        (&long, "SKILL.md:3: `description` has 1025 characters, at most 1024 are allowed"),
        ("---\nname: trim-pdf\ndescription: d\nmetadata: x\n---\nbody", "SKILL.md:4: `metadata` must be pairs"),
        ("---\nname: trim-pdf\ndescription: d\nallowed-tools: 5\n---\nbody", "SKILL.md:4: `allowed-tools` must be names"),
    ];
    for (text, expected) in table {
        let error = parse(text).unwrap_err();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "(---\n)?([a-z-]{0,12}: ?[^\n]{0,20}\n){0,6}(---\n)?\\PC{0,40}") {
        let _ = parse(&text);
    }
}

fn installed(name: &str, folder: &Path, files: &[&str]) -> InstalledSkill {
    let skill = Skill::parse(&Path::new(name).join("SKILL.md"), &format!("---\nname: {name}\ndescription: d\n---\nDo {name}.")).unwrap();
    InstalledSkill { skill, folder: folder.to_owned(), files: files.iter().map(|file| (*file).to_owned()).collect() }
}

// Requirement: 8.8
#[tokio::test]
async fn a_skill_is_read_with_its_files_and_nothing_beside_it() {
    let (work, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(own.path().join("trim-pdf")).unwrap();
    std::fs::write(own.path().join("trim-pdf/notes.md"), "how").unwrap();
    std::fs::write(own.path().join("trim-pdf/logo.png"), b"\x89PNG\0").unwrap();
    std::fs::write(own.path().join("secret"), "s").unwrap();
    let folder = own.path().join("trim-pdf");
    let mut skills = SkillCatalog::default();
    assert!(skills.is_empty());
    skills.add(installed("trim-pdf", Path::new("elsewhere"), &[]));
    assert!(skills.add(installed("trim-pdf", &folder, &["logo.png", "notes.md"])).is_some_and(|old| old.folder == Path::new("elsewhere")));
    skills.add(installed("bake", &folder, &[]));
    let mut tools = ToolRegistry::new();
    tools.register(load_skill(skills));
    let context = ToolContext::new(ConfinedFolder::open(work.path()).unwrap(), BTreeMap::new());
    let call = async |given: Value| {
        tools.call_with_consent(LOAD_SKILL, given.as_object().unwrap().clone(), &context).await.map(|output| output.text)
    };

    assert_eq!(call(json!({"name": "bake"})).await.unwrap(), "Do bake.");
    let listed = format!(
        "Do trim-pdf.\n\n[Files of this skill, in {}; read one with `load_skill` and `file`]\n- logo.png\n- notes.md",
        folder.display()
    );
    assert_eq!(call(json!({"name": "trim-pdf"})).await.unwrap(), listed);
    assert_eq!(call(json!({"name": "trim-pdf", "file": "notes.md"})).await.unwrap(), "how");
    for (given, expected) in [
        (json!({"name": "trim"}), "Unknown skill: trim. The skills are: `trim-pdf`, `bake`"),
        (json!({"name": "trim-pdf", "file": "note.md"}), "its files are: `notes.md`, `logo.png`"),
        (json!({"name": "trim-pdf", "file": "logo.png"}), "`logo.png` is a PNG image of 5 bytes; only text can be read"),
        (json!({"name": "trim-pdf", "file": "../secret"}), "secret"),
    ] {
        let error = call(given).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(matches!(call(json!({"name": "trim-pdf", "file": "../secret"})).await, Err(crate::ToolError::Denied(_))));
}

#[tokio::test]
async fn a_long_skill_is_cut_to_the_limit_of_all_output() {
    let work = tempfile::tempdir().unwrap();
    let mut skills = SkillCatalog::default();
    let mut long = installed("bake", work.path(), &["last.md"]);
    long.skill.body = "word ".repeat(10_000);
    skills.add(long);
    let mut tools = ToolRegistry::new();
    tools.register(load_skill(skills));
    let context = ToolContext::new(ConfinedFolder::open(work.path()).unwrap(), BTreeMap::new());
    let text = tools.call_with_consent(LOAD_SKILL, json!({"name": "bake"}).as_object().unwrap().clone(), &context).await.unwrap().text;
    assert!(text.chars().count() < 10_200 && text.ends_with("- last.md"), "{}", text.chars().count());
}
