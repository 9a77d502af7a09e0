//! Packaging: the unit of systemd is right, hardened, and starts what the program understands.

use crate::skips::skip;
use crate::support::{Folder, Ran};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ten times the exposure that `systemd-analyze security` finds, at most: the program needs the network.
const EXPOSURE_MAX: u32 = 15;

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// The unit, whose program is this one.
fn unit() -> String {
    let unit = fs::read_to_string(packaging("evergraph.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/evergraph "));
    unit.replace("/usr/bin/evergraph ", &format!("{} ", env!("CARGO_BIN_EXE_evergraph")))
}

/// Runs `systemd-analyze`, if there is one; else the test is skipped, and says so past what the harness keeps. In CI it fails.
fn systemd_analyze(folder: &Folder, arguments: &[&str]) -> Option<Ran> {
    match Command::new("systemd-analyze").args(arguments).current_dir(folder.root()).output() {
        Ok(output) => Some(Ran::of(output)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            skip("systemd-analyze is missing");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn systemd_has_nothing_to_say_about_the_unit() {
    let folder = Folder::new();
    folder.write("evergraph.service", unit());
    if let Some(ran) = systemd_analyze(&folder, &["verify", "--man=no", "./evergraph.service"]) {
        let ran = ran.succeeded();
        assert_eq!(format!("{}{}", ran.out, ran.err), "");
    }
    folder.write("broken.service", unit().replace("Type=notify", "Type=notified"));
    if let Some(ran) = systemd_analyze(&folder, &["verify", "--man=no", "./broken.service"]) {
        assert!(ran.err.contains("notified"), "{ran:?}");
    }
}

#[test]
fn the_unit_is_hardened() {
    let folder = Folder::new();
    folder.write("evergraph.service", unit());
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    let analyze = |name: &str| {
        systemd_analyze(&folder, &["security", "--offline=true", "--no-pager", &threshold, name])
    };
    if let Some(ran) = analyze("./evergraph.service") {
        ran.succeeded();
    }
    folder.write("open.service", unit().replace("CapabilityBoundingSet=\n", ""));
    if let Some(ran) = analyze("./open.service") {
        assert_ne!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn the_unit_starts_the_server_with_settings_that_it_understands() {
    let folder = Folder::new();
    let unit = fs::read_to_string(packaging("evergraph.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/evergraph ")).unwrap();
    let settings = fs::read_to_string(packaging("evergraph.toml")).unwrap();
    // As it is installed, and with every line that is proposed in it.
    let proposed = settings.lines().map(|line| match line.strip_prefix("# ") {
        Some(setting) if setting.contains(" = ") && !setting.contains(": ") => setting,
        _ => line,
    });
    for (name, text) in
        [("plain.toml", settings.clone()), ("full.toml", proposed.collect::<Vec<_>>().join("\n"))]
    {
        folder.write(name, text);
        let words: Vec<&str> = start
            .split_whitespace()
            .map(|word| if word == "/etc/evergraph/evergraph.toml" { name } else { word })
            .chain(["--print-config"])
            .collect();
        let printed = folder.run(&words).succeeded().out;
        assert!(printed.contains("log-format = \"json\""), "{printed}");
        assert_eq!(printed.contains("listen = \"0.0.0.0:8182\""), name == "full.toml", "{printed}");
    }
}

#[test]
fn the_image_is_made_by_the_script_and_runs_without_root() {
    let file = fs::read_to_string(packaging("Dockerfile")).unwrap();
    let runs: Vec<&str> = file.lines().filter(|line| line.starts_with("RUN ")).collect();
    assert_eq!(runs.len(), 1, "tools/test-container tests the script, and nothing else: {runs:?}");
    assert!(runs[0].starts_with("RUN /opt/evergraph/install.sh /opt/evergraph/evergraph --container"));
    let script = fs::read_to_string(packaging("install.sh")).unwrap();
    let user = file.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    assert!(script.contains(&format!("--uid {}", user.split(':').next().unwrap())));
    for line in ["HEALTHCHECK ", "VOLUME /data", "ENTRYPOINT [\"evergraph\"]"] {
        assert!(file.lines().any(|other| other.starts_with(line)), "{line}");
    }
}
