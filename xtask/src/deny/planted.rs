//! Shows that each rule can fail: the project's own graph with one planted violation, and the expected finding.

use serde_json::{Value, json};

use crate::deny::advisories;
use crate::deny::tool::CargoDeny;
use testkit::tasks::root;

/// The crate of the planted violations. The project always depends on it.
const CRATE: &str = "tokio";

/// A violation that a rule must detect.
struct Planted {
    what: &'static str,
    /// cargo-deny's name of the finding.
    finding: &'static str,
    plant: fn(&mut Value),
}

const PLANTED: [Planted; 7] = [
    Planted { what: "a crate with a known advisory", finding: "error[vulnerability]", plant: |_| {} },
    Planted { what: "a licence that is not on the list", finding: "error[rejected]", plant: strict_licence },
    Planted { what: "no licence at all", finding: "error[unlicensed]", plant: no_licence },
    Planted { what: "a crate from a Git repository", finding: "error[source-not-allowed]", plant: from_git },
    Planted { what: "a crate from another registry", finding: "error[source-not-allowed]", plant: from_elsewhere },
    Planted { what: "a second version of a crate", finding: "error[duplicate]", plant: second_version },
    Planted { what: "a crate that is not to be used", finding: "error[banned]", plant: banned_crate },
];

/// Checks that each rule fails.
///
/// # Errors
/// A planted violation that was not found.
pub(crate) fn each_rule_fails(deny: &CargoDeny, metadata: &Value) -> Result<(), String> {
    let folder = root().join("target/deny/planted");
    for planted in PLANTED {
        let mut metadata = metadata.clone();
        (planted.plant)(&mut metadata);
        let is_advisory = planted.finding.contains("vulnerability");
        if is_advisory {
            advisories::plant(&folder, CRATE).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let databases = root().join("target/deny/planted-dbs");
        let databases = advisories::prepare(&databases, is_advisory.then_some(folder.as_path()))?;
        let said = deny.check(&metadata, &databases)?;
        if said.is_ok || !said.text.contains(planted.finding) {
            return Err(format!("{} was not found ({}): {}", planted.what, planted.finding, said.text));
        }
    }
    Ok(())
}

fn strict_licence(metadata: &mut Value) {
    package(metadata)["license"] = json!("AGPL-3.0-only");
}

fn no_licence(metadata: &mut Value) {
    let package = package(metadata);
    package["license"] = Value::Null;
    package["license_file"] = Value::Null;
    // Nor a licence file.
    package["manifest_path"] = json!("/nowhere/Cargo.toml");
}

fn from_git(metadata: &mut Value) {
    let commit = "0123456789012345678901234567890123456789";
    moved(metadata, &format!("git+https://example.invalid/{CRATE}?rev={commit}#{commit}"));
}

fn from_elsewhere(metadata: &mut Value) {
    moved(metadata, "registry+https://example.invalid/index");
}

/// The crate with another source, everywhere in the graph.
fn moved(metadata: &mut Value, source: &str) {
    let old = package(metadata)["id"].as_str().unwrap_or_default().to_owned();
    package(metadata)["source"] = json!(source);
    let (place, version) = (source.split('#').next().unwrap_or(source), old.rsplit('#').next().unwrap_or_default());
    let text = metadata.to_string().replace(&json!(old).to_string(), &json!(format!("{place}#{version}")).to_string());
    *metadata = serde_json::from_str(&text).expect("it was JSON before");
}

fn second_version(metadata: &mut Value) {
    add(metadata, CRATE);
}

fn banned_crate(metadata: &mut Value) {
    add(metadata, "openssl-sys");
}

/// A crate with this name in version 0.0.1, on which the first package of the workspace depends.
fn add(metadata: &mut Value, name: &str) {
    let mut added = package(metadata).clone();
    let id = added["id"].as_str().unwrap_or_default().split('#').next().unwrap_or_default().to_owned();
    let id = format!("{id}#{name}@0.0.1");
    added["name"] = json!(name);
    added["version"] = json!("0.0.1");
    added["id"] = json!(id);
    added["dependencies"] = json!([]);
    added["features"] = json!({});
    let member = metadata["workspace_members"][0].clone();
    metadata["packages"].as_array_mut().expect("packages").push(added);
    let nodes = metadata["resolve"]["nodes"].as_array_mut().expect("nodes");
    nodes.push(json!({ "id": id, "dependencies": [], "deps": [], "features": [] }));
    let node = nodes.iter_mut().find(|node| node["id"] == member).expect("its node");
    node["dependencies"].as_array_mut().expect("dependencies").push(json!(id));
    let dependency = json!({ "name": "added", "pkg": id, "dep_kinds": [{ "kind": null, "target": null }] });
    node["deps"].as_array_mut().expect("deps").push(dependency);
    let packages = metadata["packages"].as_array_mut().expect("packages");
    let package = packages.iter_mut().find(|package| package["id"] == member).expect("its package");
    package["dependencies"].as_array_mut().expect("dependencies").push(json!({
        "name": name, "rename": "added", "req": "^0.0.1", "kind": null, "target": null, "optional": false,
        "uses_default_features": true, "features": [], "source": "registry+https://github.com/rust-lang/crates.io-index",
        "registry": null, "path": null
    }));
}

fn package(metadata: &mut Value) -> &mut Value {
    let packages = metadata["packages"].as_array_mut().expect("packages");
    packages.iter_mut().find(|package| package["name"] == CRATE).expect("the crate")
}
