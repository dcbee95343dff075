//! `cargo xtask prose`: counts of what a reader meets before the code: type names and doc comments.
//!
//! A newcomer finds things by name and understands them by their first sentence. Both decay without anybody noticing, so
//! they are counted here, and two tests hold them: [`names`] fails on a type name that two files define, [`comments`] on a crate
//! whose doc comments begin with a question word. Start reading at [`run`].

mod comments;
mod names;
mod source;

use crate::TaskError;
use crate::context::TaskContext;

use comments::Counts;
use source::SourceFile;

/// Prints the counts of each crate and of the workspace; with `--list` also the places that they count.
pub(crate) fn run(context: &TaskContext, args: &[String]) -> Result<(), TaskError> {
    let is_list = match args {
        [] => false,
        [flag] if flag == "--list" => true,
        _ => return Err(TaskError::Usage("`prose` takes `--list` or nothing".to_owned())),
    };
    let sources = SourceFile::read_all(context.root())
        .map_err(|error| TaskError::Failed(format!("the sources cannot be read: {error}")))?;
    print!("{}", table(&sources));
    if is_list {
        for comment in
            sources.iter().flat_map(SourceFile::doc_comments).filter(|comment| comment.is_question())
        {
            println!("{comment}");
        }
        for (name, locations) in names::repeated(&sources) {
            let reason = names::allowed_because(name).unwrap_or("not allowed");
            println!("{name}: {} ({reason})", locations.join(", "));
        }
    }
    Ok(())
}

/// One row for each crate, one for all, and a line on type names.
fn table(sources: &[SourceFile]) -> String {
    let mut text = format!(
        "{:12} {:>7} {:>6} {:>9} {:>9} {:>10}\n",
        "", "code", "doc", "doc/code", "comments", "questions"
    );
    let mut packages: Vec<&str> = sources.iter().map(|source| source.package.as_str()).collect();
    packages.dedup();
    for package in packages {
        let counts = Counts::of(sources.iter().filter(|source| source.package == package));
        text.push_str(&format!("{package:12} {counts}\n"));
    }
    text.push_str(&format!("{:12} {}\n", "all", Counts::of(sources)));
    let definitions = names::definitions(sources).count();
    let repeated = names::repeated(sources).len();
    text.push_str(&format!("{definitions} types, {repeated} names that more than one of them has\n"));
    text
}
