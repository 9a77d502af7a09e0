//! Origins: files as other programs and data sets have them, by their headers and shapes, and what each
//! becomes without a word of explanation. The rows are made up.

use crate::import::read::tests::files::*;
use crate::import::read::*;
use evergraph_graph::value::ValueType;

/// Files of one origin and what they become.
struct Origin {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// What is there: labels and types with their properties and counts, and then words of notes.
    becomes: &'static [&'static str],
}

const fn origin(
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    becomes: &'static [&'static str],
) -> Origin {
    Origin { name, files, becomes }
}

/// `Person[id:long,name:string] 2`, and `KNOWS(Person>Person)[since:int] 1`.
fn tables(load: &Load) -> Vec<String> {
    let keys = |properties: &[(String, ValueType)]| {
        let keys: Vec<String> = properties.iter().map(|(key, of)| format!("{key}:{of}")).collect();
        if keys.is_empty() { String::new() } else { format!("[{}]", keys.join(",")) }
    };
    let vertices = load
        .vertices
        .iter()
        .map(|table| format!("{}{} {}", table.label, keys(&table.properties), table.rows));
    let edges = load.edges.iter().map(|table| {
        let [source, target] =
            [table.source_label, table.target_label].map(|at| load.vertices[at].label.as_str());
        format!("{}({source}>{target}){} {}", table.edge_type, keys(&table.properties), table.rows)
    });
    vertices.chain(edges).collect()
}

