//! Tables of vertices, and what is no graph.

use crate::import::read::tests::origins::{check, origin};

#[test]
fn vertices_stay_vertices_and_say_where_they_may_be_edges() {
    check(&[
        origin(
            "id and name",
            &[("person.csv", "id,name,born\n1,Ada,1815\n2,Eve,1900\n")],
            &["person[id:long,name:string,born:long] 2"],
        ),
        origin(
            "codes of two kinds, all different",
            &[("pairs.csv", "Claim,Patient\nc0,p1\nc1,p7\n")],
            &[
                "pairs[Claim:string,Patient:string] 2",
                "note it may hold edges from column Claim to column Patient: --edges TYPE=FILE reads it so",
                "note its first line is taken for the names of columns (--first-line data takes it for a row)",
            ],
        ),
        origin(
            "two names, all different, no header",
            &[("pairs.csv", "Adam,Waterloo\nEve,Toronto\n")],
            &[
                "pairs[c1:string,c2:string] 2",
                "note it may hold edges from column c1 to column c2",
                "note its first line is taken for data, so its columns have no names (--first-line header takes",
            ],
        ),
        origin(
            "an id and a pair of names that may be ends",
            &[("match.csv", "id,team1,team2,score\n1,A,B,3\n2,B,C,0\n")],
            &[
                "match[id:long,team1:string,team2:string,score:long] 2",
                "note it may hold edges from column team1 to column team2: --edges TYPE=FILE",
            ],
        ),
        origin(
            "times that start and end",
            &[("shifts.csv", "shift,start,end\na,2020-01-01,2020-01-02\nb,2020-01-02,2020-01-03\n")],
            &["shifts[shift:string,start:date,end:date] 2"],
        ),
        origin(
            "R: row names",
            &[("mtcars.csv", "\"\",\"mpg\",\"cyl\"\n\"Mazda RX4\",21,6\n\"Fiat 128\",32.4,4\n")],
            &["mtcars[id:string,mpg:double,cyl:long] 2"],
        ),
        origin(
            "Elliptic: features",
            &[("elliptic_txs_features.csv", "230425980,1,-0.17,-0.18,1.5,2\n5530458,1,0.17,0.18,1.5,3\n")],
            &["elliptic_txs_features[c1:long,c2:long,c3:double,c4:double,c5:double,c6:long] 2"],
        ),
        origin(
            "OpenFlights: airports.dat",
            &[(
                "airports.dat",
                "1,\"Goroka\",\"GKA\",-6.08,145.39,10,\"U\"\n2,\"Madang\",\"MAG\",-5.2,145.78,\\N,\"U\"\n",
            )],
            &[
                "airports[c1:long,c2:string,c3:string,c4:double,c5:double,c6:long,c7:string] 2",
                "note \\N stands for no value",
            ],
        ),
        origin(
            "OpenFlights: planes.dat, whose codes are alike",
            &[(
                "planes.dat",
                "\"Airbus A300\",\"AB3\",\"A30B\"\n\"Airbus A310\",\"310\",\"A310\"\n\"Bus\",\"A310\",\n",
            )],
            &["planes[c1:string,c2:string,c3:string] 3"],
        ),
        origin(
            "OpenFlights: countries.dat, some of which lack a code and one of which is there twice",
            &[("countries.dat", "\"Aruba\",\"AW\",\"AA\"\n\"Palau\",\"\",\"PS\"\n\"Palau\",\"PW\",\"\"\n")],
            &["error countries.dat: no column tells the ids of vertices"],
        ),
        origin(
            "aircraft by codes that come again",
            &[(
                "aircraft.csv",
                "ICAO,IATA,MAKER,DESC\nA318,318,Airbus,A318\nA318,31B,Airbus,A318B\nB37M,7M7,Boeing,B737\nB38M,7M8,Boeing,B738\nE290,290,Embraer,E190\n",
            )],
            &["error aircraft.csv: no column tells the ids of vertices"],
        ),
        origin(
            "a count of sources and targets",
            &[("metaedges.tsv", "metaedge\tsource_nodes\ttarget_nodes\nAdG\t36\t15097\nAeG\t241\t18094\n")],
            &["metaedges[metaedge:string,source_nodes:long,target_nodes:long] 2"],
        ),
        origin(
            "Northwind: NULL",
            &[("customers.csv", "customerID,city,region\nALFKI,Berlin,NULL\nBONAP,Marseille,OR\n")],
            &[
                "customers[customerID:string,city:string,region:string] 2",
                "note NULL is a text in it (--null NULL makes",
            ],
        ),
        origin(
            "PostgreSQL: COPY ... TO, tabs and \\N",
            &[("users.tsv", "1\tAda\t\\N\n2\tEve\t1900-02-01\n")],
            &["users[c1:long,c2:string,c3:date] 2", "note \\N stands for no value"],
        ),
        origin(
            "quotes that are characters",
            &[("titles.tsv", "tconst\ttitle\ntt1\t\"Salem's Lot\ntt2\tThe \"B\" side\n")],
            &["titles[tconst:string,title:string] 2"],
        ),
        origin(
            "NebulaGraph: a comment before the rows",
            &[("person.csv", "# I'm comment\n# I'm comment\n933|Mahinda|1989-12-03\n934|Eli|1990-01-01\n")],
            &["person[c1:long,c2:string,c3:date] 2"],
        ),
        origin(
            "prose",
            &[("readme.txt", "Once upon a time\nthere was a graph of trees\n")],
            &["error readme.txt: its lines"],
        ),
        origin(
            "Excel: sep=",
            &[("a.csv", "sep=;\nid;name\n1;Ada\n")],
            &["error a.csv: its first line tells Excel the delimiter"],
        ),
    ]);
}
