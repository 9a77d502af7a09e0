//! Headers of graph databases.

use crate::import::read::tests::origins::{check, origin};

#[test]
fn headers_of_graph_databases_say_what_columns_hold() {
    check(&[
        origin(
            "Neptune, Gremlin: air routes",
            &[
                (
                    "nodes.csv",
                    "~id,~label,code:String(single),names:String[],runways:Int,lat:Double,seen:Date\n\
                     1,airport,ATL,Atlanta;Hartsfield,5,33.6,2020-01-01\n2,country,US,,0,0.0,\n3,airport;hub,ANC,,3,61.1,\n",
                ),
                ("edges.csv", "~id,~from,~to,~label,dist:Int\n100,1,3,route,3417\n101,2,1,contains,\n"),
            ],
            &[
                "airport[id:string,code:string,names:list,runways:int,lat:double,seen:datetime,labels:list] 2",
                "country[id:string,labels:list,code:string,names:list,runways:int,lat:double,seen:datetime] 1",
                "route(airport>airport)[dist:int] 1",
                "contains(country>airport)[dist:int] 1",
                "note edges.csv: the ids of its edges are left out (--edge-id KEY keeps them)",
                "note nodes.csv: 1 vertex has several labels",
            ],
        ),
        origin(
            "Neptune, Gremlin: edges alone",
            &[("edges.csv", "~id,~from,~to,~label\ne1,a,b,knows\ne2,b,c,knows\n")],
            &["Vertex[id:string] 3", "knows(Vertex>Vertex) 2"],
        ),
        origin(
            "Neptune, openCypher",
            &[
                (
                    "nodes.csv",
                    ":ID,name:String,age:Int,lived_in:String[],:LABEL\nv1,Ada,36,London;Turin,Person\nv2,Eve,7,,Person\n",
                ),
                ("edges.csv", ":ID,:START_ID,:END_ID,:TYPE,distance:Int\ne1,v1,v2,knows,7\n"),
            ],
            &["Person[name:string,age:int,lived_in:list] 2", "knows(Person>Person)[distance:int] 1"],
        ),
        origin(
            "Neo4j: movies",
            &[
                (
                    "movies.csv",
                    "movieId:ID,title,year:int,:LABEL\ntt1,\"The Matrix\",1999,Movie\ntt2,\"Reloaded\",2003,Movie;Sequel\n",
                ),
                ("actors.csv", "personId:ID,name,:LABEL\nkeanu,\"Keanu\",Actor\n"),
                (
                    "roles.csv",
                    ":START_ID,role,:END_ID,:TYPE\nkeanu,\"Neo\",tt1,ACTED_IN\nkeanu,\"Neo\",tt2,ACTED_IN\n",
                ),
            ],
            &[
                "Movie[movieId:string,title:string,year:int,labels:list] 2",
                "Actor[personId:string,name:string] 1",
                "ACTED_IN(Actor>Movie)[role:string] 2",
            ],
        ),
        origin(
            "Neo4j: edges alone",
            &[("KNOWS.csv", ":START_ID,:END_ID,since:int\n1,2,1833\n")],
            &[
                "Vertex[id:string] 2",
                "KNOWS(Vertex>Vertex)[since:int] 1",
                "note its ends become vertices, for no file has some",
            ],
        ),
        origin(
            "Neo4j: edges alone, with spaces",
            &[("LIKES.csv", ":START_ID(User){id-type:long},:END_ID(Page)\n1,a\n2,a\n")],
            &["User[id:long] 2", "Page[id:string] 1", "LIKES(User>Page) 2"],
        ),
        origin(
            "Apache AGE",
            &[(
                "edges.csv",
                "start_id,start_vertex_type,end_id,end_vertex_type\n153,City,3,Country\n154,City,3,Country\n",
            )],
            &["error columns start_vertex_type and end_vertex_type name the labels of its ends row by row"],
        ),
        origin(
            "apoc.export.csv.all",
            &[(
                "all.csv",
                "\"_id\",\"_labels\",\"name\",\"_start\",\"_end\",\"_type\"\n\"1\",\":Person\",\"Ada\",,,\n,,,\"1\",\"1\",\"KNOWS\"\n",
            )],
            &["error all.csv: has vertices and edges in one table"],
        ),
        origin(
            "N-Triples",
            &[(
                "facts.nt",
                "<http://a/x> <http://a/p> <http://a/y> .\n<http://a/y> <http://a/p> <http://a/z> .\n",
            )],
            &["error facts.nt: is RDF"],
        ),
        origin(
            "MovieLens 1M: two colons",
            &[("ratings.csv", "1::1193::5::978300760\n1::661::3::978302109\n")],
            &["error fields stand between `::`"],
        ),
    ]);
}