#[track_caller]
fn check(origins: &[Origin]) {
    let mut wrong = String::new();
    for Origin { name, files, becomes } in origins {
        let files = Files::new(files);
        let folder = format!("{}/", files.folder.path().display());
        let found: Vec<String> = match files.read(&files.options()) {
            Ok(imported) => {
                assert_eq!(imported.bad_rows.count, 0);
                let notes = imported.notes.iter().map(|note| format!("note {}", note.replace(&folder, "")));
                tables(&imported.load).into_iter().chain(notes).collect()
            }
            Err(error) => vec![format!("error {}", error.to_string().replace(&folder, ""))],
        };
        // A word of notes and errors is enough; tables are named in full.
        let is_there = |wanted: &&&str| match wanted.split_once(' ') {
            Some((kind @ ("note" | "error"), words)) => {
                found.iter().any(|found| found.starts_with(kind) && found.contains(words))
            }
            _ => found.iter().any(|found| found == **wanted),
        };
        let count =
            |lines: &mut dyn Iterator<Item = &str>| lines.filter(|line| !line.starts_with("note ")).count();
        let same_tables = count(&mut found.iter().map(String::as_str)) == count(&mut becomes.iter().copied());
        if !becomes.iter().all(|wanted| is_there(&wanted)) || !same_tables {
            wrong += &format!("{name}\n  wanted {becomes:#?}\n  found {found:#?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn lists_of_edges_with_a_header_make_vertices_of_their_ends() {
    check(&[
        origin(
            "pandas, NetworkX: to_pandas_edgelist().to_csv(index=False)",
            &[("net.csv", "source,target,weight\na,b,0.5\nb,c,1\n")],
            &[
                "Vertex[id:string] 3",
                "net(Vertex>Vertex)[weight:double] 2",
                "note net.csv: guessed: edges from column source to column target, properties weight, types from 2 rows; \
                 their ends become vertices of label Vertex",
            ],
        ),
        origin(
            "pandas: to_csv() with its index",
            &[("net.csv", ",source,target\n0,a,b\n1,b,c\n2,c,a\n")],
            &["Vertex[id:string] 3", "net(Vertex>Vertex) 3", "note column 1 (without a name) counts rows"],
        ),
        origin(
            "Gephi: exported table of edges",
            &[(
                "edges.csv",
                "Source,Target,Type,Id,Label,timeset,Weight\n7,8,Undirected,0,,,1.0\n8,9,Undirected,1,,,3.0\n",
            )],
            &[
                "Vertex[id:long] 3",
                "edges(Vertex>Vertex)[Type:string,Id:long,Label:string,timeset:string,Weight:double] 2",
                "note column Type says Undirected: each edge is stored once, from Source to Target",
            ],
        ),
        origin(
            "A Song of Ice and Fire: lines end in CR",
            &[(
                "book1-edges.csv",
                "Source,Target,Type,weight,book\rAda,Eve,Undirected,3,1\rEve,Bob,Undirected,5,1",
            )],
            &["Vertex[id:string] 3", "book1-edges(Vertex>Vertex)[Type:string,weight:long,book:long] 2"],
        ),
        origin(
            "GraphFrames, Spark",
            &[("e.csv", "src,dst,relationship\na,b,friend\nb,c,follow\nc,b,follow\n")],
            &[
                "Vertex[id:string] 3",
                "friend(Vertex>Vertex) 1",
                "follow(Vertex>Vertex) 2",
                "note their type is column relationship",
            ],
        ),
        origin(
            "bars between",
            &[("flow.csv", "src_id|dst_id|bytes\n1|2|40\n2|3|60\n")],
            &["Vertex[id:long] 3", "flow(Vertex>Vertex)[bytes:long] 2"],
        ),
        origin(
            "MUSAE, 2019",
            &[("DE_edges.csv", "from,to\n0,92\n0,77\n")],
            &["Vertex[id:long] 3", "DE_edges(Vertex>Vertex) 2"],
        ),
        origin(
            "MUSAE, attenuated",
            &[("facebook_edges.csv", "x1,x2\n0,18\n1,22\n")],
            &[
                "Vertex[id:long] 4",
                "facebook_edges(Vertex>Vertex) 2",
                "note if its rows are vertices, say --nodes",
            ],
        ),
        origin(
            "Marvel: heroes",
            &[("hero-network.csv", "hero1,hero2\n\"LITTLE, ABNER\",PRINCESS ZANDA\nPRINCESS ZANDA,STEELE\n")],
            &["Vertex[id:string] 3", "hero-network(Vertex>Vertex) 2"],
        ),
        origin(
            "PaySim",
            &[(
                "paysim.csv",
                "step,type,amount,nameOrig,oldbalanceOrg,newbalanceOrig,nameDest,oldbalanceDest,newbalanceDest,isFraud\n\
                 1,PAYMENT,9839.64,C12,170136.0,160296.36,M19,0.0,0.0,0\n1,TRANSFER,181.0,C13,181.0,0.0,C55,0.0,0.0,1\n",
            )],
            &[
                "Vertex[id:string] 4",
                "paysim(Vertex>Vertex)[step:long,type:string,amount:double,oldbalanceOrg:double,newbalanceOrig:double,\
                 oldbalanceDest:double,newbalanceDest:double,isFraud:long] 2",
                "note edges from column nameOrig to column nameDest",
            ],
        ),
        origin(
            "Reddit hyperlinks (SNAP)",
            &[(
                "soc-redditHyperlinks-title.tsv",
                "SOURCE_SUBREDDIT\tTARGET_SUBREDDIT\tPOST_ID\tTIMESTAMP\tLINK_SENTIMENT\n\
                 leagueofx\tteamx\t1u4\t2013-12-31 16:39:18\t1\ntheredx\tsoccerx\t1u5\t2014-01-01 00:01:02\t-1\n",
            )],
            &[
                "Vertex[id:string] 4",
                "soc-redditHyperlinks-title(Vertex>Vertex)[POST_ID:string,TIMESTAMP:datetime,LINK_SENTIMENT:long] 2",
            ],
        ),
        origin(
            "flights with codes and ids",
            &[(
                "flights.csv",
                "airline, airline ID, source airport, source airport id, destination apirport, destination airport id, stops\n\
                 2B,410,AER,2965,KZN,2990,0\n2B,410,ASF,2966,KZN,2990,0\n",
            )],
            &[
                "Vertex[id:long] 3",
                "flights(Vertex>Vertex)[airline:string,airline ID:long,source airport:string,destination apirport:string,\
                 stops:long] 2",
                "note edges from column source airport id to column destination airport id",
            ],
        ),
        origin(
            "vega: flights between airports",
            &[("flights-airport.csv", "origin,destination,count\nABE,ATL,853\nABE,BHM,1\n")],
            &["Vertex[id:string] 3", "flights-airport(Vertex>Vertex)[count:long] 2"],
        ),
        origin(
            "ICIJ Offshore Leaks",
            &[(
                "relationships.csv",
                "node_id_start,node_id_end,rel_type,link,status\n1000,2000,officer_of,shareholder of,\n\
                 1001,2000,officer_of,director of,Active\n2000,3000,registered_address,registered address,\n",
            )],
            &[
                "Vertex[id:long] 4",
                "officer_of(Vertex>Vertex)[link:string,status:string] 2",
                "registered_address(Vertex>Vertex)[link:string,status:string] 1",
            ],
        ),
        origin(
            "subject, predicate, object",
            &[(
                "facts.tsv",
                "subject\tpredicate\tobject\nQ42\tP31\tQ5\nQ42\tP106\tQ36180\nQ5\tP279\tQ215627\n",
            )],
            &[
                "Vertex[id:string] 4",
                "P31(Vertex>Vertex) 1",
                "P106(Vertex>Vertex) 1",
                "P279(Vertex>Vertex) 1",
            ],
        ),
        origin(
            "MovieLens: ratings alone",
            &[(
                "ratings.csv",
                "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1029,3.0,1260759179\n2,31,4.0,835355493\n",
            )],
            &[
                "user[id:long] 2",
                "movie[id:long] 2",
                "ratings(user>movie)[rating:double,timestamp:long] 3",
                "note their ends become vertices of labels user, movie",
            ],
        ),
        origin(
            "ids of 20 digits",
            &[("follows.csv", "follower_id,followee_id\n9300000000000000001,12\n12,18446744073709551617\n")],
            &["Vertex[id:bigint] 3", "follows(Vertex>Vertex) 2"],
        ),
        origin(
            "ArangoDB: edges",
            &[("flights.csv", "_key,_from,_to,dist\n1,airports/A,airports/B,7\n2,airports/B,airports/A,7\n")],
            &["Vertex[id:string] 2", "flights(Vertex>Vertex)[_key:long,dist:long] 2"],
        ),
        origin(
            "names with units",
            &[("trade.csv", "from,to,Amount (USD),at: start\nDE,FR,17.5,x\nFR,IT,2.25,y\n")],
            &["Vertex[id:string] 3", "trade(Vertex>Vertex)[Amount (USD):double,at: start:string] 2"],
        ),
        origin(
            "an empty last column",
            &[("t.csv", "src, tgt, date, amount,\nScott,Ed,2024-01-04,20000,\nEd,Jo,2024-02-01,800,\n")],
            &["Vertex[id:string] 3", "t(Vertex>Vertex)[date:date,amount:long] 2"],
        ),
    ]);
}

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
            &["Vertex[id:long] 3", "g(Vertex>Vertex)[c3:map] 2"],
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
            "OpenFlights: routes.dat",
            &[(
                "routes.dat",
                "2B,410,AER,2965,KZN,2990,,0,CR2\n2B,410,ASF,2966,KZN,2990,,0,CR2\n2B,410,ASF,2966,MRV,2962,,0,CR2\n",
            )],
            &["error routes.dat: no column tells the ids of vertices"],
        ),
        origin(
            "one line without a header",
            &[("knows.csv", "Adam,Karissa,2020\nKarissa,Zhang,2021\n")],
            &["Vertex[id:string] 3", "knows(Vertex>Vertex)[c3:long] 2"],
        ),
    ]);
}

