//! The languages whose syntax is known.

#[cfg(feature = "code")]
use std::ops::ControlFlow;

#[cfg(feature = "code")]
use tree_sitter::{ParseOptions, ParseState, Parser};
#[cfg(feature = "code")]
use tree_sitter_language::LanguageFn;

/// Levels of brackets in a part of a file that is cut by its syntax. For thousands of them the parser alone takes seconds.
#[cfg(feature = "code")]
const MOST_BRACKETS: usize = 64;
/// The most that the parser may do for each kilobyte, in hundreds of its steps. Code takes up to 33, even squeezed by a machine; what
/// is no code at all takes up to thousands, and a second for each hundred.
#[cfg(feature = "code")]
const MOST_STEPS: usize = 100;
/// The most nodes that the splitter may have to look at: for about half a second. Written code needs up to 25 million, squeezed code
/// ten times as many.
#[cfg(feature = "code")]
const MOST_LOOKS: usize = 250_000_000;

/// Whether a part of a file can be cut by its syntax in about a second. Only the text decides, so it is always cut alike.
///
/// For every chunk the splitter looks through all nodes once for each level, and each level may end a chunk: where statements or
/// broken code nest hundreds of levels deep, that would take minutes.
#[cfg(feature = "code")]
pub(super) fn can_be_cut_by_syntax(grammar: LanguageFn, part: &str) -> bool {
    let looks = |(nodes, depth): (usize, usize)| nodes.saturating_mul(depth).saturating_mul(depth + super::CODE_SECTION_CHUNKS);
    !has_many_brackets(part) && extent(grammar, part).is_some_and(|extent| looks(extent) <= MOST_LOOKS)
}

#[cfg(feature = "code")]
fn has_many_brackets(part: &str) -> bool {
    let mut open = 0usize;
    part.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > MOST_BRACKETS
    })
}

/// How many nodes the syntax of a part has, and how many levels; `None` when the parser has too much to do.
#[cfg(feature = "code")]
fn extent(grammar: LanguageFn, part: &str) -> Option<(usize, usize)> {
    let mut parser = Parser::new();
    parser.set_language(&grammar.into()).expect("grammar and parser are of the same release");
    let mut left = MOST_STEPS * part.len().div_ceil(1000);
    let mut goes_on = |_: &ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut goes_on);
    let tree = parser.parse_with_options(&mut |at, _| &part.as_bytes()[at..], None, Some(options))?;
    let mut cursor = tree.walk();
    let (mut nodes, mut depth) = (1, 0);
    loop {
        if !cursor.goto_first_child() {
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Some((nodes, depth));
                }
            }
        }
        (nodes, depth) = (nodes + 1, depth.max(cursor.depth() as usize));
    }
}

/// A programming language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Bash,
    C,
    CSharp,
    Cpp,
    Go,
    Java,
    JavaScript,
    Php,
    Python,
    Ruby,
    Rust,
    Tsx,
    TypeScript,
}

impl Language {
    /// By the extension of a file, in lower case. `None` without the feature `code`.
    pub(crate) fn of(extension: &str) -> Option<Self> {
        let language = match extension {
            "sh" | "bash" => Self::Bash,
            "c" => Self::C,
            // The grammar of C++ takes C as well.
            "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" => Self::Cpp,
            "cs" => Self::CSharp,
            "go" => Self::Go,
            "java" => Self::Java,
            "cjs" | "js" | "jsx" | "mjs" => Self::JavaScript,
            "php" => Self::Php,
            "py" | "pyi" => Self::Python,
            "rb" => Self::Ruby,
            "rs" => Self::Rust,
            "cts" | "mts" | "ts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            _ => return None,
        };
        cfg!(feature = "code").then_some(language)
    }

    /// For a part of a file.
    #[cfg(feature = "code")]
    pub(super) fn grammar(self, part: &str) -> LanguageFn {
        match self {
            Self::Bash => tree_sitter_bash::LANGUAGE,
            Self::C => tree_sitter_c::LANGUAGE,
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE,
            Self::Cpp => tree_sitter_cpp::LANGUAGE,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::Php if part.contains("<?") => tree_sitter_php::LANGUAGE_PHP,
            // After the first part of a long file nothing says that it is code, and not the page around it.
            Self::Php => tree_sitter_php::LANGUAGE_PHP_ONLY,
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::Ruby => tree_sitter_ruby::LANGUAGE,
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        }
    }
}

