//! Lists with a header and no vertices beside them.

use crate::import::read::tests::origins::{check, origin};

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
            "IBM: transactions for anti money laundering",
            &[(
                "HI-Small_Trans.csv",
                "Timestamp,From Bank,Account,To Bank,Account,Amount Received,Receiving Currency,Is Laundering\n\
                 2022/09/01 00:20,010,8000EBD30,010,8000EBD31,3697.34,US Dollar,0\n\
                 2022/09/01 00:21,03208,8000F4580,001,8000EBD30,0.01,US Dollar,0\n",
            )],
            &[
                "Vertex[id:string] 3",
                "HI-Small_Trans(Vertex>Vertex)[Timestamp:string,From Bank:string,To Bank:string,Amount Received:double,\
                 Receiving Currency:string,Is Laundering:long] 2",
                "note edges from column Account to column Account_2",
            ],
        ),
        origin(
            "BLAST",
            &[(
                "blast.csv",
                " query acc.ver,subject acc.ver,% identity\nsp|O43240,O43240.3,100\nsp|O43240,O60259.1,43.411\n",
            )],
            &["Vertex[id:string] 3", "blast(Vertex>Vertex)[% identity:double] 2"],
        ),
        origin(
            "Last.fm: friends",
            &[("user_friends.dat", "userID\tfriendID\n2\t275\n2\t428\n275\t2\n")],
            &["Vertex[id:long] 3", "user_friends(Vertex>Vertex) 3"],
        ),
        origin(
            "STRING: interactions, a comment sign before the names",
            &[(
                "interactions.tsv",
                "#node1\tnode2\tnode1_string_id\tscore\nKLK\tERL\t9606.ENSP1\t0.4\nERL\tLET\t9606.ENSP2\t0.9\n",
            )],
            &[
                "Vertex[id:string] 3",
                "interactions(Vertex>Vertex)[node1_string_id:string,score:double] 2",
                "note a comment before its rows names its columns",
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
