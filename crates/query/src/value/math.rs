//! Formulas: evaluates `math("a / b + sin _")` in `f64`.
//!
//! ```text
//! sum      product (("+" | "-") product)*
//! product  power (("*" | "/" | "%") power)*
//! signed   ("-" | "+") signed | power
//! power    operand ("^" signed)?            to the right; -2^2 is -4
//! operand  number | name | "(" sum ")" | function "(" sum ")" | function sum
//! ```
//!
//! A function without parentheses takes all that follows: `sin _ + 1` is `sin(_ + 1)`. So does exp4j, the library that
//! defines these formulas for TinkerPop.

use evergraph_graph::error::{Error, Result};

/// A formula, read.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    root: Node,
    names: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
enum Node {
    Number(f64),
    /// By its place in the names.
    Name(usize),
    Negative(Box<Node>),
    Two(Operator, Box<[Node; 2]>),
    Function(Function, Box<Node>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

/// Declares the functions, by their names in formulas.
macro_rules! functions {
    ($($function:ident = $name:literal $of:expr),+ $(,)?) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum Function {
            $($function,)+
        }

        impl Function {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$function),)+
                    _ => None,
                }
            }

            fn of(self, number: f64) -> f64 {
                match self {
                    $(Self::$function => $of(number),)+
                }
            }
        }
    };
}

functions! {
    Abs = "abs" f64::abs,
    Acos = "acos" f64::acos,
    Asin = "asin" f64::asin,
    Atan = "atan" f64::atan,
    Cbrt = "cbrt" f64::cbrt,
    Ceil = "ceil" f64::ceil,
    Cos = "cos" f64::cos,
    Cosh = "cosh" f64::cosh,
    Exp = "exp" f64::exp,
    Floor = "floor" f64::floor,
    Log = "log" f64::ln,
    Log10 = "log10" f64::log10,
    Log2 = "log2" f64::log2,
    Sin = "sin" f64::sin,
    Sinh = "sinh" f64::sinh,
    Sqrt = "sqrt" f64::sqrt,
    Tan = "tan" f64::tan,
    Tanh = "tanh" f64::tanh,
    Signum = "signum" |number: f64| if number == 0.0 { 0.0 } else { number.signum() },
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// `invalid` with the place of what doesn't belong there, or past [`DEPTH_MAX`] or [`TEXT_BYTES_MAX`].
    pub fn read(text: &str) -> Result<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Error::invalid(format!("a formula is longer than {TEXT_BYTES_MAX} bytes")));
        }
        let mut reader = Reader { text, at: 0, depth: 0, names: Vec::new() };
        let root = reader.sum()?;
        match reader.peek() {
            None => Ok(Self { root, names: reader.names }),
            Some(_) => Err(reader.wrong("an operator")),
        }
    }

    /// The names in it, each once, as they come; `_` is one.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What it comes to, where `values` are those of [`Formula::names`].
    ///
    /// # Errors
    /// `invalid` for a division by zero.
    pub fn of(&self, values: &[f64]) -> Result<f64> {
        self.root.of(values)
    }
}

impl Node {
    fn of(&self, values: &[f64]) -> Result<f64> {
        Ok(match self {
            Self::Number(number) => *number,
            Self::Name(at) => values[*at],
            Self::Negative(of) => -of.of(values)?,
            Self::Function(function, of) => function.of(of.of(values)?),
            Self::Two(operator, both) => {
                let (left, right) = (both[0].of(values)?, both[1].of(values)?);
                match operator {
                    Operator::Add => left + right,
                    Operator::Subtract => left - right,
                    Operator::Multiply => left * right,
                    Operator::Divide | Operator::Remainder if right == 0.0 => {
                        return Err(Error::invalid("Division by zero!"));
                    }
                    Operator::Divide => left / right,
                    Operator::Remainder => left % right,
                    Operator::Power => left.powf(right),
                }
            }
        })
    }
}

