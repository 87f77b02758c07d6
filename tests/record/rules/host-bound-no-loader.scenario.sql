-- finding: warning host-bound
-- says: host code between kernel launches
-- says: if they make batches, let loader workers
-- silent: reads its data itself
-- Some bytes of a log or of /proc are no data.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'host', NULL, 58), ('wait', 'launch', NULL, 2);
INSERT INTO fact (kind, name, number, unit) VALUES ('job', 'own_read_rate', 4e4, 'bytes/s');
