//! Samples: traversals as texts, and as gremlinpython's `GraphSONWriter` writes them, with line ends put in.

/// Text and GraphSON.
pub const SAMPLES: &[(&str, &str)] = &[
    (
        "g.V().has('person', 'age', gt(30)).out('knows').values('name')",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["has","person","age",{"@type":"g:P",
            "@value":{"predicate":"gt","value":{"@type":"g:Int32","@value":30}}}],["out","knows"],
            ["values","name"]]}}"#,
    ),
    ("g.E().count()", r#"{"@type":"g:Bytecode","@value":{"step":[["E"],["count"]]}}"#),
    (
        "g.inject(1, -1l, 2s, 3b, 1.5d, 0.1f, 'é', '', true, false, null)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["inject",{"@type":"g:Int32","@value":1},
            {"@type":"g:Int64","@value":-1},{"@type":"gx:Int16","@value":2},{"@type":"gx:Byte",
            "@value":3},{"@type":"g:Double","@value":1.5},{"@type":"g:Float","@value":0.1},"é",
            "",true,false,null]]}}"#,
    ),
    (
        "g.inject(NaN, Infinity, -Infinity)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["inject",{"@type":"g:Double","@value":"NaN"},
            {"@type":"g:Double","@value":"Infinity"},{"@type":"g:Double","@value":"-Infinity"}]]}}"#,
    ),
    (
        "g.inject(UUID('00112233-4455-6677-8899-aabbccddeeff'))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["inject",{"@type":"g:UUID","@value":"00112233-4455-6677-8899-aabbccddeeff"}]]}}"#,
    ),
    (
        "g.inject(datetime('2024-02-29T12:00:00.5+01:00'), datetime('1969-12-31T23:59:59.999Z'))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["inject",{"@type":"gx:OffsetDateTime","@value":"2024-02-29T12:00:00.500000+01:00"},
            {"@type":"g:Timestamp","@value":-1}]]}}"#,
    ),
    (
        "g.inject(datetime('2024-02-29T12:00:00Z'))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["inject",{"@type":"g:Date","@value":1709208000000}]]}}"#,
    ),
    (
        "g.inject([1, ['a']], {'x'}, ['k': [1], (T.id): null], [], [:])",
        r#"{"@type":"g:Bytecode","@value":{"step":[["inject",{"@type":"g:List","@value":[{"@type":"g:Int32",
            "@value":1},{"@type":"g:List","@value":["a"]}]},{"@type":"g:Set","@value":["x"]},
            {"@type":"g:Map","@value":["k",{"@type":"g:List","@value":[{"@type":"g:Int32","@value":1}]},
            {"@type":"g:T","@value":"id"},null]},{"@type":"g:List","@value":[]},{"@type":"g:Map",
            "@value":[]}]]}}"#,
    ),
    (
        "g.V(1).where(__.out('knows').has('name', x)).to(Direction.OUT, 'a')",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V",{"@type":"g:Int32","@value":1}],["where",
            {"@type":"g:Bytecode","@value":{"step":[["out","knows"],["has","name",{"@type":"g:Binding",
            "@value":{"key":"x","value":"ann"}}]]}}],["to",{"@type":"g:Direction","@value":"OUT"},
            "a"]]}}"#,
    ),
    (
        "g.V().has('a', gt(1).and(lt(5)).and(neq(3)).or(eq(9)))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["has","a",{"@type":"g:P","@value":{"predicate":"or",
            "value":[{"@type":"g:P","@value":{"predicate":"and","value":[{"@type":"g:P","@value":{"predicate":"and",
            "value":[{"@type":"g:P","@value":{"predicate":"gt","value":{"@type":"g:Int32","@value":1}}},
            {"@type":"g:P","@value":{"predicate":"lt","value":{"@type":"g:Int32","@value":5}}}]}},
            {"@type":"g:P","@value":{"predicate":"neq","value":{"@type":"g:Int32","@value":3}}}]}},
            {"@type":"g:P","@value":{"predicate":"eq","value":{"@type":"g:Int32","@value":9}}}]}}]]}}"#,
    ),
    (
        "g.V().has('a', P.not(within(1, 2))).has('b', between(1, 2)).has('c', inside(1, 2))\
         .has('d', outside(1, 2))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["has","a",{"@type":"g:P","@value":{"predicate":"not",
            "value":{"@type":"g:P","@value":{"predicate":"within","value":{"@type":"g:List","@value":[{"@type":"g:Int32",
            "@value":1},{"@type":"g:Int32","@value":2}]}}}}}],["has","b",{"@type":"g:P","@value":{"predicate":"between",
            "value":[{"@type":"g:Int32","@value":1},{"@type":"g:Int32","@value":2}]}}],["has",
            "c",{"@type":"g:P","@value":{"predicate":"inside","value":[{"@type":"g:Int32","@value":1},
            {"@type":"g:Int32","@value":2}]}}],["has","d",{"@type":"g:P","@value":{"predicate":"outside",
            "value":[{"@type":"g:Int32","@value":1},{"@type":"g:Int32","@value":2}]}}]]}}"#,
    ),
    (
        "g.V().has('a', lte(1)).has('b', gte(1)).has('c', without('x')).has('d', within()).is(eq(null))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["has","a",{"@type":"g:P","@value":{"predicate":"lte",
            "value":{"@type":"g:Int32","@value":1}}}],["has","b",{"@type":"g:P","@value":{"predicate":"gte",
            "value":{"@type":"g:Int32","@value":1}}}],["has","c",{"@type":"g:P","@value":{"predicate":"without",
            "value":{"@type":"g:List","@value":["x"]}}}],["has","d",{"@type":"g:P","@value":{"predicate":"within",
            "value":{"@type":"g:List","@value":[]}}}],["is",{"@type":"g:P","@value":{"predicate":"eq",
            "value":null}}]]}}"#,
    ),
    (
        "g.V().is(within([[1, 2]])).is(eq([1, 2]))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["is",{"@type":"g:P","@value":{"predicate":"within",
            "value":{"@type":"g:List","@value":[{"@type":"g:List","@value":[{"@type":"g:Int32",
            "@value":1},{"@type":"g:Int32","@value":2}]}]}}}],["is",{"@type":"g:P","@value":{"predicate":"eq",
            "value":{"@type":"g:List","@value":[{"@type":"g:Int32","@value":1},{"@type":"g:Int32",
            "@value":2}]}}}]]}}"#,
    ),
    (
        "g.V().is(typeOf(GType.INT)).is(typeOf('x'))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["is",{"@type":"g:P","@value":{"predicate":"typeOf",
            "value":{"@type":"g:GType","@value":"INT"}}}],["is",{"@type":"g:P","@value":{"predicate":"typeOf",
            "value":"x"}}]]}}"#,
    ),
    (
        "g.V().has('a', startingWith('b')).has('a', notStartingWith('b')).has('a', endingWith('b'))\
         .has('a', notEndingWith('b'))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["has","a",{"@type":"g:TextP","@value":{"predicate":"startingWith",
            "value":"b"}}],["has","a",{"@type":"g:TextP","@value":{"predicate":"notStartingWith",
            "value":"b"}}],["has","a",{"@type":"g:TextP","@value":{"predicate":"endingWith","value":"b"}}],
            ["has","a",{"@type":"g:TextP","@value":{"predicate":"notEndingWith","value":"b"}}]]}}"#,
    ),
    (
        "g.V().has('a', containing('b')).has('a', notContaining('b')).has('a', TextP.regex('b'))\
         .has('a', TextP.notRegex('b').or(startingWith('c')))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["has","a",{"@type":"g:TextP","@value":{"predicate":"containing",
            "value":"b"}}],["has","a",{"@type":"g:TextP","@value":{"predicate":"notContaining",
            "value":"b"}}],["has","a",{"@type":"g:TextP","@value":{"predicate":"regex","value":"b"}}],
            ["has","a",{"@type":"g:P","@value":{"predicate":"or","value":[{"@type":"g:TextP",
            "@value":{"predicate":"notRegex","value":"b"}},{"@type":"g:TextP","@value":{"predicate":"startingWith",
            "value":"c"}}]}}]]}}"#,
    ),
    (
        "g.V().order().by('a', Order.asc).by('b', Order.desc).by(Order.shuffle).order(Scope.local)\
         .by(Column.keys).by(Column.values).count(Scope.global)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["order"],["by","a",{"@type":"g:Order",
            "@value":"asc"}],["by","b",{"@type":"g:Order","@value":"desc"}],["by",{"@type":"g:Order",
            "@value":"shuffle"}],["order",{"@type":"g:Scope","@value":"local"}],["by",{"@type":"g:Column",
            "@value":"keys"}],["by",{"@type":"g:Column","@value":"values"}],["count",{"@type":"g:Scope",
            "@value":"global"}]]}}"#,
    ),
    (
        "g.V().by(T.id).by(T.label).by(T.key).by(T.value)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["by",{"@type":"g:T","@value":"id"}],
            ["by",{"@type":"g:T","@value":"label"}],["by",{"@type":"g:T","@value":"key"}],["by",
            {"@type":"g:T","@value":"value"}]]}}"#,
    ),
    (
        "g.V().select(Pop.first, 'a').select(Pop.last, 'a').select(Pop.all, 'a').select(Pop.mixed, 'a')",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["select",{"@type":"g:Pop","@value":"first"},
            "a"],["select",{"@type":"g:Pop","@value":"last"},"a"],["select",{"@type":"g:Pop",
            "@value":"all"},"a"],["select",{"@type":"g:Pop","@value":"mixed"},"a"]]}}"#,
    ),
    (
        "g.addV('p').property(Cardinality.single, 'a', 1).property(Cardinality.set, 'a', 2)\
         .property(Cardinality.list, 'a', 3).property('b', Cardinality.set(4))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["addV","p"],["property",{"@type":"g:Cardinality",
            "@value":"single"},"a",{"@type":"g:Int32","@value":1}],["property",{"@type":"g:Cardinality",
            "@value":"set"},"a",{"@type":"g:Int32","@value":2}],["property",{"@type":"g:Cardinality",
            "@value":"list"},"a",{"@type":"g:Int32","@value":3}],["property","b",{"@type":"g:Bytecode",
            "@value":{"source":[["CardinalityValueTraversal",{"@type":"g:Cardinality","@value":"set"},
            {"@type":"g:Int32","@value":4}]]}}]]}}"#,
    ),
    (
        "g.mergeE([(Direction.OUT): 1, (Direction.IN): 2, (T.label): 'knows']).option(Merge\
         .onCreate, ['a': 1]).option(Merge.onMatch, [:]).option(Merge.outV, __.V(1)).option(Merge\
         .inV, ['b': 2])",
        r#"{"@type":"g:Bytecode","@value":{"step":[["mergeE",{"@type":"g:Map","@value":[{"@type":"g:Direction",
            "@value":"OUT"},{"@type":"g:Vertex","@value":{"id":{"@type":"g:Int32","@value":1},
            "label":"person"}},{"@type":"g:Direction","@value":"IN"},{"@type":"g:Int32","@value":2},
            {"@type":"g:T","@value":"label"},"knows"]}],["option",{"@type":"g:Merge","@value":"onCreate"},
            {"@type":"g:Map","@value":["a",{"@type":"g:Int32","@value":1}]}],["option",{"@type":"g:Merge",
            "@value":"onMatch"},{"@type":"g:Map","@value":[]}],["option",{"@type":"g:Merge","@value":"outV"},
            {"@type":"g:Bytecode","@value":{"step":[["V",{"@type":"g:Int32","@value":1}]]}}],
            ["option",{"@type":"g:Merge","@value":"inV"},{"@type":"g:Map","@value":["b",{"@type":"g:Int32",
            "@value":2}]}]]}}"#,
    ),
    (
        "g.V().toE(Direction.BOTH).choose(__.out()).option(Pick.any, __.in()).option(Pick.none, __\
         .both()).option(Pick.unproductive, __.outE())",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["toE",{"@type":"g:Direction","@value":"BOTH"}],
            ["choose",{"@type":"g:Bytecode","@value":{"step":[["out"]]}}],["option",{"@type":"g:Pick",
            "@value":"any"},{"@type":"g:Bytecode","@value":{"step":[["in"]]}}],["option",{"@type":"g:Pick",
            "@value":"none"},{"@type":"g:Bytecode","@value":{"step":[["both"]]}}],["option",{"@type":"g:Pick",
            "@value":"unproductive"},{"@type":"g:Bytecode","@value":{"step":[["outE"]]}}]]}}"#,
    ),
    (
        "g.withSack(1, Operator.sum).V().sack(Operator.mult).sack(Operator.minus).sack(Operator.div)\
         .sack(Operator.min).sack(Operator.max).barrier(Barrier.normSack)",
        r#"{"@type":"g:Bytecode","@value":{"source":[["withSack",{"@type":"g:Int32","@value":1},
            {"@type":"g:Operator","@value":"sum"}]],"step":[["V"],["sack",{"@type":"g:Operator",
            "@value":"mult"}],["sack",{"@type":"g:Operator","@value":"minus"}],["sack",{"@type":"g:Operator",
            "@value":"div"}],["sack",{"@type":"g:Operator","@value":"min"}],["sack",{"@type":"g:Operator",
            "@value":"max"}],["barrier",{"@type":"g:Barrier","@value":"normSack"}]]}}"#,
    ),
    (
        "g.withSideEffect('x', [1], Operator.addAll).V().fold(0, Operator.assign).fold(0, Operator\
         .and).fold(0, Operator.or).fold(0, Operator.sumLong)",
        r#"{"@type":"g:Bytecode","@value":{"source":[["withSideEffect","x",{"@type":"g:List",
            "@value":[{"@type":"g:Int32","@value":1}]},{"@type":"g:Operator","@value":"addAll"}]],
            "step":[["V"],["fold",{"@type":"g:Int32","@value":0},{"@type":"g:Operator","@value":"assign"}],
            ["fold",{"@type":"g:Int32","@value":0},{"@type":"g:Operator","@value":"and"}],["fold",
            {"@type":"g:Int32","@value":0},{"@type":"g:Operator","@value":"or"}],["fold",{"@type":"g:Int32",
            "@value":0},{"@type":"g:Operator","@value":"sumLong"}]]}}"#,
    ),
    (
        "g.V().dateAdd(DT.second, 1).dateAdd(DT.minute, 1).dateAdd(DT.hour, 1).dateAdd(DT.day, 1)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["dateAdd",{"@type":"g:DT","@value":"second"},
            {"@type":"g:Int32","@value":1}],["dateAdd",{"@type":"g:DT","@value":"minute"},{"@type":"g:Int32",
            "@value":1}],["dateAdd",{"@type":"g:DT","@value":"hour"},{"@type":"g:Int32","@value":1}],
            ["dateAdd",{"@type":"g:DT","@value":"day"},{"@type":"g:Int32","@value":1}]]}}"#,
    ),
    (
        "g.V(1).addE('knows').from(__.V(1)).to(__.V(1)).E('7:1:8:0').hasId(1)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V",{"@type":"g:Vertex","@value":{"id":{"@type":"g:Int32",
            "@value":1},"label":"person"}}],["addE","knows"],["from",{"@type":"g:Vertex","@value":{"id":{"@type":"g:Int32",
            "@value":1},"label":"person"}}],["to",{"@type":"g:Vertex","@value":{"id":{"@type":"g:Int32",
            "@value":1},"label":"person"}}],["E",{"@type":"g:Edge","@value":{"id":"7:1:8:0","outV":{"@type":"g:Int32",
            "@value":1},"outVLabel":"person","label":"knows","inV":{"@type":"g:Int64","@value":2},
            "inVLabel":"person"}}],["hasId",{"@type":"g:Vertex","@value":{"id":{"@type":"g:Int32",
            "@value":1},"label":"person"}}]]}}"#,
    ),
    (
        "g.addE('knows').to('a').from(__.select('b'))",
        r#"{"@type":"g:Bytecode","@value":{"step":[["addE","knows"],["to","a"],["from",{"@type":"g:Bytecode",
            "@value":{"step":[["select","b"]]}}]]}}"#,
    ),
    (
        "g.V().valueMap().with(WithOptions.tokens).valueMap('a').with(WithOptions.tokens, WithOptions\
         .labels).index().with(WithOptions.indexer, WithOptions.map)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["valueMap"],["with","~tinkerpop.valueMap.tokens"],
            ["valueMap","a"],["with","~tinkerpop.valueMap.tokens",{"@type":"g:Int32","@value":2}],
            ["index"],["with","~tinkerpop.index.indexer",{"@type":"g:Int32","@value":1}]]}}"#,
    ),
    (
        "g.V().valueMap().with(WithOptions.tokens, WithOptions.none).with(WithOptions\
         .tokens, WithOptions.ids).with(WithOptions.tokens, WithOptions.keys).with(WithOptions\
         .tokens, WithOptions.values).with(WithOptions.tokens, WithOptions.all).with(WithOptions\
         .indexer, WithOptions.list)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["valueMap"],["with","~tinkerpop.valueMap.tokens",
            {"@type":"g:Int32","@value":0}],["with","~tinkerpop.valueMap.tokens",{"@type":"g:Int32",
            "@value":1}],["with","~tinkerpop.valueMap.tokens",{"@type":"g:Int32","@value":4}],
            ["with","~tinkerpop.valueMap.tokens",{"@type":"g:Int32","@value":8}],["with","~tinkerpop.valueMap.tokens",
            {"@type":"g:Int32","@value":15}],["with","~tinkerpop.index.indexer",{"@type":"g:Int32",
            "@value":0}]]}}"#,
    ),
    (
        "g.V().pageRank().with(PageRank.times, 5).with(PageRank.propertyName, 'r').with(PageRank\
         .edges, __.outE()).peerPressure().with(PeerPressure.times, 1).connectedComponent()\
         .with(ConnectedComponent.propertyName, 'c').shortestPath().with(ShortestPath.target, __\
         .has('a')).with(ShortestPath.maxDistance, 3)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["pageRank"],["with","~tinkerpop.pageRank.times",
            {"@type":"g:Int32","@value":5}],["with","~tinkerpop.pageRank.propertyName","r"],["with",
            "~tinkerpop.pageRank.edges",{"@type":"g:Bytecode","@value":{"step":[["outE"]]}}],
            ["peerPressure"],["with","~tinkerpop.peerPressure.times",{"@type":"g:Int32","@value":1}],
            ["connectedComponent"],["with","~tinkerpop.connectedComponent.propertyName","c"],
            ["shortestPath"],["with","~tinkerpop.shortestPath.target",{"@type":"g:Bytecode","@value":{"step":[["has",
            "a"]]}}],["with","~tinkerpop.shortestPath.maxDistance",{"@type":"g:Int32","@value":3}]]}}"#,
    ),
    (
        "g.io('f').with(IO.reader, IO.graphml).with(IO.writer, IO.gryo).read()",
        r#"{"@type":"g:Bytecode","@value":{"step":[["io","f"],["with","~tinkerpop.io.reader",
            "graphml"],["with","~tinkerpop.io.writer","gryo"],["read"]]}}"#,
    ),
    (
        "g.withStrategies(ReadOnlyStrategy, new SubgraphStrategy(vertices: __\
         .has('a', gt(1)), checkAdjacentVertices: false)).withoutStrategies(CountStrategy).V()",
        r#"{"@type":"g:Bytecode","@value":{"source":[["withStrategies",{"@type":"g:ReadOnlyStrategy",
            "@value":{"fqcn":"org.apache.tinkerpop.gremlin.process.traversal.strategy.verification.ReadOnlyStrategy",
            "conf":{}}},{"@type":"g:SubgraphStrategy","@value":{"fqcn":"org.apache.tinkerpop.gremlin.process.traversal.strategy.decoration.SubgraphStrategy",
            "conf":{"vertices":{"@type":"g:Bytecode","@value":{"step":[["has","a",{"@type":"g:P",
            "@value":{"predicate":"gt","value":{"@type":"g:Int32","@value":1}}}]]}},"checkAdjacentVertices":false}}}],
            ["withoutStrategies",{"@type":"g:CountStrategy","@value":{"fqcn":"org.apache.tinkerpop.gremlin.process.traversal.strategy.optimization.CountStrategy",
            "conf":{}}}]],"step":[["V"]]}}"#,
    ),
    (
        "g\
         .withStrategies(new PartitionStrategy(partitionKey: 'p', writePartition: 'a', readPartitions: ['a', 'b']), new SeedStrategy(seed: 7))\
         .V()",
        r#"{"@type":"g:Bytecode","@value":{"source":[["withStrategies",{"@type":"g:PartitionStrategy",
            "@value":{"fqcn":"org.apache.tinkerpop.gremlin.process.traversal.strategy.decoration.PartitionStrategy",
            "conf":{"partitionKey":"p","writePartition":"a","readPartitions":{"@type":"g:List",
            "@value":["a","b"]}}}},{"@type":"g:SeedStrategy","@value":{"fqcn":"org.apache.tinkerpop.gremlin.process.traversal.strategy.decoration.SeedStrategy",
            "conf":{"seed":{"@type":"g:Int32","@value":7}}}}]],"step":[["V"]]}}"#,
    ),
    (
        "g.withStrategies(new OptionsStrategy(evaluationTimeout: 500, x: true)).V()",
        r#"{"@type":"g:Bytecode","@value":{"source":[["withStrategies",{"@type":"g:OptionsStrategy",
            "@value":{"fqcn":"org.apache.tinkerpop.gremlin.process.traversal.strategy.decoration.OptionsStrategy",
            "conf":{"evaluationTimeout":{"@type":"g:Int32","@value":500},"x":true}}}]],"step":[["V"]]}}"#,
    ),
    (
        "g.withBulk(false).withPath().V().repeat(__.out().as('a', 'b')).emit().times(2).until(__\
         .loops().is(3)).path().from('a')",
        r#"{"@type":"g:Bytecode","@value":{"source":[["withBulk",false],["withPath"]],"step":[["V"],
            ["repeat",{"@type":"g:Bytecode","@value":{"step":[["out"],["as","a","b"]]}}],["emit"],
            ["times",{"@type":"g:Int32","@value":2}],["until",{"@type":"g:Bytecode","@value":{"step":[["loops"],
            ["is",{"@type":"g:Int32","@value":3}]]}}],["path"],["from","a"]]}}"#,
    ),
    (
        "g.V().union(__.in(), __.not(__.out()), __.identity()).math('_ * 2').cap('x')",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["union",{"@type":"g:Bytecode","@value":{"step":[["in"]]}},
            {"@type":"g:Bytecode","@value":{"step":[["not",{"@type":"g:Bytecode","@value":{"step":[["out"]]}}]]}},
            {"@type":"g:Bytecode","@value":{"step":[["identity"]]}}],["math","_ * 2"],["cap",
            "x"]]}}"#,
    ),
    (
        "g.V().call('s', ['a': 1]).inject(GType.BIGDECIMAL, GType.VPROPERTY)",
        r#"{"@type":"g:Bytecode","@value":{"step":[["V"],["call","s",{"@type":"g:Map","@value":["a",
            {"@type":"g:Int32","@value":1}]}],["inject",{"@type":"g:GType","@value":"BIGDECIMAL"},
            {"@type":"g:GType","@value":"VPROPERTY"}]]}}"#,
    ),
    ("g.tx().commit()", r#"{"@type":"g:Bytecode","@value":{"source":[["tx","commit"]]}}"#),
    ("g", r#"{"@type":"g:Bytecode","@value":{}}"#),
];
