//! Lists without a header, in tables and in texts.

use crate::import::read::tests::origins::{check, origin};

#[test]
fn lists_of_edges_without_a_header_lose_no_row() {
    check(&[
        origin(
            "Bitcoin OTC (SNAP)",
            &[("soc-sign-bitcoinotc.csv", "6,2,4,1289241911.72836\n6,5,2,1289241941.53378\n")],
            &[
                "Vertex[id:long] 3",
                "EDGE(Vertex>Vertex)[weight:double,time:double] 2",
                "note read as a list of edges: a line is source, target, weight and time",
            ],
        ),
        origin(
            "OGB: raw/edge.csv",
            &[("edge.csv", "0,4\n1,4\n4,2\n")],
            &["Vertex[id:long] 4", "EDGE(Vertex>Vertex) 3"],
        ),
        origin(
            "numbers between blanks in a .csv",
            &[("out.csv", "0 4\n1 4\n")],
            &["Vertex[id:long] 3", "EDGE(Vertex>Vertex) 2"],
        ),
        origin(
            "Kuzu: lives-in alone",
            &[("lives-in.csv", "Adam,Waterloo\nKarissa,Waterloo\nAdam,Kitchener\n")],
            &["Vertex[id:string] 4", "lives-in(Vertex>Vertex) 3", "note its first line looks like data"],
        ),
        origin(
            "Gremlin book: edges",
            &[("edges.csv", "Tom,knows,Bill\nBill,knows,Allie\nAlex,likes,Dogs\n")],
            &[
                "Vertex[id:string] 5",
                "knows(Vertex>Vertex) 2",
                "likes(Vertex>Vertex) 1",
                "note edges from column c1 to column c3, their type is column c2",
            ],
        ),
        origin(
            "NebulaGraph: follow",
            &[("follow.csv", "x200,y201,0,92.5\ny201,x200,1,85.6\ny201,z202,2,93.2\n")],
            &["Vertex[id:string] 3", "follow(Vertex>Vertex)[c3:long,c4:double] 3"],
        ),
        origin(
            "NebulaGraph: knows, with moments",
            &[(
                "knows.csv",
                "933,2199,2010-04-22T12:30:57\n933,1099,2010-11-15T07:23:49\n1099,2199,2011-01-01T00:00:00\n",
            )],
            &["Vertex[id:long] 3", "knows(Vertex>Vertex)[c3:datetime] 3"],
        ),
        origin(
            "FB15k, WN18: triples",
            &[(
                "train.txt",
                "/m/027\t/location/adjoins\t/m/06c\n/m/017\t/location/adjoins\t/m/027\n/m/07s\t/film/genre\t/m/017\n",
            )],
            &["Vertex[id:string] 4", "/location/adjoins(Vertex>Vertex) 2", "/film/genre(Vertex>Vertex) 1"],
        ),
        origin(
            "WormNet: genes, between tabs",
            &[("WormNet.txt", "C41D11.8\tAH9.2\nCD4.2\tAH9.2\nK12H4.8\tAH9.2\n")],
            &["Vertex[id:string] 4", "WormNet(Vertex>Vertex) 3"],
        ),
        origin(
            "STRING: protein links",
            &[(
                "9606.links.txt",
                "protein1 protein2 combined_score\n9606.P1 9606.P2 490\n9606.P1 9606.P3 198\n",
            )],
            &["Vertex[id:string] 3", "9606.links(Vertex>Vertex)[combined_score:long] 2"],
        ),
        origin(
            "NetworkX: write_edgelist, names and no attributes",
            &[("g.edgelist", "Ada Mary {}\nAda Eve {}\n")],
            &["Vertex[id:string] 3", "g(Vertex>Vertex) 2"],
        ),
        origin(
            "NetworkX: write_edgelist, numbers and attributes",
            &[("g.edgelist", "1 2 {'weight': 0.5}\n1 3 {'weight': 2, 'kind': 'x y'}\n")],
            &[
                "Vertex[id:long] 3",
                "g(Vertex>Vertex)[weight:double,kind:string] 2",
                "note properties weight, kind",
            ],
        ),
        origin(
            "NetworkX: a comment that names columns",
            &[("drug.edgelist", "# source target\n1 2\n1 10\n")],
            &["Vertex[id:long] 3", "EDGE(Vertex>Vertex) 2"],
        ),
        origin(
            "SNAP: texts, a comment that names columns",
            &[(
                "links.txt",
                "# Directed graph\n# FromNodeId\tToNodeId\nhttp://a\thttp://b\nhttp://b\thttp://c\n",
            )],
            &[
                "Vertex[id:string] 3",
                "links(Vertex>Vertex) 2",
                "note a comment before its rows names its columns",
            ],
        ),
        origin(
            "KONECT: out.*, named",
            &[("out.moreno", "% asym posweighted\n1 2 0.5\n2 3 1\n")],
            &["Vertex[id:long] 3", "EDGE(Vertex>Vertex)[weight:double] 2"],
        ),
        origin(
            "OpenKE: train2id.txt, which counts its lines first",
            &[("train2id.txt", "2\n0 1 0\n1 2 0\n")],
            &["error train2id.txt: its first line, 2, counts the others: take it out (tail -n +2)"],
        ),
        origin(
            "OpenFlights: routes.dat",
            &[(
                "routes.dat",
                "2B,410,AER,2965,KZN,2990,,0,CR2\n2B,410,ASF,2966,KZN,2990,,0,CR2\n2B,410,ASF,2966,MRV,2962,,0,CR2\n",
            )],
            &["error routes.dat: no column tells the ids of vertices"],
        ),
        origin(
            "OpenFlights: routes.dat, enough of it",
            &[(
                "routes.dat",
                "2B,410,AAA,1,BBB,2,,0,CR2\n2B,410,BBB,2,CCC,3,,0,CR2\n2B,410,CCC,3,DDD,4,,0,CR2\n2B,410,DDD,4,EEE,5,,0,CR2\n\
                 2B,410,EEE,5,FFF,6,,0,CR2\n2B,410,FFF,6,GGG,7,,0,CR2\n2B,410,GGG,7,HHH,8,,0,CR2\n2B,410,HHH,8,III,9,,0,CR2\n\
                 2B,410,III,9,JJJ,10,,0,CR2\n2B,410,JJJ,10,KKK,11,,0,CR2\n2B,410,KKK,11,AAA,\\N,,0,CR2\n",
            )],
            &[
                "Vertex[id:string] 11",
                "routes(Vertex>Vertex)[c1:string,c2:long,c4:long,c6:long,c7:string,c8:long,c9:string] 11",
                "note edges from column c3 to column c5",
            ],
        ),
        origin(
            "one line without a header",
            &[("knows.csv", "Adam,Karissa,2020\nKarissa,Zhang,2021\n")],
            &["Vertex[id:string] 3", "knows(Vertex>Vertex)[c3:long] 2"],
        ),
    ]);
}
