//! Sequence diagrams of the guide: a text of a few lines becomes an SVG. `cargo xtask diagrams` writes them, and a test compares.
//!
//! ```text
//! # The title, which is also read aloud
//! kim = Kim's browser          a lane, from left to right; names at least two
//! db = Database
//! kim > db: select …           a request; `>>` an answer, `x` one that is refused, `!` a mistake
//! kim [                        a bar on this lane begins: it holds a lock, or waits; `kim ]` ends it
//! kim: prints a label          a note on a lane; `kim ok:` a good end, `kim bad:` a bad one
//! == five minutes later        time passes
//! ```
//!
//! The picture brings its own background, so that it is readable on any page, and follows the light or dark of the reader's system.

use std::fmt::Write as _;

const WIDTH: usize = 600;
const MARGIN: usize = 92;
/// Of a line of text.
const LINE: usize = 19;
const GAP: usize = 14;
const NOTE: usize = 168;

const STYLE: &str = "svg{--page:#fff;--ink:#1f2328;--soft:#59636e;--line:#b6bec8;--box:#eef2f6;--bar:#b9d3f5;--good:#116329;--bad:#b3202a}\
@media(prefers-color-scheme:dark){svg{--page:#161b22;--ink:#e6edf3;--soft:#9ea7b3;--line:#4a535e;--box:#262d36;--bar:#1f4a7f;--good:#56d364;--bad:#ff8680}}\
text{font:15px system-ui,'Noto Sans KR','Noto Sans CJK KR',sans-serif;fill:var(--ink);text-anchor:middle}\
.head{font-weight:600}.soft{fill:var(--soft)}.life{stroke:var(--line)}.box{fill:var(--box);stroke:var(--line)}.bar{fill:var(--bar)}\
.arrow{stroke:var(--ink);fill:none;stroke-width:1.5}.tip{fill:var(--ink)}.back{stroke-dasharray:5 4}\
.halo{paint-order:stroke;stroke:var(--page);stroke-width:5px;stroke-linejoin:round}\
.good{fill:var(--good)}.bad{fill:var(--bad)}.goodline{stroke:var(--good)}.badline{stroke:var(--bad)}.box.goodline,.box.badline{fill:var(--page)}\
.badtip{fill:var(--bad)}";

enum Arrow {
    Request,
    Answer,
    Refused,
    Mistake,
}

enum Mood {
    Plain,
    Good,
    Bad,
}