#[test]
fn files_of_edges_join_the_vertices_of_files_beside_them() {
    check(&[
        origin(
            "Kuzu: demo",
            &[
                ("user.csv", "Adam,30\nKarissa,40\nZhang,50\nNoura,25\n"),
                ("city.csv", "Waterloo,150000\nKitchener,200000\nGuelph,75000\n"),
                ("follows.csv", "Adam,Karissa,2020\nAdam,Zhang,2020\nKarissa,Zhang,2021\nZhang,Noura,2022\n"),
                ("lives-in.csv", "Adam,Waterloo\nKarissa,Waterloo\nZhang,Kitchener\nNoura,Guelph\n"),
            ],
            &[
                "user[c1:string,c2:long] 4",
                "city[c1:string,c2:long] 3",
                "follows(user>user)[c3:long] 4",
                "lives-in(user>city) 4",
            ],
        ),
        origin(
            "Game of Thrones (Gephi): nodes and edges",
            &[
                ("got-nodes.csv", "Id,Label\nAemon,Aemon\nGrenn,Grenn\nSamwell,Samwell\n"),
                ("got-edges.csv", "Source,Target,Weight\nAemon,Grenn,5\nAemon,Samwell,31\n"),
            ],
            &["got-nodes[Id:string,Label:string] 3", "got-edges(got-nodes>got-nodes)[Weight:long] 2"],
        ),
        origin(
            "lists of numbers beside vertices",
            &[("person.csv", "id,name\n1,Ada\n2,Eve\n3,Bob\n"), ("knows.csv", "1,2\n2,3\n")],
            &["person[id:long,name:string] 3", "knows(person>person) 2"],
        ),
        origin(
            "Elliptic: classes and edges",
            &[
                ("elliptic_txs_classes.csv", "txId,class\n230,unknown\n231,2\n232,1\n"),
                ("elliptic_txs_edgelist.csv", "txId1,txId2\n230,231\n232,230\n"),
            ],
            &[
                "elliptic_txs_classes[txId:long,class:string] 3",
                "elliptic_txs_edgelist(elliptic_txs_classes>elliptic_txs_classes) 2",
            ],
        ),
        origin(
            "MUSAE: target and edges",
            &[
                ("musae_git_target.csv", "id,name,ml_target\n0,Eiryyy,0\n1,shawflying,0\n2,jml,1\n"),
                ("musae_git_edges.csv", "id_1,id_2\n0,2\n1,2\n"),
            ],
            &[
                "musae_git_target[id:long,name:string,ml_target:long] 3",
                "musae_git_edges(musae_git_target>musae_git_target) 2",
            ],
        ),
        origin(
            "TigerGraph: persons and friendship",
            &[
                ("person.csv", "name,gender,age,state\nTom,male,40,ca\nDan,male,34,ny\nJenny,female,25,tx\n"),
                ("friendship.csv", "person1,person2,date\nTom,Dan,2017-06-03\nTom,Jenny,2015-01-01\n"),
            ],
            &[
                "person[name:string,gender:string,age:long,state:string] 3",
                "friendship(person>person)[date:date] 2",
            ],
        ),
        origin(
            "TigerGraph: accounts and cities",
            &[
                ("account.csv", "name,isBlocked\nScott,n\nJenny,n\nEd,y\n"),
                ("city.csv", "name\nNew York\nSan Francisco\n"),
                ("locate.csv", "accnt, city\nScott,New York\nJenny,San Francisco\nEd,New York\n"),
                (
                    "transfer.csv",
                    "src, tgt, date, amount\nScott,Ed,2024-01-04,20000\nScott,Jenny,2024-02-01,800\n",
                ),
            ],
            &[
                "account[name:string,isBlocked:string] 3",
                "city[name:string] 2",
                "locate(account>city) 3",
                "transfer(account>account)[date:date,amount:long] 2",
            ],
        ),
        origin(
            "TigerGraph: claims",
            &[
                ("claim.csv", "id,time,title\nc0,2011-07-13,Nerves\nc1,2004-04-12,Heart\n"),
                ("patient.csv", "patient_id,gender\np167,M\np354,F\n"),
                ("claim_associated_with_patient.csv", "Claim,Patient\nc0,p167\nc1,p354\n"),
            ],
            &[
                "claim[id:string,time:date,title:string] 2",
                "patient[patient_id:string,gender:string] 2",
                "claim_associated_with_patient(claim>patient) 2",
            ],
        ),
        origin(
            "ArangoDB: generated",
            &[
                ("generated_vertices.csv", "vertex_id\n0\n1\n2\n"),
                ("generated_edges.csv", "edge_id,from_id,to_id\n0,2,1\n1,1,0\n"),
            ],
            &[
                "generated_vertices[vertex_id:long] 3",
                "generated_edges(generated_vertices>generated_vertices)[edge_id:long] 2",
            ],
        ),
        origin(
            "Northwind",
            &[
                (
                    "orders.csv",
                    "orderID,customerID,freight,shipName\n10248,VINET,32.38,Vins\n10249,TOMSP,11.61,Toms\n",
                ),
                ("products.csv", "productID,productName,unitPrice\n11,Chai,18.0\n42,Chang,19.0\n"),
                ("customers.csv", "customerID,companyName\nVINET,Vins\nTOMSP,Toms\n"),
                (
                    "order-details.csv",
                    "orderID,productID,unitPrice,quantity\n10248,11,14.00,12\n10248,42,9.80,10\n10249,42,9.80,5\n",
                ),
            ],
            &[
                "orders[orderID:long,customerID:string,freight:double,shipName:string] 2",
                "products[productID:long,productName:string,unitPrice:double] 2",
                "customers[customerID:string,companyName:string] 2",
                "order-details(orders>products)[unitPrice:double,quantity:long] 3",
                "note orders.csv: guessed: vertices, column orderID is their id, types from 2 rows; of column customerID no \
                 edges are made",
            ],
        ),
        origin(
            "IMDb",
            &[
                (
                    "title.basics.tsv",
                    "tconst\ttitleType\tprimaryTitle\tendYear\ntt01\tshort\t\"Carmencita\tNo\t\\N\ntt02\tshort\tLe clown\t1892\n",
                ),
                (
                    "name.basics.tsv",
                    "nconst\tprimaryName\tbirthYear\nnm01\tFred Astaire\t1899\nnm02\tLauren Bacall\t\\N\n",
                ),
                (
                    "title.principals.tsv",
                    "tconst\tordering\tnconst\tcategory\tjob\ntt01\t1\tnm01\tself\t\\N\ntt01\t2\tnm02\tdirector\t\\N\ntt02\t1\tnm02\tdirector\t\\N\n",
                ),
            ],
            &["error title.basics.tsv"],
        ),
        origin(
            "LDBC, new names",
            &[
                (
                    "Person.csv",
                    "creationDate|id|firstName\n2010-01-01T00:00:00.000+00:00|14|Ada\n2010-02-03T00:00:00.000+00:00|16|Eve\n",
                ),
                (
                    "Person_knows_Person.csv",
                    "creationDate|Person1Id|Person2Id\n2010-07-30T15:19:53.298+00:00|14|16\n",
                ),
            ],
            &[
                "Person[id:long,creationDate:datetime,firstName:string] 2",
                "KNOWS(Person>Person)[creationDate:datetime] 1",
            ],
        ),
        origin(
            "MovieLens: movies and ratings",
            &[
                (
                    "movies.csv",
                    "movieId,title,genres\n31,Dangerous Minds (1995),Drama\n1029,Dumbo (1941),Animation|Children\n",
                ),
                ("ratings.csv", "userId,movieId,rating\n1,31,2.5\n1,1029,3.0\n2,31,4.0\n"),
            ],
            &[
                "movies[movieId:long,title:string,genres:string] 2",
                "user[id:long] 2",
                "ratings(user>movies)[rating:double] 3",
            ],
        ),
    ]);
}
