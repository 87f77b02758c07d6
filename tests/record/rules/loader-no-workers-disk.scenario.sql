-- finding: warning loader-no-workers
-- finding: warning storage-slow-disk
-- first: storage-slow-disk
-- says: num_workers=1
-- says: whether disk sdb (/data) gives several readers more bytes than one was not seen
-- One reader of a disk: a worker hides what is computed meanwhile; more readers might get no more bytes.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 15), ('wait', 'storage', 'disk sdb (/data)', 80), ('wait', 'host', NULL, 5);
INSERT INTO fact (kind, subject, name, number) VALUES
    ('loader', '', 'in_main', 1), ('job', '', 'cores_spare', 1.5),
    ('storage', 'disk sdb (/data)', 'in_flight', 0.8), ('storage', 'disk sdb (/data)', 'mean_read_ms', 67);