enum Step<'a> {
    Message { from: usize, to: usize, arrow: Arrow, text: &'a str },
    Note { lane: usize, mood: Mood, text: &'a str },
    Bar { lane: usize, begins: bool },
    Pause(&'a str),
}

struct Diagram<'a> {
    title: &'a str,
    lanes: Vec<(&'a str, &'a str)>,
    steps: Vec<Step<'a>>,
}

/// The picture of a text.
///
/// # Errors
/// A line that is not understood.
pub fn svg(text: &str) -> Result<String, String> {
    let diagram = read(text)?;
    Ok(draw(&diagram))
}

/// The text without its words: translations have the same.
///
/// # Errors
/// A line that is not understood.
pub fn shape(text: &str) -> Result<Vec<String>, String> {
    read(text)?;
    let lines = text.lines().filter(|line| !line.is_empty());
    let shape = |line: &str| {
        let ends = line.find([':', '=']).map_or(line.len(), |at| at + 1);
        if line.starts_with('#') { "#" } else { &line[..ends] }.to_owned()
    };
    Ok(lines.map(shape).collect())
}

fn read(text: &str) -> Result<Diagram<'_>, String> {
    let mut diagram = Diagram { title: "", lanes: Vec::new(), steps: Vec::new() };
    for line in text.lines().filter(|line| !line.is_empty()) {
        let lane = |name: &str| {
            let at = diagram.lanes.iter().position(|(known, _)| *known == name);
            at.ok_or_else(|| format!("`{line}`: no lane `{name}`"))
        };
        let (before, said) = line.split_once(": ").unwrap_or((line, ""));
        let words: Vec<_> = before.split_whitespace().collect();
        let step = match words[..] {
            ["#", ..] => {
                diagram.title = line[1..].trim();
                continue;
            }
            ["==", ..] => Step::Pause(line[2..].trim()),
            [name, "=", ..] => {
                diagram.lanes.push((name, line[name.len()..].trim_start().trim_start_matches('=').trim()));
                continue;
            }
            [name, "["] => Step::Bar { lane: lane(name)?, begins: true },
            [name, "]"] => Step::Bar { lane: lane(name)?, begins: false },
            [from, arrow, to] => {
                let arrow = match arrow {
                    ">" => Arrow::Request,
                    ">>" => Arrow::Answer,
                    "x" => Arrow::Refused,
                    "!" => Arrow::Mistake,
                    _ => return Err(format!("`{line}`: no arrow `{arrow}`")),
                };
                Step::Message { from: lane(from)?, to: lane(to)?, arrow, text: said }
            }
            [name, "ok"] => Step::Note { lane: lane(name)?, mood: Mood::Good, text: said },
            [name, "bad"] => Step::Note { lane: lane(name)?, mood: Mood::Bad, text: said },
            [name] => Step::Note { lane: lane(name)?, mood: Mood::Plain, text: said },
            _ => return Err(format!("`{line}` is not understood")),
        };
        diagram.steps.push(step);
    }
    if diagram.title.is_empty() || diagram.lanes.len() < 2 {
        return Err("a title and two lanes are needed".into());
    }
    Ok(diagram)
}

fn draw(diagram: &Diagram<'_>) -> String {
    let apart = (WIDTH - 2 * MARGIN) / (diagram.lanes.len() - 1);
    let x = |lane: usize| MARGIN + lane * apart;
    let (mut body, mut bars, mut open) = (String::new(), String::new(), vec![None; diagram.lanes.len()]);
    let heads: Vec<_> = diagram.lanes.iter().map(|(_, name)| wrapped(name, NOTE - 16)).collect();
    let head = heads.iter().map(Vec::len).max().unwrap_or(1) * LINE + 18;
    for (lane, lines) in heads.iter().enumerate() {
        boxed(&mut body, x(lane), 16, head, "", "head", lines);
    }
    let mut y = 16 + head + GAP;
    for step in &diagram.steps {
        match step {
            Step::Message { from, to, arrow, text } => {
                let (left, right) = (x(*from).min(x(*to)), x(*from).max(x(*to)));
                let lines = wrapped(text, right - left - 22);
                let kind = match arrow {
                    Arrow::Request => ("", "tip", ""),
                    Arrow::Answer => (" back", "tip", ""),
                    Arrow::Refused => (" back badline", "badtip", "bad "),
                    Arrow::Mistake => (" badline", "badtip", "bad "),
                };
                written(&mut body, (left + right) / 2, y, &format!("{}halo", kind.2), &lines);
                y += lines.len() * LINE + 6;
                let (start, end) = (x(*from), x(*to));
                let (start, point, back) =
                    if start < end { (start + 6, end - 6, end - 15) } else { (start - 6, end + 6, end + 15) };
                let _ = writeln!(body, "<path class=\"arrow{}\" d=\"M{start} {y}H{back}\"/>", kind.0);
                let (over, under) = (y - 5, y + 5);
                let _ = writeln!(body, "<path class=\"{}\" d=\"M{point} {y}L{back} {over}V{under}z\"/>", kind.1);
                y += GAP;
            }
            Step::Note { lane, mood, text } => {
                let lines = wrapped(text, NOTE - 16);
                let height = lines.len() * LINE + 10;
                let (border, words) = match mood {
                    Mood::Plain => ("", ""),
                    Mood::Good => (" goodline", "good"),
                    Mood::Bad => (" badline", "bad"),
                };
                boxed(&mut body, x(*lane), y, height, border, words, &lines);
                y += height + GAP;
            }
            Step::Bar { lane, begins: true } => open[*lane] = Some(y - 4),
            Step::Bar { lane, begins: false } => {
                let from = open[*lane].take().unwrap_or(y);
                let (left, height) = (x(*lane) - 5, y - from - 4);
                let _ = writeln!(
                    bars,
                    "<rect class=\"bar\" x=\"{left}\" y=\"{from}\" width=\"10\" height=\"{height}\" rx=\"3\"/>"
                );
            }
            Step::Pause(text) => {
                let (line, width) = (y + LINE / 2, WIDTH - 16);
                let _ = writeln!(body, "<path class=\"life\" stroke-dasharray=\"2 4\" d=\"M16 {line}H{width}\"/>");
                written(&mut body, WIDTH / 2, y, "soft halo", &[(*text).to_owned()]);
                y += LINE + GAP;
            }
        }
    }
    let (top, height) = (16 + head, y + 10);
    let lives: String = (0..diagram.lanes.len())
        .map(|lane| format!("<path class=\"life\" d=\"M{0} {top}V{y}\"/>\n", x(lane)))
        .collect();
    let title = escaped(diagram.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"10\" style=\"fill:var(--page)\"/>\n{lives}{bars}{body}</svg>\n"
    )
}

