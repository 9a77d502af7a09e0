//! Tokens: the words of Gremlin's enumerations, such as `Order.desc` or `T.id`.
//!
//! In text a token stands with its enumeration or alone. Alone, `id` or `values` may also be a
//! variable: which it is depends on what the call expects, so the check decides it, not the parser.

/// Declares the enumerations: a type each, and what holds of all of them.
macro_rules! enumerations {
    ($($(#[$about:meta])* $kind:ident, $name:literal: { $($token:ident = $word:literal $(| $other:literal)*),+ $(,)? })+) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
            pub enum $kind {
                $(#[doc = concat!("`", $name, ".", $word, "`.")] $token,)+
            }

            impl $kind {
                /// The token that `word` stands for, if there is one.
                #[must_use]
                pub fn from_word(word: &str) -> Option<Self> {
                    match word {
                        $($word $(| $other)* => Some(Self::$token),)+
                        _ => None,
                    }
                }

                /// How the token is written, without its enumeration.
                #[must_use]
                pub const fn word(self) -> &'static str {
                    match self {
                        $(Self::$token => $word,)+
                    }
                }
            }
        )+

        /// A word of an enumeration.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Token {
            $(#[doc = concat!("A word of `", $name, "`.")] $kind($kind),)+
        }

        /// An enumeration.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Enumeration {
            $(#[doc = concat!("`", $name, "`.")] $kind,)+
        }

        impl Enumeration {
            /// All of them. A word that several have means the first of them that may stand in its place.
            pub const ALL: &[Enumeration] = &[$(Enumeration::$kind,)+];

            /// The enumeration called `name`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$kind),)+
                    _ => None,
                }
            }

            /// What it is called in text.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            /// Its words, without the other names that some have.
            #[must_use]
            pub const fn words(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$($word,)+],)+
                }
            }

            /// Its token that `word` stands for, if there is one.
            #[must_use]
            pub fn token(self, word: &str) -> Option<Token> {
                match self {
                    $(Self::$kind => $kind::from_word(word).map(Token::$kind),)+
                }
            }
        }

        impl Token {
            /// How it is written, without its enumeration.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Token::$kind(token) => token.word(),)+
                }
            }

            /// The enumeration that it is of.
            #[must_use]
            pub const fn enumeration(self) -> Enumeration {
                match self {
                    $(Token::$kind(_) => Enumeration::$kind,)+
                }
            }
        }
    };
}