/// Parentheses and functions within one another that a formula may have: reading it recurs.
pub const DEPTH_MAX: usize = 64;
/// Bytes that a formula may have: computing a long sum recurs as well.
pub const TEXT_BYTES_MAX: usize = 8192;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    names: Vec<String>,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<Node> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::invalid(format!("a formula is nested deeper than {DEPTH_MAX}")));
        }
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                _ => break,
            };
            left = self.two(operator, left, Self::product)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Node> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                Some('%') => Operator::Remainder,
                _ => return Ok(left),
            };
            left = self.two(operator, left, Self::signed)?;
        }
    }

    fn two(
        &mut self,
        operator: Operator,
        left: Node,
        right: impl Fn(&mut Self) -> Result<Node>,
    ) -> Result<Node> {
        self.at += 1;
        let right = right(self)?;
        Ok(Node::Two(operator, Box::new([left, right])))
    }

    fn signed(&mut self) -> Result<Node> {
        let mut negative = false;
        while let Some(sign @ ('-' | '+')) = self.peek() {
            negative ^= sign == '-';
            self.at += 1;
        }
        let power = self.power()?;
        Ok(if negative { Node::Negative(Box::new(power)) } else { power })
    }

    fn power(&mut self) -> Result<Node> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::invalid(format!("a formula is nested deeper than {DEPTH_MAX}")));
        }
        let mut left = self.operand()?;
        if self.peek() == Some('^') {
            left = self.two(Operator::Power, left, Self::signed)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Result<Node> {
        let first = self.peek().ok_or_else(|| self.wrong("a number or a name"))?;
        if first == '(' {
            return self.parenthesized();
        }
        if first.is_ascii_digit() || first == '.' {
            return self.number();
        }
        let name = self.take(|character| character == '_' || character.is_alphanumeric());
        if name.is_empty() {
            return Err(self.wrong("a number or a name"));
        }
        if let Some(function) = Function::named(&name) {
            let of = if self.peek() == Some('(') { self.parenthesized()? } else { self.sum()? };
            return Ok(Node::Function(function, Box::new(of)));
        }
        let at = self.names.iter().position(|other| *other == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        Ok(Node::Name(at))
    }

    fn parenthesized(&mut self) -> Result<Node> {
        self.at += 1;
        let inside = self.sum()?;
        if self.peek() != Some(')') {
            return Err(self.wrong("a closing parenthesis"));
        }
        self.at += 1;
        Ok(inside)
    }

    fn number(&mut self) -> Result<Node> {
        let start = self.at;
        let mut digits = self.take(|character| character.is_ascii_digit() || character == '.');
        let rest = self.text[self.at..].strip_prefix(['e', 'E']);
        let exponent = rest.map(|rest| rest.strip_prefix(['-', '+']).unwrap_or(rest));
        if exponent.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
            let sign = usize::from(exponent.map(str::len) < rest.map(str::len));
            self.at += 1 + sign;
            self.take(|character| character.is_ascii_digit());
            digits = self.text[start..self.at].to_owned();
        }
        digits.parse().map(Node::Number).map_err(|_| Error::invalid(format!("math() can't read {digits}")))
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let rest = &self.text[self.at..];
        let end = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    /// The next character that isn't blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn wrong(&self, expected: &str) -> Error {
        let text = self.text;
        let place = text[..self.at].chars().count() + 1;
        Error::invalid(format!("math() expects {expected} at character {place} of \"{text}\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, values: &[f64]) -> f64 {
        Formula::read(text).unwrap().of(values).unwrap()
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("8 - 3 - 2", 3.0),
            ("7 % 4 * 2", 6.0),
            ("-2^2", -4.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("1e3 + .5 + 2E-1", 1000.7),
            ("--3", 3.0),
        ] {
            assert_eq!(value(text, &[]), expected, "{text}");
        }
    }

    #[test]
    fn functions_take_parentheses_or_all_that_follows() {
        for (text, expected) in [
            ("sin _", 2_f64.sin()),
            ("sin(_) + 1", 2_f64.sin() + 1.0),
            ("sqrt _ + 2", 2.0),
            ("3 * abs(0 - _)", 6.0),
            ("signum(0)", 0.0),
            ("log10 100", 2.0),
            ("ceil(1.2) + floor 1.8", 3.0),
        ] {
            let formula = Formula::read(text).unwrap();
            assert_eq!(formula.of(&vec![2.0; formula.names().len()]).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn names_count_once_as_they_come() {
        let formula = Formula::read("b + a * b - _").unwrap();
        assert_eq!(formula.names(), ["b", "a", "_"]);
        assert_eq!(formula.of(&[1.0, 2.0, 3.0]).unwrap(), 0.0);
        assert_eq!(value("sine", &[4.0]), 4.0);
    }

    #[test]
    fn what_is_no_formula_is_refused_at_its_place() {
        for (text, expected) in [
            ("1 +", "math() expects a number or a name at character 4 of \"1 +\""),
            ("(1", "math() expects a closing parenthesis at character 3 of \"(1\""),
            ("1 2", "math() expects an operator at character 3 of \"1 2\""),
            ("ä $", "math() expects an operator at character 3 of \"ä $\""),
        ] {
            assert_eq!(Formula::read(text).unwrap_err().to_string(), expected);
        }
        for deep in ["(", "2^", "sin "] {
            let error = Formula::read(&deep.repeat(100)).unwrap_err().to_string();
            assert_eq!(error, "a formula is nested deeper than 64", "{deep}");
        }
        assert!(Formula::read(&"1+".repeat(100_000)).unwrap_err().to_string().contains("8192 bytes"));
        assert_eq!(value(&format!("{}1", "1+".repeat(4000)), &[]), 4001.0);
        let zero = Formula::read("1 / _").unwrap().of(&[0.0]).unwrap_err();
        assert_eq!(zero.to_string(), "Division by zero!");
    }
}
