//! Sets of files: edges and the vertices beside them.

use crate::import::read::tests::origins::{check, origin};

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
                    "tconst\ttitleType\tprimaryTitle\tendYear\ntt01\tshort\t\"Carmencita\t\\N\ntt02\tshort\tLe clown\t1892\n",
                ),
                (
                    "name.basics.tsv",
                    "nconst\tprimaryName\tbirthYear\nnm01\tFred Astaire\t1899\nnm02\tLauren Bacall\t\\N\n",
                ),
                (
                    "title.principals.tsv",
                    "tconst\tordering\tnconst\tcategory\tjob\ntt01\t1\tnm01\tself\t\\N\ntt01\t2\tnm02\tdirector\t\\N\n\
                     tt02\t1\tnm02\tdirector\t\\N\n",
                ),
            ],
            &[
                "title.basics[tconst:string,titleType:string,primaryTitle:string,endYear:long] 2",
                "name.basics[nconst:string,primaryName:string,birthYear:long] 2",
                "title.principals(title.basics>name.basics)[ordering:long,category:string,job:string] 3",
                "note title.basics.tsv: guessed: vertices, column tconst is their id, types from 2 rows; \\N stands for no \
                 value; quotes are ordinary characters in it (--quote none)",
            ],
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
            "LSQB: merged foreign keys",
            &[
                ("Comment.csv", "id|hascreator_person\n962|28\n963|29\n"),
                ("Tag.csv", "id|hastype_tagclass\n139|1\n140|2\n"),
                ("Comment_hasTag_Tag.csv", "id|hastag_tag\n962|139\n962|140\n963|139\n"),
            ],
            &[
                "Comment[id:long,hascreator_person:long] 2",
                "Tag[id:long,hastype_tagclass:long] 2",
                "HAS_TAG(Comment>Tag) 3",
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
