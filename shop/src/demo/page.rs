//! Reads what a browser would read of a page of the shop: the hidden fields of a form, and the sentence that it says.

/// The hidden fields of the form that is sent to this path, and its button for saving both changes.
pub(super) fn hidden(page: &str, path: &str) -> Vec<(String, String)> {
    let action = format!("action=\"{path}\"");
    let mut forms = page.split("<form").skip(1).filter_map(|form| form.split("</form>").next());
    let Some(form) = forms.find(|form| form.contains(&action)) else { return Vec::new() };
    let fields =
        form.split('<').filter(|tag| tag.starts_with("input type=\"hidden\"") || tag.contains("name=\"both\""));
    fields.filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value")?))).collect()
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let value = tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
    Some(text(value))
}

/// The heading of a page and the sentence below it, without markup.
pub(super) fn said(page: &str) -> Vec<String> {
    let Some((_, rest)) = page.split_once("<h1") else { return Vec::new() };
    let mut said = vec![String::new()];
    for piece in rest.split('<') {
        let (tag, words) = piece.split_once('>').unwrap_or(("", piece));
        let last = said.last_mut().expect("there is one");
        if matches!(tag, "/h1" | "/p" | "/div") && !last.trim().is_empty() {
            if said.len() == 2 {
                break;
            }
            said.push(String::new());
        }
        // As the initial beside a name.
        let is_seen_only = tag.contains("aria-hidden=\"true\"");
        said.last_mut().expect("there is one").push_str(if is_seen_only { "" } else { words });
    }
    said.iter().map(|words| text(&words.split_whitespace().collect::<Vec<_>>().join(" "))).collect()
}

fn text(html: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#34;", "\""),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ];
    entities.into_iter().fold(html.to_owned(), |text, (entity, sign)| text.replace(entity, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_fields_of_the_named_form_are_read() {
        let page = r#"<form method="post" action="/other"><input type="hidden" name="csrf" value="1"></form>
            <form method="post" action="/a"><input type="hidden" name="x" value="2 &#34;3&#34;"><input name="y" value="4">
            <button class="main" name="both" value="v1">Save both</button></form><h1>It <b>was</b> &lt;x&gt;</h1>"#;
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(hidden(page, "/a"), [pair("x", "2 \"3\""), pair("both", "v1")]);
        assert_eq!(hidden(page, "/b"), []);
    }

    #[test]
    fn heading_and_first_sentence_are_read_as_text() {
        let page = r#"<main><h1 data-slot="title">It <b>was</b> &lt;x&gt;</h1>
            <div class="said"> <p><i aria-hidden="true">K</i>By <strong>Kim</strong>.</p> <p>More.</p></div>"#;
        assert_eq!(said(page), ["It was <x>", "By Kim."]);
        assert!(said("<p>no heading</p>").is_empty());
    }
}