fn boxed(body: &mut String, x: usize, y: usize, height: usize, border: &str, words: &str, lines: &[String]) {
    let (left, above) = (x - NOTE / 2, y + (height - lines.len() * LINE) / 2);
    let _ = writeln!(
        body,
        "<rect class=\"box{border}\" x=\"{left}\" y=\"{y}\" width=\"{NOTE}\" height=\"{height}\" rx=\"6\"/>"
    );
    written(body, x, above, words, lines);
}

fn written(body: &mut String, x: usize, y: usize, class: &str, lines: &[String]) {
    for (row, line) in lines.iter().enumerate() {
        let base = y + row * LINE + 14;
        let _ = writeln!(body, "<text class=\"{class}\" x=\"{x}\" y=\"{base}\">{}</text>", escaped(line));
    }
}

/// As few lines of at most this width as possible, about equally long. The width is an estimate: a reader's font is not known.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let needed = broken(text, width).len();
    let narrowest = (1..=width).find(|width| broken(text, *width).len() == needed);
    broken(text, narrowest.unwrap_or(width))
}

fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if lines[last].is_empty() {
            lines[last].push_str(word);
        } else if measured(&lines[last]) + measured(" ") + measured(word) <= width {
            lines[last] = format!("{} {word}", lines[last]);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn measured(text: &str) -> usize {
    let tenths = |letter: char| match letter {
        'i' | 'l' | 'j' | 't' | 'f' | 'r' | '.' | ',' | ':' | '\'' | '(' | ')' | ' ' => 50,
        'm' | 'w' | 'M' | 'W' => 125,
        letter if letter.is_ascii_uppercase() || letter == '_' => 98,
        letter if letter.is_ascii() => 83,
        _ => 140,
    };
    text.chars().map(tenths).sum::<usize>() / 10
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_a_picture() {
        let text = "# Two\nkim = Kim\ndb = A < B\n\nkim > db: select\ndb >> kim: row\n== later\nkim bad: wrong\n";
        let picture = svg(text).expect("it is understood");
        assert!(picture.contains("<title>Two</title>") && picture.contains("A &lt; B"), "{picture}");
        assert_eq!(shape(text).expect("it is understood")[1..4], ["kim =", "db =", "kim > db:"]);
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error() {
        for line in ["lee > db: x", "kim ? db: x", "kim db a b"] {
            assert!(svg(&format!("# T\nkim = Kim\ndb = D\n{line}\n")).is_err(), "{line}");
        }
    }

    #[test]
    fn long_texts_wrap_into_lines_of_about_equal_length() {
        assert_eq!(wrapped("one two three four", 110), ["one two", "three four"]);
        assert_eq!(wrapped("", 60), [""]);
    }
}
