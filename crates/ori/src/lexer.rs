//! The lexer of Ori's text form.

use std::fmt;

/// A position in a text. Lines and columns count from one; columns are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A syntax error with its position: what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {message}", position.line, position.column)]
pub struct ParseError {
    /// The position.
    pub position: TextPosition,
    /// The message.
    pub message: String,
}

/// A token. Words keep their dots, so that `LD.global.b32` and `tid.x` are one each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// `%5`, without the sign.
    Register(&'a str),
    /// Digits and adjacent characters: `12`, `0x1f`, `1.5f32`, `1e-7f64`. The sign is a token of
    /// its own.
    Number(&'a str),
    /// A quoted name, without quotes and escapes.
    Quoted(String),
    Symbol(char),
    Newline,
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) => write!(out, "`{text}`"),
            Self::Register(text) => write!(out, "`%{text}`"),
            Self::Quoted(text) => write!(out, "{text:?}"),
            Self::Symbol(symbol) => write!(out, "`{symbol}`"),
            Self::Newline => out.write_str("the end of the line"),
            Self::End => out.write_str("the end of the text"),
        }
    }
}

/// True if a word can begin with the character.
fn starts_word(character: char) -> bool {
    character.is_ascii_alphabetic() || matches!(character, '_' | '$' | '.')
}

fn continues_word(character: char) -> bool {
    starts_word(character) || character.is_ascii_digit()
}

/// True if a name is a word, so that it needs no quotes.
pub(super) fn is_word(name: &str) -> bool {
    name.starts_with(starts_word) && name.chars().all(continues_word)
}

/// Returns all tokens. The last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, TextPosition)>, ParseError> {
    let mut lexer = Lexer {
        rest: text,
        position: TextPosition { line: 1, column: 1 },
    };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let position = lexer.position;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, position));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    position: TextPosition,
}

impl<'a> Lexer<'a> {
    /// Takes this many bytes, which must end between characters.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        for character in taken.chars() {
            if character == '\n' {
                self.position.line += 1;
                self.position.column = 1;
            } else {
                self.position.column += 1;
            }
        }
        taken
    }

    /// Returns the length of the run of such characters from a byte on.
    fn run(&self, from: usize, belongs: impl Fn(char) -> bool) -> usize {
        let rest = &self.rest[from..];
        rest.find(|character| !belongs(character)).unwrap_or(rest.len())
    }

    fn skip_blanks(&mut self) {
        loop {
            let blanks = self.run(0, |character| character.is_whitespace() && character != '\n');
            self.take(blanks);
            if !self.rest.starts_with("//") {
                return;
            }
            let comment = self.run(0, |character| character != '\n');
            self.take(comment);
        }
    }

    fn token(&mut self) -> Result<Token<'a>, ParseError> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(Token::End);
        };
        Ok(match first {
            '\n' => {
                self.take(1);
                Token::Newline
            }
            '%' => {
                let digits = self.run(1, |character| character.is_ascii_digit());
                if digits == 0 {
                    return Err(self.error("expected a register's number after `%`"));
                }
                Token::Register(&self.take(1 + digits)[1..])
            }
            '"' => Token::Quoted(self.quoted()?),
            first if first.is_ascii_digit() => Token::Number(self.number()),
            first if starts_word(first) => Token::Word(self.word()),
            '{' | '}' | '(' | ')' | '[' | ']' | '=' | ',' | ':' | '+' | '-' | '~' | '!' | '|' | '@' | '&' => {
                self.take(1);
                Token::Symbol(first)
            }
            other => return Err(self.error(format!("unexpected character {other:?}"))),
        })
    }

    /// Takes a word. Two colons belong to it if a word follows, as in `shared::cluster`.
    fn word(&mut self) -> &'a str {
        let mut length = self.run(0, continues_word);
        while self.rest[length..].starts_with("::") {
            match self.run(length + 2, continues_word) {
                0 => break,
                more => length += 2 + more,
            }
        }
        self.take(length)
    }

    /// Takes a number. After the `e` of a decimal number, a sign belongs to it.
    fn number(&mut self) -> &'a str {
        let belongs = |character: char| character.is_ascii_alphanumeric() || character == '.';
        let mut length = self.run(0, belongs);
        let is_decimal = !self.rest.starts_with("0x");
        if is_decimal
            && self.rest[..length].ends_with('e')
            && self.rest[length..].starts_with(['-', '+'])
            && self.run(length + 1, |character| character.is_ascii_digit()) != 0
        {
            length += 1 + self.run(length + 1, belongs);
        }
        self.take(length)
    }

    fn quoted(&mut self) -> Result<String, ParseError> {
        self.take(1);
        let mut name = String::new();
        loop {
            let plain = self.run(0, |character| !matches!(character, '"' | '\\' | '\n'));
            name.push_str(self.take(plain));
            match self.rest.chars().next() {
                Some('"') => {
                    self.take(1);
                    return Ok(name);
                }
                Some('\\') => name.push(self.escape()?),
                _ => return Err(self.error("expected `\"` at the end of a name")),
            }
        }
    }

    /// `\\`, `\"` or `\u{1f}`.
    fn escape(&mut self) -> Result<char, ParseError> {
        let escape = &self.rest[1..];
        if let Some(character @ ('"' | '\\')) = escape.chars().next() {
            self.take(2);
            return Ok(character);
        }
        let character = escape
            .strip_prefix("u{")
            .and_then(|code| code.split_once('}'))
            .and_then(|(digits, _)| {
                let code = u32::from_str_radix(digits, 16).ok()?;
                Some((char::from_u32(code)?, digits.len()))
            });
        match character {
            Some((character, digits)) => {
                self.take("\\u{}".len() + digits);
                Ok(character)
            }
            None => Err(self.error("expected `\\\\`, `\\\"` or `\\u{…}`")),
        }
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError {
            position: self.position,
            message: message.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Token<'_>> {
        let tokens = tokens(text).expect("the text has tokens");
        tokens.into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn words_keep_dots_and_double_colons() {
        let expected = [
            Token::Word("LD.shared::cluster.b32"),
            Token::Symbol('['),
            Token::Register("5"),
            Token::Symbol('+'),
            Token::Number("8"),
            Token::Symbol(']'),
            Token::Newline,
            Token::Word("bix0"),
            Token::Symbol(':'),
            Token::End,
        ];
        assert_eq!(
            kinds("LD.shared::cluster.b32 [%5+8] // a comment\nbix0:"),
            expected
        );
    }

    #[test]
    fn signs_belong_to_exponents_only() {
        let expected = [
            Token::Number("1e-7f32"),
            Token::Symbol('-'),
            Token::Number("0x1e"),
            Token::Symbol('-'),
        ];
        assert_eq!(kinds("1e-7f32-0x1e-")[..4], expected);
    }

    #[test]
    fn quotes_hold_any_name() {
        assert_eq!(
            kinds(r#""a \"b\" \\ \u{a}é""#)[0],
            Token::Quoted("a \"b\" \\ \né".to_owned())
        );
    }

    #[test]
    fn errors_say_where() {
        let error = tokens("bix0:\n  é #").expect_err("`é` is no token");
        assert_eq!(error.to_string(), "2:3: unexpected character 'é'");
        for text in ["%", "\"a", "\"\\q\"", "\"\\u{110000}\"", "\"\n\""] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