// Those that may stand for any value come first, in the order in which the grammar tries them.
enumerations! {
    /// Parts of an element that are no properties.
    T, "T": { Id = "id", Label = "label", Key = "key", Value = "value" }
    /// How many values of one key a vertex may have.
    Cardinality, "Cardinality": { Single = "single", Set = "set", List = "list" }
    /// Which way an edge is followed; `from` is the end it goes out of.
    Direction, "Direction": { Out = "OUT" | "from", In = "IN" | "to", Both = "BOTH" }
    /// Events and ends of `mergeV` and `mergeE`.
    Merge, "Merge": { OnCreate = "onCreate", OnMatch = "onMatch", OutV = "outV", InV = "inV" }
    /// Options of `choose` and `branch` that no value names.
    Pick, "Pick": { Any = "any", None = "none", Unproductive = "unproductive" }
    /// Units of time.
    DT, "DT": { Second = "second", Minute = "minute", Hour = "hour", Day = "day" }
    /// Types of values.
    GType, "GType": {
        BigDecimal = "BIGDECIMAL" | "bigDecimal",
        BigInt = "BIGINT" | "bigInt",
        Binary = "BINARY" | "binary",
        Boolean = "BOOLEAN" | "boolean",
        Byte = "BYTE" | "byte",
        Char = "CHAR" | "char",
        DateTime = "DATETIME" | "datetime",
        Double = "DOUBLE" | "double",
        Duration = "DURATION" | "duration",
        Edge = "EDGE" | "edge",
        Float = "FLOAT" | "float",
        Graph = "GRAPH" | "graph",
        Int = "INT" | "int",
        List = "LIST" | "list",
        Long = "LONG" | "long",
        Map = "MAP" | "map",
        Null = "NULL" | "null",
        Number = "NUMBER" | "number",
        Path = "PATH" | "path",
        Property = "PROPERTY" | "property",
        Set = "SET" | "set",
        Short = "SHORT" | "short",
        String = "STRING" | "string",
        Tree = "TREE" | "tree",
        Uuid = "UUID" | "uuid",
        Vertex = "VERTEX" | "vertex",
        VProperty = "VPROPERTY" | "vproperty",
    }
    /// Which way results are ordered.
    Order, "Order": { Asc = "asc", Desc = "desc", Shuffle = "shuffle" }
    /// Whether a step works on the whole stream or within each value.
    Scope, "Scope": { Local = "local", Global = "global" }
    /// Which of the values that a step was labelled for is meant.
    Pop, "Pop": { First = "first", Last = "last", All = "all", Mixed = "mixed" }
    /// The keys or the values of a map.
    Column, "Column": { Keys = "keys", Values = "values" }
    /// Functions of two values.
    Operator, "Operator": {
        AddAll = "addAll",
        And = "and",
        Assign = "assign",
        Div = "div",
        Max = "max",
        Min = "min",
        Minus = "minus",
        Mult = "mult",
        Or = "or",
        Sum = "sum",
        SumLong = "sumLong",
    }
    /// What a barrier does with those that wait at it.
    Barrier, "Barrier": { NormSack = "normSack" }
    /// Options of `valueMap`, `index` and their like.
    WithOptions, "WithOptions": {
        Tokens = "tokens",
        None = "none",
        Ids = "ids",
        Labels = "labels",
        Keys = "keys",
        Values = "values",
        All = "all",
        Indexer = "indexer",
        List = "list",
        Map = "map",
    }
    /// Options of `pageRank`.
    PageRank, "PageRank": { Edges = "edges", Times = "times", PropertyName = "propertyName" }
    /// Options of `peerPressure`.
    PeerPressure, "PeerPressure": { Edges = "edges", Times = "times", PropertyName = "propertyName" }
    /// Options of `connectedComponent`.
    ConnectedComponent, "ConnectedComponent": {
        Component = "component",
        Edges = "edges",
        PropertyName = "propertyName",
    }
    /// Options of `shortestPath`.
    ShortestPath, "ShortestPath": {
        Target = "target",
        Edges = "edges",
        Distance = "distance",
        MaxDistance = "maxDistance",
        IncludeEdges = "includeEdges",
    }
    /// Options of `io`.
    Io, "IO": { Reader = "reader", Writer = "writer", Gryo = "gryo", GraphSon = "graphson", GraphMl = "graphml" }
}

impl Enumeration {
    /// Whether its words may stand without its name. Those of options may not.
    #[must_use]
    pub const fn has_short_form(self) -> bool {
        !matches!(
            self,
            Self::WithOptions
                | Self::PageRank
                | Self::PeerPressure
                | Self::ConnectedComponent
                | Self::ShortestPath
                | Self::Io
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_as_its_token() {
        for enumeration in Enumeration::ALL {
            assert_eq!(Enumeration::from_name(enumeration.name()), Some(*enumeration));
            for word in enumeration.words() {
                let token = enumeration.token(word).expect(word);
                assert_eq!((token.word(), token.enumeration()), (*word, *enumeration));
            }
            assert_eq!(enumeration.token("nothing"), None);
        }
    }

    #[test]
    fn other_names_of_a_token_mean_the_same() {
        assert_eq!(Direction::from_word("from"), Some(Direction::Out));
        assert_eq!(Direction::from_word("to"), Some(Direction::In));
        assert_eq!(GType::from_word("bigDecimal"), GType::from_word("BIGDECIMAL"));
        assert_eq!(Direction::from_word("out"), None);
    }
}
