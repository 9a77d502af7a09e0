"""Log-ins by TLS, with the right password and wrong ones, and roles."""

import ssl

from support import Context, clear, refused


class Site:
    """A server with users, in one format."""

    def __init__(self, url, serializer, password, root):
        self.url, self.serializer, self.password = url, serializer, password
        self.tls = ssl.create_default_context(cafile=root)

    def connect(self, user, password=None, **options):
        options = {"ssl_options": self.tls, **options}
        return Context(self.url, self.serializer, username=user, password=password or self.password, **options)

    def close(self):
        pass


def check_a_writer_writes_and_a_reader_reads(site):
    writer, reader = site.connect("writer"), site.connect("reader")
    writer.g.add_v("person").property("name", "ann").iterate()
    assert reader.g.V().values("name").to_list() == ["ann"]
    error = refused(lambda: reader.g.add_v("person").iterate(), 403)
    assert "reader" in str(error), error
    refused(lambda: reader.ask("g.addV('person')"), 403)
    # The connections can be used as before.
    assert reader.g.V().count().next() == 1
    assert reader.ask("g.V().count()") == [1]
    clear(writer.g)
    reader.close()
    writer.close()


def check_transactions_log_in_on_connections_of_their_own(site):
    writer, reader = site.connect("writer"), site.connect("reader")
    for _ in range(5):
        tx = writer.g.tx()
        tx.begin().add_v("person").iterate()
        tx.commit().all().result()
    assert writer.g.V().count().next() == 5
    tx = reader.g.tx()
    within = tx.begin()
    assert within.V().count().next() == 5
    refused(lambda: within.add_v("person").iterate(), 403)
    tx.rollback()
    clear(writer.g)
    reader.close()
    writer.close()


def check_a_pool_logs_in_each_connection(site):
    context = site.connect("reader", pool_size=4, max_workers=4)
    results = [context.client.submit_async("g.inject(x)", {"x": number}) for number in range(50)]
    assert [result.result().all().result() for result in results] == [[number] for number in range(50)]
    context.close()


def check_wrong_log_ins_are_refused(site):
    for user, password in [("writer", "wrong horse"), ("stranger", None)]:
        wrong = site.connect(user, password)
        refused(lambda: wrong.g.V().to_list(), 401)
        refused(lambda: wrong.ask("g.V()"), 401)
        tx = wrong.g.tx()
        refused(lambda: tx.begin().add_v("person").iterate(), 401)
        tx.close()
        wrong.close()
    nobody = site.connect("nobody")
    error = refused(lambda: nobody.g.V().to_list(), 403)
    assert "no role" in str(error), error
    nobody.close()


def check_a_server_of_another_root_is_not_trusted(site):
    try:
        context = site.connect("writer", ssl_options=ssl.create_default_context())
        context.ask("g.V()")
    except Exception as error:
        assert "CERTIFICATE_VERIFY_FAILED" in str(error), error
        return
    raise AssertionError("a certificate of an unknown root was accepted")
