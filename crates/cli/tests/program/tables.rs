//! Tables of a real PostgreSQL become a graph by `evergraph import`: as a mapping says, or as their keys suggest.

use crate::shop::Shop;
use crate::support::Folder;
use serde_json::Value;

fn count(folder: &Folder, query: &str) -> String {
    folder.run(&["query", "shop.eg", query]).succeeded().out
}

#[test]
fn tables_become_the_graph_that_their_keys_suggest() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    let proposed = shop.run(&folder, &["import", "--propose", &url]).succeeded().out;
    assert!(
        proposed.contains("label = \"Customer\"") && proposed.contains("type = \"ORDER_ITEM\""),
        "{proposed}"
    );
    let report = shop.run(&folder, &["import", "shop.eg", &url]).succeeded();
    assert!(report.out.contains("6 vertices and 5 edges"), "{report:?}");
    assert!(report.out.contains("the mapping was proposed from the keys of the tables"), "{report:?}");
    let bought =
        "g.V().has('Customer', 'name', 'Ada').in('CUSTOMER').out('ORDER_ITEM').values('title').order()";
    let titles = count(&folder, bought);
    assert!(titles.contains("cup") && titles.contains("tea"), "{titles}");

    // The same tables by the printed mapping, into another database.
    folder.write("shop.toml", &proposed);
    let again = ["import", "again.eg", &url, "--mapping", "shop.toml", "--json"];
    let report: Value = serde_json::from_str(&shop.run(&folder, &again).succeeded().out).unwrap();
    assert_eq!((&report["vertices_count"], &report["edges_count"]), (&6.into(), &5.into()));
    assert_eq!(report["notes"], Value::Array(Vec::new()));
}

#[test]
fn tables_are_added_to_what_a_database_has_and_a_known_key_stops_everything() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    folder.write("customers.toml", "[[table]]\ntable = 'customer'\nlabel = 'Customer'\nwhere = \"vip\"\n");
    let customers = ["import", "shop.eg", &url, "--mapping", "customers.toml"];
    let report = shop.run(&folder, &customers).succeeded().out;
    assert!(report.contains("table customer, label Customer: 1 row left out by `where`"), "{report}");
    shop.run(&folder, &customers).failed(2, &["vertex 1 is there already"]);
    let orders = "[[table]]\ntable = 'orders'\nlabel = 'Order'\nedge = [{ type = 'BY', column = 'customer_id' }]\n\
                  [[table]]\ntable = 'customer'\nlabel = 'Customer'\nwhere = \"id = 2\"\n";
    folder.write("orders.toml", orders);
    let report = shop.run(&folder, &["import", "shop.eg", &url, "--mapping", "orders.toml"]).succeeded().out;
    assert!(report.contains("3 vertices and 2 edges"), "{report}");
    assert!(count(&folder, "g.V().has('Customer', 'name', 'Ada').in('BY').count()").contains('1'));
}

#[test]
fn what_is_wrong_with_a_source_a_mapping_or_an_option_is_said_and_leaves_no_database() {
    let Some(shop) = Shop::new() else { return };
    let (folder, url) = (Folder::new(), shop.url());
    folder.write("bad.toml", "[[table]]\ntable = 'custoner'\nlabel = 'Customer'\n");
    folder.write(
        "files.toml",
        "[[file]]\npath = 'a.csv'\nlabel = 'A'\n[[table]]\ntable = 'customer'\nlabel = 'Customer'\n",
    );
    let import = |more: &[&str]| shop.run(&folder, &[&["import", "shop.eg", &url], more].concat());
    import(&["--mapping", "bad.toml"]).failed(2, &["bad.toml:2", "custoner", "customer"]);
    import(&["--mapping", "files.toml"]).failed(2, &["rules for files", "a.csv"]);
    import(&["--delimiter", ","]).failed(2, &["--delimiter is about files"]);
    import(&["people.csv"]).failed(2, &["people.csv: a database is imported by itself"]);
    folder.run_with(&[("PGPASSWORD", "wrong")], &["import", "shop.eg", &url]).failed(2, &["password"]);
    shop.query("CREATE ROLE importer LOGIN PASSWORD 'of an importer'");
    let other = url.replace("postgres://postgres@", "postgres://importer@");
    let refused = folder.run_with(&[("PGPASSWORD", "of an importer")], &["import", "shop.eg", &other]);
    refused.failed(2, &["importer may not read ", ": GRANT USAGE ON SCHEMA", "GRANT SELECT ON"]);
    shop.query("INSERT INTO product VALUES (9, 'nothing', 'NaN')");
    let unfit = import(&[]);
    assert!(!unfit.err.contains("resync"), "an import is no replica: {unfit:?}");
    unfit.failed(
        2,
        &[
            "table product, column price: ",
            "on-unfit = \"null\"",
            "then start the copy again; the row is that where id = \"9\"",
        ],
    );
    assert!(!folder.path("shop.eg").exists());
}
