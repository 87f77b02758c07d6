-- finding: warning storage-slow-disk
-- first: storage-slow-disk
-- absent: storage-remote-live-read
-- says: The GPU waits for reads from disk sdb (/data)
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'storage', 'disk sdb (/data)', 50), ('wait', 'prepare', NULL, 10);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('disk', 'sdb', 'rotational', 1, '1'), ('disk', 'sdb', 'busy_share', 0.98, '1'),
    ('loader', '', 'workers', 4, 'count'), ('job', '', 'cores_spare', 6, 'count');
