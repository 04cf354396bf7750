//! `syncscope list`: the primitives, and whether this machine can measure them.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::json;
use syncscope_core::{Listing, Primitive};
use syncscope_report::in_groups;

use crate::args::{ListArguments, ListFormat};
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::{selection, terminal};

/// Lists the primitives that this machine can measure, then the others with the reasons.
pub(crate) fn list(arguments: &ListArguments) -> Result<Outcome, Failure> {
    let mut listing = Laboratories::open(None)?.listing();
    let all: Vec<&Primitive> = listing.iter().map(|entry| entry.primitive).collect();
    let (words, globs) = (&arguments.words, &arguments.only);
    let parts = words.iter().flat_map(|word| word.split([':', ' '])).filter(|part| !is_size(part));
    let parts: Vec<&str> = parts.collect();
    // A query names types, too: the primitives that answer to the most of its words are meant.
    let named = |entry: &Listing| parts.iter().filter(|part| selection::is_called(entry.primitive, part)).count();
    let most = listing.iter().map(named).max().unwrap_or(0);
    listing.retain(|entry| {
        let is_called = |glob: &String| selection::is_called(entry.primitive, glob);
        (parts.is_empty() || most > 0 && named(entry) == most) && (globs.is_empty() || globs.iter().any(is_called))
    });
    if listing.is_empty() {
        let asked = words.iter().chain(globs).cloned().collect::<Vec<_>>().join(" ");
        let advice = selection::advice(&asked, &all);
        return Err(Failure::Usage(format!("no primitive is called `{asked}`; {advice}")));
    }
    let is_unknown = |word: &&str| !all.iter().any(|primitive| selection::is_called(primitive, word));
    for word in parts.iter().copied().chain(globs.iter().map(String::as_str)).filter(is_unknown) {
        terminal::warning(&format!("nothing matches `{word}`"));
    }
    terminal::show(&match arguments.format {
        ListFormat::Table => as_table(&listing, !words.is_empty() || !globs.is_empty()),
        ListFormat::Json => syncscope_report::json(&as_json(&listing)),
    })
}

/// Whether a word of a query is a count or its unit, as in `lock 16 threads`.
fn is_size(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit()) || ["thread", "threads", "block", "blocks"].contains(&word)
}

/// The listing as a table. With `is_asked` the user asked for these primitives, so unavailable ones are described, too.
fn as_table(listing: &[Listing], is_asked: bool) -> String {
    let available = listing.iter().filter(|entry| entry.unavailable.is_none()).map(|entry| entry.primitive);
    let available: Vec<&Primitive> = available.collect();
    let unavailable = listing.iter().filter_map(|entry| Some((entry.unavailable.as_deref()?, entry.primitive)));
    let others = in_groups(unavailable).into_iter().map(|(reason, primitives)| {
        let named = if is_asked { described(&primitives) } else { ids(&primitives) };
        format!("Not available: {reason}\n{named}")
    });
    let first = (!available.is_empty()).then(|| described(&available));
    first.into_iter().chain(others).collect::<Vec<_>>().join("\n\n")
}

fn ids(primitives: &[&Primitive]) -> String {
    primitives.iter().map(|primitive| format!("  {}", primitive.id)).collect::<Vec<_>>().join("\n")
}

fn described(primitives: &[&Primitive]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(terminal::width()).unwrap_or(100));
    table.set_header(["primitive", "description", "source"]);
    for primitive in primitives {
        table.add_row([primitive.id, primitive.summary, primitive.source]);
    }
    table.trim_fmt()
}

fn as_json(listing: &[Listing]) -> serde_json::Value {
    let entry = |entry: &Listing| {
        json!({
            "id": entry.primitive.id,
            "summary": entry.primitive.summary,
            "operation": entry.primitive.operation,
            "source": entry.primitive.source,
            "available": entry.unavailable.is_none(),
            "reason": entry.unavailable,
        })
    };
    listing.iter().map(entry).collect()
}
