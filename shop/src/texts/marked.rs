//! The words that differ between two texts, marked as added and removed.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::markup::Html;
use super::{Lang, texts};

texts! {
    words_added: "added:", "추가:";
    words_removed: "removed:", "삭제:";
}

/// A comparison that takes longer marks more words than needed.
const AT_MOST: Duration = Duration::from_millis(50);

/// The text as it became, with the words that were added, and those that were removed. `None` if the two have so little in common that
/// marks would only hide it.
pub(crate) fn marked(t: Lang, before: &str, now: &str) -> Option<Html> {
    let diff = TextDiff::configure().timeout(AT_MOST).diff_unicode_words(before, now);
    let mut text = Marked { t, html: String::new(), removed: String::new(), added: String::new(), gap: String::new() };
    let mut common = 0;
    for change in diff.iter_all_changes() {
        let (word, is_blank) = (change.value(), change.value().trim().is_empty());
        match change.tag() {
            ChangeTag::Delete => text.change().0.push_str(word),
            ChangeTag::Insert => text.change().1.push_str(word),
            // Between two changed words, a space belongs to the change: it reads as one.
            ChangeTag::Equal if is_blank && text.is_changing() => text.gap.push_str(word),
            ChangeTag::Equal => {
                text.flush();
                text.html.push_str(&Html::text(word).to_string());
                common += if is_blank { 0 } else { word.chars().count() };
            }
        }
    }
    text.flush();
    let length = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    (common * 3 >= length(before).max(length(now))).then(|| Html::typed_html(&text.html))
}

/// What has been marked so far, and a change that may go on.
struct Marked {
    t: Lang,
    html: String,
    removed: String,
    added: String,
    /// The space after the change.
    gap: String,
}

impl Marked {
    fn is_changing(&self) -> bool {
        !self.removed.is_empty() || !self.added.is_empty()
    }

    /// The change goes on, over the space.
    fn change(&mut self) -> (&mut String, &mut String) {
        let gap = std::mem::take(&mut self.gap);
        self.removed.push_str(&gap);
        self.added.push_str(&gap);
        (&mut self.removed, &mut self.added)
    }

    /// The change has ended.
    fn flush(&mut self) {
        let t = self.t;
        for (tag, said, words) in
            [("del", t.words_removed(), &mut self.removed), ("ins", t.words_added(), &mut self.added)]
        {
            if !words.is_empty() {
                // Blanks alone would be marked where nothing is to be seen.
                let words = std::mem::take(words);
                let seen = |words: &str| words.replace(' ', "␣").replace('\n', "↵\n");
                let words = Html::text(if words.trim().is_empty() { seen(&words) } else { words });
                self.html.push_str(&format!(r#"<{tag}><span class="unseen">{said} </span>{words}</{tag}>"#));
            }
        }
        self.html.push_str(&Html::text(std::mem::take(&mut self.gap)).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `[-removed-]` and `{+added+}` for the marks.
    fn shown(before: &str, now: &str) -> Option<String> {
        let html = marked(Lang::En, before, now)?.to_string();
        let tags = [
            (r#"<del><span class="unseen">removed: </span>"#, "[-"),
            ("</del>", "-]"),
            (r#"<ins><span class="unseen">added: </span>"#, "{+"),
            ("</ins>", "+}"),
        ];
        let text = tags.into_iter().fold(html, |text, (tag, sign)| text.replace(tag, sign));
        Some(text.strip_prefix(r#"<span class="typed">"#)?.strip_suffix("</span>")?.to_owned())
    }

    #[test]
    fn changed_words_are_marked_and_the_rest_is_not() {
        let text = shown("Leave it at the door, please", "Leave it with the neighbour, please");
        assert_eq!(text.as_deref(), Some("Leave it [-at-]{+with+} the [-door-]{+neighbour+}, please"));
        let text = shown("부재 시 경비실에 맡겨 주세요", "부재 시 문 앞에 놓아 주세요");
        assert_eq!(text.as_deref(), Some("부재 시 [-경비실에 맡겨-]{+문 앞에 놓아+} 주세요"));
    }

    #[test]
    fn words_at_the_end_are_marked_with_their_space() {
        assert_eq!(
            shown("문 앞에 놓아 주세요", "문 앞에 놓아 주세요 감사합니다").as_deref(),
            Some("문 앞에 놓아 주세요{+ 감사합니다+}")
        );
        assert_eq!(shown("same", "same").as_deref(), Some("same"));
    }

    #[test]
    fn blanks_that_alone_make_the_difference_are_seen() {
        assert_eq!(shown("ring twice", "ring twice \n").as_deref(), Some("ring twice{+␣↵\n+}"));
        assert_eq!(shown("ring  twice", "ring twice").as_deref(), Some("ring[-␣␣-]{+␣+}twice"));
    }

    #[test]
    fn texts_without_common_words_are_not_marked() {
        assert_eq!(shown("2", "3"), None);
        assert_eq!(shown("세종대로 9", "한강대로 2"), None);
        assert_eq!(shown("", "문 앞에"), None);
    }

    #[test]
    fn marks_contain_no_markup_of_the_text() {
        let text = shown("a b <i> c", "a b <b> c").expect("common words");
        assert!(!text.contains("<b>") && text.contains("&lt;"), "{text}");
    }
}
