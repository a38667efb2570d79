//! Makes unpacked programs runnable: each is started by the loader and with the libraries that were unpacked with it,
//! because they are newer than the machine's own.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::catalog::{Engine, Program};

/// The folder in which tests find the programs of an engine.
pub(crate) fn folder(engine: &Path) -> PathBuf {
    engine.join("bin")
}

/// Whether they were prepared completely.
pub(crate) fn are_in(engine: &Path) -> bool {
    folder(engine).is_dir()
}

/// Replaces each program by a script, and puts all of them into one folder.
pub(crate) fn prepare(engine: &Engine, at: &Path) -> Result<(), String> {
    let failed = |what: &Path| {
        let what = what.display().to_string();
        move |error: std::io::Error| format!("{what}: {error}")
    };
    let loader = loader(at)?;
    let part = at.join("bin.part");
    fs::create_dir_all(&part).map_err(failed(&part))?;
    for program in engine.programs {
        let path = at.join(program.path);
        let real = path.with_extension("real");
        // After an interruption, the first name is the script's already.
        if !real.is_file() {
            fs::rename(&path, &real).map_err(failed(&path))?;
        }
        let is_script = fs::read(&real).map_err(failed(&real))?.starts_with(b"#!");
        let text = script(program, at, &loader, is_script);
        fs::write(&path, text).map_err(failed(&path))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755)).map_err(failed(&path))?;
        let name = path.file_name().unwrap_or_default();
        let link = part.join(name);
        if !link.is_symlink() {
            symlink(&path, &link).map_err(failed(&link))?;
        }
    }
    // For any umask of this user, the server's user can read it.
    let readable = Command::new("chmod").args(["-R", "a+rX"]).arg(at).status();
    if !readable.is_ok_and(|status| status.success()) {
        return Err(format!("{} could not be made readable", at.display()));
    }
    // Last, because it marks the completion.
    fs::rename(&part, folder(at)).map_err(failed(&part))
}

/// The program finds others of its kind next to the name by which it was called.
fn script(program: &Program, at: &Path, loader: &Path, is_script: bool) -> String {
    let real = at.join(program.path).with_extension("real");
    let arguments: String = program
        .arguments
        .iter()
        .map(|argument| format!(" '{}'", argument.replace("{}", &at.display().to_string())))
        .collect();
    let (real, own) = (real.display(), at.join(program.path));
    match is_script {
        true => format!("#!/bin/sh\nexec /bin/sh '{real}' \"$@\"{arguments}\n"),
        false => {
            let libraries = loader.parent().unwrap_or(at).display();
            let (loader, own) = (loader.display(), own.display());
            format!(
                "#!/bin/sh\nexec '{loader}' --argv0 '{own}' --library-path '{libraries}' '{real}' \"$@\"{arguments}\n"
            )
        }
    }
}

/// `usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2`, or that of another architecture.
fn loader(at: &Path) -> Result<PathBuf, String> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_loader = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ld-linux") && name.contains(".so.")
    };
    let found = entries(&at.join("usr/lib")).filter(|path| path.is_dir()).flat_map(|folder| {
        let found: Vec<_> = entries(&folder).filter(is_loader).collect();
        found
    });
    let mut found: Vec<_> = found.collect();
    found.sort();
    found.into_iter().next().ok_or_else(|| format!("no loader was unpacked into {}", at.display()))
}

/// Under root, servers run as another user, who must be able to reach their programs.
pub(crate) fn can_be_entered(at: &Path) -> Result<(), String> {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let closed = |folder: &&Path| fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o001 == 0);
    match at.ancestors().find(closed).filter(|_| is_root) {
        Some(folder) => Err(format!(
            "the servers are not run by root, and other users cannot enter {}: run this as another user, or allow them to with \
             `chmod o+x`",
            folder.display()
        )),
        None => Ok(()),
    }
}

/// The version that the server prints.
pub(crate) fn version(engine: &Engine, at: &Path) -> Result<String, String> {
    let program = folder(at).join(engine.server);
    let output = Command::new(&program).arg("--version").output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        return Err(format!("{} --version: {}", program.display(), text(&output.stderr)));
    }
    // Some print the whole path of the program first.
    let printed = text(&output.stdout);
    let said = printed.split_whitespace().skip_while(|word| word.starts_with('/'));
    Ok(said.collect::<Vec<_>>().join(" "))
}