#[cfg(all(test, feature = "code"))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{
        chunk::{Chunker, Sections, Structure},
        measure::Measure,
    };

    /// Every extension whose syntax is known, what stands around the items, and how an item looks: `NAME` is its name.
    /// Blank lines stand inside the items and not between them, so that only the syntax tells where one ends.
    const SOURCES: &[(&[&str], &str, &str, &str)] = &[
        (
            &["sh", "bash"],
            "",
            "NAME() {\n  local sum=0\n\n  for number in \"$@\"; do\n    sum=$((sum + number))\n  done\n\n  echo \"$sum\"\n}\n",
            "",
        ),
        (
            &["c"],
            "",
            "int NAME(int count) {\n    int sum = 0;\n\n    for (int i = 0; i < count; i++) {\n        sum += i;\n    }\n\n    return sum;\n}\n",
            "",
        ),
        (
            &["cc", "cpp", "cxx", "h", "hh", "hpp", "hxx"],
            "namespace store {\n",
            "template <typename T> T NAME(T count) {\n    auto sum = T{};\n\n    for (T i{}; i < count; ++i) {\n        sum += i;\n    }\n\n    return sum;\n}\n",
            "}\n",
        ),
        (
            &["cs"],
            "class Store {\n",
            "    int NAME(int count) {\n        var sum = 0;\n\n        for (var i = 0; i < count; i++) {\n            sum += i;\n        }\n\n        return sum;\n    }\n",
            "}\n",
        ),
        (
            &["go"],
            "package store\n",
            "func NAME(count int) int {\n\tsum := 0\n\n\tfor i := 0; i < count; i++ {\n\t\tsum += i\n\t}\n\n\treturn sum\n}\n",
            "",
        ),
        (
            &["java"],
            "class Store {\n",
            "    int NAME(int count) {\n        int sum = 0;\n\n        for (int i = 0; i < count; i++) {\n            sum += i;\n        }\n\n        return sum;\n    }\n",
            "}\n",
        ),
        (
            &["js", "jsx", "cjs", "mjs"],
            "",
            "function NAME(count) {\n  let sum = 0;\n\n  for (let i = 0; i < count; i++) {\n    sum += i;\n  }\n\n  return sum;\n}\n",
            "",
        ),
        (
            &["php"],
            "<?php\n",
            "function NAME($count) {\n    $sum = 0;\n\n    for ($i = 0; $i < $count; $i++) {\n        $sum += $i;\n    }\n\n    return $sum;\n}\n",
            "",
        ),
        (
            &["py", "pyi"],
            "",
            "def NAME(count):\n    total = 0\n\n    for number in range(count):\n        total += number\n\n    return total + count * 2\n",
            "",
        ),
        (
            &["rb"],
            "",
            "def NAME(count)\n  sum = 0\n\n  count.times do |number|\n    sum += number\n  end\n\n  sum + count * 2\nend\n",
            "",
        ),
        (
            &["rs"],
            "",
            "fn NAME(count: u32) -> u32 {\n    let mut sum = 0;\n\n    for number in 0..count {\n        sum += number;\n    }\n\n    sum\n}\n",
            "",
        ),
        (
            &["tsx"],
            "",
            "function NAME(count: number) {\n  let sum = 0;\n\n  sum += count * 2;\n\n  return <p className=\"sum\">The sum is {sum}</p>;\n}\n",
            "",
        ),
        (
            &["ts", "cts", "mts"],
            "",
            "function NAME(count: number): number {\n  let sum = 0;\n\n  for (let i = 0; i < count; i++) {\n    sum += i;\n  }\n\n  return sum;\n}\n",
            "",
        ),
    ];
    const NAMES: [&str; 12] =
        ["add", "bill", "count", "draw", "enter", "fetch", "gather", "hold", "infer", "join", "keep", "list"];

    fn chunks(text: &str, structure: Structure, size: usize) -> Vec<&str> {
        Chunker { size, overlap: 0, measure: Measure::Characters }
            .split(text, structure, &[])
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn chunks_end_where_items_end_in_every_language() {
        for (extensions, before, item, after) in SOURCES {
            let items: Vec<String> = NAMES.iter().map(|name| item.replace("NAME", name)).collect();
            let text = format!("{before}{}{after}", items.concat());
            // Room for two items and a half.
            let size = item.len() * 5 / 2;
            let cut = |structure: Structure| {
                let chunks = chunks(&text, structure, size);
                assert!(chunks.len() > 3, "{chunks:?}");
                items.iter().filter(|item| !chunks.iter().any(|chunk| chunk.contains(item.trim()))).count()
            };
            for extension in *extensions {
                let language = Language::of(extension).expect("it is known");
                assert_eq!(cut(Structure::Code(language)), 0, "{extension}");
            }
            assert!(cut(Structure::Plain) > 0, "{}: without the syntax they would be cut", extensions[0]);
        }
    }

    #[test]
    fn every_extension_that_is_read_as_code_is_tested() {
        let mut tested: Vec<&str> = SOURCES.iter().flat_map(|(extensions, ..)| *extensions).copied().collect();
        tested.sort_unstable();
        assert_eq!(tested, crate::extract::CODE);
    }

    #[test]
    fn a_long_file_is_sectioned_between_items() {
        for (extensions, before, item, after) in SOURCES {
            let items: Vec<String> = (0..400).map(|number| item.replace("NAME", &format!("item_{number:03}"))).collect();
            let text = format!("{before}{}{after}", items.join("\n"));
            let size = item.len() * 5 / 2;
            let language = Language::of(extensions[0]).expect("it is known");
            let chunks = chunks(&text, Structure::Code(language), size);
            let cut: Vec<&String> = items.iter().filter(|item| !chunks.iter().any(|chunk| chunk.contains(item.trim()))).collect();
            assert!(cut.is_empty(), "{}: {cut:?}", extensions[0]);
        }
    }

    #[test]
    fn broken_code_is_cut_like_text_and_loses_nothing() {
        let nasty = [
            "(",
            "{",
            "[",
            "if (",
            "<<EOF\n",
            "\"",
            "'''",
            "`${",
            "/*",
            "<a>",
            "#if\n",
            "class A {",
            "\t\n  x:\n",
            "end\n",
            "保",
            "%w(",
            "::<",
            "a + ",
            "a.b(1)\n.",
            "else if (a) ",
        ];
        let begun = Instant::now();
        let chunker = Chunker { size: 1000, overlap: 150, measure: Measure::Characters };
        for (extensions, before, item, _) in SOURCES {
            let language = Language::of(extensions[0]).expect("it is known");
            let mut texts: Vec<String> = nasty.iter().map(|unit| unit.repeat(9_000 / unit.len())).collect();
            // Half an item, words, and what follows them.
            texts.push(format!("{before}{}\n{}{}", &item[..item.len() / 2], "just words. ".repeat(500), item.repeat(5)));
            for text in texts {
                let started = Instant::now();
                let mut end = 0;
                for range in chunker.split(&text, Structure::Code(language), &[]) {
                    assert!(text[end..range.start.max(end)].trim().is_empty(), "{language:?}: lost before {range:?}");
                    assert!(text[range.clone()].chars().count() <= 1000);
                    end = range.end;
                }
                assert!(text[end..].trim().is_empty(), "{language:?}: lost after {end}");
                assert!(started.elapsed() < Duration::from_secs(60), "{language:?}: {:?}", &text[..text.floor_char_boundary(20)]);
            }
        }
        eprintln!("{} broken texts in each of {} languages in {:?}", nasty.len() + 1, SOURCES.len(), begun.elapsed());
    }

    #[test]
    fn what_takes_the_splitter_or_the_parser_too_long_is_cut_like_text() {
        for (extensions, before, item, after) in SOURCES {
            let language = Language::of(extensions[0]).expect("it is known");
            let text = format!("{before}{}{after}", item.repeat(8000 / item.len()));
            assert!(can_be_cut_by_syntax(language.grammar(&text), &text), "{language:?}");
        }
        let deep = ["if a:\n ".repeat(1000), "lambda: ".repeat(1000), "(".repeat(8000), "::<".repeat(2700)];
        for text in deep {
            assert!(!can_be_cut_by_syntax(Language::Cpp.grammar(&text), &text), "{:.20}", text);
        }
    }

    #[test]
    fn the_code_of_this_repository_is_cut_by_its_syntax() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut parts = 0;
        for entry in ignore::Walk::new(root).filter_map(Result::ok) {
            let extension = entry.path().extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            let Some(language) = Language::of(extension) else { continue };
            let text = std::fs::read_to_string(entry.path()).expect("it is text");
            for section in (Sections { text: &text, headings: &[], at: 0, most: 8000, is_code: true }) {
                let part = &text[section];
                assert!(can_be_cut_by_syntax(language.grammar(part), part), "{}: {part}", entry.path().display());
                parts += 1;
            }
        }
        assert!(parts > 100, "{parts}");
    }

    #[test]
    fn what_is_no_known_language_has_none() {
        assert_eq!(Language::of("kt"), None);
        assert_eq!(Language::of(""), None);
    }
}
