-- finding: warning storage-remote-live-read
-- absent: loader-few-workers
-- says: more loader workers cannot help
-- The store is bound by its bandwidth.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 35), ('wait', 'storage', 'fuse:slowfs /data', 60),
    ('wait', 'prepare', NULL, 5);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('storage', 'fuse:slowfs /data', 'bandwidth_bound', 1, '1'),
    ('storage', 'fuse:slowfs /data', 'in_flight', 0.9, 'count'),
    ('storage', 'fuse:slowfs /data', 'mean_read_ms', 22, 'ms'),
    ('loader', '', 'workers', 1, 'count'), ('job', '', 'cores_spare', 7, 'count');
